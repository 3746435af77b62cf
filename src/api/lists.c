/*
 * lists.c: tcudb_codec.h, the public side of codec/'s list sets and their operations, CPU and GPU.
 *
 * Memory is not charged to any database: there is none. Bytes and numbers that are handed out are copied into memory
 * that free() releases, whose size nobody needs to know (mem.h's large blocks are mapped). Public and internal structs
 * of queries and hits agree, so arrays of them are passed on as they are, except queries (their flag has another type).
 */
#include "api/api_int.h"

#include "codec/list_cost.h"
#include "codec/list_gpu_ops.h"
#include "codec/list_int.h"
#include "codec/list_source.h"
#include "tcudb_codec.h"

#include <assert.h>
#include <stdlib.h>

struct tcudb_lists {
    ListSet set;
};
struct tcudb_lists_writer {
    ListWriter writer;
    bool spent; /* finished or failed */
};
struct tcudb_gpu_lists {
    Device *dev;
    ListGpuIndex index;
};

_Static_assert(sizeof(tcudb_list_hit) == sizeof(ListHit) && offsetof(tcudb_list_hit, score) == offsetof(ListHit, score),
               "hits are handed over in place");
_Static_assert((int)TCUDB_LISTS_WIDE == (int)LIST_WIDE && (int)TCUDB_LISTS_ASCENDING == (int)LIST_ASCENDING, "flags");
_Static_assert((int)TCUDB_FROM_TEXT == (int)LIST_FROM_TEXT, "sources");

/* Translates a result of the engine. */
static tcudb_status done(tcudb_status status, const Error *e, tcudb_error *err)
{
    return status == TCUDB_OK ? TCUDB_OK : api_fail(err, status, e);
}

static uint32_t schemes_of(tcudb_list_codec codec)
{
    return codec == TCUDB_CODEC_PFOR ? LIST_USE_PFOR : codec == TCUDB_CODEC_VSE ? LIST_USE_VSE : LIST_USE_ANY;
}

void tcudb_lists_free(void *memory)
{
    free(memory);
}

/* ---- writing ---- */

tcudb_status tcudb_lists_writer_new(int flags, tcudb_list_codec codec, tcudb_lists_writer **writer, tcudb_error *err)
{
    Error e;
    if (writer == NULL) return api_misuse(err, "tcudb_lists_writer_new: writer is NULL");
    *writer = NULL;
    if ((flags & ~(TCUDB_LISTS_WIDE | TCUDB_LISTS_ASCENDING)) != 0 || (unsigned)codec > TCUDB_CODEC_VSE)
        return api_misuse(err, "tcudb_lists_writer_new: unknown flags or codec");
    tcudb_lists_writer *w = mem_alloc_zero(NULL, sizeof(*w), &e);
    if (w == NULL) return api_fail(err, TCUDB_NOMEM, &e);
    list_writer_init(&w->writer, (uint32_t)flags, schemes_of(codec), NULL);
    *writer = w;
    return TCUDB_OK;
}

tcudb_status tcudb_lists_writer_add(tcudb_lists_writer *writer, const void *values, uint64_t n, tcudb_error *err)
{
    Error e;
    if (writer == NULL || writer->spent || (values == NULL && n > 0))
        return api_misuse(err, "tcudb_lists_writer_add: no open writer, or no values");
    tcudb_status status = list_writer_add(&writer->writer, values, n, &e);
    writer->spent = status != TCUDB_OK;
    return done(status, &e, err);
}

/* Moves the bytes to memory that tcudb_lists_free releases. */
static tcudb_status move_out(Buf *buf, void **bytes, Error *e)
{
    *bytes = malloc(buf->len == 0 ? 1 : buf->len);
    if (*bytes != NULL && buf->len > 0) memcpy(*bytes, buf->data, buf->len);
    buf_free(buf);
    return *bytes == NULL ? error_set(e, SQLSTATE_OUT_OF_MEMORY, "out of memory") : TCUDB_OK;
}

static tcudb_status hand_out(tcudb_status status, Buf *buf, Error *e, void **bytes, size_t *size, tcudb_error *err)
{
    size_t n = buf->len;
    if (status == TCUDB_OK) status = move_out(buf, bytes, e);
    if (status != TCUDB_OK) {
        buf_free(buf);
        return api_fail(err, status, e);
    }
    *size = n;
    return TCUDB_OK;
}

tcudb_status tcudb_lists_writer_finish(tcudb_lists_writer *writer, void **bytes, size_t *size, tcudb_error *err)
{
    Error e;
    Buf out;
    if (bytes != NULL) *bytes = NULL;
    if (writer == NULL || writer->spent || bytes == NULL || size == NULL)
        return api_misuse(err, "tcudb_lists_writer_finish: no open writer, or no place for the bytes");
    buf_init(&out, NULL);
    writer->spent = true;
    return hand_out(list_writer_finish(&writer->writer, &out, &e), &out, &e, bytes, size, err);
}

void tcudb_lists_writer_close(tcudb_lists_writer *writer)
{
    if (writer == NULL) return;
    list_writer_free(&writer->writer);
    mem_free(NULL, writer, sizeof(*writer));
}

tcudb_status tcudb_lists_encode_file(const void *file, size_t file_size, tcudb_list_source source,
                                     tcudb_list_codec codec, void **bytes, size_t *size, tcudb_error *err)
{
    Error e;
    Buf out;
    if (bytes != NULL) *bytes = NULL;
    if ((file == NULL && file_size > 0) || bytes == NULL || size == NULL || (unsigned)source > TCUDB_FROM_TEXT ||
        source == TCUDB_FROM_API)
        return api_misuse(err, "tcudb_lists_encode_file: an argument is missing, or source is unknown");
    buf_init(&out, NULL);
    return hand_out(list_source_encode(file, file_size, (ListSource)source, schemes_of(codec), NULL, &out, &e), &out,
                    &e, bytes, size, err);
}

tcudb_status tcudb_lists_decode_file(const tcudb_lists *lists, void **file, size_t *file_size, tcudb_error *err)
{
    Error e;
    Buf out;
    if (file != NULL) *file = NULL;
    if (lists == NULL || file == NULL || file_size == NULL)
        return api_misuse(err, "tcudb_lists_decode_file: an argument is NULL");
    buf_init(&out, NULL);
    tcudb_status status = list_source_decode(&lists->set, &out, &e);
    return hand_out(status, &out, &e, file, file_size, err);
}

/* ---- reading ---- */

tcudb_status tcudb_lists_open(const void *bytes, size_t size, int verify, tcudb_lists **lists, tcudb_error *err)
{
    Error e;
    if (lists != NULL) *lists = NULL;
    if (bytes == NULL || lists == NULL) return api_misuse(err, "tcudb_lists_open: an argument is NULL");
    tcudb_lists *l = mem_alloc_zero(NULL, sizeof(*l), &e);
    if (l == NULL) return api_fail(err, TCUDB_NOMEM, &e);
    tcudb_status status = list_set_open(bytes, size, verify != 0, NULL, &l->set, &e);
    if (status != TCUDB_OK) {
        mem_free(NULL, l, sizeof(*l));
        return api_fail(err, status, &e);
    }
    *lists = l;
    return TCUDB_OK;
}

void tcudb_lists_close(tcudb_lists *lists)
{
    if (lists == NULL) return;
    list_set_close(&lists->set);
    mem_free(NULL, lists, sizeof(*lists));
}

tcudb_status tcudb_lists_verify(const tcudb_lists *lists, tcudb_error *err)
{
    Error e;
    if (lists == NULL) return api_misuse(err, "tcudb_lists_verify: lists is NULL");
    return done(list_set_verify(&lists->set, &e), &e, err);
}

void tcudb_lists_describe(const tcudb_lists *lists, tcudb_lists_info *info)
{
    if (info == NULL) return;
    memset(info, 0, sizeof(*info));
    if (lists == NULL) return;
    const ListSet *s = &lists->set;
    info->flags = (int)(s->flags & (LIST_WIDE | LIST_ASCENDING));
    info->source = (tcudb_list_source)(s->flags >> LIST_SOURCE_SHIFT & 255);
    info->lists = s->lists;
    info->values = s->values;
    info->blocks = s->blocks;
    info->largest = s->bound;
    info->bytes = s->size;
    info->block_bytes = s->area_size;
    info->skip_bytes = s->blocks * (12 + (s->flags & LIST_WIDE ? 8 : 4));
    info->directory_bytes = s->directory_size;
}

uint64_t tcudb_lists_length(const tcudb_lists *lists, uint64_t list)
{
    return lists == NULL || list >= lists->set.lists ? 0 : lists->set.entry[list].n;
}

uint64_t tcudb_lists_blocks(const tcudb_lists *lists, uint64_t list)
{
    return list_blocks(tcudb_lists_length(lists, list));
}

tcudb_status tcudb_lists_decode(const tcudb_lists *lists, uint64_t list, void *out, tcudb_error *err)
{
    Error e;
    if (lists == NULL || list >= lists->set.lists || out == NULL)
        return api_misuse(err, "tcudb_lists_decode: no such list, or no room for it");
    return done(list_set_decode_all(&lists->set, list, out, &e), &e, err);
}

static void describe_bunches(const uint8_t *signatures, uint32_t count, tcudb_list_block *out)
{
    for (uint32_t s = 0; s < count; s++) {
        uint32_t l = vse_length[signatures[s] & 15];
        out->bunch_lengths[l]++;
        out->bunch_widths[vse_width[signatures[s] >> 4]] += l;
    }
}

tcudb_status tcudb_lists_block(const tcudb_lists *lists, uint64_t list, uint64_t block, tcudb_list_block *out,
                               tcudb_error *err)
{
    ListHead h;
    Error e;
    size_t size;
    if (lists == NULL || out == NULL || block >= tcudb_lists_blocks(lists, list))
        return api_misuse(err, "tcudb_lists_block: no such block");
    uint64_t number = lists->set.entry[list].at + block;
    const uint8_t *at = list_set_block(&lists->set, number, &size);
    ListFault fault = list_read_head(at, size, &h);
    if (fault != LIST_OK)
        return done(error_set(&e, SQLSTATE_DATA_CORRUPTED, "damaged list set: list %llu, block %llu: %s",
                              (unsigned long long)list, (unsigned long long)block, list_fault_text(fault)),
                    &e, err);
    *out = (tcudb_list_block){.scheme = list_scheme_name(h.scheme),
                              .n = h.n,
                              .bytes = (uint32_t)size,
                              .width = h.width,
                              .exceptions = h.scheme == LIST_PFOR ? h.count : 0,
                              .exception_bits = h.exc_width,
                              .bunches = h.scheme == LIST_VSE ? h.count : 0,
                              .last = list_set_last(&lists->set, number),
                              .intact = list_crc32c(0, at, size) == list_load32(lists->set.sums + 4 * number)};
    if (h.scheme == LIST_VSE) describe_bunches(at + LIST_HEAD, h.count, out);
    return TCUDB_OK;
}

/* ---- operations ---- */

static ListQuery query_of(const tcudb_list_query *q)
{
    return (ListQuery){q->lists, q->without, q->nlists, q->nwithout, q->any != 0};
}

static bool query_usable(const tcudb_list_query *q)
{
    return q != NULL && (q->lists != NULL || q->nlists == 0) && (q->without != NULL || q->nwithout == 0);
}

tcudb_status tcudb_lists_search(const tcudb_lists *lists, const tcudb_list_query *query, void **numbers, uint64_t *n,
                                tcudb_error *err)
{
    Error e;
    Buf out;
    void *bytes = NULL;
    size_t size = 0;
    if (numbers != NULL) *numbers = NULL;
    if (lists == NULL || numbers == NULL || n == NULL || !query_usable(query))
        return api_misuse(err, "tcudb_lists_search: an argument is NULL");
    ListQuery q = query_of(query);
    buf_init(&out, NULL);
    TRY(hand_out(list_query(&lists->set, &q, &out, NULL, &e), &out, &e, &bytes, &size, err));
    *numbers = bytes;
    *n = size / list_word(&lists->set);
    return TCUDB_OK;
}

tcudb_status tcudb_lists_top(const tcudb_lists *lists, const tcudb_lists *frequencies, const tcudb_list_query *query,
                             uint32_t k, tcudb_list_hit *hits, uint32_t *n, tcudb_error *err)
{
    Error e;
    if (lists == NULL || frequencies == NULL || (hits == NULL && k > 0) || n == NULL || !query_usable(query))
        return api_misuse(err, "tcudb_lists_top: an argument is NULL");
    ListQuery q = query_of(query);
    return done(list_top(&lists->set, &frequencies->set, &q, k, (ListHit *)(void *)hits, n, NULL, &e), &e, err);
}

/* ---- GPU ---- */

tcudb_status tcudb_gpu_lists_open(const tcudb_lists *lists, const tcudb_lists *frequencies, tcudb_gpu_lists **gpu,
                                  tcudb_error *err)
{
    Error e;
    if (gpu != NULL) *gpu = NULL;
    if (lists == NULL || gpu == NULL) return api_misuse(err, "tcudb_gpu_lists_open: an argument is NULL");
    tcudb_gpu_lists *g = mem_alloc_zero(NULL, sizeof(*g), &e);
    if (g == NULL) return api_fail(err, TCUDB_NOMEM, &e);
    tcudb_status status = device_open(0, &g->dev, &e);
    if (status == TCUDB_OK)
        status =
            list_gpu_index_open(g->dev, &lists->set, frequencies == NULL ? NULL : &frequencies->set, &g->index, &e);
    if (status != TCUDB_OK) {
        device_close(g->dev);
        mem_free(NULL, g, sizeof(*g));
        return api_fail(err, status, &e);
    }
    *gpu = g;
    return TCUDB_OK;
}

void tcudb_gpu_lists_close(tcudb_gpu_lists *gpu)
{
    if (gpu == NULL) return;
    list_gpu_index_close(&gpu->index);
    device_close(gpu->dev);
    mem_free(NULL, gpu, sizeof(*gpu));
}

/* The queries in the engine's form; NULL and *err set if memory is short or one is unusable. */
static ListQuery *queries_of(const tcudb_list_query *queries, uint32_t n, tcudb_status *status, tcudb_error *err)
{
    Error e;
    for (uint32_t i = 0; i < n; i++)
        if (queries == NULL || !query_usable(&queries[i])) {
            *status = api_misuse(err, "query %u is missing its lists", i);
            return NULL;
        }
    ListQuery *q = mem_alloc(NULL, n * sizeof(*q), &e);
    if (q == NULL) *status = api_fail(err, TCUDB_NOMEM, &e);
    for (uint32_t i = 0; q != NULL && i < n; i++) q[i] = query_of(&queries[i]);
    return q;
}

tcudb_status tcudb_gpu_lists_search(tcudb_gpu_lists *gpu, const tcudb_list_query *queries, uint32_t nqueries,
                                    void **numbers, uint64_t *n, tcudb_error *err)
{
    Error e;
    tcudb_status status = TCUDB_OK;
    if (gpu == NULL || ((numbers == NULL || n == NULL) && nqueries > 0))
        return api_misuse(err, "tcudb_gpu_lists_search: an argument is NULL");
    ListQuery *q = queries_of(queries, nqueries, &status, err);
    if (q == NULL) return status;
    Buf *answers = mem_alloc_zero(NULL, nqueries * sizeof(*answers), &e);
    if (answers == NULL) {
        mem_free(NULL, q, nqueries * sizeof(*q));
        return api_fail(err, TCUDB_NOMEM, &e);
    }
    status = list_gpu_query(&gpu->index, q, nqueries, answers, &e);
    for (uint32_t i = 0; i < nqueries; i++) {
        n[i] = answers[i].len / list_word(gpu->index.set);
        numbers[i] = NULL;
        if (status == TCUDB_OK) status = move_out(&answers[i], &numbers[i], &e);
        buf_free(&answers[i]);
    }
    for (uint32_t i = 0; i < nqueries && status != TCUDB_OK; i++) {
        free(numbers[i]);
        numbers[i] = NULL;
        n[i] = 0;
    }
    mem_free(NULL, answers, nqueries * sizeof(*answers));
    mem_free(NULL, q, nqueries * sizeof(*q));
    return done(status, &e, err);
}

tcudb_status tcudb_gpu_lists_top(tcudb_gpu_lists *gpu, const tcudb_list_query *queries, uint32_t nqueries, uint32_t k,
                                 tcudb_list_hit *hits, uint32_t *n, tcudb_error *err)
{
    Error e;
    tcudb_status status = TCUDB_OK;
    if (gpu == NULL || ((hits == NULL || n == NULL) && nqueries > 0 && k > 0))
        return api_misuse(err, "tcudb_gpu_lists_top: an argument is NULL");
    ListQuery *q = queries_of(queries, nqueries, &status, err);
    if (q == NULL) return status;
    status = list_gpu_top(&gpu->index, q, nqueries, k, (ListHit *)(void *)hits, n, &e);
    mem_free(NULL, q, nqueries * sizeof(*q));
    return done(status, &e, err);
}

static tcudb_status time_decoding(ListGpu *gpu, bool written, uint32_t rounds, double *seconds, Error *err)
{
    DevicePtr out = 0;
    float ms = 0, best = 0;
    tcudb_status status;
    ListMode mode = gpu->step == 1 ? (written ? LIST_ASCEND : LIST_COUNT) : written ? LIST_STORE : LIST_SUM;
    TRY(device_alloc(gpu->dev, gpu->blocks * list_gpu_word(gpu) * (written ? CODEC_BLOCK : 1), &out, err));
    for (uint32_t i = 0; i <= rounds; i++) { /* the first only warms up */
        TRY_GOTO(device_mark(gpu->dev, 0, err));
        TRY_GOTO(list_gpu_decode(gpu, mode, 0, gpu->blocks, UINT64_MAX, written, out, out, err));
        TRY_GOTO(device_mark(gpu->dev, 1, err));
        TRY_GOTO(device_between(gpu->dev, 0, 1, &ms, err));
        if (i > 0 && (best == 0 || ms < best)) best = ms;
    }
    *seconds = best * 1e-3;
    status = list_gpu_check(gpu, err);
done:
    device_free(gpu->dev, out);
    return status;
}

tcudb_status tcudb_gpu_lists_time(tcudb_gpu_lists *gpu, int written, uint32_t rounds, double *seconds, tcudb_error *err)
{
    Error e;
    if (gpu == NULL || seconds == NULL || rounds == 0)
        return api_misuse(err, "tcudb_gpu_lists_time: an argument is missing");
    return done(time_decoding(&gpu->index.docs, written != 0, rounds, seconds, &e), &e, err);
}

double tcudb_codec_predict(tcudb_list_codec codec, int on_gpu, int ascending, int written, uint64_t n, double bunch,
                           double bits, double exceptions)
{
    ListShape shape = {codec != TCUDB_CODEC_VSE, n, bunch, bits, exceptions};
    ListMode mode = ascending ? (written ? LIST_ASCEND : LIST_COUNT) : written ? LIST_STORE : LIST_SUM;
    return on_gpu ? list_cost_gpu(list_cost_h200(), &shape, mode) : list_cost_cpu(&shape, ascending != 0);
}
