/*
 * notes.c: carries out COMMENT ON, and forgets what was said of a view that goes.
 */
#include "session/session_int.h"

tcudb_status session_note(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    if (stmt->flag) return txn_create_table(run->session->txn, &stmt->table, err);
    return txn_redefine_table(run->session->txn, stmt->name, &stmt->table, err);
}

static bool about_view(const NoteDef *note, Str view)
{
    Str subject = note->subject;
    if (note_is(note, NOTE_VIEW)) return str_equal(subject, view);
    return note_is(note, NOTE_COLUMN) && subject.len > view.len && memcmp(subject.ptr, view.ptr, view.len) == 0 &&
           subject.ptr[view.len] == '\1';
}

tcudb_status session_forget_view(Run *run, Str view, Error *err)
{
    const Table *notes = txn_permanent_table(run->session->txn, NOTES_TABLE);
    if (notes == NULL) return TCUDB_OK;
    TableDef def = *table_def(notes);
    NoteDef *kept = ARENA_ARRAY(run->arena, NoteDef, def.nnotes, err);
    TRY_PTR(kept);
    uint32_t n = 0;
    for (uint32_t i = 0; i < def.nnotes; i++)
        if (!about_view(&def.notes[i], view)) kept[n++] = def.notes[i];
    if (n == def.nnotes) return TCUDB_OK;
    def.notes = kept;
    def.nnotes = n;
    return txn_redefine_table(run->session->txn, NOTES_TABLE, &def, err);
}
