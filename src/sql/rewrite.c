/*
 * rewrite.c: FROM 'data.csv' -> FROM read_csv('data.csv'), at the level of tokens.
 *
 * A string in the place of a table is not PostgreSQL's grammar. A string is in that place if it follows FROM,
 * JOIN or a comma of a FROM clause. FROM also occurs in EXTRACT(f FROM x), SUBSTRING(s FROM n), TRIM(FROM s),
 * IS DISTINCT FROM and COPY t FROM 'file'; so only a FROM at the parenthesis level of a SELECT opens a FROM
 * clause, and parentheses right after FROM, JOIN, a comma or each other continue it.
 *
 *     SELECT count(*) FROM 'a.csv' a JOIN 'b.parquet' b USING (id)
 *     SELECT count(*) FROM read_csv('a.csv') a JOIN read_parquet('b.parquet') b USING (id)
 */
#include "sql/sql_int.h"

#include <assert.h>

enum { LEVELS_MAX = 2048 };

/* State of one parenthesis level. */
enum { LEVEL_SELECT = 1, LEVEL_FROM = 2 };

static bool ends_from(int kind)
{
    switch (kind) {
    case PG_QUERY__TOKEN__WHERE:
    case PG_QUERY__TOKEN__VALUES:
    case PG_QUERY__TOKEN__GROUP_P:
    case PG_QUERY__TOKEN__HAVING:
    case PG_QUERY__TOKEN__WINDOW:
    case PG_QUERY__TOKEN__ORDER:
    case PG_QUERY__TOKEN__LIMIT:
    case PG_QUERY__TOKEN__OFFSET:
    case PG_QUERY__TOKEN__FETCH:
    case PG_QUERY__TOKEN__FOR:
    case PG_QUERY__TOKEN__UNION:
    case PG_QUERY__TOKEN__INTERSECT:
    case PG_QUERY__TOKEN__EXCEPT: return true;
    default: return false;
    }
}

static bool is_distinct_from(const SqlToken *tokens, uint32_t i)
{
    if (i < 2 || tokens[i - 1].kind != PG_QUERY__TOKEN__DISTINCT) return false;
    return tokens[i - 2].kind == PG_QUERY__TOKEN__IS || tokens[i - 2].kind == PG_QUERY__TOKEN__NOT;
}

/* Whether a table may stand after token i - 1, given the level's state. */
static bool table_place(const SqlToken *tokens, uint32_t i, uint8_t state)
{
    if ((state & LEVEL_FROM) == 0 || i == 0) return false;
    int before = tokens[i - 1].kind;
    if (before == PG_QUERY__TOKEN__FROM) return !is_distinct_from(tokens, i - 1);
    return before == PG_QUERY__TOKEN__JOIN || before == PG_QUERY__TOKEN__ASCII_44 ||
           before == PG_QUERY__TOKEN__ASCII_40;
}

static bool has_ending(const char *text, uint32_t len, const char *ending)
{
    size_t n = strlen(ending);
    return len >= n && strncasecmp(text + len - n, ending, n) == 0;
}

static const char *reader_of(const char *text, const SqlToken *token)
{
    const char *file = text + token->start + 1;
    uint32_t len = token->end - token->start - 2;
    if (has_ending(file, len, ".parquet")) return "read_parquet(";
    if (has_ending(file, len, ".json") || has_ending(file, len, ".jsonl") || has_ending(file, len, ".ndjson"))
        return "read_json(";
    return "read_csv(";
}

/* Marks the string tokens that stand for tables; returns how many there are. */
static uint32_t find_files(const char *text, const SqlToken *tokens, uint32_t n, bool *file)
{
    uint8_t state[LEVELS_MAX] = {0};
    uint32_t level = 0, found = 0;
    for (uint32_t i = 0; i < n; i++) {
        int kind = tokens[i].kind;
        if (kind == PG_QUERY__TOKEN__ASCII_59) {
            level = 0;
            state[0] = 0;
        } else if (kind == PG_QUERY__TOKEN__ASCII_40 && level + 1 < LEVELS_MAX) {
            bool inherit = table_place(tokens, i, state[level]);
            state[++level] = inherit ? LEVEL_FROM : 0;
        } else if (kind == PG_QUERY__TOKEN__ASCII_41 && level > 0) {
            level--;
        } else if (kind == PG_QUERY__TOKEN__SELECT) {
            state[level] = LEVEL_SELECT;
        } else if (kind == PG_QUERY__TOKEN__FROM && (state[level] & LEVEL_SELECT) && !is_distinct_from(tokens, i)) {
            state[level] |= LEVEL_FROM;
        } else if (ends_from(kind)) {
            state[level] &= (uint8_t)~LEVEL_FROM;
        } else if (kind == PG_QUERY__TOKEN__SCONST && text[tokens[i].start] == '\'') {
            file[i] = table_place(tokens, i, state[level]);
            found += file[i];
        }
    }
    return found;
}

tcudb_status sql_rewrite_files(Arena *arena, const SqlToken *tokens, uint32_t n, SqlSource *source, Error *err)
{
    assert(source->nedits == 0);
    bool *file = ARENA_ARRAY(arena, bool, n, err);
    TRY_PTR(file);
    uint32_t found = find_files(source->parsed, tokens, n, file);
    if (found == 0) return TCUDB_OK;
    SqlEdit *edits = ARENA_ARRAY(arena, SqlEdit, 2 * found, err);
    TRY_PTR(edits);
    char *text = arena_alloc_raw(arena, source->parsed_len + 16 * (size_t)found + 1, err);
    TRY_PTR(text);
    uint32_t from = 0, to = 0, nedits = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!file[i]) continue;
        const char *reader = reader_of(source->parsed, &tokens[i]);
        uint32_t ends[2] = {tokens[i].start, tokens[i].end};
        const char *pieces[2] = {reader, ")"};
        for (int k = 0; k < 2; k++) {
            memcpy(text + to, source->parsed + from, ends[k] - from);
            to += ends[k] - from;
            from = ends[k];
            edits[nedits++] = (SqlEdit){to, (uint32_t)strlen(pieces[k])};
            memcpy(text + to, pieces[k], strlen(pieces[k]));
            to += (uint32_t)strlen(pieces[k]);
        }
    }
    memcpy(text + to, source->parsed + from, source->parsed_len - from + 1);
    source->parsed = text;
    source->parsed_len = to + source->parsed_len - from;
    source->edits = edits;
    source->nedits = nedits;
    return TCUDB_OK;
}
