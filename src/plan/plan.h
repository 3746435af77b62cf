/*
 * plan.h: logical plans: trees of relational nodes over bound expressions.
 *
 * One struct, one variant part per kind. Every node lists the columns it puts out; ColIds are unique in
 * the statement, and a column that a node passes through keeps its id. FILTER, SORT, LIMIT, JOIN and APPLY
 * may put out any subset of their inputs' columns, in any order. A join's right input is its build side.
 * Plans live in the statement's arena, are rewritten by opt/ and are read-only from phys/ on. A node kind is
 * one line in node.def.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "catalog/catalog.h"
#include "expr/expr.h"
#include "plan/candidate.h"

typedef enum PlanKind {
#define NODE(name, text) PLAN_##name,
#include "plan/node.def"
#undef NODE
    PLAN_KINDS
} PlanKind;

typedef struct Plan Plan;

typedef struct PlanCol {
    ColId id;
    Type type;
    const char *name; /* for printing and results; never NULL */
} PlanCol;

typedef struct NamedExpr {
    PlanCol col; /* what it defines */
    Expr *expr;
} NamedExpr;

typedef struct SortKey {
    Expr *expr;
    bool descending;
    bool nulls_first;
} SortKey;

typedef struct AggCall {
    PlanCol col;
    AggKind kind;
    uint32_t nargs;
    Expr *args[2];  /* already cast to the aggregate's argument types */
    SortKey *order; /* STRING_AGG: the order its rows are taken in */
    Expr *filter;   /* FILTER (WHERE ...), or NULL */
    uint32_t norder;
    bool distinct;
    bool descending; /* ordered sets: WITHIN GROUP (ORDER BY ... DESC) */
} AggCall;

/* Window functions: the result for a row depends on its partition's rows in the window's order. */
typedef enum WindowFunc {
    WINDOW_AGG, /* agg over the frame */
    WINDOW_ROW_NUMBER,
    WINDOW_RANK,
    WINDOW_DENSE_RANK,
    WINDOW_PERCENT_RANK,
    WINDOW_CUME_DIST,
    WINDOW_NTILE,
    WINDOW_LAG, /* args: value, offset, default */
    WINDOW_LEAD,
    WINDOW_FIRST_VALUE, /* of the frame */
    WINDOW_LAST_VALUE,
    WINDOW_NTH_VALUE, /* args: value, n */
    WINDOW_FUNCS
} WindowFunc;

typedef enum FrameUnit {
    FRAME_RANGE,
    FRAME_ROWS,
    FRAME_GROUPS
} FrameUnit; /* what offsets count; peers, but for ROWS */
/* Rows that a frame is without: the row itself, its peers and it, its peers. */
typedef enum FrameExclude { EXCLUDE_NONE, EXCLUDE_ROW, EXCLUDE_GROUP, EXCLUDE_TIES } FrameExclude;
typedef enum FrameBound { FRAME_UNBOUNDED, FRAME_PRECEDING, FRAME_CURRENT, FRAME_FOLLOWING } FrameBound;

typedef struct WindowCall {
    PlanCol col;
    WindowFunc func;
    AggCall agg; /* AGG: what to compute (its col is this one's) */
    uint32_t nargs;
    Expr *args[3]; /* of the others: columns of the input */
    FrameUnit unit;
    FrameExclude exclude;
    FrameBound start, end;
    Expr *start_offset, *end_offset; /* PRECEDING, FOLLOWING: without columns; of ROWS and GROUPS int8 */
    Expr *range_key;                 /* RANGE with offsets: columns of the input: the key of the order, */
    Expr *range_bounds[2];           /* and what it may be at the frame's ends, in the key's type; NULL: no offset */
} WindowCall;

/* factor x left value x right value; CONTRACT_ONES stands for 1. */
enum { CONTRACT_ONES = UINT32_MAX };
typedef struct ContractTerm {
    int64_t factor;
    uint32_t left, right; /* indices into contract.values[0] and [1] */
} ContractTerm;

/* The sum of the terms over all matching rows; int8; decimal with a precision: then scaled as its type says; float8:
 * one term with factor 1, whose values are float8, or integers that are 0 where a row does not count and 1 where it
 * does. */
typedef struct ContractOut {
    PlanCol col;
    ContractTerm *terms;
    uint32_t nterms;
    bool nullable;        /* NULL where the sum of `nonnull` is 0 */
    ContractTerm nonnull; /* counts the rows that are not NULL */
    bool bounded;         /* rows whose sum is NULL or outside [min, max] are not put out */
    int64_t min, max;     /* INT64_MIN, INT64_MAX: not bounded on that side */
    uint32_t sort_bound;  /* rows that come too late by the sort's bound of this id need not be put out; 0: none */
} ContractOut;

/* Comparisons that matching rows of a contraction fulfil besides equal keys: each is point <compare> bound with the
 * same point, over input `side`, and a bound over the other one; integers, dates, times, floating point. */
enum { CONTRACT_BOUNDS = 4 };
typedef struct ContractRange {
    Expr *conds[CONTRACT_BOUNDS];
    uint32_t n; /* 0: none */
    uint32_t side;
} ContractRange;

/* A CHECK constraint, over the new row's columns. */
typedef struct RowCheck {
    const char *name;
    Expr *cond;
} RowCheck;

/* ON CONFLICT DO UPDATE: the input is the new row, then the row id and the columns that the row in its way gets (all
 * NULL: none is), then whether it gets them (WHERE). */
typedef enum Conflict { CONFLICT_FAIL, CONFLICT_SKIP, CONFLICT_UPDATE } Conflict;
enum { CONFLICT_ANY_KEY = UINT32_MAX };

typedef enum JoinKind {
    JOIN_INNER,
    JOIN_LEFT,
    JOIN_RIGHT,
    JOIN_FULL,
    JOIN_SEMI,       /* left rows with a match */
    JOIN_ANTI,       /* left rows without a match (NOT EXISTS) */
    JOIN_MARK,       /* left rows, plus a boolean column: whether there is a match; see join.mark */
    JOIN_SINGLE,     /* LEFT that reports 21000 if a left row matches more than once: scalar subqueries */
    JOIN_RIGHT_SEMI, /* right rows with a match: what rule_flip, a late rule, makes of SEMI */
    JOIN_RIGHT_ANTI  /* right rows without a match: likewise of ANTI */
} JoinKind;

typedef enum SetKind { SET_UNION, SET_INTERSECT, SET_EXCEPT } SetKind;

typedef enum ApplyKind {
    APPLY_SCALAR, /* left columns plus the value of the right side's first column; 21000 if many rows */
    APPLY_EXISTS, /* left columns plus a boolean */
    APPLY_ANY,    /* left columns plus the three-valued result of `test` over all right rows, ORed */
    APPLY_ALL,    /* the same, ANDed */
    APPLY_CROSS,  /* LATERAL */
    APPLY_LEFT    /* LEFT JOIN LATERAL */
} ApplyKind;

/* A WITH query used more than once, or recursive; shared by the CteScans that name it. */
typedef struct Cte {
    uint32_t id;
    const char *name;
    Plan *plan;
    uint32_t uses;
    bool materialize; /* run once and keep */
} Cte;

/* A function that yields rows: generate_series, read_csv, ssb_*: table functions are registered in
 * files/table_func.h, which plan/ does not know. */
typedef struct TableFuncCall {
    const struct TableFunc *func;
    void *bound; /* what its bind step made of the arguments; statement arena */
    const char *name;
} TableFuncCall;

/* Rows that a part of the statement put out before: see session/steps.c. */
typedef struct KeptRows {
    Expr **cells; /* row by row */
    uint64_t nrows;
} KeptRows;

struct Plan {
    PlanKind kind;
    uint32_t ninputs; /* 0..n; joins and applies: 2 (left, right) */
    Plan **inputs;
    uint32_t ncols; /* output */
    PlanCol *cols;
    double rows;            /* estimate; < 0: none yet */
    double cost;            /* estimate in seconds; < 0: none yet */
    double domain;          /* AGGREGATE: combinations that its keys can take, JOIN: values of its one key, where exact
                               bounds make them an array; INFINITY: they do not */
    Candidates *candidates; /* how else the node could be done; NULL: not asked */
    const char *note;       /* what a rule wants EXPLAIN to say of the node; NULL: nothing */
    union {
        struct { /* SCAN: live rows of a table */
            const Table *table;
            Str name;
            const uint32_t *columns; /* table column of each output column; ROWID_COLUMN: its row id */
            Expr **filters;          /* conjuncts over the output columns, pushed into the scan */
            uint32_t nfilters;
            struct SemiFilter *semi; /* bitmaps pushed down by joins; opt/ fills it */
            uint32_t nsemi;
        } scan;
        struct { /* FUNC_SCAN */
            TableFuncCall call;
            const uint32_t *columns; /* projection: which of the function's columns */
            Expr **args;             /* evaluated at run time, for another call of the function's bind */
            uint32_t nargs;          /* 0: `bound` is what runs */
        } func_scan;
        struct { /* VALUES: nrows x ncols expressions without columns (or outer ones) */
            Expr **rows_exprs;
            uint64_t nrows;
            KeptRows *kept; /* where they come from before the plan is optimised; NULL: they are there */
        } values;
        struct { /* FILTER */
            Expr **conds;
            uint32_t nconds;
        } filter;
        struct { /* PROJECT: exactly these columns, inputs' columns pass as EXPR_COL of the same id */
            NamedExpr *exprs;
        } project;
        struct { /* JOIN */
            JoinKind kind;
            Expr **conds; /* conjuncts; none: cross product */
            uint32_t nconds;
            PlanCol mark;            /* MARK: the boolean column */
            bool mark_null;          /* MARK: NULL instead of false where a comparison was NULL (IN) */
            struct SemiSource *semi; /* bitmaps it fills from its right (build) side; opt/ fills it */
            uint32_t nsemi;
        } join;
        struct { /* APPLY: the right side is evaluated per left row; its free columns are the left's */
            ApplyKind kind;
            PlanCol result; /* SCALAR, EXISTS, ANY, ALL: the column it adds */
            Expr *test;     /* ANY, ALL: a boolean over left columns and the right's output */
        } apply;
        struct { /* AGGREGATE: groups then aggregates; no groups: one row always */
            NamedExpr *groups;
            uint32_t ngroups;
            AggCall *aggs;
            uint32_t naggs;
        } agg;
        struct { /* DISTINCT: over all columns; with `on` (DISTINCT ON): the first row of each value of these */
            ColId *on;
            uint32_t non; /* 0: all columns */
        } distinct;
        struct { /* SORT */
            SortKey *keys;
            uint32_t nkeys;
            Expr *limit; /* top-N: no more rows than limit + offset are needed; or NULL */
            Expr *offset;
            uint32_t
                bound; /* scans with a SemiFilter of this id drop rows that come too late by the first key; 0: none */
        } sort;
        struct { /* LIMIT: expressions without columns; NULL expression or value: none */
            Expr *limit;
            Expr *offset;
        } limit;
        struct { /* SET_OP: output column i comes from column i of both inputs */
            SetKind kind;
            bool all;
        } set_op;
        struct { /* CTE_SCAN, WORK_SCAN: output column i is column i of cte->plan under a new id */
            Cte *cte;
        } cte_scan;
        struct { /* RECURSIVE: inputs: start, step. The step reads the last round through WORK_SCAN */
            Cte *cte;
            bool all;
        } recursive;
        struct { /* WINDOW: the input's columns plus one per call */
            Expr **partition;
            uint32_t npartition;
            SortKey *order;
            uint32_t norder;
            WindowCall *calls;
            uint32_t ncalls;
        } window;
        /* INSERT: the input has the table's columns in order. DELETE: a row id. UPDATE: a row id, then the new values
         * of `nset` columns, then other columns of the new rows that are asked for. More columns may follow. Puts out
         * nothing, or all of the input's columns for each row changed. */
        struct {
            Str table;
            const uint32_t *columns; /* UPDATE: which of the table's the input's columns after the row id are */
            uint32_t nset, ncolumns;
            const TableDef *def; /* ALTER TABLE, as an UPDATE of all rows: the table gets these columns, from these
                                  * sources, of which the input's set columns are those that are written. NULL: none */
            const ColumnSource *sources;
            RowCheck *checks; /* INSERT, UPDATE: what new rows must fulfil */
            uint32_t nchecks;
            Conflict conflict; /* INSERT ... ON CONFLICT */
            uint32_t arbiter;  /* the key of the table that it names; CONFLICT_ANY_KEY: any */
        } modify;
        struct {               /* CONTRACT: an aggregate over an inner join of two inputs as sums of products:
                                  for each pair of groups, out = sum over matching rows of sum of factor x left x right.
                                  cols: those of the groups and outs that are read above, in any order */
            NamedExpr *groups; /* the first nleft over the left input, the others over the right */
            uint32_t nleft, ngroups;
            Expr **keys[2]; /* pairwise equal, of one type; rows with a NULL key match nothing */
            uint32_t nkeys;
            ContractRange range;
            Expr **values[2]; /* integers, decimals up to 18 digits, float8; proven not NULL */
            uint32_t nvalues[2];
            ContractOut *outs;
            Expr **having; /* the conditions that became bounds of outs: to be shown only */
            uint32_t nhaving;
            uint32_t nouts;
            bool fast; /* not exact: FP16 inputs, FP32 sums (tcudb.precision = fast) */
            /* The right groups are no outputs: outs are summed over them, a row a left group or several, which whoever
             * reads them adds up. cells: how many right groups such a row is of; if `counted` is not 0, how many of
             * them with that column not NULL. */
            bool fold;
            PlanCol cells;
            ColId counted;
        } contract;
    };
};

enum { ROWID_COLUMN = UINT32_MAX };

/* A bitmap over a key column's domain that a join's build (right) side fills before its left side starts:
 * left rows whose key is outside cannot match. opt/ pairs them; exec fills and tests them. It is only a
 * hint: a scan may ignore a bitmap (too large a domain), the join checks all the same. */
typedef struct SemiFilter {
    uint32_t id; /* the same number in the join that fills it */
    ColId col;   /* the scan's column */
} SemiFilter;

typedef struct SemiSource {
    uint32_t id;
    ColId key; /* a column of the join's right input */
} SemiSource;

/* ---- building and walking ------------------------------------------------------------------- */

/* A zeroed node with room for inputs and columns. */
Plan *plan_new(Arena *arena, PlanKind kind, uint32_t ninputs, uint32_t ncols, Error *err) MUST_CHECK;
/* A projection of the input; exprs are copied. */
tcudb_status plan_project(Arena *arena, Plan *input, const NamedExpr *exprs, uint32_t n, Plan **out,
                          Error *err) MUST_CHECK;
/* Calls fn for each expression slot of the node itself (not its inputs), so that a rule can replace it. */
typedef tcudb_status (*PlanExprFn)(void *ctx, Expr **slot, Error *err);
tcudb_status plan_each_expr(Plan *plan, PlanExprFn fn, void *ctx, Error *err) MUST_CHECK;
const PlanCol *plan_find_col(const Plan *plan, ColId id); /* NULL: not an output */
/* Columns used below or in the node that none of its parts define: outer references. Appends to *list. */
tcudb_status plan_free_cols(Arena *arena, Plan *plan, ColId **list, uint32_t *n, Error *err) MUST_CHECK;
/* Whether an expression of the plan, as it was bound, names the table's column, or it is a result. */
tcudb_status plan_uses_column(Arena *arena, Plan *plan, Str table, uint32_t column, bool *uses, Error *err) MUST_CHECK;
/* Whether the work table of a recursion around the plan is read in it or in a CTE that it scans. */
tcudb_status plan_free_work(Arena *arena, const Plan *plan, bool *out, Error *err) MUST_CHECK;
/* Deep copy in which every column defined inside gets a new id (*next_col counts up); map from old to new
 * is applied to the copy's expressions. For view and CTE inlining. */
tcudb_status plan_copy(Arena *arena, const Plan *plan, ColId *next_col, Plan **out, Error *err) MUST_CHECK;
/* An indented tree, one node a line, as EXPLAIN shows it. */
tcudb_status plan_print(const Plan *plan, Buf *buf, Error *err) MUST_CHECK;
/* Every invariant above; XX000 naming node and fault. */
tcudb_status plan_verify(const Plan *plan, Error *err) MUST_CHECK;
/* Names for printing expressions: every column that the plan or a CTE below it defines. */
typedef struct PlanNames PlanNames;
tcudb_status plan_names(Mem *mem, const Plan *plan, PlanNames **out, Error *err) MUST_CHECK;
void plan_names_free(PlanNames *names);
const char *plan_name(void *names, ColId id); /* a ColName of expr.h; ctx: the PlanNames */
const char *plan_window_name(WindowFunc func);
const char *plan_kind_name(PlanKind kind);
const char *plan_join_name(JoinKind kind);
const char *plan_apply_name(ApplyKind kind);
/* INSERT, DELETE, UPDATE, alone or below the PROJECT of a RETURNING. */
bool plan_modifies(PlanKind kind);
bool plan_writes(const Plan *plan);
/* The distinct CTEs that the plan scans, those they scan themselves first. Appends to *list. */
tcudb_status plan_ctes(Arena *arena, const Plan *plan, Cte ***list, uint32_t *n, Error *err) MUST_CHECK;
/* One more than the largest ColId in the plan and these CTEs. */
ColId plan_col_end(const Plan *plan, Cte *const *ctes, uint32_t nctes);

#endif
