/*
 * product_plan.c: prices every key of a product and splits the keys between sparse and dense.
 *
 * Key k, with a_k left and b_k right cells, costs a_k b_k products in the sparse form and g h multiply-adds
 * (times limb pairs) in the dense one, whatever a_k and b_k are. So each key goes where it is cheaper (Deep,
 * Hu, Koutris; SIGMOD 2020), and since costs add up over keys the greedy split is optimal up to the fixed cost
 * of the dense form: filling the operands and scanning the g x h block. Nanoseconds of one core (rates.h).
 */
#include "tensor/product_int.h"

#include <math.h>
#include <stdio.h>

/* Nanoseconds that one key costs in the dense form. */
static double dense_key_cost(const ProductRun *run)
{
    const ProductSpec *spec = run->spec;
    const Rates *rates = spec->rates;
    double pairs = 0, bits = 0;
    bool unique = run->left.unique && run->right.unique;
    for (uint32_t p = 0; p < spec->nproducts; p++) pairs += product_passes(run, p);
    if (spec->exact_counts && !unique)
        pairs += facts_limbs(run->left_ops[0].facts) * facts_limbs(run->right_ops[0].facts);
    else
        bits = 1;
    uint64_t panels = ((uint64_t)spec->right.groups + LIMB_ROWS_B - 1) / LIMB_ROWS_B;
    double cells = (double)spec->left.groups * (double)(panels * LIMB_ROWS_B);
    return cells * (pairs * rates->mac[spec->isa] + bits * rates->bit[spec->isa]);
}

/* Bytes of the dense operands for this many keys, all columns at their widest. */
static double operand_bytes(const ProductRun *run, uint32_t heavy)
{
    double bytes = 0;
    for (uint32_t p = 0; p <= run->spec->nproducts; p++) {
        Product product = p == 0 ? (Product){ONES, ONES} : run->spec->products[p - 1];
        if (p > 0 && run->in_doubles[p - 1]) {
            bytes += (double)double_bytes(run->spec->left.groups, heavy, true);
            bytes += (double)double_bytes(run->spec->right.groups, heavy, false);
            continue;
        }
        bytes += (double)limb_bytes(run->spec->left.groups, heavy,
                                    facts_limbs(run->left_ops[operand_index(product.left)].facts), true);
        bytes += (double)limb_bytes(run->spec->right.groups, heavy,
                                    facts_limbs(run->right_ops[operand_index(product.right)].facts), false);
    }
    return bytes;
}

typedef struct KeyCosts {
    double *sparse; /* a key: nanoseconds of its pairs */
    uint64_t pairs;
} KeyCosts;

static tcudb_status cost_keys(ProductRun *run, KeyCosts *costs, Error *err)
{
    costs->sparse = mem_alloc_zero(run->mem, sizeof(double) * run->spec->keys, err);
    TRY_PTR(costs->sparse);
    uint64_t entries = run->left.n;
    for (uint64_t c = 0; c < entries; c++) {
        uint32_t key = run->left.ids[c];
        uint64_t b = run->right.starts[key + 1] - run->right.starts[key];
        costs->pairs += b;
        costs->sparse[key] += (double)b * run->spec->rates->pair * (1 + run->spec->nproducts);
    }
    return TCUDB_OK;
}

/* Marks the keys whose sparse cost exceeds the limit; returns what the marked ones cost in sparse form. */
static double mark_heavy(ProductRun *run, const KeyCosts *costs, double limit)
{
    double saved = 0;
    run->heavy = 0;
    run->any_light = false;
    for (uint32_t key = 0; key < run->spec->keys; key++) {
        bool heavy = costs->sparse[key] > limit;
        run->dense_key[key] = heavy ? run->heavy++ : LIGHT;
        if (heavy)
            saved += costs->sparse[key];
        else
            run->any_light |= costs->sparse[key] > 0;
    }
    return saved;
}

static void choose_split(ProductRun *run, const KeyCosts *costs)
{
    const Rates *rates = run->spec->rates;
    ProductForm asked = run->spec->form;
    ProductReport *report = run->report;
    double key_cost = dense_key_cost(run);
    bool all = asked == FORM_DENSE || asked == FORM_BITS || asked == FORM_DOUBLES;
    double limit = asked == FORM_SPARSE ? INFINITY : all ? 0 : key_cost;
    double saved = mark_heavy(run, costs, limit);
    double fixed = rates->cell_scan * run->spec->left.groups * run->spec->right.groups +
                   rates->fill * (double)(run->left.n + run->right.n);
    double gain = saved - key_cost * run->heavy - fixed;
    snprintf(report->why, sizeof report->why, "%u of %u keys dense: saves %.2f ms, costs %.2f ms", run->heavy,
             run->spec->keys, saved / 1e6, (key_cost * run->heavy + fixed) / 1e6);
    if (asked == FORM_AUTO && run->heavy > 0 && gain <= 0) {
        mark_heavy(run, costs, INFINITY);
    } else if (run->spec->memory != 0 && operand_bytes(run, run->heavy) > (double)run->spec->memory) {
        while (run->heavy > 0 && operand_bytes(run, run->heavy) > (double)run->spec->memory) {
            limit = fmax(limit * 2, 1);
            mark_heavy(run, costs, limit);
        }
        snprintf(report->why, sizeof report->why, "memory limit leaves room for %u dense keys", run->heavy);
    }
}

tcudb_status product_plan(ProductRun *run, Error *err)
{
    KeyCosts costs = {0};
    run->dense_key = mem_alloc(run->mem, sizeof(uint32_t) * run->spec->keys, err);
    TRY_PTR(run->dense_key);
    TRY(cost_keys(run, &costs, err));
    choose_split(run, &costs);
    mem_free(run->mem, costs.sparse, sizeof(double) * run->spec->keys);
    run->report->products = costs.pairs;
    return TCUDB_OK;
}
