/*
 * scope.c: names -> columns, by PostgreSQL's namespace rules.
 *
 * A block (one SELECT) has items, one an entry of FROM. An item may show its columns to bare names (cols_visible)
 * and itself to qualified ones (rel_visible); a JOIN without alias adds an item that shows the joined columns,
 * USING columns merged, and switches off its inputs' bare columns:
 *
 *     FROM a JOIN b USING (k)      items: a {rel}, b {rel}, "" {cols: k, a's others, b's others}
 *
 * A name that a block does not have is looked for in the block around it; the column found is then an outer
 * reference, a free column of the subquery's plan. Two matches in one block are an error.
 *
 * Cost: linear in the number of visible columns per reference.
 */
#include "bind/bind_int.h"

#include <assert.h>

bool bind_name_is(Str name, const char *text)
{
    return name.len == strlen(text) && memcmp(name.ptr, text, name.len) == 0;
}

tcudb_status bind_scope_item_new(Binder *b, Str name, uint32_t ncols, ScopeItem **out, Error *err)
{
    ScopeItem *item = ARENA_NEW(b->arena, ScopeItem, err);
    TRY_PTR(item);
    item->cols = ARENA_ARRAY(b->arena, ScopeCol, ncols, err);
    TRY_PTR(item->cols);
    item->name = name;
    item->ncols = ncols;
    item->rel_visible = item->cols_visible = true;
    *out = item;
    return TCUDB_OK;
}

tcudb_status bind_scope_item_of_plan(Binder *b, Str name, const Plan *plan, uint32_t ncols, ScopeItem **out, Error *err)
{
    assert(ncols <= plan->ncols);
    TRY(bind_scope_item_new(b, name, ncols, out, err));
    for (uint32_t i = 0; i < ncols; i++) {
        const PlanCol *col = &plan->cols[i];
        (*out)->cols[i].name = str_of(col->name);
        (*out)->cols[i].expr = expr_col(b->arena, col->id, col->type, 0, err);
        TRY_PTR((*out)->cols[i].expr);
    }
    return TCUDB_OK;
}

tcudb_status bind_scope_add(Binder *b, Block *block, ScopeItem *item, Error *err)
{
    TRY_PTR(block->items = ARENA_MORE(b->arena, block->items, block->nitems, &block->items_cap, err));
    block->items[block->nitems++] = item;
    return TCUDB_OK;
}

/* Two entries of one FROM, or the two sides of a join, must not show the same name. */
tcudb_status bind_scope_conflict(const Block *block, uint32_t from, uint32_t middle, Error *err)
{
    for (uint32_t i = middle; i < block->nitems; i++) {
        const ScopeItem *item = block->items[i];
        for (uint32_t k = from; k < middle && item->rel_visible && item->name.len > 0; k++) {
            if (!block->items[k]->rel_visible || !str_equal(block->items[k]->name, item->name)) continue;
            return error_set(err, SQLSTATE_DUPLICATE_ALIAS, "table name \"" STR_FMT "\" specified more than once",
                             STR_ARG(item->name));
        }
    }
    return TCUDB_OK;
}

/* A reference to a scope column, at its place in the text. */
static tcudb_status reference(Binder *b, const ScopeCol *col, int position, Expr **out, Error *err)
{
    b->referred = col;
    if (col->expr->kind != EXPR_COL) {
        *out = col->expr; /* COALESCE of a FULL JOIN's USING columns */
        return TCUDB_OK;
    }
    *out = expr_col(b->arena, col->expr->col, col->expr->type, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static uint32_t block_depth(const Block *block)
{
    uint32_t depth = 0;
    for (; block != NULL; block = block->outer) depth++;
    return depth;
}

/* Tells the blocks between a reference and its column that they are correlated, and aggregates whose they are. */
static void note_level(Block *block, Block *found)
{
    for (Block *at = block;; at = at->outer) {
        assert(at != NULL);
        bool deeper = at->agg_owner == NULL || block_depth(found) > block_depth(at->agg_owner);
        if (at->in_agg && deeper) at->agg_owner = found;
        if (at == found) return;
        at->saw_outer = true;
    }
}

static tcudb_status find_in_item(const ScopeItem *item, Str name, int position, const ScopeCol **found, Error *err)
{
    assert(item != NULL);
    for (uint32_t i = 0; i < item->ncols; i++) {
        if (!str_equal(item->cols[i].name, name)) continue;
        if (*found != NULL) {
            return error_at(err, SQLSTATE_AMBIGUOUS_COLUMN, position, "column reference \"" STR_FMT "\" is ambiguous",
                            STR_ARG(name));
        }
        *found = &item->cols[i];
    }
    return TCUDB_OK;
}

/* The columns of a file are named by its header: Person is found as person too. */
static tcudb_status find_any_case(const ScopeItem *item, Str name, int position, const ScopeCol **found, Error *err)
{
    for (uint32_t i = 0; i < item->ncols; i++) {
        Str col = item->cols[i].name;
        if (col.len != name.len || strncasecmp(col.ptr, name.ptr, name.len) != 0) continue;
        if (*found != NULL) {
            return error_at(err, SQLSTATE_AMBIGUOUS_COLUMN, position, "column reference \"" STR_FMT "\" is ambiguous",
                            STR_ARG(name));
        }
        *found = &item->cols[i];
    }
    return TCUDB_OK;
}

tcudb_status bind_scope_find_local(Binder *b, Block *block, Str name, int position, Expr **out, Error *err)
{
    const ScopeCol *found = NULL;
    for (uint32_t i = block->first_visible; i < block->nitems; i++) {
        if (block->items[i]->cols_visible) TRY(find_in_item(block->items[i], name, position, &found, err));
    }
    for (uint32_t i = block->first_visible; found == NULL && i < block->nitems; i++) {
        if (block->items[i]->cols_visible && block->items[i]->any_case) {
            TRY(find_any_case(block->items[i], name, position, &found, err));
        }
    }
    *out = NULL;
    return found == NULL ? TCUDB_OK : reference(b, found, position, out, err);
}

/* *n: how many there are. */
static ScopeItem *find_item(const Block *block, Str name, uint32_t *n)
{
    ScopeItem *found = NULL;
    *n = 0;
    for (uint32_t i = block->first_visible; i < block->nitems; i++) {
        if (!block->items[i]->rel_visible || !str_equal(block->items[i]->name, name)) continue;
        if (found == NULL) found = block->items[i];
        ++*n;
    }
    return found;
}

/* An item that is there under another name, or not in sight from here; *lateral: only for want of LATERAL. */
static const ScopeItem *hidden_item(const Block *block, Str name, bool *lateral)
{
    uint32_t n = 0;
    *lateral = false;
    for (const Block *at = block; at != NULL; at = at->outer) {
        const ScopeItem *item = at->sibling == NULL ? NULL : find_item(at->sibling, name, &n);
        *lateral = item != NULL;
        for (uint32_t i = 0; item == NULL && i < at->nitems; i++) {
            if (str_equal(at->items[i]->name, name) || str_equal(at->items[i]->table, name)) item = at->items[i];
        }
        if (item != NULL) return item;
    }
    return NULL;
}

static tcudb_status no_item(const Block *block, Str name, int position, Error *err)
{
    bool lateral = false;
    const ScopeItem *item = hidden_item(block, name, &lateral);
    if (item == NULL) {
        return error_at(err, SQLSTATE_UNDEFINED_TABLE, position, "missing FROM-clause entry for table \"" STR_FMT "\"",
                        STR_ARG(name));
    }
    tcudb_status status = error_at(err, SQLSTATE_UNDEFINED_TABLE, position,
                                   "invalid reference to FROM-clause entry for table \"" STR_FMT "\"", STR_ARG(name));
    if (!lateral && item->rel_visible && !str_equal(item->name, name)) {
        error_hint(err, "Perhaps you meant to reference the table alias \"" STR_FMT "\".", STR_ARG(item->name));
        return status;
    }
    error_hint(err,
               "There is an entry for table \"" STR_FMT "\", but it cannot be referenced from this part of the query.",
               STR_ARG(name));
    return status;
}

tcudb_status bind_scope_find_item(Binder *b, Block *block, Str name, int position, ScopeItem **out, Block **level,
                                  Error *err)
{
    (void)b;
    for (Block *at = block; at != NULL; at = at->outer) {
        uint32_t n = 0;
        *out = find_item(at, name, &n);
        *level = at;
        if (n > 1) {
            return error_at(err, SQLSTATE_AMBIGUOUS_ALIAS, position, "table reference \"" STR_FMT "\" is ambiguous",
                            STR_ARG(name));
        }
        if (*out != NULL) return TCUDB_OK;
    }
    return no_item(block, name, position, err);
}

ScopeItem *bind_scope_item_named(Block *block, Str name, Block **level)
{
    for (*level = block; *level != NULL; *level = (*level)->outer) {
        uint32_t n = 0;
        ScopeItem *item = find_item(*level, name, &n);
        if (item != NULL) return n == 1 ? item : NULL;
    }
    return NULL;
}

static bool is_system_column(Str name)
{
    static const char *const names[] = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_equal(name, str_of(names[i]))) return true;
    return false;
}

static tcudb_status bare_column(Binder *b, Block *block, Str name, int position, Expr **out, Error *err)
{
    for (Block *at = block; at != NULL; at = at->outer) {
        TRY(bind_scope_find_local(b, at, name, position, out, err));
        if (*out != NULL) {
            note_level(block, at);
            return TCUDB_OK;
        }
    }
    for (Block *at = block; at != NULL; at = at->outer) {
        uint32_t n = 0;
        if (find_item(at, name, &n) == NULL) continue;
        error_unsupported(err, position, "a whole row (\"" STR_FMT "\") as a value", STR_ARG(name));
        error_hint(err, "Name its columns, or write " STR_FMT ".* in the select list.", STR_ARG(name));
        return TCUDB_ERROR;
    }
    if (is_system_column(name)) return error_unsupported(err, position, "the system column " STR_FMT, STR_ARG(name));
    tcudb_status status =
        error_at(err, SQLSTATE_UNDEFINED_COLUMN, position, "column \"" STR_FMT "\" does not exist", STR_ARG(name));
    bind_hint_column(block, (Str){0}, name, err);
    return status;
}

static tcudb_status qualified_column(Binder *b, Block *block, Str table, Str name, int position, Expr **out, Error *err)
{
    ScopeItem *item = NULL;
    Block *level = NULL;
    TRY(bind_scope_find_item(b, block, table, position, &item, &level, err));
    const ScopeCol *found = NULL;
    TRY(find_in_item(item, name, position, &found, err));
    assert(item != NULL);
    if (found == NULL && item->any_case) TRY(find_any_case(item, name, position, &found, err));
    if (found == NULL && is_system_column(name))
        return error_unsupported(err, position, "the system column " STR_FMT, STR_ARG(name));
    if (found == NULL) {
        tcudb_status status = error_at(err, SQLSTATE_UNDEFINED_COLUMN, position,
                                       "column " STR_FMT "." STR_FMT " does not exist", STR_ARG(table), STR_ARG(name));
        bind_hint_column(block, table, name, err);
        return status;
    }
    note_level(block, level);
    return reference(b, found, position, out, err);
}

tcudb_status bind_scope_column_ref(Binder *b, Block *block, const PgQuery__ColumnRef *ref, Expr **out, Error *err)
{
    int position = bind_position(b, ref->location);
    size_t n = ref->n_fields;
    if (NODE_IS(ref->fields[n - 1], A_STAR)) return error_unsupported(err, position, "a row (*) as a value");
    Str name = str_of(sql_string(ref->fields[n - 1]));
    if (n == 1 || b->stored) {
        TRY(bare_column(b, block, name, position, out, err));
        return bind_note_reference(b, block, ref, err);
    }
    Str table = str_of(sql_string(ref->fields[n - 2]));
    if (n == 3 && strcmp(sql_string(ref->fields[0]), "public") != 0) {
        return error_at(err, SQLSTATE_UNDEFINED_TABLE, position, "missing FROM-clause entry for table \"" STR_FMT "\"",
                        STR_ARG(table));
    }
    if (n > 4)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position,
                        "improper qualified name (too many dotted names): %s.%s.%s.%s.%s", sql_string(ref->fields[0]),
                        sql_string(ref->fields[1]), sql_string(ref->fields[2]), sql_string(ref->fields[3]),
                        sql_string(ref->fields[4]));
    if (n > 3) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "cross-database references are not implemented: %s.%s.%s.%s", sql_string(ref->fields[0]),
                        sql_string(ref->fields[1]), sql_string(ref->fields[2]), sql_string(ref->fields[3]));
    }
    TRY(qualified_column(b, block, table, name, position, out, err));
    return bind_note_reference(b, block, ref, err);
}

const char *bind_scope_column_name(Binder *b, const Block *block, ColId col, Error *err)
{
    for (uint32_t i = 0; i < block->nitems; i++) {
        const ScopeItem *item = block->items[i];
        for (uint32_t k = 0; k < item->ncols; k++) {
            if (item->cols[k].expr->kind != EXPR_COL || item->cols[k].expr->col != col) continue;
            Str name = item->cols[k].name;
            if (item->name.len == 0) return arena_printf(b->arena, err, STR_FMT, STR_ARG(name));
            return arena_printf(b->arena, err, STR_FMT "." STR_FMT, STR_ARG(item->name), STR_ARG(name));
        }
    }
    return "?";
}

tcudb_status bind_scope_row(Binder *b, const TableDef *def, const PlanCol *cols, Block *block, Error *err)
{
    ScopeItem *item = NULL;
    TRY(bind_scope_item_new(b, def->name, def->ncols, &item, err));
    for (uint32_t i = 0; i < def->ncols; i++) {
        item->cols[i].name = def->cols[i].name;
        item->cols[i].expr = expr_col(b->arena, cols[i].id, cols[i].type, 0, err);
        TRY_PTR(item->cols[i].expr);
    }
    return bind_scope_add(b, block, item, err);
}

tcudb_status bind_scope_table(Binder *b, const TableBuild *t, Block *block, Error *err)
{
    const TableDef def = bind_table_def(t, str_of(t->table));
    PlanCol *cols = ARENA_ARRAY(b->arena, PlanCol, t->n, err);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < t->n; i++) cols[i] = (PlanCol){.id = b->next_col++, .type = t->cols[i].type};
    return bind_scope_row(b, &def, cols, block, err);
}
