/*
 * rule_limit.c: no more rows than a LIMIT will take.
 *
 * Pattern: LIMIT over a sort (projections between), over UNION ALL, over a plan that cannot have more
 * rows; LIMIT 0.
 * Rewrite: the sort is told how many rows are wanted and keeps only those (top-N); the inputs of UNION ALL
 * get a LIMIT of limit + offset each; a LIMIT that cannot bite goes; LIMIT 0 is an empty plan.
 * Right because: the LIMIT itself stays where it was, and rows beyond limit + offset of a sorted input or
 * of one branch never get through it. Projections put out one row for each.
 * Loses never.
 */
#include "opt/opt_int.h"

#include <assert.h>

static bool known_count(const Expr *e, uint64_t *out)
{
    *out = 0;
    if (e == NULL) return true;
    if (e->kind != EXPR_CONST || e->type.id != TYPE_INT8) return false;
    if (e->value.null) return false;
    if (e->value.i64 < 0) return false; /* exec reports it */
    *out = (uint64_t)e->value.i64;
    return true;
}

/* limit + offset, if both are known and there is a limit. */
static bool wanted_rows(const Plan *limit, uint64_t *out)
{
    uint64_t count, skip;
    if (limit->limit.limit == NULL || !known_count(limit->limit.limit, &count)) return false;
    if (!known_count(limit->limit.offset, &skip)) return false;
    return !__builtin_add_overflow(count, skip, out) && *out <= INT64_MAX;
}

static tcudb_status tell_sort(Opt *opt, Plan *limit, Error *err)
{
    Plan *sort = limit->inputs[0];
    (void)err;
    while (sort->kind == PLAN_PROJECT) sort = sort->inputs[0];
    if (sort->kind != PLAN_SORT || sort->sort.limit != NULL || sort->sort.offset != NULL) return TCUDB_OK;
    if (limit->limit.limit == NULL) return TCUDB_OK;
    sort->sort.limit = limit->limit.limit;
    sort->sort.offset = limit->limit.offset;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status limit_branches(Opt *opt, Plan *limit, uint64_t wanted, Error *err)
{
    Plan *set_op = limit->inputs[0];
    if (set_op->kind != PLAN_SET_OP || set_op->set_op.kind != SET_UNION || !set_op->set_op.all) return TCUDB_OK;
    for (uint32_t i = 0; i < 2; i++) {
        Plan *input = set_op->inputs[i];
        if (input->kind == PLAN_LIMIT || plan_max_rows(input) <= wanted) continue;
        Plan *below = plan_new(opt->arena, PLAN_LIMIT, 1, input->ncols, err);
        TRY_PTR(below);
        Value value = {.type = TYPE(TYPE_INT8), .i64 = (int64_t)wanted};
        below->inputs[0] = input;
        memcpy(below->cols, input->cols, input->ncols * sizeof *below->cols);
        below->limit.limit = expr_const(opt->arena, &value, 0, err);
        TRY_PTR(below->limit.limit);
        set_op->inputs[i] = below;
        opt->changed = true;
    }
    return TCUDB_OK;
}

static tcudb_status rewrite_limit(Opt *opt, Plan **slot, Error *err)
{
    Plan *limit = *slot;
    uint64_t count, wanted;
    bool zero = limit->limit.limit != NULL && known_count(limit->limit.limit, &count) && count == 0;
    if (zero && known_count(limit->limit.offset, &wanted)) {
        opt->changed = true;
        return plan_new_empty(opt, limit->cols, limit->ncols, slot, err);
    }
    if (wanted_rows(limit, &wanted)) {
        if (limit->limit.offset == NULL && plan_max_rows(limit->inputs[0]) <= wanted) {
            opt->changed = true;
            *slot = limit->inputs[0];
            return plan_restore_cols(opt, slot, limit->cols, limit->ncols, err);
        }
        TRY(limit_branches(opt, limit, wanted, err));
    }
    return tell_sort(opt, limit, err);
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    if ((*slot)->kind == PLAN_LIMIT) TRY(rewrite_limit(opt, slot, err));
    Plan *plan = *slot;
    assert(plan != NULL);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    return TCUDB_OK;
}

tcudb_status rule_limit(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
