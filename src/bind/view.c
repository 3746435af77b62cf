/*
 * view.c: CREATE VIEW.
 *
 * A view keeps its SELECT as text, its stars as the columns that they stand for (stars.c). It is bound here for its
 * errors and its columns, and again wherever the view is named (from.c). What replaces a view keeps the columns that it
 * has; more may follow.
 */
#include "bind/bind_int.h"

#include <assert.h>

/* CREATE OR REPLACE: the view that is there, if it still binds, keeps its columns; more may follow. */
static tcudb_status keeps_columns(Binder *b, const ViewDef *old, const Str *names, const Plan *plan, Error *err)
{
    Plan *before = NULL;
    char from[TYPE_NAME_MAX], to[TYPE_NAME_MAX];
    TRY(bind_view_or_none(b, old, &before, err));
    if (before == NULL) return TCUDB_OK;
    if (plan->ncols < old->ncols)
        return error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION, "cannot drop columns from view");
    for (uint32_t i = 0; i < old->ncols; i++) {
        if (!str_equal(old->cols[i], names[i])) {
            error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION,
                      "cannot change name of view column \"" STR_FMT "\" to \"" STR_FMT "\"", STR_ARG(old->cols[i]),
                      STR_ARG(names[i]));
            error_hint(err, "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.");
            return TCUDB_ERROR;
        }
        Type was = bind_stored_type(before, before->cols[i].id), is = bind_stored_type(plan, plan->cols[i].id);
        if (type_equal(was, is)) continue;
        return error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION,
                         "cannot change data type of view column \"" STR_FMT "\" from %s to %s", STR_ARG(names[i]),
                         type_name(was, from), type_name(is, to));
    }
    return TCUDB_OK;
}

/* CREATE RECURSIVE VIEW, which the grammar turns into a query of one WITH RECURSIVE that stands nowhere. */
static bool is_recursive_view(const PgQuery__ViewStmt *node)
{
    const PgQuery__WithClause *with = node->query->select_stmt->with_clause;
    return with != NULL && with->recursive && with->location < 0;
}

/* WITH RECURSIVE v (a, b) AS (...) SELECT v.a, v.b FROM v */
static tcudb_status put_recursive(const PgQuery__ViewStmt *node, Str query, Buf *out, Error *err)
{
    Str name = str_of(node->view->relname);
    TRY(buf_text(out, "WITH RECURSIVE ", err));
    TRY(text_quote_name(name, out, err));
    for (size_t i = 0; i < node->n_aliases; i++) {
        TRY(buf_text(out, i == 0 ? " (" : ", ", err));
        TRY(text_quote_name(str_of(sql_string(node->aliases[i])), out, err));
    }
    TRY(buf_printf(out, err, ") AS (" STR_FMT ") SELECT ", STR_ARG(query)));
    for (size_t i = 0; i < node->n_aliases; i++) {
        if (i > 0) TRY(buf_text(out, ", ", err));
        TRY(text_quote_name(name, out, err));
        TRY(buf_char(out, '.', err));
        TRY(text_quote_name(str_of(sql_string(node->aliases[i])), out, err));
    }
    TRY(buf_text(out, " FROM ", err));
    return text_quote_name(name, out, err);
}

static tcudb_status view_text(Binder *b, const PgQuery__ViewStmt *node, Str *out, Error *err)
{
    int from = 0;
    TRY(sql_after_as(b->arena, b->ast, b->env->cancel, &from, err));
    assert(from >= 0);
    *out = sql_text_from(b->ast, from);
    TRY(sql_edited(b->arena, b->ast, b->env->cancel, *out, b->edits->list, b->edits->n, out, err));
    if (!is_recursive_view(node)) return TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = put_recursive(node, *out, &buf, err);
    if (status == TCUDB_OK) {
        *out = (Str){arena_strndup(b->arena, buf.data, buf.len, err), (uint32_t)buf.len};
        status = out->ptr == NULL ? TCUDB_NOMEM : TCUDB_OK;
    }
    buf_free(&buf);
    return status;
}

tcudb_status bind_ddl_create_view(Binder *b, const PgQuery__ViewStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_CREATE_VIEW;
    stmt->tag = "CREATE VIEW";
    stmt->flag = node->replace;
    TableTemp temp = TEMP_NONE;
    TRY(bind_ddl_target(b, node->view, PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_NOOP, 0, &stmt->name, &temp, err));
    if (temp != TEMP_NONE) {
        error_unsupported(err, bind_position(b, node->view->location), "a temporary view");
        error_hint(err, "CREATE TEMP TABLE ... AS keeps its rows, WITH gives the query a name.");
        return TCUDB_ERROR;
    }
    if (!NODE_IS(node->query, SELECT_STMT)) return error_unsupported(err, 0, "this kind of view");
    if (node->n_options > 0) return error_unsupported(err, 0, "options of a view");
    Plan *plan = NULL;
    TextEdits stars = {0};
    b->no_params = true;
    b->edits = &stars;
    TRY(bind_select(b, NULL, NULL, node->query->select_stmt, false, &plan, err));
    if (b->temp_used) return error_unsupported(err, 0, "a view of a temporary table");
    if (b->nsteps > 0)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                         "views must not contain data-modifying statements in WITH");
    if (node->n_aliases > plan->ncols) {
        return error_set(err, SQLSTATE_SYNTAX_ERROR, "CREATE VIEW specifies more column names than columns");
    }
    Str *names = ARENA_ARRAY(b->arena, Str, plan->ncols, err);
    TRY_PTR(names);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        names[i] = i < node->n_aliases ? str_of(sql_string(node->aliases[i])) : str_of(plan->cols[i].name);
        for (uint32_t k = 0; k < i; k++) {
            if (!str_equal(names[k], names[i])) continue;
            return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"" STR_FMT "\" specified more than once",
                             STR_ARG(names[i]));
        }
    }
    const ViewDef *old = node->replace ? txn_view(b->env->txn, stmt->name) : NULL;
    if (old != NULL) TRY(keeps_columns(b, old, names, plan, err));
    stmt->create_view = (ViewDef){.name = stmt->name, .ncols = plan->ncols, .cols = names};
    return view_text(b, node, &stmt->create_view.sql, err);
}
