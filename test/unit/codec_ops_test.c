/* Operations on compressed lists against plain ones on arrays; a real index if it is there. */
#include "codec/list_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

enum { LISTS = 24, DOCS = 60000 };

static uint64_t random_state = 88172645463325252u;
static uint64_t rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

typedef struct Index {
    uint32_t *tf[LISTS]; /* by document; 0: absent */
    Buf doc_bytes, freq_bytes;
    ListSet docs, freqs;
} Index;

/* List i holds about one document in 2^(i/2); some in clumps. */
static void make_index(Index *x)
{
    ListWriter d, f;
    Error err;
    uint32_t *doc = malloc(DOCS * 4), *freq = malloc(DOCS * 4);
    list_writer_init(&d, LIST_ASCENDING, LIST_USE_ANY, NULL);
    list_writer_init(&f, 0, LIST_USE_ANY, NULL);
    for (int i = 0; i < LISTS; i++) {
        uint32_t n = 0;
        x->tf[i] = calloc(DOCS, 4);
        for (uint32_t k = 0; k < DOCS; k++) {
            bool clump = i % 3 != 2 || (k / 5000) % 4 == (uint32_t)i % 4;
            if (!clump || (rnd() >> 20) % (1u << i / 2) != 0) continue;
            x->tf[i][k] = 1 + (uint32_t)((rnd() >> 30) % (k % 1000 == 0 ? 500 : 6));
            doc[n] = k;
            freq[n++] = x->tf[i][k];
        }
        if (i == 20) n = 0;
        if (i == 20) memset(x->tf[i], 0, DOCS * 4);
        assert_int_equal(list_writer_add(&d, doc, n, &err), TCUDB_OK);
        assert_int_equal(list_writer_add(&f, freq, n, &err), TCUDB_OK);
    }
    buf_init(&x->doc_bytes, NULL);
    buf_init(&x->freq_bytes, NULL);
    assert_int_equal(list_writer_finish(&d, &x->doc_bytes, &err), TCUDB_OK);
    assert_int_equal(list_writer_finish(&f, &x->freq_bytes, &err), TCUDB_OK);
    assert_int_equal(list_set_open(x->doc_bytes.data, x->doc_bytes.len, true, NULL, &x->docs, &err), TCUDB_OK);
    assert_int_equal(list_set_open(x->freq_bytes.data, x->freq_bytes.len, true, NULL, &x->freqs, &err), TCUDB_OK);
    list_writer_free(&d);
    list_writer_free(&f);
    free(doc);
    free(freq);
}

static void free_index(Index *x)
{
    list_set_close(&x->docs);
    list_set_close(&x->freqs);
    buf_free(&x->doc_bytes);
    buf_free(&x->freq_bytes);
    for (int i = 0; i < LISTS; i++) free(x->tf[i]);
}

static bool matches(const Index *x, const ListQuery *q, uint32_t doc, uint32_t *score)
{
    uint32_t has = 0;
    *score = 0;
    for (uint32_t i = 0; i < q->nwithout; i++)
        if (x->tf[q->without[i]][doc] != 0) return false;
    for (uint32_t i = 0; i < q->nlists; i++) {
        has += x->tf[q->lists[i]][doc] != 0;
        *score += x->tf[q->lists[i]][doc];
    }
    return q->any ? has > 0 : has == q->nlists;
}

static int by_score(const void *a, const void *b)
{
    const ListHit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->doc < y->doc ? -1 : 1;
}

static void check_query(const Index *x, const ListQuery *q)
{
    static ListHit want[DOCS];
    ListHit hits[100];
    Buf out;
    Error err;
    ListWork work = {0};
    uint32_t n = 0, found = 0, score = 0;
    buf_init(&out, NULL);
    assert_int_equal(list_query(&x->docs, q, &out, &work, &err), TCUDB_OK);
    for (uint32_t d = 0; d < DOCS; d++) {
        if (q->nlists == 0 || !matches(x, q, d, &score)) continue;
        assert_true(n < out.len / 4);
        assert_int_equal(((uint32_t *)out.data)[n], d);
        want[n++] = (ListHit){d, score};
    }
    assert_int_equal(out.len / 4, n);
    buf_free(&out);
    qsort(want, n, sizeof(want[0]), by_score);
    for (uint32_t k = 0; k <= 100; k = k == 0 ? 1 : k * 10) {
        assert_int_equal(list_top(&x->docs, &x->freqs, q, k, hits, &found, NULL, &err), TCUDB_OK);
        assert_int_equal(found, k < n ? k : n);
        for (uint32_t i = 0; i < found; i++) {
            assert_int_equal(hits[i].score, want[i].score);
            assert_int_equal(hits[i].doc, want[i].doc);
        }
    }
}

static void queries_agree_with_arrays(void **state)
{
    (void)state;
    Index x;
    make_index(&x);
    for (int round = 0; round < 150; round++) {
        uint64_t lists[8], without[3];
        ListQuery q = {lists, without, (uint32_t)(round % 7), (uint32_t)(rnd() >> 40) % 3, round % 2 == 0};
        for (int i = 0; i < 8; i++) lists[i] = (rnd() >> 30) % LISTS;
        for (int i = 0; i < 3; i++) without[i] = (rnd() >> 30) % LISTS;
        check_query(&x, &q);
    }
    free_index(&x);
}

static void skipping_skips(void **state)
{
    (void)state;
    Index x;
    Error err;
    Buf out;
    ListWork work = {0};
    uint64_t lists[] = {0, 23};
    ListQuery q = {lists, NULL, 2, 0, false};
    make_index(&x);
    buf_init(&out, NULL);
    assert_int_equal(list_query(&x.docs, &q, &out, &work, &err), TCUDB_OK);
    assert_true(work.skipped > work.blocks);
    buf_free(&out);
    free_index(&x);
}

static void batches_agree(void **state)
{
    (void)state;
    enum { N = 40, K = 10 };
    Index x;
    Error err;
    Pool *pool = NULL;
    uint64_t lists[N][3];
    ListQuery q[N];
    Buf answers[N], one;
    ListHit hits[N * K], hit[K];
    uint32_t found[N], n = 0;
    make_index(&x);
    assert_int_equal(pool_new(3, &pool, &err), TCUDB_OK);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) lists[i][k] = (rnd() >> 30) % LISTS;
        q[i] = (ListQuery){lists[i], NULL, 3, 0, i % 2 == 0};
        buf_init(&answers[i], NULL);
    }
    assert_int_equal(list_query_batch(&x.docs, q, N, pool, answers, &err), TCUDB_OK);
    assert_int_equal(list_top_batch(&x.docs, &x.freqs, q, N, K, pool, hits, found, &err), TCUDB_OK);
    for (int i = 0; i < N; i++) {
        buf_init(&one, NULL);
        assert_int_equal(list_query(&x.docs, &q[i], &one, NULL, &err), TCUDB_OK);
        assert_int_equal(one.len, answers[i].len);
        assert_true(one.len == 0 || memcmp(one.data, answers[i].data, one.len) == 0);
        assert_int_equal(list_top(&x.docs, &x.freqs, &q[i], K, hit, &n, NULL, &err), TCUDB_OK);
        assert_int_equal(n, found[i]);
        assert_memory_equal(hit, hits + i * K, n * sizeof(hit[0]));
        buf_free(&one);
        buf_free(&answers[i]);
    }
    pool_free(pool);
    free_index(&x);
}

static void bad_queries_are_refused(void **state)
{
    (void)state;
    Index x;
    Error err;
    Buf out;
    uint64_t lists[] = {LISTS};
    ListQuery q = {lists, NULL, 1, 0, false};
    make_index(&x);
    buf_init(&out, NULL);
    assert_int_equal(list_query(&x.docs, &q, &out, NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "list 24 of 24 does not exist");
    lists[0] = 0;
    assert_int_equal(list_query(&x.freqs, &q, &out, NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "the lists do not ascend");
    free_index(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_agree_with_arrays),
        cmocka_unit_test(skipping_skips),
        cmocka_unit_test(batches_agree),
        cmocka_unit_test(bad_queries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
