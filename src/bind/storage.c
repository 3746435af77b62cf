/*
 * storage.c: WITH (fillfactor = 70): storage parameters are checked as PostgreSQL checks them, and nothing follows from
 * them: tables and indexes are stored as they are here.
 */
#include "bind/bind_int.h"

#include <assert.h>
#include <limits.h>
#include <math.h>

typedef enum ParameterType { PARAMETER_BOOLEAN, PARAMETER_INTEGER, PARAMETER_REAL, PARAMETER_SWITCH } ParameterType;

typedef struct Parameter {
    const char *name;
    uint32_t of;
    ParameterType type;
    double least, most;
} Parameter;

static const Parameter parameters[] = {
#define BOOLEAN(name, of)              {name, of, PARAMETER_BOOLEAN, 0, 0},
#define INTEGER(name, of, least, most) {name, of, PARAMETER_INTEGER, least, most},
#define REAL(name, of, least, most)    {name, of, PARAMETER_REAL, least, most},
#define SWITCH(name, of)               {name, of, PARAMETER_SWITCH, 0, 0},
#include "bind/storage.def"
};

static const Parameter *parameter_of(const char *name, uint32_t of)
{
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        if ((parameters[i].of & of) != 0 && strcmp(parameters[i].name, name) == 0) return &parameters[i];
    return NULL;
}

/* ---- values */

static tcudb_status type_text(Binder *b, const PgQuery__TypeName *type, const char **out, Error *err)
{
    *out = "";
    for (size_t i = 0; i < type->n_names; i++) {
        *out = arena_printf(b->arena, err, "%s%s%s", *out, i == 0 ? "" : ".", sql_string(type->names[i]));
        TRY_PTR(*out);
    }
    return TCUDB_OK;
}

/* A parameter alone is true. */
static tcudb_status value_text(Binder *b, const Node *arg, const char **out, Error *err)
{
    *out = "true";
    if (arg == NULL) return TCUDB_OK;
    switch (arg->node_case) {
    case PG_QUERY__NODE__NODE_INTEGER: *out = arena_printf(b->arena, err, "%d", arg->integer->ival); break;
    case PG_QUERY__NODE__NODE_FLOAT: *out = arg->float_->fval; break;
    case PG_QUERY__NODE__NODE_STRING: *out = sql_string(arg); break;
    case PG_QUERY__NODE__NODE_BOOLEAN: *out = arg->boolean->boolval ? "true" : "false"; break;
    case PG_QUERY__NODE__NODE_TYPE_NAME: return type_text(b, arg->type_name, out, err);
    default: return error_unsupported(err, 0, "this value of a storage parameter");
    }
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(text, words[i]) == 0) return true;
    return false;
}

static bool fits_type(Binder *b, const Parameter *p, const char *text, double *number)
{
    static const char *const words[] = {"auto", "on", "off", "true", "false", "yes", "no", "1", "0"};
    Value value;
    bool boolean = p->type == PARAMETER_BOOLEAN;
    *number = p->least;
    if (p->type == PARAMETER_SWITCH) return is_one_of(text, words, sizeof words / sizeof *words);
    if (value_parse(str_of(text), TYPE(boolean ? TYPE_BOOL : TYPE_FLOAT8), b->arena, &value, NULL) != TCUDB_OK)
        return false;
    if (boolean) return true;
    *number = p->type == PARAMETER_INTEGER ? rint(value.f64) : value.f64;
    return isfinite(value.f64);
}

static tcudb_status check_value(Binder *b, const Parameter *p, const char *text, Error *err)
{
    static const char *const types[] = {"boolean", "integer", "floating point", "enum"};
    double number;
    if (!fits_type(b, p, text, &number)) {
        error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "invalid value for %s option \"%s\": %s", types[p->type],
                  p->name, text);
        if (p->type == PARAMETER_SWITCH) error_detail(err, "Valid values are \"on\", \"off\", and \"auto\".");
        return TCUDB_ERROR;
    }
    if (number >= p->least && number <= p->most) return TCUDB_OK;
    error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "value %s out of bounds for option \"%s\"", text, p->name);
    error_detail(err,
                 p->type == PARAMETER_INTEGER ? "Valid values are between \"%.0f\" and \"%.0f\"."
                                              : "Valid values are between \"%f\" and \"%f\".",
                 p->least, p->most);
    return TCUDB_ERROR;
}

/* ---- lists */

static bool is_of(const PgQuery__DefElem *option, uint32_t of)
{
    return (option->defnamespace[0] != '\0') == (of == STORAGE_TOAST);
}

static bool is_oids(const PgQuery__DefElem *option, uint32_t of)
{
    return of == STORAGE_TABLE && strcmp(option->defname, "oids") == 0;
}

static tcudb_status refuse_oids(Binder *b, const PgQuery__DefElem *option, Error *err)
{
    static const char *const off[] = {"false", "off", "0"}, *const on[] = {"true", "on", "1"};
    const char *text;
    TRY(value_text(b, option->arg, &text, err));
    if (is_one_of(text, off, 3)) return TCUDB_OK;
    if (!is_one_of(text, on, 3)) return error_set(err, SQLSTATE_SYNTAX_ERROR, "oids requires a Boolean value");
    return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "tables declared WITH OIDS are not supported");
}

static tcudb_status check_namespaces(Node *const *options, size_t n, uint32_t of, Error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *space = options[i]->def_elem->defnamespace;
        bool toast = (of & STORAGE_TABLE) != 0 && strcmp(space, "toast") == 0;
        if (space[0] != '\0' && !toast)
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "unrecognized parameter namespace \"%s\"", space);
    }
    return TCUDB_OK;
}

static bool stands_before(Node *const *options, size_t n, uint32_t of, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (is_of(options[i]->def_elem, of) && strcmp(options[i]->def_elem->defname, name) == 0) return true;
    return false;
}

/* Of the table or index itself, or of its TOAST table. */
static tcudb_status check_own(Binder *b, Node *const *options, size_t n, uint32_t of, bool oids, Error *err)
{
    for (size_t i = 0; i < n; i++) {
        const PgQuery__DefElem *option = options[i]->def_elem;
        const char *text;
        if (!is_of(option, of) || (oids && is_oids(option, of))) continue;
        const Parameter *p = parameter_of(option->defname, of);
        if (p == NULL)
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "unrecognized parameter \"%s\"", option->defname);
        if (stands_before(options, i, of, p->name))
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "parameter \"%s\" specified more than once",
                             p->name);
        TRY(value_text(b, option->arg, &text, err));
        TRY(check_value(b, p, text, err));
    }
    return TCUDB_OK;
}

tcudb_status bind_storage(Binder *b, Node *const *options, size_t n, uint32_t of, bool oids, Error *err)
{
    assert(of == STORAGE_TABLE || of == STORAGE_INDEX);
    TRY(check_namespaces(options, n, of, err));
    for (size_t i = 0; i < n && oids; i++)
        if (is_of(options[i]->def_elem, of) && is_oids(options[i]->def_elem, of))
            TRY(refuse_oids(b, options[i]->def_elem, err));
    TRY(check_own(b, options, n, of, oids, err));
    return of == STORAGE_TABLE ? check_own(b, options, n, STORAGE_TOAST, false, err) : TCUDB_OK;
}
