/*
 * cost_contract.c: the price of a contraction: its inputs, coding their rows, and the product (tensor/product_price.h).
 *
 * Inputs run one after the other, in as many pieces as their tables have segments. Rows coded from exact bounds are
 * coded on the way; others are kept and coded afterwards, on one core. The product keeps all cores busy.
 * Of a symmetric one the right side is the left one's cells.
 */
#include "opt/cost_contract.h"
#include "tensor/kernels.h"

#include <math.h>

static const double NS = 1e-9;

static double coding(const CostEnv *env, const ProductShape *s, uint32_t side, bool direct, double cores)
{
    const Rates *r = env->rates;
    if (direct) return s->rows[side] * (r->code + r->code_value * s->values[side]) / cores;
    double row = rate_at(&r->intern, s->groups[side]) + rate_at(&r->intern, s->keys) + r->code_value * s->values[side];
    return s->rows[side] * row;
}

/* Sums that are not a product as it stands. */
static uint32_t composed_sums(const Plan *contract)
{
    uint32_t n = 0;
    for (uint32_t o = 0; o < contract->contract.nouts; o++)
        n += contract->contract.outs[o].nullable || contract->contract.outs[o].nterms > 1;
    return n;
}

Price cost_contract(const CostEnv *env, const Plan *contract, const ProductShape *shape, bool direct, double heavy,
                    double light_pairs)
{
    ProductPrice product = product_price(env->rates, kernels_best_isa(), shape, heavy, light_pairs);
    Price p = {.build = env->rates->start * 3 * NS};
    for (uint32_t side = 0; side < (shape->symmetric ? 1 : 2); side++) {
        double tasks = cost_tasks(env, contract->inputs[side]);
        double cores = tasks < 1 ? 1 : fmin(tasks, env->workers);
        p.build += price_total(cost_tree(env, contract->inputs[side]));
        p.build += NS * coding(env, shape, side, direct, cores);
    }
    p.build += NS * product.build / env->workers;
    p.multiply = NS * product.multiply / env->workers;
    p.emit = NS * (product.emit + shape->out * composed_sums(contract) * env->rates->emit_null) / env->workers;
    return p;
}
