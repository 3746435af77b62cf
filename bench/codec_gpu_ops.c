/*
 * codec_gpu_ops.c: operations on lists, GPU beside CPU: every answer is compared, and both are timed.
 *
 * Input: a ds2i .docs file and, for top-k, its .freqs file. Queries are drawn with a fixed seed: half of their lists
 * from the 200 longest, half from all with 16 and more values.
 */
#include "codec_gpu.h"

#include "codec/list_gpu_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUERIES = 2000, TERMS = 4, TOP = 10 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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
        if (status == TCUDB_OK && (list > 0 || !(flags & LIST_ASCENDING))) status = list_writer_add(&w, v, n, err);
        free(v);
    }
    fclose(f);
    if (status == TCUDB_OK) status = list_writer_finish(&w, bytes, err);
    list_writer_free(&w);
    return status == TCUDB_OK ? list_set_open(bytes->data, bytes->len, true, NULL, set, err) : status;
}

static const ListSet *sorting;
static int longest_first(const void *a, const void *b)
{
    uint64_t x = sorting->entry[*(const uint64_t *)a].n, y = sorting->entry[*(const uint64_t *)b].n;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void draw(const ListSet *set, uint64_t *order, uint64_t (*lists)[TERMS], ListQuery *q, bool any)
{
    uint64_t useful = 0;
    for (uint64_t i = 0; i < set->lists; i++) order[i] = i;
    sorting = set;
    qsort(order, set->lists, sizeof(*order), longest_first);
    while (useful < set->lists && set->entry[order[useful]].n >= 16) useful++;
    for (uint32_t i = 0; i < QUERIES; i++) {
        for (uint32_t t = 0; t < TERMS; t++)
            lists[i][t] = order[(pool_random() >> 20) % (t % 2 == 0 && useful > 200 ? 200 : useful)];
        uint32_t terms = 2 + i % 2;
        q[i] = (ListQuery){lists[i], &lists[i][3], terms, i % 4 == 3, any};
    }
}

static tcudb_status compare_answers(ListGpuIndex *x, const ListQuery *q, const char *what, uint32_t *failures,
                                    Error *err)
{
    static Buf cpu[QUERIES], gpu[QUERIES];
    uint32_t wrong = 0;
    uint64_t numbers = 0;
    double t0 = now();
    TRY(list_query_batch(x->set, q, QUERIES, NULL, cpu, err));
    double t1 = now(), t2 = 0;
    for (int round = 0; round < 2; round++) { /* the second is timed */
        for (uint32_t i = 0; i < QUERIES; i++) gpu[i].len = 0;
        t2 = now();
        TRY(list_gpu_query(x, q, QUERIES, gpu, err));
    }
    double t3 = now();
    for (uint32_t i = 0; i < QUERIES; i++) {
        wrong += cpu[i].len != gpu[i].len || (cpu[i].len > 0 && memcmp(cpu[i].data, gpu[i].data, cpu[i].len) != 0);
        numbers += cpu[i].len / 4;
        buf_free(&cpu[i]);
        buf_free(&gpu[i]);
    }
    printf("%-6s %s: %u queries, %llu numbers, CPU (1 core) %.1f us a query, GPU %.1f us a query, %u wrong\n",
           wrong == 0 ? "ok" : "FAILED", what, QUERIES, (unsigned long long)numbers, (t1 - t0) / QUERIES * 1e6,
           (t3 - t2) / QUERIES * 1e6, wrong);
    *failures += wrong > 0;
    return TCUDB_OK;
}

static tcudb_status compare_tops(ListGpuIndex *x, const ListQuery *q, const char *what, uint32_t *failures, Error *err)
{
    static ListHit cpu[QUERIES * TOP], gpu[QUERIES * TOP];
    static uint32_t cpu_n[QUERIES], gpu_n[QUERIES];
    uint32_t wrong = 0;
    double t0 = now();
    TRY(list_top_batch(x->set, x->freq_set, q, QUERIES, TOP, NULL, cpu, cpu_n, err));
    double t1 = now(), t2 = 0;
    for (int round = 0; round < 2; round++) {
        t2 = now();
        TRY(list_gpu_top(x, q, QUERIES, TOP, gpu, gpu_n, err));
    }
    double t3 = now();
    for (uint32_t i = 0; i < QUERIES; i++)
        wrong += cpu_n[i] != gpu_n[i] || memcmp(cpu + i * TOP, gpu + i * TOP, cpu_n[i] * sizeof(cpu[0])) != 0;
    printf("%-6s %s: CPU (1 core) %.1f us a query, GPU %.1f us a query, %u wrong\n", wrong == 0 ? "ok" : "FAILED", what,
           (t1 - t0) / QUERIES * 1e6, (t3 - t2) / QUERIES * 1e6, wrong);
    *failures += wrong > 0;
    return TCUDB_OK;
}

tcudb_status ops_bench(Device *dev, const char *docs_path, const char *freqs_path, uint32_t *failures, Error *err)
{
    static uint64_t lists[QUERIES][TERMS];
    static ListQuery q[QUERIES];
    Buf doc_bytes = {0}, freq_bytes = {0};
    ListSet docs, freqs;
    ListGpuIndex x;
    TRY(read_set(docs_path, LIST_ASCENDING, &doc_bytes, &docs, err));
    if (freqs_path != NULL) TRY(read_set(freqs_path, 0, &freq_bytes, &freqs, err));
    uint64_t *order = mem_alloc(NULL, docs.lists * sizeof(*order), err);
    TRY_PTR(order);
    TRY(list_gpu_index_open(dev, &docs, freqs_path == NULL ? NULL : &freqs, &x, err));
    printf("%s: %llu lists, %llu postings, %u blocks\n", docs_path, (unsigned long long)docs.lists,
           (unsigned long long)docs.values, x.docs.blocks);
    draw(&docs, order, lists, q, false);
    TRY(compare_answers(&x, q, "AND", failures, err));
    if (freqs_path != NULL) TRY(compare_tops(&x, q, "top 10 of AND", failures, err));
    draw(&docs, order, lists, q, true);
    TRY(compare_answers(&x, q, "OR", failures, err));
    if (freqs_path != NULL) TRY(compare_tops(&x, q, "top 10 of OR", failures, err));
    list_gpu_index_close(&x);
    mem_free(NULL, order, docs.lists * sizeof(*order));
    list_set_close(&docs);
    if (freqs_path != NULL) list_set_close(&freqs);
    buf_free(&doc_bytes);
    buf_free(&freq_bytes);
    return TCUDB_OK;
}
