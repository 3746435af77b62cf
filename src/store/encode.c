/*
 * encode.c: from uncompressed rows to a segment: one codec a column.
 *
 *     value -> word = value - min (frame of reference); text: code - min; floats: their bits -> codec -> bytes
 *
 * Choice, by size and then decode cost: constant (no bytes); run length where it halves the best other size;
 * VSEncoding or PForDelta where a sample says that it pays; bit packing at the width of max - min, so that value i can
 * be found by itself; raw in the type's own width where packing would save less than a tenth, since raw columns are
 * read in place. int128 and Num columns whose values
 * lie within 2^64 of their minimum have 8-byte words; others are raw. NULL rows have the word 0.
 *
 * Memory of a column: bytes, BUFFER_SLACK, block offsets, validity bits. Cost: about 2 ns a value.
 */
#include "store/store_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct Source {
    const uint8_t *data;
    const uint8_t *valid; /* NULL: no NULLs */
    Phys phys;
    uint32_t rows;
    int128 min;
} Source;

static int128 value_int(Phys phys, const Value *v)
{
    switch (phys) {
    case PHYS_BOOL: return v->b;
    case PHYS_I16: return v->i16;
    case PHYS_I32: return v->i32;
    case PHYS_I64:
    case PHYS_STR: return v->i64;
    case PHYS_I128: return v->i128;
    case PHYS_NUM: return v->num.value;
    default: return 0;
    }
}

#define LOAD_WORDS(T, expr)                                                                                            \
    do {                                                                                                               \
        const T *v_ = (const T *)s->data + from;                                                                       \
        for (uint32_t i = 0; i < n; i++) words[i] = (expr);                                                            \
    } while (0)

/* The words of rows [from, from + n), n <= CODEC_BLOCK. */
static void load_words(const Source *s, uint32_t from, uint32_t n, uint64_t *words)
{
    uint64_t min = (uint64_t)s->min;
    switch (s->phys) {
    case PHYS_BOOL: LOAD_WORDS(uint8_t, (uint64_t)v_[i] - min); break;
    case PHYS_I16: LOAD_WORDS(int16_t, (uint64_t)(int64_t)v_[i] - min); break;
    case PHYS_I32: LOAD_WORDS(int32_t, (uint64_t)(int64_t)v_[i] - min); break;
    case PHYS_STR: LOAD_WORDS(uint32_t, (uint64_t)v_[i] - min); break;
    case PHYS_I64: LOAD_WORDS(uint64_t, v_[i] - min); break;
    case PHYS_I128: LOAD_WORDS(int128, (uint64_t)v_[i] - min); break;
    case PHYS_NUM: LOAD_WORDS(Num, (uint64_t)v_[i].value - min); break;
    case PHYS_F32: LOAD_WORDS(uint32_t, v_[i]); break;
    case PHYS_F64: LOAD_WORDS(uint64_t, v_[i]); break;
    default: assert(false);
    }
    if (s->valid == NULL) return;
    for (uint32_t i = 0; i < n; i++)
        if (!s->valid[from + i]) words[i] = 0;
}

size_t coldata_layout(size_t size, uint32_t rows, bool with_valid, size_t *at_blocks, size_t *at_valid)
{
    uint32_t nblocks = (rows + CODEC_BLOCK - 1) / CODEC_BLOCK;
    *at_blocks = (size + BUFFER_SLACK + 63) & ~(size_t)63;
    *at_valid = (*at_blocks + (nblocks + 1) * sizeof(uint32_t) + 63) & ~(size_t)63;
    return *at_valid + (with_valid ? bit_words(rows) * 8 + BUFFER_SLACK : 0);
}

void coldata_point(ColData *col)
{
    size_t at_blocks, at_valid;
    coldata_layout(col->pub.size, col->pub.rows, col->pub.nulls > 0, &at_blocks, &at_valid);
    col->pub.bytes = col->memory;
    col->pub.blocks = (uint32_t *)(col->memory + at_blocks);
    col->pub.valid = col->pub.nulls > 0 ? (uint64_t *)(col->memory + at_valid) : NULL;
}

tcudb_status coldata_alloc(ColData *col, Mem *mem, size_t size, Error *err)
{
    size_t at_blocks, at_valid;
    size_t total = coldata_layout(size, col->pub.rows, col->pub.nulls > 0, &at_blocks, &at_valid);
    uint8_t *memory = mem_alloc(mem, total, err);
    TRY_PTR(memory);
    memset(memory + size, 0, total - size);
    col->memory = memory;
    col->memory_size = total;
    col->pub.size = size;
    coldata_point(col);
    return TCUDB_OK;
}

static uint32_t block_count(uint32_t rows)
{
    return (rows + CODEC_BLOCK - 1) / CODEC_BLOCK;
}

static uint32_t block_rows(uint32_t rows, uint32_t block)
{
    uint32_t left = rows - block * CODEC_BLOCK;
    return left < CODEC_BLOCK ? left : CODEC_BLOCK;
}

/* Blocks of one size but the last. */
static void even_blocks(ColData *col, uint32_t block_size)
{
    uint32_t *blocks = (uint32_t *)col->pub.blocks;
    uint32_t n = block_count(col->pub.rows);
    for (uint32_t b = 0; b < n; b++) blocks[b] = b * block_size;
    blocks[n] = (uint32_t)col->pub.size;
}

static tcudb_status encode_raw(ColData *col, Mem *mem, const Source *s, Error *err)
{
    uint32_t width = stored_width(s->phys);
    TRY(coldata_alloc(col, mem, (size_t)s->rows * width, err));
    memcpy(col->memory, s->data, (size_t)s->rows * width);
    col->pub.codec = CODEC_RAW;
    col->pub.word_width = (uint8_t)width;
    col->pub.base = 0;
    even_blocks(col, CODEC_BLOCK * width);
    return TCUDB_OK;
}

static tcudb_status encode_bitpack(ColData *col, Mem *mem, const Source *s, uint32_t bits, Error *err)
{
    size_t size = ((size_t)s->rows * bits + 7) / 8;
    TRY(coldata_alloc(col, mem, size, err));
    uint64_t words[CODEC_BLOCK];
    for (uint32_t b = 0; b < block_count(s->rows); b++) {
        load_words(s, b * CODEC_BLOCK, block_rows(s->rows, b), words);
        bitpack_pack(words, block_rows(s->rows, b), bits, col->memory + (size_t)b * CODEC_BLOCK / 8 * bits);
    }
    col->pub.codec = CODEC_BITPACK;
    col->pub.bits = (uint8_t)bits;
    even_blocks(col, CODEC_BLOCK / 8 * bits);
    return TCUDB_OK;
}

/* Any codec of the table, through a growing buffer. *fits false: not every block can be had so, nothing was done. */
static tcudb_status encode_blocks(ColData *col, Mem *mem, const Source *s, const Codec *codec, bool *fits, Error *err)
{
    tcudb_status status = TCUDB_OK;
    uint64_t words[CODEC_BLOCK];
    uint32_t offsets[SEGMENT_BLOCKS + 1] = {0};
    uint32_t nblocks = block_count(s->rows);
    Buf buf;
    buf_init(&buf, mem);
    for (uint32_t b = 0; b < nblocks; b++) {
        uint32_t n = block_rows(s->rows, b);
        size_t size = 0;
        load_words(s, b * CODEC_BLOCK, n, words);
        *fits = codec->fits(words, n);
        if (!*fits) goto done;
        TRY_GOTO(buf_reserve(&buf, codec->bound(n), err));
        TRY_GOTO(codec->encode(words, n, (uint8_t *)buf.data + buf.len, &size, err));
        assert(size <= codec->bound(n));
        buf.len += size;
        offsets[b + 1] = (uint32_t)buf.len;
    }
    TRY_GOTO(coldata_alloc(col, mem, buf.len, err));
    if (buf.len > 0) memcpy(col->memory, buf.data, buf.len);
    memcpy((uint32_t *)col->pub.blocks, offsets, (nblocks + 1) * sizeof offsets[0]);
    col->pub.codec = codec->id;
done:
    buf_free(&buf);
    return status;
}

/* Without bytes unless some rows are NULL. */
static tcudb_status encode_constant(ColData *col, Mem *mem, Error *err)
{
    col->pub.codec = CODEC_CONSTANT;
    if (column_is_uniform(&col->pub)) return TCUDB_OK;
    TRY(coldata_alloc(col, mem, 0, err));
    even_blocks(col, 0);
    return TCUDB_OK;
}

#define COUNT_RUNS(T)                                                                                                  \
    do {                                                                                                               \
        const T *v_ = (const T *)s->data;                                                                              \
        for (uint32_t i = 1; i < s->rows; i++) runs += v_[i] != v_[i - 1];                                             \
    } while (0)

static uint32_t count_runs(const Source *s)
{
    uint32_t runs = 1;
    switch (stored_width(s->phys)) {
    case 1: COUNT_RUNS(uint8_t); break;
    case 2: COUNT_RUNS(uint16_t); break;
    case 4: COUNT_RUNS(uint32_t); break;
    case 8: COUNT_RUNS(uint64_t); break;
    case 16: COUNT_RUNS(int128); break;
    default: return s->rows;
    }
    return runs;
}

/* What run length would take, roughly: a run also starts with every block. */
static size_t rle_size(const Source *s, uint32_t bits)
{
    uint32_t value = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
    return (size_t)count_runs(s) * (2 + value) + (size_t)block_count(s->rows) * (6 + value);
}

static tcudb_status encode_runs(ColData *col, Mem *mem, const Source *s, Error *err)
{
    bool fits = true;
    tcudb_status status = encode_blocks(col, mem, s, codec_get(CODEC_RLE), &fits, err);
    assert(status != TCUDB_OK || fits);
    return status;
}

static tcudb_status encode_float(ColData *col, Mem *mem, const Source *s, Error *err)
{
    uint32_t width = stored_width(s->phys);
    if (rle_size(s, width * 8) * 2 < (size_t)s->rows * width) return encode_runs(col, mem, s, err);
    return encode_raw(col, mem, s, err);
}

/* ---- the codecs for lists: sizes from a sample ------------------------------------------------ */

enum { SAMPLE_BLOCKS = 3 };

/* Nanoseconds a value: what it costs to bring its bytes here and to decode them. */
static double cost_of(double bytes_a_value, double decode_cost)
{
    const double byte_cost = 0.5;
    return bytes_a_value * byte_cost + decode_cost;
}

/* Bytes a value over some blocks; < 0: the codec cannot hold them. */
static double sample_size(const Source *s, const Codec *codec, uint8_t *out)
{
    uint64_t words[CODEC_BLOCK];
    uint32_t whole = s->rows / CODEC_BLOCK;
    size_t total = 0;
    for (uint32_t i = 0; i < SAMPLE_BLOCKS; i++) {
        size_t size = 0;
        Error ignored;
        load_words(s, whole * i / SAMPLE_BLOCKS * CODEC_BLOCK, CODEC_BLOCK, words);
        if (!codec->fits(words, CODEC_BLOCK)) return -1;
        if (codec->encode(words, CODEC_BLOCK, out, &size, &ignored) != TCUDB_OK) return -1;
        total += size;
    }
    return (double)total / (SAMPLE_BLOCKS * CODEC_BLOCK);
}

/* VSEncoding or PForDelta, if the sample says that their smaller size is worth their decoding and what is lost: single
 * values can no longer be loaded, nor predicates be evaluated on packed words. NULL: no. */
static const Codec *choose_list_codec(const Source *s, Mem *mem, uint32_t bits)
{
    const CodecId ids[] = {CODEC_PFOR_DELTA, CODEC_VSE_DELTA, CODEC_PFOR, CODEC_VSE};
    const double lost = 0.3, near = 1.5; /* VSEncoding, slow to encode, is tried only if PForDelta came near */
    const Codec *best = NULL;
    double least = cost_of(bits / 8.0, codec_get(CODEC_BITPACK)->decode_cost), pfor = 0;
    if (s->rows < SAMPLE_BLOCKS * CODEC_BLOCK || least < lost) return NULL;
    for (uint32_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const Codec *codec = codec_get(ids[i]);
        if (codec == NULL || (i % 2 == 1 && pfor > least * near)) continue;
        uint8_t *out = mem_alloc(mem, codec->bound(CODEC_BLOCK), NULL);
        if (out == NULL) return NULL;
        double size = sample_size(s, codec, out);
        mem_free(mem, out, codec->bound(CODEC_BLOCK));
        double cost = size < 0 ? HUGE_VAL : cost_of(size, codec->decode_cost) + lost;
        if (i % 2 == 0) pfor = cost;
        if (cost >= least) continue;
        least = cost;
        best = codec;
    }
    return best;
}

static tcudb_status encode_int(ColData *col, Mem *mem, const Source *s, Error *err)
{
    SegColumn *pub = &col->pub;
    uint128 range = (uint128)value_int(s->phys, &pub->max) - (uint128)s->min;
    if (range >> 64 != 0) return encode_raw(col, mem, s, err);
    uint32_t bits = bit_width64((uint64_t)range);
    bool wide = s->phys == PHYS_I128 || s->phys == PHYS_NUM;
    pub->word_width = (uint8_t)(wide ? 8 : stored_width(s->phys));
    pub->base = wide ? 0 : (uint64_t)s->min;
    if (bits == 0) return encode_constant(col, mem, err);
    size_t packed = ((size_t)s->rows * bits + 7) / 8;
    if (rle_size(s, bits) * 2 < packed) return encode_runs(col, mem, s, err);
    const Codec *list = choose_list_codec(s, mem, bits);
    bool fits = false;
    if (list != NULL) TRY(encode_blocks(col, mem, s, list, &fits, err));
    if (fits) return TCUDB_OK;
    if (bits * 10 >= stored_width(s->phys) * 72) return encode_raw(col, mem, s, err);
    if (bits == 31) bits = 32; /* widths without a vector form, see codec/unpack.c */
    if (bits > 57) bits = 64;
    return encode_bitpack(col, mem, s, bits, err);
}

static tcudb_status encode(ColData *col, Mem *mem, Type type, const uint8_t *data, const uint8_t *valid, uint32_t rows,
                           Error *err)
{
    facts_init(col, type);
    facts_add(col, type, data, valid, 0, rows);
    Source s = {.data = data, .phys = type_phys(type), .rows = rows};
    s.valid = col->pub.nulls > 0 ? valid : NULL;
    bool is_float = s.phys == PHYS_F32 || s.phys == PHYS_F64;
    if (col->pub.has_bounds && !is_float) s.min = value_int(s.phys, &col->pub.min);
    if (col->pub.nulls == rows)
        TRY(encode_constant(col, mem, err));
    else if (is_float)
        TRY(encode_float(col, mem, &s, err));
    else if (!col->pub.has_bounds)
        TRY(encode_raw(col, mem, &s, err));
    else
        TRY(encode_int(col, mem, &s, err));
    uint64_t *bits = (uint64_t *)col->pub.valid;
    for (uint32_t i = 0; bits != NULL && i < rows; i++) bits[i >> 6] |= (uint64_t)valid[i] << (i & 63);
    atomic_store(&col->resident, col->memory != NULL);
    return TCUDB_OK;
}

tcudb_status column_encode(Mem *mem, Type type, const uint8_t *data, const uint8_t *valid, uint32_t rows, Column **out,
                           Error *err)
{
    Column *column;
    TRY(column_new(mem, &column, err));
    tcudb_status status = encode(&column->data, mem, type, data, valid, rows, err);
    if (status == TCUDB_OK)
        *out = column;
    else
        column_unref(column);
    return status;
}

tcudb_status segment_encode(Mem *mem, const TableMeta *meta, const RowBuf *buf, uint32_t rows,
                            const atomic_bool *cancel, Segment **out, Error *err)
{
    assert(rows > 0 && rows <= SEGMENT_ROWS);
    Segment *segment = NULL;
    TRY(segment_new(mem, rows, meta->def.ncols, &segment, err));
    segment->sketch = mem_alloc_zero(mem, (size_t)meta->def.ncols * SKETCH_BYTES, err);
    if (segment->sketch == NULL) {
        segment_unref(segment);
        return TCUDB_NOMEM;
    }
    for (uint32_t c = 0; c < meta->def.ncols; c++) {
        sketch_add(segment->sketch + (size_t)c * SKETCH_BYTES, type_phys(meta->def.cols[c].type), buf->data[c],
                   buf->valid[c], rows);
        tcudb_status status = cancel_poll(cancel, err);
        if (status == TCUDB_OK)
            status =
                column_encode(mem, meta->def.cols[c].type, buf->data[c], buf->valid[c], rows, &segment->cols[c], err);
        if (status != TCUDB_OK) {
            segment_unref(segment);
            return status;
        }
    }
    *out = segment;
    return TCUDB_OK;
}
