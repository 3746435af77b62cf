/*
 * product_plan.c: prices every key of a product and splits the keys between sparse and dense.
 *
 * Key k, with a_k left and b_k right cells, costs a_k b_k products in the sparse form and g h multiply-adds
 * (times limb pairs) in the dense one, whatever a_k and b_k are. So each key goes where it is cheaper (Deep,
 * Hu, Koutris; SIGMOD 2020), and since costs add up over keys the greedy split is optimal up to the fixed cost
 * of the dense form: filling the operands and scanning the g x h block (product_price.c). So three candidates are
 * priced with exact numbers: all keys sparse, all dense, the greedy split.
 */
#include "tensor/product_int.h"

#include <math.h>
#include <stdio.h>

/* Limbs of the side's signed columns. */
static double shifted_limbs(const ProductRun *run, bool left)
{
    const Operand *ops = left ? run->left_ops : run->right_ops;
    double limbs = 0;
    for (uint32_t o = 1; o < COLUMNS; o++)
        if (ops[o].facts.min < 0) limbs += facts_limbs(ops[o].facts);
    return limbs;
}

/* Exact but for the number of rows put out. */
static ProductShape shape_of(const ProductRun *run, uint64_t pairs)
{
    const ProductSpec *spec = run->spec;
    ProductShape s = {.rows = {(double)spec->left.n, (double)spec->right.n},
                      .cells = {(double)run->left.n, (double)run->right.n},
                      .groups = {spec->left.groups, spec->right.groups},
                      .keys = spec->keys,
                      .pairs = (double)pairs,
                      .products = spec->nproducts,
                      .values = {spec->left.nvalues, spec->right.nvalues},
                      .shifted = {shifted_limbs(run, true), shifted_limbs(run, false)},
                      .symmetric = run->places != NULL,
                      .wide = run->wide};
    for (uint32_t p = 0; p < spec->nproducts; p++) s.limb_pairs += product_passes(run, p);
    s.bits = !spec->exact_counts || (run->left.unique && run->right.unique);
    if (!s.bits) s.limb_pairs += (double)facts_limbs(run->left_ops[0].facts) * facts_limbs(run->right_ops[0].facts);
    double area = s.groups[0] * s.groups[1];
    s.out = area < 1 ? 0 : -expm1(-s.pairs / area) * area;
    return s;
}

/* Bytes of one side's dense operands for this many keys. */
static double operand_bytes(const ProductRun *run, bool left, uint32_t groups, uint32_t keys, bool bits)
{
    const Operand *ops = left ? run->left_ops : run->right_ops;
    bool limbs[COLUMNS] = {!bits}, doubles[COLUMNS] = {false};
    uint32_t lines = (keys + BIT_LINE - 1) / BIT_LINE, line = BIT_LINE / 8;
    double bytes = bits ? ((double)groups + BIT_TILE) * lines * line : 0;
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        Product product = run->spec->products[p];
        (run->in_doubles[p] ? doubles : limbs)[operand_index(left ? product.left : product.right)] = true;
    }
    for (uint32_t o = 0; o < COLUMNS; o++) {
        if (doubles[o]) bytes += (double)double_bytes(groups, keys, left);
        if (limbs[o]) bytes += (double)limb_bytes(groups, keys, facts_limbs(ops[o].facts), left);
        if (limbs[o]) bytes += (double)groups * sizeof(int128);
    }
    return bytes;
}

typedef struct Keys {
    double *pairs; /* by key */
    uint64_t total;
    ProductShape shape;
} Keys;

enum { COUNT_CELLS = 1 << 16 }; /* of a stretch, at the least */

/* Stretches of the left cells are counted by key into counters of their own. */
typedef struct PairCount {
    const ProductRun *run;
    uint32_t stretches;
    uint32_t *counts;
} PairCount;

static tcudb_status count_stretch(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    const PairCount *p = ctx;
    const Cells *left = &p->run->left;
    uint32_t *counts = p->counts + task * p->run->spec->keys;
    for (uint64_t c = left->n * task / p->stretches; c < left->n * (task + 1) / p->stretches; c++)
        counts[left->ids[c]]++;
    return TCUDB_OK;
}

/* As many as there are workers, where that is worth it and the counters are little of what the limit leaves. */
static uint32_t count_stretches(const ProductRun *run)
{
    uint32_t workers = pool_workers(run->pool);
    double bytes = (double)run->spec->keys * sizeof(uint32_t) * workers;
    bool room = run->memory == 0 || bytes < (double)run->memory / 8;
    return room && run->left.n / COUNT_CELLS >= workers ? workers : 1;
}

static tcudb_status count_pairs(ProductRun *run, Keys *keys, Error *err)
{
    uint32_t nkeys = run->spec->keys;
    PairCount p = {.run = run, .stretches = count_stretches(run)};
    size_t bytes = sizeof *p.counts * nkeys * p.stretches;
    TRY_PTR(keys->pairs = mem_alloc(run->mem, sizeof(double) * nkeys, err));
    TRY_PTR(p.counts = mem_alloc_zero(run->mem, bytes, err));
    tcudb_status status = pool_run(run->pool, p.stretches, count_stretch, &p, run->cancel, err);
    for (uint32_t key = 0; key < nkeys && status == TCUDB_OK; key++) {
        uint64_t a = 0, b = run->right.starts[key + 1] - run->right.starts[key];
        for (uint32_t s = 0; s < p.stretches; s++) a += p.counts[(size_t)s * nkeys + key];
        keys->pairs[key] = (double)(a * b);
        keys->total += a * b;
    }
    mem_free(run->mem, p.counts, bytes);
    keys->shape = shape_of(run, keys->total);
    return status;
}

/* Counts the keys with more pairs than the limit; returns the pairs of the others. */
static double count_heavy(ProductRun *run, const Keys *keys, double limit)
{
    double light = 0;
    run->heavy = 0;
    for (uint32_t key = 0; key < run->spec->keys; key++) {
        bool heavy = keys->pairs[key] > limit;
        run->heavy += heavy;
        light += heavy ? 0 : keys->pairs[key];
    }
    return light;
}

/* The same, and marks them. */
static double mark_heavy(ProductRun *run, const Keys *keys, double limit)
{
    double light = count_heavy(run, keys, limit);
    uint32_t n = 0;
    for (uint32_t key = 0; key < run->spec->keys; key++) run->dense_key[key] = keys->pairs[key] > limit ? n++ : LIGHT;
    run->any_light = light > 0;
    return light;
}

static double price(const ProductRun *run, const Keys *keys, double light)
{
    ProductPrice p = product_price(run->spec->rates, run->spec->isa, &keys->shape, run->heavy, light);
    return p.build + p.multiply + p.emit;
}

/* Bytes of the dense operands for this many keys, and of the workers' smallest blocks. */
double product_operand_bytes(const ProductRun *run, uint32_t heavy, bool bits)
{
    double blocks = (double)pool_workers(run->pool) * LIMB_ROWS_A * (double)row_bytes(run);
    return blocks + operand_bytes(run, true, run->spec->left.groups, heavy, bits) +
           operand_bytes(run, false, run->spec->right.groups, heavy, bits);
}

void product_compare(ProductRun *run, uint64_t pairs, double *dense, double *sparse)
{
    Keys keys = {.total = pairs, .shape = shape_of(run, pairs)};
    keys.shape.full = true;
    uint32_t heavy = run->heavy;
    run->report->products = pairs;
    run->report->shape = keys.shape;
    *dense = price(run, &keys, 0);
    run->heavy = 0;
    *sparse = price(run, &keys, (double)pairs);
    run->heavy = heavy;
}

enum { CHUNK_KEYS = 512 }; /* the fewest of a chunk: a line of bits, and enough to pay for adding a tile */

static uint32_t half_chunk(uint32_t keys)
{
    return (keys / 2 + CHUNK_KEYS - 1) / CHUNK_KEYS * CHUNK_KEYS;
}

/* The most keys a chunk with which operands and the sums of all left groups fit; else those with which the right
 * operands take a quarter, and as many left groups as the rest has room for. false: not even a panel of them. */
static bool fit_chunks(ProductRun *run, bool bits)
{
    const ProductSpec *spec = run->spec;
    double memory = (double)run->memory, sums = (double)spec->left.groups * (double)row_bytes(run), right = 0;
    uint32_t keys = run->heavy;
    for (run->chunk = keys; run->chunk > CHUNK_KEYS; run->chunk = half_chunk(run->chunk))
        if (sums + operand_bytes(run, true, spec->left.groups, run->chunk, bits) +
                operand_bytes(run, false, spec->right.groups, run->chunk, bits) <=
            memory)
            return true;
    for (; (right = operand_bytes(run, false, spec->right.groups, keys, bits)) > memory / 4 && keys > CHUNK_KEYS;)
        keys = half_chunk(keys);
    double panel = operand_bytes(run, true, LIMB_ROWS_A, keys, bits) + LIMB_ROWS_A * (double)row_bytes(run);
    double panels = floor((memory - right) / panel);
    run->chunk = keys;
    run->most_left = panels < 1 ? 0 : panels * LIMB_ROWS_A >= spec->left.groups ? 0 : (uint32_t)panels * LIMB_ROWS_A;
    return panels >= 1;
}

/* Where the operands leave no room: chunks of keys, in several parts if need be, or sparse if that is cheaper. Returns
 * the light pairs. */
static double fit_memory(ProductRun *run, const Keys *keys, double light, bool asked)
{
    const ProductSpec *spec = run->spec;
    bool bits = keys->shape.bits;
    double bytes = product_operand_bytes(run, run->heavy, bits);
    if (run->memory == 0 || run->heavy == 0 || bytes <= (double)run->memory) return light;
    bool fits = fit_chunks(run, bits);
    if (fits && !asked) {
        double parts = run->most_left == 0 ? 1 : ceil((double)spec->left.groups / run->most_left);
        ProductPrice dense = product_price(spec->rates, spec->isa, &keys->shape, run->heavy, light);
        ProductPrice sparse = product_price(spec->rates, spec->isa, &keys->shape, 0, (double)keys->total);
        fits = dense.build * parts + dense.multiply + dense.emit < sparse.build + sparse.multiply + sparse.emit;
    }
    if (fits) return light;
    run->chunk = run->most_left = 0;
    run->report->short_of_memory = true;
    return mark_heavy(run, keys, INFINITY);
}

static const double SPLIT_GAIN = 0.9; /* two forms at once disturb each other, which no rate says */

/* The cheapest of all sparse, all dense, and each key where it is cheaper; what the spec asks for is not asked. Returns
 * the light pairs. */
static double choose_split(ProductRun *run, const Keys *keys)
{
    ProductForm asked = run->spec->fast ? FORM_SPARSE : run->spec->form;
    const Rates *rates = run->spec->rates;
    bool all = asked == FORM_DENSE || asked == FORM_BITS || asked == FORM_DOUBLES;
    double even = product_key_price(rates, run->spec->isa, &keys->shape) / product_pair_price(rates, &keys->shape);
    double limits[3] = {INFINITY, 0, even}, best = INFINITY, limit = 0;
    for (int i = 0; i < 3; i++) {
        if ((asked == FORM_SPARSE && i != 0) || (all && i != 1) || (asked == FORM_SPLIT && i != 2)) continue;
        double light = count_heavy(run, keys, limits[i]), cost = price(run, keys, light);
        if (cost >= best * (i == 2 ? SPLIT_GAIN : 1)) continue;
        best = cost;
        limit = limits[i];
    }
    double light = fit_memory(run, keys, mark_heavy(run, keys, limit), all || asked == FORM_SPLIT);
    snprintf(run->report->why, sizeof run->report->why, "%u of %u keys dense", run->heavy, run->spec->keys);
    return light;
}

tcudb_status product_plan(ProductRun *run, Error *err)
{
    Keys keys = {0};
    run->dense_key = mem_alloc(run->mem, sizeof(uint32_t) * run->spec->keys, err);
    TRY_PTR(run->dense_key);
    tcudb_status status = count_pairs(run, &keys, err);
    double light = status == TCUDB_OK ? choose_split(run, &keys) : 0;
    mem_free(run->mem, keys.pairs, sizeof(double) * run->spec->keys);
    TRY(status);
    run->report->products = keys.total;
    run->report->shape = keys.shape;
    run->report->light_pairs = light;
    return TCUDB_OK;
}
