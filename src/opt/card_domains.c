/*
 * card_domains.c: where exact bounds make an array of a node's keys, as exec/ will find at run time (exec/dense.c,
 * exec/cpu/join_build.c): the combinations of an aggregate's keys, the values of a join's only key.
 */
#include "opt/opt_int.h"

#include <math.h>

static const double MAX_ENTRIES = 1 << 20, MAX_BYTES = 16 << 20, SMALL = 8192, PER_ROW = 4;

static bool is_integer(const Expr *e)
{
    uint8_t phys = (uint8_t)type_phys(e->type);
    return phys == PHYS_I16 || phys == PHYS_I32 || phys == PHYS_I64;
}

/* Values of a computed number over the plan's rows. */
static double computed_width(const Plan *plan, const Expr *e)
{
    Range range;
    if (e->type.id == TYPE_BOOL) return 3;
    return is_integer(e) && expr_range(plan, e, &range) ? (double)range.max - (double)range.min + 2 : INFINITY;
}

/* Values of the expression over the plan's rows, NULL included; INFINITY: no exact bounds. */
static double width(const Opt *opt, const Plan *plan, const Expr *e)
{
    if (e->kind != EXPR_COL) return computed_width(plan, e);
    const ColFact *fact = card_fact(opt, e->col);
    uint8_t phys = (uint8_t)type_phys(e->type);
    if (phys == PHYS_STR) return fact->table != NULL && fact->distinct >= 0 ? fact->distinct + 1 : INFINITY;
    if (phys == PHYS_BOOL) return 3;
    return is_integer(e) && fact->exact && fact->has_range ? fact->hi - fact->lo + 2 : INFINITY;
}

double card_keys_domain(const Opt *opt, const Plan *plan, const NamedExpr *keys, uint32_t n, double rows)
{
    double entries = 1;
    for (uint32_t i = 0; i < n; i++) entries *= width(opt, plan, keys[i].expr);
    if (!(entries <= MAX_ENTRIES)) return INFINITY;
    return entries <= SMALL || entries <= rows * PER_ROW ? entries : INFINITY;
}

static double state_bytes(const AggCall *call)
{
    if (call->distinct) return INFINITY;
    return call->nargs == 0 ? 8 : type_phys(call->col.type) == PHYS_I128 ? 32 : 16;
}

static double group_domain(const Opt *opt, const Plan *agg)
{
    const Plan *in = agg->inputs[0];
    double entries = card_keys_domain(opt, in, agg->agg.groups, agg->agg.ngroups, in->rows), bytes = 1;
    for (uint32_t i = 0; i < agg->agg.naggs; i++) bytes += state_bytes(&agg->agg.aggs[i]);
    return entries * bytes <= MAX_BYTES ? entries : INFINITY;
}

static double join_domain(const Opt *opt, const Plan *join)
{
    const Expr *key = NULL;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        if (!expr_is_equality(join->join.conds[i])) continue;
        if (key != NULL) return INFINITY;
        key = join->join.conds[i]->args[0];
        if (!expr_within(key, join->inputs[1])) key = join->join.conds[i]->args[1];
    }
    return key == NULL ? INFINITY : width(opt, join->inputs[1], key);
}

void card_domains(const Opt *opt, Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) card_domains(opt, plan->inputs[i]);
    if (plan->kind == PLAN_AGGREGATE) plan->domain = group_domain(opt, plan);
    if (plan->kind == PLAN_JOIN) plan->domain = join_domain(opt, plan);
}

bool contract_codes_directly(const Opt *opt, const Plan *contract, double *codes)
{
    double limit = fmin(fmax(contract->inputs[0]->rows, contract->inputs[1]->rows) * 8 + 65536, 1 << 26);
    double keys = 1, groups[2] = {1, 1};
    for (uint32_t i = 0; i < contract->contract.nkeys; i++)
        keys *= width(opt, contract->inputs[0], contract->contract.keys[0][i]);
    for (uint32_t i = 0; i < contract->contract.ngroups; i++)
        groups[i >= contract->contract.nleft] *=
            width(opt, contract->inputs[i >= contract->contract.nleft], contract->contract.groups[i].expr);
    bool direct = keys <= limit && groups[0] <= limit && groups[1] <= limit;
    if (direct) *codes = keys;
    return direct;
}
