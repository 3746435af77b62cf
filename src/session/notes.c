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

static bool about_view(const CheckDef *check, Str view)
{
    Str subject;
    if (note_about(check, NOTE_VIEW, &subject)) return str_equal(subject, view);
    return note_about(check, NOTE_COLUMN, &subject) && subject.len > view.len &&
           memcmp(subject.ptr, view.ptr, view.len) == 0 && subject.ptr[view.len] == '\1';
}

tcudb_status session_forget_view(Run *run, Str view, Error *err)
{
    const Table *notes = txn_permanent_table(run->session->txn, NOTES_TABLE);
    if (notes == NULL) return TCUDB_OK;
    TableDef def = *table_def(notes);
    CheckDef *kept = ARENA_ARRAY(run->arena, CheckDef, def.nchecks, err);
    TRY_PTR(kept);
    uint32_t n = 0;
    for (uint32_t i = 0; i < def.nchecks; i++)
        if (!about_view(&def.checks[i], view)) kept[n++] = def.checks[i];
    if (n == def.nchecks) return TCUDB_OK;
    def.checks = kept;
    def.nchecks = n;
    return txn_redefine_table(run->session->txn, NOTES_TABLE, &def, err);
}
