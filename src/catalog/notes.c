/*
 * notes.c: notes in a table's definition.
 *
 * They take the place of checks, because checks are a list of names and texts that goes wherever the table goes: into
 * the log, through ROLLBACK, RENAME and ALTER TABLE. Whoever looks at conditions passes over them (note_is).
 */
#include "catalog/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t note_conditions(const TableDef *def)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->nchecks; i++) n += !note_is(&def->checks[i]);
    return n;
}

bool note_about(const CheckDef *check, const char *kind, Str *subject)
{
    uint32_t n = (uint32_t)strlen(kind);
    if (!note_is(check) || check->name.len < n + 2) return false;
    if (memcmp(check->name.ptr + 1, kind, n) != 0 || check->name.ptr[n + 1] != ' ') return false;
    *subject = (Str){check->name.ptr + n + 2, check->name.len - n - 2};
    return true;
}

Str note_find(const TableDef *def, const char *kind, Str subject)
{
    for (uint32_t i = 0; i < def->nchecks; i++) {
        Str about;
        if (note_about(&def->checks[i], kind, &about) && str_equal(about, subject)) return def->checks[i].sql;
    }
    return (Str){0};
}

const char *note_name(Arena *arena, const char *kind, Str subject, Error *err)
{
    return arena_printf(arena, err, "\1%s " STR_FMT, kind, STR_ARG(subject));
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
