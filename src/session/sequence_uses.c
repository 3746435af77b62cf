/*
 * sequence_uses.c: defaults that take numbers from a sequence: they follow its name, and hold it or go with it.
 *
 * Nothing is stored with the sequence: the defaults of all tables are looked through. Cost: that, a statement.
 */
#include "session/session_int.h"
#include "catalog/sequence_uses.h"

static bool uses(Str sql, Str literal)
{
    size_t at = 0;
    for (Str found; sequence_uses_next(sql, &at, &found);)
        if (str_equal(found, literal)) return true;
    return false;
}

/* ---- names --------------------------------------------------------------------------------------- */

static tcudb_status renamed(Arena *arena, Str sql, Str from, Str to, Str *out, Error *err)
{
    Buf buf;
    size_t at = 0, done = 0;
    tcudb_status status = TCUDB_OK;
    buf_init(&buf, NULL);
    for (Str found; sequence_uses_next(sql, &at, &found);) {
        if (!str_equal(found, from)) continue;
        TRY_GOTO(buf_str(&buf, (Str){sql.ptr + done, (uint32_t)(found.ptr - sql.ptr) - (uint32_t)done}, err));
        TRY_GOTO(buf_str(&buf, to, err));
        done = at;
    }
    TRY_GOTO(buf_str(&buf, (Str){sql.ptr + done, (uint32_t)(sql.len - done)}, err));
    *out = (Str){arena_strndup(arena, buf.data, buf.len, err), (uint32_t)buf.len};
    if (out->ptr == NULL) status = TCUDB_NOMEM;
done:
    buf_free(&buf);
    return status;
}

typedef struct Change {
    Str name, to; /* of the sequence; to.ptr NULL: it goes */
    Str literal, literal_to;
} Change;

/* *changed: the definition differs. */
static tcudb_status change_columns(Arena *arena, const Change *change, TableDef *def, bool *changed, Error *err)
{
    ColumnDef *cols = ARENA_ARRAY(arena, ColumnDef, def->ncols, err);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < def->ncols; i++) {
        cols[i] = def->cols[i];
        if (!uses(cols[i].default_sql, change->literal)) continue;
        *changed = true;
        if (change->to.ptr == NULL)
            cols[i].default_sql = (Str){0};
        else
            TRY(renamed(arena, cols[i].default_sql, change->literal, change->literal_to, &cols[i].default_sql, err));
    }
    def->cols = cols;
    return TCUDB_OK;
}

/* Those that say that the sequence goes with a column. */
static tcudb_status change_notes(Arena *arena, const Change *change, TableDef *def, bool *changed, Error *err)
{
    uint32_t n = 0;
    NoteDef *notes = ARENA_ARRAY(arena, NoteDef, def->nnotes, err);
    TRY_PTR(notes);
    for (uint32_t i = 0; i < def->nnotes; i++) {
        NoteDef note = def->notes[i];
        bool owner = note_is(&note, NOTE_SERIAL) && str_equal(note.text, change->name);
        *changed = *changed || owner;
        if (owner) note.text = change->to;
        if (!owner || change->to.ptr != NULL) notes[n++] = note;
    }
    def->notes = notes;
    def->nnotes = n;
    return TCUDB_OK;
}

static tcudb_status change_all(Run *run, const Change *change, bool temp, Error *err)
{
    Txn *txn = run->session->txn;
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        TableDef def = *table_def(txn_table_at(txn, t));
        bool changed = false;
        if (temp && def.temp == TEMP_NONE) continue;
        TRY(change_columns(run->arena, change, &def, &changed, err));
        TRY(change_notes(run->arena, change, &def, &changed, err));
        if (!changed) continue;
        if (def.temp == TEMP_NONE && txn_is_temp(txn, def.name))
            return error_unsupported(err, 0, "a sequence of a table that a temporary table hides");
        TRY(txn_redefine_table(txn, def.name, &def, err));
    }
    return TCUDB_OK;
}

tcudb_status session_rename_sequence_uses(Run *run, const TableDef *sequence, Str to, Error *err)
{
    Change change = {.name = sequence->name, .to = to};
    TRY(sequence_uses_literal(run->arena, change.name, &change.literal, err));
    TRY(sequence_uses_literal(run->arena, to, &change.literal_to, err));
    return change_all(run, &change, sequence->temp != TEMP_NONE, err);
}

/* ---- DROP SEQUENCE ------------------------------------------------------------------------------- */

static tcudb_status required(Str sequence, const ColumnDef *col, Str table, Error *err)
{
    error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST,
              "cannot drop sequence " STR_FMT " because column " STR_FMT " of table " STR_FMT " requires it",
              STR_ARG(sequence), STR_ARG(col->name), STR_ARG(table));
    error_hint(err, "You can drop column " STR_FMT " of table " STR_FMT " instead.", STR_ARG(col->name),
               STR_ARG(table));
    return TCUDB_ERROR;
}

/* What the table's defaults say to it: a line of DETAIL for each that holds it. */
static tcudb_status held_by(Run *run, const TableDef *def, const Change *change, const char **lines, Error *err)
{
    for (uint32_t i = 0; i < def->ncols; i++) {
        const ColumnDef *col = &def->cols[i];
        if (!uses(col->default_sql, change->literal)) continue;
        if (note_find(def, NOTE_IDENTITY, col->name).ptr != NULL) return required(change->name, col, def->name, err);
        const char *what = arena_printf(run->arena, err, "default value for column " STR_FMT " of table " STR_FMT,
                                        STR_ARG(col->name), STR_ARG(def->name));
        TRY_PTR(what);
        if (run->stmt->cascade) session_notify(run->session, "NOTICE", "00000", "drop cascades to %s", what);
        *lines = arena_printf(run->arena, err, "%s%s%s depends on sequence " STR_FMT, *lines,
                              **lines == '\0' ? "" : "\n", what, STR_ARG(change->name));
        TRY_PTR(*lines);
    }
    return TCUDB_OK;
}

tcudb_status session_drop_sequence(Run *run, Str name, Error *err)
{
    Txn *txn = run->session->txn;
    bool temp = txn_is_temp(txn, name);
    const char *lines = "";
    Change change = {.name = name};
    TRY(sequence_uses_literal(run->arena, name, &change.literal, err));
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const TableDef *def = table_def(txn_table_at(txn, t));
        if (!temp || def->temp != TEMP_NONE) TRY(held_by(run, def, &change, &lines, err));
    }
    if (lines[0] == '\0' || run->stmt->cascade) {
        TRY(change_all(run, &change, temp, err));
        return txn_drop_table(txn, name, err);
    }
    error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST,
              "cannot drop sequence " STR_FMT " because other objects depend on it", STR_ARG(name));
    error_detail(err, "%s", lines);
    error_hint(err, "Use DROP ... CASCADE to drop the dependent objects too.");
    return TCUDB_ERROR;
}
