/*
 * conflict.c: INSERT ... ON CONFLICT.
 *
 * DO NOTHING leaves the input as it is: the executor skips rows whose key is taken. DO UPDATE joins each new row with
 * the row in its way, and computes at once what that one would become:
 *
 *     new row | row id, new values of the row in the way (NULL: there is none) | whether WHERE lets it be changed
 *
 *     PROJECT            CASE WHEN row id IS NULL THEN NULL ELSE value END, so that nothing is computed without need
 *       LEFT JOIN        on the arbiter's columns, which are unique: one match at most
 *         the new rows
 *         SCAN           the table as it was before the statement
 */
#include "bind/bind_int.h"

#include <assert.h>

/* ---- the arbiter */

static bool key_has(const KeyDef *key, uint32_t col)
{
    for (uint32_t i = 0; i < key->ncols; i++)
        if (key->cols[i] == col) return true;
    return false;
}

static tcudb_status named_arbiter(const TableDef *def, const char *name, uint32_t *out, Error *err)
{
    for (*out = 0; *out < def->nkeys; ++*out)
        if (bind_name_is(def->keys[*out].name, name) && !note_only_index(def, &def->keys[*out])) return TCUDB_OK;
    return error_set(err, SQLSTATE_UNDEFINED_OBJECT, "constraint \"%s\" for table \"" STR_FMT "\" does not exist", name,
                     STR_ARG(def->name));
}

/* The key of exactly these columns, in any order. */
static tcudb_status inferred_arbiter(Binder *b, const TableDef *def, const PgQuery__InferClause *infer, uint32_t *out,
                                     Error *err)
{
    uint32_t *cols = ARENA_ARRAY(b->arena, uint32_t, infer->n_index_elems, err);
    TRY_PTR(cols);
    if (infer->where_clause != NULL) return error_unsupported(err, 0, "WHERE in a conflict target");
    for (size_t i = 0; i < infer->n_index_elems; i++) {
        const PgQuery__IndexElem *elem = infer->index_elems[i]->index_elem;
        if (elem->expr != NULL) return error_unsupported(err, 0, "an expression in a conflict target");
        while (cols[i] < def->ncols && !bind_name_is(def->cols[cols[i]].name, elem->name)) cols[i]++;
        if (cols[i] == def->ncols) {
            return error_at(err, SQLSTATE_UNDEFINED_COLUMN, bind_position(b, infer->location),
                            "column \"%s\" does not exist", elem->name);
        }
    }
    for (*out = 0; *out < def->nkeys; ++*out) {
        const KeyDef *key = &def->keys[*out];
        bool same = true;
        for (uint32_t i = 0; i < key->ncols; i++) {
            bool there = false;
            for (size_t k = 0; k < infer->n_index_elems; k++) there = there || cols[k] == key->cols[i];
            same = same && there;
        }
        for (size_t k = 0; k < infer->n_index_elems; k++) same = same && key_has(key, cols[k]);
        if (same) return TCUDB_OK;
    }
    return error_set(err, SQLSTATE_INVALID_COLUMN_REFERENCE,
                     "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

static tcudb_status arbiter(Binder *b, const TableDef *def, const PgQuery__OnConflictClause *clause, uint32_t *out,
                            Error *err)
{
    *out = CONFLICT_ANY_KEY;
    if (clause->infer == NULL) {
        if (clause->action != PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_UPDATE) return TCUDB_OK;
        error_at(err, SQLSTATE_SYNTAX_ERROR, bind_position(b, clause->location),
                 "ON CONFLICT DO UPDATE requires inference specification or constraint name");
        error_hint(err, "For example, ON CONFLICT (column_name).");
        return TCUDB_ERROR;
    }
    if (clause->infer->conname[0] != '\0') return named_arbiter(def, clause->infer->conname, out, err);
    return inferred_arbiter(b, def, clause->infer, out, err);
}

/* ---- DO UPDATE */

typedef struct Upsert {
    Binder *b;
    const TableDef *def;
    Plan *new_rows, *old_rows, *joined;
    ColId rowid;
    Block block;
    ApplyList applies;
    NamedExpr *exprs; /* new row, row id, updated row, flag */
} Upsert;

static tcudb_status join_old_rows(Upsert *u, const KeyDef *key, Error *err)
{
    Binder *b = u->b;
    Expr **equal = ARENA_ARRAY(b->arena, Expr *, key->ncols, err);
    TRY_PTR(equal);
    for (uint32_t i = 0; i < key->ncols; i++) {
        const PlanCol *left = &u->new_rows->cols[key->cols[i]], *right = &u->old_rows->cols[key->cols[i]];
        Expr *sides[2] = {expr_col(b->arena, left->id, left->type, 0, err),
                          expr_col(b->arena, right->id, right->type, 0, err)};
        TRY_PTR(sides[0]);
        TRY_PTR(sides[1]);
        TRY(bind_call(b, FUNC_OPERATOR, "=", sides, 2, 0, 0, &equal[i], err));
    }
    Expr *cond = equal[0];
    if (key->ncols > 1) cond = expr_node(b->arena, EXPR_AND, TYPE(TYPE_BOOL), equal, key->ncols, 0, err);
    TRY_PTR(cond);
    return bind_plan_join(b, JOIN_LEFT, u->new_rows, u->old_rows, cond, &u->joined, err);
}

static tcudb_status upsert_scope(Upsert *u, const PgQuery__RangeVar *range, Error *err)
{
    Binder *b = u->b;
    ScopeItem *target = NULL, *excluded = NULL;
    TRY(bind_scope_item_of_plan(b, str_of(range->relname), u->old_rows, u->def->ncols, &target, err));
    target->table = target->name;
    if (range->alias != NULL) TRY(bind_alias(b, target, range->alias, err));
    TRY(bind_scope_add(b, &u->block, target, err));
    TRY(bind_scope_item_of_plan(b, str_of("excluded"), u->new_rows, u->def->ncols, &excluded, err));
    return bind_scope_add(b, &u->block, excluded, err);
}

/* NULL (or what is given) where no row is in the way. */
static tcudb_status only_if_matched(const Upsert *u, Expr *e, Expr *otherwise, Expr **out, Error *err)
{
    Binder *b = u->b;
    Expr *rowid = expr_col(b->arena, u->rowid, TYPE(TYPE_INT8), 0, err), *missing = NULL;
    TRY_PTR(rowid);
    TRY(bind_call(b, FUNC_OPERATOR, "is null", &rowid, 1, 0, 0, &missing, err));
    if (otherwise == NULL) TRY(bind_null(b, e->type, 0, &otherwise, err));
    Expr *args[3] = {missing, otherwise, e};
    *out = expr_node(b->arena, EXPR_CASE, e->type, args, 3, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status updated_row(Upsert *u, const PgQuery__OnConflictClause *clause, NamedExpr *exprs, Error *err)
{
    Binder *b = u->b;
    u->block.applies = &u->applies;
    TRY(bind_set_columns(b, &u->block, u->def, clause->target_list, clause->n_target_list, exprs, err));
    for (uint32_t i = 0; i < u->def->ncols; i++) {
        const PlanCol *old = &u->old_rows->cols[i];
        if (exprs[i].expr == NULL) exprs[i].expr = expr_col(b->arena, old->id, old->type, 0, err);
        TRY_PTR(exprs[i].expr);
        TRY(only_if_matched(u, exprs[i].expr, NULL, &exprs[i].expr, err));
        exprs[i].col = bind_new_col(b, u->def->cols[i].type, old->name);
    }
    Expr *wanted = NULL;
    u->block.place = PLACE_WHERE;
    Value yes = {.type = TYPE(TYPE_BOOL), .b = true}, no = {.type = TYPE(TYPE_BOOL)};
    if (clause->where_clause != NULL)
        TRY(bind_bool(b, &u->block, clause->where_clause, "WHERE", &wanted, err));
    else
        wanted = expr_const(b->arena, &yes, 0, err);
    TRY_PTR(wanted);
    Expr *otherwise = expr_const(b->arena, &no, 0, err);
    TRY_PTR(otherwise);
    NamedExpr *flag = &exprs[u->def->ncols];
    flag->col = bind_new_col(b, TYPE(TYPE_BOOL), "update");
    return only_if_matched(u, wanted, otherwise, &flag->expr, err);
}

static tcudb_status pass_through(const Upsert *u, const PlanCol *col, NamedExpr *out, Error *err)
{
    out->col = *col;
    out->expr = expr_col(u->b->arena, col->id, col->type, 0, err);
    TRY_PTR(out->expr);
    return TCUDB_OK;
}

/* The checks hold for the new rows, as they stand, and for the updated ones. */
static tcudb_status check_updated(Upsert *u, Plan *insert, Error *err)
{
    Plan checked = {0};
    uint32_t n = insert->modify.nchecks, flag = 2 * u->def->ncols + 1;
    if (n == 0) return TCUDB_OK;
    TRY(bind_row_checks(u->b, u->def, insert->inputs[0]->cols + u->def->ncols + 1, &checked, err));
    RowCheck *both = ARENA_ARRAY(u->b->arena, RowCheck, (size_t)2 * n, err);
    TRY_PTR(both);
    memcpy(both, insert->modify.checks, n * sizeof *both);
    for (uint32_t i = 0; i < n; i++) {
        Value yes = {.type = TYPE(TYPE_BOOL), .b = true};
        const PlanCol *col = &insert->inputs[0]->cols[flag];
        Expr *args[3] = {expr_col(u->b->arena, col->id, col->type, 0, err), checked.modify.checks[i].cond,
                         expr_const(u->b->arena, &yes, 0, err)};
        TRY_PTR(args[0]);
        TRY_PTR(args[2]);
        both[n + i].name = checked.modify.checks[i].name;
        both[n + i].cond = expr_node(u->b->arena, EXPR_CASE, TYPE(TYPE_BOOL), args, 3, 0, err);
        TRY_PTR(both[n + i].cond);
    }
    insert->modify.checks = both;
    insert->modify.nchecks = 2 * n;
    return TCUDB_OK;
}

static tcudb_status do_update(Upsert *u, const PgQuery__InsertStmt *node, const Table *table, Plan *insert, Error *err)
{
    uint32_t n = u->def->ncols;
    u->new_rows = insert->inputs[0];
    TRY(bind_table_scan(u->b, table, &u->rowid, &u->old_rows, err));
    TRY(join_old_rows(u, &u->def->keys[insert->modify.arbiter], err));
    TRY(upsert_scope(u, node->relation, err));
    NamedExpr *exprs = ARENA_ARRAY(u->b->arena, NamedExpr, (size_t)2 * n + 2, err);
    TRY_PTR(exprs);
    const PlanCol rowid = {.id = u->rowid, .type = TYPE(TYPE_INT8), .name = "rowid"};
    for (uint32_t i = 0; i < n; i++) TRY(pass_through(u, &u->new_rows->cols[i], &exprs[i], err));
    TRY(pass_through(u, &rowid, &exprs[n], err));
    TRY(updated_row(u, node->on_conflict_clause, exprs + n + 1, err));
    TRY(bind_plan_apply(u->b, u->joined, &u->applies, &u->joined, err));
    TRY(plan_project(u->b->arena, u->joined, exprs, 2 * n + 2, &insert->inputs[0], err));
    TRY(bind_generated_columns(u->b, u->def, &insert->inputs[0], n + 1, NULL, err));
    return check_updated(u, insert, err);
}

tcudb_status bind_on_conflict(Binder *b, const PgQuery__InsertStmt *node, const Table *table, Plan *insert, Error *err)
{
    const PgQuery__OnConflictClause *clause = node->on_conflict_clause;
    Upsert u = {.b = b, .def = table_def(table)};
    TRY(arbiter(b, u.def, clause, &insert->modify.arbiter, err));
    insert->modify.conflict = CONFLICT_SKIP;
    if (clause->action != PG_QUERY__ON_CONFLICT_ACTION__ONCONFLICT_UPDATE) return TCUDB_OK;
    insert->modify.conflict = CONFLICT_UPDATE;
    assert(insert->modify.arbiter < u.def->nkeys);
    return do_update(&u, node, table, insert, err);
}

tcudb_status bind_conflict_result(Binder *b, const Plan *insert, const TableDef *def, ScopeItem *item, Error *err)
{
    const PlanCol *cols = insert->inputs[0]->cols;
    Upsert u = {.b = b, .def = def, .rowid = cols[def->ncols].id};
    for (uint32_t i = 0; i < def->ncols; i++) {
        Expr *updated = expr_col(b->arena, cols[def->ncols + 1 + i].id, cols[i].type, 0, err);
        TRY_PTR(updated);
        TRY(only_if_matched(&u, updated, item->cols[i].expr, &item->cols[i].expr, err));
    }
    return TCUDB_OK;
}
