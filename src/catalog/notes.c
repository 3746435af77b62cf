/*
 * notes.c: notes in a table's definition. They go wherever the table goes: into the log, through ROLLBACK, RENAME and
 * ALTER TABLE.
 */
#include "catalog/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool note_is(const NoteDef *note, const char *kind)
{
    return str_equal(note->kind, str_of(kind));
}

bool note_indexes(const NoteDef *note, Str column)
{
    const char *at = note->text.ptr, *end = at + note->text.len;
    while (note_is(note, NOTE_INDEX) && at <= end) {
        const char *stop = memchr(at, '\1', (size_t)(end - at));
        if (stop == NULL) stop = end;
        if (str_equal((Str){at, (uint32_t)(stop - at)}, column)) return true;
        at = stop + 1;
    }
    return false;
}

Str note_find(const TableDef *def, const char *kind, Str subject)
{
    for (uint32_t i = 0; i < def->nnotes; i++)
        if (note_is(&def->notes[i], kind) && str_equal(def->notes[i].subject, subject)) return def->notes[i].text;
    return (Str){0};
}

bool note_only_index(const TableDef *def, const KeyDef *key)
{
    return note_find(def, NOTE_INDEX, key->name).ptr != NULL;
}

int note_order(const void *a, const void *b)
{
    const NoteDef *x = a, *y = b;
    int kinds = str_compare(x->kind, y->kind);
    return kinds != 0 ? kinds : str_compare(x->subject, y->subject);
}

/* "5 1 1 1 9223372036854775807 1 0": the TypeId, then the numbers, then whether it cycles. */
bool note_sequence(const TableDef *def, SequenceDef *out)
{
    Str text = note_find(def, NOTE_SEQUENCE, (Str){0});
    char copy[160];
    int type = 0, cycle = 0;
    if (text.ptr == NULL) return false;
    snprintf(copy, sizeof copy, STR_FMT, STR_ARG(text));
    char *at = copy;
    type = (int)strtol(at, &at, 10);
    int64_t *const numbers[] = {&out->start, &out->increment, &out->min, &out->max, &out->cache};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) *numbers[i] = strtoll(at, &at, 10);
    cycle = (int)strtol(at, &at, 10);
    out->type = (TypeId)type;
    out->cycle = cycle != 0;
    return true;
}

const char *note_sequence_text(Arena *arena, const SequenceDef *def, Error *err)
{
    return arena_printf(arena, err, "%d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d", (int)def->type,
                        def->start, def->increment, def->min, def->max, def->cache, def->cycle);
}
