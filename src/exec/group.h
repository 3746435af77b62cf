/*
 * group.h: grouping shared by AGGREGATE, DISTINCT and the set operations: rows in, one state row a key.
 */
#ifndef EXEC_GROUP_H
#define EXEC_GROUP_H

#include "exec/agg.h"
#include "exec/keys.h"

/* Results of grouping: state rows in a deterministic order: [hash][key][states]. */
typedef struct Groups {
    uint64_t n;
    uint32_t nparts;
    struct GroupPart {
        char *rows;
        uint32_t n;
    } * parts;
} Groups;

typedef struct Grouping Grouping;

/* keys over in; aggregates over in. The grouping counts nothing by itself. */
tcudb_status grouping_new(Exec *x, PhysNode *node, const KeySpec *spec, const Ev *keys, AggSpec *aggs, uint32_t naggs,
                          Grouping **out, Error *err) MUST_CHECK;
Stage *grouping_stage(Grouping *g);
/* Which input of a set operation pushes next (0 or 1): COUNT_STAR number `side` counts its rows. */
void grouping_set_side(Grouping *g, uint32_t side);
/* Only the aggregates whose number in `phases` is `phase` take the rows that are pushed next. */
void grouping_set_phase(Grouping *g, const uint32_t *phases, uint32_t phase);
/* Merges what the workers have; call after the last phase. */
tcudb_status grouping_finish(Grouping *g, Groups *out, Error *err) MUST_CHECK;
/* Turns n state rows into a batch and pushes it down; on a worker, with its batch arena empty. */
typedef tcudb_status GroupsPush(void *ctx, Worker *w, const char *rows, uint32_t n, Error *err);
/* Pushes all groups down, in parallel, and frees their rows. */
tcudb_status groups_put_out(Exec *x, PhysNode *node, Stage *down, const Groups *groups, uint32_t stride,
                            GroupsPush *push, void *ctx, Error *err) MUST_CHECK;
uint32_t grouping_stride(const Grouping *g);
uint32_t grouping_state_at(const Grouping *g);

#endif
