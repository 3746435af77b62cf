/*
 * reference.c: FOREIGN KEY and REFERENCES: from CREATE and ALTER TABLE into a note of the table (catalog/reference.h).
 *
 * What is said of a wrong one, and in which order it is looked for, is PostgreSQL's. The columns that are referred to
 * have a key of their own; the types on both sides are compared by an operator of one family, or the referring side
 * becomes the other by an implicit cast. session/references.c enforces them.
 */
#include "bind/bind_int.h"
#include "catalog/reference.h"

#include <assert.h>

/* The table that is referred to: another one, or the one that is being defined. */
typedef struct Referred {
    Str name;
    uint32_t ncols, nkeys;
    const ColumnDef *cols;
    const KeyDef *keys;
} Referred;

static tcudb_status refuse_forms(Binder *b, const PgQuery__Constraint *node, Error *err)
{
    int position = bind_position(b, node->location);
    if (node->deferrable || node->initdeferred) return error_unsupported(err, position, "DEFERRABLE");
    if (node->n_fk_del_set_cols > 0) return error_unsupported(err, position, "ON DELETE SET ... of some columns");
    if (node->skip_validation && !node->initially_valid) return error_unsupported(err, position, "NOT VALID");
    if (node->fk_matchtype[0] == 'p')
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented");
    return TCUDB_OK;
}

static tcudb_status find_referred(Binder *b, const TableBuild *t, const PgQuery__RangeVar *range, Referred *out,
                                  Error *err)
{
    Str name = {0};
    TRY(bind_relation_name(b, range, &name, err));
    const Table *table = bind_find_table(b, name);
    *out = (Referred){name, t->n, t->nkeys, t->cols, t->keys};
    if (bind_name_is(name, t->table)) return TCUDB_OK;
    if (table != NULL) {
        const TableDef *def = table_def(table);
        SequenceDef sequence;
        if (def->temp != TEMP_NONE && t->temp) return error_unsupported(err, 0, "a foreign key of a temporary table");
        if (def->temp != TEMP_NONE)
            return error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION,
                             "constraints on permanent tables may reference only permanent tables");
        *out = (Referred){name, def->ncols, def->nkeys, def->cols, def->keys};
        if (!note_sequence(def, &sequence)) return TCUDB_OK;
    } else if (txn_view(b->env->txn, name) == NULL) {
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
    }
    return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "referenced relation \"" STR_FMT "\" is not a table",
                     STR_ARG(name));
}

/* ---- columns */

static tcudb_status column_numbers(Binder *b, const ColumnDef *cols, uint32_t ncols, Node *const *names, size_t n,
                                   uint32_t **out, Error *err)
{
    *out = ARENA_ARRAY(b->arena, uint32_t, n, err);
    TRY_PTR(*out);
    for (size_t i = 0; i < n; i++) {
        uint32_t *at = &(*out)[i];
        while (*at < ncols && !bind_name_is(cols[*at].name, sql_string(names[i]))) ++*at;
        if (*at < ncols) continue;
        return error_set(err, SQLSTATE_UNDEFINED_COLUMN,
                         "column \"%s\" referenced in foreign key constraint does not exist", sql_string(names[i]));
    }
    return TCUDB_OK;
}

static bool key_is_of(const KeyDef *key, const uint32_t *cols, uint32_t n)
{
    bool same = key->ncols == n;
    for (uint32_t i = 0; i < n && same; i++) {
        bool there = false;
        for (uint32_t k = 0; k < n; k++) there = there || key->cols[k] == cols[i];
        same = there;
    }
    return same;
}

static tcudb_status named_keys(Binder *b, const Referred *to, const PgQuery__Constraint *node, uint32_t **out,
                               uint32_t *n, Error *err)
{
    TRY(column_numbers(b, to->cols, to->ncols, node->pk_attrs, node->n_pk_attrs, out, err));
    *n = (uint32_t)node->n_pk_attrs;
    for (uint32_t i = 0; i < *n; i++)
        for (uint32_t k = 0; k < i; k++)
            if ((*out)[i] == (*out)[k])
                return error_set(err, SQLSTATE_INVALID_FOREIGN_KEY,
                                 "foreign key referenced-columns list must not contain duplicates");
    for (uint32_t k = 0; k < to->nkeys; k++)
        if (key_is_of(&to->keys[k], *out, *n)) return TCUDB_OK;
    return error_set(err, SQLSTATE_INVALID_FOREIGN_KEY,
                     "there is no unique constraint matching given keys for referenced table \"" STR_FMT "\"",
                     STR_ARG(to->name));
}

static tcudb_status primary_key(Binder *b, const Referred *to, uint32_t **out, uint32_t *n, Error *err)
{
    const KeyDef *key = NULL;
    for (uint32_t k = 0; k < to->nkeys; k++)
        if (to->keys[k].primary) key = &to->keys[k];
    if (key == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_OBJECT, "there is no primary key for referenced table \"" STR_FMT "\"",
                         STR_ARG(to->name));
    *n = key->ncols;
    *out = ARENA_ARRAY(b->arena, uint32_t, *n, err);
    TRY_PTR(*out);
    memcpy(*out, key->cols, *n * sizeof **out);
    return TCUDB_OK;
}

/* ---- the constraint */

static tcudb_status name_it(Binder *b, const TableBuild *t, const PgQuery__Constraint *node, const uint32_t *col,
                            Str *out, Error *err)
{
    const char *made = t->table;
    for (size_t i = 0; i < node->n_fk_attrs && made != NULL; i++)
        made = arena_printf(b->arena, err, "%s_%s", made, sql_string(node->fk_attrs[i]));
    if (col != NULL) made = arena_printf(b->arena, err, "%s_" STR_FMT, made, STR_ARG(t->cols[*col].name));
    TRY_PTR(made);
    made = arena_printf(b->arena, err, "%s_fkey", made);
    TRY_PTR(made);
    return bind_constraint_free_name(b, t, node->conname, made, out, err);
}

static tcudb_status settle_columns(Binder *b, const TableBuild *t, const Referred *to, const uint32_t *cols,
                                   uint32_t ncols, const uint32_t *keys, uint32_t nkeys, Reference *r, Error *err)
{
    if (ncols != nkeys)
        return error_set(err, SQLSTATE_INVALID_FOREIGN_KEY,
                         "number of referencing and referenced columns for foreign key disagree");
    r->n = ncols;
    r->cols = ARENA_ARRAY(b->arena, Str, (size_t)2 * ncols, err);
    TRY_PTR(r->cols);
    r->keys = r->cols + ncols;
    for (uint32_t i = 0; i < ncols; i++) {
        TRY(reference_check_types(r, &t->cols[cols[i]], &to->cols[keys[i]], err));
        r->cols[i] = t->cols[cols[i]].name;
        r->keys[i] = to->cols[keys[i]].name;
    }
    return TCUDB_OK;
}

/* A generated column cannot be set. */
static tcudb_status check_actions(const TableBuild *t, const Reference *r, const uint32_t *cols, uint32_t n, Error *err)
{
    const TableDef now = bind_table_def(t, str_of(t->table));
    const ReferenceAction actions[] = {r->on_update, r->on_delete};
    for (uint32_t i = 0; i < n; i++) {
        if (!bind_is_generated(&now, t->cols[cols[i]].name)) continue;
        for (uint32_t k = 0; k < 2; k++) {
            bool sets = actions[k] == REFERENCE_SET_NULL || actions[k] == REFERENCE_SET_DEFAULT;
            if (sets || (k == 0 && actions[k] == REFERENCE_CASCADE))
                return error_set(err, SQLSTATE_SYNTAX_ERROR,
                                 "invalid %s action for foreign key constraint containing generated column",
                                 k == 0 ? "ON UPDATE" : "ON DELETE");
        }
    }
    return TCUDB_OK;
}

static tcudb_status next_order(Binder *b, const TableBuild *t, uint32_t *out, Error *err)
{
    const TableDef now = bind_table_def(t, str_of(t->table));
    Reference *list;
    uint32_t n;
    TRY(reference_list(b->arena, &now, &list, &n, err));
    *out = n == 0 ? 0 : list[n - 1].order + 1;
    return TCUDB_OK;
}

tcudb_status bind_reference(Binder *b, TableBuild *t, const PgQuery__Constraint *node, const uint32_t *col, Error *err)
{
    Referred to;
    uint32_t *cols = NULL, *keys = NULL, nkeys = 0, ncols = col == NULL ? (uint32_t)node->n_fk_attrs : 1;
    Reference r = {.on_update = (ReferenceAction)node->fk_upd_action[0],
                   .on_delete = (ReferenceAction)node->fk_del_action[0],
                   .full = node->fk_matchtype[0] == 'f'};
    TRY(refuse_forms(b, node, err));
    TRY(name_it(b, t, node, col, &r.name, err));
    TRY(find_referred(b, t, node->pktable, &to, err));
    if (col == NULL) TRY(column_numbers(b, t->cols, t->n, node->fk_attrs, node->n_fk_attrs, &cols, err));
    if (node->n_pk_attrs == 0)
        TRY(primary_key(b, &to, &keys, &nkeys, err));
    else
        TRY(named_keys(b, &to, node, &keys, &nkeys, err));
    TRY(check_actions(t, &r, col == NULL ? cols : col, ncols, err));
    r.table = to.name;
    TRY(settle_columns(b, t, &to, col == NULL ? cols : col, ncols, keys, nkeys, &r, err));
    TRY(next_order(b, t, &r.order, err));
    const char *text = reference_text(b->arena, &r, err);
    TRY_PTR(text);
    bind_set_note(t, NOTE_REFERENCE, r.name, str_of(text));
    return TCUDB_OK;
}

tcudb_status bind_reference_mentions(Binder *b, const NoteDef *note, Str col, bool *yes, Error *err)
{
    Reference r;
    bool is = false;
    TRY(reference_read(b->arena, note, &r, &is, err));
    for (uint32_t i = 0; is && i < r.n; i++) *yes = *yes || str_equal(r.cols[i], col);
    return TCUDB_OK;
}

tcudb_status bind_is_followed(Binder *b, const TableDef *def, const bool *set, bool *yes, Error *err)
{
    Txn *txn = b->env->txn;
    *yes = false;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        Reference *list;
        uint32_t n;
        TRY(reference_list(b->arena, table_def(txn_table_at(txn, t)), &list, &n, err));
        for (uint32_t i = 0; i < n; i++) {
            if (list[i].on_update != REFERENCE_CASCADE || !str_equal(list[i].table, def->name)) continue;
            for (uint32_t k = 0; k < list[i].n; k++)
                for (uint32_t c = 0; c < def->ncols; c++)
                    *yes = *yes || (set[c] && str_equal(def->cols[c].name, list[i].keys[k]));
        }
    }
    return TCUDB_OK;
}
