/*
 * kernels.h: exact matrix kernels for the CPU: products of 8-bit limbs, of doubles and of bits.
 *
 * All of them compute exact integers; the caller proves beforehand (tensor/exact.h) that the result type
 * holds every sum. Operands are laid out once, when they are filled, in the order the inner loops read
 * them: there is no packing pass. Kernels touch only their arguments: any number of threads may run them
 * on the same operands. The instruction set is an argument, so that tests can try each.
 */
#ifndef TENSOR_KERNELS_H
#define TENSOR_KERNELS_H

#include "base/bits.h"
#include "base/mem.h"

typedef enum KernelIsa { ISA_SCALAR, ISA_AVX2, ISA_AVXVNNI, ISA_AVX512, ISA_AMX, ISA_COUNT } KernelIsa;
/* Whether this machine has it. AVX2: with FMA; AVXVNNI: AVX2 with VNNI, as processors without AVX-512 have it; AVX512:
 * F, BW, DQ, VL, VNNI and VPOPCNTDQ; AMX: AVX512, tiles with 8-bit products, and the system's leave to use them. */
bool kernels_have(KernelIsa isa);
/* The best that it has. */
KernelIsa kernels_best_isa(void);
const char *kernels_isa_name(KernelIsa isa);

/* ---- 8-bit limbs ---------------------------------------------------------------------------- */

/* A panel is LIMB_ROWS_A (left) or LIMB_ROWS_B (right) rows, its k in blocks of LIMB_BLOCK, the last one padded.
 * Left: within a block a row's bytes lie together, byte (row, k) at (row * LIMB_BLOCK) + k. Right: four consecutive
 * k of a row lie together, byte (row, k) at ((k / 4) * rows + row) * 4 + k % 4. */
enum { LIMB_ROWS_A = 16, LIMB_ROWS_B = 48, LIMB_BLOCK = 64, LIMB_CHUNK = 65536 };

/* A matrix of rows x k unsigned values below 256^limbs, one plane a limb, least significant first. */
typedef struct LimbMatrix {
    Mem *mem;
    uint32_t rows;       /* as asked for */
    uint32_t panel_rows; /* LIMB_ROWS_A or LIMB_ROWS_B */
    uint32_t panels;
    uint32_t k;      /* as asked for */
    uint32_t blocks; /* ceil(k / LIMB_BLOCK) */
    uint32_t limbs;
    bool biased;       /* left operands store byte ^ 0x80, see limbs.c */
    uint8_t *planes;   /* limbs x panels x blocks x panel_rows x LIMB_BLOCK */
    int64_t *row_sums; /* right operands: limbs x panels x panel_rows, sums of each row's bytes */
} LimbMatrix;

/* left: the A operand. Cells are undefined until limb_clear. Charged to mem; free with limb_free. */
tcudb_status limb_new(Mem *mem, uint32_t rows, uint32_t k, uint32_t limbs, bool left, LimbMatrix *out,
                      Error *err) MUST_CHECK;
void limb_free(LimbMatrix *matrix);
size_t limb_bytes(uint32_t rows, uint32_t k, uint32_t limbs, bool left);
/* Sets every cell of the blocks [from, to) of the k of panels [first, last) to value. */
void limb_clear(LimbMatrix *matrix, uint32_t first, uint32_t last, uint32_t from, uint32_t to, uint64_t value);
/* Cell (row, k) = value + shift, for n cells of one row of a left operand, or of one k of a right one; at: their k, or
 * rows. Different cells may be set by different threads at once. */
void limb_set_left(LimbMatrix *matrix, uint32_t row, const uint32_t *at, const int64_t *values, uint32_t n,
                   uint64_t shift);
void limb_set_right(LimbMatrix *matrix, uint32_t k, const uint32_t *at, const int64_t *values, uint32_t n,
                    uint64_t shift);
/* The same for n cells anywhere, of a left or a right operand. */
void limb_put(LimbMatrix *matrix, const uint32_t *rows, const uint32_t *ks, const int64_t *values, uint32_t n,
              uint64_t shift);
/* The same for a line of n cells: of a left operand from (row, k) on along k, of a right one along its rows. */
void limb_put_line(LimbMatrix *matrix, uint32_t row, uint32_t k, const int64_t *values, uint32_t n, uint64_t shift);
/* The sum of the values in one row of a left operand. */
uint128 limb_left_sum(const LimbMatrix *matrix, uint32_t row);
/* After the last cell of a right operand is set, once for each of its blocks: sums the rows of blocks [from, to) of one
 * panel. Different blocks may be summed by different threads at once. */
void limb_finish_panel(KernelIsa isa, LimbMatrix *matrix, uint32_t panel, uint32_t from, uint32_t to);

/* Some of k: from, a multiple of LIMB_BLOCK, to below `to`. Strips from 0 to k make the whole product. */
typedef struct KeyStrip {
    uint32_t from, to;
    bool add; /* to what out holds, which else is set */
} KeyStrip;

/* out[i * stride + j] (+)= sum over the strip's k of A[row_a + i][k] * B[row_b + j][k] for the rows of one A panel and
 * one B panel; of B the padding rows too. Exact while the whole sums fit int64 (limb_multiply) or int128
 * (limb_multiply_wide): what the strips of a multi-limb product hold until the last may be anything. */
void limb_multiply(KernelIsa isa, const LimbMatrix *a, uint32_t panel_a, const LimbMatrix *b, uint32_t panel_b,
                   const KeyStrip *strip, int64_t *out, size_t stride);
void limb_multiply_wide(KernelIsa isa, const LimbMatrix *a, uint32_t panel_a, const LimbMatrix *b, uint32_t panel_b,
                        const KeyStrip *strip, int128 *out, size_t stride);

/* ---- doubles -------------------------------------------------------------------------------- */

/* Integers as doubles. Panels as of limbs, so that both fill the same blocks; a left panel is halves of
 * DOUBLE_ROWS_A rows, a right one of DOUBLE_ROWS_B, and cell (row, k) of a half is at k * rows + row. */
enum { DOUBLE_ROWS_A = LIMB_ROWS_A / 2, DOUBLE_ROWS_B = LIMB_ROWS_B / 2 };

typedef struct DoubleMatrix {
    Mem *mem;
    uint32_t rows;      /* as asked for */
    uint32_t half_rows; /* DOUBLE_ROWS_A or DOUBLE_ROWS_B */
    uint32_t panels;
    uint32_t k;
    double *cells; /* panels x 2 x k x half_rows */
} DoubleMatrix;

/* As for limbs, but zero from the start; values: at most 2^53 in size. */
tcudb_status double_new(Mem *mem, uint32_t rows, uint32_t k, bool left, DoubleMatrix *out, Error *err) MUST_CHECK;
void double_free(DoubleMatrix *matrix);
size_t double_bytes(uint32_t rows, uint32_t k, bool left);
void double_set_left(DoubleMatrix *matrix, uint32_t row, const uint32_t *at, const int64_t *values, uint32_t n);
void double_set_right(DoubleMatrix *matrix, uint32_t k, const uint32_t *at, const int64_t *values, uint32_t n);
void double_put(DoubleMatrix *matrix, const uint32_t *rows, const uint32_t *ks, const int64_t *values, uint32_t n);
/* As limb_multiply, but out is set, and A's padding rows may be written. Exact if no cell's sum of |a b| passes 2^53:
 * then every partial sum, in any order, is an integer that a double holds. */
void double_multiply(KernelIsa isa, const DoubleMatrix *a, uint32_t panel_a, const DoubleMatrix *b, uint32_t panel_b,
                     const KeyStrip *strip, int64_t *out, size_t stride);

/* ---- bits ----------------------------------------------------------------------------------- */

/* Rows of a tile; bits of a vector register, to which rows are padded; words multiplied at a time. */
enum { BIT_TILE = 4, BIT_LINE = 512, BIT_CHUNK = 1024 };

typedef struct BitMatrix {
    Mem *mem;
    uint32_t rows;   /* as asked for */
    uint32_t padded; /* rounded up to BIT_TILE */
    uint64_t k;
    size_t words; /* 64-bit words a row, a multiple of 8 */
    uint64_t *bits;
} BitMatrix;

tcudb_status bitmat_new(Mem *mem, uint32_t rows, uint64_t k, BitMatrix *out, Error *err) MUST_CHECK;
void bitmat_free(BitMatrix *matrix);
static inline void bitmat_set(BitMatrix *matrix, uint32_t row, uint64_t k)
{
    bit_set(matrix->bits + row * matrix->words, k);
}
/* The same, by several threads at once in one row. */
static inline void bitmat_set_shared(BitMatrix *matrix, uint32_t row, uint64_t k)
{
    __atomic_fetch_or(matrix->bits + row * matrix->words + k / 64, UINT64_C(1) << k % 64, __ATOMIC_RELAXED);
}
/* out[i * stride + j] (word 0: =, later ones: +=) the number of k set in both rows among BIT_CHUNK words from `word`
 * on, for BIT_TILE x BIT_TILE rows from (row_a, row_b). */
void bitmat_multiply(KernelIsa isa, const BitMatrix *a, uint32_t row_a, const BitMatrix *b, uint32_t row_b, size_t word,
                     int64_t *out, size_t stride);

#endif
