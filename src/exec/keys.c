/*
 * keys.c: keys as words. See keys.h for the layout.
 *
 * Encoding goes column by column over the batch (one switch a column, none a row) and hashes on the way:
 * the hash of a key is a multiply-xorshift chain over its compared words.
 */
#include "exec/keys.h"

#include <assert.h>
#include <xxhash.h>

static KeyForm form_of(Type type, const ColInfo *info, uint32_t *compared, uint32_t *carried)
{
    *compared = 1;
    *carried = 0;
    switch (type_phys(type)) {
    case PHYS_I128: *compared = 2; return KEY_I128;
    case PHYS_F32:
    case PHYS_F64: return KEY_FLOAT;
    case PHYS_NUM:
        *compared = 3;
        *carried = 1;
        return KEY_NUM;
    case PHYS_INTERVAL:
        *compared = 2;
        *carried = 2;
        return KEY_INTERVAL;
    case PHYS_STR:
        *carried = type_keeps_blanks(type);
        return *carried > 0 ? KEY_PADDED : info != NULL && info->dict ? KEY_CODE : KEY_TEXT;
    default: return KEY_INT;
    }
}

static bool has_pointer(const KeyCol *col)
{
    return col->form == KEY_TEXT || col->form == KEY_PADDED;
}

/* Puts all columns into one word if their facts allow it. */
static void try_pack(const ColInfo *infos, KeySpec *spec)
{
    uint32_t bits = 0;
    if (!spec->with_nulls || infos == NULL || spec->ncols == 0) return;
    for (uint32_t i = 0; i < spec->ncols; i++) {
        KeyCol *col = &spec->cols[i];
        bool code = col->form == KEY_CODE, boolean = col->form == KEY_INT && col->phys == PHYS_BOOL;
        if (!code && !boolean && !(col->form == KEY_INT && infos[i].has_bounds)) return;
        col->min = code || boolean ? 0 : infos[i].min;
        col->range = code ? col->view.count : boolean ? 1 : (uint64_t)infos[i].max - (uint64_t)infos[i].min;
        if (col->range == UINT64_MAX) return;
        col->shift = bits;
        bits += bit_width64(col->range + 1);
        if (bits > 64) return;
    }
    spec->packed = true;
    spec->compared = spec->words = 1;
}

tcudb_status keys_spec(Exec *x, const Type *types, const ColInfo *infos, uint32_t n, bool with_nulls, KeySpec *out,
                       Error *err)
{
    *out = (KeySpec){.ncols = n, .with_nulls = with_nulls};
    out->cols = ARENA_ARRAY(&x->arena, KeyCol, n + 1, err);
    TRY_PTR(out->cols);
    out->text_word = ARENA_ARRAY(&x->arena, uint32_t, n + 1, err);
    TRY_PTR(out->text_word);
    uint32_t compared, carried, ncarried = 0;
    out->compared = with_nulls ? (n + 63) / 64 : 0;
    for (uint32_t i = 0; i < n; i++) {
        KeyCol *col = &out->cols[i];
        *col = (KeyCol){.type = types[i], .phys = (uint8_t)type_phys(types[i])};
        col->form = form_of(types[i], infos == NULL ? NULL : &infos[i], &compared, &carried);
        col->word = out->compared;
        out->compared += compared;
        col->extra = col->blanks = ncarried; /* relative until all words are counted */
        ncarried += carried;
        if (has_pointer(col)) {
            col->extra = out->ntext;
            out->text_word[out->ntext++] = col->word;
        }
        if (col->form != KEY_CODE) continue;
        assert(infos != NULL);
        col->table = infos[i].table;
        col->column = infos[i].column;
        TRY(table_dict(col->table, col->column, x->env->cancel, &col->view, err));
    }
    for (uint32_t i = 0; i < n; i++) {
        out->cols[i].extra += out->compared + (has_pointer(&out->cols[i]) ? 0 : out->ntext);
        out->cols[i].blanks += out->compared + out->ntext;
    }
    out->words = out->compared + out->ntext + ncarried;
    try_pack(infos, out);
    return TCUDB_OK;
}

bool keys_text_equal(const KeySpec *spec, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = 0; i < spec->ntext; i++) {
        uint32_t len = (uint32_t)a[spec->text_word[i]];
        const char *p = (const char *)(uintptr_t)a[spec->compared + i],
                   *q = (const char *)(uintptr_t)b[spec->compared + i];
        if (len > 0 && memcmp(p, q, len) != 0) return false;
    }
    return true;
}

/* ---- encoding ---------------------------------------------------------------------------------------- */

typedef struct Encoder {
    const KeySpec *spec;
    const uint16_t *sel;
    uint32_t n;
    uint64_t *out;
    uint64_t *hash;
} Encoder;

/* Writes one compared word of every row and hashes it; `expr` may use `row` (0 for constants) and `i`. */
#define EACH_ROW(...)                                                                                                  \
    for (uint32_t i = 0; i < e->n; i++) {                                                                              \
        uint32_t live = sel_row(e->sel, i);                                                                            \
        uint32_t row = live & step;                                                                                    \
        uint64_t *key = e->out + (size_t)i * words;                                                                    \
        (void)key;                                                                                                     \
        if (v->valid != NULL && !bit_get(v->valid, row)) continue;                                                     \
        __VA_ARGS__                                                                                                    \
    }

static inline void put(const Encoder *e, uint64_t *key, uint32_t i, uint32_t word, uint64_t value)
{
    key[word] = value;
    e->hash[i] = keys_mix(e->hash[i], value);
}

static uint64_t float_word(double v)
{
    if (v == 0) v = 0; /* -0 */
    if (v != v) return UINT64_C(0x7ff8000000000000);
    uint64_t word;
    memcpy(&word, &v, sizeof word);
    return word;
}

static void num_words(const Num *num, uint64_t w[4])
{
    Num c = {.value = num->value, .scale = num->scale, .kind = num->kind};
    if (c.kind != NUM_FINITE) c.value = 0;
    if (c.kind != NUM_FINITE || c.value == 0) c.scale = 0;
    while (c.scale > 0 && c.value % 10 == 0) {
        c.value /= 10;
        c.scale--;
    }
    w[0] = (uint64_t)c.value;
    w[1] = (uint64_t)(c.value >> 64);
    w[2] = (uint64_t)(uint32_t)c.scale * (UINT64_C(1) << 32) + (uint32_t)c.kind;
    w[3] = (uint64_t)(uint32_t)num->scale;
}

static void encode_num(const Encoder *e, const KeyCol *col, const Vector *v, uint32_t step)
{
    uint32_t words = e->spec->words;
    const Num *data = v->data;
    EACH_ROW(uint64_t w[4]; num_words(&data[row], w); put(e, key, i, col->word, w[0]);
             put(e, key, i, col->word + 1, w[1]); put(e, key, i, col->word + 2, w[2]); key[col->extra] = w[3];)
}

static void encode_interval(const Encoder *e, const KeyCol *col, const Vector *v, uint32_t step)
{
    uint32_t words = e->spec->words;
    const Interval *data = v->data;
    const int128 day = INT64_C(86400000000);
    EACH_ROW(int128 span = data[row].micros + ((int128)data[row].months * 30 + data[row].days) * day;
             put(e, key, i, col->word, (uint64_t)span); put(e, key, i, col->word + 1, (uint64_t)(span >> 64));
             memcpy(&key[col->extra], &data[row], sizeof data[row]);)
}

static void encode_text(const Encoder *e, const KeyCol *col, const Vector *v, uint32_t step)
{
    uint32_t words = e->spec->words;
    bool dict = v->form == VEC_DICT;
    const Str *texts = v->data;
    const uint32_t *codes = v->data;
    EACH_ROW(Str text = dict ? v->values[codes[row]] : texts[row]; uint64_t h = XXH3_64bits(text.ptr, text.len);
             put(e, key, i, col->word, h << 32 | text.len); key[col->extra] = (uint64_t)(uintptr_t)text.ptr;)
}

static void encode_padded(const Encoder *e, const KeyCol *col, const Vector *v, uint32_t step)
{
    uint32_t words = e->spec->words;
    bool dict = v->form == VEC_DICT;
    const Str *texts = v->data;
    const uint32_t *codes = v->data;
    EACH_ROW(Str text = dict ? v->values[codes[row]] : texts[row]; Str seen = str_without_blanks(text);
             uint64_t h = XXH3_64bits(seen.ptr, seen.len); put(e, key, i, col->word, h << 32 | seen.len);
             key[col->extra] = (uint64_t)(uintptr_t)text.ptr; key[col->blanks] = text.len - seen.len;)
}

static tcudb_status encode_col(const Encoder *e, Arena *arena, const KeyCol *col, const Vector *v, uint32_t rows,
                               Error *err)
{
    uint32_t words = e->spec->words;
    uint32_t step = v->form == VEC_CONST ? 0 : UINT32_MAX;
    switch (col->form) {
    case KEY_CODE: {
        const uint32_t *codes;
        step = UINT32_MAX;
        TRY(vec_codes(arena, v, col->table, col->column, &col->view, e->sel, e->n, rows, &codes, err));
        if (v->form == VEC_CONST && v->valid != NULL && !bit_get(v->valid, 0)) break;
        Vector flat = *v;
        if (v->form == VEC_CONST) flat.valid = NULL;
        v = &flat;
        EACH_ROW(put(e, key, i, col->word, codes[row]);)
        break;
    }
    case KEY_I128:
        EACH_ROW(int128 x = ((const int128 *)v->data)[row]; put(e, key, i, col->word, (uint64_t)x);
                 put(e, key, i, col->word + 1, (uint64_t)(x >> 64));)
        break;
    case KEY_FLOAT:
        if (v->phys == PHYS_F32)
            EACH_ROW(put(e, key, i, col->word, float_word(((const float *)v->data)[row]));)
        else
            EACH_ROW(put(e, key, i, col->word, float_word(((const double *)v->data)[row]));)
        break;
    case KEY_NUM: encode_num(e, col, v, step); break;
    case KEY_INTERVAL: encode_interval(e, col, v, step); break;
    case KEY_TEXT: encode_text(e, col, v, step); break;
    case KEY_PADDED: encode_padded(e, col, v, step); break;
    default:
        switch (v->phys) {
        case PHYS_BOOL: EACH_ROW(put(e, key, i, col->word, ((const uint8_t *)v->data)[row]);) break;
        case PHYS_I16: EACH_ROW(put(e, key, i, col->word, (uint64_t)((const int16_t *)v->data)[row]);) break;
        case PHYS_I32: EACH_ROW(put(e, key, i, col->word, (uint64_t)((const int32_t *)v->data)[row]);) break;
        default: EACH_ROW(put(e, key, i, col->word, ((const uint64_t *)v->data)[row]);) break;
        }
    }
    return TCUDB_OK;
}

static void note_nulls(const Encoder *e, uint32_t col, const Vector *v)
{
    if (v->valid == NULL) return;
    for (uint32_t i = 0; i < e->n; i++) {
        if (!vec_is_null(v, sel_row(e->sel, i))) continue;
        e->out[(size_t)i * e->spec->words + col / 64] |= UINT64_C(1) << (col % 64);
    }
}

/* ---- packed ------------------------------------------------------------------------------------------ */

#define PACK(T)                                                                                                        \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        for (uint32_t i = 0; i < e->n; i++) {                                                                          \
            uint32_t row = sel_row(e->sel, i) & step;                                                                  \
            uint64_t number = (uint64_t)(int64_t)data[row] - min;                                                      \
            if (v->valid != NULL && !bit_get(v->valid, row)) number = range + 1;                                       \
            wrong |= number > range + 1;                                                                               \
            e->out[i] |= number << shift;                                                                              \
        }                                                                                                              \
    } while (0)

static tcudb_status pack_col(const Encoder *e, Arena *arena, const KeyCol *col, const Vector *given, uint32_t rows,
                             Error *err)
{
    Vector flat = *given;
    const Vector *v = &flat;
    uint32_t step = given->form == VEC_CONST ? 0 : UINT32_MAX, shift = col->shift;
    uint64_t min = (uint64_t)col->min, range = col->range;
    bool wrong = false;
    if (col->form == KEY_CODE) {
        const uint32_t *codes;
        TRY(vec_codes(arena, given, col->table, col->column, &col->view, e->sel, e->n, rows, &codes, err));
        flat.data = (void *)(uintptr_t)codes;
        if (given->form == VEC_CONST && given->valid == NULL) step = UINT32_MAX; /* a code for every row */
    }
    switch (col->form == KEY_CODE ? PHYS_STR : (Phys)v->phys) {
    case PHYS_STR: PACK(uint32_t); break;
    case PHYS_BOOL: PACK(uint8_t); break;
    case PHYS_I16: PACK(int16_t); break;
    case PHYS_I32: PACK(int32_t); break;
    default: PACK(int64_t); break;
    }
    if (wrong) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a group key lies outside its column's bounds");
    return TCUDB_OK;
}

static tcudb_status pack(const Encoder *e, Arena *arena, const Vector *cols, uint32_t rows, Error *err)
{
    memset(e->out, 0, e->n * sizeof *e->out);
    for (uint32_t c = 0; c < e->spec->ncols; c++) TRY(pack_col(e, arena, &e->spec->cols[c], &cols[c], rows, err));
    for (uint32_t i = 0; i < e->n; i++)
        e->hash[i] = keys_mix(UINT64_C(0x243f6a8885a308d3), e->out[i]) * UINT64_C(0xd6e8feb86659fd93);
    return TCUDB_OK;
}

/* The column's number in a packed key; range + 1: NULL. */
static uint64_t packed_number(const KeyCol *col, uint64_t word)
{
    uint32_t bits = bit_width64(col->range + 1);
    word >>= col->shift;
    return bits == 64 ? word : word & ((UINT64_C(1) << bits) - 1);
}

tcudb_status keys_encode(const KeySpec *spec, Arena *arena, const Vector *cols, const uint16_t *sel, uint32_t n,
                         uint32_t rows, uint64_t *out, uint64_t *hash, Error *err)
{
    Encoder e = {spec, sel, n, out, hash};
    if (spec->packed) return pack(&e, arena, cols, rows, err);
    memset(out, 0, (size_t)n * spec->words * sizeof *out);
    for (uint32_t i = 0; i < n; i++) hash[i] = UINT64_C(0x243f6a8885a308d3);
    for (uint32_t c = 0; c < spec->ncols; c++) {
        if (spec->with_nulls) note_nulls(&e, c, &cols[c]);
        TRY(encode_col(&e, arena, &spec->cols[c], &cols[c], rows, err));
    }
    for (uint32_t i = 0; i < n && spec->with_nulls; i++)
        for (uint32_t m = 0; m < (spec->ncols + 63) / 64; m++)
            hash[i] = keys_mix(hash[i], out[(size_t)i * spec->words + m]);
    for (uint32_t i = 0; i < n; i++) hash[i] *= UINT64_C(0xd6e8feb86659fd93);
    return TCUDB_OK;
}

/* ---- decoding ------------------------------------------------------------------------------------------ */

static void decode_int(const KeyCol *col, uint64_t word, void *data, uint32_t i)
{
    switch (col->phys) {
    case PHYS_BOOL: ((uint8_t *)data)[i] = (uint8_t)word; break;
    case PHYS_I16: ((int16_t *)data)[i] = (int16_t)word; break;
    case PHYS_I32: ((int32_t *)data)[i] = (int32_t)word; break;
    default: ((uint64_t *)data)[i] = word; break;
    }
}

static void decode_value(const KeyCol *col, const uint64_t *key, void *data, uint32_t i)
{
    uint64_t word = key[col->word];
    int128 wide;
    double real;
    switch (col->form) {
    case KEY_CODE: ((uint32_t *)data)[i] = (uint32_t)word; break;
    case KEY_I128:
        wide = (int128)((uint128)key[col->word + 1] << 64 | word);
        ((int128 *)data)[i] = wide;
        break;
    case KEY_FLOAT:
        memcpy(&real, &word, sizeof real);
        if (col->phys == PHYS_F32)
            ((float *)data)[i] = (float)real;
        else
            ((double *)data)[i] = real;
        break;
    case KEY_NUM: {
        Num num = {.value = (int128)((uint128)key[col->word + 1] << 64 | word)};
        num.scale = (int32_t)(key[col->word + 2] >> 32);
        num.kind = (int32_t)key[col->word + 2];
        for (int32_t shown = (int32_t)key[col->extra]; num.scale < shown && num.kind == NUM_FINITE; num.scale++)
            num.value *= 10;
        ((Num *)data)[i] = num;
        break;
    }
    case KEY_INTERVAL: memcpy((Interval *)data + i, &key[col->extra], sizeof(Interval)); break;
    case KEY_TEXT: ((Str *)data)[i] = (Str){(const char *)(uintptr_t)key[col->extra], (uint32_t)word}; break;
    default: decode_int(col, word, data, i);
    }
}

/* Keys were kept without their blanks. */
static tcudb_status decode_padded(const KeyCol *col, const uint64_t *key, Arena *arena, Str *out, Error *err)
{
    size_t len = (uint32_t)key[col->word], blanks = key[col->blanks];
    *out = (Str){(const char *)(uintptr_t)key[col->extra], (uint32_t)len};
    if (blanks == 0) return TCUDB_OK;
    char *to = arena_alloc_raw(arena, len + blanks, err);
    TRY_PTR(to);
    if (len > 0) memcpy(to, out->ptr, len);
    memset(to + len, ' ', blanks);
    *out = (Str){to, (uint32_t)(len + blanks)};
    return TCUDB_OK;
}

static bool null_bit(const uint64_t *key, uint32_t col)
{
    return (key[col / 64] >> (col % 64) & 1) != 0;
}

/* A column of packed keys, whatever stands where it is NULL; whether it is anywhere. */
#define UNPACK(T)                                                                                                      \
    for (uint32_t i = 0; i < n; i++) {                                                                                 \
        uint64_t number = *(const uint64_t *)(const void *)(keys + i * stride) >> shift & mask;                        \
        any |= number > range;                                                                                         \
        ((T *)data)[i] = (T)(number + min);                                                                            \
    }

static bool unpack(const KeyCol *col, const char *keys, size_t stride, uint32_t n, void *data)
{
    uint32_t bits = bit_width64(col->range + 1), shift = col->shift;
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, range = col->range;
    uint64_t min = col->form == KEY_CODE ? 0 : (uint64_t)col->min;
    bool any = false;
    switch (col->form == KEY_CODE ? (Phys)PHYS_I32 : (Phys)col->phys) {
    case PHYS_BOOL: UNPACK(uint8_t); break;
    case PHYS_I16: UNPACK(int16_t); break;
    case PHYS_I32: UNPACK(int32_t); break;
    default: UNPACK(int64_t); break;
    }
    return any;
}

tcudb_status keys_decode(const KeySpec *spec, uint32_t col_no, const char *keys, size_t stride, uint32_t n,
                         Arena *arena, Vector *out, Error *err)
{
    const KeyCol *col = &spec->cols[col_no];
    *out = (Vector){.type = col->type, .phys = col->phys, .form = VEC_FLAT};
    out->data = arena_alloc(arena, phys_size((Phys)col->phys) * n + 64, err);
    TRY_PTR(out->data);
    if (col->form == KEY_CODE) {
        out->form = VEC_DICT;
        out->values = col->view.values;
        out->nvalues = col->view.count;
        out->dict_id = col->view.id;
    }
    if (spec->packed && !unpack(col, keys, stride, n, out->data)) return TCUDB_OK;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *key = (const uint64_t *)(const void *)(keys + i * stride);
        bool null = spec->packed ? packed_number(col, key[0]) > col->range : spec->with_nulls && null_bit(key, col_no);
        if (null) {
            TRY(vec_need_valid(arena, out, n, err));
            bit_clear(out->valid, i);
        } else if (col->form == KEY_PADDED) {
            TRY(decode_padded(col, key, arena, (Str *)out->data + i, err));
        } else if (!spec->packed) {
            decode_value(col, key, out->data, i);
        }
    }
    return TCUDB_OK;
}
