/*
 * opt_int.h: what the rules share: the run's state, sets of columns, lists of expressions, tests on them.
 *
 * A rule is a function that rewrites a whole plan (one root: the statement's, or a CTE's). It sets
 * opt->changed when it did anything that EXPLAIN (STAGES) should show.
 */
#ifndef OPT_OPT_INT_H
#define OPT_OPT_INT_H

#include "catalog/catalog.h"
#include "opt/cost.h"
#include "opt/opt.h"

/* What is known or guessed of a column, from its table's statistics. */
typedef struct ColFact {
    Value min, max;     /* exact: they bound every value */
    double distinct;    /* values, before any filter; < 0: unknown */
    double null_share;  /* 0..1 */
    double lo, hi;      /* has_range: numbers, dates, timestamps as numbers */
    const Table *table; /* of a base column that reached here unchanged; NULL: computed */
    uint32_t column;
    bool seen;
    bool has_range;
    bool exact;
    bool unique; /* proven in the table: every non-NULL value occurs once */
} ColFact;

typedef struct Opt {
    OptEnv *env;
    Arena *arena;
    bool changed;
    bool pricing;       /* a copy is rewritten to see what it would cost */
    uint32_t next_semi; /* ids of semi-join bitmaps */
    Plan *statement;    /* the statement's root; a rule may be working on a CTE's */
    ColFact *facts;     /* by ColId; card_columns.c */
    uint32_t nfacts;
    struct ShareCache *shares;  /* card_dict.c */
    struct ReachCache *reaches; /* card_reach.c */
    struct CteNeeds *cte_needs; /* prune_cte.c */
} Opt;

typedef tcudb_status (*OptRule)(Opt *opt, Plan **root, Error *err);

/* 57014 once the statement is cancelled: called in loops that grow faster than the plan. */
MUST_CHECK static inline tcudb_status opt_poll(const Opt *opt, Error *err)
{
    return cancel_poll(opt->env->cancel, err);
}

#define RULE(name, fn) tcudb_status fn(Opt *opt, Plan **root, Error *err) MUST_CHECK;
#include "opt/rule.def"
#undef RULE

/* ---- columns -------------------------------------------------------------------------------- */

typedef struct ColSet {
    uint64_t *words;
    uint32_t nwords;
} ColSet;

tcudb_status colset_add(Opt *opt, ColSet *set, ColId id, Error *err) MUST_CHECK;
bool colset_has(const ColSet *set, ColId id);
void colset_remove(ColSet *set, ColId id);
tcudb_status colset_union(Opt *opt, ColSet *into, const ColSet *from, Error *err) MUST_CHECK;
bool colset_meets(const ColSet *a, const ColSet *b);
/* Whether every column of a is in b. */
bool colset_within(const ColSet *a, const ColSet *b);
tcudb_status colset_expr(Opt *opt, ColSet *set, const Expr *e, Error *err) MUST_CHECK;
tcudb_status colset_outputs(Opt *opt, ColSet *set, const Plan *plan, Error *err) MUST_CHECK;
/* Columns that the node's own expressions use. */
tcudb_status colset_used(Opt *opt, ColSet *set, Plan *plan, Error *err) MUST_CHECK;

/* ---- expressions ---------------------------------------------------------------------------- */

typedef struct ExprList {
    Expr **items;
    uint32_t n;
    uint32_t cap;
} ExprList;

tcudb_status list_add(Opt *opt, ExprList *list, Expr *e, Error *err) MUST_CHECK;
tcudb_status list_add_all(Opt *opt, ExprList *list, Expr *const *items, uint32_t n, Error *err) MUST_CHECK;
/* The same, without expressions that the list has (of long lists, only the first are looked at). */
tcudb_status list_add_new(Opt *opt, ExprList *list, Expr *e, Error *err) MUST_CHECK;
bool list_has(const ExprList *list, const Expr *e);

/* Whether e uses any output of the plan. */
bool expr_touches(const Expr *e, const Plan *plan);
/* Whether every column of e is an output of the plan; outer columns are not. */
bool expr_within(const Expr *e, const Plan *plan);
bool expr_has_col(const Expr *e, ColId col);
bool expr_has_cols(const Expr *e);
/* The column of a bare reference or a cast of one; NULL: something else. */
const Expr *expr_column(const Expr *e);
bool expr_is_func(const Expr *e, const char *name); /* an EXPR_FUNC of that SQL name */
bool expr_rounds(const Expr *e);                    /* round, trunc, ceil, floor from one known scale to another */
bool expr_is_not(const Expr *e);
/* The comparison that e is, or CMP_NONE. */
FuncCompare expr_compare(const Expr *e);
bool expr_is_equality(const Expr *e);
/* TRUE or FALSE as constants (NULL counts as neither). */
bool expr_is_true(const Expr *e);
bool expr_is_false(const Expr *e);
bool expr_is_null_const(const Expr *e);
/* A filter keeps no row for it: FALSE or NULL. */
bool expr_never_true(const Expr *e);
/* Cannot raise an error whatever its columns hold: columns, constants, comparisons, boolean logic. */
bool expr_safe(const Expr *e);
/* Whether e is certainly not true (rejecting), or certainly NULL, once all columns of `nulls` are NULL. */
bool expr_rejects_nulls(const Expr *e, const ColSet *nulls);
bool expr_null_on_nulls(const Expr *e, const ColSet *nulls);

/* notnull.c: proven never NULL in the plan's output (for expressions: over the outputs of a and b). */
bool col_not_null(Opt *opt, const Plan *plan, ColId id);
bool expr_not_null(Opt *opt, const Plan *a, const Plan *b, const Expr *e);

/* bounds.c: how many rows the plan can have at most and has at least, proven. */
uint64_t plan_max_rows(const Plan *plan);
uint64_t plan_min_rows(const Plan *plan);

/* keys.c: no two rows agree (=) on all the columns, proven. */
bool plan_unique_on(Opt *opt, const Plan *plan, const ColSet *cols);
/* How many rows of each partition of the window below a filter on row_number() keeps at most; INT64_MAX: not that. */
int64_t plan_numbered(const Plan *filter, const Plan **window);
/* Each row of the join's other side meets at most one row of this side. */
bool plan_joins_once(Opt *opt, const Plan *join, uint32_t side);
/* Adds the columns that those in the set determine, in the plan's rows. */
tcudb_status plan_determined(Opt *opt, const Plan *plan, ColSet *set, Error *err) MUST_CHECK;
/* Values of the type that are equal cannot be told apart. */
bool equality_is_identity(Type type);
/* The same result for columns that are equal, though they may look different (1.0 and 1.00). */
bool expr_respects_equality(const Expr *e);
/* ranges.c: a proven range of an exact number (scaled: 1.50 is 150), columns being outputs of plan or below it;
 * false for other types. And whether evaluating e can neither fail nor change from call to call. */
typedef struct Range {
    int128 min, max;
} Range;
bool expr_range(const Plan *plan, const Expr *e, Range *out);
bool expr_total(const Plan *plan, const Expr *e);

/* rule_narrow.c: a decimal of more than 18 digits, over the plan's outputs, as one of 18 where its range is proven to
 * fit; else e. */
tcudb_status expr_narrow(Opt *opt, const Plan *input, Expr *e, Expr **out, Error *err) MUST_CHECK;

/* COALESCE(e, value). */
tcudb_status expr_null_as(Opt *opt, Expr *e, bool value, Expr **out, Error *err) MUST_CHECK;
Expr *expr_bool(Opt *opt, bool value, Error *err) MUST_CHECK;
tcudb_status expr_negate(Opt *opt, Expr *e, Expr **out, Error *err) MUST_CHECK;
/* The conjunction of n > 0 items. */
tcudb_status expr_and(Opt *opt, Expr *const *items, uint32_t n, Expr **out, Error *err) MUST_CHECK;
tcudb_status expr_or(Opt *opt, Expr *const *items, uint32_t n, Expr **out, Error *err) MUST_CHECK;
/* a <op> b by operator symbol, arguments of one type. */
tcudb_status expr_operator(Opt *opt, const char *op, Expr *a, Expr *b, Expr **out, Error *err) MUST_CHECK;
Expr *expr_of_col(Opt *opt, const PlanCol *col, Error *err) MUST_CHECK;
/* simplify.c: the same value for every row; as a filter's condition: true for the same rows. */
tcudb_status expr_simplify(Opt *opt, Expr *e, Expr **out, Error *err) MUST_CHECK;
tcudb_status expr_simplify_filter(Opt *opt, Expr *e, Expr **out, Error *err) MUST_CHECK;
/* casts.c: a comparison with a constant, without the cast on its other side where that loses nothing. */
tcudb_status expr_move_cast(Opt *opt, Expr *e, bool filter, Expr **out, Error *err) MUST_CHECK;
/* "<" for CMP_LT, ...; NULL for CMP_NONE. */
const char *compare_symbol(FuncCompare compare);
/* Replaces columns by what `exprs` define. */
tcudb_status expr_substitute(Opt *opt, Expr *e, const NamedExpr *exprs, uint32_t n, Expr **out, Error *err) MUST_CHECK;
/* Replaces column from[i] by column to[i]. */
tcudb_status expr_rename(Opt *opt, Expr *e, const PlanCol *from, const PlanCol *to, uint32_t n, Expr **out,
                         Error *err) MUST_CHECK;

/* rule_mark.c: a null-aware mark join's conditions where NULL counts as a match (negated), or as none; *ok false:
 * nothing is left to hash by. */
tcudb_status mark_conds(Opt *opt, const Plan *join, bool negated, ExprList *out, bool *ok, Error *err) MUST_CHECK;

/* ---- pruning --------------------------------------------------------------------------------- */

/* rule_prune.c: prunes below *slot, which keeps its outputs. */
tcudb_status prune_below(Opt *opt, Plan **slot, Error *err) MUST_CHECK;
/* prune_cte.c: a scan of a CTE needs these of its outputs. */
tcudb_status cte_need(Opt *opt, const Plan *scan, const ColSet *need, bool all, Error *err) MUST_CHECK;
/* Prunes the CTEs of the statement to what their scans need. */
tcudb_status cte_prune(Opt *opt, Error *err) MUST_CHECK;

/* ---- estimates ------------------------------------------------------------------------------ */

/* Fills facts for every column that the plan (CTEs included) defines. Cheap when done before. */
tcudb_status card_collect(Opt *opt, const Plan *plan, Error *err) MUST_CHECK;
const ColFact *card_fact(const Opt *opt, ColId id); /* never NULL; not seen: unknown */
/* Distinct values of an expression; at least 1; a guess where nothing is known. */
double card_distinct(const Opt *opt, const Expr *e, double rows);
/* card_image.c: values that the node can have whatever its arguments are; INFINITY: it does not limit them. */
double card_image(const Opt *opt, const Expr *e);
/* Share of rows for which the condition(s) are true: 0..1. */
double card_selectivity(const Opt *opt, const Expr *e);
double card_selectivity_all(const Opt *opt, Expr *const *conds, uint32_t n);
/* card_having.c: of a comparison of an aggregate's result with a constant; false: not that. */
bool card_having_share(const Opt *opt, const Plan *agg, const Expr *e, double *share);
/* Of a condition on one text column of a table, from its dictionary; false: not that. */
bool card_dict_share(const Opt *opt, const Expr *e, double *share);
/* Of an equality between two relations: 1 / the larger number of distinct values. */
double card_equality(const Opt *opt, const Expr *a, const Expr *b);
/* Sets rows of every node below that has none (all: of every node). */
void card_rows(const Opt *opt, Plan *plan, bool all);
/* The same among the rows of the plan, after the filters of its scans on the expression's columns. */
double card_held(const Opt *opt, const Plan *plan, const Expr *e);
/* Distinct combinations among n rows, of d that there could be; of columns that fill a grid, each row is one. */
double card_combined(double d, double n);
/* Distinct values among n rows drawn from d values. */
double card_drawn(double d, double n);
/* A constant as a number for interpolation; NAN if it is none. */
double card_number(const Value *value);
/* card_reach.c: how many times as many of the scan's rows pass its filters where its column is in the range of another
 * one than pass everywhere; 1: that is not known. */
double card_reach(const Opt *opt, const Plan *scan, ColId key, const ColFact *reach);
typedef struct CardKey {
    const Plan *scan;
    ColId col;
    const ColFact *reach;
} CardKey;
/* How many times more of the key's rows meet its reach once `to`, another column of them, equals the column of the
 * third scan, which has filters; 1 where that is not known. */
double card_reach_through(const Opt *opt, const CardKey *key, const CardKey *third, ColId to);
/* card_domains.c: sets the domain of every aggregate and join. */
void card_domains(const Opt *opt, Plan *plan);
/* Combinations that the keys of an aggregate over so many rows of the plan can take; INFINITY: it would hash them. */
double card_keys_domain(const Opt *opt, const Plan *plan, const NamedExpr *keys, uint32_t n, double rows);
/* Whether the contraction's rows are coded from exact bounds (exec/tcu/direct.c); then *codes: of its keys. */
bool contract_codes_directly(const Opt *opt, const Plan *contract, double *codes);

/* ---- plans ---------------------------------------------------------------------------------- */

/* A filter over *slot (merged into one that is there); n == 0: nothing. */
tcudb_status plan_add_filter(Opt *opt, Plan **slot, Expr *const *conds, uint32_t n, Error *err) MUST_CHECK;
/* A new column of the statement. */
PlanCol opt_new_col(Opt *opt, Type type, const char *name);
/* A join node with all columns of both inputs (left only for semi and anti). */
tcudb_status plan_new_join(Opt *opt, JoinKind kind, Plan *left, Plan *right, Expr *const *conds, uint32_t n, Plan **out,
                           Error *err) MUST_CHECK;
/* No rows, with these columns. */
tcudb_status plan_new_empty(Opt *opt, const PlanCol *cols, uint32_t n, Plan **out, Error *err) MUST_CHECK;
bool plan_is_empty(const Plan *plan);
/* Sets the node's outputs to all its inputs' (left only where the kind says so). */
tcudb_status plan_widen(Opt *opt, Plan *plan, Error *err) MUST_CHECK;
/* Makes *slot put out exactly these columns, all of which it has. */
tcudb_status plan_restore_cols(Opt *opt, Plan **slot, const PlanCol *cols, uint32_t n, Error *err) MUST_CHECK;
/* Whether the kind may put out any subset of its inputs' columns. */
bool plan_passes(const Plan *plan);
/* Whether a join of this kind puts out its left columns only. */
bool join_left_only(JoinKind kind);

#endif
