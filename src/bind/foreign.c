/*
 * foreign.c: names that PostgreSQL knows: functions about the server, types and NULLs, answered here while binding; and
 * functions, aggregates and settings that are not here, which are refused by name (0A000) rather than called unknown.
 */
#include "bind/bind_int.h"

#include <assert.h>
#include <ctype.h>
#include <unistd.h>

#define LENGTH(names) (sizeof(names) / sizeof *(names))

/* In a list that is sorted by bytes. */
static bool listed(const char *name, const char *const *names, size_t n)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        int order = strcmp(names[middle], name);
        if (order == 0) return true;
        if (order < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

bool bind_foreign_aggregate(const char *name)
{
#define AGGREGATES(...) static const char *const names[] = {__VA_ARGS__};
#include "bind/foreign.def"
    return listed(name, names, LENGTH(names));
}

bool bind_foreign_function(const char *name)
{
#define FUNCTIONS(...) static const char *const names[] = {__VA_ARGS__};
#include "bind/foreign.def"
    return listed(name, names, LENGTH(names));
}

bool bind_foreign_relation(const char *schema, const char *name)
{
#define CATALOG_RELATIONS(...)     static const char *const catalog[] = {__VA_ARGS__};
#define INFORMATION_RELATIONS(...) static const char *const information[] = {__VA_ARGS__};
#include "bind/foreign.def"
    if (strcmp(schema, "information_schema") == 0) return listed(name, information, LENGTH(information));
    return strcmp(schema, "pg_catalog") == 0 && listed(name, catalog, LENGTH(catalog));
}

tcudb_status bind_check_setting(Binder *b, Str name, Error *err)
{
#define SETTINGS(...) static const char *const names[] = {__VA_ARGS__};
#include "bind/foreign.def"
    char *lower = arena_strndup(b->arena, name.ptr, name.len, err);
    TRY_PTR(lower);
    for (char *at = lower; *at != '\0'; at++) *at = (char)tolower((unsigned char)*at);
    if (settings_known(name) || !listed(lower, names, LENGTH(names))) return TCUDB_OK;
    return error_unsupported(err, 0, "the setting \"%s\"", lower);
}

static tcudb_status constant(Binder *b, const Value *value, int position, Expr **out, Error *err)
{
    *out = expr_const(b->arena, value, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* num_nulls(a, b, ...), num_nonnulls: CASE WHEN a IS NULL THEN 1 ELSE 0 END + ... */
static tcudb_status count_nulls(Binder *b, bool nulls, Expr **args, uint32_t n, int position, Expr **out, Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        Expr *parts[3], *sum[2] = {*out, NULL};
        TRY(bind_call(b, FUNC_OPERATOR, "is null", &args[i], 1, position, position, &parts[0], err));
        for (int k = 1; k < 3; k++)
            TRY(constant(b, &(Value){.type = TYPE(TYPE_INT4), .i32 = nulls == (k == 1)}, position, &parts[k], err));
        sum[1] = expr_node(b->arena, EXPR_CASE, TYPE(TYPE_INT4), parts, 3, position, err);
        TRY_PTR(sum[1]);
        if (i == 0)
            *out = sum[1];
        else
            TRY(bind_call(b, FUNC_OPERATOR, "+", sum, 2, position, position, out, err));
    }
    return TCUDB_OK;
}

/* current_setting(name [, missing_ok]), of the settings when the statement is bound. */
static tcudb_status current_setting(Binder *b, Expr **args, uint32_t nargs, int position, Expr **out, Error *err)
{
    Value name = {0}, missing = {.null = true};
    Error local = {0};
    Buf buf;
    TRY(bind_const_value(b, args[0], position, &name, err));
    if (nargs == 2) TRY(bind_const_value(b, args[1], position, &missing, err));
    bool quiet = !missing.null && missing.type.id == TYPE_BOOL && missing.b;
    if (name.null || !type_is_text(name.type)) return bind_null(b, TYPE(TYPE_TEXT), position, out, err);
    if (!quiet) TRY(bind_check_setting(b, name.str, err));
    const char *fixed = settings_fixed(name.str, NULL);
    if (fixed != NULL) return constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = str_of(fixed)}, position, out, err);
    buf_init(&buf, NULL);
    tcudb_status status = settings_show(b->env->settings, name.str, &buf, &local);
    if (status == TCUDB_ERROR && quiet) {
        status = bind_null(b, TYPE(TYPE_TEXT), position, out, err);
    } else if (status == TCUDB_OK) {
        char *copy = arena_strndup(b->arena, buf.len == 0 ? "" : buf.data, buf.len, err);
        Value value = {.type = TYPE(TYPE_TEXT), .str = {copy, (uint32_t)buf.len}};
        status = copy == NULL ? TCUDB_NOMEM : constant(b, &value, position, out, err);
    } else if (err != NULL) {
        *err = local;
    }
    buf_free(&buf);
    return status;
}

/* set_config(name, value, local): the statement sets it before it runs, so once in a statement, with what is written.
 */
static tcudb_status set_config(Binder *b, Expr **args, int position, Expr **out, Error *err)
{
    Value values[3] = {0};
    for (uint32_t i = 0; i < 3; i++) TRY(bind_const_value(b, args[i], position, &values[i], err));
    if (values[0].null || !type_is_text(values[0].type))
        return error_set(err, SQLSTATE_NULL_VALUE_NOT_ALLOWED, "SET requires parameter name");
    bool plain = !values[1].null && type_is_text(values[1].type) && values[2].type.id == TYPE_BOOL && !values[2].null;
    if (!plain || b->set_name.ptr != NULL || b->view_depth > 0)
        return error_unsupported(err, position, "this use of set_config");
    b->set_name = values[0].str;
    b->set_value = values[1].str;
    b->set_local = values[2].b;
    return constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = values[1].str}, position, out, err);
}

tcudb_status bind_current_schema(Binder *b, int position, Expr **out, Error *err)
{
    const Value value = {.type = TYPE(TYPE_TEXT), .str = STR_LIT("public"), .null = !bind_sees_public(b)};
    return constant(b, &value, position, out, err);
}

/* One database, one schema, no users. */
tcudb_status bind_system_function(Binder *b, Block *block, const char *name, Expr **args, uint32_t nargs, int position,
                                  Expr **out, Error *err)
{
    static const struct {
        const char *name, *value;
    } functions[] = {
        {"version", "tcudb " TCUDB_VERSION " (SQL of PostgreSQL 15)"},
        {"current_database", "tcudb"},
    };
    *out = NULL;
    if (nargs == 4 && strcmp(name, "overlaps") == 0) return bind_overlaps(b, args, position, out, err);
    for (size_t i = 0; nargs == 0 && i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        return constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = str_of(functions[i].value)}, position, out, err);
    }
    if (nargs == 0 && strcmp(name, "current_schema") == 0) return bind_current_schema(b, position, out, err);
    if (nargs == 1 && strcmp(name, "current_schemas") == 0 && !bind_sees_public(b)) name = " no schemas";
    if (nargs == 1 && strcmp(name, "pg_typeof") == 0)
        return constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = str_of(type_base_name(args[0]->type))}, position,
                        out, err);
    if ((nargs == 1 || nargs == 2) && strcmp(name, "current_setting") == 0)
        return current_setting(b, args, nargs, position, out, err);
    if (nargs == 3 && strcmp(name, "set_config") == 0) return set_config(b, args, position, out, err);
    if (nargs == 0 && strcmp(name, "pg_backend_pid") == 0)
        return constant(b, &(Value){.type = TYPE(TYPE_INT4), .i32 = (int32_t)getpid()}, position, out, err);
    TRY(bind_system_macro(b, block, name, args, nargs, out, err));
    if (*out != NULL) return TCUDB_OK;
    bool nulls = strcmp(name, "num_nulls") == 0;
    if (nargs == 0 || (!nulls && strcmp(name, "num_nonnulls") != 0)) return TCUDB_OK;
    return count_nulls(b, nulls, args, nargs, position, out, err);
}
