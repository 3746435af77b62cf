/*
 * rule_merge.c: projections merge into what is above them, or move up past joins.
 *
 * Pattern: a projection below a projection, an aggregate or an inner join; on the left of a semi, anti,
 * mark, left or single join; on the right of a semi, anti or mark join.
 * Rewrite: the upper node's expressions take the lower one's in place of its columns; a projection below a
 * join moves above it (or goes, where its columns are not put out). So inner joins meet directly and can
 * be ordered together, and key columns are seen to be a table's own.
 * Right because: a projection computes each row's columns from that row alone. On a padded side it would
 * have to yield NULL, so it stays there. Volatile expressions stay.
 * Loses when: an expression is computed twice; so one that is more than a column or a constant merges
 * only if it is used once. Above a join that multiplies rows it is computed more often, and above one
 * that drops rows less often; only columns, constants and cheap arithmetic move past joins.
 */
#include "opt/opt_int.h"

#include <assert.h>

enum { CHEAP_NODES = 8 };

static bool any_volatile(const Plan *project)
{
    for (uint32_t i = 0; i < project->ncols; i++)
        if (expr_volatile(project->project.exprs[i].expr)) return true;
    return false;
}

static bool count_node(void *ctx, const Expr *e)
{
    uint32_t *n = ctx;
    *n += e->kind == EXPR_CASE || e->kind == EXPR_IN ? CHEAP_NODES : 1;
    return *n <= CHEAP_NODES;
}

static bool all_cheap(const Plan *project)
{
    for (uint32_t i = 0; i < project->ncols; i++) {
        uint32_t n = 0;
        if (!expr_walk(project->project.exprs[i].expr, count_node, &n)) return false;
    }
    return true;
}

typedef struct Uses {
    ColId col;
    uint32_t n;
} Uses;

static bool count_use(void *ctx, const Expr *e)
{
    Uses *u = ctx;
    if (e->kind == EXPR_COL && e->col == u->col) u->n++;
    return true;
}

static tcudb_status count_slot(void *ctx, Expr **slot, Error *err)
{
    (void)err;
    (void)expr_walk(*slot, count_use, ctx);
    return TCUDB_OK;
}

static bool is_trivial(const Expr *e)
{
    return e->kind == EXPR_COL || e->kind == EXPR_CONST || e->kind == EXPR_PARAM;
}

/* Whether each computed column is used at most once by the upper node. */
static tcudb_status used_once(Plan *upper, const Plan *project, bool *out, Error *err)
{
    *out = true;
    for (uint32_t i = 0; i < project->ncols && *out; i++) {
        if (is_trivial(project->project.exprs[i].expr)) continue;
        Uses uses = {.col = project->cols[i].id};
        TRY(plan_each_expr(upper, count_slot, &uses, err));
        *out = uses.n <= 1;
    }
    return TCUDB_OK;
}

typedef struct Substitute {
    Opt *opt;
    const Plan *project;
} Substitute;

static tcudb_status substitute_slot(void *ctx, Expr **slot, Error *err)
{
    const Substitute *s = ctx;
    return expr_substitute(s->opt, *slot, s->project->project.exprs, s->project->ncols, slot, err);
}

/* Projection or aggregate over a projection. */
static tcudb_status merge_into(Opt *opt, Plan *upper, Error *err)
{
    Plan *project = upper->inputs[0];
    bool once;
    if (project->kind != PLAN_PROJECT || any_volatile(project)) return TCUDB_OK;
    TRY(used_once(upper, project, &once, err));
    if (!once) return TCUDB_OK;
    Substitute s = {opt, project};
    TRY(plan_each_expr(upper, substitute_slot, &s, err));
    upper->inputs[0] = project->inputs[0];
    opt->changed = true;
    return merge_into(opt, upper, err);
}

static bool may_leave(const Plan *join, uint32_t side)
{
    JoinKind kind = join->join.kind;
    if (kind == JOIN_INNER) return true;
    if (side == 0) return join_left_only(kind) || kind == JOIN_LEFT || kind == JOIN_SINGLE;
    return join_left_only(kind);
}

/* A projection of the join's outputs in which `project`'s columns are computed. */
static tcudb_status lift(Opt *opt, Plan **slot, uint32_t side, Error *err)
{
    Plan *join = *slot;
    const Plan *project = join->inputs[side];
    Substitute s = {opt, project};
    TRY(plan_each_expr(join, substitute_slot, &s, err));
    join->inputs[side] = project->inputs[0];
    opt->changed = true;
    const PlanCol *cols = join->cols;
    uint32_t ncols = join->ncols;
    TRY(plan_widen(opt, join, err));
    if (side == 1 && join_left_only(join->join.kind)) return plan_restore_cols(opt, slot, cols, ncols, err);
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < ncols; i++) {
        exprs[i].col = cols[i];
        exprs[i].expr = expr_of_col(opt, &cols[i], err);
        TRY_PTR(exprs[i].expr);
        TRY(expr_substitute(opt, exprs[i].expr, project->project.exprs, project->ncols, &exprs[i].expr, err));
    }
    return plan_project(opt->arena, join, exprs, ncols, slot, err);
}

static tcudb_status lift_from_join(Opt *opt, Plan **slot, Error *err)
{
    Plan *join = *slot;
    for (uint32_t side = 0; side < 2; side++) {
        const Plan *project = join->inputs[side];
        bool liftable = project->kind == PLAN_PROJECT && may_leave(join, side) && !any_volatile(project);
        if (!liftable || !all_cheap(project)) continue;
        TRY(lift(opt, slot, side, err));
        if ((*slot)->kind == PLAN_PROJECT) return lift_from_join(opt, &(*slot)->inputs[0], err);
    }
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    assert(*slot == plan);
    if (plan->kind == PLAN_JOIN) TRY(lift_from_join(opt, slot, err));
    plan = *slot;
    if (plan->kind == PLAN_PROJECT || plan->kind == PLAN_AGGREGATE) return merge_into(opt, plan, err);
    return TCUDB_OK;
}

tcudb_status rule_merge(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
