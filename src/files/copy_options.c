/*
 * copy_options.c: the options of COPY, checked in PostgreSQL's order with its messages.
 *
 * PostgreSQL 15's options, the binary format excepted, and one of ours, TRAILING_DELIMITER, for files whose
 * records end with a delimiter (dbgen's .tbl files), which PostgreSQL would reject.
 */
#include "files/copy_int.h"

#include <ctype.h>
#include <strings.h>

/* ---- values ------------------------------------------------------------------------------- */

static bool text_is(Str text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

/* As PostgreSQL's defGetBoolean: absent means true; 0, 1, true, false, on, off. */
static bool option_bool(const StmtOption *o, bool *out)
{
    const Value *v = &o->value;
    if (v->null) {
        *out = true;
        return true;
    }
    if (v->type.id == TYPE_BOOL) {
        *out = v->b;
        return true;
    }
    if (v->type.id == TYPE_INT4 || v->type.id == TYPE_INT8) {
        int64_t n = v->type.id == TYPE_INT4 ? v->i32 : v->i64;
        *out = n == 1;
        return n == 0 || n == 1;
    }
    if (!type_is_text(v->type)) return false;
    *out = text_is(v->str, "true") || text_is(v->str, "on");
    return *out || text_is(v->str, "false") || text_is(v->str, "off");
}

static tcudb_status option_text(const StmtOption *o, Str *out, Error *err)
{
    if (o->value.null)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, o->position, STR_FMT " requires a parameter", STR_ARG(o->name));
    if (!type_is_text(o->value.type))
        return error_at(err, SQLSTATE_SYNTAX_ERROR, o->position, STR_FMT " requires a text value", STR_ARG(o->name));
    *out = o->value.str;
    return TCUDB_OK;
}

static tcudb_status option_flag(const StmtOption *o, bool *out, Error *err)
{
    if (option_bool(o, out)) return TCUDB_OK;
    return error_at(err, SQLSTATE_SYNTAX_ERROR, 0, STR_FMT " requires a Boolean value", STR_ARG(o->name));
}

static tcudb_status option_header(const StmtOption *o, bool from, CopyHeader *out, Error *err)
{
    bool yes = false;
    if (option_bool(o, &yes)) {
        *out = yes ? HEADER_YES : HEADER_NONE;
        return TCUDB_OK;
    }
    if (!type_is_text(o->value.type) || !text_is(o->value.str, "match"))
        return error_set(err, SQLSTATE_SYNTAX_ERROR, "header requires a Boolean value or \"match\"");
    *out = HEADER_MATCH;
    if (!from) return error_unsupported(err, 0, "cannot use \"match\" with HEADER in COPY TO");
    return TCUDB_OK;
}

/* ---- the list ----------------------------------------------------------------------------- */

/* As given, before defaults. */
typedef struct Given {
    bool from;
    bool has_format;
    const StmtOption *seen[16];
    uint32_t nseen;
    const StmtOption *delim, *null, *quote, *escape;
} Given;

static tcudb_status not_supported_exactly(Error *err, const char *message)
{
    return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "%s", message);
}

static tcudb_status option_format(const StmtOption *o, CopyOptions *out, Error *err)
{
    Str format = {0};
    TRY(option_text(o, &format, err));
    out->csv = str_equal(format, STR_LIT("csv"));
    if (out->csv || str_equal(format, STR_LIT("text"))) return TCUDB_OK;
    if (str_equal(format, STR_LIT("binary"))) return error_unsupported(err, o->position, "COPY in binary format");
    return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, o->position, "COPY format \"" STR_FMT "\" not recognized",
                    STR_ARG(format));
}

static tcudb_status option_encoding(const StmtOption *o, bool from, CopyOptions *out, Error *err)
{
    Str name = {0};
    TRY(option_text(o, &name, err));
    if (!encoding_from_name(name, &out->encoding))
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, o->position,
                        "argument to option \"encoding\" must be a valid encoding name");
    if (!from && out->encoding != ENCODING_UTF8)
        return error_unsupported(err, o->position, "COPY TO in another encoding than UTF8");
    return TCUDB_OK;
}

static tcudb_status one_option(const StmtOption *o, Given *g, CopyOptions *out, Error *err)
{
    bool ignored;
    Str n = o->name;
    for (uint32_t i = 0; i < g->nseen; i++)
        if (str_equal(n, g->seen[i]->name))
            return error_at(err, SQLSTATE_SYNTAX_ERROR, o->position, "conflicting or redundant options");
    if (g->nseen < sizeof g->seen / sizeof g->seen[0]) g->seen[g->nseen++] = o;
    if (str_equal(n, STR_LIT("format"))) return option_format(o, out, err);
    if (str_equal(n, STR_LIT("freeze"))) return option_flag(o, &ignored, err);
    if (str_equal(n, STR_LIT("header"))) return option_header(o, g->from, &out->header, err);
    if (str_equal(n, STR_LIT("trailing_delimiter"))) return option_flag(o, &out->trailing_delimiter, err);
    if (str_equal(n, STR_LIT("encoding"))) return option_encoding(o, g->from, out, err);
    const struct {
        Str name;
        const StmtOption **slot;
    } slots[] = {
        {STR_LIT("delimiter"), &g->delim},
        {STR_LIT("null"), &g->null},
        {STR_LIT("quote"), &g->quote},
        {STR_LIT("escape"), &g->escape},
        {STR_LIT("force_quote"), &out->force_quote},
        {STR_LIT("force_not_null"), &out->force_not_null},
        {STR_LIT("force_null"), &out->force_null},
    };
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        if (!str_equal(n, slots[i].name)) continue;
        *slots[i].slot = o;
        Str text;
        return option_text(o, &text, err);
    }
    return error_at(err, SQLSTATE_SYNTAX_ERROR, o->position, "option \"" STR_FMT "\" not recognized", STR_ARG(n));
}

/* ---- combinations ------------------------------------------------------------------------- */

static bool has_char(Str text, char c)
{
    return text.len > 0 && memchr(text.ptr, c, text.len) != NULL;
}

static tcudb_status check_delim(const Given *g, CopyOptions *out, Error *err)
{
    Str delim = g->delim != NULL ? g->delim->value.str : out->csv ? STR_LIT(",") : STR_LIT("\t");
    out->null_text = g->null != NULL ? g->null->value.str : out->csv ? STR_LIT("") : STR_LIT("\\N");
    if (delim.len != 1) return not_supported_exactly(err, "COPY delimiter must be a single one-byte character");
    out->delim = delim.ptr[0];
    if (out->delim == '\n' || out->delim == '\r')
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "COPY delimiter cannot be newline or carriage return");
    if (has_char(out->null_text, '\n') || has_char(out->null_text, '\r'))
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                         "COPY null representation cannot use newline or carriage return");
    char c = out->delim;
    if (!out->csv && (c == '\\' || c == '.' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "COPY delimiter cannot be \"%c\"", c);
    return TCUDB_OK;
}

static tcudb_status check_quotes(const Given *g, CopyOptions *out, Error *err)
{
    if (g->quote != NULL && !out->csv) return not_supported_exactly(err, "COPY quote available only in CSV mode");
    Str quote = g->quote != NULL ? g->quote->value.str : STR_LIT("\"");
    if (quote.len != 1) return not_supported_exactly(err, "COPY quote must be a single one-byte character");
    out->quote = out->csv ? quote.ptr[0] : '\0';
    if (out->csv && out->delim == out->quote)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "COPY delimiter and quote must be different");
    if (g->escape != NULL && !out->csv) return not_supported_exactly(err, "COPY escape available only in CSV mode");
    Str escape = g->escape != NULL ? g->escape->value.str : quote;
    if (escape.len != 1) return not_supported_exactly(err, "COPY escape must be a single one-byte character");
    out->escape = out->csv ? escape.ptr[0] : '\0';
    return TCUDB_OK;
}

static tcudb_status check_force(const StmtOption *o, const char *what, bool csv, bool allowed, const char *direction,
                                Error *err)
{
    if (o == NULL) return TCUDB_OK;
    if (!csv) return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "COPY %s available only in CSV mode", what);
    if (!allowed)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "COPY %s only available using COPY %s", what, direction);
    return TCUDB_OK;
}

tcudb_status copy_options(const Stmt *stmt, CopyOptions *out, Error *err)
{
    Given g = {.from = stmt->kind == STMT_COPY_FROM};
    *out = (CopyOptions){.encoding = ENCODING_UTF8};
    for (uint32_t i = 0; i < stmt->noptions; i++) TRY(one_option(&stmt->options[i], &g, out, err));
    TRY(check_delim(&g, out, err));
    TRY(check_quotes(&g, out, err));
    TRY(check_force(out->force_quote, "force quote", out->csv, !g.from, "TO", err));
    TRY(check_force(out->force_not_null, "force not null", out->csv, g.from, "FROM", err));
    TRY(check_force(out->force_null, "force null", out->csv, g.from, "FROM", err));
    if (has_char(out->null_text, out->delim))
        return not_supported_exactly(err, "COPY delimiter must not appear in the NULL specification");
    if (out->csv && has_char(out->null_text, out->quote))
        return not_supported_exactly(err, "CSV quote character must not appear in the NULL specification");
    if (out->trailing_delimiter && !g.from) return error_unsupported(err, 0, "TRAILING_DELIMITER in COPY TO");
    return TCUDB_OK;
}

tcudb_status copy_check_options(const Stmt *stmt, Error *err)
{
    CopyOptions options;
    return copy_options(stmt, &options, err);
}

static tcudb_status force_column(Str name, const char *relation, const Str *names, uint32_t ncols, bool *flags,
                                 Error *err)
{
    for (uint32_t i = 0; i < ncols; i++) {
        if (!str_equal(name, names[i])) continue;
        flags[i] = true;
        return TCUDB_OK;
    }
    if (relation == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_COLUMN, "column \"" STR_FMT "\" does not exist", STR_ARG(name));
    return error_set(err, SQLSTATE_UNDEFINED_COLUMN, "column \"" STR_FMT "\" of relation \"%s\" does not exist",
                     STR_ARG(name), relation);
}

tcudb_status copy_force_flags(const StmtOption *option, const char *relation, const Str *names, uint32_t ncols,
                              bool *flags, Error *err)
{
    memset(flags, 0, ncols);
    if (option == NULL) return TCUDB_OK;
    Str list = option->value.str;
    if (str_equal(list, STR_LIT("*"))) {
        memset(flags, 1, ncols);
        return TCUDB_OK;
    }
    while (list.len > 0) {
        const char *end = memchr(list.ptr, '\n', list.len);
        uint32_t n = end == NULL ? list.len : (uint32_t)(end - list.ptr);
        TRY(force_column((Str){list.ptr, n}, relation, names, ncols, flags, err));
        uint32_t skip = end == NULL ? n : n + 1;
        list = (Str){list.ptr + skip, list.len - skip};
    }
    return TCUDB_OK;
}
