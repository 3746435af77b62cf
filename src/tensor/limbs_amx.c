/*
 * limbs_amx.c: the tile of limbs.c with AMX: 16 x 16 sums of 64 products an instruction.
 *
 *     tiles 0 1 2: sums, 16 left rows x 16 right rows each     tile 3: 16 left rows x 64 k
 *     tiles 4 5 6: 64 k x 16 right rows, four k a group, each a third of the right panel
 *
 * tdpbsud multiplies signed by unsigned bytes and adds in 32 bits without saturation, as vpdpbusd does: limbs.c's
 * bound is the same. Operands are padded to whole blocks of 64 k, so every tile is full but for the left's rows.
 * The configuration is a thread's state, set and released around each tile of sums: 0.1 microseconds, and the
 * system saves no tile registers of threads that are elsewhere. Permission: isa.c.
 * Cost: 48 cycles a block of 64 k while both panels come from the nearer caches.
 */
#include "tensor/kernels_int.h"

#if defined(__x86_64__)
#include <assert.h>
#include <immintrin.h>

typedef struct TileConfig {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} TileConfig;
static_assert(sizeof(TileConfig) == 64, "the layout that ldtilecfg reads");

__attribute__((target("amx-tile,amx-int8"))) void limb_tile_amx(const LimbTile *tile, int32_t *out)
{
    enum { ROW = LIMB_ROWS_B * 4, BLOCK_A = LIMB_ROWS_A * LIMB_BLOCK, BLOCK_B = LIMB_ROWS_B * LIMB_BLOCK };
    TileConfig config = {.palette = 1};
    for (uint32_t t = 0; t < 7; t++) {
        config.row_bytes[t] = 64;
        config.rows[t] = t < 4 ? (uint8_t)tile->rows : 16;
    }
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    const uint8_t *a = tile->a, *b = tile->b;
    for (uint32_t k = 0; k < tile->k4; k += LIMB_BLOCK / 4, a += BLOCK_A, b += BLOCK_B) {
        _tile_loadd(3, a, LIMB_BLOCK);
        _tile_loadd(4, b, ROW);
        _tile_dpbsud(0, 3, 4);
        _tile_loadd(5, b + 64, ROW);
        _tile_dpbsud(1, 3, 5);
        _tile_loadd(6, b + 128, ROW);
        _tile_dpbsud(2, 3, 6);
    }
    _tile_stored(0, out, ROW);
    _tile_stored(1, out + 16, ROW);
    _tile_stored(2, out + 32, ROW);
    _tile_release();
}

#else
/* Never called on other processors: kernels_have says no there. */
void limb_tile_amx(const LimbTile *tile, int32_t *out)
{
    (void)tile, (void)out;
}
#endif
