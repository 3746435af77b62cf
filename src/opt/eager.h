/*
 * eager.h: the sides of a join below an aggregate, and what is summed on each before they meet.
 */
#ifndef OPT_EAGER_H
#define OPT_EAGER_H

#include "opt/opt_int.h"

typedef struct EagerSide {
    Plan *plan;
    bool pre;        /* aggregated before the join */
    NamedExpr *keys; /* what it is grouped by: its columns that the join and the groups use */
    uint32_t nkeys;
    AggCall *partials;
    uint32_t npartials, cap;
} EagerSide;

/* What takes the place of one aggregate: columns over the join, aggregated again, and the final value. */
typedef struct Eager {
    Opt *opt;
    const Plan *agg;
    const Plan *join;
    EagerSide sides[2];
    AggCall *tops; /* the aggregates above the join */
    uint32_t ntops, top_cap;
} Eager;

/* Finds the partials and tops for one call. *ok false: the call does not split. *final: its value over tops. */
tcudb_status eager_split(Eager *e, const AggCall *call, Expr **final, bool *ok, Error *err) MUST_CHECK;

/* Which side an expression is over: 0, 1, or -1: both or neither. */
int eager_side(const Eager *e, const Expr *x);
/* An aggregate of a side that is aggregated below, as a column. The argument is evaluated for rows that meet no
 * partner: *ok false if it may fail. */
tcudb_status eager_partial(Eager *e, int side, AggKind kind, Expr *arg, Expr **out, bool *ok, Error *err) MUST_CHECK;

/* eager_extreme.c: of x over both sides, what its extreme is the extreme of, over the rows of the join of the
 * aggregated sides. *ok false: it is not known. */
tcudb_status eager_extreme(Eager *e, AggKind kind, Expr *x, Expr **value, bool *ok, Error *err) MUST_CHECK;

#endif
