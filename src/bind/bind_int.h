/*
 * bind_int.h: what the files of bind/ share: the binder, query blocks and their scopes.
 */
#ifndef BIND_BIND_INT_H
#define BIND_BIND_INT_H

#include "bind/bind.h"
#include "catalog/names.h"
#include "catalog/notes.h"
#include "expr/eval.h"
#include "sql/ast.h"

typedef struct Block Block;
typedef struct WindowDef WindowDef;
typedef struct SrfUse SrfUse;
typedef struct GroupMap GroupMap;

enum { BIND_DEPTH_MAX = 2500, VIEW_DEPTH_MAX = 64, COLUMNS_MAX = 1664 };

/* A WITH query that is in sight. */
typedef struct CteEntry {
    struct CteEntry *next; /* further out, or earlier in the same WITH */
    Str name;
    Cte *cte;
    const char **names;     /* output columns */
    bool recursive;         /* its plan is a RECURSIVE node */
    bool in_own_term;       /* while its recursive term is bound: a reference reads the work table */
    bool never_materialize; /* NOT MATERIALIZED */
    bool no_rows;           /* changes rows without RETURNING */
    uint32_t self_refs;
} CteEntry;

/* Every CTE_SCAN made, so that single uses can be inlined at the end. */
typedef struct CteUse {
    struct CteUse *next;
    Plan *scan;
    CteEntry *entry;
} CteUse;

/* One per statement. */
typedef struct Binder {
    Arena *arena;
    const BindEnv *env;
    const Ast *ast; /* the text that locations refer to: the statement's or a view's */
    ColId next_col;
    uint32_t depth, view_depth, next_cte, nmerged;
    CteEntry *ctes;
    CteUse *cte_uses;
    Type *params;
    uint32_t nparams, params_cap;
    TextEdits *edits;                /* of the statement's text; NULL: nobody asks */
    const struct ScopeCol *referred; /* what the last name was found to mean */
    bool no_params;                  /* in a view */
    bool stored;     /* in an expression of a table's definition: t.a is a, whatever t is called by now */
    bool temp_used;  /* the text itself, not a view in it, names a temporary table */
    StmtStep *steps; /* data-modifying queries of WITH */
    uint32_t nsteps, cap_steps;
    StmtCount *counts; /* subqueries of LIMIT */
    uint32_t ncounts, cap_counts;
    Str *sequences; /* that the statement's functions name */
    uint32_t nsequences, cap_sequences;
    const TableDef *new_sequences; /* of serial columns that it defines */
    uint32_t nnew_sequences;
    bool advances, asks_sequences;
    Str set_name, set_value; /* set_config() */
    bool set_local;
    int param_position, param_number; /* of the first $n */
    Expr *const *macro_args;          /* what $1, $2 stand for in a function of system.def; NULL: they are parameters */
} Binder;

typedef struct ScopeCol {
    Str name;
    Expr *expr;   /* a column, or COALESCE of two (FULL JOIN USING) */
    bool renamed; /* it will have another name: see renames.c */
} ScopeCol;

/* An entry of FROM as names see it. A join without an alias has an item that shows its columns, while its
 * inputs' items still show their table names. */
typedef struct ScopeItem {
    Str name;  /* len 0: none */
    Str table; /* the relation an alias stands for; len 0: none */
    bool rel_visible, cols_visible;
    bool join;     /* of a JOIN, not of one relation */
    bool nullable; /* of an outer join: where it has no row, its columns are NULL */
    bool any_case; /* of a file: names match whatever their case, if that is unique */
    uint32_t ncols;
    ScopeCol *cols;
} ScopeItem;

/* A subquery of an expression, to be put below the node that the expression belongs to. */
typedef struct ApplySpec {
    struct ApplySpec *next;
    ApplyKind kind;
    Plan *right;
    PlanCol result;
    Expr *test;
    int position;
} ApplySpec;

typedef struct ApplyList {
    ApplySpec *first, *last;
} ApplyList;

/* The clause an expression stands in: what is allowed there, and its name in messages. */
typedef enum Place {
    PLACE_SELECT,
    PLACE_ORDER_BY,
    PLACE_HAVING,
    PLACE_DISTINCT_ON,
    PLACE_WHERE, /* from here on: no aggregates */
    PLACE_ON,
    PLACE_GROUP_BY,
    PLACE_LIMIT,
    PLACE_OFFSET,
    PLACE_VALUES,
    PLACE_FILTER,
    PLACE_FROM_FUNCTION,
    PLACE_UPDATE,
    PLACE_RETURNING,
    PLACE_CHECK,
    PLACE_GENERATED,
    PLACE_DEFAULT,
    PLACE_EXECUTE,
    PLACE_CALL,
    PLACE_COPY_WHERE
} Place;

/* GROUPING(args): a column that the grouping puts out. */
typedef struct GroupingCall {
    struct GroupingCall *next;
    PlanCol col;
    Expr **args;
    uint32_t nargs;
} GroupingCall;

/* One level of SELECT (or the scope of UPDATE, DELETE, ...). */
struct Block {
    Block *outer;
    const Block *sibling; /* for messages: the block whose FROM this subquery stands in without LATERAL */
    ScopeItem **items;
    uint32_t nitems, items_cap;
    uint32_t first_visible; /* items before it are out of sight: ON sees its join only */
    Place place;
    ApplyList *applies; /* where subqueries of the expression being bound go */
    ApplyList pre;      /* of aggregate arguments and group keys: below the aggregation */
    AggCall *aggs;
    int *agg_positions;
    uint32_t naggs, aggs_cap;
    struct GroupingCall *groupings; /* GROUPING() */
    Node *const *windows;           /* WINDOW clause */
    size_t nwindows;
    WindowDef *window_defs; /* of the calls met */
    SrfUse *srfs;           /* functions that yield rows, in the select list; the last one met first */
    uint32_t nsrfs;
    bool in_window, in_window_def; /* in a window function's call; in its OVER */
    bool in_agg;                   /* inside an aggregate's arguments */
    Block *agg_owner;              /* the innermost query whose columns they use so far */
    Block *agg_nested;             /* whose an aggregate inside them is, and where it stands */
    int agg_nested_position;
    bool saw_outer;     /* an outer query's column was met since this was last cleared */
    bool has_work_scan; /* the recursive term of WITH RECURSIVE itself */
};

/* Output of a query: the plan's columns are the result columns. */
typedef struct TargetList {
    NamedExpr *exprs;
    uint32_t n, cap;
    int *positions;
} TargetList;

/* ---- bind.c */
int bind_position(const Binder *b, int location);
int bind_node_position(const Binder *b, const Node *node);
tcudb_status bind_enter(Binder *b, Error *err) MUST_CHECK; /* recursion guard; pair with bind_leave */
void bind_leave(Binder *b);
PlanCol bind_new_col(Binder *b, Type type, const char *name);
const char *bind_name(Binder *b, Str text, Error *err) MUST_CHECK; /* NUL-terminated copy */
bool bind_is_null_const(const Expr *e);
bool bind_expr_has_col(const Expr *e, ColId col);
void bind_apply_append(ApplyList *list, ApplySpec *spec);

/* ---- scope.c */
bool bind_name_is(Str name, const char *text);
tcudb_status bind_scope_add(Binder *b, Block *block, ScopeItem *item, Error *err) MUST_CHECK;
tcudb_status bind_scope_item_new(Binder *b, Str name, uint32_t ncols, ScopeItem **out, Error *err) MUST_CHECK;
/* 42712 if an item from `middle` on has the name of one in [from, middle). */
tcudb_status bind_scope_conflict(const Block *block, uint32_t from, uint32_t middle, Error *err) MUST_CHECK;
/* An item that shows a plan's first ncols columns. */
tcudb_status bind_scope_item_of_plan(Binder *b, Str name, const Plan *plan, uint32_t ncols, ScopeItem **out,
                                     Error *err) MUST_CHECK;
tcudb_status bind_scope_column_ref(Binder *b, Block *block, const PgQuery__ColumnRef *ref, Expr **out,
                                   Error *err) MUST_CHECK;
/* A column of this level by its bare name; *out NULL: none. 42702 if ambiguous. */
tcudb_status bind_scope_find_local(Binder *b, Block *block, Str name, int position, Expr **out, Error *err) MUST_CHECK;
/* The item that a qualified star or column names, in this level or further out. */
tcudb_status bind_scope_find_item(Binder *b, Block *block, Str name, int position, ScopeItem **out, Block **level,
                                  Error *err) MUST_CHECK;
/* The same without an error: NULL if there is none, or several. */
ScopeItem *bind_scope_item_named(Block *block, Str name, Block **level);
/* "t.a" for messages; NULL when out of memory. */
const char *bind_scope_column_name(Binder *b, const Block *block, ColId col, Error *err) MUST_CHECK;

/* ---- whole_row.c: *item: the entry of FROM that the node names (t, t.*); NULL: it is something else */
tcudb_status bind_whole_row(Binder *b, Block *block, const Node *node, ScopeItem **item, Block **level,
                            Error *err) MUST_CHECK;
/* Whether a call is count(t) and the same as count(*). */
tcudb_status bind_counts_rows(Binder *b, Block *block, const PgQuery__FuncCall *call, bool *yes, Error *err) MUST_CHECK;
/* All of its columns are NULL; none is. */
tcudb_status bind_row_nulltest(Binder *b, const ScopeItem *item, bool is_null, int position, Expr **out,
                               Error *err) MUST_CHECK;
/* ---- hint.c */
void bind_hint_column(const Block *block, Str table, Str name, Error *err);

/* ---- from.c, join.c, table.c */
tcudb_status bind_from(Binder *b, Block *block, Node *const *from, size_t n, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_from_item(Binder *b, Block *block, const Node *node, Plan **out, bool *lateral,
                            Error *err) MUST_CHECK;
tcudb_status bind_join(Binder *b, Block *block, const PgQuery__JoinExpr *join, Plan **out, bool *lateral,
                       Error *err) MUST_CHECK;
/* The query of a view, in the place of the view. */
tcudb_status bind_view(Binder *b, const ViewDef *view, int position, Plan **out, Error *err) MUST_CHECK;
/* A definition's query, whose errors have no place in the user's text. */
tcudb_status bind_view_text(Binder *b, const ViewDef *view, Plan **out, Error *err) MUST_CHECK;
/* NULL: it no longer binds. */
tcudb_status bind_view_or_none(Binder *b, const ViewDef *view, Plan **out, Error *err) MUST_CHECK;
/* Tables of the database's own (catalog/notes.h): their names begin with a byte that nobody writes. */
static inline bool bind_hidden(Str name)
{
    return name.len > 0 && name.ptr[0] == '\1';
}
/* ---- system.c: information_schema, pg_catalog */
/* *out NULL: none of PostgreSQL's; 0A000: one that is not here. */
tcudb_status bind_schema_relation(Binder *b, const PgQuery__RangeVar *range, Plan **out, Error *err) MUST_CHECK;
/* Whether a plan has free columns that the other puts out. */
tcudb_status bind_refers_to(Binder *b, Plan *right, const Plan *left, bool *yes, Error *err) MUST_CHECK;
/* The error of such a plan where it must not; target: left is the table to be changed, not a join's side. */
tcudb_status bind_refuse_reference(Binder *b, const Block *block, Plan *right, const Plan *left, bool target,
                                   Error *err) MUST_CHECK;
/* A scan of all columns (with the row id last if rowid != NULL). */
tcudb_status bind_table_scan(Binder *b, const Table *table, ColId *rowid, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_table_function(Binder *b, Block *block, const PgQuery__RangeFunction *range, Plan **out,
                                 bool *lateral, Error *err) MUST_CHECK;
/* The scan of a table function whose arguments stand in `place`. */
tcudb_status bind_function_scan(Binder *b, Block *block, const TableFunc *func, const PgQuery__FuncCall *call,
                                Place place, Plan **out, bool *dynamic, Error *err) MUST_CHECK;
/* ---- storage.c */
enum { STORAGE_TABLE = 1, STORAGE_TOAST = 2, STORAGE_INDEX = 4 };
/* Checks the storage parameters of a table or index; oids: those of a new table, which may say oids = false. */
tcudb_status bind_storage(Binder *b, Node *const *options, size_t n, uint32_t of, bool oids, Error *err) MUST_CHECK;
/* ---- stars.c */
/* A star stands for these targets. */
tcudb_status bind_note_star(Binder *b, const Block *block, const PgQuery__ColumnRef *ref, const NamedExpr *targets,
                            uint32_t n, Error *err) MUST_CHECK;
/* Another text for a name of so many parts. */
tcudb_status bind_edit(Binder *b, int location, uint32_t parts, const Buf *text, Error *err) MUST_CHECK;
/* ---- renames.c */
/* In a text in which something gets another name: FROM names this relation; its columns are in sight; a reference was
 * bound; it, at edit `first` if it is noted, is a target without a name; a join goes by the names of both sides, or has
 * this column of both under one. */
tcudb_status bind_note_relation(Binder *b, const PgQuery__RangeVar *range, Str name, Error *err) MUST_CHECK;
void bind_note_columns(const Binder *b, const Plan *scan, const PgQuery__Alias *alias, ScopeItem *item);
tcudb_status bind_note_reference(Binder *b, const Block *block, const PgQuery__ColumnRef *ref, Error *err) MUST_CHECK;
tcudb_status bind_note_target(Binder *b, const PgQuery__ResTarget *target, uint32_t first, Error *err) MUST_CHECK;
void bind_note_natural(const Binder *b);
void bind_note_merged(const Binder *b, const ScopeCol *left, const ScopeCol *right);
/* ---- array.c */
/* Its elements, where they are known, or an expression that yields its text, or both. */
typedef struct Array {
    Expr **items, *text;
    uint32_t n;
    bool known;
    Type type; /* of elements; TYPE_NONE: not settled yet, as none is cast */
    int position;
} Array;
/* Whether the call is of a function that makes an array of a text. */
bool bind_makes_array(const PgQuery__FuncCall *call);
/* Whether bind_array is for it: an array that is written out, or such a call; either of them cast. */
bool bind_is_array(const Node *node);
tcudb_status bind_array(Binder *b, Block *block, const Node *node, Array *out, Error *err) MUST_CHECK;
/* Finds the elements' common type where none is given. */
tcudb_status bind_array_settle(Binder *b, Array *array, Error *err) MUST_CHECK;
/* unnest(ARRAY[...]), unnest(string_to_array(...)) */
bool bind_is_unnest(const PgQuery__FuncCall *call);
tcudb_status bind_unnest(Binder *b, Block *block, const PgQuery__FuncCall *call, Place place, Plan **out,
                         Error *err) MUST_CHECK;
/* ---- array_calls.c */
/* array_length(array, 1) and its like. */
bool bind_takes_array(const PgQuery__FuncCall *call);
tcudb_status bind_array_call(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_subscript(Binder *b, Block *block, const Node *node, Expr **out, Error *err) MUST_CHECK;
/* ---- srf.c */
tcudb_status bind_srf_call(Binder *b, Block *block, const TableFunc *func, const PgQuery__FuncCall *call, Expr **out,
                           Error *err) MUST_CHECK;
/* 0A000 if there are more than `before` now. */
tcudb_status bind_srf_refuse(const Block *block, uint32_t before, const char *what, Error *err) MUST_CHECK;
bool bind_srf_has(const Block *block, const Expr *e);
tcudb_status bind_srf_rewrite(GroupMap *map, const Block *block, Error *err) MUST_CHECK;
tcudb_status bind_srf_plan(Binder *b, const Block *block, Plan *plan, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_with_ordinality(Binder *b, Plan *plan, Plan **out, Error *err) MUST_CHECK;
/* Applies alias and column aliases of FROM to an item. */
tcudb_status bind_alias(Binder *b, ScopeItem *item, const PgQuery__Alias *alias, Error *err) MUST_CHECK;

/* ---- plans.c: building nodes */
tcudb_status bind_plan_filter(Binder *b, Plan *input, Expr *cond, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_plan_one_row(Binder *b, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_plan_unary(Binder *b, PlanKind kind, Plan *input, Plan **out,
                             Error *err) MUST_CHECK; /* same columns */
tcudb_status bind_plan_join(Binder *b, JoinKind kind, Plan *left, Plan *right, Expr *cond, Plan **out,
                            Error *err) MUST_CHECK;
/* Stacks the list's APPLY nodes on the plan. */
tcudb_status bind_plan_apply(Binder *b, Plan *plan, const ApplyList *list, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_plan_lateral(Binder *b, ApplyKind kind, Plan *left, Plan *right, Plan **out, Error *err) MUST_CHECK;

/* ---- select.c, order.c, group.c, target.c, setop.c, with.c */
/* unknowns: leave untyped literals of the target list TYPE_UNKNOWN (for INSERT and set operations). */
tcudb_status bind_select(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, bool unknowns,
                         Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_setop(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, Plan **out,
                        Error *err) MUST_CHECK;
tcudb_status bind_setop_node(Binder *b, SetKind kind, bool all, Plan *left, Plan *right, Plan **out,
                             Error *err) MUST_CHECK;
/* Where a query's i-th column stands in the text: for messages about types. */
int bind_setop_position(const Binder *b, const PgQuery__SelectStmt *stmt, uint32_t i);
tcudb_status bind_values_union(Binder *b, Plan *values, const ApplyList *lists, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_values(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, bool unknowns,
                         Plan **out, Error *err) MUST_CHECK;
/* Gives the outputs of a query these types: literals are cast in place, else a PROJECT is put on top. */
tcudb_status bind_retype(Binder *b, Plan *plan, const Type *types, CastContext context, Plan **out,
                         Error *err) MUST_CHECK;
tcudb_status bind_with_push(Binder *b, Block *outer, const Block *sibling, const PgQuery__WithClause *with,
                            Error *err) MUST_CHECK;
tcudb_status bind_with_scan(Binder *b, CteEntry *entry, int position, Plan **out, Error *err) MUST_CHECK;
/* A query of ours that is scanned more than once; copy: rather run again than kept. */
tcudb_status bind_with_share(Binder *b, const char *name, Plan *query, bool copy, CteEntry **out,
                             Error *err) MUST_CHECK;
tcudb_status bind_with_finish(Binder *b, Error *err) MUST_CHECK; /* inlines */

/* The elements of ROW(t.*, x), stars expanded. */
bool bind_has_star(Node *const *nodes, size_t n);
tcudb_status bind_row_elements(Binder *b, Block *block, const PgQuery__RowExpr *row, TargetList *list,
                               Error *err) MUST_CHECK;
tcudb_status bind_target_list(Binder *b, Block *block, Node *const *targets, size_t n, TargetList *list,
                              Error *err) MUST_CHECK;
tcudb_status bind_target_add(Binder *b, TargetList *list, Expr *expr, const char *name, int position,
                             Error *err) MUST_CHECK;
const char *bind_target_name(const Node *node); /* the name PostgreSQL gives an expression's column */
tcudb_status bind_target_resolve_unknowns(Binder *b, TargetList *list, Error *err) MUST_CHECK;

/* Which of the keys a grouping set has. */
typedef struct KeySet {
    uint32_t *keys;
    uint32_t n;
} KeySet;

typedef struct KeySets {
    KeySet *sets;
    uint32_t n;
} KeySets;

typedef struct GroupKeys {
    Expr **exprs;
    uint32_t n;
    KeySets sets; /* a plain GROUP BY: one of all */
} GroupKeys;

/* Binds an entry of GROUP BY: *key is its number. */
typedef tcudb_status (*BindKeyFn)(void *ctx, const Node *node, uint32_t *key, Error *err);
tcudb_status bind_group_keys(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, TargetList *targets,
                             ApplyList *post, GroupKeys *out, Error *err) MUST_CHECK;
/* The AGGREGATE node over input; and the map that turns expressions over the input into ones over it. */
tcudb_status bind_group_plan(Binder *b, Block *block, const GroupKeys *keys, Plan *input, Plan **out, GroupMap **map,
                             Error *err) MUST_CHECK;
/* ---- grouping.c */
tcudb_status bind_grouping_sets(Binder *b, const PgQuery__SelectStmt *stmt, BindKeyFn bind, void *ctx, KeySets *out,
                                Error *err) MUST_CHECK;
tcudb_status bind_grouping_call(Binder *b, Block *block, const PgQuery__GroupingFunc *node, Expr **out,
                                Error *err) MUST_CHECK;
/* What stands for the AGGREGATE: puts out groups[i].col, the aggregates' and the GROUPING()s' columns. */
tcudb_status bind_grouping_plan(Binder *b, const Block *block, const GroupKeys *keys, const NamedExpr *groups,
                                Plan *input, Plan **out, Error *err) MUST_CHECK;
tcudb_status bind_group_rewrite(GroupMap *map, Expr *e, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_group_rewrite_plan(GroupMap *map, Plan *plan, Error *err) MUST_CHECK;
tcudb_status bind_group_rewrite_applies(GroupMap *map, ApplyList *list, Error *err) MUST_CHECK;

typedef struct SortList {
    uint32_t n;
    uint32_t *targets; /* index into the target list */
    bool *descending, *nulls_first;
    int *positions;
} SortList;
tcudb_status bind_order_by(Binder *b, Block *block, Node *const *sort, size_t n, TargetList *targets, SortList *out,
                           Error *err) MUST_CHECK;
/* The target that an ORDER BY, GROUP BY or DISTINCT ON entry names by ordinal or alias; UINT32_MAX: it is an
 * expression. */
tcudb_status bind_order_target(Binder *b, Block *block, const Node *node, const TargetList *targets, const char *clause,
                               uint32_t *index, Error *err) MUST_CHECK;
tcudb_status bind_order_direction(Binder *b, const PgQuery__SortBy *by, bool *descending, bool *nulls_first,
                                  Error *err) MUST_CHECK;
/* FETCH FIRST ... WITH TIES over a SORT. (ties.c) */
tcudb_status bind_with_ties(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Plan *sort, Plan **out,
                            Error *err) MUST_CHECK;
tcudb_status bind_order_counts(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Expr **limit, Expr **offset,
                               Error *err) MUST_CHECK;
/* block: the query's own; its columns are in sight to be refused. */
tcudb_status bind_order_limit(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Plan *input, Plan **out,
                              Error *err) MUST_CHECK;

/* ---- expr.c and its kinds */
tcudb_status bind_expr(Binder *b, Block *block, const Node *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_expr_list(Binder *b, Block *block, Node *const *nodes, size_t n, Expr ***out, Error *err) MUST_CHECK;
/* A condition; what: "WHERE", "AND", ... for the message. */
tcudb_status bind_bool(Binder *b, Block *block, const Node *node, const char *what, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_coerce(Binder *b, Expr *e, Type to, CastContext context, int position, Expr **out,
                         Error *err) MUST_CHECK;
tcudb_status bind_coerce_bool(Binder *b, Expr *e, const char *what, Expr **out, Error *err) MUST_CHECK;
/* Resolves, casts, builds. position: of the name; the result's place is `start`. */
tcudb_status bind_call(Binder *b, FuncKind kind, const char *name, Expr **args, uint32_t nargs, int position, int start,
                       Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_not(Binder *b, Expr *e, int position, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_and_or(Binder *b, ExprKind kind, Expr *left, Expr *right, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_bool_const(Binder *b, bool value, int position, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_null(Binder *b, Type type, int position, Expr **out, Error *err) MUST_CHECK;
/* Where the first argument stands whose type differs from the first known one: for "types cannot be matched". */
int bind_mismatch(Expr *const *args, uint32_t n);
/* Casts all to their common type, in place. */
/* The type in which expressions meet: func_common_type, where literals keep their digits and characters. types: theirs,
 * changed. An expression may be NULL: one that is not known. */
tcudb_status bind_common_type(Expr *const *args, Type *types, uint32_t n, const char *what, int position, Type *out,
                              Error *err) MUST_CHECK;
tcudb_status bind_unify(Binder *b, Expr **args, uint32_t n, const char *what, int position, Type *type,
                        Error *err) MUST_CHECK;
/* The value of an expression without columns. */
tcudb_status bind_const_value(Binder *b, Expr *e, int position, Value *out, Error *err) MUST_CHECK;
/* A constant expression's value: arguments of table functions, CALL, EXECUTE. */
tcudb_status bind_value(Binder *b, Place place, const Node *node, Value *out, int *position, Error *err) MUST_CHECK;

/* Whether e is a number literal that numeric cannot hold, and its text. */
bool bind_wide_number(const Expr *e, Str *text);
tcudb_status bind_negate_wide(Binder *b, Str text, int position, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_literal(Binder *b, const PgQuery__AConst *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_typename(Binder *b, const PgQuery__TypeName *node, Type *out, Error *err) MUST_CHECK;
tcudb_status bind_typecast(Binder *b, Block *block, const PgQuery__TypeCast *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_param(Binder *b, const PgQuery__ParamRef *node, Expr **out, Error *err) MUST_CHECK;
/* There are at least n parameters. */
tcudb_status bind_param_need(Binder *b, uint32_t n, Error *err) MUST_CHECK;
tcudb_status bind_param_type(Binder *b, Expr *param, Type type, int position, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_operator(Binder *b, Block *block, const Node *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_func_call(Binder *b, Block *block, const Node *node, Expr **out, Error *err) MUST_CHECK;
/* An aggregate's kind and arguments, without its place in an aggregation. */
tcudb_status bind_aggregate_call(Binder *b, Block *block, const PgQuery__FuncCall *call, AggCall *out,
                                 Error *err) MUST_CHECK;
/* ---- window.c */
/* FOR UPDATE: what PostgreSQL refuses. block NULL: of set operations and VALUES. (locking.c) */
tcudb_status bind_check_locking(Binder *b, const PgQuery__SelectStmt *stmt, const Block *block, Error *err) MUST_CHECK;
bool bind_is_window_name(const char *name);
tcudb_status bind_window(Binder *b, Block *block, const PgQuery__FuncCall *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_window_clause(Binder *b, const Block *block, Error *err) MUST_CHECK; /* 42P20: a name twice */
/* 42P20 if the expression holds a window function's result. */
tcudb_status bind_window_refuse(const Block *block, const Expr *e, const char *place, Error *err) MUST_CHECK;
tcudb_status bind_window_rewrite(GroupMap *map, Block *block, Error *err) MUST_CHECK;
/* The WINDOW nodes of the calls met, on top of plan. */
tcudb_status bind_window_plan(Binder *b, Block *block, Plan *plan, Plan **out, Error *err) MUST_CHECK;
const char *bind_place_name(Place place);
const char *bind_func_name(const PgQuery__FuncCall *call);
/* ---- foreign.c: PostgreSQL's names that are not functions of type/ */
bool bind_foreign_aggregate(const char *name);
bool bind_foreign_function(const char *name);
/* Refuses a setting that PostgreSQL has and tcudb has not; what neither knows is for SET to say. */
tcudb_status bind_check_setting(Binder *b, Str name, Error *err) MUST_CHECK;
bool bind_foreign_relation(const char *schema, const char *name);
/* version(), pg_typeof(x), num_nulls(...): *out NULL: another function. */
/* NULL if search_path does not name it. */
tcudb_status bind_current_schema(Binder *b, int position, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_system_function(Binder *b, Block *block, const char *name, Expr **args, uint32_t nargs, int position,
                                  Expr **out, Error *err) MUST_CHECK;
/* A function of system.def; *out NULL: none of this name and number of arguments. */
tcudb_status bind_system_macro(Binder *b, Block *block, const char *name, Expr **args, uint32_t nargs, Expr **out,
                               Error *err) MUST_CHECK;
bool bind_system_has(const char *name);
/* ---- reg.c: 't'::regclass, oid::regclass and the like */
/* *out NULL: a cast to another type. text: what it prints rather than the oid. */
bool bind_is_reg_cast(const Node *node);
int64_t bind_relation_oid(Binder *b, Str name); /* facts.c; 0: there is none */
tcudb_status bind_reg_cast(Binder *b, Block *block, const PgQuery__TypeCast *node, bool text, Expr **out,
                           Error *err) MUST_CHECK;
tcudb_status bind_case(Binder *b, Block *block, const PgQuery__CaseExpr *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_coalesce(Binder *b, Block *block, const PgQuery__CoalesceExpr *node, Expr **out,
                           Error *err) MUST_CHECK;
/* (s1, e1) OVERLAPS (s2, e2): four arguments, which are changed. (overlaps.c) */
tcudb_status bind_overlaps(Binder *b, Expr **args, int position, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_minmax(Binder *b, Block *block, const PgQuery__MinMaxExpr *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_nulltest(Binder *b, Block *block, const Node *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_booltest(Binder *b, Block *block, const Node *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_valuefunc(Binder *b, const PgQuery__SQLValueFunction *node, Expr **out, Error *err) MUST_CHECK;
tcudb_status bind_sublink(Binder *b, Block *block, const PgQuery__SubLink *node, Expr **out, Error *err) MUST_CHECK;
/* a op b, row-wise if both are rows. */
tcudb_status bind_compare(Binder *b, const char *op, Expr **left, Expr **right, uint32_t n, int position, int start,
                          Expr **out, Error *err) MUST_CHECK;

/* ---- constraint.c, conflict.c, returning.c */

/* A table on its way into a TableDef; the arrays have room for all constraints of the statement. */
typedef struct TableBuild {
    ColumnDef *cols;
    KeyDef *keys;
    CheckDef *checks;
    NoteDef *notes;
    const char *table;
    TableTemp temp;
    uint32_t n, nkeys, nchecks, nnotes;
    TableDef *serials; /* sequences to be made with it */
    uint32_t nserials, cap_serials;
    bool altered; /* there already: its keys stand in the order they came */
} TableBuild;

/* renames.c: the text of a CHECK or of a generated column of the table with a column under another name; to "": all as
 * they are. Columns lose their table's name. */
tcudb_status bind_renamed_expression(Binder *b, const TableBuild *t, Str sql, uint32_t col, const char *to, Str *out,
                                     Error *err) MUST_CHECK;

TableDef bind_table_def(const TableBuild *t, Str name);
const KeyDef *bind_primary_key(const TableBuild *t); /* NULL: none */
/* PRIMARY KEY, UNIQUE: of the one column given, or of those that the constraint names (col NULL). */
tcudb_status bind_constraint_key(Binder *b, TableBuild *t, const PgQuery__Constraint *node, const uint32_t *col,
                                 Error *err) MUST_CHECK;
/* A scope of a table's columns: those of a plan that is its row, or new ones of no plan. (scope.c) */
tcudb_status bind_scope_row(Binder *b, const TableDef *def, const PlanCol *cols, Block *block, Error *err) MUST_CHECK;
tcudb_status bind_scope_table(Binder *b, const TableBuild *t, Block *block, Error *err) MUST_CHECK;
/* The key under the name given, or one made for it (""). */
tcudb_status bind_constraint_add_key(Binder *b, TableBuild *t, const char *name, const KeyDef *key, int position,
                                     Error *err) MUST_CHECK;
tcudb_status bind_constraint_add_check(TableBuild *t, const CheckDef *check, Error *err) MUST_CHECK;
/* The name given, unless it is taken (42710), or one made for it (""). */
tcudb_status bind_constraint_free_name(Binder *b, const TableBuild *t, const char *given, const char *made, Str *out,
                                       Error *err) MUST_CHECK;
/* 42P07, 42710: a constraint cannot get that name. */
tcudb_status bind_constraint_rename(Binder *b, const TableBuild *t, Str from, Str to, Error *err) MUST_CHECK;
/* ---- reference.c: FOREIGN KEY, REFERENCES; of the one column given, or of those that it names (col NULL) */
tcudb_status bind_reference(Binder *b, TableBuild *t, const PgQuery__Constraint *node, const uint32_t *col,
                            Error *err) MUST_CHECK;
/* Whether rows follow (ON UPDATE CASCADE) a change of these columns of the table. */
tcudb_status bind_is_followed(Binder *b, const TableDef *def, const bool *set, bool *yes, Error *err) MUST_CHECK;
/* *yes becomes true if the note is a foreign key of that column (among others). */
tcudb_status bind_reference_mentions(Binder *b, const NoteDef *note, Str col, bool *yes, Error *err) MUST_CHECK;
/* ---- like.c: LIKE in CREATE TABLE; room: how many columns and constraints it may bring */
uint32_t bind_like_room(Binder *b, const PgQuery__TableLikeClause *like);
tcudb_status bind_like_columns(Binder *b, TableBuild *t, const PgQuery__TableLikeClause *like, Error *err) MUST_CHECK;
tcudb_status bind_like_constraints(Binder *b, TableBuild *t, const PgQuery__TableLikeClause *like, bool checks,
                                   Error *err) MUST_CHECK;
tcudb_status bind_constraint_check(Binder *b, TableBuild *t, const PgQuery__Constraint *node, Error *err) MUST_CHECK;
/* ---- note.c */
enum { COLUMN_NOTES = 4 }; /* no column has more notes than that */
/* Puts a note (catalog/notes.h) in the place of the one about the same; there must be room. text.ptr NULL: none. */
void bind_set_note(TableBuild *t, const char *kind, Str subject, Str text);
Str bind_find_note(const TableBuild *t, const char *kind, Str subject);
bool bind_is_note_of_column(const NoteDef *note, Str column);
bool bind_has_constraint(const TableDef *def, Str name);
/* ---- index.c */
/* The table that has a key or index of that name, a temporary one first; NULL: none. */
const Table *bind_table_of_index(const Binder *b, Str name);
/* ---- constraint.c */
/* Whether a check uses a column. */
tcudb_status bind_check_mentions(Binder *b, const TableBuild *t, const CheckDef *check, uint32_t col, bool *yes,
                                 Error *err) MUST_CHECK;
/* Puts the table's CHECKs into an INSERT or UPDATE whose input has the new row from column `first` on. */
tcudb_status bind_row_checks(Binder *b, const TableDef *def, const PlanCol *cols, Plan *change, Error *err) MUST_CHECK;
/* Parses a default or constraint that a definition keeps as text; `what` and `name` for messages. */
tcudb_status bind_stored_expression(Binder *b, Str sql, const char *what, Str name, Ast **ast, const Node **out,
                                    Error *err) MUST_CHECK;
tcudb_status bind_on_conflict(Binder *b, const PgQuery__InsertStmt *node, const Table *table, Plan *insert,
                              Error *err) MUST_CHECK;
/* The row that an INSERT ... ON CONFLICT DO UPDATE leaves: the item's columns. */
tcudb_status bind_conflict_result(Binder *b, const Plan *insert, const TableDef *def, ScopeItem *item,
                                  Error *err) MUST_CHECK;
tcudb_status bind_scope_point(Binder *b, ScopeItem *item, const NamedExpr *exprs, uint32_t n, Error *err) MUST_CHECK;
tcudb_status bind_returning(Binder *b, Block *block, Node *const *list, size_t n, Plan **plan, Error *err) MUST_CHECK;
tcudb_status bind_insert_returning(Binder *b, const PgQuery__InsertStmt *node, const TableDef *def, Stmt *stmt,
                                   Error *err) MUST_CHECK;

/* ---- statements: dml.c, ddl.c, copy.c, utility.c */
/* A value on its way into a column. */
tcudb_status bind_assign(Binder *b, Expr *e, const ColumnDef *col, Expr **out, Error *err) MUST_CHECK;
/* SET a = x, (b, c) = (y, z): exprs[i].expr for each column i that is set; subqueries go to block->applies. */
tcudb_status bind_set_columns(Binder *b, Block *block, const TableDef *def, Node *const *list, size_t n,
                              NamedExpr *exprs, Error *err) MUST_CHECK;
tcudb_status bind_insert(Binder *b, const PgQuery__InsertStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_delete(Binder *b, const PgQuery__DeleteStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_update(Binder *b, const PgQuery__UpdateStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_merge(Binder *b, const PgQuery__MergeStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_create_table(Binder *b, const PgQuery__CreateStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_create_table_as(Binder *b, const PgQuery__CreateTableAsStmt *node, Stmt *stmt,
                                      Error *err) MUST_CHECK;
tcudb_status bind_ddl_create_view(Binder *b, const PgQuery__ViewStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_drop(Binder *b, const PgQuery__DropStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_truncate(Binder *b, const PgQuery__TruncateStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* The type a column gets that is made from a query's. */
Type bind_stored_type(const Plan *plan, ColId id);
/* Parts of CREATE TABLE that ALTER TABLE shares: a column (its keys and checks not yet), a default, one kind of
 * constraint of an element. */
tcudb_status bind_ddl_define_column(Binder *b, TableBuild *columns, const PgQuery__ColumnDef *node,
                                    Error *err) MUST_CHECK;
tcudb_status bind_ddl_set_default(Binder *b, ColumnDef *col, const Node *node, Error *err) MUST_CHECK;
typedef enum ConstraintKind { CONSTRAINTS_KEYS, CONSTRAINTS_CHECKS, CONSTRAINTS_REFERENCES } ConstraintKind;
tcudb_status bind_ddl_element_constraints(Binder *b, TableBuild *table, const Node *element, ConstraintKind kind,
                                          Error *err) MUST_CHECK;
tcudb_status bind_alter_table(Binder *b, const PgQuery__AlterTableStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_alter_rename(Binder *b, const PgQuery__RenameStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* A key of the index's name, with the note of its columns (NOTE_INDEX). */
tcudb_status bind_alter_unique_index(Binder *b, const Table *table, const PgQuery__IndexStmt *node, const char *name,
                                     Str columns, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_alter_rename_index(Binder *b, const PgQuery__RenameStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* The keys and indexes that the statement names go. */
tcudb_status bind_alter_drop_indexes(Binder *b, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_rename(Binder *b, const PgQuery__RenameStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_select_into(Binder *b, const PgQuery__SelectStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_ddl_create_index(Binder *b, const PgQuery__IndexStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_copy(Binder *b, const PgQuery__CopyStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* ---- sequence.c */
tcudb_status bind_create_sequence(Binder *b, const PgQuery__CreateSeqStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_alter_sequence(Binder *b, const PgQuery__AlterSeqStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* A column whose type is serial or its kin; *is false: another type. */
tcudb_status bind_serial_column(Binder *b, TableBuild *t, const PgQuery__ColumnDef *node, ColumnDef *col, bool *is,
                                Error *err) MUST_CHECK;
tcudb_status bind_identity_type(Type type, Error *err) MUST_CHECK; /* 22023: not one for identity columns */
tcudb_status bind_identity_column(Binder *b, TableBuild *t, const PgQuery__Constraint *node, ColumnDef *col,
                                  Error *err) MUST_CHECK;
/* sequence_names.c: the names of sequences in the text of a default, in the form that is kept. */
tcudb_status bind_settle_sequence_names(Binder *b, Str *sql, Error *err) MUST_CHECK;
bool bind_is_sequence_call(const PgQuery__FuncCall *call);
tcudb_status bind_sequence_call(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out,
                                Error *err) MUST_CHECK;
/* ---- generated.c: columns whose values are the table's to say */
bool bind_has_generated(const TableDef *def);
bool bind_is_generated(const TableDef *def, Str column);
/* 428C9: a value is given for a column that is GENERATED ALWAYS. override: an INSERT's OVERRIDING; *use_default: take
 * the default for it. */
tcudb_status bind_check_given(const TableDef *def, Str column, PgQuery__OverridingKind override, bool *use_default,
                              Error *err) MUST_CHECK;
tcudb_status bind_check_set(const TableDef *def, Str column, Error *err) MUST_CHECK;
/* A PROJECT that computes them over a new row, which stands in the plan from column `first` on. cols (may be NULL) are
 * pointed at the result. */
tcudb_status bind_generated_columns(Binder *b, const TableDef *def, Plan **plan, uint32_t first, NamedExpr *cols,
                                    Error *err) MUST_CHECK;
/* A generated column's value, of the type of the column. */
tcudb_status bind_generated_value(Binder *b, Block *block, const ColumnDef *col, Str sql, Expr **out,
                                  Error *err) MUST_CHECK;
/* Which generated column uses the column; ptr NULL: none. */
tcudb_status bind_generated_mentions(Binder *b, const TableBuild *t, uint32_t col, Str *column, Error *err) MUST_CHECK;
/* GENERATED ALWAYS AS (expression) STORED, once all columns are known. */
tcudb_status bind_generated_constraint(Binder *b, TableBuild *t, const PgQuery__Constraint *node, uint32_t col,
                                       Error *err) MUST_CHECK;
/* The name of what is created; position: of the errors that have one in CREATE TABLE only, or 0. */
tcudb_status bind_ddl_target(Binder *b, const PgQuery__RangeVar *range, PgQuery__OnCommitAction on_commit, int position,
                             Str *out, TableTemp *temp, Error *err) MUST_CHECK;
/* "public.t", "\"T\"": the last name, as it would be folded; 3F000: of another schema. (reg.c) */
tcudb_status bind_plain_name(Binder *b, const char *text, int position, const char **out, Error *err) MUST_CHECK;
tcudb_status bind_comment(Binder *b, const PgQuery__CommentStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* A definition to be changed, with room for more of everything, and for so many notes. */
tcudb_status bind_build_of(Binder *b, const TableDef *def, size_t room, size_t notes, TableBuild *t,
                           Error *err) MUST_CHECK;
/* 0A000 with the name of the statement. */
tcudb_status bind_refuse_by_name(const Binder *b, Error *err) MUST_CHECK;
/* Everything else. */
tcudb_status bind_utility(Binder *b, const Node *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_options(Binder *b, Node *const *defs, size_t n, Stmt *stmt, Error *err) MUST_CHECK;
/* 42P01, 42809 (a view), wrong schema: the table that a statement changes. */
tcudb_status bind_table_for_change(Binder *b, const PgQuery__RangeVar *range, const char *verb, const Table **out,
                                   Error *err) MUST_CHECK;
/* As the text means it: views see no temporary tables. NULL: none. */
const Table *bind_find_table(Binder *b, Str name);
/* ---- path.c: search_path. Whether names without a schema may be those of public; whether that name is seen */
bool bind_sees_public(const Binder *b);
bool bind_sees(const Binder *b, Str name);
/* Whether a schema ("": none is written) is there, and may have something of the name: it is not hidden. */
tcudb_status bind_schema_shows(const Binder *b, const char *schema, Str name, bool *known, bool *shown,
                               Error *err) MUST_CHECK;
/* IF EXISTS: whether an error says that there is no such relation or schema; then it is cleared. */
bool bind_was_missing(Error *err);
/* 3F000: there is no such schema; no schema to create in. */
tcudb_status bind_no_schema(const char *schema, int position, Error *err) MUST_CHECK;
tcudb_status bind_path_target(const Binder *b, int position, Error *err) MUST_CHECK;
bool bind_is_schema(const char *name);
tcudb_status bind_create_schema(const Binder *b, const PgQuery__CreateSchemaStmt *node, Stmt *stmt,
                                Error *err) MUST_CHECK;
tcudb_status bind_drop_schema(const Binder *b, const PgQuery__DropStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
tcudb_status bind_rename_schema(const Binder *b, const char *name, Error *err) MUST_CHECK;
tcudb_status bind_own_schema(const Binder *b, const PgQuery__AlterOwnerStmt *node, Stmt *stmt, Error *err) MUST_CHECK;
/* Accepted, and nothing to do. */
tcudb_status bind_nothing(Stmt *stmt, const char *tag) MUST_CHECK;
/* 42P01; 42809 if it is an index's name: "i" is an index, is not a table. */
tcudb_status bind_no_relation(Binder *b, const char *schema, Str name, const char *is, int position,
                              Error *err) MUST_CHECK;
/* The name of a table that a query reads or changes (42P01 at its place), and one that a definition is about: errors
 * without a place, 3F000. Neither says that it is there. */
tcudb_status bind_query_name(Binder *b, const PgQuery__RangeVar *range, Str *out, Error *err) MUST_CHECK;
tcudb_status bind_relation_name(Binder *b, const PgQuery__RangeVar *range, Str *out, Error *err) MUST_CHECK;
tcudb_status bind_any(Binder *b, const Node *node, Stmt *stmt, Error *err) MUST_CHECK;
/* 42703: the table has no such column. */
tcudb_status bind_column_number(const TableDef *def, Str name, int position, uint32_t *out, Error *err) MUST_CHECK;
/* The default of a column as an expression of the column's type. */
tcudb_status bind_default(Binder *b, const ColumnDef *col, Expr **out, Error *err) MUST_CHECK;

#endif
