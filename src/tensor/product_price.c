/*
 * product_price.c: the three terms of a product: build the operands, multiply, put rows out.
 *
 * build: both bags are sorted into cells (two passes), looked at once a column for the proof, and in the dense form
 * written into limb planes or bits, the empty cells of shifted columns too; unique rows that nearly fill their
 * matrices skip the cells (product_full.c). multiply: a pair of cells a product in
 * the sparse form, slower when a row of accumulators leaves the cache; groups x groups x keys a limb pair in the dense
 * one, the right groups padded to panels. emit: rows that exist; whole rows of the output are looked at in the dense
 * form and in nearly full sparse rows.
 */
#include "tensor/product_price.h"

#include <math.h>

double product_pair_price(const Rates *r, const ProductShape *s)
{
    double entries = s->groups[1] * (1 + s->products * (s->wide ? 2 : 1));
    return rate_at(&r->pair, entries) + s->products * r->pair_value * (s->wide ? 2 : 1);
}

static double padded(double groups)
{
    return ceil(groups / LIMB_ROWS_B) * LIMB_ROWS_B;
}

/* The empty cells of one dense key. */
static double background(const Rates *r, const ProductShape *s)
{
    return (s->groups[0] * s->shifted[0] + s->groups[1] * s->shifted[1]) * r->background;
}

double product_key_price(const Rates *r, KernelIsa isa, const ProductShape *s)
{
    return s->groups[0] * padded(s->groups[1]) * (s->limb_pairs * r->mac[isa] + (s->bits ? r->bit[isa] : 0)) +
           background(r, s);
}

bool product_fills(double rows, double groups, double keys)
{
    enum { SPREAD = 4 };
    return rows <= groups * keys && groups * keys <= rows * SPREAD;
}

/* share: of the keys that are dense. */
static double build_price(const Rates *r, const ProductShape *s, double share, bool dense)
{
    double ns = 0;
    for (int side = 0; side < 2; side++) {
        double columns = 1 + s->values[side];
        if (s->full && dense) {
            ns += s->rows[side] * (r->full + r->full_value * s->values[side]);
            continue;
        }
        double rows = s->symmetric && side == 1 ? s->cells[1] / 2 : s->rows[side]; /* the left's cells, transposed */
        ns += rows * (rate_at(&r->cell, s->rows[side]) + r->cell_value * s->values[side]);
        ns += s->cells[side] * columns * r->fact;
        ns += share * s->cells[side] * ((s->values[side] + !s->bits) * r->fill + s->bits * r->fill_bit);
    }
    return ns + s->keys * r->key;
}

ProductPrice product_price(const Rates *r, KernelIsa isa, const ProductShape *s, double heavy, double light_pairs)
{
    double share = s->keys > 0 ? heavy / s->keys : 0, area = s->groups[0] * s->groups[1];
    bool scan = heavy > 0 || s->pairs / 2 > area;
    ProductPrice p = {.build = build_price(r, s, share, heavy > 0 && light_pairs <= 0)};
    if (!s->full) p.build += heavy * background(r, s);
    p.multiply = light_pairs * product_pair_price(r, s) + heavy * (product_key_price(r, isa, s) - background(r, s));
    if (s->symmetric) p.multiply /= 2;
    p.multiply += light_pairs > 0 ? s->cells[0] * r->row_start : 0;
    p.emit = s->out * (r->emit + r->emit_value * s->products * (s->wide ? 2 : 1)) +
             (scan ? area * r->cell_scan * (s->symmetric ? 0.5 : 1) : 0);
    return p;
}
