/*
 * rule_cte.c: what every scan of a CTE asks of a column, the CTE asks itself.
 *
 * Pattern: a CTE that is computed once, above each of whose scans a filter has conditions on one and the same column:
 * year = 2001 here, year = 2002 there.
 * Rewrite: their disjunction filters the CTE's rows, and sinks into it: year IN (2001, 2002). A column at a time, so
 * that conditions on groups sink below the aggregate though the filters ask something of its results too. Right
 * because: a row that fails the disjunction passes no scan's filter. Conditions that cannot fail; CTEs without volatile
 * functions, recursion and changes of data only. Loses when: the conditions stay on top of the CTE; its rows are then
 * tested once more.
 */
#include "opt/opt_int.h"

#include <assert.h>

enum { SCANS_MAX = 64 };

/* The scans of a CTE and the filters right above them. */
typedef struct Scans {
    const Cte *cte;
    const Plan *scans[SCANS_MAX];
    const Plan *filters[SCANS_MAX];
    uint32_t n;
    bool unfiltered; /* a scan has no filter, or there are too many */
} Scans;

static void find_scans(Scans *s, const Plan *plan, const Plan *above)
{
    if (plan->kind == PLAN_CTE_SCAN && plan->cte_scan.cte == s->cte) {
        bool filtered = above != NULL && above->kind == PLAN_FILTER && s->n < SCANS_MAX;
        s->unfiltered |= !filtered;
        if (!filtered) return;
        s->scans[s->n] = plan;
        s->filters[s->n++] = above;
    }
    for (uint32_t i = 0; i < plan->ninputs && !s->unfiltered; i++) find_scans(s, plan->inputs[i], plan);
}

static tcudb_status is_volatile(void *ctx, Expr **slot, Error *err)
{
    (void)err;
    *(bool *)ctx |= *slot != NULL && expr_volatile(*slot);
    return TCUDB_OK;
}

/* Whether fewer rows may be computed without anybody noticing. */
static tcudb_status may_shrink(Plan *plan, bool *out, Error *err)
{
    bool found = false;
    TRY(plan_each_expr(plan, is_volatile, &found, err));
    *out = !found && !plan_modifies(plan->kind) && plan->kind != PLAN_RECURSIVE && plan->kind != PLAN_WORK_SCAN;
    for (uint32_t i = 0; i < plan->ninputs && *out; i++) TRY(may_shrink(plan->inputs[i], out, err));
    return TCUDB_OK;
}

typedef struct OneColumn {
    ColId col;
    bool used, others;
} OneColumn;

static bool meet(void *ctx, const Expr *e)
{
    OneColumn *c = ctx;
    if (e->kind != EXPR_COL) return true;
    c->used |= e->col == c->col;
    c->others |= e->col != c->col;
    return true;
}

static bool only_on(const Expr *e, ColId col)
{
    OneColumn c = {.col = col};
    (void)expr_walk(e, meet, &c);
    return c.used && !c.others && expr_safe(e) && !expr_volatile(e);
}

/* What the i-th scan asks of the column, over the CTE's own; *out NULL: nothing. */
static tcudb_status asked(Opt *opt, const Scans *s, uint32_t i, uint32_t column, Expr **out, Error *err)
{
    const PlanCol *from = &s->scans[i]->cols[column], *to = &s->cte->plan->cols[column];
    ExprList conds = {0};
    *out = NULL;
    for (uint32_t k = 0; k < s->filters[i]->filter.nconds; k++) {
        Expr *e = s->filters[i]->filter.conds[k];
        if (!only_on(e, from->id)) continue;
        TRY(expr_rename(opt, e, from, to, 1, &e, err));
        TRY(list_add(opt, &conds, e, err));
    }
    return conds.n == 0 ? TCUDB_OK : expr_and(opt, conds.items, conds.n, out, err);
}

static tcudb_status filter_column(Opt *opt, const Scans *s, uint32_t column, ExprList *out, Error *err)
{
    ExprList any = {0};
    Expr *e;
    for (uint32_t i = 0; i < s->n; i++) {
        if (column >= s->scans[i]->ncols) return TCUDB_OK;
        TRY(asked(opt, s, i, column, &e, err));
        if (e == NULL) return TCUDB_OK;
        TRY(list_add_new(opt, &any, e, err));
    }
    if (any.n == 1) return list_add(opt, out, any.items[0], err);
    TRY(expr_or(opt, any.items, any.n, &e, err));
    return list_add(opt, out, e, err);
}

static tcudb_status filter_cte(Opt *opt, Cte *cte, Cte *const *ctes, uint32_t n, Error *err)
{
    Scans s = {.cte = cte};
    ExprList conds = {0};
    bool shrinks;
    for (uint32_t i = 0; i < n && !s.unfiltered; i++) find_scans(&s, ctes[i]->plan, NULL);
    if (!s.unfiltered) find_scans(&s, opt->statement, NULL);
    if (s.unfiltered || s.n == 0) return TCUDB_OK;
    TRY(may_shrink(cte->plan, &shrinks, err));
    for (uint32_t c = 0; c < cte->plan->ncols && shrinks; c++) TRY(filter_column(opt, &s, c, &conds, err));
    if (conds.n == 0) return TCUDB_OK;
    opt->changed = true;
    return plan_add_filter(opt, &cte->plan, conds.items, conds.n, err);
}

tcudb_status rule_cte(Opt *opt, Plan **root, Error *err)
{
    Cte **ctes = NULL;
    uint32_t n = 0;
    if (root != &opt->statement) return TCUDB_OK; /* all at once: scans of a CTE are anywhere */
    TRY(plan_ctes(opt->arena, opt->statement, &ctes, &n, err));
    /* From the outermost: what is asked of a CTE is asked of those that it scans next. */
    for (uint32_t i = n; i-- > 0;) {
        assert(ctes[i]->plan != NULL);
        TRY(filter_cte(opt, ctes[i], ctes, n, err));
    }
    return TCUDB_OK;
}
