/*
 * reference.h: FOREIGN KEY constraints as they stand in a table's definition.
 */
#ifndef CATALOG_REFERENCE_H
#define CATALOG_REFERENCE_H

#include "catalog/notes.h"

#define NOTE_REFERENCE "reference" /* about a constraint: a foreign key */

/* What happens to rows that refer to one that goes or changes its key: the letters of pg_constraint. */
typedef enum ReferenceAction {
    REFERENCE_NO_ACTION = 'a',
    REFERENCE_RESTRICT = 'r',
    REFERENCE_CASCADE = 'c',
    REFERENCE_SET_NULL = 'n',
    REFERENCE_SET_DEFAULT = 'd'
} ReferenceAction;

typedef struct Reference {
    Str name;       /* of the constraint */
    uint32_t order; /* among those of its table: as they were made */
    uint32_t n;     /* columns on both sides */
    Str *cols;      /* of the table itself */
    Str table;      /* that is referred to */
    Str *keys;      /* its columns */
    ReferenceAction on_update, on_delete;
    bool full; /* MATCH FULL: all columns are NULL, or none */
} Reference;

/* The text of its note; NULL: no memory. */
const char *reference_text(Arena *arena, const Reference *reference, Error *err) MUST_CHECK;
/* *is false: the note is none. Names point into the definition. */
tcudb_status reference_read(Arena *arena, const NoteDef *note, Reference *out, bool *is, Error *err) MUST_CHECK;
/* All of a table's, in the order they were made; NULL and 0: none. */
tcudb_status reference_list(Arena *arena, const TableDef *def, Reference **out, uint32_t *n, Error *err) MUST_CHECK;
bool reference_any(const TableDef *def);
/* "FOREIGN KEY (a, b) REFERENCES t(x, y) ON DELETE CASCADE", as PostgreSQL shows it. */
tcudb_status reference_sql(const Reference *reference, Buf *out, Error *err) MUST_CHECK;
/* 42804: a column cannot be compared with the key that it refers to. */
tcudb_status reference_check_types(const Reference *r, const ColumnDef *col, const ColumnDef *key,
                                   Error *err) MUST_CHECK;
/* "NO ACTION" */
const char *reference_action(ReferenceAction action);

#endif
