/*
 * same_sides.c: whether both sides of a contraction are the same rows, groups, keys and values.
 *
 *     SELECT a.item, b.item, count(*) FROM basket a JOIN basket b USING (basket) GROUP BY 1, 2
 *
 * Both inputs scan one table under equal conditions, and every expression of the right side is the left one's once the
 * right scan's columns are called as the left scan calls them. Then one side is read and coded for both, and if the
 * products are symmetric (x by x, rows by rows) half of the matrix is computed (tensor/product.h).
 */
#include "plan/same_sides.h"

typedef struct Renaming {
    Arena *arena;
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
            *out = expr_col(r->arena, r->to->cols[k].id, e->type, e->position, err);
            return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
        }
    }
    r->complete = false;
    return TCUDB_OK;
}

static tcudb_status same_expr(Renaming *r, Expr *left, Expr *right, bool *same, Error *err)
{
    Expr *renamed;
    if (!*same) return TCUDB_OK;
    TRY(expr_replace(r->arena, right, rename_column, r, &renamed, err));
    *same = r->complete && expr_equal(left, renamed) && !expr_volatile(renamed);
    return TCUDB_OK;
}

static bool same_shape(const Plan *plan)
{
    const Plan *a = plan->inputs[0], *b = plan->inputs[1];
    bool scans = a->kind == PLAN_SCAN && b->kind == PLAN_SCAN && a->scan.table == b->scan.table && a->scan.nsemi == 0 &&
                 b->scan.nsemi == 0 && a->scan.nfilters == b->scan.nfilters;
    return scans && plan->contract.range.n == 0 && plan->contract.ngroups == 2 * plan->contract.nleft &&
           plan->contract.nvalues[0] == plan->contract.nvalues[1];
}

tcudb_status plan_sides_are_same(Arena *arena, const Plan *plan, bool *same, Error *err)
{
    const Plan *left = plan->inputs[0], *right = plan->inputs[1];
    Renaming r = {.arena = arena, .from = right, .to = left, .complete = true};
    uint32_t ngroups = plan->contract.nleft;
    *same = same_shape(plan);
    if (!*same) return TCUDB_OK;
    for (uint32_t v = 0; v < plan->contract.nvalues[0]; v++) {
        Expr *const *values = plan->contract.values[0];
        *same &= values[v]->type.id != TYPE_FLOAT8 && plan->contract.values[1][v]->type.id != TYPE_FLOAT8;
        TRY(same_expr(&r, values[v], plan->contract.values[1][v], same, err));
    }
    for (uint32_t i = 0; i < left->scan.nfilters; i++)
        TRY(same_expr(&r, left->scan.filters[i], right->scan.filters[i], same, err));
    for (uint32_t i = 0; i < ngroups; i++)
        TRY(same_expr(&r, plan->contract.groups[i].expr, plan->contract.groups[ngroups + i].expr, same, err));
    for (uint32_t i = 0; i < plan->contract.nkeys; i++)
        TRY(same_expr(&r, plan->contract.keys[0][i], plan->contract.keys[1][i], same, err));
    return TCUDB_OK;
}
