/*
 * util.c: vectors on their way between operators: dictionary codes, dense copies.
 */
#include "exec/exec_int.h"

#include "base/hot.h"

static tcudb_status code_of(const Table *table, uint32_t column, Str text, const atomic_bool *cancel, uint32_t *code,
                            Error *err)
{
    bool found;
    TRY(table_dict_find(table, column, text, true, cancel, &found, code, err));
    if (!found) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a text is not in its column's dictionary");
    return TCUDB_OK;
}

tcudb_status vec_codes(Arena *arena, const Vector *v, const Table *table, uint32_t column, const DictView *view,
                       const uint16_t *sel, uint32_t n, uint32_t rows, const uint32_t **out, Error *err)
{
    if (v->form == VEC_DICT && v->dict_id == view->id) {
        *out = v->data;
        return TCUDB_OK;
    }
    uint32_t *codes = arena_alloc(arena, (rows + 1) * sizeof *codes, err);
    TRY_PTR(codes);
    Str last = {NULL, 0};
    uint32_t code = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel_row(sel, i);
        if (vec_is_null(v, row)) continue;
        uint32_t at = v->form == VEC_CONST ? 0 : row;
        Str text = v->form == VEC_DICT ? v->values[((const uint32_t *)v->data)[at]] : ((const Str *)v->data)[at];
        if (last.ptr == NULL || last.ptr != text.ptr || last.len != text.len)
            TRY(code_of(table, column, text, view->cancel, &code, err));
        last = text;
        codes[row] = code;
    }
    *out = codes;
    return TCUDB_OK;
}

#define GATHER(T)                                                                                                      \
    for (uint32_t i = 0; i < n; i++) ((T *)out->data)[i] = ((const T *)v->data)[rows[i]]

tcudb_status vec_gather(Arena *arena, const Vector *v, const uint16_t *rows, uint32_t n, Vector *out, Error *err)
{
    *out = *v;
    if (v->form == VEC_CONST) return TCUDB_OK;
    size_t size = v->form == VEC_DICT ? sizeof(uint32_t) : phys_size((Phys)v->phys);
    out->data = arena_alloc_raw(arena, size * n + 64, err);
    TRY_PTR(out->data);
    switch (size) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    case 16: GATHER(Str); break;
    default:
        for (uint32_t i = 0; i < n; i++) memcpy((char *)out->data + i * size, (char *)v->data + rows[i] * size, size);
    }
    if (v->valid == NULL) return TCUDB_OK;
    out->valid = arena_alloc(arena, (bit_words(n) + 1) * sizeof(uint64_t), err);
    TRY_PTR(out->valid);
    for (uint32_t i = 0; i < n; i++) out->valid[i >> 6] |= (uint64_t)bit_get(v->valid, rows[i]) << (i & 63);
    return TCUDB_OK;
}

tcudb_status exec_keep_text(const Exec *x, Arena *arena, Str *text, Error *err)
{
    enum { PIECE = 1 << 20 };
    char *copy = arena_alloc_raw(arena, (size_t)text->len + 1, err);
    TRY_PTR(copy);
    for (uint32_t at = 0, n; at < text->len; at += n) {
        n = text->len - at < PIECE ? text->len - at : PIECE;
        if (at > 0) TRY(exec_check_cancel(x, err));
        memcpy(copy + at, text->ptr + at, n);
    }
    text->ptr = copy;
    return TCUDB_OK;
}

tcudb_status exec_semi_new(Exec *x, uint32_t id, SemiBits **out, Error *err)
{
    for (uint32_t i = 0; i < x->nsemi; i++) {
        if (x->semi[i].id != id) continue;
        exec_free(x, x->semi[i].words);
        x->semi[i] = (SemiBits){.id = id};
        *out = &x->semi[i];
        return TCUDB_OK;
    }
    SemiBits *grown = ARENA_ARRAY(&x->arena, SemiBits, x->nsemi + 1, err);
    TRY_PTR(grown);
    if (x->nsemi > 0) memcpy(grown, x->semi, x->nsemi * sizeof *grown);
    x->semi = grown;
    *out = &x->semi[x->nsemi++];
    **out = (SemiBits){.id = id};
    return TCUDB_OK;
}

HOT bool codes_any(const FewCodes *few, const uint32_t *codes, uint32_t n)
{
    const uint32_t a = few->codes[0], b = few->codes[1], c = few->codes[2], d = few->codes[3];
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) found |= (codes[i] == a) | (codes[i] == b) | (codes[i] == c) | (codes[i] == d);
    return found != 0;
}
