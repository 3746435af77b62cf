/*
 * select.c: one SELECT -> a plan.
 *
 * Clauses are bound in PostgreSQL's order (FROM, select list, WHERE, HAVING, ORDER BY, GROUP BY, DISTINCT, LIMIT),
 * so that of several errors the same one is reported; the plan is then put together bottom up:
 *
 *     FROM -> [applies] FILTER where -> [applies] AGGREGATE -> [applies] FILTER having -> [applies] PROJECT
 *          -> DISTINCT -> SORT -> PROJECT (drops sort-only columns) -> LIMIT
 *
 * Subqueries of expressions are collected per clause and applied right below the node that needs them.
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef struct Select {
    const PgQuery__SelectStmt *stmt;
    Block block;
    Plan *plan;
    TargetList targets;
    uint32_t visible; /* of the targets; the rest is for sorting only */
    Expr *where, *having;
    SortList sort;
    GroupKeys keys;
    ApplyList where_applies, having_applies, post_applies;
    bool distinct;
    uint32_t *on; /* DISTINCT ON: targets */
    int *on_positions;
    uint32_t non;
} Select;

static tcudb_status refuse_unsupported(Binder *b, const PgQuery__SelectStmt *stmt, Error *err)
{
    if (stmt->into_clause != NULL) {
        return error_unsupported(err, bind_position(b, stmt->into_clause->rel->location),
                                 "SELECT INTO here (use CREATE TABLE AS)");
    }
    return TCUDB_OK;
}

static tcudb_status bind_targets(Binder *b, Select *s, bool unknowns, Error *err)
{
    s->block.place = PLACE_SELECT;
    s->block.applies = &s->post_applies;
    TRY(bind_target_list(b, &s->block, s->stmt->target_list, s->stmt->n_target_list, &s->targets, err));
    s->visible = s->targets.n;
    if (unknowns && s->stmt->n_distinct_clause == 0 && s->stmt->n_sort_clause == 0) return TCUDB_OK;
    return bind_target_resolve_unknowns(b, &s->targets, err);
}

static tcudb_status bind_conditions(Binder *b, Select *s, Error *err)
{
    if (s->stmt->where_clause != NULL) {
        s->block.place = PLACE_WHERE;
        s->block.applies = &s->where_applies;
        TRY(bind_bool(b, &s->block, s->stmt->where_clause, "WHERE", &s->where, err));
    }
    if (s->stmt->having_clause != NULL) {
        s->block.place = PLACE_HAVING;
        s->block.applies = &s->having_applies;
        TRY(bind_bool(b, &s->block, s->stmt->having_clause, "HAVING", &s->having, err));
    }
    return TCUDB_OK;
}

static tcudb_status bind_order_and_group(Binder *b, Select *s, Error *err)
{
    s->block.place = PLACE_ORDER_BY;
    s->block.applies = &s->post_applies;
    TRY(bind_order_by(b, &s->block, s->stmt->sort_clause, s->stmt->n_sort_clause, &s->targets, &s->sort, err));
    for (uint32_t i = s->visible; i < s->targets.n; i++) {
        if (s->targets.exprs[i].expr->type.id == TYPE_UNKNOWN) TRY(bind_target_resolve_unknowns(b, &s->targets, err));
    }
    s->block.place = PLACE_GROUP_BY;
    s->block.applies = &s->block.pre;
    return bind_group_keys(b, &s->block, s->stmt, &s->targets, &s->post_applies, &s->keys, err);
}

static tcudb_status distinct_on(Binder *b, Select *s, Error *err)
{
    s->block.place = PLACE_DISTINCT_ON;
    s->block.applies = &s->post_applies;
    s->on = ARENA_ARRAY(b->arena, uint32_t, s->stmt->n_distinct_clause, err);
    TRY_PTR(s->on);
    s->on_positions = ARENA_ARRAY(b->arena, int, s->stmt->n_distinct_clause, err);
    TRY_PTR(s->on_positions);
    for (size_t i = 0; i < s->stmt->n_distinct_clause; i++) {
        const Node *node = s->stmt->distinct_clause[i];
        TargetList shown = s->targets;
        shown.n = s->visible;
        uint32_t target = 0;
        TRY(bind_order_target(b, &s->block, node, &shown, "DISTINCT ON", &target, err));
        if (target == UINT32_MAX) {
            Expr *e = NULL;
            TRY(bind_expr(b, &s->block, node, &e, err));
            for (target = 0; target < s->targets.n; target++) {
                if (expr_equal(s->targets.exprs[target].expr, e)) break;
            }
            if (target == s->targets.n) {
                TRY(bind_target_add(b, &s->targets, e, "?column?", bind_node_position(b, node), err));
            }
        }
        s->on_positions[s->non] = bind_node_position(b, node);
        s->on[s->non++] = target;
    }
    return TCUDB_OK;
}

/* Which DISTINCT ON expression a target is; UINT32_MAX: none. */
static uint32_t find_on(const Select *s, uint32_t target)
{
    for (uint32_t i = 0; i < s->non; i++) {
        if (s->on[i] == target) return i;
    }
    return UINT32_MAX;
}

static tcudb_status order_mismatch(const Select *s, uint32_t on, Error *err)
{
    return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, s->on_positions[on],
                    "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
}

/* The first ORDER BY entries must be the DISTINCT ON expressions, in any order. */
static tcudb_status check_distinct_on_order(Binder *b, const Select *s, Error *err)
{
    bool *matched = ARENA_ARRAY(b->arena, bool, s->non, err);
    TRY_PTR(matched);
    bool past = false; /* an entry that is not a DISTINCT ON expression was seen */
    for (uint32_t i = 0; i < s->sort.n; i++) {
        uint32_t on = find_on(s, s->sort.targets[i]);
        if (on != UINT32_MAX && past) return order_mismatch(s, on, err);
        if (on != UINT32_MAX)
            matched[on] = true;
        else
            past = true;
    }
    for (uint32_t i = 0; i < s->non; i++) {
        if (past && !matched[i]) return order_mismatch(s, i, err);
    }
    return TCUDB_OK;
}

static tcudb_status bind_distinct(Binder *b, Select *s, Error *err)
{
    if (s->stmt->n_distinct_clause == 0) return TCUDB_OK;
    const Node *first = s->stmt->distinct_clause[0];
    if (first != NULL && first->node_case != PG_QUERY__NODE__NODE__NOT_SET) {
        TRY(distinct_on(b, s, err));
        return check_distinct_on_order(b, s, err);
    }
    s->distinct = true;
    if (s->targets.n == s->visible) return TCUDB_OK;
    return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, s->targets.positions[s->visible],
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
}

static tcudb_status apply_group(Binder *b, Select *s, Error *err)
{
    GroupMap *map = NULL;
    TRY(bind_plan_apply(b, s->plan, &s->block.pre, &s->plan, err));
    TRY(bind_group_plan(b, &s->block, &s->keys, s->plan, &s->plan, &map, err));
    for (uint32_t i = 0; i < s->targets.n; i++) {
        TRY(bind_group_rewrite(map, s->targets.exprs[i].expr, &s->targets.exprs[i].expr, err));
    }
    TRY(bind_group_rewrite_applies(map, &s->post_applies, err));
    TRY(bind_window_rewrite(map, &s->block, err));
    TRY(bind_srf_rewrite(map, &s->block, err));
    if (s->having != NULL) TRY(bind_group_rewrite(map, s->having, &s->having, err));
    return bind_group_rewrite_applies(map, &s->having_applies, err);
}

static tcudb_status apply_projection(Binder *b, Select *s, Error *err)
{
    TRY(bind_plan_apply(b, s->plan, &s->post_applies, &s->plan, err));
    TRY(bind_window_plan(b, &s->block, s->plan, &s->plan, err));
    TRY(bind_srf_plan(b, &s->block, s->plan, &s->plan, err));
    for (uint32_t i = 0; i < s->targets.n; i++) {
        NamedExpr *target = &s->targets.exprs[i];
        target->col = bind_new_col(b, target->expr->type, target->col.name);
    }
    return plan_project(b->arena, s->plan, s->targets.exprs, s->targets.n, &s->plan, err);
}

static tcudb_status apply_sort(Binder *b, Select *s, Error *err)
{
    if (s->sort.n == 0) return TCUDB_OK;
    TRY(bind_plan_unary(b, PLAN_SORT, s->plan, &s->plan, err));
    SortKey *keys = ARENA_ARRAY(b->arena, SortKey, s->sort.n, err);
    TRY_PTR(keys);
    for (uint32_t i = 0; i < s->sort.n; i++) {
        const PlanCol *col = &s->targets.exprs[s->sort.targets[i]].col;
        keys[i].expr = expr_col(b->arena, col->id, col->type, 0, err);
        TRY_PTR(keys[i].expr);
        keys[i].descending = s->sort.descending[i];
        keys[i].nulls_first = s->sort.nulls_first[i];
    }
    s->plan->sort.keys = keys;
    s->plan->sort.nkeys = s->sort.n;
    return TCUDB_OK;
}

static tcudb_status apply_distinct_on(Binder *b, Select *s, Error *err)
{
    ColId *on = ARENA_ARRAY(b->arena, ColId, s->non, err);
    TRY_PTR(on);
    for (uint32_t i = 0; i < s->non; i++) on[i] = s->targets.exprs[s->on[i]].col.id;
    TRY(bind_plan_unary(b, PLAN_DISTINCT, s->plan, &s->plan, err));
    s->plan->distinct.on = on;
    s->plan->distinct.non = s->non;
    return TCUDB_OK;
}

/* Leaves the visible columns only. */
static tcudb_status drop_sort_columns(Binder *b, Select *s, Error *err)
{
    if (s->visible == s->targets.n) return TCUDB_OK;
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, s->visible, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < s->visible; i++) {
        exprs[i].col = s->plan->cols[i];
        exprs[i].expr = expr_col(b->arena, exprs[i].col.id, exprs[i].col.type, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    return plan_project(b->arena, s->plan, exprs, s->visible, &s->plan, err);
}

static bool is_with_ties(const PgQuery__SelectStmt *stmt)
{
    return stmt->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES && stmt->n_sort_clause > 0;
}

static tcudb_status assemble(Binder *b, Select *s, Error *err)
{
    TRY(bind_plan_apply(b, s->plan, &s->where_applies, &s->plan, err));
    if (s->where != NULL) TRY(bind_plan_filter(b, s->plan, s->where, &s->plan, err));
    bool grouped = s->stmt->n_group_clause > 0 || s->having != NULL || s->block.naggs > 0 || s->block.groupings != NULL;
    if (grouped) TRY(apply_group(b, s, err));
    TRY(bind_plan_apply(b, s->plan, &s->having_applies, &s->plan, err));
    if (s->having != NULL) TRY(bind_plan_filter(b, s->plan, s->having, &s->plan, err));
    TRY(apply_projection(b, s, err));
    if (s->distinct) TRY(bind_plan_unary(b, PLAN_DISTINCT, s->plan, &s->plan, err));
    TRY(apply_sort(b, s, err));
    if (is_with_ties(s->stmt) && s->non > 0) return error_unsupported(err, 0, "WITH TIES of DISTINCT ON");
    if (is_with_ties(s->stmt)) TRY(bind_with_ties(b, &s->block, s->stmt, s->plan, &s->plan, err));
    if (s->non > 0) TRY(apply_distinct_on(b, s, err));
    return drop_sort_columns(b, s, err);
}

static tcudb_status plain_select(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt,
                                 bool unknowns, Plan **out, Error *err)
{
    Select s = {.stmt = stmt, .block = {.outer = outer, .sibling = sibling}};
    TRY(refuse_unsupported(b, stmt, err));
    s.block.windows = stmt->window_clause;
    s.block.nwindows = stmt->n_window_clause;
    TRY(bind_from(b, &s.block, stmt->from_clause, stmt->n_from_clause, &s.plan, err));
    TRY(bind_targets(b, &s, unknowns, err));
    TRY(bind_conditions(b, &s, err));
    TRY(bind_order_and_group(b, &s, err));
    TRY(bind_distinct(b, &s, err));
    TRY(bind_window_clause(b, &s.block, err));
    TRY(bind_check_locking(b, stmt, &s.block, err));
    TRY(assemble(b, &s, err));
    *out = s.plan;
    return is_with_ties(stmt) ? TCUDB_OK : bind_order_limit(b, &s.block, stmt, s.plan, out, err);
}

tcudb_status bind_select(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, bool unknowns,
                         Plan **out, Error *err)
{
    TRY(bind_enter(b, err));
    CteEntry *ctes_before = b->ctes;
    tcudb_status status = TCUDB_OK;
    bool plain = stmt->op == PG_QUERY__SET_OPERATION__SETOP_NONE && stmt->n_values_lists == 0;
    if (!plain) status = bind_check_locking(b, stmt, NULL, err);
    if (status == TCUDB_OK && stmt->with_clause != NULL)
        status = bind_with_push(b, outer, sibling, stmt->with_clause, err);
    if (status == TCUDB_OK && stmt->op != PG_QUERY__SET_OPERATION__SETOP_NONE) {
        status = bind_setop(b, outer, sibling, stmt, out, err);
    } else if (status == TCUDB_OK && stmt->n_values_lists > 0) {
        status = bind_values(b, outer, sibling, stmt, unknowns, out, err);
    } else if (status == TCUDB_OK) {
        status = plain_select(b, outer, sibling, stmt, unknowns, out, err);
    }
    b->ctes = ctes_before;
    bind_leave(b);
    return status;
}
