/*
 * merge.c: MERGE INTO target USING source ON condition WHEN ...
 *
 *     step 1   source [LEFT] JOIN target, each row with the number of the first WHEN that takes it; rows of none go
 *     steps    DELETE, UPDATE and INSERT of the rows whose WHEN says so, read from what step 1 kept
 *
 * If the join gives the same rows whenever it runs (only tables, nothing volatile), it is made anew in each step, and
 * step 1 looks for rows of the target that would be changed twice: what is kept costs an expression a value.
 * The later plans are plans of their own, so the kept rows stand in them under the columns of the join, which is what
 * the clauses' expressions are bound to. That no row of the target is changed twice is seen to when step 1 has run.
 */
#include "bind/bind_int.h"

#include <assert.h>

enum { CLAUSES_MAX = 64 };

typedef struct Merge {
    Binder *b;
    const TableDef *def;
    Block block;
    ScopeItem *target;
    Plan *join;
    PlanCol action; /* number of the clause, from 1 */
    ColId rowid, first;
    KeptRows *kept;
    bool again;       /* the join is made in each step, instead of being kept */
    NamedExpr **rows; /* of each clause that has one: the target's new columns */
} Merge;

/* ---- the join */

static bool inserts(const PgQuery__MergeStmt *node)
{
    for (size_t i = 0; i < node->n_merge_when_clauses; i++)
        if (!node->merge_when_clauses[i]->merge_when_clause->matched) return true;
    return false;
}

static tcudb_status bind_join_of(Merge *m, const PgQuery__MergeStmt *node, Error *err)
{
    Binder *b = m->b;
    const Table *table = NULL;
    Plan *target = NULL, *source = NULL;
    Expr *cond = NULL;
    bool lateral = false;
    ApplyList list = {0};
    TRY(bind_table_for_change(b, node->relation, "merging into", &table, err));
    m->def = table_def(table);
    TRY(bind_table_scan(b, table, &m->rowid, &target, err));
    m->first = target->cols[0].id;
    TRY(bind_scope_item_of_plan(b, str_of(node->relation->relname), target, m->def->ncols, &m->target, err));
    m->target->table = m->target->name;
    TRY(bind_alias(b, m->target, node->relation->alias, err));
    TRY(bind_scope_add(b, &m->block, m->target, err));
    TRY(bind_from_item(b, &m->block, node->source_relation, &source, &lateral, err));
    if (lateral) TRY(bind_refers_to(b, source, target, &lateral, err));
    if (lateral) return bind_refuse_reference(b, &m->block, source, target, true, err);
    TRY(bind_scope_conflict(&m->block, 0, 1, err));
    m->block.place = PLACE_ON;
    m->block.applies = &list;
    TRY(bind_bool(b, &m->block, node->join_condition, "JOIN/ON", &cond, err));
    if (list.first != NULL) return error_unsupported(err, list.first->position, "a subquery in the condition of MERGE");
    return bind_plan_join(b, inserts(node) ? JOIN_LEFT : JOIN_INNER, source, target, cond, &m->join, err);
}

/* ---- which clause takes a row */

static tcudb_status number_const(Binder *b, int32_t n, Expr **out, Error *err)
{
    *out = expr_const(b->arena, &(Value){.type = TYPE(TYPE_INT4), .i32 = n}, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status is_matched(Merge *m, bool matched, Expr **out, Error *err)
{
    Expr *rowid = expr_col(m->b->arena, m->rowid, TYPE(TYPE_INT8), 0, err);
    TRY_PTR(rowid);
    TRY(bind_call(m->b, FUNC_OPERATOR, "is null", &rowid, 1, 0, 0, out, err));
    return matched ? bind_not(m->b, *out, 0, out, err) : TCUDB_OK;
}

/* What WHEN NOT MATCHED may name: the source only. */
static void show_target(Merge *m, bool shown)
{
    m->target->rel_visible = m->target->cols_visible = shown;
}

static tcudb_status clause_condition(Merge *m, const PgQuery__MergeWhenClause *clause, Expr **out, Error *err)
{
    Expr *cond = NULL;
    ApplyList list = {0};
    TRY(is_matched(m, clause->matched, out, err));
    if (clause->condition == NULL) return TCUDB_OK;
    m->block.place = PLACE_WHERE;
    m->block.applies = &list;
    show_target(m, clause->matched);
    tcudb_status status = bind_bool(m->b, &m->block, clause->condition, "WHEN", &cond, err);
    show_target(m, true);
    TRY(status);
    if (list.first != NULL) return error_unsupported(err, list.first->position, "a subquery in a condition of MERGE");
    return bind_and_or(m->b, EXPR_AND, *out, cond, out, err);
}

static tcudb_status choose_action(Merge *m, const PgQuery__MergeStmt *node, Expr **out, Error *err)
{
    uint32_t n = (uint32_t)node->n_merge_when_clauses;
    Expr **args = ARENA_ARRAY(m->b->arena, Expr *, (size_t)2 * n + 1, err);
    TRY_PTR(args);
    bool always[2] = {false, false};
    for (uint32_t i = 0; i < n; i++) {
        const PgQuery__MergeWhenClause *clause = node->merge_when_clauses[i]->merge_when_clause;
        bool nothing = clause->command_type == PG_QUERY__CMD_TYPE__CMD_NOTHING;
        if (always[clause->matched])
            return error_set(err, SQLSTATE_SYNTAX_ERROR,
                             "unreachable WHEN clause specified after unconditional WHEN clause");
        always[clause->matched] = clause->condition == NULL;
        TRY(clause_condition(m, clause, &args[2 * i], err));
        TRY(number_const(m->b, nothing ? 0 : (int32_t)i + 1, &args[2 * i + 1], err));
    }
    TRY(number_const(m->b, 0, &args[2 * n], err));
    *out = expr_node(m->b->arena, EXPR_CASE, TYPE(TYPE_INT4), args, 2 * n + 1, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status compare_action(Merge *m, const char *op, int32_t n, Expr **out, Error *err)
{
    Expr *args[2] = {expr_col(m->b->arena, m->action.id, m->action.type, 0, err), NULL};
    TRY_PTR(args[0]);
    TRY(number_const(m->b, n, &args[1], err));
    return bind_call(m->b, FUNC_OPERATOR, op, args, 2, 0, 0, out, err);
}

static tcudb_status first_step(Merge *m, const PgQuery__MergeStmt *node, Stmt *stmt, Error *err)
{
    Binder *b = m->b;
    uint32_t n = m->join->ncols;
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, n + 1, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < n; i++) {
        exprs[i].col = m->join->cols[i];
        exprs[i].expr = expr_col(b->arena, m->join->cols[i].id, m->join->cols[i].type, 0, err);
        TRY_PTR(exprs[i].expr);
        if (m->join->cols[i].id == m->rowid) stmt->merge_rowid = i;
    }
    m->action = bind_new_col(b, TYPE(TYPE_INT4), "action");
    exprs[n].col = m->action;
    TRY(choose_action(m, node, &exprs[n].expr, err));
    Plan *plan = NULL;
    Expr *taken = NULL;
    TRY(plan_project(b->arena, m->join, exprs, n + 1, &plan, err));
    TRY(compare_action(m, ">", 0, &taken, err));
    return bind_plan_filter(b, plan, taken, &m->join, err);
}

/* ---- what a clause does */

static tcudb_status update_row(Merge *m, const PgQuery__MergeWhenClause *clause, NamedExpr *row, Error *err)
{
    return bind_set_columns(m->b, &m->block, m->def, clause->target_list, clause->n_target_list, row, err);
}

static tcudb_status insert_value(Merge *m, const PgQuery__MergeWhenClause *clause, size_t i, NamedExpr *row, Error *err)
{
    Binder *b = m->b;
    uint32_t col = (uint32_t)i;
    bool use_default = NODE_IS(clause->values[i], SET_TO_DEFAULT);
    Expr *e = NULL;
    if (clause->n_target_list > 0) {
        const PgQuery__ResTarget *target = clause->target_list[i]->res_target;
        TRY(bind_column_number(m->def, str_of(target->name), bind_position(b, target->location), &col, err));
    }
    const ColumnDef *def = &m->def->cols[col];
    if (!use_default) TRY(bind_check_given(m->def, def->name, clause->override, &use_default, err));
    if (use_default) return TCUDB_OK;
    TRY(bind_expr(b, &m->block, clause->values[i], &e, err));
    return bind_assign(b, e, def, &row[col].expr, err);
}

static tcudb_status insert_row(Merge *m, const PgQuery__MergeWhenClause *clause, NamedExpr *row, Error *err)
{
    Binder *b = m->b;
    size_t targets = clause->n_target_list > 0 ? clause->n_target_list : m->def->ncols;
    if (clause->n_values > targets)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_node_position(b, clause->values[targets]),
                        "INSERT has more expressions than target columns");
    if (clause->n_values > 0 && clause->n_target_list > clause->n_values)
        return error_at(err, SQLSTATE_SYNTAX_ERROR,
                        bind_position(b, clause->target_list[clause->n_values]->res_target->location),
                        "INSERT has more target columns than expressions");
    m->block.place = PLACE_VALUES;
    show_target(m, false);
    tcudb_status status = TCUDB_OK;
    for (size_t i = 0; i < clause->n_values && status == TCUDB_OK; i++) status = insert_value(m, clause, i, row, err);
    show_target(m, true);
    TRY(status);
    for (uint32_t c = 0; c < m->def->ncols; c++)
        if (row[c].expr == NULL) TRY(bind_default(b, &m->def->cols[c], &row[c].expr, err));
    return TCUDB_OK;
}

static tcudb_status bind_row(Merge *m, const PgQuery__MergeWhenClause *clause, NamedExpr *row, Error *err)
{
    if (clause->command_type == PG_QUERY__CMD_TYPE__CMD_UPDATE) return update_row(m, clause, row, err);
    return clause->command_type == PG_QUERY__CMD_TYPE__CMD_INSERT ? insert_row(m, clause, row, err) : TCUDB_OK;
}

static tcudb_status bind_rows(Merge *m, const PgQuery__MergeStmt *node, Error *err)
{
    m->rows = ARENA_ARRAY(m->b->arena, NamedExpr *, node->n_merge_when_clauses, err);
    TRY_PTR(m->rows);
    for (size_t i = 0; i < node->n_merge_when_clauses; i++) {
        ApplyList list = {0};
        m->rows[i] = ARENA_ARRAY(m->b->arena, NamedExpr, m->def->ncols, err);
        TRY_PTR(m->rows[i]);
        m->block.applies = &list;
        tcudb_status status = bind_row(m, node->merge_when_clauses[i]->merge_when_clause, m->rows[i], err);
        m->block.applies = NULL;
        TRY(status);
        if (list.first != NULL) return error_unsupported(err, list.first->position, "a subquery in MERGE");
    }
    return TCUDB_OK;
}

/* ---- the steps */

/* The kept rows that clauses of this kind take; NULL: there are no such clauses. */
static tcudb_status rows_for(Merge *m, const PgQuery__MergeStmt *node, PgQuery__CmdType kind, Plan **out, Error *err)
{
    Expr *any = NULL;
    *out = NULL;
    for (size_t i = 0; i < node->n_merge_when_clauses; i++) {
        Expr *one = NULL;
        if (node->merge_when_clauses[i]->merge_when_clause->command_type != kind) continue;
        TRY(compare_action(m, "=", (int32_t)i + 1, &one, err));
        TRY(bind_and_or(m->b, EXPR_OR, any, one, &any, err));
    }
    if (any == NULL) return TCUDB_OK;
    if (m->again) return bind_plan_filter(m->b, m->join, any, out, err);
    Plan *values = plan_new(m->b->arena, PLAN_VALUES, 0, m->join->ncols, err);
    TRY_PTR(values);
    memcpy(values->cols, m->join->cols, m->join->ncols * sizeof *values->cols);
    values->values.kept = m->kept;
    return bind_plan_filter(m->b, values, any, out, err);
}

/* A column's new value: that of the clause that takes the row. */
static tcudb_status column_value(Merge *m, const PgQuery__MergeStmt *node, PgQuery__CmdType kind, uint32_t col,
                                 Expr **out, Error *err)
{
    Binder *b = m->b;
    Type type = m->def->cols[col].type;
    size_t n = node->n_merge_when_clauses;
    uint32_t nargs = 0;
    Expr **args = ARENA_ARRAY(b->arena, Expr *, 2 * n + 1, err);
    TRY_PTR(args);
    for (size_t i = 0; i < n; i++) {
        if (node->merge_when_clauses[i]->merge_when_clause->command_type != kind) continue;
        TRY(compare_action(m, "=", (int32_t)i + 1, &args[nargs], err));
        args[nargs + 1] = m->rows[i][col].expr;
        if (args[nargs + 1] == NULL) args[nargs + 1] = expr_col(b->arena, m->first + col, type, 0, err);
        TRY_PTR(args[nargs + 1]);
        nargs += 2;
    }
    TRY(bind_null(b, type, 0, &args[nargs], err));
    *out = expr_node(b->arena, EXPR_CASE, type, args, nargs + 1, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status add_step(Merge *m, Plan *plan, KeptRows *kept, Error *err)
{
    Binder *b = m->b;
    TRY_PTR(b->steps = ARENA_MORE(b->arena, b->steps, b->nsteps, &b->cap_steps, err));
    b->steps[b->nsteps++] = (StmtStep){.plan = plan, .kept = kept};
    return TCUDB_OK;
}

static bool is_set(const Merge *m, const PgQuery__MergeStmt *node, uint32_t col)
{
    for (size_t i = 0; i < node->n_merge_when_clauses; i++)
        if (node->merge_when_clauses[i]->merge_when_clause->command_type == PG_QUERY__CMD_TYPE__CMD_UPDATE &&
            m->rows[i][col].expr != NULL)
            return true;
    return false;
}

/* Whether an UPDATE needs the whole new row: for checks, generated columns and keys. */
static bool needs_row(const Merge *m, const PgQuery__MergeStmt *node)
{
    bool needs = m->def->nchecks > 0 || bind_has_generated(m->def);
    for (uint32_t k = 0; k < m->def->nkeys; k++)
        for (uint32_t i = 0; i < m->def->keys[k].ncols; i++) needs = needs || is_set(m, node, m->def->keys[k].cols[i]);
    return needs;
}

/* The columns that a step gives values to. */
static tcudb_status given_columns(Merge *m, const PgQuery__MergeStmt *node, PlanKind kind, uint32_t **out, uint32_t *n,
                                  Error *err)
{
    bool all = kind == PLAN_INSERT || needs_row(m, node);
    *n = 0;
    *out = ARENA_ARRAY(m->b->arena, uint32_t, m->def->ncols, err);
    TRY_PTR(*out);
    for (uint32_t c = 0; c < m->def->ncols && kind != PLAN_DELETE; c++)
        if (all || is_set(m, node, c)) (*out)[(*n)++] = c;
    return TCUDB_OK;
}

static tcudb_status change_step(Merge *m, const PgQuery__MergeStmt *node, PgQuery__CmdType kind, PlanKind plan_kind,
                                Error *err)
{
    Binder *b = m->b;
    Plan *rows = NULL, *change = NULL;
    uint32_t n = 0, first = plan_kind == PLAN_INSERT ? 0 : 1;
    KeptRows *none = ARENA_NEW(b->arena, KeptRows, err);
    TRY_PTR(none);
    TRY(rows_for(m, node, kind, &rows, err));
    if (rows == NULL) return TCUDB_OK;
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, m->def->ncols + 1, err);
    TRY_PTR(exprs);
    if (plan_kind != PLAN_INSERT) {
        exprs[n].col = (PlanCol){.id = m->rowid, .type = TYPE(TYPE_INT8), .name = "rowid"};
        exprs[n].expr = expr_col(b->arena, m->rowid, TYPE(TYPE_INT8), 0, err);
        TRY_PTR(exprs[n++].expr);
    }
    uint32_t *columns = NULL, ncolumns = 0;
    TRY(given_columns(m, node, plan_kind, &columns, &ncolumns, err));
    for (uint32_t i = 0; i < ncolumns; i++, n++) {
        const uint32_t c = columns[i];
        const char *name = bind_name(b, m->def->cols[c].name, err);
        TRY_PTR(name);
        TRY(column_value(m, node, kind, c, &exprs[n].expr, err));
        exprs[n].col = bind_new_col(b, m->def->cols[c].type, name);
    }
    TRY(plan_project(b->arena, rows, exprs, n, &rows, err));
    if (m->again) TRY(plan_copy(b->arena, rows, &b->next_col, &rows, err));
    if (plan_kind != PLAN_DELETE) TRY(bind_generated_columns(b, m->def, &rows, first, NULL, err));
    change = plan_new(b->arena, plan_kind, 1, 0, err);
    TRY_PTR(change);
    change->inputs[0] = rows;
    change->modify.table = m->def->name;
    if (plan_kind != PLAN_DELETE) TRY(bind_row_checks(b, m->def, rows->cols + first, change, err));
    if (plan_kind == PLAN_UPDATE) {
        change->modify.columns = columns;
        change->modify.ncolumns = change->modify.nset = ncolumns;
    }
    return add_step(m, change, none, err);
}

/* ---- a join that is made in each step */

static tcudb_status note_volatile(void *ctx, Expr **slot, Error *err)
{
    bool *yes = ctx;
    (void)err;
    *yes = *yes || expr_volatile(*slot);
    return TCUDB_OK;
}

/* Whether a plan gives the same rows each time. */
static tcudb_status gives_the_same(Plan *plan, bool *same, Error *err)
{
    bool changes = false;
    TRY(plan_each_expr(plan, note_volatile, &changes, err));
    switch (plan->kind) {
    case PLAN_SCAN:
    case PLAN_FILTER:
    case PLAN_PROJECT:
    case PLAN_JOIN:
    case PLAN_AGGREGATE: break;
    case PLAN_VALUES: changes = changes || plan->values.kept != NULL; break;
    case PLAN_DISTINCT: changes = changes || plan->distinct.non > 0; break;
    default: changes = true; break;
    }
    *same = *same && !changes;
    for (uint32_t i = 0; i < plan->ninputs && *same; i++) TRY(gives_the_same(plan->inputs[i], same, err));
    return TCUDB_OK;
}

/* Row ids that clauses which may change a row once only would take twice. */
static tcudb_status twice_step(Merge *m, const PgQuery__MergeStmt *node, Error *err)
{
    Binder *b = m->b;
    Expr *any = NULL, *many = NULL;
    Plan *rows = NULL;
    for (size_t i = 0; i < node->n_merge_when_clauses; i++) {
        Expr *one = NULL;
        if (!node->merge_when_clauses[i]->merge_when_clause->matched) continue;
        TRY(compare_action(m, "=", (int32_t)i + 1, &one, err));
        TRY(bind_and_or(b, EXPR_OR, any, one, &any, err));
    }
    if (any == NULL) TRY(compare_action(m, "<", 0, &any, err));
    TRY(bind_plan_filter(b, m->join, any, &rows, err));
    Plan *groups = plan_new(b->arena, PLAN_AGGREGATE, 1, 2, err);
    TRY_PTR(groups);
    groups->inputs[0] = rows;
    groups->agg.ngroups = groups->agg.naggs = 1;
    groups->agg.groups = ARENA_NEW(b->arena, NamedExpr, err);
    TRY_PTR(groups->agg.groups);
    groups->agg.aggs = ARENA_NEW(b->arena, AggCall, err);
    TRY_PTR(groups->agg.aggs);
    groups->cols[0] = (PlanCol){.id = m->rowid, .type = TYPE(TYPE_INT8), .name = "rowid"};
    groups->cols[1] = bind_new_col(b, TYPE(TYPE_INT8), "count");
    groups->agg.groups[0] = (NamedExpr){groups->cols[0], expr_col(b->arena, m->rowid, TYPE(TYPE_INT8), 0, err)};
    TRY_PTR(groups->agg.groups[0].expr);
    groups->agg.aggs[0] = (AggCall){.col = groups->cols[1], .kind = AGG_COUNT_STAR};
    Expr *args[2] = {expr_col(b->arena, groups->cols[1].id, TYPE(TYPE_INT8), 0, err), NULL};
    TRY_PTR(args[0]);
    TRY(number_const(b, 1, &args[1], err));
    TRY(bind_call(b, FUNC_OPERATOR, ">", args, 2, 0, 0, &many, err));
    TRY(bind_plan_filter(b, groups, many, &rows, err));
    TRY(plan_copy(b->arena, rows, &b->next_col, &rows, err));
    return add_step(m, rows, m->kept, err);
}

tcudb_status bind_merge(Binder *b, const PgQuery__MergeStmt *node, Stmt *stmt, Error *err)
{
    Merge m = {.b = b};
    stmt->kind = STMT_QUERY;
    stmt->tag = "MERGE";
    if (node->n_merge_when_clauses > CLAUSES_MAX) return error_unsupported(err, 0, "MERGE of so many clauses");
    if (node->with_clause != NULL) TRY(bind_with_push(b, NULL, NULL, node->with_clause, err));
    if (b->nsteps > 0) return error_unsupported(err, 0, "a data-modifying WITH before MERGE");
    TRY(bind_join_of(&m, node, err));
    TRY(first_step(&m, node, stmt, err));
    TRY(bind_rows(&m, node, err));
    m.kept = ARENA_NEW(b->arena, KeptRows, err);
    TRY_PTR(m.kept);
    m.again = true;
    TRY(gives_the_same(m.join, &m.again, err));
    stmt->merge_again = m.again;
    if (m.again)
        TRY(twice_step(&m, node, err));
    else
        TRY(add_step(&m, m.join, m.kept, err));
    stmt->merge = true;
    stmt->name = m.def->name;
    for (size_t i = 0; i < node->n_merge_when_clauses; i++)
        if (node->merge_when_clauses[i]->merge_when_clause->matched) stmt->merge_once |= UINT64_C(1) << i;
    TRY(change_step(&m, node, PG_QUERY__CMD_TYPE__CMD_DELETE, PLAN_DELETE, err));
    TRY(change_step(&m, node, PG_QUERY__CMD_TYPE__CMD_UPDATE, PLAN_UPDATE, err));
    return change_step(&m, node, PG_QUERY__CMD_TYPE__CMD_INSERT, PLAN_INSERT, err);
}
