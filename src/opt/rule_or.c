/*
 * rule_or.c: what an OR over several tables says about one of them.
 *
 * Pattern: an inner join with a condition (p AND q) OR (r AND s) OR ..., where every branch has conjuncts
 * over one input alone.
 * Rewrite: adds the OR of those conjuncts as a filter on that input; for inputs that are inner joins, on
 * theirs instead. The condition itself stays. TPC-H 7: the nations of the two sides; 19: brands and sizes.
 * Right because: if a branch is true, its conjuncts are; so the OR of a part of each branch is true
 * whenever the condition is. Only conjuncts that cannot fail or are evaluated there anyway.
 * Loses when: the derived filter keeps nearly everything; then it is not added (estimated share).
 */
#include "opt/opt_int.h"

#include <assert.h>

static const double WORTH = 0.7; /* the derived filter must drop this much: keep at most 70% of rows */

/* The conjunction of a branch's conjuncts over the input; NULL: it has none. */
static tcudb_status branch_part(Opt *opt, Expr *branch, const Plan *input, Expr **out, Error *err)
{
    Expr **parts = NULL;
    uint32_t n = 0;
    ExprList own = {0};
    TRY(expr_conjuncts(opt->arena, branch, &parts, &n, err));
    for (uint32_t i = 0; i < n; i++)
        if (expr_has_cols(parts[i]) && expr_within(parts[i], input) && expr_safe(parts[i]))
            TRY(list_add(opt, &own, parts[i], err));
    *out = NULL;
    return own.n == 0 ? TCUDB_OK : expr_and(opt, own.items, own.n, out, err);
}

static tcudb_status derive(Opt *opt, const Expr * or, Plan **slot, Error *err)
{
    Plan *input = *slot;
    if (input->kind == PLAN_JOIN && input->join.kind == JOIN_INNER) {
        TRY(derive(opt, or, &input->inputs[0], err));
        return derive(opt, or, &input->inputs[1], err);
    }
    ExprList branches = {0};
    for (uint32_t i = 0; i < or->nargs; i++) {
        Expr *part;
        TRY(branch_part(opt, or->args[i], input, &part, err));
        if (part == NULL) return TCUDB_OK;
        TRY(list_add(opt, &branches, part, err));
    }
    Expr *e;
    TRY(expr_or(opt, branches.items, branches.n, &e, err));
    TRY(expr_simplify_filter(opt, e, &e, err));
    if (expr_is_true(e) || card_selectivity(opt, e) > WORTH) return TCUDB_OK;
    opt->changed = true;
    return plan_add_filter(opt, slot, &e, 1, err);
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    bool inner = plan->kind == PLAN_JOIN && plan->join.kind == JOIN_INNER;
    for (uint32_t i = 0; inner && i < plan->join.nconds; i++) {
        const Expr *e = plan->join.conds[i];
        if (e->kind != EXPR_OR || expr_volatile(e)) continue;
        assert(e->nargs > 0);
        TRY(derive(opt, e, &plan->inputs[0], err));
        TRY(derive(opt, e, &plan->inputs[1], err));
    }
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    return TCUDB_OK;
}

tcudb_status rule_or(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    return visit(opt, *root, err);
}
