/*
 * returning.c: RETURNING: a PROJECT over an INSERT, DELETE or UPDATE, whose rows are those that were changed.
 *
 * A change puts out its input's columns. Of a DELETE these are the old rows, of the others the new ones, so the
 * target's scope item is pointed at them; FROM's and USING's items show what they did in WHERE.
 */
#include "bind/bind_int.h"

/* The item's columns become these. */
tcudb_status bind_scope_point(Binder *b, ScopeItem *item, const NamedExpr *exprs, uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        item->cols[i].expr = expr_col(b->arena, exprs[i].col.id, exprs[i].col.type, 0, err);
        TRY_PTR(item->cols[i].expr);
    }
    return TCUDB_OK;
}

tcudb_status bind_returning(Binder *b, Block *block, Node *const *list, size_t n, Plan **plan, Error *err)
{
    if (n == 0) return TCUDB_OK;
    ApplyList applies = {0};
    TargetList targets = {0};
    Plan *change = *plan;
    change->cols = change->inputs[0]->cols;
    change->ncols = change->inputs[0]->ncols;
    block->place = PLACE_RETURNING;
    block->applies = &applies;
    TRY(bind_target_list(b, block, list, n, &targets, err));
    TRY(bind_target_resolve_unknowns(b, &targets, err));
    TRY(bind_plan_apply(b, change, &applies, plan, err));
    for (uint32_t i = 0; i < targets.n; i++) {
        const char *name = targets.exprs[i].col.name;
        targets.exprs[i].col = bind_new_col(b, targets.exprs[i].expr->type, name);
    }
    return plan_project(b->arena, *plan, targets.exprs, targets.n, plan, err);
}

tcudb_status bind_insert_returning(Binder *b, const PgQuery__InsertStmt *node, const TableDef *def, Stmt *stmt,
                                   Error *err)
{
    if (node->n_returning_list == 0) return TCUDB_OK;
    Block block = {0};
    ScopeItem *item = NULL;
    TRY(bind_scope_item_of_plan(b, str_of(node->relation->relname), stmt->plan->inputs[0], def->ncols, &item, err));
    item->table = item->name;
    if (node->relation->alias != NULL) TRY(bind_alias(b, item, node->relation->alias, err));
    if (stmt->plan->modify.conflict == CONFLICT_UPDATE) TRY(bind_conflict_result(b, stmt->plan, def, item, err));
    TRY(bind_scope_add(b, &block, item, err));
    return bind_returning(b, &block, node->returning_list, node->n_returning_list, &stmt->plan, err);
}
