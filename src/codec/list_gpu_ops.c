/*
 * list_gpu_ops.c: the host side of operations on lists on a GPU.
 *
 * Queries become tasks, one a block to start from, and are run in groups whose bitmaps (or scores) fit GROUP_BYTES:
 *     AND     tasks: blocks of the shortest list; the kernel filters and sets bits
 *     OR      tasks: all blocks; bits set; then the blocks of the excluded lists, bits cleared
 *     top-k   tasks: all blocks; scores added, excluded documents marked; then one selection a query
 * Bitmaps are counted by chunks; their counts, summed here, say where each chunk's numbers go; they are extracted into
 * one buffer and come back by one copy.
 *
 * Limits: questions to 32-bit numbers only; a top-k query's frequencies sum below 2^48, its lists number below 32,768.
 */
#include "codec/list_gpu_ops.h"

#include <assert.h>
#include <stdlib.h>

enum { GROUP_BYTES = 512 << 20, OVER_READ = 4224, WARP_SPACE = 32 * 8 + 32 * 4 + 2 * 4096 + 1024 };

static tcudb_status open_kernels(ListGpuIndex *x, Error *err)
{
    DeviceModule *m = NULL;
    TRY(device_module(x->dev, "list_ops", &m, err));
    TRY(device_kernel(m, "ops_and", &x->and_, err));
    TRY(device_kernel(m, "ops_mark", &x->mark, err));
    TRY(device_kernel(m, "ops_score", &x->score, err));
    TRY(device_kernel(m, "ops_count", &x->count, err));
    TRY(device_kernel(m, "ops_extract", &x->extract, err));
    return device_kernel(m, "ops_select", &x->select, err);
}

static tcudb_status open_index(ListGpuIndex *x, Error *err)
{
    size_t bytes = (x->set->lists + 1) * sizeof(*x->first);
    x->first = mem_alloc_zero(x->set->mem, bytes, err);
    TRY_PTR(x->first);
    TRY(open_kernels(x, err));
    TRY(list_gpu_open(x->dev, x->set, x->first, &x->docs, err));
    if (x->freq_set != NULL) {
        if ((x->freq_set->flags & (LIST_WIDE | LIST_ASCENDING)) != 0 || x->freq_set->lists != x->set->lists)
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the frequencies do not belong to these documents");
        for (uint64_t i = 0; i < x->set->lists; i++)
            if (x->set->entry[i].n != x->freq_set->entry[i].n)
                return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                                 "the frequencies do not belong to these documents");
        TRY(list_gpu_open(x->dev, x->freq_set, x->first, &x->freqs, err));
    }
    TRY(device_alloc(x->dev, bytes, &x->first_dev, err));
    return device_upload(x->dev, x->first_dev, x->first, bytes, err);
}

tcudb_status list_gpu_index_open(Device *dev, const ListSet *docs, const ListSet *freqs, ListGpuIndex *out, Error *err)
{
    *out = (ListGpuIndex){.dev = dev, .set = docs, .freq_set = freqs, .docs.dev = dev, .freqs.dev = dev};
    tcudb_status status = open_index(out, err);
    if (status != TCUDB_OK) list_gpu_index_close(out);
    return status;
}

void list_gpu_index_close(ListGpuIndex *x)
{
    list_gpu_close(&x->docs);
    list_gpu_close(&x->freqs);
    device_free(x->dev, x->first_dev);
    mem_free(x->set->mem, x->first, (x->set->lists + 1) * sizeof(*x->first));
    x->first = NULL;
    x->first_dev = 0;
}

/* ---- a group of queries ---- */

typedef struct Group {
    ListGpuIndex *x;
    const ListQuery *queries;
    uint32_t n;
    Buf and_tasks, mark_tasks, clear_tasks; /* ListTask; top-k: mark and clear */
    Buf begin, lists, least;
    DevicePtr memory[12];
    uint32_t used;
    ListOpsArgs args;
} Group;

static tcudb_status take(Group *g, size_t size, DevicePtr *out, Error *err)
{
    assert(g->used < sizeof(g->memory) / sizeof(g->memory[0]));
    TRY(device_alloc(g->x->dev, size, out, err));
    g->memory[g->used++] = *out;
    return TCUDB_OK;
}

static tcudb_status send(Group *g, const Buf *data, DevicePtr *out, Error *err)
{
    TRY(take(g, data->len + 4, out, err));
    return device_upload(g->x->dev, *out, data->data, data->len, err);
}

static void free_group(Group *g)
{
    Buf *bufs[] = {&g->and_tasks, &g->mark_tasks, &g->clear_tasks, &g->begin, &g->lists, &g->least};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) buf_free(bufs[i]);
    for (uint32_t i = 0; i < g->used; i++) device_free(g->x->dev, g->memory[i]);
}

static tcudb_status add_tasks(Group *g, Buf *tasks, uint32_t query, uint32_t list, Error *err)
{
    uint32_t from = g->x->first[list & ~LIST_WITHOUT], to = g->x->first[(list & ~LIST_WITHOUT) + 1];
    for (uint32_t b = from; b < to; b++) {
        ListTask task = {query, list, b};
        TRY(buf_append(tasks, &task, sizeof(task), err));
    }
    return TCUDB_OK;
}

static tcudb_status add_query(Group *g, uint32_t i, bool top, Error *err)
{
    const ListQuery *q = &g->queries[i];
    uint32_t begin = (uint32_t)(g->lists.len / 4), least = q->any ? 1 : q->nlists, shortest = 0;
    TRY(list_query_check(g->x->set, q, err));
    TRY(buf_append(&g->begin, &begin, 4, err));
    TRY(buf_append(&g->least, &least, 4, err));
    for (uint32_t k = 0; k < q->nlists + q->nwithout; k++) {
        bool without = k >= q->nlists;
        uint32_t list = (uint32_t)(without ? q->without[k - q->nlists] : q->lists[k]) | (without ? LIST_WITHOUT : 0);
        TRY(buf_append(&g->lists, &list, 4, err));
        if (!without && g->x->set->entry[list].n < g->x->set->entry[q->lists[shortest]].n) shortest = k;
        if (q->nlists > 0 && (top || q->any))
            TRY(add_tasks(g, without ? &g->clear_tasks : &g->mark_tasks, i, list, err));
    }
    if (q->nlists > 0 && !top && !q->any) TRY(add_tasks(g, &g->and_tasks, i, (uint32_t)q->lists[shortest], err));
    return TCUDB_OK;
}

static ListArgs list_args(const ListGpu *gpu)
{
    return (ListArgs){
        .dir = (void *)gpu->dir, .area = (void *)gpu->area, .fault = (void *)gpu->fault, .step = gpu->step};
}

static tcudb_status build(Group *g, bool top, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr begin = 0, lists = 0, least = 0;
    for (uint32_t i = 0; i < g->n; i++) TRY(add_query(g, i, top, err));
    uint32_t end = (uint32_t)(g->lists.len / 4);
    TRY(buf_append(&g->begin, &end, 4, err));
    TRY(send(g, &g->begin, &begin, err));
    TRY(send(g, &g->lists, &lists, err));
    TRY(send(g, &g->least, &least, err));
    ListExtent most = x->docs.extent;
    if (x->freqs.extent.image > most.image) most.image = x->freqs.extent.image;
    if (x->freqs.extent.bunches > most.bunches) most.bunches = x->freqs.extent.bunches;
    g->args = (ListOpsArgs){.docs = list_args(&x->docs),
                            .freqs = list_args(&x->freqs),
                            .first = (void *)x->first_dev,
                            .begin = (void *)begin,
                            .lists = (void *)lists,
                            .least = (void *)least,
                            .documents = (uint32_t)x->set->bound + 1,
                            .words = (uint32_t)(x->set->bound / 32 + 1)};
    g->args.chunks = (g->args.words + LIST_OPS_CHUNK - 1) / LIST_OPS_CHUNK;
    list_gpu_work(&most, &g->args.image, &g->args.pool);
    return TCUDB_OK;
}

static tcudb_status launch_tasks(Group *g, DeviceKernel *kernel, const Buf *tasks, Error *err)
{
    DevicePtr at = 0;
    if (tasks->len == 0) return TCUDB_OK;
    TRY(send(g, tasks, &at, err));
    g->args.task = (void *)at;
    g->args.tasks = (uint32_t)(tasks->len / sizeof(ListTask));
    void *params[] = {&g->args};
    uint32_t shared = LIST_OPS_WARPS * (WARP_SPACE + g->args.pool) + OVER_READ;
    return device_launch(g->x->dev, kernel, (g->args.tasks + LIST_OPS_WARPS - 1) / LIST_OPS_WARPS, LIST_OPS_WARPS * 32,
                         shared, params, err);
}

/* Counts, places, extracts, and deals the numbers out. */
static tcudb_status collect(Group *g, Buf *answers, Error *err)
{
    ListGpuIndex *x = g->x;
    uint32_t cells = g->n * g->args.chunks;
    uint64_t total = 0;
    DevicePtr counts = 0, at = 0, out = 0;
    Arena arena;
    tcudb_status status = TCUDB_NOMEM;
    arena_init(&arena, x->set->mem);
    uint32_t *count = arena_alloc_raw(&arena, cells * sizeof(*count), err);
    uint64_t *place = count == NULL ? NULL : arena_alloc_raw(&arena, cells * sizeof(*place), err);
    if (place == NULL) goto done;
    void *params[] = {&g->args};
    TRY_GOTO(take(g, cells * sizeof(*count), &counts, err));
    g->args.counts = (void *)counts;
    TRY_GOTO(device_launch(x->dev, x->count, cells, 256, 0, params, err));
    TRY_GOTO(device_download(x->dev, count, counts, cells * sizeof(*count), err));
    for (uint32_t i = 0; i < cells; i++) {
        place[i] = total;
        total += count[i];
    }
    TRY_GOTO(take(g, cells * sizeof(*place), &at, err));
    TRY_GOTO(device_upload(x->dev, at, place, cells * sizeof(*place), err));
    TRY_GOTO(take(g, total * 4, &out, err));
    g->args.at = (void *)at;
    g->args.docs.out = (void *)out;
    TRY_GOTO(device_launch(x->dev, x->extract, cells, 256, 0, params, err));
    for (uint32_t i = 0; i < g->n; i++) {
        uint64_t from = place[i * g->args.chunks], to = i + 1 < g->n ? place[(i + 1) * g->args.chunks] : total;
        TRY_GOTO(buf_reserve(&answers[i], (to - from) * 4, err));
        TRY_GOTO(device_download(x->dev, answers[i].data + answers[i].len, out + from * 4, (to - from) * 4, err));
        answers[i].len += (to - from) * 4;
    }
done:
    arena_free(&arena);
    return status;
}

static tcudb_status query_group(Group *g, Buf *answers, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr bits = 0;
    TRY(build(g, false, err));
    size_t bytes = (size_t)g->args.words * 4 * g->n;
    TRY(take(g, bytes, &bits, err));
    TRY(device_fill(x->dev, bits, 0, bytes, err));
    g->args.bits = (void *)bits;
    TRY(launch_tasks(g, x->and_, &g->and_tasks, err));
    TRY(launch_tasks(g, x->mark, &g->mark_tasks, err));
    TRY(launch_tasks(g, x->mark, &g->clear_tasks, err));
    TRY(list_gpu_check(&x->docs, err));
    return collect(g, answers, err);
}

static int best_first(const void *a, const void *b)
{
    const ListHit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->doc < y->doc ? -1 : x->doc > y->doc;
}

static tcudb_status top_group(Group *g, uint32_t k, ListHit *hits, uint32_t *found, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr score = 0, out = 0, counts = 0;
    TRY(build(g, true, err));
    size_t bytes = (size_t)g->args.documents * 8 * g->n;
    TRY(take(g, bytes, &score, err));
    TRY(device_fill(x->dev, score, 0, bytes, err));
    TRY(take(g, (size_t)g->n * k * sizeof(ListHit), &out, err));
    TRY(take(g, (size_t)g->n * 4, &counts, err));
    g->args.score = (void *)score;
    g->args.hits = (void *)out;
    g->args.found = (void *)counts;
    g->args.top = k;
    TRY(launch_tasks(g, x->score, &g->mark_tasks, err));
    TRY(launch_tasks(g, x->score, &g->clear_tasks, err));
    void *params[] = {&g->args};
    TRY(device_launch(x->dev, x->select, g->n, 256, 0, params, err));
    TRY(list_gpu_check(&x->docs, err));
    TRY(list_gpu_check(&x->freqs, err));
    TRY(device_download(x->dev, found, counts, (size_t)g->n * 4, err));
    TRY(device_download(x->dev, hits, out, (size_t)g->n * k * sizeof(ListHit), err));
    for (uint32_t i = 0; i < g->n; i++) qsort(hits + (size_t)i * k, found[i], sizeof(*hits), best_first);
    return TCUDB_OK;
}

/* Whether the set's lists can be asked at all; decoding has no such limits. */
static tcudb_status check_set(const ListSet *set, Error *err)
{
    ListQuery none = {0};
    TRY(list_query_check(set, &none, err));
    if (set->bound >= UINT32_MAX) return error_unsupported(err, 0, "a list with the number 4294967295 on a GPU");
    if (set->lists >= LIST_WITHOUT) return error_unsupported(err, 0, "more than 2147483647 lists on a GPU");
    return TCUDB_OK;
}

static uint32_t group_size(const ListGpuIndex *x, uint32_t n, size_t bytes_each)
{
    size_t fit = GROUP_BYTES / bytes_each;
    (void)x;
    return fit == 0 ? 1 : fit < n ? (uint32_t)fit : n;
}

tcudb_status list_gpu_query(ListGpuIndex *x, const ListQuery *queries, uint32_t n, Buf *answers, Error *err)
{
    TRY(check_set(x->set, err));
    uint32_t size = group_size(x, n, x->set->bound / 8 + 8);
    for (uint32_t i = 0; i < n; i += size) {
        Group g = {.x = x, .queries = queries + i, .n = n - i < size ? n - i : size};
        tcudb_status status = query_group(&g, answers + i, err);
        free_group(&g);
        if (status != TCUDB_OK) return status;
    }
    return TCUDB_OK;
}

tcudb_status list_gpu_top(ListGpuIndex *x, const ListQuery *queries, uint32_t n, uint32_t k, ListHit *hits,
                          uint32_t *found, Error *err)
{
    TRY(check_set(x->set, err));
    uint32_t size = group_size(x, n, x->set->bound * 8 + 8);
    if (x->freq_set == NULL) return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the index has no frequencies");
    memset(found, 0, n * sizeof(*found));
    for (uint32_t i = 0; i < n && k > 0; i += size) {
        Group g = {.x = x, .queries = queries + i, .n = n - i < size ? n - i : size};
        tcudb_status status = top_group(&g, k, hits + (size_t)i * k, found + i, err);
        free_group(&g);
        if (status != TCUDB_OK) return status;
    }
    return TCUDB_OK;
}
