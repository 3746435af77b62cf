/*
 * Dictionaries: each text has one code, however it comes, how often, from how many threads, and whatever a load said of
 * its rows; and what a load of texts that stand once leaves in memory.
 */
#include "store/dict.h"

#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 300000, TEXT_SIZE = 16, TASKS = 16 };

static Error err;

/* Ten characters, so that only some of them differ. */
static Str make_text(uint32_t i, char to[TEXT_SIZE])
{
    return (Str){to, (uint32_t)snprintf(to, TEXT_SIZE, "text%06u", i)};
}

static Dict *open_dict(Mem *mem, uint64_t expected)
{
    Dict *dict;
    mem_init(mem, 0);
    assert_int_equal(dict_new(mem, 1, NULL, &dict, &err), TCUDB_OK);
    dict_expect(dict, expected);
    return dict;
}

/* n texts from the first on, in batches, each batch with its first text twice. */
static tcudb_status add_texts(Dict *dict, uint32_t first, uint32_t n, Error *e)
{
    enum { BATCH = 500 };
    char bytes[BATCH][TEXT_SIZE];
    Str texts[BATCH];
    uint64_t hashes[BATCH];
    uint32_t codes[BATCH];
    for (uint32_t done = 0; done < n;) {
        uint32_t some = n - done < BATCH - 1 ? n - done : BATCH - 1;
        for (uint32_t i = 0; i <= some; i++) {
            texts[i] = make_text(first + done + i % some, bytes[i]);
            hashes[i] = dict_hash(texts[i]);
        }
        TRY(dict_codes(dict, texts, hashes, some + 1, codes, NULL, e));
        for (uint32_t i = 0; i <= some; i++)
            if (!str_equal(dict_values(dict)[codes[i]], texts[i])) return TCUDB_ERROR;
        if (codes[0] != codes[some]) return TCUDB_ERROR;
        dict_loaded(dict, some + 1);
        done += some;
    }
    return TCUDB_OK;
}

static void check_all_there(const Dict *dict)
{
    char bytes[TEXT_SIZE];
    uint32_t code;
    assert_int_equal(dict_count(dict), TEXTS);
    for (uint32_t i = 0; i < TEXTS; i++) {
        Str text = make_text(i, bytes);
        assert_true(dict_find(dict, text, dict_hash(text), TEXTS, &code));
        assert_true(str_equal(dict_values(dict)[code], text));
        assert_false(dict_find(dict, text, dict_hash(text), code, &code)); /* a snapshot from before it */
    }
    Str text = make_text(TEXTS, bytes);
    assert_false(dict_find(dict, text, dict_hash(text), TEXTS, &code));
}

static void texts_keep_their_codes(void **state)
{
    (void)state;
    static const uint64_t expected[] = {0, 1, TEXTS / 10, TEXTS, (uint64_t)TEXTS * 10, UINT64_MAX};
    for (uint32_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        Mem mem;
        Dict *dict = open_dict(&mem, expected[k]);
        for (uint32_t round = 0; round < 2; round++) assert_int_equal(add_texts(dict, 0, TEXTS, &err), TCUDB_OK);
        for (uint32_t i = 0; i < TEXTS; i++) {
            char bytes[TEXT_SIZE];
            assert_true(str_equal(dict_values(dict)[i], make_text(i, bytes))); /* in the order in which they came */
        }
        check_all_there(dict);
        dict_unref(dict);
        assert_int_equal(atomic_load(&mem.used), 0);
    }
}

static tcudb_status add_task(void *ctx, uint32_t worker, uint64_t task, Error *e)
{
    (void)worker;
    if (task % 2 == 0) return add_texts(ctx, 0, TEXTS, e);
    for (uint32_t block = TASKS; block-- > 0;) TRY(add_texts(ctx, block * (TEXTS / TASKS), TEXTS / TASKS, e));
    return TCUDB_OK;
}

static void threads_agree_on_codes(void **state)
{
    (void)state;
    Mem mem;
    Pool *pool = NULL;
    Dict *dict = open_dict(&mem, TEXTS);
    assert_int_equal(pool_new(4, &pool, &err), TCUDB_OK);
    assert_int_equal(pool_run(pool, TASKS, add_task, dict, NULL, &err), TCUDB_OK);
    check_all_there(dict);
    pool_free(pool);
    dict_unref(dict);
}

/* Bytes a text of TEXTS that stand once, when so many rows were expected. */
static size_t bytes_a_text(uint64_t expected)
{
    Mem mem;
    Dict *dict = open_dict(&mem, expected);
    assert_int_equal(add_texts(dict, 0, TEXTS, &err), TCUDB_OK);
    size_t bytes = atomic_load(&mem.used) / TEXTS;
    dict_unref(dict);
    return bytes;
}

/* A value takes 16 bytes, its place in the table 9, its text 10. */
static void memory_of_texts_that_stand_once(void **state)
{
    (void)state;
    assert_in_range(bytes_a_text(TEXTS), 35, 60);
    assert_in_range(bytes_a_text(0), 35, 110);
    assert_in_range(bytes_a_text(UINT64_MAX), 35, 600); /* too much was expected: room for 32 times what was there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_keep_their_codes),
        cmocka_unit_test(threads_agree_on_codes),
        cmocka_unit_test(memory_of_texts_that_stand_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
