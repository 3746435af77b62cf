/*
 * referring.c: definitions and foreign keys: which tables refer to one, and what becomes of their constraints when it
 * goes, is emptied, loses a key or gets other names.
 *
 * Nothing is stored with the table that is referred to: the definitions of all tables are looked through. Cost: that, a
 * statement.
 */
#include "session/session_int.h"
#include "catalog/reference.h"

#include <assert.h>
#include <stdlib.h>

static int by_age(const void *a, const void *b)
{
    const Referring *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->reference.order > y->reference.order) - (x->reference.order < y->reference.order);
}

static tcudb_status add_referring(Run *run, const TableDef *def, Str table, Referring **out, uint32_t *n, uint32_t *cap,
                                  Error *err)
{
    Reference *list;
    uint32_t nlist;
    TRY(reference_list(run->arena, def, &list, &nlist, err));
    for (uint32_t i = 0; i < nlist; i++) {
        if (!str_equal(list[i].table, table)) continue;
        if (*n == *cap) {
            uint32_t more = *cap == 0 ? 8 : 2 * *cap;
            Referring *bigger = ARENA_ARRAY(run->arena, Referring, more, err);
            TRY_PTR(bigger);
            if (*n > 0) memcpy(bigger, *out, *n * sizeof *bigger);
            *out = bigger;
            *cap = more;
        }
        (*out)[(*n)++] = (Referring){def->id, def->name, list[i]};
    }
    return TCUDB_OK;
}

tcudb_status session_referring(Run *run, Str table, Referring **out, uint32_t *n, Error *err)
{
    Txn *txn = run->session->txn;
    uint32_t cap = 0;
    *out = NULL;
    *n = 0;
    if (txn_is_temp(txn, table)) return TCUDB_OK;
    for (uint32_t t = 0; t < txn_table_count(txn); t++)
        TRY(add_referring(run, table_def(txn_table_at(txn, t)), table, out, n, &cap, err));
    if (*n > 1) qsort(*out, *n, sizeof **out, by_age);
    return TCUDB_OK;
}

/* ---- notes written anew -------------------------------------------------------------------------- */

/* The table without the foreign key, or with it as it is now (may be NULL). */
static tcudb_status put_reference(Run *run, Str table, const Reference *old, const Reference *now, Error *err)
{
    Txn *txn = run->session->txn;
    TableDef def = *table_def(txn_table(txn, table));
    NoteDef *notes = ARENA_ARRAY(run->arena, NoteDef, def.nnotes + 1, err);
    TRY_PTR(notes);
    uint32_t n = 0;
    for (uint32_t i = 0; i < def.nnotes; i++) {
        NoteDef note = def.notes[i];
        if (note_is(&note, NOTE_REFERENCE) && str_equal(note.subject, old->name)) {
            if (now == NULL) continue;
            const char *text = reference_text(run->arena, now, err);
            TRY_PTR(text);
            note.text = str_of(text);
        }
        bool stray = now == NULL && note_is(&note, NOTE_CONSTRAINT) && str_equal(note.subject, old->name);
        if (!stray) notes[n++] = note;
    }
    def.notes = notes;
    def.nnotes = n;
    return txn_redefine_table(txn, table, &def, err);
}

static tcudb_status drop_reference(Run *run, const Referring *r, Error *err)
{
    session_notify(run->session, "NOTICE", "00000", "drop cascades to constraint " STR_FMT " on table " STR_FMT,
                   STR_ARG(r->reference.name), STR_ARG(r->table));
    return put_reference(run, r->table, &r->reference, NULL, err);
}

static bool is_one_of(Str name, const Str *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_equal(names[i], name)) return true;
    return false;
}

/* ---- DROP TABLE, TRUNCATE ------------------------------------------------------------------------ */

/* One more line of DETAIL. */
static tcudb_status add_dependent(Run *run, const char **lines, const Referring *r, const char *on, Error *err)
{
    *lines = arena_printf(run->arena, err, "%s%sconstraint " STR_FMT " on table " STR_FMT " depends on %s", *lines,
                          **lines == '\0' ? "" : "\n", STR_ARG(r->reference.name), STR_ARG(r->table), on);
    return *lines == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status depended_on(const char *what, const char *lines, Error *err)
{
    error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST, "cannot drop %s because other objects depend on it", what);
    error_detail(err, "%s", lines);
    error_hint(err, "Use DROP ... CASCADE to drop the dependent objects too.");
    return TCUDB_ERROR;
}

tcudb_status session_drop_referred(Run *run, Str table, Error *err)
{
    const Stmt *stmt = run->stmt;
    Referring *list;
    uint32_t n;
    const char *lines = "", *what = arena_printf(run->arena, err, "table " STR_FMT, STR_ARG(table));
    TRY_PTR(what);
    TRY(session_referring(run, table, &list, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        if (is_one_of(list[i].table, stmt->names, stmt->nnames)) continue;
        TRY(stmt->cascade ? drop_reference(run, &list[i], err) : add_dependent(run, &lines, &list[i], what, err));
    }
    return lines[0] == '\0' ? TCUDB_OK : depended_on(what, lines, err);
}

tcudb_status session_truncated(Run *run, const Str **names, uint32_t *n, Error *err)
{
    const Stmt *stmt = run->stmt;
    uint32_t tables = txn_table_count(run->session->txn);
    Str *all = ARENA_ARRAY(run->arena, Str, stmt->nnames + tables, err);
    TRY_PTR(all);
    memcpy(all, stmt->names, stmt->nnames * sizeof *all);
    *names = all;
    *n = stmt->nnames;
    for (uint32_t t = 0; t < *n; t++) {
        Referring *list;
        uint32_t nlist;
        TRY(session_referring(run, all[t], &list, &nlist, err));
        for (uint32_t i = 0; i < nlist; i++) {
            Str table = list[i].table;
            if (is_one_of(table, all, *n)) continue;
            if (stmt->cascade) {
                session_notify(run->session, "NOTICE", "00000", "truncate cascades to table \"" STR_FMT "\"",
                               STR_ARG(table));
                all[(*n)++] = table;
                continue;
            }
            error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                      "cannot truncate a table referenced in a foreign key constraint");
            error_detail(err, "Table \"" STR_FMT "\" references \"" STR_FMT "\".", STR_ARG(table), STR_ARG(all[t]));
            error_hint(err, "Truncate table \"" STR_FMT "\" at the same time, or use TRUNCATE ... CASCADE.",
                       STR_ARG(table));
            return TCUDB_ERROR;
        }
    }
    return TCUDB_OK;
}

/* ---- ALTER TABLE ---------------------------------------------------------------------------------- */

/* A table before and after: RENAME COLUMN keeps the places of columns. */
typedef struct Renaming {
    Str from, to;
    const TableDef *old, *now;
} Renaming;

static bool renames_columns(const Renaming *r)
{
    if (r->old->ncols != r->now->ncols) return false;
    for (uint32_t i = 0; i < r->old->ncols; i++)
        if (!str_equal(r->old->cols[i].name, r->now->cols[i].name)) return true;
    return false;
}

static bool map_names(const Renaming *r, Str *names, uint32_t n)
{
    bool changed = false;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t c = 0; c < r->old->ncols; c++) {
            if (!str_equal(r->old->cols[c].name, names[i])) continue;
            changed = changed || !str_equal(names[i], r->now->cols[c].name);
            names[i] = r->now->cols[c].name;
            break;
        }
    }
    return changed;
}

static tcudb_status rename_in(Run *run, const Renaming *r, Str table, bool columns, Error *err)
{
    Reference *list;
    uint32_t n;
    TRY(reference_list(run->arena, table_def(txn_table(run->session->txn, table)), &list, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        Reference old = list[i];
        bool changed = false;
        if (columns && str_equal(table, r->to)) changed = map_names(r, list[i].cols, list[i].n);
        if (str_equal(list[i].table, r->from)) {
            if (columns) changed = map_names(r, list[i].keys, list[i].n) || changed;
            changed = changed || !str_equal(r->from, r->to);
            list[i].table = r->to;
        }
        if (changed) TRY(put_reference(run, table, &old, &list[i], err));
    }
    return TCUDB_OK;
}

tcudb_status session_rename_referred(Run *run, Str from, const TableDef *old, Str to, Error *err)
{
    Txn *txn = run->session->txn;
    const Table *table = txn_table(txn, to);
    if (table == NULL) return TCUDB_OK; /* a view */
    const Renaming renaming = {from, to, old, table_def(table)};
    bool columns = renames_columns(&renaming);
    if (!columns && str_equal(from, to)) return TCUDB_OK;
    if (table_def(table)->temp != TEMP_NONE) return TCUDB_OK;
    uint32_t n = txn_table_count(txn);
    Str *names = ARENA_ARRAY(run->arena, Str, n + 1, err);
    TRY_PTR(names);
    for (uint32_t t = 0; t < n; t++) {
        Str name = table_def(txn_table_at(txn, t))->name;
        names[t] = (Str){arena_strndup(run->arena, name.ptr, name.len, err), name.len};
        TRY_PTR(names[t].ptr);
    }
    for (uint32_t t = 0; t < n; t++) TRY(rename_in(run, &renaming, names[t], columns, err));
    return TCUDB_OK;
}

/* The key over the columns of these names; NULL: none. */
static const KeyDef *key_of(const TableDef *def, const Str *names, uint32_t n)
{
    for (uint32_t k = 0; k < def->nkeys; k++) {
        const KeyDef *key = &def->keys[k];
        bool same = key->ncols == n;
        for (uint32_t i = 0; i < key->ncols; i++) same = same && is_one_of(def->cols[key->cols[i]].name, names, n);
        if (same) return key;
    }
    return NULL;
}

/* What of the old definition a foreign key needs and the new one has not. */
static tcudb_status lost_key(Run *run, const TableDef *old, const Reference *r, const char **what, const char **on,
                             Error *err)
{
    Str col = run->stmt->text;
    const KeyDef *key = key_of(old, r->keys, r->n);
    Str name = key == NULL ? (Str){0} : key->name;
    if (col.len > 0 && is_one_of(col, r->keys, r->n)) {
        *what = *on =
            arena_printf(run->arena, err, "column " STR_FMT " of table " STR_FMT, STR_ARG(col), STR_ARG(old->name));
        return *what == NULL ? TCUDB_NOMEM : TCUDB_OK;
    }
    bool only_index = key != NULL && note_only_index(old, key);
    *what = only_index ? arena_printf(run->arena, err, "index " STR_FMT, STR_ARG(name))
                       : arena_printf(run->arena, err, "constraint " STR_FMT " on table " STR_FMT, STR_ARG(name),
                                      STR_ARG(old->name));
    *on = *what == NULL ? NULL : arena_printf(run->arena, err, "index " STR_FMT, STR_ARG(name));
    return *on == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* Whether the new definition still has the key that a foreign key refers to, or neither of them. */
static tcudb_status still_there(Run *run, const TableDef *old, const Referring *r, bool *yes, Error *err)
{
    const TableDef *now = &run->stmt->table;
    const Renaming renaming = {old->name, old->name, old, now};
    uint32_t n = r->reference.n;
    Str *keys = ARENA_ARRAY(run->arena, Str, n, err);
    TRY_PTR(keys);
    memcpy(keys, r->reference.keys, n * sizeof *keys);
    if (renames_columns(&renaming)) (void)map_names(&renaming, keys, n);
    bool own = str_equal(r->table, old->name);
    *yes = key_of(now, keys, n) != NULL || (own && note_find(now, NOTE_REFERENCE, r->reference.name).ptr == NULL);
    return TCUDB_OK;
}

tcudb_status session_keep_referred(Run *run, const TableDef *old, Error *err)
{
    Referring *list;
    uint32_t n;
    const char *lines = "", *what = NULL, *on = NULL;
    TRY(session_referring(run, old->name, &list, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        bool there = false;
        TRY(still_there(run, old, &list[i], &there, err));
        if (there) continue;
        TRY(lost_key(run, old, &list[i].reference, &what, &on, err));
        if (!run->stmt->cascade)
            TRY(add_dependent(run, &lines, &list[i], on, err));
        else if (str_equal(list[i].table, old->name))
            return error_unsupported(err, 0, "CASCADE to a foreign key of the table itself");
        else
            TRY(drop_reference(run, &list[i], err));
    }
    return lines[0] == '\0' ? TCUDB_OK : depended_on(what, lines, err);
}

/* ---- columns of other types ------------------------------------------------------------------------ */

static bool any_retyped(const Stmt *stmt, const Str *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_one_of(names[i], stmt->retyped, stmt->nretyped)) return true;
    return false;
}

/* The definition as the statement leaves it. */
static const TableDef *def_after(Run *run, Str table)
{
    const TableDef *now = &run->stmt->table;
    return str_equal(table, now->name) ? now : table_def(txn_table(run->session->txn, table));
}

static const ColumnDef *column_of(const TableDef *def, Str name)
{
    for (uint32_t c = 0; c < def->ncols; c++)
        if (str_equal(def->cols[c].name, name)) return &def->cols[c];
    return NULL;
}

static tcudb_status types_agree(Run *run, const Referring *r, Error *err)
{
    const TableDef *from = def_after(run, r->table), *to = def_after(run, r->reference.table);
    for (uint32_t i = 0; i < r->reference.n; i++) {
        const ColumnDef *col = column_of(from, r->reference.cols[i]), *key = column_of(to, r->reference.keys[i]);
        assert(col != NULL && key != NULL);
        TRY(reference_check_types(&r->reference, col, key, err));
    }
    return TCUDB_OK;
}

tcudb_status session_retyped_references(Run *run, Referring **out, uint32_t *n, Error *err)
{
    const Stmt *stmt = run->stmt;
    const TableDef *now = &stmt->table;
    Reference *own;
    Referring *others;
    uint32_t nown, nothers;
    *n = 0;
    *out = NULL;
    if (stmt->nretyped == 0 || now->temp != TEMP_NONE) return TCUDB_OK;
    TRY(reference_list(run->arena, now, &own, &nown, err));
    TRY(session_referring(run, now->name, &others, &nothers, err));
    *out = ARENA_ARRAY(run->arena, Referring, (size_t)nown + nothers, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < nown; i++) {
        bool keys = str_equal(own[i].table, now->name) && any_retyped(stmt, own[i].keys, own[i].n);
        if (keys || any_retyped(stmt, own[i].cols, own[i].n))
            (*out)[(*n)++] = (Referring){.table = now->name, .reference = own[i]};
    }
    for (uint32_t i = 0; i < nothers; i++)
        if (!str_equal(others[i].table, now->name) &&
            any_retyped(stmt, others[i].reference.keys, others[i].reference.n))
            (*out)[(*n)++] = others[i];
    for (uint32_t i = 0; i < *n; i++) TRY(types_agree(run, &(*out)[i], err));
    return TCUDB_OK;
}
