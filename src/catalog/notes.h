/*
 * notes.h: what is said of a table beside its definition: comments, sequences, identity columns.
 */
#ifndef CATALOG_NOTES_H
#define CATALOG_NOTES_H

#include "store/store.h"

/* A note is kept as a CheckDef whose name is a byte 1, the kind, a blank and what it is about; `sql` is its text. */
#define NOTE_COMMENT    "comment"    /* about "" (the table) or a column */
#define NOTE_CONSTRAINT "constraint" /* a comment about a constraint */
#define NOTE_SEQUENCE   "sequence"   /* about "": the table is a sequence; its definition */
#define NOTE_SERIAL     "serial"     /* about a column: the sequence that goes with it */
#define NOTE_IDENTITY   "identity"   /* about a column: "a" ALWAYS, "d" BY DEFAULT */
#define NOTE_GENERATED  "generated"  /* about a column: the expression it is computed by */
#define NOTE_VIEW       "view"       /* a comment about a view, in the table NOTES_TABLE */
#define NOTE_COLUMN     "column"     /* about a view's column: the view, a byte 1, the column */
#define NOTE_SCHEMA     "schema"

/* A table without rows for notes about what is not a table. */
#define NOTES_TABLE STR_LIT("\1notes")

/* Whether a check is a note, no condition. */
static inline bool note_is(const CheckDef *check)
{
    return check->name.len > 0 && check->name.ptr[0] == '\1';
}

/* The checks that are conditions. */
uint32_t note_conditions(const TableDef *def);
/* Takes a note's name apart. */
bool note_about(const CheckDef *check, const char *kind, Str *subject);
/* The text of a note; ptr NULL: there is none. */
Str note_find(const TableDef *def, const char *kind, Str subject);
/* Its name, in the arena; NULL: no memory. */
const char *note_name(Arena *arena, const char *kind, Str subject, Error *err) MUST_CHECK;

/* ---- sequences: tables of one row (last_value, log_cnt, is_called) ---- */

typedef struct SequenceDef {
    TypeId type; /* TYPE_INT2, INT4, INT8 */
    int64_t start, increment, min, max, cache;
    bool cycle;
} SequenceDef;

/* false: the table is none. */
bool note_sequence(const TableDef *def, SequenceDef *out);
const char *note_sequence_text(Arena *arena, const SequenceDef *def, Error *err) MUST_CHECK;

#endif
