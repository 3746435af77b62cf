/*
 * read.c: reading a version of a table: facts, pinned bytes, decoded vectors.
 *
 * segment_read decodes up to two blocks into the arena; raw columns of the type's width are not copied: the vector
 * points into the segment. With few selected rows a bit-packed column is read value by value.
 *
 *     word -> + base -> value of the column's type      int128, Num: word + min (128 bits), Num: the common scale
 *
 * The tail is raw; its validity, a byte a row, becomes bits in segment_pin, once a version.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

const TableDef *table_def(const Table *table)
{
    return &table->meta->def;
}

uint64_t table_rows(const Table *table)
{
    return table->live;
}

uint32_t table_segments(const Table *table)
{
    return table->nsegs + (table->tail_rows > 0);
}

uint32_t segment_rows(const Table *table, uint32_t segment)
{
    assert(segment < table_segments(table));
    return segment < table->nsegs ? table->segs[segment]->rows : table->tail_rows;
}

bool segment_sealed(const Table *table, uint32_t segment)
{
    return segment < table->nsegs;
}

const uint64_t *segment_deleted(const Table *table, uint32_t segment)
{
    assert(segment < table_segments(table));
    const Deleted *deleted = table->deleted == NULL ? NULL : table->deleted[segment];
    return deleted == NULL || deleted->count == 0 ? NULL : deleted->bits;
}

static ColData *column_data(const Table *table, uint32_t segment, uint32_t col)
{
    assert(segment < table_segments(table) && col < table->meta->def.ncols);
    return segment < table->nsegs ? &table->segs[segment]->cols[col]->data : &table->tail_cols[col];
}

const SegColumn *segment_column(const Table *table, uint32_t segment, uint32_t col)
{
    return &column_data(table, segment, col)->pub;
}

/* ---- pinning ------------------------------------------------------------------------------------ */

static tcudb_status tail_valid_bits(Table *table, uint32_t col, ColData *data, Error *err)
{
    uint32_t rows = table->tail_rows;
    size_t size = bit_words(rows) * 8 + BUFFER_SLACK;
    uint64_t *bits = mem_alloc_zero(&table->db->mem, size, err);
    TRY_PTR(bits);
    const uint8_t *valid = table->tail->valid[col];
    for (uint32_t i = 0; i < rows; i++) bits[i >> 6] |= (uint64_t)valid[i] << (i & 63);
    data->memory = (uint8_t *)bits;
    data->memory_size = size;
    table->tail_pins[col].valid = bits;
    return TCUDB_OK;
}

static tcudb_status pin_tail_locked(Table *table, uint32_t col, ColData *data, Error *err)
{
    if (atomic_load(&data->resident)) return TCUDB_OK;
    SegColumn *pin = &table->tail_pins[col];
    *pin = data->pub;
    pin->bytes = table->tail->data[col];
    pin->size = (size_t)pin->rows * pin->word_width;
    pin->blocks = db_raw_blocks(table->db, pin->word_width);
    if (pin->nulls > 0) TRY(tail_valid_bits(table, col, data, err));
    atomic_store_explicit(&data->resident, true, memory_order_release);
    return TCUDB_OK;
}

static tcudb_status pin_tail(Table *table, uint32_t col, const SegColumn **out, Error *err)
{
    tcudb_status status = TCUDB_OK;
    ColData *data = &table->tail_cols[col];
    if (!atomic_load_explicit(&data->resident, memory_order_acquire)) {
        pthread_mutex_lock(&table->lock);
        status = pin_tail_locked(table, col, data, err);
        pthread_mutex_unlock(&table->lock);
    }
    *out = &table->tail_pins[col];
    return status;
}

tcudb_status segment_pin(const Table *table, uint32_t segment, uint32_t col, const SegColumn **out, Error *err)
{
    if (segment >= table->nsegs) return pin_tail((Table *)table, col, out, err);
    Column *column = table->segs[segment]->cols[col];
    residency_pin(column);
    TRY(column_load(column, err));
    *out = &column->data.pub;
    return TCUDB_OK;
}

/* ---- decoding ----------------------------------------------------------------------------------- */

typedef struct Read {
    const SegColumn *col;
    uint32_t row, n;
    const uint16_t *sel; /* NULL: all */
    uint32_t nsel;
    bool borrow; /* the vector may point into the column: it is pinned */
} Read;

enum { GATHER_FACTOR = 20 }; /* below one row in so many, values are fetched one by one */

static tcudb_status decode_blocks(const Read *r, uint64_t base, uint32_t width, uint8_t *out, Error *err)
{
    const SegColumn *col = r->col;
    const Codec *codec = codec_get(col->codec);
    assert(codec != NULL);
    for (uint32_t done = 0; done < r->n; done += CODEC_BLOCK) {
        uint32_t block = (r->row + done) / CODEC_BLOCK;
        uint32_t left = col->rows - block * CODEC_BLOCK;
        uint32_t in_block = left < CODEC_BLOCK ? left : CODEC_BLOCK;
        uint32_t start = col->blocks[block];
        assert(in_block <= CODEC_BLOCK);
        TRY(codec->decode(col->bytes + start, col->blocks[block + 1] - start, in_block, base, width,
                          out + (size_t)done * width, err));
    }
    return TCUDB_OK;
}

static void decode_packed(const Read *r, uint64_t base, uint32_t width, uint8_t *out)
{
    const SegColumn *col = r->col;
    size_t at = (size_t)r->row / 8 * col->bits;
    const uint8_t *in = col->bytes + at;
    size_t size = col->size + BUFFER_SLACK - at;
    if (r->sel != NULL && r->nsel * GATHER_FACTOR < r->n)
        bitpack_gather(in, size, r->sel, r->nsel, col->bits, base, width, out);
    else
        bitpack_unpack(in, size, r->n, col->bits, base, width, out);
}

#define FILL(T)                                                                                                        \
    do {                                                                                                               \
        for (uint32_t i = 0; i < n; i++) ((T *)out)[i] = (T)value;                                                     \
    } while (0)

static void fill_words(void *out, uint32_t width, uint32_t n, uint64_t value)
{
    switch (width) {
    case 1: FILL(uint8_t); return;
    case 2: FILL(uint16_t); return;
    case 4: FILL(uint32_t); return;
    default: FILL(uint64_t); return;
    }
}

/* Words of `width` bytes, base added. */
static tcudb_status decode_words(const Read *r, uint64_t base, uint32_t width, uint8_t *out, Error *err)
{
    switch (r->col->codec) {
    case CODEC_CONSTANT: fill_words(out, width, r->n, base); return TCUDB_OK;
    case CODEC_BITPACK: decode_packed(r, base, width, out); return TCUDB_OK;
    default: return decode_blocks(r, base, width, out, err);
    }
}

/* int128 and Num from 8-byte words. */
static tcudb_status decode_wide(const Read *r, Arena *arena, Vector *out, Error *err)
{
    uint64_t *words = arena_alloc_raw(arena, CODEC_BLOCK * 2 * sizeof(uint64_t) + BUFFER_SLACK, err);
    TRY_PTR(words);
    TRY(decode_words(r, 0, 8, (uint8_t *)words, err));
    const Value *min = &r->col->min;
    if (out->phys == PHYS_I128) {
        int128 *to = out->data;
        for (uint32_t i = 0; i < r->n; i++) to[i] = (int128)((uint128)min->i128 + words[i]);
    } else {
        Num *to = out->data;
        for (uint32_t i = 0; i < r->n; i++)
            to[i] = (Num){.value = (int128)((uint128)min->num.value + words[i]), .scale = min->num.scale};
    }
    return TCUDB_OK;
}

static tcudb_status read_flat(const Read *r, Arena *arena, Vector *out, Error *err)
{
    const SegColumn *col = r->col;
    uint32_t width = stored_width(out->phys);
    if (col->codec == CODEC_RAW && col->word_width == width) {
        const uint8_t *from = col->bytes + (size_t)r->row * width;
        out->data = r->borrow ? (void *)from : arena_alloc_raw(arena, (size_t)r->n * width + BUFFER_SLACK, err);
        TRY_PTR(out->data);
        if (!r->borrow) memcpy(out->data, from, (size_t)r->n * width);
        return TCUDB_OK;
    }
    out->data = arena_alloc_raw(arena, (size_t)(r->n + CODEC_BLOCK) * width, err);
    TRY_PTR(out->data);
    if (width != col->word_width) return decode_wide(r, arena, out, err);
    return decode_words(r, col->base, width, out->data, err);
}

/* The one value of a constant column, or NULL. */
static tcudb_status read_constant(const SegColumn *col, Arena *arena, Vector *out, Error *err)
{
    Value value = col->min;
    value.type = out->type;
    value.null = col->nulls > 0;
    if (value.null) memset(&value.num, 0, sizeof value.num);
    return vec_const(arena, &value, out, err);
}

static tcudb_status read_valid(const Read *r, Arena *arena, Vector *out, Error *err)
{
    const uint64_t *bits = r->col->valid;
    if (bits == NULL) return TCUDB_OK;
    bits += r->row / 64;
    size_t size = bit_words(r->n) * sizeof bits[0];
    out->valid = r->borrow ? (uint64_t *)bits : arena_alloc_raw(arena, size, err);
    TRY_PTR(out->valid);
    if (!r->borrow) memcpy(out->valid, bits, size);
    return TCUDB_OK;
}

static tcudb_status read_dict(const Table *table, uint32_t col, Vector *out, Error *err)
{
    DictView dict;
    TRY(table_dict(table, col, NULL, &dict, err)); /* who reads much has loaded it before */
    out->form = VEC_DICT;
    out->values = dict.values;
    out->nvalues = dict.count;
    out->dict_id = dict.id;
    out->ascii = dict.ascii;
    return TCUDB_OK;
}

/* Of a column whose bytes are there and stay. */
static tcudb_status read_column(const Read *r, const Table *table, uint32_t col, Arena *arena, Vector *out, Error *err)
{
    Type type = table->meta->def.cols[col].type;
    *out = (Vector){.type = type, .phys = (uint8_t)type_phys(type), .form = VEC_FLAT};
    if (out->phys == PHYS_STR) TRY(read_dict(table, col, out, err));
    TRY(read_valid(r, arena, out, err));
    return read_flat(r, arena, out, err);
}

/* Of a column without bytes. */
static tcudb_status read_uniform(const SegColumn *col, const Table *table, uint32_t c, uint32_t n, Arena *arena,
                                 Vector *out, Error *err)
{
    Type type = table->meta->def.cols[c].type;
    *out = (Vector){.type = type, .phys = (uint8_t)type_phys(type), .form = VEC_FLAT};
    if (out->phys != PHYS_STR) return read_constant(col, arena, out, err);
    TRY(read_dict(table, c, out, err));
    uint32_t *codes = arena_alloc_raw(arena, (n + CODEC_BLOCK) * sizeof *codes, err);
    TRY_PTR(codes);
    fill_words(codes, sizeof *codes, n, col->nulls > 0 ? 0 : (uint64_t)col->min.i64);
    out->data = codes;
    if (col->nulls == 0) return TCUDB_OK;
    out->valid = arena_alloc(arena, bit_words(n) * sizeof(uint64_t), err);
    return out->valid == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* Vectors may point into the column unless memory is so scarce that it should be able to go before the transaction. */
static bool may_borrow(const Table *table, uint32_t segment, uint32_t col)
{
    if (segment >= table->nsegs || table->segs[segment]->cols[col]->part == NULL) return true;
    return !residency_full(table->db, atomic_load(&table->db->mem.limit) / 8);
}

tcudb_status segment_read(const Table *table, uint32_t segment, uint32_t col, uint32_t row, uint32_t n,
                          const uint16_t *sel, uint32_t nsel, Arena *arena, Vector *out, Error *err)
{
    assert(row % CODEC_BLOCK == 0 && n <= BATCH_ROWS && row + n <= segment_rows(table, segment));
    const SegColumn *facts = segment_column(table, segment, col);
    if (column_is_uniform(facts)) return read_uniform(facts, table, col, n, arena, out, err);
    Read r = {.row = row, .n = n, .sel = sel, .nsel = nsel, .borrow = may_borrow(table, segment, col)};
    if (r.borrow) {
        TRY(segment_pin(table, segment, col, &r.col, err));
        return read_column(&r, table, col, arena, out, err);
    }
    Column *held = table->segs[segment]->cols[col];
    residency_hold(held);
    tcudb_status status = column_load(held, err);
    r.col = &held->data.pub;
    if (status == TCUDB_OK) status = read_column(&r, table, col, arena, out, err);
    residency_release(held);
    return status;
}

/* ---- dictionaries -------------------------------------------------------------------------------- */

tcudb_status table_dict(const Table *table, uint32_t col, const atomic_bool *cancel, DictView *out, Error *err)
{
    Dict *dict = table->meta->dicts[col];
    assert(dict != NULL);
    TRY(dict_load(dict, cancel, err));
    uint32_t count = dict_count(dict);
    *out = (DictView){dict->id, count, dict_values(dict), atomic_load(&dict->ascii), cancel};
    return TCUDB_OK;
}

double table_text_width(const Table *table, uint32_t col)
{
    assert(table->meta->dicts[col] != NULL);
    return dict_width(table->meta->dicts[col]);
}

tcudb_status table_heads(const Table *table, uint32_t col, const atomic_bool *cancel, HeadView *out, Error *err)
{
    assert(table->meta->dicts[col] != NULL);
    return dict_heads(table->meta->dicts[col], cancel, out, err);
}

tcudb_status table_dict_find(const Table *table, uint32_t col, Str text, bool many, const atomic_bool *cancel,
                             bool *found, uint32_t *code, Error *err)
{
    DictView dict;
    TRY(table_dict(table, col, cancel, &dict, err));
    if (!many && !dict_indexed(table->meta->dicts[col])) {
        uint32_t at = 0;
        while (at < dict.count && !str_equal(dict.values[at], text)) at++;
        *found = at < dict.count;
        *code = at;
        return TCUDB_OK;
    }
    TRY(dict_index(table->meta->dicts[col], cancel, err));
    *found = dict_find(table->meta->dicts[col], text, dict_hash(text), dict.count, code);
    return TCUDB_OK;
}
