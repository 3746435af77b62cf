/* Every allocation of the calls of tcudb_codec.h fails once: 53200, nothing handed out, and the next call works. Leaks
 * are the leak sanitizer's to find. */
#include "tcudb_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

static long left = -1; /* allocations until one fails; negative: none does */
static long failed;

/* The engine takes all of its memory from here (base/mem.c) or, large blocks, from mmap. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *p = NULL;
    if (left >= 0 && left-- == 0) {
        failed++;
        return NULL;
    }
    return posix_memalign(&p, alignment, size) == 0 ? p : NULL;
}

enum { LISTS = 5, N = 9000 };

typedef struct Sets {
    void *bytes[2];
    size_t size[2];
    tcudb_lists *docs, *freqs;
} Sets;

/* List i: multiples of i + 2, spread over 64 bits in a wide set. */
static tcudb_status write_set(int flags, bool freqs, void **bytes, size_t *size, tcudb_error *err)
{
    static uint64_t wide[N];
    static uint32_t narrow[N];
    tcudb_lists_writer *w = NULL;
    tcudb_status status = tcudb_lists_writer_new(flags, TCUDB_CODEC_BEST, &w, err);
    for (uint32_t i = 0; i < LISTS && status == TCUDB_OK; i++) {
        uint64_t n = 0;
        for (uint32_t d = 0; d < N; d += i + 2) {
            wide[n] = d * UINT64_C(0x100000001);
            narrow[n++] = freqs ? 1 + d % 7 : d;
        }
        status = tcudb_lists_writer_add(w, flags & TCUDB_LISTS_WIDE ? (void *)wide : narrow, n, err);
    }
    if (status == TCUDB_OK) status = tcudb_lists_writer_finish(w, bytes, size, err);
    tcudb_lists_writer_close(w);
    return status;
}

static tcudb_status write_and_open(Sets *s, int flags, tcudb_error *err)
{
    tcudb_status status = write_set(flags | TCUDB_LISTS_ASCENDING, false, &s->bytes[0], &s->size[0], err);
    if (status == TCUDB_OK) status = write_set(0, true, &s->bytes[1], &s->size[1], err);
    if (status == TCUDB_OK) status = tcudb_lists_open(s->bytes[0], s->size[0], 1, &s->docs, err);
    if (status == TCUDB_OK) status = tcudb_lists_open(s->bytes[1], s->size[1], 1, &s->freqs, err);
    return status;
}

static void release(Sets *s)
{
    tcudb_lists_close(s->docs);
    tcudb_lists_close(s->freqs);
    tcudb_lists_free(s->bytes[0]);
    tcudb_lists_free(s->bytes[1]);
    *s = (Sets){0};
}

static void check_end(tcudb_status status, const tcudb_error *err)
{
    if (status == TCUDB_OK) return;
    assert_int_equal(status, TCUDB_NOMEM);
    assert_string_equal(err->sqlstate, "53200");
}

static void writing_fails_in_order(void **state)
{
    (void)state;
    for (int flags = 0; flags <= TCUDB_LISTS_WIDE; flags += TCUDB_LISTS_WIDE)
        for (long n = 0, before = -1; before != failed; n++) {
            Sets s = {0};
            tcudb_error err;
            before = failed;
            left = n;
            tcudb_status status = write_and_open(&s, flags, &err);
            left = -1;
            check_end(status, &err);
            assert_true(status != TCUDB_OK || before == failed);
            release(&s);
        }
    assert_true(failed > 10);
}

static tcudb_status ask(const Sets *s, int any, tcudb_error *err)
{
    uint64_t lists[] = {0, 1, 3}, without[] = {2}, n = 0;
    void *numbers = NULL;
    uint32_t found = 0;
    tcudb_list_hit hits[5];
    tcudb_list_query q = {lists, without, 3, 1, any};
    tcudb_status status = tcudb_lists_search(s->docs, &q, &numbers, &n, err);
    if (status != TCUDB_OK) assert_null(numbers);
    tcudb_lists_free(numbers);
    if (status == TCUDB_OK) status = tcudb_lists_top(s->docs, s->freqs, &q, 5, hits, &found, err);
    if (status == TCUDB_OK) assert_true(n > 100 && found == 5);
    return status;
}

static void questions_fail_in_order(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        Sets s = {0};
        tcudb_error err;
        long first = failed;
        assert_int_equal(write_and_open(&s, kind / 2 * TCUDB_LISTS_WIDE, &err), TCUDB_OK);
        for (long n = 0, before = -1; before != failed; n++) {
            before = failed;
            left = n;
            tcudb_status status = ask(&s, kind % 2, &err);
            left = -1;
            check_end(status, &err);
            assert_true((status == TCUDB_OK) == (before == failed));
        }
        assert_true(failed > first + 2);
        assert_int_equal(ask(&s, kind % 2, &err), TCUDB_OK);
        release(&s);
    }
}

static tcudb_status there_and_back(const char *text, size_t size, tcudb_error *err)
{
    void *bytes = NULL, *back = NULL;
    size_t coded = 0, n = 0;
    tcudb_lists *lists = NULL;
    tcudb_status status = tcudb_lists_encode_file(text, size, TCUDB_FROM_TEXT, TCUDB_CODEC_BEST, &bytes, &coded, err);
    if (status == TCUDB_OK) status = tcudb_lists_open(bytes, coded, 1, &lists, err);
    if (status == TCUDB_OK) status = tcudb_lists_verify(lists, err);
    if (status == TCUDB_OK) status = tcudb_lists_decode_file(lists, &back, &n, err);
    if (status == TCUDB_OK) assert_int_equal(n, size);
    tcudb_lists_close(lists);
    tcudb_lists_free(bytes);
    tcudb_lists_free(back);
    return status;
}

static void files_fail_in_order(void **state)
{
    (void)state;
    enum { SIZE = 30000 };
    char *text = malloc(SIZE + 8);
    size_t size = 0;
    for (uint32_t i = 0; size < SIZE; i++) {
        text[size++] = (char)('1' + i % 9);
        text[size++] = (char)('0' + i % 7);
        text[size++] = '\n';
    }
    for (long n = 0, before = -1; before != failed; n++) {
        tcudb_error err;
        before = failed;
        left = n;
        tcudb_status status = there_and_back(text, size, &err);
        left = -1;
        check_end(status, &err);
        assert_true((status == TCUDB_OK) == (before == failed));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_fails_in_order),
        cmocka_unit_test(questions_fail_in_order),
        cmocka_unit_test(files_fail_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
