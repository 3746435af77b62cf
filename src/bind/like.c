/*
 * like.c: CREATE TABLE t (LIKE other INCLUDING ...): another relation's columns, and what else of it is asked for.
 *
 * Types and NOT NULL always come along; defaults, checks (by their names) and keys (with names of their own, as if the
 * statement had defined them) where INCLUDING says so. Of a view there are names and types.
 */
#include "bind/bind_int.h"

enum { LIKE_CONSTRAINTS = 0x4, LIKE_DEFAULTS = 0x8, LIKE_INDEXES = 0x40 }; /* libpg_query's options */

typedef struct Source {
    const TableDef *def;
    const ViewDef *view;
} Source;

static tcudb_status find_source(Binder *b, const PgQuery__RangeVar *range, Source *out, Error *err)
{
    Str name = {0};
    tcudb_status status = bind_relation_name(b, range, &name, err);
    if (status != TCUDB_OK && err != NULL) err->position = bind_position(b, range->location);
    TRY(status);
    const Table *table = txn_table(b->env->txn, name);
    *out = (Source){table == NULL ? NULL : table_def(table), txn_view(b->env->txn, name)};
    if (out->def != NULL || out->view != NULL) return TCUDB_OK;
    return error_at(err, SQLSTATE_UNDEFINED_TABLE, bind_position(b, range->location), "relation \"%s\" does not exist",
                    range->relname);
}

uint32_t bind_like_room(Binder *b, const PgQuery__TableLikeClause *like)
{
    Source source;
    if (find_source(b, like->relation, &source, NULL) != TCUDB_OK) return 0;
    if (source.def == NULL) return source.view->ncols;
    return source.def->ncols + source.def->nkeys + source.def->nchecks;
}

static tcudb_status add_column(TableBuild *t, const ColumnDef *col, Error *err)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (str_equal(t->cols[i].name, col->name))
            return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"" STR_FMT "\" specified more than once",
                             STR_ARG(col->name));
    t->cols[t->n++] = *col;
    return TCUDB_OK;
}

static tcudb_status view_columns(Binder *b, const ViewDef *view, int position, TableBuild *t, Error *err)
{
    Plan *plan = NULL;
    TRY(bind_view(b, view, position, &plan, err));
    for (uint32_t i = 0; i < view->ncols; i++)
        TRY(add_column(t, &(ColumnDef){.name = view->cols[i], .type = plan->cols[i].type}, err));
    return TCUDB_OK;
}

tcudb_status bind_like_columns(Binder *b, TableBuild *t, const PgQuery__TableLikeClause *like, Error *err)
{
    Source source;
    TRY(find_source(b, like->relation, &source, err));
    if (source.def == NULL) return view_columns(b, source.view, bind_position(b, like->relation->location), t, err);
    for (uint32_t i = 0; i < source.def->ncols; i++) {
        ColumnDef col = source.def->cols[i];
        if (!(like->options & LIKE_DEFAULTS)) col.default_sql = (Str){0};
        TRY(add_column(t, &col, err));
    }
    return TCUDB_OK;
}

/* A key's columns by their numbers in the new table. */
static tcudb_status copy_key(Binder *b, TableBuild *t, const TableDef *def, const KeyDef *key, Error *err)
{
    uint32_t *cols = ARENA_ARRAY(b->arena, uint32_t, key->ncols, err);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < key->ncols; i++)
        while (!str_equal(t->cols[cols[i]].name, def->cols[key->cols[i]].name)) cols[i]++;
    return bind_constraint_add_key(b, t, "", &(KeyDef){.primary = key->primary, .ncols = key->ncols, .cols = cols}, 0,
                                   err);
}

tcudb_status bind_like_constraints(Binder *b, TableBuild *t, const PgQuery__TableLikeClause *like, bool checks,
                                   Error *err)
{
    Source source;
    TRY(find_source(b, like->relation, &source, err));
    const TableDef *def = source.def;
    if (def == NULL) return TCUDB_OK;
    for (uint32_t i = 0; checks && (like->options & LIKE_CONSTRAINTS) && i < def->nchecks; i++)
        TRY(bind_constraint_add_check(t, &def->checks[i], err));
    for (uint32_t i = 0; !checks && (like->options & LIKE_INDEXES) && i < def->nkeys; i++)
        TRY(copy_key(b, t, def, &def->keys[i], err));
    return TCUDB_OK;
}
