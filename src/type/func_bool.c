/*
 * func_bool.c: NOT and the IS TRUE family. AND and OR are expression nodes, not functions.
 */
#include "type/type_int.h"

KERNEL(bool_not)
{
    const uint8_t *restrict a = args[0].data;
    uint8_t *restrict to = out->data;
    uint32_t sa = STRIDE(args[0]);
    if (sel == NULL)
        for (uint32_t i = 0; i < n; i++) to[i] = a[i * sa] ^ 1;
    else
        EACH_ROW(i, row) to[row] = a[row * sa] ^ 1;
    return TCUDB_OK;
}

/* to = (the row is not NULL and has this value) == want. */
static void test_rows(const Vector *v, const uint16_t *sel, uint32_t n, uint8_t value, bool want, uint8_t *to)
{
    const uint8_t *a = v->data;
    uint32_t sa = STRIDE(*v);
    EACH_ROW(i, row) to[row] = (!vec_is_null(v, row) && a[row * sa] == value) == want;
}

KERNEL(bool_is_true)
{
    test_rows(&args[0], sel, n, 1, true, out->data);
    return TCUDB_OK;
}

KERNEL(bool_is_not_true)
{
    test_rows(&args[0], sel, n, 1, false, out->data);
    return TCUDB_OK;
}

KERNEL(bool_is_false)
{
    test_rows(&args[0], sel, n, 0, true, out->data);
    return TCUDB_OK;
}

KERNEL(bool_is_not_false)
{
    test_rows(&args[0], sel, n, 0, false, out->data);
    return TCUDB_OK;
}
