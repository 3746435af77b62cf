/*
 * notes.h: what is said of a table beside its columns and constraints: comments, sequences, identity columns.
 */
#ifndef CATALOG_NOTES_H
#define CATALOG_NOTES_H

#include "store/store.h"

/* The kinds of a NoteDef, and its subject. */
#define NOTE_COMMENT    "comment"    /* "" (the table) or a column */
#define NOTE_CONSTRAINT "constraint" /* a comment about a constraint */
#define NOTE_SEQUENCE   "sequence"   /* "": the table is a sequence; its definition */
#define NOTE_SERIAL     "serial"     /* a column: the sequence that goes with it */
#define NOTE_IDENTITY   "identity"   /* a column: "a" ALWAYS, "d" BY DEFAULT */
#define NOTE_GENERATED  "generated"  /* a column: the expression it is computed by */
#define NOTE_INDEX      "index"  /* the name of an index: its columns' names, byte 1 between them; "" an expression */
#define NOTE_VIEW       "view"   /* a comment about a view, in the table NOTES_TABLE */
#define NOTE_COLUMN     "column" /* a view's column: the view, a byte 1, the column */
#define NOTE_SCHEMA     "schema"

/* A table without rows for notes about what is not a table. */
#define NOTES_TABLE STR_LIT("\1notes")

bool note_is(const NoteDef *note, const char *kind);
/* Whether an index has the column. */
bool note_indexes(const NoteDef *note, Str column);
/* Whether a key is that of CREATE UNIQUE INDEX, which is no constraint. */
bool note_only_index(const TableDef *def, const KeyDef *key);
/* The text of a note; ptr NULL: there is none. */
Str note_find(const TableDef *def, const char *kind, Str subject);
/* Orders them as a definition has them: for qsort. */
int note_order(const void *a, const void *b);

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
