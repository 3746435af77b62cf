/*
 * list_gpu_filter.c: a group of queries answered by filters (kernel/list_filter.cuh): AND, and OR of sparse lists.
 *
 *     tasks: AND the blocks of the shortest list, OR the blocks of all lists
 *     1. every task filters its block and puts down what it keeps, a piece
 *     2. the host adds up the pieces' sizes: where each query's numbers go
 *     3. what was kept is merged there, and comes back by one copy; or the best of each query are selected
 *
 * Cost: independent of the range of the numbers. Limits: 2^32 tasks a group; a query's numbers fit the device twice.
 */
#include "codec/list_gpu_group.h"

static uint32_t shortest_of(const ListGpuIndex *x, const ListQuery *q)
{
    uint32_t shortest = 0;
    for (uint32_t k = 1; k < q->nlists; k++)
        if (x->set->entry[q->lists[k]].n < x->set->entry[q->lists[shortest]].n) shortest = k;
    return shortest;
}

static uint32_t blocks_of(const ListGpuIndex *x, uint64_t list)
{
    return x->first[list + 1] - x->first[list];
}

uint64_t list_filter_tasks(const ListGpuIndex *x, const ListQuery *q)
{
    uint64_t tasks = 0;
    if (!q->any) return q->nlists == 0 ? 0 : blocks_of(x, q->lists[shortest_of(x, q)]);
    for (uint32_t k = 0; k < q->nlists; k++) tasks += blocks_of(x, q->lists[k]);
    return tasks;
}

uint32_t list_filter_fit(const ListGpuIndex *x, const ListQuery *queries, const uint32_t *which, uint32_t n, bool top)
{
    uint64_t most = LIST_GROUP_BYTES / CODEC_BLOCK / (list_word(x->set) + (top ? 4 : 0)), tasks = 0;
    for (uint32_t i = 0; i < n; i++) {
        tasks += list_filter_tasks(x, &queries[which[i]]);
        if (tasks > most) return i == 0 ? 1 : i;
    }
    return n;
}

static tcudb_status add_tasks(ListGpuGroup *g, uint32_t query, const ListQuery *q, Error *err)
{
    uint32_t begin = (uint32_t)(g->tasks.len / sizeof(ListTask)), shortest = shortest_of(g->x, q);
    TRY(buf_append(&g->task_begin, &begin, 4, err));
    for (uint32_t k = 0; k < q->nlists + q->nwithout; k++) {
        bool own = k < q->nlists && (q->any || k == shortest);
        uint32_t at = own ? (uint32_t)(g->tasks.len / sizeof(ListTask)) : LIST_NO_TASK;
        TRY(buf_append(&g->tasks_of, &at, 4, err));
        if (own) TRY(list_group_tasks(g, &g->tasks, query, (uint32_t)q->lists[k], k, err));
    }
    return TCUDB_OK;
}

/* Steps 1 of both: pieces and kept numbers are on the device. */
static tcudb_status run_filters(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr of = 0, begin = 0, kept = 0, score = 0, total = 0, piece = 0;
    TRY(list_group_begin(g, err));
    for (uint32_t i = 0; i < g->n; i++) TRY(add_tasks(g, i, &g->queries[g->which[i]], err));
    size_t tasks = g->tasks.len / sizeof(ListTask);
    if (tasks > UINT32_MAX) return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a query over 2^32 blocks");
    uint32_t end = (uint32_t)tasks;
    TRY(buf_append(&g->task_begin, &end, 4, err));
    TRY(list_group_send(g, &g->tasks_of, &of, err));
    TRY(list_group_send(g, &g->task_begin, &begin, err));
    TRY(list_group_take(g, tasks * CODEC_BLOCK * list_word(x->set), &kept, err));
    if (g->top > 0) TRY(list_group_take(g, tasks * CODEC_BLOCK * 4, &score, err));
    TRY(list_group_take(g, sizeof(uint64_t), &total, err));
    TRY(list_group_take(g, (tasks + 1) * sizeof(ListPiece), &piece, err));
    TRY(device_fill(x->dev, total, 0, sizeof(uint64_t), err));
    g->args.kept = (void *)kept;
    g->args.kept_score = (void *)score;
    g->args.total = (void *)total;
    g->args.piece = (void *)piece;
    g->args.tasks_of = (void *)of;
    g->args.task_begin = (void *)begin;
    return list_group_launch(g, x->filter[g->top > 0], &g->tasks, g->top > 0, err);
}

/* Where each query's numbers begin (n + 1 of them), and how many the tasks of the same list kept before each task. */
static tcudb_status place_pieces(ListGpuGroup *g, uint64_t *at, uint64_t *before, Error *err)
{
    const ListTask *task = (const void *)g->tasks.data;
    uint32_t tasks = (uint32_t)(g->tasks.len / sizeof(ListTask)), query = 0;
    ListPiece *piece = arena_alloc_raw(&g->arena, tasks * sizeof(*piece) + 1, err);
    uint64_t total = 0;
    TRY_PTR(piece);
    TRY(device_download(g->x->dev, piece, (DevicePtr)g->args.piece, tasks * sizeof(*piece), err));
    for (uint32_t k = 0; k < tasks; k++) {
        while (query <= task[k].query) at[query++] = total;
        bool first = k == 0 || task[k].query != task[k - 1].query || task[k].index != task[k - 1].index;
        before[k] = first ? 0 : before[k - 1] + piece[k - 1].n;
        total += piece[k].n;
    }
    while (query <= g->n) at[query++] = total;
    return TCUDB_OK;
}

static tcudb_status merge(ListGpuGroup *g, const uint64_t *at, const uint64_t *before, DevicePtr *out, Error *err)
{
    ListGpuIndex *x = g->x;
    DevicePtr at_dev = 0, before_dev = 0;
    size_t word = list_word(x->set);
    TRY(list_group_take(g, g->n * sizeof(*at), &at_dev, err));
    TRY(list_group_take(g, g->args.tasks * sizeof(*before), &before_dev, err));
    TRY(list_group_take(g, at[g->n] * word, out, err));
    TRY(device_fill(x->dev, *out, 0, at[g->n] * word, err)); /* damaged slots may leave places empty */
    TRY(device_upload(x->dev, at_dev, at, g->n * sizeof(*at), err));
    TRY(device_upload(x->dev, before_dev, before, g->args.tasks * sizeof(*before), err));
    g->args.at = (void *)at_dev;
    g->args.before = (void *)before_dev;
    g->args.docs.out = (void *)*out;
    void *params[] = {&g->args};
    return device_launch(x->dev, x->merge, (g->args.tasks + LIST_OPS_WARPS - 1) / LIST_OPS_WARPS, LIST_OPS_WARPS * 32,
                         0, params, err);
}

tcudb_status list_filter_query(ListGpuGroup *g, Error *err)
{
    DevicePtr out = 0;
    TRY(run_filters(g, err));
    size_t tasks = g->tasks.len / sizeof(ListTask);
    if (tasks == 0) return TCUDB_OK;
    TRY(list_gpu_check(&g->x->docs, err));
    uint64_t *at = arena_alloc_raw(&g->arena, (g->n + 1) * sizeof(*at), err);
    uint64_t *before = arena_alloc_raw(&g->arena, tasks * sizeof(*before), err);
    if (at == NULL || before == NULL) return TCUDB_NOMEM;
    TRY(place_pieces(g, at, before, err));
    if (at[g->n] == 0) return TCUDB_OK;
    TRY(merge(g, at, before, &out, err));
    return list_group_deal(g, out, at, err);
}

tcudb_status list_filter_top(ListGpuGroup *g, Error *err)
{
    ListGpuIndex *x = g->x;
    TRY(run_filters(g, err));
    if (g->tasks.len == 0) return TCUDB_OK;
    TRY(list_group_room(g, err));
    void *params[] = {&g->args};
    TRY(device_launch(x->dev, x->select_kept, g->n, 256, 0, params, err));
    return list_group_hits(g, err);
}
