/*
 * csv_columns.c: column lists as text: columns => 'id bigint, "Unit Price" numeric(10,2), day date'.
 *
 *     list = column {"," column};  column = name type;  name = word | '"' characters '"'
 *     type = word {word} ["(" number {"," number} ")"]
 */
#include "files/csv.h"

#include <ctype.h>
#include <strings.h>

enum { MAX_MODS = 2 };

/* SQL's spellings that are not pg_type's names. */
static const struct TypeSpelling {
    const char *sql, *pg;
} spellings[] = {
    {"integer", "int4"},
    {"int", "int4"},
    {"bigint", "int8"},
    {"smallint", "int2"},
    {"boolean", "bool"},
    {"real", "float4"},
    {"double", "float8"},
    {"double precision", "float8"},
    {"float", "float8"},
    {"decimal", "numeric"},
    {"char", "bpchar"},
    {"character", "bpchar"},
    {"character varying", "varchar"},
    {"timestamp without time zone", "timestamp"},
    {"string", "text"},
};

static tcudb_status bad_list(const char *text, const char *at, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                                    "read_csv: cannot read the column list at \"%.40s\"", *at == '\0' ? text : at);
    error_hint(err, "A list is written like 'id bigint, \"Unit Price\" numeric(10,2), day date'.");
    return status;
}

static void skip_blanks(const char **at)
{
    while (isspace((unsigned char)**at)) (*at)++;
}

static tcudb_status take_name(Arena *arena, const char **at, const char *text, const char **name, Error *err)
{
    const char *start = *at, *end;
    if (*start == '"') {
        end = strchr(++start, '"');
        if (end == NULL) return bad_list(text, *at, err);
        *at = end + 1;
    } else {
        end = start;
        while (isalnum((unsigned char)*end) || *end == '_' || (*end & 0x80) != 0) end++;
        *at = end;
    }
    if (end == start) return bad_list(text, start, err);
    *name = arena_strndup(arena, start, (size_t)(end - start), err);
    TRY_PTR(*name);
    return TCUDB_OK;
}

static tcudb_status take_mods(const char **at, const char *text, int64_t *mods, uint32_t *nmods, Error *err)
{
    *nmods = 0;
    if (**at != '(') return TCUDB_OK;
    do {
        (*at)++;
        skip_blanks(at);
        int64_t n = 0;
        if (!isdigit((unsigned char)**at) || *nmods == MAX_MODS) return bad_list(text, *at, err);
        while (isdigit((unsigned char)**at) && n < 100000000) n = n * 10 + *(*at)++ - '0';
        mods[(*nmods)++] = n;
        skip_blanks(at);
    } while (**at == ',');
    if (**at != ')') return bad_list(text, *at, err);
    (*at)++;
    skip_blanks(at);
    return TCUDB_OK;
}

static tcudb_status take_type(const char **at, const char *text, Type *type, Error *err)
{
    char name[40];
    uint32_t n = 0;
    int64_t mods[MAX_MODS];
    uint32_t nmods;
    const char *start = *at;
    while (isalnum((unsigned char)**at) || **at == '_') {
        if (n > 0 && n < sizeof name - 1) name[n++] = ' ';
        for (; isalnum((unsigned char)**at) || **at == '_'; (*at)++)
            if (n < sizeof name - 1) name[n++] = (char)tolower((unsigned char)**at);
        skip_blanks(at);
    }
    name[n] = '\0';
    if (n == 0) return bad_list(text, start, err);
    TRY(take_mods(at, text, mods, &nmods, err));
    bool one_char = nmods == 0 && (strcmp(name, "char") == 0 || strcmp(name, "character") == 0);
    if (one_char) mods[nmods++] = 1;
    const char *pg = name;
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (strcmp(name, spellings[i].sql) == 0) pg = spellings[i].pg;
    return type_from_name(str_of(pg), mods, nmods, 0, type, err);
}

tcudb_status csv_parse_columns(Arena *arena, const char *text, uint32_t *n, const char ***names, Type **types,
                               Error *err)
{
    uint32_t room = 1;
    for (const char *p = text; *p != '\0'; p++) room += *p == ',';
    *names = ARENA_ARRAY(arena, const char *, room, err);
    TRY_PTR(*names);
    *types = ARENA_ARRAY(arena, Type, room, err);
    TRY_PTR(*types);
    *n = 0;
    const char *at = text;
    for (;;) {
        skip_blanks(&at);
        TRY(take_name(arena, &at, text, &(*names)[*n], err));
        skip_blanks(&at);
        TRY(take_type(&at, text, &(*types)[*n], err));
        (*n)++;
        if (*at == '\0') return TCUDB_OK;
        if (*at != ',') return bad_list(text, at, err);
        at++;
    }
}
