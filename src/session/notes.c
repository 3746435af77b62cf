/*
 * notes.c: carries out COMMENT ON; what was said of a view goes with it, also to another name.
 */
#include "session/session_int.h"

#include <stdlib.h>

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

/* The subject of a note about the view, under its new name. */
static tcudb_status rename_subject(Arena *arena, Str view, Str to, Str *subject, Error *err)
{
    const char *text =
        arena_printf(arena, err, STR_FMT "%.*s", STR_ARG(to), (int)(subject->len - view.len), subject->ptr + view.len);
    TRY_PTR(text);
    *subject = str_of(text);
    return TCUDB_OK;
}

/* What was said of the view is said of `to` (ptr NULL: of nothing). */
static tcudb_status change_view(Run *run, Str view, Str to, Error *err)
{
    const Table *notes = txn_permanent_table(run->session->txn, NOTES_TABLE);
    if (notes == NULL) return TCUDB_OK;
    TableDef def = *table_def(notes);
    NoteDef *kept = ARENA_ARRAY(run->arena, NoteDef, def.nnotes, err);
    TRY_PTR(kept);
    uint32_t n = 0, changed = 0;
    for (uint32_t i = 0; i < def.nnotes; i++) {
        bool about = about_view(&def.notes[i], view);
        changed += about;
        if (about && to.ptr == NULL) continue;
        kept[n] = def.notes[i];
        if (about) TRY(rename_subject(run->arena, view, to, &kept[n].subject, err));
        n++;
    }
    if (changed == 0) return TCUDB_OK;
    qsort(kept, n, sizeof *kept, note_order);
    def.notes = kept;
    def.nnotes = n;
    return txn_redefine_table(run->session->txn, NOTES_TABLE, &def, err);
}

tcudb_status session_forget_view(Run *run, Str view, Error *err)
{
    return change_view(run, view, (Str){0}, err);
}

tcudb_status session_rename_view(Run *run, Str view, Str to, Error *err)
{
    Txn *txn = run->session->txn;
    ViewDef def = *txn_view(txn, view);
    def.name = to;
    TRY(change_view(run, view, to, err));
    TRY(txn_create_view(txn, &def, false, err));
    return txn_drop_view(txn, view, err);
}
