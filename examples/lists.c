/*
 * lists.c: compressed posting lists without a database: build an index, search it, rank, on the CPU and, if there is
 * one, on a GPU.
 *
 *     cc lists.c -ltcudb -o lists && ./lists
 *
 * The index: term t occurs in every document divisible by t + 2, as often as the quotient has ones in binary.
 */
#include "tcudb_codec.h"

#include <stdio.h>
#include <stdlib.h>

enum { TERMS = 10, DOCUMENTS = 1000000, TOP = 3 };

static int failed(const tcudb_error *err)
{
    fprintf(stderr, "%s: %s\n", err->sqlstate, err->message);
    return 1;
}

/* One set of documents, one of frequencies: the same lists with the same lengths. */
static tcudb_status build(void *bytes[2], size_t size[2], tcudb_error *err)
{
    static uint32_t documents[DOCUMENTS], frequencies[DOCUMENTS];
    tcudb_lists_writer *writers[2] = {NULL, NULL};
    tcudb_status status = tcudb_lists_writer_new(TCUDB_LISTS_ASCENDING, TCUDB_CODEC_BEST, &writers[0], err);
    if (status == TCUDB_OK) status = tcudb_lists_writer_new(0, TCUDB_CODEC_BEST, &writers[1], err);
    for (uint32_t t = 0; t < TERMS && status == TCUDB_OK; t++) {
        uint64_t n = 0;
        for (uint32_t d = t + 2; d < DOCUMENTS; d += t + 2) {
            documents[n] = d;
            frequencies[n++] = (uint32_t)__builtin_popcount(d / (t + 2));
        }
        status = tcudb_lists_writer_add(writers[0], documents, n, err);
        if (status == TCUDB_OK) status = tcudb_lists_writer_add(writers[1], frequencies, n, err);
    }
    for (int i = 0; i < 2 && status == TCUDB_OK; i++)
        status = tcudb_lists_writer_finish(writers[i], &bytes[i], &size[i], err);
    tcudb_lists_writer_close(writers[0]);
    tcudb_lists_writer_close(writers[1]);
    return status;
}

static tcudb_status search(const tcudb_lists *documents, const tcudb_lists *frequencies, tcudb_error *err)
{
    uint64_t all[] = {1, 3}, not_in[] = {0}, n = 0; /* multiples of 3, 5; of 2 */
    tcudb_list_query query = {all, not_in, 2, 1, 0};
    tcudb_list_hit hits[TOP], gpu_hits[TOP];
    void *numbers = NULL;
    uint32_t found = 0, gpu_found = 0;
    tcudb_gpu_lists *gpu = NULL;
    tcudb_status status = tcudb_lists_search(documents, &query, &numbers, &n, err);
    if (status != TCUDB_OK) return status;
    printf("divisible by 3 and 5, not by 2: %llu documents\n", (unsigned long long)n);
    tcudb_lists_free(numbers);
    query = (tcudb_list_query){all, NULL, 2, 0, 1};
    status = tcudb_lists_top(documents, frequencies, &query, TOP, hits, &found, err);
    if (status != TCUDB_OK) return status;
    for (uint32_t i = 0; i < found; i++)
        printf("divisible by 3 or 5: document %llu, score %u\n", (unsigned long long)hits[i].number, hits[i].score);
    if (tcudb_gpu_lists_open(documents, frequencies, &gpu, err) != TCUDB_OK) {
        printf("on the CPU only: %s\n", err->message);
        return TCUDB_OK;
    }
    status = tcudb_gpu_lists_top(gpu, &query, 1, TOP, gpu_hits, &gpu_found, err);
    for (uint32_t i = 0; status == TCUDB_OK && i < gpu_found; i++)
        printf("on the GPU: document %llu, score %u\n", (unsigned long long)gpu_hits[i].number, gpu_hits[i].score);
    tcudb_gpu_lists_close(gpu);
    return status;
}

int main(void)
{
    void *bytes[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    tcudb_lists *sets[2] = {NULL, NULL};
    tcudb_lists_info info;
    tcudb_error err;
    tcudb_status status = build(bytes, size, &err);
    for (int i = 0; i < 2 && status == TCUDB_OK; i++) status = tcudb_lists_open(bytes[i], size[i], 1, &sets[i], &err);
    if (status == TCUDB_OK) {
        tcudb_lists_describe(sets[0], &info);
        printf("%llu lists, %llu postings, %.2f bits a posting\n", (unsigned long long)info.lists,
               (unsigned long long)info.values, 8.0 * (double)info.bytes / (double)info.values);
        status = search(sets[0], sets[1], &err);
    }
    for (int i = 0; i < 2; i++) {
        tcudb_lists_close(sets[i]);
        tcudb_lists_free(bytes[i]);
    }
    return status == TCUDB_OK ? 0 : failed(&err);
}
