/*
 * stars.c: the columns that the stars of a view's query stand for when it is made: columns that its tables get later
 * are not the view's. The view's text names them (sql/name_edits.c), each by the entry of FROM that has it.
 *
 * A star stays where a column has no name of its own there (an entry shows two of one name), or over a file, whose
 * columns are found when it is read.
 */
#include "bind/bind_int.h"

#include <assert.h>

static bool same_column(const ScopeCol *col, const NamedExpr *target)
{
    bool same = col->expr->kind == EXPR_COL && target->expr->kind == EXPR_COL ? col->expr->col == target->expr->col
                                                                              : col->expr == target->expr;
    return same && bind_name_is(col->name, target->col.name);
}

/* How many columns of the entry have the name; *is: one is the target. */
static uint32_t count_named(const ScopeItem *item, const NamedExpr *target, bool *is)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < item->ncols; i++) {
        n += bind_name_is(item->cols[i].name, target->col.name);
        *is = *is || same_column(&item->cols[i], target);
    }
    return n;
}

/* The entry by whose name the column can be asked for; NULL: none. */
static const ScopeItem *entry_of(const Block *block, const NamedExpr *target)
{
    for (uint32_t i = block->first_visible; i < block->nitems; i++) {
        const ScopeItem *item = block->items[i];
        bool is = false;
        if (!item->rel_visible || item->name.len == 0 || item->any_case) continue;
        if (count_named(item, target, &is) == 1 && is) return item;
    }
    return NULL;
}

/* Whether the bare name means the column. */
static bool bare_name_is(const Block *block, const NamedExpr *target)
{
    uint32_t n = 0;
    bool is = false;
    for (uint32_t i = block->first_visible; i < block->nitems; i++)
        if (block->items[i]->cols_visible && !block->items[i]->any_case) n += count_named(block->items[i], target, &is);
    return n == 1 && is;
}

static tcudb_status put_column(const Block *block, const NamedExpr *target, Buf *out, bool *named, Error *err)
{
    const ScopeItem *entry = entry_of(block, target);
    *named = entry != NULL || bare_name_is(block, target);
    if (!*named) return TCUDB_OK;
    if (out->len > 0) TRY(buf_text(out, ", ", err));
    if (entry != NULL) {
        TRY(text_quote_name(entry->name, out, err));
        TRY(buf_char(out, '.', err));
    }
    return text_quote_name(str_of(target->col.name), out, err);
}

static tcudb_status put_columns(const Block *block, const NamedExpr *targets, uint32_t n, Buf *out, bool *named,
                                Error *err)
{
    *named = n > 0;
    for (uint32_t i = 0; i < n && *named; i++) TRY(put_column(block, &targets[i], out, named, err));
    return TCUDB_OK;
}

tcudb_status bind_edit(Binder *b, int location, uint32_t parts, const Buf *text, Error *err)
{
    TextEdits *edits = b->edits;
    for (uint32_t i = 0; i < edits->n; i++)
        if (edits->list[i].location == location) return TCUDB_OK; /* a query that is bound twice */
    TRY_PTR(edits->list = ARENA_MORE(b->arena, edits->list, edits->n, &edits->cap, err));
    const char *copy = arena_strndup(b->arena, text->data, text->len, err);
    TRY_PTR(copy);
    edits->list[edits->n++] = (NameEdit){location, parts, {copy, (uint32_t)text->len}};
    return TCUDB_OK;
}

tcudb_status bind_note_star(Binder *b, const Block *block, const PgQuery__ColumnRef *ref, const NamedExpr *targets,
                            uint32_t n, Error *err)
{
    Buf columns;
    bool named;
    if (b->edits == NULL || b->edits->relation.len > 0 || b->view_depth > 0 || ref->location < 0) return TCUDB_OK;
    buf_init(&columns, NULL);
    tcudb_status status = put_columns(block, targets, n, &columns, &named, err);
    if (status == TCUDB_OK && named) status = bind_edit(b, ref->location, (uint32_t)ref->n_fields, &columns, err);
    buf_free(&columns);
    return status;
}
