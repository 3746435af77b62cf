/*
 * csv_options.c: the arguments of read_csv.
 *
 * The first is the file: a path or a glob. The others are named and listed in one table; a name may have
 * aliases that users of other systems know. The option's value may come as text, boolean or number, whatever
 * was convenient to write.
 */
#include "files/csv.h"

#include <glob.h>
#include <strings.h>
#include <unistd.h>

enum { DEFAULT_SAMPLE = 20480, DEFAULT_LINE = 64 << 20 };

static const char csv_usage[] =
    "read_csv('file', delim =>, quote =>, escape =>, header =>, skip =>, comment =>, nullstr =>, encoding =>, "
    "decimal =>, thousands =>, dateformat =>, timestampformat =>, columns => 'a int, b text', types =>, all_text =>, "
    "null_padding =>, ignore_errors =>, filename =>, sample_size =>, max_line_size =>)";

/* ---- values ------------------------------------------------------------------------------- */

static tcudb_status bad_value(const TableFuncArg *arg, const char *want, Error *err)
{
    tcudb_status status = error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, arg->position,
                                   "read_csv: option %.*s must be %s", STR_ARG(arg->name), want);
    error_hint(err, "Usage: %s", csv_usage);
    return status;
}

static tcudb_status take_bool(const TableFuncArg *arg, bool *out, Error *err)
{
    const Value *v = &arg->value;
    *out = true;
    if (v->null) return TCUDB_OK;
    if (v->type.id == TYPE_BOOL) {
        *out = v->b;
        return TCUDB_OK;
    }
    if (v->type.id == TYPE_INT4 && (v->i32 == 0 || v->i32 == 1)) {
        *out = v->i32 == 1;
        return TCUDB_OK;
    }
    if (!type_is_text(v->type)) return bad_value(arg, "true or false", err);
    static const char *const yes[] = {"true", "on", "yes", "t", "1"}, *const no[] = {"false", "off", "no", "f", "0"};
    for (int i = 0; i < 5; i++) {
        if (v->str.len == strlen(yes[i]) && strncasecmp(v->str.ptr, yes[i], v->str.len) == 0) return TCUDB_OK;
        *out = false;
        if (v->str.len == strlen(no[i]) && strncasecmp(v->str.ptr, no[i], v->str.len) == 0) return TCUDB_OK;
        *out = true;
    }
    return bad_value(arg, "true or false", err);
}

static tcudb_status take_count(const TableFuncArg *arg, uint64_t *out, Error *err)
{
    const Value *v = &arg->value;
    int64_t n = -1;
    if (!v->null && v->type.id == TYPE_INT4) n = v->i32;
    if (!v->null && v->type.id == TYPE_INT8) n = v->i64;
    if (n < -1 || (n == -1 && (v->null || v->type.id != TYPE_INT4))) return bad_value(arg, "a number", err);
    *out = n < 0 ? UINT64_MAX : (uint64_t)n; /* -1: all */
    return TCUDB_OK;
}

static tcudb_status take_text(const TableFuncArg *arg, Str *out, Error *err)
{
    if (arg->value.null || !type_is_text(arg->value.type)) return bad_value(arg, "a text", err);
    *out = arg->value.str;
    return TCUDB_OK;
}

/* A single byte, '' for none; \t is understood. */
static tcudb_status take_char(const TableFuncArg *arg, bool may_be_none, bool *has, char *out, Error *err)
{
    Str text = {0};
    TRY(take_text(arg, &text, err));
    *has = true;
    if (str_equal(text, STR_LIT("\\t"))) text = STR_LIT("\t");
    if (text.len == 0 && may_be_none) {
        *out = '\0';
        return TCUDB_OK;
    }
    if (text.len != 1 || text.ptr[0] == '\n' || text.ptr[0] == '\r' || text.ptr[0] == '\0')
        return bad_value(arg, may_be_none ? "a single one-byte character or ''" : "a single one-byte character", err);
    *out = text.ptr[0];
    return TCUDB_OK;
}

static tcudb_status take_string(Arena *arena, const TableFuncArg *arg, const char **out, Error *err)
{
    Str text = {0};
    TRY(take_text(arg, &text, err));
    *out = arena_strndup(arena, text.ptr, text.len, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status take_format(Arena *arena, const TableFuncArg *arg, const char **out, Error *err)
{
    TRY(take_string(arena, arg, out, err));
    if (datetime_valid(*out)) return TCUDB_OK;
    return bad_value(arg, "a pattern of %Y %y %m %d %b %B %H %I %M %S %p %Z", err);
}

/* nullstr => 'NA' or 'NA|-|NULL'. */
static tcudb_status take_nulls(Arena *arena, const TableFuncArg *arg, CsvOptions *out, Error *err)
{
    Str text = {0};
    TRY(take_text(arg, &text, err));
    uint32_t n = 1;
    for (uint32_t i = 0; i < text.len; i++) n += text.ptr[i] == '|';
    Str *nulls = ARENA_ARRAY(arena, Str, n, err);
    TRY_PTR(nulls);
    char *copy = arena_strndup(arena, text.ptr, text.len, err);
    TRY_PTR(copy);
    out->nnulls = 0;
    for (char *p = copy;;) {
        char *end = strchr(p, '|');
        uint32_t len = end == NULL ? (uint32_t)strlen(p) : (uint32_t)(end - p);
        nulls[out->nnulls++] = (Str){p, len};
        if (end == NULL) break;
        p = end + 1;
    }
    out->nulls = nulls;
    out->has_nulls = true;
    return TCUDB_OK;
}

static tcudb_status take_encoding(const TableFuncArg *arg, CsvOptions *out, Error *err)
{
    Str name = {0};
    TRY(take_text(arg, &name, err));
    out->has_encoding = true;
    if (encoding_from_name(name, &out->encoding)) return TCUDB_OK;
    return bad_value(arg, "utf-8, utf-16, utf-16be, latin-1 or windows-1252", err);
}

/* ---- names -------------------------------------------------------------------------------- */

typedef enum CsvOption {
    OPT_DELIM,
    OPT_QUOTE,
    OPT_ESCAPE,
    OPT_COMMENT,
    OPT_HEADER,
    OPT_SKIP,
    OPT_NULLSTR,
    OPT_ENCODING,
    OPT_DECIMAL,
    OPT_THOUSANDS,
    OPT_DATEFORMAT,
    OPT_TIMESTAMPFORMAT,
    OPT_COLUMNS,
    OPT_TYPES,
    OPT_ALL_TEXT,
    OPT_PADDING,
    OPT_IGNORE_ERRORS,
    OPT_FILENAME,
    OPT_SAMPLE,
    OPT_MAX_LINE
} CsvOption;

static const struct OptionName {
    const char *name;
    CsvOption option;
} option_names[] = {
    {"delim", OPT_DELIM},
    {"sep", OPT_DELIM},
    {"delimiter", OPT_DELIM},
    {"quote", OPT_QUOTE},
    {"escape", OPT_ESCAPE},
    {"comment", OPT_COMMENT},
    {"header", OPT_HEADER},
    {"skip", OPT_SKIP},
    {"nullstr", OPT_NULLSTR},
    {"null", OPT_NULLSTR},
    {"encoding", OPT_ENCODING},
    {"decimal", OPT_DECIMAL},
    {"decimal_separator", OPT_DECIMAL},
    {"thousands", OPT_THOUSANDS},
    {"dateformat", OPT_DATEFORMAT},
    {"timestampformat", OPT_TIMESTAMPFORMAT},
    {"columns", OPT_COLUMNS},
    {"types", OPT_TYPES},
    {"all_text", OPT_ALL_TEXT},
    {"all_varchar", OPT_ALL_TEXT},
    {"null_padding", OPT_PADDING},
    {"ignore_errors", OPT_IGNORE_ERRORS},
    {"filename", OPT_FILENAME},
    {"sample_size", OPT_SAMPLE},
    {"max_line_size", OPT_MAX_LINE},
};

static tcudb_status take_option(Arena *arena, const TableFuncArg *arg, CsvOption option, CsvOptions *out, Error *err)
{
    bool ignored;
    switch (option) {
    case OPT_DELIM: return take_char(arg, false, &out->has_delim, &out->delim, err);
    case OPT_QUOTE: return take_char(arg, true, &out->has_quote, &out->quote, err);
    case OPT_ESCAPE: return take_char(arg, true, &out->has_escape, &out->escape, err);
    case OPT_COMMENT: return take_char(arg, true, &out->has_comment, &out->comment, err);
    case OPT_HEADER: out->has_header = true; return take_bool(arg, &out->header, err);
    case OPT_SKIP: out->has_skip = true; return take_count(arg, &out->skip, err);
    case OPT_NULLSTR: return take_nulls(arena, arg, out, err);
    case OPT_ENCODING: return take_encoding(arg, out, err);
    case OPT_DECIMAL: return take_char(arg, false, &ignored, &out->decimal, err);
    case OPT_THOUSANDS: return take_char(arg, false, &ignored, &out->thousands, err);
    case OPT_DATEFORMAT: return take_format(arena, arg, &out->dateformat, err);
    case OPT_TIMESTAMPFORMAT: return take_format(arena, arg, &out->timestampformat, err);
    case OPT_COLUMNS: return take_string(arena, arg, &out->columns, err);
    case OPT_TYPES: return take_string(arena, arg, &out->types, err);
    case OPT_ALL_TEXT: return take_bool(arg, &out->all_text, err);
    case OPT_PADDING: out->has_padding = true; return take_bool(arg, &out->padding, err);
    case OPT_IGNORE_ERRORS: return take_bool(arg, &out->ignore_errors, err);
    case OPT_FILENAME: return take_bool(arg, &out->filename, err);
    case OPT_SAMPLE: return take_count(arg, &out->sample_rows, err);
    case OPT_MAX_LINE: return take_count(arg, &out->max_line_size, err);
    }
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "read_csv: option without a case");
}

/* ---- files -------------------------------------------------------------------------------- */

static tcudb_status copy_paths(Arena *arena, const glob_t *found, CsvOptions *out, Error *err)
{
    out->npaths = (uint32_t)found->gl_pathc;
    out->paths = ARENA_ARRAY(arena, const char *, out->npaths, err);
    TRY_PTR(out->paths);
    for (uint32_t i = 0; i < out->npaths; i++) {
        out->paths[i] = arena_strndup(arena, found->gl_pathv[i], strlen(found->gl_pathv[i]), err);
        TRY_PTR(out->paths[i]);
    }
    return TCUDB_OK;
}

/* A name with *, ? or [ is a pattern, unless a file of that very name exists. */
static tcudb_status find_files(Arena *arena, Str name, CsvOptions *out, Error *err)
{
    const char *path = arena_strndup(arena, name.ptr, name.len, err);
    TRY_PTR(path);
    glob_t found = {0};
    int rc = strpbrk(path, "*?[") == NULL ? GLOB_NOMATCH : glob(path, GLOB_NOESCAPE, NULL, &found);
    tcudb_status status = TCUDB_OK;
    if (rc == 0) {
        status = copy_paths(arena, &found, out, err);
    } else if (rc == GLOB_NOSPACE) {
        status = error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    } else if (strpbrk(path, "*?") != NULL && access(path, F_OK) != 0) {
        status = error_set(err, SQLSTATE_UNDEFINED_FILE, "no file matches \"%s\"", path);
    } else {
        out->npaths = 1;
        out->paths = ARENA_ARRAY(arena, const char *, 1, err);
        if (out->paths == NULL)
            status = TCUDB_NOMEM;
        else
            out->paths[0] = path;
    }
    globfree(&found);
    return status;
}

tcudb_status csv_options(Arena *arena, const TableFuncArg *args, uint32_t nargs, CsvOptions *out, Error *err)
{
    *out = (CsvOptions){.sample_rows = DEFAULT_SAMPLE, .max_line_size = DEFAULT_LINE};
    for (uint32_t i = 0; i < nargs; i++) {
        if (args[i].name.len == 0) {
            if (i == 0 && !args[0].value.null && type_is_text(args[0].value.type)) {
                TRY(find_files(arena, args[0].value.str, out, err));
                continue;
            }
            tcudb_status status = error_at(err, SQLSTATE_UNDEFINED_FUNCTION, args[i].position,
                                           "read_csv: the file's name comes first, options have names");
            error_hint(err, "Usage: %s", csv_usage);
            return status;
        }
        size_t k = 0, n = sizeof option_names / sizeof option_names[0];
        while (k < n && !str_equal(args[i].name, str_of(option_names[k].name))) k++;
        if (k == n) {
            tcudb_status status = error_at(err, SQLSTATE_UNDEFINED_FUNCTION, args[i].position,
                                           "read_csv has no option \"%.*s\"", STR_ARG(args[i].name));
            error_hint(err, "Usage: %s", csv_usage);
            return status;
        }
        TRY(take_option(arena, &args[i], option_names[k].option, out, err));
    }
    if (out->npaths == 0) {
        tcudb_status status = error_set(err, SQLSTATE_UNDEFINED_FUNCTION, "read_csv: the file's name is missing");
        error_hint(err, "Usage: %s", csv_usage);
        return status;
    }
    if (!out->has_escape && out->has_quote) out->escape = out->quote;
    return TCUDB_OK;
}
