/* Operations on compressed lists against plain ones on arrays, for numbers of 32 and 64 bits, dense and sparse; damage.
 */
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

/* How documents 0..DOCS-1 are numbered. */
typedef struct Numbering {
    const char *name;
    uint32_t flags;
    uint64_t first, step, last; /* last: the number of the last document */
} Numbering;
static const Numbering numberings[] = {
    {"32 bits", 0, 0, 1, DOCS - 1},
    {"32 bits, far apart", 0, 5, 71000, UINT32_MAX},
    {"64 bits, small", LIST_WIDE, 0, 1, DOCS - 1},
    {"64 bits, close together far up", LIST_WIDE, UINT64_C(1) << 63, 3, (UINT64_C(1) << 63) + 4 * DOCS},
    {"64 bits, far apart", LIST_WIDE, 0, UINT64_C(300000000000000), UINT64_MAX},
    {"64 bits about 2^32", LIST_WIDE, UINT64_C(0xffff0000), 2, UINT64_C(1) << 40},
};

typedef struct Index {
    const Numbering *as;
    uint32_t *tf[LISTS]; /* by document, 1 more; 0: absent */
    Buf doc_bytes, freq_bytes;
    ListSet docs, freqs;
} Index;

static uint64_t number_of(const Index *x, uint32_t doc)
{
    return doc == DOCS - 1 ? x->as->last : x->as->first + doc * x->as->step;
}

static void add_list(ListWriter *w, const uint64_t *v, uint32_t n)
{
    Error err;
    uint32_t *narrow = malloc(DOCS * 4);
    for (uint32_t i = 0; i < n; i++) narrow[i] = (uint32_t)v[i];
    assert_int_equal(list_writer_add(w, w->flags & LIST_WIDE ? (const void *)v : narrow, n, &err), TCUDB_OK);
    free(narrow);
}

/* List i holds about one document in 2^(i/2); some in clumps. The last document is in every third. */
static void fill_list(Index *x, int i, ListWriter *d, ListWriter *f)
{
    uint32_t n = 0;
    uint64_t *doc = malloc(DOCS * 8), *freq = malloc(DOCS * 8);
    x->tf[i] = calloc(DOCS, 4);
    for (uint32_t k = 0; k < DOCS && i != 20; k++) {
        bool clump = i % 3 != 2 || (k / 5000) % 4 == (uint32_t)i % 4, last = k == DOCS - 1 && i % 3 == 0;
        if (!last && (!clump || (rnd() >> 20) % (1u << i / 2) != 0)) continue;
        uint32_t tf = (uint32_t)((rnd() >> 30) % (k % 1000 == 0 ? 500 : 6));
        x->tf[i][k] = 1 + tf;
        doc[n] = number_of(x, k);
        freq[n++] = tf;
    }
    add_list(d, doc, n);
    add_list(f, freq, n);
    free(doc);
    free(freq);
}

static void make_index(Index *x, const Numbering *as)
{
    ListWriter d, f;
    Error err;
    x->as = as;
    list_writer_init(&d, LIST_ASCENDING | as->flags, LIST_USE_ANY, NULL);
    list_writer_init(&f, 0, LIST_USE_ANY, NULL);
    for (int i = 0; i < LISTS; i++) fill_list(x, i, &d, &f);
    buf_init(&x->doc_bytes, NULL);
    buf_init(&x->freq_bytes, NULL);
    assert_int_equal(list_writer_finish(&d, &x->doc_bytes, &err), TCUDB_OK);
    assert_int_equal(list_writer_finish(&f, &x->freq_bytes, &err), TCUDB_OK);
    assert_int_equal(list_set_open(x->doc_bytes.data, x->doc_bytes.len, true, NULL, &x->docs, &err), TCUDB_OK);
    assert_int_equal(list_set_open(x->freq_bytes.data, x->freq_bytes.len, true, NULL, &x->freqs, &err), TCUDB_OK);
    list_writer_free(&d);
    list_writer_free(&f);
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
        uint32_t tf = x->tf[q->lists[i]][doc];
        has += tf != 0;
        *score += tf == 0 ? 0 : tf - 1;
    }
    return q->any ? has > 0 : has == q->nlists;
}

static int by_score(const void *a, const void *b)
{
    const ListHit *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->doc < y->doc ? -1 : 1;
}

static uint64_t answer(const Index *x, const Buf *out, uint32_t i)
{
    return x->as->flags & LIST_WIDE ? ((uint64_t *)out->data)[i] : ((uint32_t *)out->data)[i];
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
        assert_true(n < out.len / list_word(&x->docs));
        assert_true(answer(x, &out, n) == number_of(x, d));
        want[n++] = (ListHit){number_of(x, d), score};
    }
    assert_int_equal(out.len / list_word(&x->docs), n);
    buf_free(&out);
    qsort(want, n, sizeof(want[0]), by_score);
    for (uint32_t k = 0; k <= 100; k = k == 0 ? 1 : k * 10) {
        assert_int_equal(list_top(&x->docs, &x->freqs, q, k, hits, &found, NULL, &err), TCUDB_OK);
        assert_int_equal(found, k < n ? k : n);
        for (uint32_t i = 0; i < found; i++) {
            assert_int_equal(hits[i].score, want[i].score);
            assert_true(hits[i].doc == want[i].doc);
        }
    }
}

static void queries_agree_with_arrays(void **state)
{
    (void)state;
    for (size_t as = 0; as < sizeof(numberings) / sizeof(numberings[0]); as++) {
        Index x;
        make_index(&x, &numberings[as]);
        for (int round = 0; round < 70; round++) {
            uint64_t lists[8], without[3];
            ListQuery q = {lists, without, (uint32_t)(round % 7), (uint32_t)(rnd() >> 40) % 3, round % 2 == 0};
            for (int i = 0; i < 8; i++) lists[i] = (rnd() >> 30) % LISTS;
            for (int i = 0; i < 3; i++) without[i] = (rnd() >> 30) % LISTS;
            check_query(&x, &q);
        }
        free_index(&x);
    }
}

static void skipping_skips(void **state)
{
    (void)state;
    for (size_t as = 0; as < sizeof(numberings) / sizeof(numberings[0]); as++) {
        Index x;
        Error err;
        Buf out;
        ListHit hit;
        uint32_t n;
        ListWork work = {0}, top = {0}, all = {0};
        uint64_t lists[] = {0, 23};
        ListQuery q = {lists, NULL, 2, 0, false};
        make_index(&x, &numberings[as]);
        buf_init(&out, NULL);
        assert_int_equal(list_query(&x.docs, &q, &out, &work, &err), TCUDB_OK);
        assert_true(work.skipped > work.blocks);
        buf_free(&out);
        /* One best document of two long lists: blocks that cannot hold a better one stay as they are. */
        lists[1] = 1;
        for (int any = 0; any < 2; any++) {
            q.any = any == 1;
            assert_int_equal(list_top(&x.docs, &x.freqs, &q, 1, &hit, &n, any ? &all : &top, &err), TCUDB_OK);
        }
        assert_true(top.skipped > 0 && all.skipped > 0);
        free_index(&x);
    }
}

static void batches_agree(void **state)
{
    (void)state;
    enum { N = 40, K = 10 };
    for (int as = 0; as < 6; as += 4) {
        Index x;
        Error err;
        Pool *pool = NULL;
        uint64_t lists[N][3];
        ListQuery q[N];
        Buf answers[N], one;
        ListHit hits[N * K], hit[K];
        uint32_t found[N], n = 0;
        make_index(&x, &numberings[as]);
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
            for (uint32_t k = 0; k < n; k++) {
                assert_true(hit[k].doc == hits[i * K + (int)k].doc);
                assert_int_equal(hit[k].score, hits[i * K + (int)k].score);
            }
            buf_free(&one);
            buf_free(&answers[i]);
        }
        pool_free(pool);
        free_index(&x);
    }
}

static void bad_queries_are_refused(void **state)
{
    (void)state;
    Index x;
    Error err;
    Buf out;
    ListHit hit;
    uint32_t n;
    uint64_t lists[] = {LISTS};
    ListQuery q = {lists, NULL, 1, 0, false};
    make_index(&x, &numberings[0]);
    buf_init(&out, NULL);
    assert_int_equal(list_query(&x.docs, &q, &out, NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "list 24 of 24 does not exist");
    lists[0] = 0;
    assert_int_equal(list_query(&x.freqs, &q, &out, NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "the lists do not ascend");
    assert_int_equal(list_top(&x.docs, &x.docs, &q, 1, &hit, &n, NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "the frequencies do not belong to these documents");
    free_index(&x);
}

/* Makes the checksums of header and index right again, so that damage is met by what reads it. */
static void forge(uint8_t *bytes, const ListSet *like)
{
    uint64_t width = list_word(like),
             at[] = {(uint64_t)(like->last - like->bytes), (uint64_t)(like->ends - like->bytes),
                     (uint64_t)(like->sums - like->bytes), (uint64_t)(like->directory - like->bytes)};
    uint64_t size[] = {like->blocks * width, like->blocks * 8, like->blocks * 4, like->directory_size};
    uint32_t crc = 0;
    for (int i = 0; i < 4; i++) crc = list_crc32c(crc, bytes + at[i], size[i]);
    list_store32(bytes + 72, crc);
    list_store32(bytes + 76, list_crc32c(0, bytes, 76));
}

/* Every query on a damaged set ends with an answer or with XX001. */
static void ask_damaged(const uint8_t *bytes, size_t size, const Index *x, uint32_t *refused)
{
    ListSet docs;
    Error err;
    ListHit hits[4];
    uint32_t n;
    uint64_t lists[] = {1, 8, 21}, without[] = {13};
    if (list_set_open(bytes, size, false, NULL, &docs, &err) != TCUDB_OK) return;
    for (int any = 0; any < 2 && docs.lists == LISTS; any++) {
        ListQuery q = {lists, without, 3, 1, any == 1};
        Buf out;
        buf_init(&out, NULL);
        tcudb_status status = list_query(&docs, &q, &out, NULL, &err);
        assert_true(status == TCUDB_OK || strcmp(err.sqlstate, "XX001") == 0);
        *refused += status != TCUDB_OK;
        buf_free(&out);
        status = list_top(&docs, &x->freqs, &q, 4, hits, &n, NULL, &err);
        assert_true(status == TCUDB_OK || strcmp(err.sqlstate, "XX001") == 0 || strcmp(err.sqlstate, "22023") == 0);
    }
    list_set_close(&docs);
}

static void damage_ends_in_an_error_or_an_answer(void **state)
{
    (void)state;
    for (int as = 1; as < 6; as += 3) {
        Index x;
        uint32_t refused = 0;
        make_index(&x, &numberings[as]);
        size_t size = x.doc_bytes.len;
        uint8_t *bytes = malloc(size);
        for (int round = 0; round < 400; round++) {
            memcpy(bytes, x.doc_bytes.data, size);
            for (int k = 0; k < 1 + round % 40; k++) bytes[80 + rnd() % (size - 80)] ^= (uint8_t)(1 + rnd() % 255);
            forge(bytes, &x.docs);
            ask_damaged(bytes, size, &x, &refused);
        }
        assert_true(refused > 100);
        free(bytes);
        free_index(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_agree_with_arrays),
        cmocka_unit_test(skipping_skips),
        cmocka_unit_test(batches_agree),
        cmocka_unit_test(bad_queries_are_refused),
        cmocka_unit_test(damage_ends_in_an_error_or_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
