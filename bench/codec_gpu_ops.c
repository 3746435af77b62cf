/*
 * codec_gpu_ops.c: operations on lists, GPU beside CPU: every answer is compared, and both are timed; damage.
 *
 * Input: a ds2i .docs file and, for top-k, its .freqs file; or lists made here. Queries are drawn with a fixed seed:
 * half of their lists from the 200 longest, half from all with 16 and more values. Lists are asked as they are, then
 * with their numbers spread over 64 bits.
 */
#include "codec_gpu.h"

#include "codec/list_gpu_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUERIES = 2000, TERMS = 4, TOP = 10, MADE_LISTS = 60 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Numbers as they are; in a wide set times 2^31 + 1, and the largest the largest. */
static tcudb_status add_list(ListWriter *w, const uint32_t *v, uint32_t n, Error *err)
{
    if (!(w->flags & LIST_WIDE)) return list_writer_add(w, v, n, err);
    uint64_t *wide = malloc(8 * (size_t)n + 8);
    if (wide == NULL) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < n; i++) wide[i] = v[i] == UINT32_MAX ? UINT64_MAX : v[i] * ((UINT64_C(1) << 31) + 1);
    tcudb_status status = list_writer_add(w, wide, n, err);
    free(wide);
    return status;
}

static tcudb_status finish(ListWriter *w, tcudb_status status, Buf *bytes, ListSet *set, Error *err)
{
    if (status == TCUDB_OK) status = list_writer_finish(w, bytes, err);
    list_writer_free(w);
    return status == TCUDB_OK ? list_set_open(bytes->data, bytes->len, true, NULL, set, err) : status;
}

static tcudb_status read_set(const char *path, uint32_t flags, Buf *bytes, ListSet *set, Error *err)
{
    ListWriter w;
    uint32_t n = 0;
    tcudb_status status = TCUDB_OK;
    FILE *f = fopen(path, "rb");
    if (f == NULL) return error_system(err, 2, "open file", path);
    list_writer_init(&w, flags, LIST_USE_ANY, NULL);
    for (uint32_t list = 0; status == TCUDB_OK && fread(&n, 4, 1, f) == 1; list++) {
        uint32_t *v = malloc(4 * (size_t)n + 4);
        if (v == NULL || fread(v, 4, n, f) != n)
            status = error_set(err, SQLSTATE_DATA_CORRUPTED, "%s is cut off", path);
        if (status == TCUDB_OK && (list > 0 || !(flags & LIST_ASCENDING))) status = add_list(&w, v, n, err);
        free(v);
    }
    fclose(f);
    return finish(&w, status, bytes, set, err);
}

/* Lists of every length and density: list i has a number in about 2^(i % 12), of multiples of `step`. */
static tcudb_status make_sets(uint32_t flags, uint32_t step, Buf bytes[2], ListSet set[2], Error *err)
{
    enum { DOCS = 40000 };
    static uint32_t doc[DOCS], freq[DOCS];
    ListWriter w[2];
    tcudb_status status = TCUDB_OK;
    list_writer_init(&w[0], LIST_ASCENDING | flags, LIST_USE_ANY, NULL);
    list_writer_init(&w[1], 0, LIST_USE_ANY, NULL);
    for (uint32_t i = 0; i < MADE_LISTS && status == TCUDB_OK; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < DOCS && i != 30; k++) {
            bool last = k == DOCS - 1 && i % 4 == 0;
            if (!last && (pool_random() >> 20) % (1u << i % 12) != 0) continue;
            doc[n] = last && step > 1 ? UINT32_MAX : k * step;
            freq[n++] = (uint32_t)((pool_random() >> 30) % (k % 999 == 0 ? UINT32_MAX : 7));
        }
        status = add_list(&w[0], doc, n, err);
        if (status == TCUDB_OK) status = list_writer_add(&w[1], freq, n, err);
    }
    status = finish(&w[0], status, &bytes[0], &set[0], err);
    return finish(&w[1], status, &bytes[1], &set[1], err);
}

static const ListSet *sorting;
static int longest_first(const void *a, const void *b)
{
    uint64_t x = sorting->entry[*(const uint64_t *)a].n, y = sorting->entry[*(const uint64_t *)b].n;
    return x < y ? 1 : x > y ? -1 : 0;
}

typedef struct Questions {
    ListQuery q[QUERIES];
    uint64_t lists[QUERIES][TERMS];
    uint32_t n;
} Questions;

static void draw(const ListSet *set, uint64_t *order, Questions *of, bool any)
{
    uint64_t useful = 0;
    for (uint64_t i = 0; i < set->lists; i++) order[i] = i;
    sorting = set;
    qsort(order, set->lists, sizeof(*order), longest_first);
    while (useful < set->lists && set->entry[order[useful]].n >= 16) useful++;
    for (uint32_t i = 0; i < of->n; i++) {
        for (uint32_t t = 0; t < TERMS; t++)
            of->lists[i][t] = order[(pool_random() >> 20) % (t % 2 == 0 && useful > 200 ? 200 : useful)];
        uint32_t terms = 2 + i % 2;
        of->q[i] = (ListQuery){of->lists[i], &of->lists[i][3], terms, i % 4 == 3, any};
    }
}

static tcudb_status compare_answers(ListGpuIndex *x, const Questions *of, const char *what, uint32_t *failures,
                                    Error *err)
{
    static Buf cpu[QUERIES], gpu[QUERIES];
    uint32_t wrong = 0;
    uint64_t numbers = 0;
    double t0 = now();
    TRY(list_query_batch(x->set, of->q, of->n, NULL, cpu, err));
    double t1 = now(), t2 = 0;
    for (int round = 0; round < 2; round++) { /* the second is timed */
        for (uint32_t i = 0; i < of->n; i++) gpu[i].len = 0;
        t2 = now();
        TRY(list_gpu_query(x, of->q, of->n, gpu, err));
    }
    double t3 = now();
    for (uint32_t i = 0; i < of->n; i++) {
        wrong += cpu[i].len != gpu[i].len || (cpu[i].len > 0 && memcmp(cpu[i].data, gpu[i].data, cpu[i].len) != 0);
        numbers += cpu[i].len / list_word(x->set);
        buf_free(&cpu[i]);
        buf_free(&gpu[i]);
    }
    printf("%-6s %s: %u queries, %llu numbers, CPU (1 core) %.2f us a query, GPU %.2f us a query, %u wrong\n",
           wrong == 0 ? "ok" : "FAILED", what, of->n, (unsigned long long)numbers, (t1 - t0) / of->n * 1e6,
           (t3 - t2) / of->n * 1e6, wrong);
    *failures += wrong > 0;
    return TCUDB_OK;
}

static bool same_hits(const ListHit *a, const ListHit *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].doc != b[i].doc || a[i].score != b[i].score) return false;
    return true;
}

static tcudb_status compare_tops(ListGpuIndex *x, const Questions *of, const char *what, uint32_t *failures, Error *err)
{
    static ListHit cpu[QUERIES * TOP], gpu[QUERIES * TOP];
    static uint32_t cpu_n[QUERIES], gpu_n[QUERIES];
    uint32_t wrong = 0;
    double t0 = now();
    TRY(list_top_batch(x->set, x->freq_set, of->q, of->n, TOP, NULL, cpu, cpu_n, err));
    double t1 = now(), t2 = 0;
    for (int round = 0; round < 2; round++) {
        t2 = now();
        TRY(list_gpu_top(x, of->q, of->n, TOP, gpu, gpu_n, err));
    }
    double t3 = now();
    for (uint32_t i = 0; i < of->n; i++)
        wrong += cpu_n[i] != gpu_n[i] || !same_hits(cpu + i * TOP, gpu + i * TOP, cpu_n[i]);
    printf("%-6s %s: CPU (1 core) %.2f us a query, GPU %.2f us a query, %u wrong\n", wrong == 0 ? "ok" : "FAILED", what,
           (t1 - t0) / of->n * 1e6, (t3 - t2) / of->n * 1e6, wrong);
    *failures += wrong > 0;
    return TCUDB_OK;
}

static tcudb_status compare_all(Device *dev, const ListSet *docs, const ListSet *freqs, int ways, Questions *of,
                                uint32_t *failures, Error *err)
{
    static const char *const way_name[] = {"", ", filters", ", dense"};
    ListGpuIndex x;
    char what[64];
    uint64_t *order = mem_alloc(NULL, docs->lists * sizeof(*order), err);
    TRY_PTR(order);
    tcudb_status status = list_gpu_index_open(dev, docs, freqs, &x, err);
    for (int any = 0; any < 2 && status == TCUDB_OK; any++) {
        draw(docs, order, of, any == 1);
        for (int way = 0; way < ways && status == TCUDB_OK; way++) {
            x.way = (ListGpuWay)way;
            snprintf(what, sizeof(what), "%s%s%s", any ? "OR" : "AND", docs->flags & LIST_WIDE ? ", 64 bits" : "",
                     way_name[way]);
            status = compare_answers(&x, of, what, failures, err);
            snprintf(what, sizeof(what), "top 10 of %s%s%s", any ? "OR" : "AND",
                     docs->flags & LIST_WIDE ? ", 64 bits" : "", way_name[way]);
            if (status == TCUDB_OK && freqs != NULL) status = compare_tops(&x, of, what, failures, err);
        }
    }
    if (x.first != NULL) list_gpu_index_close(&x);
    mem_free(NULL, order, docs->lists * sizeof(*order));
    return status;
}

tcudb_status ops_bench(Device *dev, const char *docs_path, const char *freqs_path, uint32_t *failures, Error *err)
{
    static Questions of = {.n = QUERIES};
    for (uint32_t flags = 0; flags <= LIST_WIDE; flags += LIST_WIDE) {
        Buf doc_bytes = {0}, freq_bytes = {0};
        ListSet docs, freqs;
        TRY(read_set(docs_path, LIST_ASCENDING | flags, &doc_bytes, &docs, err));
        if (freqs_path != NULL) TRY(read_set(freqs_path, 0, &freq_bytes, &freqs, err));
        printf("%s: %llu lists, %llu postings, %llu blocks\n", docs_path, (unsigned long long)docs.lists,
               (unsigned long long)docs.values, (unsigned long long)docs.blocks);
        TRY(compare_all(dev, &docs, freqs_path == NULL ? NULL : &freqs, flags ? 1 : 2, &of, failures, err));
        list_set_close(&docs);
        if (freqs_path != NULL) list_set_close(&freqs);
        buf_free(&doc_bytes);
        buf_free(&freq_bytes);
    }
    return TCUDB_OK;
}

/* Queries on an index whose payloads were damaged after the upload: an answer, or XX001. */
static tcudb_status ask_damaged(Device *dev, const ListSet *set, Questions *of, uint32_t *reported, Error *err)
{
    static Buf out[QUERIES];
    static ListHit hits[QUERIES * TOP];
    static uint32_t found[QUERIES];
    ListGpuIndex x;
    TRY(list_gpu_index_open(dev, &set[0], &set[1], &x, err));
    for (uint64_t k = 0; k < 1 + x.docs.area_bytes / 300; k++) {
        uint8_t byte = (uint8_t)pool_random();
        TRY(device_upload(dev, x.docs.area + pool_random() % x.docs.area_bytes, &byte, 1, err));
        TRY(device_upload(dev, x.freqs.area + pool_random() % x.freqs.area_bytes, &byte, 1, err));
    }
    for (int way = LIST_GPU_FILTER; way <= LIST_GPU_DENSE; way++) {
        x.way = (ListGpuWay)way;
        for (int top = 0; top < 2; top++) {
            tcudb_status status = top ? list_gpu_top(&x, of->q, of->n, TOP, hits, found, err)
                                      : list_gpu_query(&x, of->q, of->n, out, err);
            if (status != TCUDB_OK && strcmp(err->sqlstate, "XX001") != 0) return status;
            *reported += status != TCUDB_OK;
        }
    }
    for (uint32_t i = 0; i < of->n; i++) buf_free(&out[i]);
    list_gpu_index_close(&x);
    return TCUDB_OK;
}

tcudb_status ops_check(Device *dev, uint32_t queries, uint32_t rounds, uint32_t *failures, Error *err)
{
    static Questions of;
    uint64_t order[MADE_LISTS];
    uint32_t reported = 0;
    of.n = queries;
    for (int kind = 0; kind < 4; kind++) {
        Buf bytes[2] = {0};
        ListSet set[2];
        uint32_t wide = kind >= 2 ? LIST_WIDE : 0;
        TRY(make_sets(wide, kind % 2 == 0 ? 1 : 107000, bytes, set, err));
        printf("lists made here, %s\n", kind % 2 == 0 ? "dense" : "sparse");
        TRY(compare_all(dev, &set[0], &set[1], wide ? 1 : 3, &of, failures, err));
        for (uint32_t i = 0; i < rounds; i++) {
            draw(&set[0], order, &of, i % 2 == 0);
            TRY(ask_damaged(dev, set, &of, &reported, err));
        }
        for (int i = 0; i < 2; i++) {
            list_set_close(&set[i]);
            buf_free(&bytes[i]);
        }
    }
    printf("%-6s damaged lists asked %u times: %u reported, none trapped\n",
           rounds == 0 || reported > 0 ? "ok" : "FAILED", rounds * 16, reported);
    *failures += rounds > 0 && reported == 0;
    return TCUDB_OK;
}
