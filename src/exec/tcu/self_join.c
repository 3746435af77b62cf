/*
 * self_join.c: whether both sides of a contraction are the same rows, groups, keys and values.
 *
 *     SELECT a.item, b.item, count(*) FROM basket a JOIN basket b USING (basket) GROUP BY 1, 2
 *
 * Both inputs scan one table under equal conditions, and every expression of the right side is the left one's once the
 * right scan's columns are called as the left scan calls them. Then one side is read and coded for both, and if the
 * products are symmetric (x by x, rows by rows) half of the matrix is computed (tensor/product.h).
 */
#include "exec/tcu/contract_int.h"

typedef struct Renaming {
    Exec *x;
    const Plan *from, *to;
    bool complete;
} Renaming;

static tcudb_status rename_column(void *ctx, Expr *e, Expr **out, Error *err)
{
    Renaming *r = ctx;
    *out = NULL;
    if (e->kind != EXPR_COL) return TCUDB_OK;
    for (uint32_t i = 0; i < r->from->ncols; i++) {
        if (r->from->cols[i].id != e->col) continue;
        for (uint32_t k = 0; k < r->to->ncols; k++) {
            if (r->to->scan.columns[k] != r->from->scan.columns[i]) continue;
            *out = expr_col(&r->x->arena, r->to->cols[k].id, e->type, e->position, err);
            return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
        }
    }
    r->complete = false;
    return TCUDB_OK;
}

static tcudb_status same_exprs(Renaming *r, Expr *const *left, Expr *const *right, uint32_t n, bool *same, Error *err)
{
    for (uint32_t i = 0; i < n && *same; i++) {
        Expr *renamed;
        TRY(expr_replace(&r->x->arena, right[i], rename_column, r, &renamed, err));
        *same = r->complete && expr_equal(left[i], renamed) && !expr_volatile(renamed);
    }
    return TCUDB_OK;
}

static bool same_scans(const Plan *a, const Plan *b)
{
    return a->kind == PLAN_SCAN && b->kind == PLAN_SCAN && a->scan.table == b->scan.table && a->scan.nsemi == 0 &&
           b->scan.nsemi == 0 && a->scan.nfilters == b->scan.nfilters;
}

tcudb_status sides_are_same(Exec *x, const Plan *plan, Input inputs[2], bool *same, Error *err)
{
    Plan *left = plan->inputs[0], *right = plan->inputs[1];
    Renaming r = {.x = x, .from = right, .to = left, .complete = true};
    *same = same_scans(left, right) && plan->contract.range.n == 0 && inputs[0].ncols == inputs[1].ncols &&
            inputs[0].ngroups == inputs[1].ngroups && inputs[0].nvalues == inputs[1].nvalues;
    for (uint32_t v = 0; v < inputs[0].nvalues && *same; v++) *same = !inputs[0].floats[v].used;
    if (!*same) return TCUDB_OK;
    TRY(same_exprs(&r, left->scan.filters, right->scan.filters, left->scan.nfilters, same, err));
    return same_exprs(&r, inputs[0].list, inputs[1].list, inputs[0].ncols, same, err);
}

/* The steps that follow change runs one by one: the arrays in them stay common. */
tcudb_status side_share(Exec *x, const Input *from, Input *to, Error *err)
{
    *to = *from;
    TRY_PTR(to->runs = ARENA_ARRAY(&x->arena, SideRun, from->nruns + 1, err));
    if (from->nruns > 0) memcpy(to->runs, from->runs, sizeof *to->runs * from->nruns);
    return TCUDB_OK;
}
