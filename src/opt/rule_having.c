/*
 * rule_having.c: HAVING over a contraction is tested where its sums are made.
 *
 * Pattern: a filter above a Contract with comparisons of one of its sums with a constant.
 *     Filter n > 5 AND s <= 2.50                   Contract ...: n = sum(1) from 6, s = sum(x * y) to 250
 *       Contract ...: n = sum(1), s = sum(x * y)
 * Rewrite: the comparison becomes bounds of the sum, in units of its last decimal, and goes; a filter without
 * conditions goes too.
 * Right because: sums are integers in units of their scale; NULL lies outside of all bounds, as a comparison with it is
 * not true.
 * Why: a group that fails is never decoded, copied or pushed; with matrix instructions eight are refused at once.
 * Loses never.
 */
#include "opt/opt_int.h"

/* The constant as value x 10^-scale. */
static bool const_number(const Expr *e, int128 *value, uint32_t *scale)
{
    if (e->kind != EXPR_CONST || e->value.null) return false;
    *scale = 0;
    switch (e->type.id) {
    case TYPE_INT2: *value = e->value.i16; return true;
    case TYPE_INT4: *value = e->value.i32; return true;
    case TYPE_INT8: *value = e->value.i64; return true;
    case TYPE_NUMERIC: break;
    default: return false;
    }
    *scale = (uint32_t)e->type.scale;
    switch (type_phys(e->type)) {
    case PHYS_I64: *value = e->value.i64; return true;
    case PHYS_I128: *value = e->value.i128; return true;
    case PHYS_NUM:
        *value = e->value.num.value;
        *scale = (uint32_t)e->value.num.scale;
        return e->value.num.kind == NUM_FINITE;
    default: return false;
    }
}

/* value x 10^-scale in units of 10^-to, rounded down; false: too large. *cut: it was rounded. */
static bool rescale(int128 value, uint32_t scale, uint32_t to, int128 *out, bool *cut)
{
    *cut = false;
    for (; scale < to; scale++)
        if (__builtin_mul_overflow(value, 10, &value)) return false;
    for (; scale > to; scale--) {
        int128 rest = value % 10;
        *cut |= rest != 0;
        value = value / 10 - (rest < 0);
    }
    *out = value;
    return value > INT64_MIN && value < INT64_MAX;
}

/* The sum that the expression is, perhaps cast to a numeric of the same value. */
static ContractOut *find_sum(Plan *contract, const Expr *e)
{
    bool cast = e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST && e->nargs == 1 && e->type.id == TYPE_NUMERIC &&
                e->type.precision == 0;
    if (cast) e = e->args[0];
    for (uint32_t i = 0; i < contract->contract.nouts && e->kind == EXPR_COL; i++)
        if (contract->contract.outs[i].col.id == e->col && e->type.id != TYPE_FLOAT8)
            return &contract->contract.outs[i];
    return NULL;
}

/* Bounds of the sum where it compares so with the (rounded down) bound; false: no interval. */
static bool bounds_of(FuncCompare compare, int128 bound, bool cut, int64_t *min, int64_t *max)
{
    *min = INT64_MIN;
    *max = INT64_MAX;
    switch (compare) {
    case CMP_EQ: *min = *max = (int64_t)bound; return !cut;
    case CMP_LT: *max = (int64_t)(bound - !cut); return true;
    case CMP_LE: *max = (int64_t)bound; return true;
    case CMP_GT: *min = (int64_t)(bound + 1); return true;
    case CMP_GE: *min = (int64_t)(bound + cut); return true;
    default: return false;
    }
}

/* Whether the condition has become bounds of a sum. */
static bool take(Plan *contract, const Expr *cond)
{
    FuncCompare compare = expr_compare(cond);
    int128 value, bound;
    uint32_t scale;
    int64_t min, max;
    bool cut;
    if (compare == CMP_NONE) return false;
    const Expr *sum = cond->args[0], *number = cond->args[1];
    if (sum->kind == EXPR_CONST) {
        sum = cond->args[1];
        number = cond->args[0];
        compare = compare_swapped(compare);
    }
    ContractOut *out = find_sum(contract, sum);
    if (out == NULL || !const_number(number, &value, &scale)) return false;
    if (!rescale(value, scale, (uint32_t)out->col.type.scale, &bound, &cut)) return false;
    if (!bounds_of(compare, bound, cut, &min, &max)) return false;
    if (!out->bounded || min > out->min) out->min = min;
    if (!out->bounded || max < out->max) out->max = max;
    out->bounded = true;
    return true;
}

static tcudb_status take_all(Opt *opt, Plan **slot, Error *err)
{
    Plan *filter = *slot, *contract = filter->inputs[0];
    ExprList taken = {contract->contract.having, contract->contract.nhaving, contract->contract.nhaving}, left = {0};
    for (uint32_t i = 0; i < filter->filter.nconds; i++) {
        Expr *cond = filter->filter.conds[i];
        TRY(list_add(opt, take(contract, cond) ? &taken : &left, cond, err));
    }
    if (left.n == filter->filter.nconds) return TCUDB_OK;
    opt->changed = true;
    contract->contract.having = taken.items;
    contract->contract.nhaving = taken.n;
    filter->filter.conds = left.items;
    filter->filter.nconds = left.n;
    if (left.n > 0) return TCUDB_OK;
    contract->cols = filter->cols;
    contract->ncols = filter->ncols;
    *slot = contract;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    bool found = plan->kind == PLAN_FILTER && plan->inputs[0]->kind == PLAN_CONTRACT;
    return found ? take_all(opt, slot, err) : TCUDB_OK;
}

tcudb_status rule_having(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
