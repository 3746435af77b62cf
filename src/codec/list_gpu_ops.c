/*
 * list_gpu_ops.c: operations on lists on a GPU: the uploaded index, and which way each query takes.
 *
 * Two ways: filters (list_gpu_filter.c), whose cost follows the lists, for AND, for 64-bit numbers and for lists that
 * are sparse in their range; bitmaps or arrays of scores (list_gpu_dense.c), whose cost follows the range too, for OR
 * and its top-k over dense 32-bit lists. A batch is parted by the ways, and each part is run in groups that fit the
 * working memory.
 */
#include "codec/list_gpu_group.h"

/* What filtering a block through one list costs, in words of a bitmap (three passes over each) and in documents' scores
 * (seven). */
enum { WORDS_A_FILTER = 16384, DOCUMENTS_A_FILTER = 2000, DENSE_LISTS = 32767 };

static tcudb_status open_kernels(ListGpuIndex *x, Error *err)
{
    bool wide = x->set->flags & LIST_WIDE;
    DeviceModule *m = NULL;
    TRY(device_module(x->dev, "list_filter", &m, err));
    TRY(device_kernel(m, wide ? "ops_filter64" : "ops_filter32", &x->filter[0], err));
    TRY(device_kernel(m, wide ? "ops_filter64_scored" : "ops_filter32_scored", &x->filter[1], err));
    TRY(device_kernel(m, wide ? "ops_merge64" : "ops_merge32", &x->merge, err));
    TRY(device_kernel(m, wide ? "ops_select64" : "ops_select32", &x->select_kept, err));
    TRY(device_module(x->dev, "list_ops", &m, err));
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
        TRY(list_freqs_check(x->set, x->freq_set, err));
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
    for (int i = 0; i < LIST_GPU_SCRATCH; i++) device_free(x->dev, x->scratch[i].at);
    device_host_free(x->dev, x->stage);
    x->stage = NULL;
    mem_free(x->set->mem, x->first, (x->set->lists + 1) * sizeof(*x->first));
    x->first = NULL;
    x->first_dev = 0;
    memset(x->scratch, 0, sizeof(x->scratch));
}

static bool is_dense(const ListGpuIndex *x, const ListQuery *q, bool top)
{
    if (!q->any || x->set->flags & LIST_WIDE || x->set->bound >= UINT32_MAX || q->nlists > DENSE_LISTS) return false;
    if (x->way != LIST_GPU_CHOOSE) return x->way == LIST_GPU_DENSE;
    uint64_t tasks = list_filter_tasks(x, q), range = x->set->bound;
    return tasks + (top ? range / DOCUMENTS_A_FILTER : range / 32 / WORDS_A_FILTER) < tasks * q->nlists;
}

static tcudb_status run_group(ListGpuGroup *g, bool dense, Error *err)
{
    tcudb_status status;
    Buf *bufs[] = {&g->tasks, &g->clear, &g->begin, &g->lists, &g->least, &g->tasks_of, &g->task_begin};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) buf_init(bufs[i], g->x->set->mem);
    arena_init(&g->arena, g->x->set->mem);
    if (dense)
        status = g->top > 0 ? list_dense_top(g, err) : list_dense_query(g, err);
    else
        status = g->top > 0 ? list_filter_top(g, err) : list_filter_query(g, err);
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) buf_free(bufs[i]);
    arena_free(&g->arena);
    return status;
}

/* Runs the queries of one way, group by group. `like`: what the groups have in common. */
static tcudb_status run_way(const ListGpuGroup *like, uint32_t n, bool dense, uint32_t *which, Error *err)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_dense(like->x, &like->queries[i], like->top > 0) == dense) which[count++] = i;
    for (uint32_t from = 0; from < count;) {
        ListGpuGroup g = *like;
        g.which = which + from;
        g.n = dense ? list_dense_fit(g.x, count - from, g.top > 0)
                    : list_filter_fit(g.x, g.queries, g.which, count - from, g.top > 0);
        TRY(run_group(&g, dense, err));
        from += g.n;
    }
    return TCUDB_OK;
}

static tcudb_status run_batch(const ListGpuGroup *like, uint32_t n, Error *err)
{
    ListQuery none = {0};
    TRY(list_query_check(like->x->set, &none, err));
    if (like->x->set->lists >= LIST_WITHOUT) return error_unsupported(err, 0, "more than 2147483647 lists on a GPU");
    for (uint32_t i = 0; i < n; i++) TRY(list_query_check(like->x->set, &like->queries[i], err));
    uint32_t *which = mem_alloc(like->x->set->mem, n * sizeof(*which), err);
    TRY_PTR(which);
    tcudb_status status = run_way(like, n, false, which, err);
    if (status == TCUDB_OK) status = run_way(like, n, true, which, err);
    mem_free(like->x->set->mem, which, n * sizeof(*which));
    return status;
}

tcudb_status list_gpu_query(ListGpuIndex *x, const ListQuery *queries, uint32_t n, Buf *answers, Error *err)
{
    ListGpuGroup like = {.x = x, .queries = queries, .answers = answers};
    return run_batch(&like, n, err);
}

tcudb_status list_gpu_top(ListGpuIndex *x, const ListQuery *queries, uint32_t n, uint32_t k, ListHit *hits,
                          uint32_t *found, Error *err)
{
    ListGpuGroup like = {.x = x, .queries = queries, .top = k, .hits = hits, .found = found};
    if (x->freq_set == NULL) return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the index has no frequencies");
    if (n > 0) memset(found, 0, n * sizeof(*found));
    return k == 0 ? TCUDB_OK : run_batch(&like, n, err);
}
