/*
 * reference.c: foreign keys as notes (notes.h) of the table that refers.
 *
 *     kind     reference
 *     subject  t_a_b_fkey
 *     text     0 acs \1p \1a \1x \1b \1y     order, actions on update and delete, MATCH SIMPLE; the table referred to;
 *                                         pairs of columns, the table's own first
 *
 * Tables and columns are kept by their names, so whoever renames one writes the notes anew (session/references.c).
 */
#include "catalog/reference.h"
#include "type/func.h"

#include <assert.h>
#include <stdlib.h>

static tcudb_status write_text(const Reference *r, Buf *out, Error *err)
{
    TRY(buf_printf(out, err, "%u %c%c%c\1" STR_FMT, r->order, (char)r->on_update, (char)r->on_delete,
                   r->full ? 'f' : 's', STR_ARG(r->table)));
    for (uint32_t i = 0; i < r->n; i++)
        TRY(buf_printf(out, err, "\1" STR_FMT "\1" STR_FMT, STR_ARG(r->cols[i]), STR_ARG(r->keys[i])));
    return TCUDB_OK;
}

const char *reference_text(Arena *arena, const Reference *reference, Error *err)
{
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = write_text(reference, &buf, err);
    char *text = status == TCUDB_OK ? arena_strndup(arena, buf.data, buf.len, err) : NULL;
    buf_free(&buf);
    return text;
}

/* The text up to the next byte 1, which is passed over. */
static Str next_part(Str *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->ptr, '\1', rest->len);
    Str part = {rest->ptr, end == NULL ? rest->len : (uint32_t)(end - rest->ptr)};
    uint32_t past = end == NULL ? part.len : part.len + 1;
    *rest = (Str){rest->ptr + past, rest->len - past};
    return part;
}

static tcudb_status damaged(const NoteDef *note, Error *err)
{
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "the foreign key \"" STR_FMT "\" is damaged",
                     STR_ARG(note->subject));
}

tcudb_status reference_read(Arena *arena, const NoteDef *note, Reference *out, bool *is, Error *err)
{
    Str rest = note->text;
    *out = (Reference){.name = note->subject};
    *is = note_is(note, NOTE_REFERENCE);
    if (!*is) return TCUDB_OK;
    uint32_t parts = 0;
    for (uint32_t i = 0; i < rest.len; i++) parts += rest.ptr[i] == '\1';
    Str head = next_part(&rest);
    enum { LETTERS = 3 };
    if (parts < 3 || parts % 2 == 0 || head.len < LETTERS + 2) return damaged(note, err);
    for (uint32_t i = 0; i < head.len - LETTERS - 1; i++) out->order = out->order * 10 + (uint32_t)(head.ptr[i] - '0');
    const char *letters = head.ptr + head.len - LETTERS;
    out->on_update = (ReferenceAction)letters[0];
    out->on_delete = (ReferenceAction)letters[1];
    out->full = letters[2] == 'f';
    out->table = next_part(&rest);
    out->n = (parts - 1) / 2;
    out->cols = ARENA_ARRAY(arena, Str, (size_t)2 * out->n, err);
    TRY_PTR(out->cols);
    out->keys = out->cols + out->n;
    for (uint32_t i = 0; i < out->n; i++) {
        out->cols[i] = next_part(&rest);
        out->keys[i] = next_part(&rest);
    }
    return TCUDB_OK;
}

bool reference_any(const TableDef *def)
{
    for (uint32_t i = 0; i < def->nnotes; i++)
        if (note_is(&def->notes[i], NOTE_REFERENCE)) return true;
    return false;
}

static int by_order(const void *a, const void *b)
{
    uint32_t x = ((const Reference *)a)->order, y = ((const Reference *)b)->order;
    return (x > y) - (x < y);
}

tcudb_status reference_list(Arena *arena, const TableDef *def, Reference **out, uint32_t *n, Error *err)
{
    *out = NULL;
    *n = 0;
    if (!reference_any(def)) return TCUDB_OK;
    *out = ARENA_ARRAY(arena, Reference, def->nnotes, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < def->nnotes; i++) {
        bool is = false;
        TRY(reference_read(arena, &def->notes[i], &(*out)[*n], &is, err));
        *n += is;
    }
    assert(*n > 0);
    qsort(*out, *n, sizeof **out, by_order);
    return TCUDB_OK;
}

static tcudb_status name_list(const Str *names, uint32_t n, Buf *out, Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        TRY(buf_printf(out, err, "%s", i == 0 ? "(" : ", "));
        TRY(text_quote_name(names[i], out, err));
    }
    return buf_printf(out, err, ")");
}

const char *reference_action(ReferenceAction action)
{
    switch (action) {
    case REFERENCE_RESTRICT: return "RESTRICT";
    case REFERENCE_CASCADE: return "CASCADE";
    case REFERENCE_SET_NULL: return "SET NULL";
    case REFERENCE_SET_DEFAULT: return "SET DEFAULT";
    default: return "NO ACTION";
    }
}

tcudb_status reference_sql(const Reference *reference, Buf *out, Error *err)
{
    TRY(buf_printf(out, err, "FOREIGN KEY "));
    TRY(name_list(reference->cols, reference->n, out, err));
    TRY(buf_printf(out, err, " REFERENCES "));
    TRY(text_quote_name(reference->table, out, err));
    TRY(name_list(reference->keys, reference->n, out, err));
    if (reference->full) TRY(buf_printf(out, err, " MATCH FULL"));
    if (reference->on_update != REFERENCE_NO_ACTION)
        TRY(buf_printf(out, err, " ON UPDATE %s", reference_action(reference->on_update)));
    if (reference->on_delete != REFERENCE_NO_ACTION)
        TRY(buf_printf(out, err, " ON DELETE %s", reference_action(reference->on_delete)));
    return TCUDB_OK;
}

/* Types that PostgreSQL compares within one family of operators. */
static int family(Type type)
{
    switch (type.id) {
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8: return TYPE_INT4;
    case TYPE_FLOAT4:
    case TYPE_FLOAT8: return TYPE_FLOAT8;
    case TYPE_TEXT:
    case TYPE_VARCHAR: return TYPE_TEXT;
    case TYPE_DATE:
    case TYPE_TIMESTAMP: return TYPE_DATE;
    default: return (int)type.id;
    }
}

tcudb_status reference_check_types(const Reference *r, const ColumnDef *col, const ColumnDef *key, Error *err)
{
    const Func *cast = NULL;
    if (family(col->type) == family(key->type)) return TCUDB_OK;
    if (func_cast(col->type, key->type, CAST_IMPLICIT, 0, &cast, NULL) == TCUDB_OK) return TCUDB_OK;
    error_set(err, SQLSTATE_DATATYPE_MISMATCH, "foreign key constraint \"" STR_FMT "\" cannot be implemented",
              STR_ARG(r->name));
    error_detail(err, "Key columns \"" STR_FMT "\" and \"" STR_FMT "\" are of incompatible types: %s and %s.",
                 STR_ARG(col->name), STR_ARG(key->name), type_base_name(col->type), type_base_name(key->type));
    return TCUDB_ERROR;
}
