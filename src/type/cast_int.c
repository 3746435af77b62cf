/*
 * cast_int.c: casts among the integer types and boolean. Narrowing reports the target's range error.
 */
#include "type/type_int.h"

#define WIDEN_KERNEL(name, A, B)                                                                                       \
    HOT KERNEL(name)                                                                                                   \
    {                                                                                                                  \
        const A *restrict a = args[0].data;                                                                            \
        B *restrict to = out->data;                                                                                    \
        uint32_t sa = STRIDE(args[0]);                                                                                 \
        if (sel == NULL && sa == 1)                                                                                    \
            for (uint32_t i = 0; i < n; i++) to[i] = (B)a[i];                                                          \
        else                                                                                                           \
            EACH_ROW(i, row) to[row] = (B)a[row * sa];                                                                 \
        return TCUDB_OK;                                                                                               \
    }

#define NARROW_KERNEL(name, A, B, sql_name)                                                                            \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        const A *a = args[0].data;                                                                                     \
        B *to = out->data;                                                                                             \
        uint32_t sa = STRIDE(args[0]);                                                                                 \
        bool bad = false;                                                                                              \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            A x = a[row * sa];                                                                                         \
            to[row] = (B)x;                                                                                            \
            bad |= (A)(B)x != x;                                                                                       \
        }                                                                                                              \
        return bad ? range_error(sql_name, err) : TCUDB_OK;                                                            \
    }

WIDEN_KERNEL(int2_to_int4, int16_t, int32_t)
WIDEN_KERNEL(int2_to_int8, int16_t, int64_t)
WIDEN_KERNEL(int4_to_int8, int32_t, int64_t)
WIDEN_KERNEL(bool_to_int4, uint8_t, int32_t)
NARROW_KERNEL(int4_to_int2, int32_t, int16_t, "smallint")
NARROW_KERNEL(int8_to_int2, int64_t, int16_t, "smallint")
NARROW_KERNEL(int8_to_int4, int64_t, int32_t, "integer")

KERNEL(int4_to_bool)
{
    const int32_t *a = args[0].data;
    uint8_t *to = out->data;
    uint32_t sa = STRIDE(args[0]);
    EACH_ROW(i, row) to[row] = a[row * sa] != 0;
    return TCUDB_OK;
}
