/*
 * rule_fold.c: an aggregate that does not look at the groups of one side of a contraction gets them summed up.
 *
 *     Aggregate by g: count(h), sum(n)               Aggregate by g: sum(c), sum(n)
 *       Contract by g, h: n = sum(1)          ->       Contract by g folded: c = count(right groups), n = sum(1)
 *
 * Pattern: an aggregate above a Contract; one side's groups are only counted (COUNT(*), COUNT of one of them), the
 * contraction's sums only added. COUNT(DISTINCT b.h) over a join is that (contract_finer.c).
 * Rewrite: the contraction puts out one row a group of the other side, with the number of cells and their sums; the
 * aggregate adds rows up. If it is the left side's groups that are folded, the sides are swapped first.
 * Right because: a count of rows is the sum of counts over fewer rows, and so is a sum; NULL sums are those of which
 * no part counts. Sums get type numeric(38), so that what fits in the end does not overflow on its way.
 * Why: the cells of the product are never put out: they are counted where they are made.
 * Loses never.
 */
#include "opt/opt_int.h"

typedef struct Fold {
    Opt *opt;
    Plan *agg, *contract;
    uint32_t side;  /* whose groups are folded */
    ColId counted;  /* the group column whose NULLs do not count; 0: none */
    bool any_count; /* of rows */
} Fold;

static bool is_group_of(const Plan *contract, uint32_t side, ColId id)
{
    uint32_t from = side == 0 ? 0 : contract->contract.nleft;
    uint32_t to = side == 0 ? contract->contract.nleft : contract->contract.ngroups;
    for (uint32_t g = from; g < to; g++)
        if (contract->contract.groups[g].col.id == id) return true;
    return false;
}

static bool never_null(const Fold *f, ColId id)
{
    const Plan *c = f->contract;
    for (uint32_t g = 0; g < c->contract.ngroups; g++)
        if (c->contract.groups[g].col.id == id)
            return expr_not_null(f->opt, c->inputs[f->side], NULL, c->contract.groups[g].expr);
    return false;
}

static ContractOut *find_out(const Plan *contract, const Expr *e)
{
    for (uint32_t i = 0; i < contract->contract.nouts && e->kind == EXPR_COL; i++)
        if (contract->contract.outs[i].col.id == e->col) return &contract->contract.outs[i];
    return NULL;
}

/* A count of the side's groups, of which only one column may be counted. */
static bool takes_count(Fold *f, const AggCall *call, bool not_null)
{
    ColId counted = call->kind == AGG_COUNT_STAR || not_null ? 0 : call->args[0]->col;
    bool same = !f->any_count || f->counted == counted;
    f->any_count = true;
    f->counted = counted;
    return same;
}

static bool takes_call(Fold *f, const AggCall *call)
{
    if (call->distinct || call->filter != NULL || call->norder > 0) return false;
    if (call->kind == AGG_COUNT_STAR) return takes_count(f, call, true);
    if (call->kind == AGG_SUM) {
        const ContractOut *out = find_out(f->contract, call->args[0]);
        return out != NULL && out->col.type.id != TYPE_FLOAT8;
    }
    const Expr *e = call->args[0];
    if (call->kind != AGG_COUNT || e->kind != EXPR_COL || !is_group_of(f->contract, f->side, e->col)) return false;
    return takes_count(f, call, never_null(f, e->col));
}

/* Whether the aggregate's own groups use the other side's alone. */
static tcudb_status groups_fit(const Fold *f, bool *fit, Error *err)
{
    ColSet used = {0};
    *fit = true;
    for (uint32_t g = 0; g < f->agg->agg.ngroups; g++) TRY(colset_expr(f->opt, &used, f->agg->agg.groups[g].expr, err));
    for (uint32_t i = 0; i < f->contract->ncols; i++) {
        ColId id = f->contract->cols[i].id;
        *fit &= !colset_has(&used, id) || is_group_of(f->contract, 1 - f->side, id);
    }
    return TCUDB_OK;
}

static tcudb_status can_fold(Fold *f, bool *can, Error *err)
{
    const Plan *contract = f->contract;
    uint32_t nleft = contract->contract.nleft;
    f->any_count = false;
    f->counted = 0;
    *can = (f->side == 0 ? nleft : contract->contract.ngroups - nleft) > 0; /* else nothing is there to be folded */
    if (*can) TRY(groups_fit(f, can, err));
    for (uint32_t i = 0; i < f->agg->agg.naggs && *can; i++) *can = takes_call(f, &f->agg->agg.aggs[i]);
    for (uint32_t i = 0; i < contract->contract.nouts; i++)
        *can &= !contract->contract.outs[i].bounded && contract->contract.outs[i].col.type.id != TYPE_FLOAT8;
    return TCUDB_OK;
}

static void swap_term(ContractTerm *term)
{
    uint32_t left = term->left;
    term->left = term->right;
    term->right = left;
}

#define SWAP(T, a, b)                                                                                                  \
    do {                                                                                                               \
        T swapped_ = (a);                                                                                              \
        (a) = (b);                                                                                                     \
        (b) = swapped_;                                                                                                \
    } while (0)

static tcudb_status swap_sides(Opt *opt, Plan *c, Error *err)
{
    uint32_t n = c->contract.ngroups, nleft = c->contract.nleft;
    NamedExpr *groups = ARENA_ARRAY(opt->arena, NamedExpr, n + 1, err);
    TRY_PTR(groups);
    for (uint32_t g = 0; g < n; g++) groups[g] = c->contract.groups[(g + nleft) % n];
    c->contract.groups = groups;
    c->contract.nleft = n - nleft;
    SWAP(Plan *, c->inputs[0], c->inputs[1]);
    SWAP(Expr **, c->contract.keys[0], c->contract.keys[1]);
    SWAP(Expr **, c->contract.values[0], c->contract.values[1]);
    SWAP(uint32_t, c->contract.nvalues[0], c->contract.nvalues[1]);
    if (c->contract.range.n > 0) c->contract.range.side = 1 - c->contract.range.side;
    for (uint32_t o = 0; o < c->contract.nouts; o++) {
        for (uint32_t t = 0; t < c->contract.outs[o].nterms; t++) swap_term(&c->contract.outs[o].terms[t]);
        if (c->contract.outs[o].nullable) swap_term(&c->contract.outs[o].nonnull);
    }
    return TCUDB_OK;
}

/* The contraction's columns: the groups that are left, sums in numeric(38), the number of cells. */
static tcudb_status fold_contract(Fold *f, Error *err)
{
    Opt *opt = f->opt;
    Plan *c = f->contract;
    if (f->side == 0) TRY(swap_sides(opt, c, err));
    c->contract.fold = true;
    c->contract.counted = f->counted;
    c->contract.cells = opt_new_col(opt, TYPE(TYPE_INT8), "cells");
    c->ncols = 0;
    TRY_PTR(c->cols = ARENA_ARRAY(opt->arena, PlanCol, c->contract.nleft + c->contract.nouts + 1, err));
    for (uint32_t g = 0; g < c->contract.nleft; g++) c->cols[c->ncols++] = c->contract.groups[g].col;
    for (uint32_t o = 0; o < c->contract.nouts; o++) {
        PlanCol *col = &c->contract.outs[o].col;
        c->cols[c->ncols++] = *col = opt_new_col(opt, TYPE_DECIMAL(38, col->type.scale), col->name);
    }
    c->cols[c->ncols++] = c->contract.cells;
    return TCUDB_OK;
}

/* The same sum over fewer rows; a count becomes one. */
static tcudb_status fold_call(Fold *f, const PlanCol *col, AggCall *call, NamedExpr *final, Error *err)
{
    AggCallType type;
    Expr *ref;
    PlanCol before = call->col;
    TRY_PTR(ref = expr_of_col(f->opt, col, err));
    TRY(agg_resolve(STR_LIT("sum"), &col->type, 1, false, 0, &type, err));
    *call = (AggCall){.col = opt_new_col(f->opt, type.result, "sum"), .kind = AGG_SUM, .nargs = 1, .args = {ref}};
    final->col = before;
    TRY_PTR(final->expr = expr_of_col(f->opt, &call->col, err));
    return expr_cast(f->opt->arena, final->expr, before.type, CAST_EXPLICIT, 0, &final->expr, err);
}

/* COUNT over no rows is 0, a sum NULL: only an aggregate without groups has no rows. */
static tcudb_status zero_if_null(Fold *f, NamedExpr *final, Error *err)
{
    Value zero = {.type = TYPE(TYPE_INT8)};
    Expr *args[2] = {final->expr, expr_const(f->opt->arena, &zero, 0, err)};
    TRY_PTR(args[1]);
    final->expr = expr_node(f->opt->arena, EXPR_COALESCE, TYPE(TYPE_INT8), args, 2, 0, err);
    return final->expr == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status fold(Fold *f, Plan **slot, Error *err)
{
    Plan *agg = f->agg, *c = f->contract;
    uint32_t ngroups = agg->agg.ngroups, naggs = agg->agg.naggs;
    NamedExpr *finals = ARENA_ARRAY(f->opt->arena, NamedExpr, agg->ncols + 1, err);
    uint32_t *outs = ARENA_ARRAY(f->opt->arena, uint32_t, naggs + 1, err);
    PlanCol *cols = ARENA_ARRAY(f->opt->arena, PlanCol, agg->ncols + 1, err); /* a filter above may share agg's */
    TRY_PTR(finals);
    TRY_PTR(outs);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < naggs; i++)
        if (agg->agg.aggs[i].kind == AGG_SUM)
            outs[i] = (uint32_t)(find_out(c, agg->agg.aggs[i].args[0]) - c->contract.outs);
    TRY(fold_contract(f, err));
    for (uint32_t i = 0; i < agg->ncols; i++) {
        finals[i].col = cols[i] = agg->cols[i];
        TRY_PTR(finals[i].expr = expr_of_col(f->opt, &agg->cols[i], err));
        for (uint32_t a = 0; a < naggs; a++) {
            AggCall *call = &agg->agg.aggs[a];
            if (call->col.id != agg->cols[i].id) continue;
            bool count = call->kind != AGG_SUM;
            const PlanCol *col = count ? &c->contract.cells : &c->contract.outs[outs[a]].col;
            TRY(fold_call(f, col, call, &finals[i], err));
            if (count && ngroups == 0) TRY(zero_if_null(f, &finals[i], err));
            cols[i] = call->col;
            break;
        }
    }
    agg->cols = cols;
    f->opt->changed = true;
    return plan_project(f->opt->arena, agg, finals, agg->ncols, slot, err);
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind != PLAN_AGGREGATE || plan->inputs[0]->kind != PLAN_CONTRACT) return TCUDB_OK;
    Fold f = {.opt = opt, .agg = plan, .contract = plan->inputs[0]};
    bool can = !f.contract->contract.fast && !f.contract->contract.fold && f.contract->contract.nhaving == 0;
    for (uint32_t s = 2; s-- > 0 && can;) {
        bool folds;
        f.side = s;
        TRY(can_fold(&f, &folds, err));
        if (folds) return fold(&f, slot, err);
    }
    return TCUDB_OK;
}

tcudb_status rule_fold(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
