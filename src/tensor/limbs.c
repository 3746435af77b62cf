/*
 * limbs.c: exact products of integer matrices through 8-bit limbs.
 *
 * A value below 256^L is L bytes, a plane each; the product of two values is the sum of the byte products
 * shifted by 8 (p + q). One multiply-add instruction (vpdpbusd) multiplies unsigned by signed bytes and adds
 * four products to a 32-bit sum without saturation. To use it for unsigned by unsigned, the left operand is
 * stored as a - 128 (byte ^ 0x80), and sum((a - 128) b) + 128 sum(b) is the answer: row_sums keeps sum(b).
 *
 * Exactness: |(a - 128) b| <= 128 x 255 = 32640, so 32-bit sums hold LIMB_CHUNK = 65536 of them
 * (65536 x 32640 < 2^31); longer k is cut into chunks that are added in 64 or 128 bits.
 *
 * Layout: panels of 16 (left) and 48 (right) rows make a tile of 16 x 48 sums. The left panel's rows are contiguous
 * within a block of 64 k: a tile register of AMX, and a broadcast of four bytes reads from anywhere. The right
 * panel's groups of four k are what both multiply-adds want. Padding is zero in the right operand, so what the left
 * holds there does not matter.
 * Cost: 2 x 16 x 48 x k operations a tile and pair of limbs.
 */
#include "base/hot.h"
#include "tensor/kernels_int.h"

#include <assert.h>
#include <string.h>

enum { TILE = LIMB_ROWS_A * LIMB_ROWS_B };

static size_t panel_bytes(const LimbMatrix *matrix)
{
    return (size_t)matrix->blocks * matrix->panel_rows * LIMB_BLOCK;
}

static void set_shape(LimbMatrix *matrix, uint32_t rows, uint32_t k, uint32_t limbs, bool left)
{
    matrix->rows = rows;
    matrix->panel_rows = left ? LIMB_ROWS_A : LIMB_ROWS_B;
    matrix->panels = (rows + matrix->panel_rows - 1) / matrix->panel_rows;
    matrix->k = k;
    matrix->blocks = (uint32_t)(((uint64_t)k + LIMB_BLOCK - 1) / LIMB_BLOCK);
    matrix->limbs = limbs;
    matrix->biased = left;
}

static size_t planes_bytes(const LimbMatrix *matrix)
{
    return panel_bytes(matrix) * matrix->panels * matrix->limbs;
}

static size_t sums_bytes(const LimbMatrix *matrix)
{
    return sizeof(int64_t) * matrix->panels * matrix->panel_rows * matrix->limbs;
}

size_t limb_bytes(uint32_t rows, uint32_t k, uint32_t limbs, bool left)
{
    LimbMatrix shape = {0};
    set_shape(&shape, rows, k, limbs, left);
    return planes_bytes(&shape) + (left ? 0 : sums_bytes(&shape));
}

tcudb_status limb_new(Mem *mem, uint32_t rows, uint32_t k, uint32_t limbs, bool left, LimbMatrix *out, Error *err)
{
    assert(limbs >= 1 && limbs <= 8);
    *out = (LimbMatrix){.mem = mem};
    set_shape(out, rows, k, limbs, left);
    out->planes = mem_alloc(mem, planes_bytes(out), err);
    TRY_PTR(out->planes);
    if (left) return TCUDB_OK;
    out->row_sums = mem_alloc_zero(mem, sums_bytes(out), err);
    if (out->row_sums != NULL) return TCUDB_OK;
    limb_free(out);
    return TCUDB_NOMEM;
}

void limb_free(LimbMatrix *matrix)
{
    mem_free(matrix->mem, matrix->planes, planes_bytes(matrix));
    mem_free(matrix->mem, matrix->row_sums, sums_bytes(matrix));
    matrix->planes = NULL;
    matrix->row_sums = NULL;
}

static const uint8_t *plane_panel(const LimbMatrix *matrix, uint32_t limb, uint32_t panel)
{
    return matrix->planes + ((size_t)limb * matrix->panels + panel) * panel_bytes(matrix);
}

static int64_t *panel_sums(const LimbMatrix *matrix, uint32_t limb, uint32_t panel)
{
    return matrix->row_sums + ((size_t)limb * matrix->panels + panel) * matrix->panel_rows;
}

static uint8_t *block_at(const LimbMatrix *matrix, uint32_t limb, uint32_t panel, uint32_t block)
{
    size_t panels = (size_t)limb * matrix->panels + panel;
    return matrix->planes + (panels * matrix->blocks + block) * matrix->panel_rows * LIMB_BLOCK;
}

/* What pads the last block of a right operand is zero, whatever the value: so it adds nothing. */
static void clear_padding(LimbMatrix *matrix, uint8_t *block)
{
    uint32_t used = matrix->k - (matrix->blocks - 1) * LIMB_BLOCK;
    for (uint32_t k = used; k < LIMB_BLOCK; k++)
        for (uint32_t row = 0; row < LIMB_ROWS_B; row++) block[((size_t)(k / 4) * LIMB_ROWS_B + row) * 4 + k % 4] = 0;
}

void limb_clear(LimbMatrix *matrix, uint32_t first, uint32_t last, uint32_t from, uint32_t to, uint64_t value)
{
    assert(last <= matrix->panels && to <= matrix->blocks);
    for (uint32_t limb = 0; limb < matrix->limbs; limb++, value >>= 8) {
        for (uint32_t panel = first; panel < last; panel++) {
            uint8_t byte = (uint8_t)value ^ (matrix->biased ? 0x80 : 0);
            memset(block_at(matrix, limb, panel, from), byte, (size_t)(to - from) * matrix->panel_rows * LIMB_BLOCK);
            if (!matrix->biased && byte != 0 && to == matrix->blocks)
                clear_padding(matrix, block_at(matrix, limb, panel, to - 1));
        }
    }
}

void limb_set_left(LimbMatrix *matrix, uint32_t row, const uint32_t *at, const int64_t *values, uint32_t n,
                   uint64_t shift)
{
    assert(matrix->biased && row < matrix->rows);
    for (uint32_t limb = 0; limb < matrix->limbs; limb++) {
        uint8_t *to = block_at(matrix, limb, row / LIMB_ROWS_A, 0) + (size_t)(row % LIMB_ROWS_A) * LIMB_BLOCK;
        for (uint32_t i = 0; i < n; i++) {
            size_t place = (size_t)(at[i] / LIMB_BLOCK) * LIMB_ROWS_A * LIMB_BLOCK + at[i] % LIMB_BLOCK;
            to[place] = (uint8_t)(((uint64_t)values[i] + shift) >> (8 * limb)) ^ 0x80;
        }
    }
}

void limb_set_right(LimbMatrix *matrix, uint32_t k, const uint32_t *at, const int64_t *values, uint32_t n,
                    uint64_t shift)
{
    assert(!matrix->biased && k < matrix->k);
    size_t panel = panel_bytes(matrix);
    for (uint32_t limb = 0; limb < matrix->limbs; limb++) {
        uint8_t *to = block_at(matrix, limb, 0, 0) + (size_t)(k / 4) * LIMB_ROWS_B * 4 + k % 4;
        for (uint32_t i = 0; i < n; i++)
            to[at[i] / LIMB_ROWS_B * panel + (size_t)(at[i] % LIMB_ROWS_B) * 4] =
                (uint8_t)(((uint64_t)values[i] + shift) >> (8 * limb));
    }
}

enum { PUT = 256 };

/* Where the cells are in a plane. */
static void find_places(const LimbMatrix *m, const uint32_t *rows, const uint32_t *ks, uint32_t n, size_t *places)
{
    size_t panel = panel_bytes(m);
    if (m->biased) {
        for (uint32_t i = 0; i < n; i++)
            places[i] = rows[i] / LIMB_ROWS_A * panel + (size_t)(ks[i] / LIMB_BLOCK) * LIMB_ROWS_A * LIMB_BLOCK +
                        (size_t)(rows[i] % LIMB_ROWS_A) * LIMB_BLOCK + ks[i] % LIMB_BLOCK;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        places[i] =
            rows[i] / LIMB_ROWS_B * panel + ((size_t)(ks[i] / 4) * LIMB_ROWS_B + rows[i] % LIMB_ROWS_B) * 4 + ks[i] % 4;
}

void limb_put(LimbMatrix *matrix, const uint32_t *rows, const uint32_t *ks, const int64_t *values, uint32_t n,
              uint64_t shift)
{
    size_t places[PUT];
    uint8_t bias = matrix->biased ? 0x80 : 0;
    for (uint32_t from = 0; from < n; from += PUT) {
        uint32_t some = n - from < PUT ? n - from : PUT;
        find_places(matrix, rows + from, ks + from, some, places);
        for (uint32_t limb = 0; limb < matrix->limbs; limb++) {
            uint8_t *plane = block_at(matrix, limb, 0, 0);
            for (uint32_t i = 0; i < some; i++)
                plane[places[i]] = (uint8_t)(((uint64_t)values[from + i] + shift) >> (8 * limb)) ^ bias;
        }
    }
}

/* A byte of each value. */
HOT static void put_bytes(const int64_t *values, uint32_t n, uint64_t shift, uint32_t down, uint8_t bias, uint8_t *to)
{
    for (uint32_t i = 0; i < n; i++) to[i] = (uint8_t)(((uint64_t)values[i] + shift) >> down) ^ bias;
}

static void put_left_line(LimbMatrix *m, uint32_t row, uint32_t k, const int64_t *values, uint32_t n, uint64_t shift)
{
    for (uint32_t limb = 0; limb < m->limbs; limb++) {
        uint8_t *line = block_at(m, limb, row / LIMB_ROWS_A, 0) + (size_t)(row % LIMB_ROWS_A) * LIMB_BLOCK;
        for (uint32_t i = 0, some; i < n; i += some) {
            some = LIMB_BLOCK - (k + i) % LIMB_BLOCK < n - i ? LIMB_BLOCK - (k + i) % LIMB_BLOCK : n - i;
            put_bytes(values + i, some, shift, 8 * limb, 0x80,
                      line + (size_t)((k + i) / LIMB_BLOCK) * LIMB_ROWS_A * LIMB_BLOCK + (k + i) % LIMB_BLOCK);
        }
    }
}

static void put_right_line(LimbMatrix *m, uint32_t row, uint32_t k, const int64_t *values, uint32_t n, uint64_t shift)
{
    for (uint32_t limb = 0; limb < m->limbs; limb++) {
        for (uint32_t i = 0, some; i < n; i += some) {
            uint32_t first = (row + i) % LIMB_ROWS_B;
            some = LIMB_ROWS_B - first < n - i ? LIMB_ROWS_B - first : n - i;
            uint8_t *to =
                block_at(m, limb, (row + i) / LIMB_ROWS_B, 0) + ((size_t)(k / 4) * LIMB_ROWS_B + first) * 4 + k % 4;
            for (uint32_t j = 0; j < some; j++)
                to[(size_t)j * 4] = (uint8_t)(((uint64_t)values[i + j] + shift) >> (8 * limb));
        }
    }
}

void limb_put_line(LimbMatrix *matrix, uint32_t row, uint32_t k, const int64_t *values, uint32_t n, uint64_t shift)
{
    if (matrix->biased)
        put_left_line(matrix, row, k, values, n, shift);
    else
        put_right_line(matrix, row, k, values, n, shift);
}

/* What pads the last block holds anything. */
static uint64_t sum_left_bytes(const uint8_t *block, uint32_t k)
{
    uint64_t sum = 0;
    for (; k >= LIMB_BLOCK; k -= LIMB_BLOCK, block += (size_t)LIMB_ROWS_A * LIMB_BLOCK) {
        uint32_t some = 0;
        for (uint32_t i = 0; i < LIMB_BLOCK; i++) some += block[i] ^ 0x80;
        sum += some;
    }
    for (uint32_t i = 0; i < k; i++) sum += block[i] ^ 0x80;
    return sum;
}

uint128 limb_left_sum(const LimbMatrix *matrix, uint32_t row)
{
    assert(matrix->biased && row < matrix->rows);
    uint128 sum = 0;
    for (uint32_t limb = 0; limb < matrix->limbs; limb++) {
        const uint8_t *at = block_at(matrix, limb, row / LIMB_ROWS_A, 0) + (size_t)(row % LIMB_ROWS_A) * LIMB_BLOCK;
        sum += (uint128)sum_left_bytes(at, matrix->k) << (8 * limb);
    }
    return sum;
}

/* sums[row] += the row's bytes in k4 groups of four. */
static void sum_rows(const uint8_t *bytes, uint32_t k4, int64_t *sums)
{
    for (uint32_t k = 0; k < k4; k++, bytes += (size_t)4 * LIMB_ROWS_B)
        for (uint32_t row = 0; row < LIMB_ROWS_B; row++)
            sums[row] += bytes[row * 4] + bytes[row * 4 + 1] + bytes[row * 4 + 2] + bytes[row * 4 + 3];
}

void limb_finish_panel(KernelIsa isa, LimbMatrix *matrix, uint32_t panel, uint32_t from, uint32_t to)
{
    assert(!matrix->biased && to <= matrix->blocks);
    uint32_t k4 = (to - from) * (LIMB_BLOCK / 4);
    for (uint32_t limb = 0; limb < matrix->limbs; limb++) {
        int64_t some[LIMB_ROWS_B] = {0}, *sums = panel_sums(matrix, limb, panel);
        if (isa >= ISA_AVX2)
            limb_sums_avx2(block_at(matrix, limb, panel, from), k4, some);
        else
            sum_rows(block_at(matrix, limb, panel, from), k4, some);
        for (uint32_t row = 0; row < LIMB_ROWS_B; row++) __atomic_fetch_add(&sums[row], some[row], __ATOMIC_RELAXED);
    }
}

/* The plain tile, and the reference for the vector ones. */
static void tile_plain(const LimbTile *t, int32_t *restrict out)
{
    const uint8_t *b = t->b;
    memset(out, 0, sizeof(int32_t) * TILE);
    for (uint32_t k = 0; k < t->k4; k++, b += (size_t)LIMB_ROWS_B * 4) {
        const int8_t *a = (const int8_t *)t->a + limb_quad(k);
        for (uint32_t i = 0; i < t->rows; i++) {
            const int8_t *quad = a + (size_t)i * LIMB_BLOCK;
            for (uint32_t j = 0; j < LIMB_ROWS_B; j++)
                out[i * LIMB_ROWS_B + j] +=
                    quad[0] * b[j * 4] + quad[1] * b[j * 4 + 1] + quad[2] * b[j * 4 + 2] + quad[3] * b[j * 4 + 3];
        }
    }
}

static void run_tile(KernelIsa isa, const LimbTile *tile, int32_t *out)
{
    switch (isa) {
    case ISA_AMX: limb_tile_amx(tile, out); break;
    case ISA_AVX512: limb_tile_avx512(tile, out); break;
    case ISA_AVXVNNI: limb_tile_avxvnni(tile, out); break;
    case ISA_AVX2: limb_tile_avx2(tile, out); break;
    default: tile_plain(tile, out); break;
    }
}

/* Recombination: out (+)= (tile + 128 sums) << shift, modulo the width; the caller's proof says that the end result
 * fits. */
#define ADD_TILE(name, Cell, UCell)                                                                                    \
    static void name(const int32_t *tile, const int64_t *sums, uint32_t rows, uint32_t shift, bool add, Cell *out,     \
                     size_t stride)                                                                                    \
    {                                                                                                                  \
        for (uint32_t i = 0; i < rows; i++, tile += LIMB_ROWS_B, out += stride) {                                      \
            for (uint32_t j = 0; j < LIMB_ROWS_B; j++) {                                                               \
                int64_t sum = tile[j] + (sums == NULL ? 0 : 128 * sums[j]);                                            \
                out[j] = (Cell)((add ? (UCell)out[j] : 0) + ((UCell)sum << shift));                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
ADD_TILE(add_narrow, int64_t, uint64_t)
ADD_TILE(add_wide, int128, uint128)

static void add_tile(KernelIsa isa, const int32_t *tile, const int64_t *sums, uint32_t rows, uint32_t shift, bool add,
                     int64_t *out, size_t stride)
{
    if (isa >= ISA_AVX512)
        limb_add_avx512(tile, sums, rows, shift, add, out, stride);
    else
        add_narrow(tile, sums, rows, shift, add, out, stride);
}

static void add_tile_wide(KernelIsa isa, const int32_t *tile, const int64_t *sums, uint32_t rows, uint32_t shift,
                          bool add, int128 *out, size_t stride)
{
    (void)isa;
    add_wide(tile, sums, rows, shift, add, out, stride);
}

static uint32_t rows_of_panel(const LimbMatrix *matrix, uint32_t panel)
{
    uint32_t rest = matrix->rows - panel * matrix->panel_rows;
    return rest < matrix->panel_rows ? rest : matrix->panel_rows;
}

/* Every pair of limb planes, the strip cut into chunks. Pairs beyond the width only fill bits that the proof says are
 * not there. What the bias took is given back with the first strip. */
#define MULTIPLY(name, Cell, add_to)                                                                                   \
    void name(KernelIsa isa, const LimbMatrix *a, uint32_t panel_a, const LimbMatrix *b, uint32_t panel_b,             \
              const KeyStrip *strip, Cell *out, size_t stride)                                                         \
    {                                                                                                                  \
        assert(a->biased && !b->biased && a->k == b->k && strip->from % LIMB_BLOCK == 0 && strip->to <= a->k);         \
        alignas(64) int32_t sums[TILE];                                                                                \
        uint32_t rows = rows_of_panel(a, panel_a), first = strip->from / 4, k4 = (strip->to + 3) / 4;                  \
        for (uint32_t pair = 0; pair < a->limbs * b->limbs; pair++) {                                                  \
            uint32_t p = pair / b->limbs, q = pair % b->limbs;                                                         \
            if (8 * (p + q) >= 8 * sizeof(Cell)) continue;                                                             \
            for (uint32_t k = first; k < k4; k += LIMB_CHUNK / 4) {                                                    \
                bool add = strip->add || pair > 0 || k > first;                                                        \
                LimbTile tile = {.a = plane_panel(a, p, panel_a) + (size_t)k * 4 * LIMB_ROWS_A,                        \
                                 .b = plane_panel(b, q, panel_b) + (size_t)k * 4 * LIMB_ROWS_B,                        \
                                 .rows = rows,                                                                         \
                                 .k4 = k4 - k < LIMB_CHUNK / 4 ? k4 - k : LIMB_CHUNK / 4};                             \
                run_tile(isa, &tile, sums);                                                                            \
                add_to(isa, sums, k == 0 ? panel_sums(b, q, panel_b) : NULL, rows, 8 * (p + q), add, out, stride);     \
            }                                                                                                          \
        }                                                                                                              \
    }
MULTIPLY(limb_multiply, int64_t, add_tile)
MULTIPLY(limb_multiply_wide, int128, add_tile_wide)
