/*
 * generated.c: columns whose values are not the user's to give: GENERATED ALWAYS AS IDENTITY, GENERATED ALWAYS AS
 * (expression) STORED.
 *
 * A generated column's expression is a note of the table (catalog/notes.h). An INSERT or UPDATE computes it over the
 * new row in a PROJECT of its own, right below the change, so that checks and RETURNING see what is stored.
 */
#include "bind/bind_int.h"

#include <assert.h>

bool bind_is_generated(const TableDef *def, Str column)
{
    return note_find(def, NOTE_GENERATED, column).ptr != NULL;
}

bool bind_has_generated(const TableDef *def)
{
    for (uint32_t i = 0; i < def->nnotes; i++)
        if (note_is(&def->notes[i], NOTE_GENERATED)) return true;
    return false;
}

static bool always_identity(const TableDef *def, Str column)
{
    return str_equal(note_find(def, NOTE_IDENTITY, column), STR_LIT("a"));
}

tcudb_status bind_check_given(const TableDef *def, Str column, PgQuery__OverridingKind override, bool *use_default,
                              Error *err)
{
    bool identity = note_find(def, NOTE_IDENTITY, column).ptr != NULL, generated = bind_is_generated(def, column);
    *use_default = identity && override == PG_QUERY__OVERRIDING_KIND__OVERRIDING_USER_VALUE;
    if (!generated && !(always_identity(def, column) && override <= PG_QUERY__OVERRIDING_KIND__OVERRIDING_NOT_SET))
        return TCUDB_OK;
    error_set(err, SQLSTATE_GENERATED_ALWAYS, "cannot insert a non-DEFAULT value into column \"" STR_FMT "\"",
              STR_ARG(column));
    error_detail(err,
                 generated ? "Column \"" STR_FMT "\" is a generated column."
                           : "Column \"" STR_FMT "\" is an identity column defined as GENERATED ALWAYS.",
                 STR_ARG(column));
    if (!generated) error_hint(err, "Use OVERRIDING SYSTEM VALUE to override.");
    return TCUDB_ERROR;
}

tcudb_status bind_check_set(const TableDef *def, Str column, Error *err)
{
    bool generated = bind_is_generated(def, column);
    if (!generated && !always_identity(def, column)) return TCUDB_OK;
    error_set(err, SQLSTATE_GENERATED_ALWAYS, "column \"" STR_FMT "\" can only be updated to DEFAULT", STR_ARG(column));
    error_detail(err,
                 generated ? "Column \"" STR_FMT "\" is a generated column."
                           : "Column \"" STR_FMT "\" is an identity column defined as GENERATED ALWAYS.",
                 STR_ARG(column));
    return TCUDB_ERROR;
}

/* ---- definition */

static bool is_volatile_or_moving(void *ctx, const Expr *e)
{
    bool *moving = ctx;
    if (e->kind == EXPR_FUNC && e->func != NULL && (e->func->flags & (FUNC_VOLATILE | FUNC_STABLE)) != 0)
        *moving = true;
    return !*moving;
}

/* Which column of the table an expression over `item` uses that is generated itself; NULL: none. */
static const ColumnDef *uses_generated(const TableBuild *t, const ScopeItem *item, const Expr *e)
{
    const TableDef def = {.nnotes = t->nnotes, .notes = t->notes};
    for (uint32_t i = 0; i < t->n; i++)
        if (bind_is_generated(&def, t->cols[i].name) && bind_expr_has_col(e, item->cols[i].expr->col))
            return &t->cols[i];
    return NULL;
}

static tcudb_status check_expression(Binder *b, const TableBuild *t, uint32_t col, const ScopeItem *item, Expr *e,
                                     int position, Error *err)
{
    bool moving = false;
    const ColumnDef *other = uses_generated(t, item, e);
    if (other != NULL || bind_expr_has_col(e, item->cols[col].expr->col)) {
        Str name = other == NULL ? t->cols[col].name : other->name;
        error_at(err, SQLSTATE_INVALID_OBJECT_DEFINITION, position,
                 "cannot use generated column \"" STR_FMT "\" in column generation expression", STR_ARG(name));
        error_detail(err, "A generated column cannot reference another generated column.");
        return TCUDB_ERROR;
    }
    (void)expr_walk(e, is_volatile_or_moving, &moving);
    if (moving) return error_set(err, SQLSTATE_INVALID_OBJECT_DEFINITION, "generation expression is not immutable");
    return bind_assign(b, e, &t->cols[col], &e, err);
}

tcudb_status bind_generated_constraint(Binder *b, TableBuild *t, const PgQuery__Constraint *node, uint32_t col,
                                       Error *err)
{
    int position = bind_position(b, node->location);
    Block block = {.place = PLACE_GENERATED};
    ApplyList list = {0};
    Expr *e = NULL;
    Str text = {0};
    block.applies = &list;
    TRY(bind_scope_table(b, t, &block, err));
    TRY(bind_expr(b, &block, node->raw_expr, &e, err));
    if (list.first != NULL) return error_unsupported(err, position, "a subquery in a generated column");
    TRY(check_expression(b, t, col, block.items[0], e, bind_node_position(b, node->raw_expr), err));
    TRY(sql_expression_text(b->arena, node->raw_expr, b->env->cancel, &text, err));
    TRY(bind_renamed_expression(b, t, text, 0, "", &text, err));
    bind_set_note(t, NOTE_GENERATED, t->cols[col].name, text);
    return TCUDB_OK;
}

/* ---- in changes */

tcudb_status bind_generated_value(Binder *b, Block *block, const ColumnDef *col, Str sql, Expr **out, Error *err)
{
    Ast *ast = NULL;
    const Node *node = NULL;
    const Ast *before = b->ast;
    TRY(bind_stored_expression(b, sql, "expression of column", col->name, &ast, &node, err));
    b->ast = ast;
    b->stored = true;
    tcudb_status status = bind_expr(b, block, node, out, err);
    b->stored = false;
    if (status == TCUDB_OK) status = bind_assign(b, *out, col, out, err);
    b->ast = before;
    if (status != TCUDB_OK && err != NULL) err->position = 0; /* it would point into the expression's text */
    return status;
}

tcudb_status bind_generated_columns(Binder *b, const TableDef *def, Plan **plan, uint32_t first, NamedExpr *cols,
                                    Error *err)
{
    Block block = {.place = PLACE_GENERATED};
    ApplyList list = {0};
    Plan *row = *plan;
    if (!bind_has_generated(def)) return TCUDB_OK;
    block.applies = &list;
    TRY(bind_scope_row(b, def, row->cols + first, &block, err));
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, row->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < row->ncols; i++) {
        bool own = i >= first && i < first + def->ncols;
        Str sql = own ? note_find(def, NOTE_GENERATED, def->cols[i - first].name) : (Str){0};
        exprs[i].col = row->cols[i];
        exprs[i].expr = expr_col(b->arena, row->cols[i].id, row->cols[i].type, 0, err);
        TRY_PTR(exprs[i].expr);
        if (sql.ptr == NULL) continue;
        exprs[i].col = bind_new_col(b, row->cols[i].type, row->cols[i].name);
        TRY(bind_generated_value(b, &block, &def->cols[i - first], sql, &exprs[i].expr, err));
        if (cols != NULL) cols[i - first].col = exprs[i].col;
    }
    assert(list.first == NULL);
    return plan_project(b->arena, row, exprs, row->ncols, plan, err);
}

tcudb_status bind_generated_mentions(Binder *b, const TableBuild *t, uint32_t col, Str *column, Error *err)
{
    const TableDef def = bind_table_def(t, str_of(t->table));
    *column = (Str){0};
    for (uint32_t i = 0; i < t->n && column->ptr == NULL; i++) {
        Str sql = note_find(&def, NOTE_GENERATED, t->cols[i].name);
        CheckDef check = {.name = t->cols[i].name, .sql = sql};
        bool yes = false;
        if (sql.ptr == NULL || i == col) continue;
        const char *test = arena_printf(b->arena, err, "(" STR_FMT ") IS NULL", STR_ARG(sql));
        TRY_PTR(test);
        check.sql = str_of(test);
        TRY(bind_check_mentions(b, t, &check, col, &yes, err));
        if (yes) *column = t->cols[i].name;
    }
    return TCUDB_OK;
}
