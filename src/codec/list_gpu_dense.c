/*
 * list_gpu_dense.c: a group of queries over dense lists of 32-bit numbers, answered by bitmaps and arrays of scores
 * (kernel/list_ops.cuh).
 *
 *     OR      tasks: all blocks, whose bits are set; then the blocks of the excluded lists, whose bits are cleared
 *     top-k   tasks: all blocks, whose scores are added, excluded documents marked; then one selection a query
 *
 * Bitmaps are counted by chunks; their counts, summed here, say where each chunk's numbers go; they are extracted into
 * one buffer and come back by one copy.
 *
 * Limits: numbers below 2^32 - 1; a top-k query's frequencies sum below 2^48, its lists number below 32,768.
 */
#include "codec/list_gpu_group.h"

uint32_t list_dense_fit(const ListGpuIndex *x, uint32_t n, bool top)
{
    size_t fit = LIST_GROUP_BYTES / (top ? x->set->bound * 8 + 8 : x->set->bound / 8 + 8);
    return fit == 0 ? 1 : fit < n ? (uint32_t)fit : n;
}

static tcudb_status begin(ListGpuGroup *g, Error *err)
{
    TRY(list_group_begin(g, err));
    g->args.documents = (uint32_t)g->x->set->bound + 1;
    g->args.words = (uint32_t)(g->x->set->bound / 32 + 1);
    g->args.chunks = (g->args.words + LIST_OPS_CHUNK - 1) / LIST_OPS_CHUNK;
    for (uint32_t i = 0; i < g->n; i++) {
        const ListQuery *q = &g->queries[g->which[i]];
        for (uint32_t k = 0; k < q->nlists; k++) TRY(list_group_tasks(g, &g->tasks, i, (uint32_t)q->lists[k], k, err));
        for (uint32_t k = 0; k < q->nwithout; k++)
            TRY(list_group_tasks(g, &g->clear, i, (uint32_t)q->without[k] | LIST_WITHOUT, q->nlists + k, err));
    }
    return TCUDB_OK;
}

/* Where each chunk's numbers go: cells + 1 places. */
static tcudb_status count_bits(ListGpuGroup *g, uint32_t cells, uint64_t *place, Error *err)
{
    DevicePtr counts = 0;
    uint32_t *count = arena_alloc_raw(&g->arena, cells * sizeof(*count), err);
    TRY_PTR(count);
    TRY(list_group_take(g, cells * sizeof(*count), &counts, err));
    g->args.counts = (void *)counts;
    void *params[] = {&g->args};
    TRY(device_launch(g->x->dev, g->x->count, cells, 256, 0, params, err));
    TRY(device_download(g->x->dev, count, counts, cells * sizeof(*count), err));
    place[0] = 0;
    for (uint32_t i = 0; i < cells; i++) place[i + 1] = place[i] + count[i];
    return TCUDB_OK;
}

/* Counts, places, extracts, and deals the numbers out. */
static tcudb_status collect(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    uint32_t cells = g->n * g->args.chunks;
    DevicePtr at = 0, out = 0;
    uint64_t *place = arena_alloc_raw(&g->arena, (cells + 1) * sizeof(*place), err);
    TRY_PTR(place);
    TRY(count_bits(g, cells, place, err));
    if (place[cells] == 0) return TCUDB_OK;
    TRY(list_group_take(g, cells * sizeof(*place), &at, err));
    TRY(device_upload(x->dev, at, place, cells * sizeof(*place), err));
    TRY(list_group_take(g, place[cells] * 4, &out, err));
    g->args.at = (void *)at;
    g->args.docs.out = (void *)out;
    void *params[] = {&g->args};
    TRY(device_launch(x->dev, x->extract, cells, 256, 0, params, err));
    for (uint32_t i = 1; i <= g->n; i++) place[i] = place[i * g->args.chunks];
    return list_group_deal(g, out, place, err);
}

tcudb_status list_dense_query(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr bits = 0;
    TRY(begin(g, err));
    size_t bytes = (size_t)g->args.words * 4 * g->n;
    TRY(list_group_take(g, bytes, &bits, err));
    TRY(device_fill(x->dev, bits, 0, bytes, err));
    g->args.bits = (void *)bits;
    TRY(list_group_launch(g, x->mark, &g->tasks, false, err));
    TRY(list_group_launch(g, x->mark, &g->clear, false, err));
    TRY(list_gpu_check(&x->docs, err));
    return collect(g, err);
}

tcudb_status list_dense_top(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr score = 0;
    TRY(begin(g, err));
    size_t bytes = (size_t)g->args.documents * 8 * g->n;
    TRY(list_group_take(g, bytes, &score, err));
    TRY(device_fill(x->dev, score, 0, bytes, err));
    TRY(list_group_room(g, err));
    g->args.score = (void *)score;
    TRY(list_group_launch(g, x->score, &g->tasks, false, err));
    TRY(list_group_launch(g, x->score, &g->clear, false, err));
    void *params[] = {&g->args};
    TRY(device_launch(x->dev, x->select, g->n, 256, 0, params, err));
    return list_group_hits(g, err);
}
