/*
 * foreign.c: names that PostgreSQL knows: functions about the server, types and NULLs, answered here while binding; and
 * functions and aggregates that are not here, which are refused by name (0A000) rather than called unknown.
 */
#include "bind/bind_int.h"

#include <assert.h>

static bool listed(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

bool bind_foreign_aggregate(const char *name)
{
    static const char *const names[] = {
        "array_agg",        "cume_dist",    "dense_rank", "json_agg", "json_object_agg", "jsonb_agg",
        "jsonb_object_agg", "percent_rank", "range_agg",  "rank",     "xmlagg",
    };
    return listed(name, names, sizeof names / sizeof *names);
}

/* What PostgreSQL has over types, files and a server that are not here, and some that are yet to come. */
bool bind_foreign_function(const char *name)
{
    static const char *const names[] = {
        "array_append",
        "array_cat",
        "array_length",
        "array_position",
        "array_prepend",
        "array_remove",
        "array_replace",
        "array_to_string",
        "array_upper",
        "cardinality",
        "clock_timestamp",
        "convert",
        "convert_from",
        "convert_to",
        "currval",
        "current_setting",
        "daterange",
        "decode",
        "encode",
        "gen_random_uuid",
        "generate_subscripts",
        "get_bit",
        "get_byte",
        "int4range",
        "int8range",
        "json_build_array",
        "json_build_object",
        "jsonb_build_array",
        "jsonb_build_object",
        "lastval",
        "make_time",
        "make_timestamptz",
        "nextval",
        "numrange",
        "parse_ident",
        "pg_backend_pid",
        "pg_column_size",
        "pg_get_userbyid",
        "pg_relation_size",
        "pg_size_pretty",
        "pg_sleep",
        "pg_table_size",
        "pg_total_relation_size",
        "regexp_match",
        "regexp_matches",
        "regexp_split_to_array",
        "row_to_json",
        "set_config",
        "setseed",
        "setval",
        "sha224",
        "sha256",
        "sha384",
        "sha512",
        "statement_timestamp",
        "string_to_array",
        "timeofday",
        "timezone",
        "to_ascii",
        "to_json",
        "to_jsonb",
        "transaction_timestamp",
        "tsrange",
        "unistr",
        "unnest",
    };
    return listed(name, names, sizeof names / sizeof *names);
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

/* One database, one schema, no users. */
tcudb_status bind_system_function(Binder *b, const char *name, Expr **args, uint32_t nargs, int position, Expr **out,
                                  Error *err)
{
    static const struct {
        const char *name, *value;
    } functions[] = {
        {"version", "tcudb " TCUDB_VERSION " (SQL of PostgreSQL 15)"},
        {"current_database", "tcudb"},
        {"current_schema", "public"},
    };
    *out = NULL;
    if (nargs == 4 && strcmp(name, "overlaps") == 0) return bind_overlaps(b, args, position, out, err);
    for (size_t i = 0; nargs == 0 && i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        return constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = str_of(functions[i].value)}, position, out, err);
    }
    if (nargs == 1 && strcmp(name, "pg_typeof") == 0)
        return constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = str_of(type_base_name(args[0]->type))}, position,
                        out, err);
    bool nulls = strcmp(name, "num_nulls") == 0;
    if (nargs == 0 || (!nulls && strcmp(name, "num_nonnulls") != 0)) return TCUDB_OK;
    return count_nulls(b, nulls, args, nargs, position, out, err);
}
