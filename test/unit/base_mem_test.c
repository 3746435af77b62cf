/* Mem: what is freed serves the next request of nearly its size, is given back when asked for, and is never more than
 * was allowed; sizes at the edges. */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { MB = 1 << 20, LIMIT = 64 * MB };

static void begin(Mem *mem, size_t limit)
{
    mem_init(mem, 0);
    mem_keep_spares(mem, limit);
}

static void *need(Mem *mem, size_t size)
{
    Error err;
    char *ptr = mem_alloc(mem, size, &err);
    assert_non_null(ptr);
    if (size > 0) ptr[0] = ptr[size - 1] = 1;
    return ptr;
}

static void a_spare_serves_again(void **state)
{
    (void)state;
    Mem mem;
    begin(&mem, LIMIT);
    void *first = need(&mem, 10 * MB + 5);
    mem_free(&mem, first, 10 * MB + 5);
    assert_true(mem.spare_bytes >= 10 * MB + 5);
    assert_int_equal(mem.used, 0);
    void *again = need(&mem, 11 * MB);
    assert_ptr_equal(again, first);
    assert_int_equal(mem.spare_bytes, 0);
    mem_free(&mem, again, 11 * MB);
    mem_trim(&mem, 0);
    assert_int_equal(mem.spare_bytes, 0);
}

static void a_spare_asked_for_as_zero_is_zero(void **state)
{
    (void)state;
    Mem mem;
    Error err;
    begin(&mem, LIMIT);
    char *used = need(&mem, 3 * MB);
    memset(used, 1, 3 * MB);
    mem_free(&mem, used, 3 * MB);
    unsigned char *zero = mem_alloc_zero(&mem, 3 * MB, &err);
    assert_non_null(zero);
    for (size_t i = 0; i < 3 * MB; i++) assert_int_equal(zero[i], 0);
    mem_free(&mem, zero, 3 * MB);
    mem_trim(&mem, 0);
}

static void no_more_is_kept_than_was_allowed(void **state)
{
    (void)state;
    Mem mem;
    begin(&mem, 10 * MB);
    void *ptrs[5];
    for (int i = 0; i < 5; i++) ptrs[i] = need(&mem, 4 * MB);
    for (int i = 0; i < 5; i++) mem_free(&mem, ptrs[i], 4 * MB);
    assert_int_equal(mem.spare_bytes, 8 * MB);
    mem_trim(&mem, 5 * MB);
    assert_int_equal(mem.spare_bytes, 4 * MB);
    mem_trim(&mem, 0);
    assert_int_equal(mem.spare_bytes, 0);
    mem_keep_spares(&mem, 0);
    mem_free(&mem, need(&mem, 4 * MB), 4 * MB);
    assert_int_equal(mem.spare_bytes, 0);
}

/* Around each power of two and quarter: the block holds what was asked for, and goes back where it came from. */
static void every_size_has_room(void **state)
{
    (void)state;
    Mem mem;
    begin(&mem, LIMIT);
    for (size_t size = 1; size <= 32 * MB; size *= 2)
        for (size_t quarter = 4; quarter < 8; quarter++)
            for (size_t by = 0; by < 3; by++) {
                size_t n = size * quarter / 4 + by - (size * quarter / 4 > 0);
                mem_free(&mem, need(&mem, n), n);
                void *twice[2] = {need(&mem, n), need(&mem, n)};
                assert_true((char *)twice[0] + n <= (char *)twice[1] || (char *)twice[1] + n <= (char *)twice[0]);
                for (int i = 0; i < 2; i++) mem_free(&mem, twice[i], n);
            }
    assert_int_equal(mem.used, 0);
    mem_trim(&mem, 0);
    assert_int_equal(mem.spare_bytes, 0);
}

static void sizes_past_all_memory_are_refused(void **state)
{
    (void)state;
    Mem mem;
    Error err;
    begin(&mem, LIMIT);
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_null(mem_alloc(&mem, sizes[i], &err));
        assert_int_equal(mem.used, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spare_serves_again),
        cmocka_unit_test(a_spare_asked_for_as_zero_is_zero),
        cmocka_unit_test(no_more_is_kept_than_was_allowed),
        cmocka_unit_test(every_size_has_room),
        cmocka_unit_test(sizes_past_all_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
