/*
 * vector.c: making vectors, reading single values out of them, and densifying batches.
 *
 * Everything here copies or allocates in the caller's arena; nothing is owned. Flattening a dictionary
 * vector gathers 16-byte Strs (text bytes stay where the dictionary has them), so it costs one indexed
 * load and store a row. The gathers are written per element size so that the compiler sees fixed-width
 * moves instead of memcpy calls.
 */
#include "type/type_int.h"

#include <assert.h>

tcudb_status vec_new(Arena *arena, Type type, uint32_t rows, Vector *out, Error *err)
{
    Phys phys = type_phys(type);
    void *data = arena_alloc_raw(arena, phys_size(phys) * (rows == 0 ? 1 : rows), err);
    TRY_PTR(data);
    *out = (Vector){.type = type, .phys = (uint8_t)phys, .form = VEC_FLAT, .data = data};
    return TCUDB_OK;
}

tcudb_status vec_need_valid(Arena *arena, Vector *v, uint32_t rows, Error *err)
{
    if (v->valid != NULL) return TCUDB_OK;
    size_t words = v->form == VEC_CONST ? 1 : bit_words(rows == 0 ? 1 : rows);
    v->valid = arena_alloc_raw(arena, words * sizeof(uint64_t), err);
    TRY_PTR(v->valid);
    memset(v->valid, 0xff, words * sizeof(uint64_t));
    return TCUDB_OK;
}

void value_store(const Value *value, Phys phys, void *to)
{
    switch (phys) {
    case PHYS_BOOL: *(uint8_t *)to = value->b; break;
    case PHYS_I16: *(int16_t *)to = value->i16; break;
    case PHYS_I32: *(int32_t *)to = value->i32; break;
    case PHYS_I64: *(int64_t *)to = value->i64; break;
    case PHYS_I128: *(int128 *)to = value->i128; break;
    case PHYS_F32: *(float *)to = value->f32; break;
    case PHYS_F64: *(double *)to = value->f64; break;
    case PHYS_NUM: *(Num *)to = value->num; break;
    case PHYS_INTERVAL: *(Interval *)to = value->interval; break;
    case PHYS_STR: *(Str *)to = value->str; break;
    case PHYS_COUNT: assert(false); break;
    }
}

tcudb_status vec_const(Arena *arena, const Value *value, Vector *out, Error *err)
{
    TRY(vec_new(arena, value->type, 1, out, err));
    out->form = VEC_CONST;
    if (value->null) {
        memset(out->data, 0, phys_size((Phys)out->phys));
        TRY(vec_need_valid(arena, out, 1, err));
        bit_clear(out->valid, 0);
    } else {
        value_store(value, (Phys)out->phys, out->data);
    }
    return TCUDB_OK;
}

Value vec_value(const Vector *v, uint32_t row)
{
    Value out = {.type = v->type, .null = vec_is_null(v, row)};
    if (out.null) return out;
    if (v->form == VEC_DICT) {
        uint32_t code = ((const uint32_t *)v->data)[row];
        assert(code < v->nvalues);
        out.str = v->values[code];
        return out;
    }
    size_t i = v->form == VEC_CONST ? 0 : row;
    switch ((Phys)v->phys) {
    case PHYS_BOOL: out.b = ((const uint8_t *)v->data)[i] != 0; break;
    case PHYS_I16: out.i16 = ((const int16_t *)v->data)[i]; break;
    case PHYS_I32: out.i32 = ((const int32_t *)v->data)[i]; break;
    case PHYS_I64: out.i64 = ((const int64_t *)v->data)[i]; break;
    case PHYS_I128: out.i128 = ((const int128 *)v->data)[i]; break;
    case PHYS_F32: out.f32 = ((const float *)v->data)[i]; break;
    case PHYS_F64: out.f64 = ((const double *)v->data)[i]; break;
    case PHYS_NUM: out.num = ((const Num *)v->data)[i]; break;
    case PHYS_INTERVAL: out.interval = ((const Interval *)v->data)[i]; break;
    case PHYS_STR: out.str = ((const Str *)v->data)[i]; break;
    case PHYS_COUNT: assert(false); break;
    }
    return out;
}

/* to[t] = from[f] for the live rows: t is the row (dense == false) or its rank; f the row or, for
 * constants, 0. */
#define GATHER(T)                                                                                                      \
    do {                                                                                                               \
        const T *f = from;                                                                                             \
        T *t = to;                                                                                                     \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint32_t row = sel == NULL ? i : sel[i];                                                                   \
            t[dense ? i : row] = f[constant ? 0 : row];                                                                \
        }                                                                                                              \
    } while (0)

static void gather(size_t size, const void *from, bool constant, const uint16_t *sel, uint32_t n, bool dense, void *to)
{
    if (!constant && sel == NULL) {
        memcpy(to, from, n * size);
        return;
    }
    switch (size) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    case 16: GATHER(Str); break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = sel == NULL ? i : sel[i];
            memcpy((char *)to + (dense ? i : row) * size, (const char *)from + (constant ? 0 : row) * size, size);
        }
    }
}

/* A NULL row's code may be anything, so it is not looked up. */
static void gather_dict(const Vector *v, const uint16_t *sel, uint32_t n, bool dense, Str *to)
{
    const uint32_t *codes = v->data;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? i : sel[i];
        to[dense ? i : row] = v->valid != NULL && vec_is_null(v, row) ? (Str){"", 0} : v->values[codes[row]];
    }
}

/* Brings v's values and validity at the live rows into the flat vector out. */
static tcudb_status fill_flat(Arena *arena, const Vector *v, const uint16_t *sel, uint32_t n, uint32_t rows, bool dense,
                              Vector *out, Error *err)
{
    TRY(vec_new(arena, v->type, dense ? n : rows, out, err));
    out->ascii = v->ascii;
    if (v->form == VEC_DICT)
        gather_dict(v, sel, n, dense, out->data);
    else
        gather(phys_size((Phys)v->phys), v->data, v->form == VEC_CONST, sel, n, dense, out->data);
    if (v->valid == NULL) return TCUDB_OK;
    TRY(vec_need_valid(arena, out, dense ? n : rows, err));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? i : sel[i];
        if (vec_is_null(v, row)) bit_clear(out->valid, dense ? i : row);
    }
    return TCUDB_OK;
}

/* Whether the codes are c, c + 1, c + 2 ... */
static HOT bool codes_run(const uint32_t *codes, uint32_t n)
{
    uint32_t differ = 0;
    for (uint32_t i = 0; i < n; i++) differ |= (codes[i] - i) ^ codes[0];
    return differ == 0;
}

tcudb_status vec_flatten(Arena *arena, const Vector *v, const uint16_t *sel, uint32_t n, uint32_t rows, Vector *out,
                         Error *err)
{
    assert(n <= rows || rows == 0);
    if (v->form == VEC_FLAT) {
        *out = *v;
        return TCUDB_OK;
    }
    if (v->form == VEC_DICT && sel == NULL && n > 0 && v->valid == NULL && codes_run(v->data, n)) {
        *out = (Vector){.type = v->type, .phys = v->phys, .form = VEC_FLAT, .ascii = v->ascii};
        out->data = (void *)(uintptr_t)(v->values + ((const uint32_t *)v->data)[0]);
        return TCUDB_OK;
    }
    return fill_flat(arena, v, sel, n, rows, false, out, err);
}

static tcudb_status copy_texts(Arena *arena, Vector *v, uint32_t n, Error *err)
{
    Str *texts = v->data;
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!vec_is_null(v, i)) total += texts[i].len;
    char *bytes = arena_alloc_raw(arena, total + 1, err);
    TRY_PTR(bytes);
    for (uint32_t i = 0; i < n; i++) {
        if (vec_is_null(v, i)) continue;
        if (texts[i].len > 0) memcpy(bytes, texts[i].ptr, texts[i].len);
        texts[i].ptr = bytes;
        bytes += texts[i].len;
    }
    return TCUDB_OK;
}

tcudb_status batch_compact(Arena *arena, const Batch *in, bool copy_text, Batch *out, Error *err)
{
    assert(in->sel != NULL || in->n == in->rows);
    *out = (Batch){.rows = in->n, .n = in->n, .sel = NULL, .ncols = in->ncols};
    out->cols = ARENA_ARRAY(arena, Vector, in->ncols == 0 ? 1 : in->ncols, err);
    TRY_PTR(out->cols);
    for (uint32_t c = 0; c < in->ncols; c++) {
        Vector *to = &out->cols[c];
        TRY(fill_flat(arena, &in->cols[c], in->sel, in->n, in->rows, true, to, err));
        if (copy_text && to->phys == PHYS_STR) TRY(copy_texts(arena, to, in->n, err));
    }
    return TCUDB_OK;
}
