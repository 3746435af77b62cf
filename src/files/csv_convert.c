/*
 * csv_convert.c: columns of read_csv whose values are not written the type's own way, and what errors say.
 *
 * Numbers with a decimal comma or thousands separators are rewritten and then read as usual; dates and
 * timestamps with a pattern are read by datetime.c.
 */
#include "files/convert.h"
#include "files/csv.h"

#include <assert.h>
#include <stdio.h>

enum { SLACK = 8 };

/* Drops the thousands separators, turns the decimal separator into a point. */
static tcudb_status rewrite_numbers(const CsvColumn *c, Str *texts, const uint64_t *valid, uint32_t n, Arena *arena,
                                    Error *err)
{
    for (uint32_t row = 0; row < n; row++) {
        if (valid != NULL && !bit_get(valid, row)) continue;
        Str text = texts[row];
        char *out = arena_alloc_raw(arena, text.len + SLACK, err);
        TRY_PTR(out);
        uint32_t at = 0;
        for (uint32_t i = 0; i < text.len; i++) {
            if (c->thousands != '\0' && text.ptr[i] == c->thousands) continue;
            char ch = text.ptr[i];
            out[at++] = ch == c->decimal ? '.' : ch == '.' && c->decimal != '.' ? ',' : ch; /* 1.5 is no number then */
        }
        texts[row] = (Str){out, at};
    }
    return TCUDB_OK;
}

static tcudb_status bad_datetime(const CsvColumn *c, Str text, Error *err)
{
    bool date = c->type.id == TYPE_DATE;
    return error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid input syntax for type %s: \"%.*s\" is not like %s",
                     date ? "date" : "timestamp", text.len > 60 ? 60 : (int)text.len, text.ptr, c->format);
}

static tcudb_status parse_pattern(const CsvColumn *c, const Str *texts, const uint64_t *valid, uint32_t n, Vector *out,
                                  uint64_t *bad, uint32_t *bad_row, Error *err)
{
    const int64_t day = INT64_C(86400000000);
    for (uint32_t row = 0; row < n; row++) {
        if (valid != NULL && !bit_get(valid, row)) continue;
        int64_t micros = 0;
        if (!datetime_parse(c->format, texts[row], &micros)) {
            *bad_row = row;
            if (bad == NULL) return bad_datetime(c, texts[row], err);
            bit_set(bad, row);
        }
        if (c->type.id == TYPE_DATE)
            ((int32_t *)out->data)[row] = (int32_t)((micros - (micros % day + day) % day) / day);
        else
            ((int64_t *)out->data)[row] = micros;
    }
    return TCUDB_OK;
}

tcudb_status csv_convert_column(const CsvColumn *c, Str *texts, uint64_t *valid, uint32_t n, Arena *arena, Vector *out,
                                uint64_t *bad, uint32_t *bad_row, Error *err)
{
    *bad_row = 0;
    if (c->format != NULL) {
        assert(c->type.id == TYPE_DATE || c->type.id == TYPE_TIMESTAMP);
        TRY(vec_new(arena, c->type, n, out, err));
        out->valid = valid;
        return parse_pattern(c, texts, valid, n, out, bad, bad_row, err);
    }
    if (type_is_numeric(c->type) && (c->thousands != '\0' || (c->decimal != '.' && c->decimal != '\0')))
        TRY(rewrite_numbers(c, texts, valid, n, arena, err));
    return convert_column(c->type, texts, valid, n, arena, out, bad, bad_row, err);
}

/* ---- errors ------------------------------------------------------------------------------- */

const char *csv_show_char(char c, char buffer[8])
{
    if (c == '\0')
        snprintf(buffer, 8, "none");
    else if (c == '\t')
        snprintf(buffer, 8, "'\\t'");
    else
        snprintf(buffer, 8, "'%c'", c);
    return buffer;
}

void csv_explain(Error *err, const CsvFormat *f, const char *path, uint64_t line, const char *column, Str text)
{
    char delim[8], quote[8], escape[8];
    char place[300];
    if (column != NULL)
        snprintf(place, sizeof place, "line %llu, column \"%.100s\"", (unsigned long long)line, column);
    else
        snprintf(place, sizeof place, "line %llu", (unsigned long long)line);
    error_detail(err,
                 "File \"%.200s\", %s. It was read with delim %s, quote %s, escape %s, header %s, skip %llu, encoding "
                 "%s, as its first %llu records suggest.",
                 path, place, csv_show_char(f->dialect.delim, delim), csv_show_char(f->dialect.quote, quote),
                 csv_show_char(f->dialect.escape, escape), f->header ? "true" : "false", (unsigned long long)f->skip,
                 encoding_name(f->encoding), (unsigned long long)f->sampled);
    if (column != NULL)
        error_hint(err,
                   "Give types => '\"%.100s\" text' to read the column as text, nullstr => '%.*s' if this stands for "
                   "NULL, or ignore_errors => true to leave such records out.",
                   column, text.len > 40 ? 40 : (int)text.len, text.ptr);
    else if (strcmp(err->sqlstate, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE) == 0)
        error_hint(err, "Give encoding => 'latin-1' (or the file's encoding), or ignore_errors => true to leave such "
                        "records out.");
    else
        error_hint(err, "Give delim, quote or skip if they were guessed wrong, null_padding => true to fill short "
                        "records with NULL, or ignore_errors => true to leave such records out.");
}
