/*
 * list_gpu_group.c: what the ways to answer a group of queries on a GPU share: memory, tasks, launches.
 *
 * Working memory stays with the index, slot by slot, and grows: allocating and freeing it for every group took longer
 * than many groups' kernels.
 */
#include "codec/list_gpu_group.h"

#include <assert.h>
#include <stdlib.h>

/* Shared memory of a warp but for its pool, struct WarpSpace of kernel/list_task.cuh; and what a decode may read
 * behind. */
enum { OVER_READ = 4224, BUNCHES = 32 * 8 + 32 * 4, KEEP = 1024, SCORES = 2 * 4096, NO_SCORES = 2 * 128 };
enum { STAGE = 8 << 20 };

tcudb_status list_group_take(ListGpuGroup *g, size_t size, DevicePtr *out, Error *err)
{
    assert(g->used < LIST_GPU_SCRATCH);
    ListGpuScratch *s = &g->x->scratch[g->used];
    if (s->size < size) {
        device_free(g->x->dev, s->at);
        *s = (ListGpuScratch){0};
        TRY(device_alloc(g->x->dev, size + size / 4 + 256, &s->at, err));
        s->size = size + size / 4 + 256;
    }
    g->used++;
    *out = s->at;
    return TCUDB_OK;
}

tcudb_status list_group_send(ListGpuGroup *g, const Buf *data, DevicePtr *out, Error *err)
{
    TRY(list_group_take(g, data->len + 4, out, err));
    return data->len == 0 ? TCUDB_OK : device_upload(g->x->dev, *out, data->data, data->len, err);
}

tcudb_status list_group_tasks(ListGpuGroup *g, Buf *tasks, uint32_t query, uint32_t list, uint32_t index, Error *err)
{
    uint32_t from = g->x->first[list & ~LIST_WITHOUT], to = g->x->first[(list & ~LIST_WITHOUT) + 1];
    TRY(buf_reserve(tasks, (to - from) * sizeof(ListTask), err));
    for (uint32_t b = from; b < to; b++) {
        ListTask task = {query, list, b, index};
        TRY(buf_append(tasks, &task, sizeof(task), err));
    }
    return TCUDB_OK;
}

static tcudb_status add_query(ListGpuGroup *g, const ListQuery *q, Error *err)
{
    uint32_t begin = (uint32_t)(g->lists.len / 4), least = q->any ? 1 : q->nlists;
    TRY(buf_append(&g->begin, &begin, 4, err));
    TRY(buf_append(&g->least, &least, 4, err));
    for (uint32_t k = 0; k < q->nlists + q->nwithout; k++) {
        bool without = k >= q->nlists;
        uint32_t list = (uint32_t)(without ? q->without[k - q->nlists] : q->lists[k]) | (without ? LIST_WITHOUT : 0);
        TRY(buf_append(&g->lists, &list, 4, err));
    }
    return TCUDB_OK;
}

static ListArgs list_args(const ListGpu *gpu)
{
    return (ListArgs){
        .dir = (void *)gpu->dir, .area = (void *)gpu->area, .fault = (void *)gpu->fault, .step = gpu->step};
}

tcudb_status list_group_begin(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr begin = 0, lists = 0, least = 0;
    for (uint32_t i = 0; i < g->n; i++) TRY(add_query(g, &g->queries[g->which[i]], err));
    uint32_t end = (uint32_t)(g->lists.len / 4);
    TRY(buf_append(&g->begin, &end, 4, err));
    TRY(list_group_send(g, &g->begin, &begin, err));
    TRY(list_group_send(g, &g->lists, &lists, err));
    TRY(list_group_send(g, &g->least, &least, err));
    ListExtent most = x->docs.extent;
    if (x->freqs.extent.image > most.image) most.image = x->freqs.extent.image;
    if (x->freqs.extent.bunches > most.bunches) most.bunches = x->freqs.extent.bunches;
    g->args = (ListOpsArgs){.docs = list_args(&x->docs),
                            .freqs = list_args(&x->freqs),
                            .first = (void *)x->first_dev,
                            .begin = (void *)begin,
                            .lists = (void *)lists,
                            .least = (void *)least,
                            .top = g->top};
    list_gpu_work(&most, &g->args.image, &g->args.pool);
    return TCUDB_OK;
}

tcudb_status list_group_launch(ListGpuGroup *g, DeviceKernel *kernel, const Buf *tasks, bool scored, Error *err)
{
    DevicePtr at = 0;
    if (tasks->len == 0) return TCUDB_OK;
    TRY(list_group_send(g, tasks, &at, err));
    g->args.task = (void *)at;
    g->args.tasks = (uint32_t)(tasks->len / sizeof(ListTask));
    void *params[] = {&g->args};
    uint32_t numbers = 2 * CODEC_BLOCK * (uint32_t)list_word(g->x->set);
    uint32_t warp = BUNCHES + numbers + (scored ? SCORES : NO_SCORES) + KEEP + g->args.pool;
    return device_launch(g->x->dev, kernel, (g->args.tasks + LIST_OPS_WARPS - 1) / LIST_OPS_WARPS, LIST_OPS_WARPS * 32,
                         LIST_OPS_WARPS * warp + OVER_READ, params, err);
}

tcudb_status list_group_deal(ListGpuGroup *g, DevicePtr numbers, const uint64_t *at, Error *err)
{
    uint64_t word = list_word(g->x->set), total = at[g->n] * word;
    uint32_t query = 0;
    if (g->x->stage == NULL) {
        void *stage = NULL;
        TRY(device_host_alloc(g->x->dev, STAGE, &stage, err));
        g->x->stage = stage;
    }
    for (uint64_t from = 0; from < total;) {
        uint64_t n = total - from < STAGE ? total - from : STAGE, begin = from, end = from + n;
        TRY(device_download(g->x->dev, g->x->stage, numbers + from, n, err));
        while (from < end) {
            while (at[query + 1] * word <= from) query++;
            uint64_t part = (at[query + 1] * word < end ? at[query + 1] * word : end) - from;
            TRY(buf_append(&g->answers[g->which[query]], g->x->stage + (from - begin), part, err));
            from += part;
        }
    }
    return TCUDB_OK;
}

static int best_first(const void *a, const void *b)
{
    const ListHit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->doc < y->doc ? -1 : x->doc > y->doc;
}

_Static_assert(sizeof(ListGpuHit) == sizeof(ListHit) && offsetof(ListGpuHit, score) == offsetof(ListHit, score),
               "hits come back as they are");

tcudb_status list_group_room(ListGpuGroup *g, Error *err)
{
    size_t size = (size_t)g->n * g->top * sizeof(ListGpuHit);
    DevicePtr hits = 0, found = 0;
    TRY(list_group_take(g, size, &hits, err));
    TRY(list_group_take(g, (size_t)g->n * 4, &found, err));
    g->args.hits = (void *)hits;
    g->args.found = (void *)found;
    return device_fill(g->x->dev, hits, 0, size, err); /* fewer may be found, and all come back */
}

tcudb_status list_group_hits(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    ListHit *hits = arena_alloc_raw(&g->arena, (size_t)g->n * g->top * sizeof(*hits), err);
    uint32_t *found = arena_alloc_raw(&g->arena, g->n * sizeof(*found), err);
    if (hits == NULL || found == NULL) return TCUDB_NOMEM;
    TRY(list_gpu_check(&x->docs, err));
    TRY(list_gpu_check(&x->freqs, err));
    TRY(device_download(x->dev, found, (DevicePtr)g->args.found, g->n * sizeof(*found), err));
    TRY(device_download(x->dev, hits, (DevicePtr)g->args.hits, (size_t)g->n * g->top * sizeof(*hits), err));
    for (uint32_t i = 0; i < g->n; i++) {
        ListHit *mine = hits + (size_t)i * g->top;
        qsort(mine, found[i], sizeof(*mine), best_first);
        memcpy(g->hits + (size_t)g->which[i] * g->top, mine, found[i] * sizeof(*mine));
        g->found[g->which[i]] = found[i];
    }
    return TCUDB_OK;
}
