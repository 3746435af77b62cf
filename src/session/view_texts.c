/*
 * view_texts.c: views follow the names of what they are over.
 *
 * A view is the text of a query. Each is bound once more to see where it names what is renamed (bind/renames.c). What
 * uses a name in a way that no text can follow is refused, as is what no longer binds afterwards (ddl.c). Cost: binding
 * all views.
 */
#include "session/session_int.h"

#include "sql/ast.h"

static tcudb_status refuse(const ViewDef *view, const TextEdits *edits, Error *err)
{
    if (edits->column.len > 0)
        error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "cannot alter a column used by a view or rule");
    else
        error_unsupported(err, 0, "renaming a table whose new name means something else in a view");
    error_detail(err, "view " STR_FMT " depends on table " STR_FMT, STR_ARG(view->name), STR_ARG(edits->relation));
    error_hint(err, "Drop the view first, and create it again afterwards.");
    return TCUDB_ERROR;
}

tcudb_status session_bind_view(Run *run, Arena *arena, const ViewDef *view, TextEdits *edits, Ast **ast, Stmt **out,
                               Error *err)
{
    Stmt *stmt = NULL;
    uint32_t n = 0;
    Run own = *run;
    own.arena = arena;
    own.edits = edits;
    *out = NULL;
    tcudb_status status = sql_parse(arena, view->sql, &run->session->watch.cancel, ast, &n, err);
    if (status == TCUDB_OK && n == 1) status = session_bind_own(&own, *ast, &stmt, err);
    if (status == TCUDB_NOMEM || status == TCUDB_INTERRUPTED) return status;
    if (status == TCUDB_OK && n == 1 && stmt->plan != NULL) *out = stmt;
    error_clear(err);
    return TCUDB_OK;
}

/* *changed: the view has another text. One that does not bind stays as it is. */
static tcudb_status edit_view(Run *run, TextEdits *edits, ViewDef *view, bool *changed, Error *err)
{
    Ast *ast = NULL;
    Stmt *stmt;
    *changed = false;
    TRY(session_bind_view(run, run->arena, view, edits, &ast, &stmt, err));
    if (stmt == NULL) return TCUDB_OK;
    if (edits->refused) return refuse(view, edits, err);
    *changed = edits->n > 0;
    return sql_edited(run->arena, ast, &run->session->watch.cancel, sql_text_from(ast, 0), edits->list, edits->n,
                      &view->sql, err);
}

tcudb_status session_view_texts(Run *run, Str relation, Str column, Str to, ViewTexts *out, Error *err)
{
    Txn *txn = run->session->txn;
    *out = (ViewTexts){0};
    out->views = ARENA_ARRAY(run->arena, ViewDef, txn_view_count(txn) + 1, err);
    TRY_PTR(out->views);
    for (uint32_t i = 0; i < txn_view_count(txn); i++) {
        TextEdits edits = {.relation = relation, .column = column, .to = to};
        ViewDef view = *txn_view_at(txn, i);
        bool changed;
        TRY(edit_view(run, &edits, &view, &changed, err));
        if (changed) out->views[out->n++] = view;
    }
    return TCUDB_OK;
}

tcudb_status session_set_view_texts(Run *run, const ViewTexts *texts, Error *err)
{
    for (uint32_t i = 0; i < texts->n; i++) {
        ViewDef *view = &texts->views[i];
        if (txn_view(run->session->txn, view->name) == NULL) continue; /* it is the one that is renamed */
        TRY(txn_create_view(run->session->txn, view, true, err));
    }
    return TCUDB_OK;
}
