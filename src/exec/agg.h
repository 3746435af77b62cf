/*
 * agg.h: aggregate functions over states that lie in rows.
 *
 * A state is a few words, all zero before its first row. `update` adds rows of a batch to the states of their
 * groups, `combine` adds one state to another, `final` makes the results. Sums of exact numbers are
 * exact in 128 or 192 bits whatever the order; sums of floats depend on the order, so callers combine
 * them in task order (agg_ordered).
 */
#ifndef EXEC_AGG_H
#define EXEC_AGG_H

#include "exec/exec_int.h"

typedef struct AggSpec {
    AggKind kind;
    uint8_t phys; /* of the argument */
    Type arg, result;
    uint32_t offset; /* of the state, after the caller's own bytes */
    uint32_t size;
    bool distinct;
    bool narrow; /* the sum of a batch of arguments fits 64 bits */
    bool has_filter;
    bool descending;
    Ev args[2];
    uint32_t nargs;
    Ev filter;
} AggSpec;

/* The states of the groups of a batch: row i's state is base + group[i] * stride + spec->offset. */
typedef struct AggStates {
    char *base;
    size_t stride;
    const uint32_t *group; /* NULL: all rows belong to group 0 */
    uint32_t ngroups;      /* group[] is below it; 0: unknown */
} AggStates;

/* 0A000 for what cannot run. */
tcudb_status agg_spec(Exec *x, const AggCall *call, const Layout *in, AggSpec *out, Error *err) MUST_CHECK;
uint32_t agg_state_size(AggKind kind, Phys arg);
/* Whether results depend on the order of rows. */
bool agg_ordered(const AggSpec *spec);
/* Rows sel[0..n-1] (NULL: 0..n-1); group[i] belongs to the i-th of them. args: the evaluated arguments. */
tcudb_status agg_update(const AggSpec *spec, Worker *w, const AggStates *states, const Vector *args,
                        const uint16_t *sel, uint32_t n, Error *err) MUST_CHECK;
/* to += from, both pointing at states (offset applied). */
tcudb_status agg_combine(const AggSpec *spec, Worker *w, char *to, const char *from, Error *err) MUST_CHECK;
/* Results of n states that lie `stride` bytes apart from `states` on (offset not applied). */
tcudb_status agg_final(const AggSpec *spec, Worker *w, const char *states, size_t stride, uint32_t n, Vector *out,
                       Error *err) MUST_CHECK;

#endif
