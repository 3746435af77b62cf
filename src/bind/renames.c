/*
 * renames.c: the places in a view's text that name a relation, or a column of it, which gets another name.
 *
 * The text is bound as it is; each name that turns out to mean what is renamed is noted as an edit:
 *
 *     ALTER TABLE t RENAME a TO k      SELECT a, u.b FROM t, u  ->  SELECT k AS a, u.b FROM t, u
 *     ALTER TABLE t RENAME TO s        SELECT t.a FROM t        ->  SELECT t.a FROM s AS t
 *
 * The CHECKs and generated columns of a table follow its columns' names likewise; they name no table, so that it may
 * have another name later. Refused: where both sides of a join have the column under one name (USING, NATURAL), where a
 * bare name means an outer query's column, which the new name need not, and where a WITH query has the new name.
 * Whoever applies the edits binds the text again: what else the new name clashes with shows then.
 */
#include "bind/bind_int.h"

static const TextEdits *renaming(const Binder *b)
{
    return b->edits != NULL && b->edits->relation.len > 0 && b->view_depth == 0 ? b->edits : NULL;
}

static tcudb_status put_part(const char *part, Buf *out, Error *err)
{
    if (part[0] == '\0') return TCUDB_OK;
    TRY(text_quote_name(str_of(part), out, err));
    return buf_char(out, '.', err);
}

/* ---- relations */

static tcudb_status put_relation(const TextEdits *edits, const PgQuery__RangeVar *range, Buf *out, Error *err)
{
    TRY(put_part(range->catalogname, out, err));
    TRY(put_part(range->schemaname, out, err));
    TRY(text_quote_name(edits->to, out, err));
    if (range->alias != NULL) return TCUDB_OK;
    TRY(buf_text(out, " AS ", err));
    return text_quote_name(str_of(range->relname), out, err);
}

tcudb_status bind_note_relation(Binder *b, const PgQuery__RangeVar *range, Str name, Error *err)
{
    const TextEdits *edits = renaming(b);
    if (edits == NULL || edits->column.len > 0 || !str_equal(name, edits->relation)) return TCUDB_OK;
    for (const CteEntry *cte = b->ctes; cte != NULL; cte = cte->next)
        b->edits->refused |= str_equal(cte->name, edits->to);
    Buf text;
    uint32_t parts = 1 + (range->schemaname[0] != '\0') + (range->catalogname[0] != '\0');
    buf_init(&text, NULL);
    tcudb_status status = put_relation(edits, range, &text, err);
    if (status == TCUDB_OK) status = bind_edit(b, range->location, parts, &text, err);
    buf_free(&text);
    return status;
}

/* ---- columns */

void bind_note_columns(const Binder *b, const Plan *scan, const PgQuery__Alias *alias, ScopeItem *item)
{
    const TextEdits *edits = renaming(b);
    bool own = edits != NULL && scan->kind == PLAN_SCAN && str_equal(scan->scan.name, edits->relation);
    for (size_t i = alias == NULL ? 0 : alias->n_colnames; own && edits->column.len > 0 && i < item->ncols; i++)
        item->cols[i].renamed = str_equal(item->cols[i].name, edits->column);
}

static bool is_local(const Block *block, const ScopeCol *col)
{
    for (uint32_t i = 0; i < block->nitems; i++)
        for (uint32_t k = 0; k < block->items[i]->ncols; k++)
            if (&block->items[i]->cols[k] == col) return true;
    return false;
}

static tcudb_status put_reference(const Binder *b, const PgQuery__ColumnRef *ref, Buf *out, Error *err)
{
    for (size_t i = 0; i + 1 < ref->n_fields && !b->stored; i++) TRY(put_part(sql_string(ref->fields[i]), out, err));
    return text_quote_name(b->edits->to.len > 0 ? b->edits->to : b->referred->name, out, err);
}

tcudb_status bind_note_reference(Binder *b, const Block *block, const PgQuery__ColumnRef *ref, Error *err)
{
    const TextEdits *edits = renaming(b);
    if (edits == NULL || b->referred == NULL || !b->referred->renamed) return TCUDB_OK;
    b->edits->refused |= ref->n_fields == 1 && !is_local(block, b->referred);
    Buf text;
    buf_init(&text, NULL);
    tcudb_status status = put_reference(b, ref, &text, err);
    if (status == TCUDB_OK) status = bind_edit(b, ref->location, (uint32_t)ref->n_fields, &text, err);
    buf_free(&text);
    return status;
}

/* It keeps the name that it had from its column. */
tcudb_status bind_note_target(Binder *b, const PgQuery__ResTarget *target, uint32_t first, Error *err)
{
    const TextEdits *edits = renaming(b);
    bool plain = edits != NULL && edits->column.len > 0 && edits->n > first && target->name[0] == '\0' &&
                 NODE_IS(target->val, COLUMN_REF);
    if (!plain) return TCUDB_OK;
    Str *text = &b->edits->list[first].text;
    const char *column, *renamed;
    TRY(text_quoted_name(b->arena, edits->column, &column, err));
    renamed = arena_printf(b->arena, err, STR_FMT " AS %s", STR_ARG(*text), column);
    TRY_PTR(renamed);
    *text = str_of(renamed);
    return TCUDB_OK;
}

void bind_note_natural(const Binder *b)
{
    const TextEdits *edits = renaming(b);
    if (edits != NULL && edits->column.len > 0) b->edits->refused = true;
}

void bind_note_merged(const Binder *b, const ScopeCol *left, const ScopeCol *right)
{
    if (left->renamed || right->renamed) b->edits->refused = true;
}

/* ---- expressions of a table's definition */

static tcudb_status bind_renaming(Binder *b, Block *block, const Ast *ast, const Node *node, TextEdits *edits,
                                  Error *err)
{
    const Ast *before = b->ast;
    TextEdits *edits_before = b->edits;
    Expr *e;
    b->ast = ast;
    b->edits = edits;
    b->stored = true;
    tcudb_status status = bind_expr(b, block, node, &e, err);
    b->stored = false;
    b->edits = edits_before;
    b->ast = before;
    return status;
}

tcudb_status bind_renamed_expression(Binder *b, const TableBuild *t, Str sql, uint32_t col, const char *to, Str *out,
                                     Error *err)
{
    enum { BEFORE = sizeof "SELECT " - 1 }; /* what bind_stored_expression puts in front */
    Block block = {.place = PLACE_CHECK};
    ApplyList list = {0};
    TextEdits edits = {.relation = str_of(t->table), .column = t->cols[0].name, .to = str_of(to)};
    Ast *ast = NULL;
    const Node *node = NULL;
    block.applies = &list;
    TRY(bind_stored_expression(b, sql, "expression of table", edits.relation, &ast, &node, err));
    TRY(bind_scope_table(b, t, &block, err));
    for (uint32_t i = 0; i < t->n; i++) block.items[0]->cols[i].renamed = to[0] == '\0' || i == col;
    TRY(bind_renaming(b, &block, ast, node, &edits, err));
    return sql_edited(b->arena, ast, b->env->cancel, sql_text_from(ast, BEFORE), edits.list, edits.n, out, err);
}
