/*
 * group_output.c: puts the groups of a finished grouping out: a task is a run of one partition's rows.
 *
 * Tasks are numbered over all partitions, so that many small ones and a few large ones keep all workers busy alike;
 * within a task whoever grouped turns a batch of state rows into columns. The rows are freed at the end.
 */
#include "exec/group.h"

enum { OUT_TASK = 8 * BATCH_ROWS };

typedef struct Output {
    const Groups *groups;
    uint32_t stride;
    const uint64_t *first_task; /* of each partition */
    Stage *down;
    GroupsPush *push;
    void *ctx;
} Output;

static tcudb_status output_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Output *o = ctx;
    uint32_t p = 0;
    while (o->first_task[p + 1] <= task) p++;
    const struct GroupPart *part = &o->groups->parts[p];
    uint64_t from = (task - o->first_task[p]) * OUT_TASK;
    uint64_t to = from + OUT_TASK < part->n ? from + OUT_TASK : part->n;
    for (uint64_t at = from; at < to && !stage_stopped(o->down); at += BATCH_ROWS) {
        uint32_t n = to - at < BATCH_ROWS ? (uint32_t)(to - at) : BATCH_ROWS;
        arena_reset(&w->batch);
        TRY(o->push(o->ctx, w, part->rows + at * o->stride, n, err));
    }
    return TCUDB_OK;
}

tcudb_status groups_put_out(Exec *x, PhysNode *node, Stage *down, const Groups *groups, uint32_t stride,
                            GroupsPush *push, void *ctx, Error *err)
{
    uint32_t nparts = groups->nparts;
    uint64_t *first_task = ARENA_ARRAY(&x->arena, uint64_t, nparts + 1, err);
    TRY_PTR(first_task);
    for (uint32_t p = 0; p < nparts; p++)
        first_task[p + 1] = first_task[p] + (groups->parts[p].n + OUT_TASK - 1) / OUT_TASK;
    Output output = {groups, stride, first_task, down, push, ctx};
    TRY(exec_source(x, node, down, first_task[nparts], output_task, &output, err));
    for (uint32_t p = 0; p < nparts; p++) exec_free(x, groups->parts[p].rows);
    return TCUDB_OK;
}
