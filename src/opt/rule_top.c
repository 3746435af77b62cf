/*
 * rule_top.c: the first rows by a sum of a contraction: rows that come too late are not put out.
 *
 * Pattern: a sort with a limit whose first key is a sum of a Contract below it, projections and filters between.
 *     Sort by n desc, g limit 10                  Sort ... bounds 3
 *       Contract by g, h: n = sum(1)                Contract by g, h: n = sum(1) from bound 3
 * Rewrite: both get the number of a bound. The sort moves it: once it has as many rows as it needs, no row with a
 * later first key can be among them (exec/topn.c). The contraction reads it where it looks for groups that exist.
 * Right because: rows with an equal first key stay, later keys decide them; a filter between only drops rows, and the
 * bound comes from rows behind it. Sums that may be NULL or out of range are put out as before (exec decides).
 * Why: of millions of groups a few thousand are ever copied, decoded and pushed.
 * Loses never.
 */
#include "opt/opt_int.h"

/* The contraction's sum that the column is. */
static ContractOut *find_sum(Plan *plan, ColId col)
{
    while (plan->kind == PLAN_PROJECT || plan->kind == PLAN_FILTER) {
        for (uint32_t i = 0; plan->kind == PLAN_PROJECT && i < plan->ncols; i++) {
            if (plan->project.exprs[i].col.id != col) continue;
            if (plan->project.exprs[i].expr->kind != EXPR_COL) return NULL;
            col = plan->project.exprs[i].expr->col;
            break;
        }
        plan = plan->inputs[0];
    }
    for (uint32_t i = 0; plan->kind == PLAN_CONTRACT && i < plan->contract.nouts; i++)
        if (plan->contract.outs[i].col.id == col) return &plan->contract.outs[i];
    return NULL;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    if (plan->kind != PLAN_SORT || plan->sort.limit == NULL || plan->sort.bound != 0 || plan->sort.nkeys == 0)
        return TCUDB_OK;
    const Expr *key = plan->sort.keys[0].expr;
    ContractOut *sum = key->kind == EXPR_COL ? find_sum(plan->inputs[0], key->col) : NULL;
    if (sum == NULL || type_phys(sum->col.type) != PHYS_I64 || sum->sort_bound != 0) return TCUDB_OK;
    plan->sort.bound = sum->sort_bound = opt->next_semi++;
    opt->changed = true;
    return TCUDB_OK;
}

tcudb_status rule_top(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, *root, err);
}
