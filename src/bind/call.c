/*
 * call.c: function calls and aggregates.
 *
 * A name is an aggregate if type/ says so. An aggregate's arguments are bound over the ungrouped input (its
 * subqueries go below the aggregation) and the call becomes a column of the AGGREGATE node; equal calls share one.
 * An aggregate belongs to the innermost query whose columns it uses: sum(outer.x) in a subquery's WHERE is computed
 * by the outer query and is an outer reference here.
 *
 * A function that does not exist but has the name of a type and one argument is a cast: date('2001-01-01').
 */
#include "bind/bind_int.h"

#include <assert.h>
#include <stdio.h>

const char *bind_func_name(const PgQuery__FuncCall *call)
{
    return sql_last_name(call->funcname, call->n_funcname);
}

const char *bind_place_name(Place place)
{
    switch (place) {
    case PLACE_WHERE: return "WHERE";
    case PLACE_ON: return "JOIN conditions";
    case PLACE_GROUP_BY: return "GROUP BY";
    case PLACE_LIMIT: return "LIMIT";
    case PLACE_OFFSET: return "OFFSET";
    case PLACE_VALUES: return "VALUES";
    case PLACE_FILTER: return "FILTER";
    case PLACE_FROM_FUNCTION: return "functions in FROM";
    case PLACE_UPDATE: return "UPDATE";
    case PLACE_RETURNING: return "RETURNING";
    case PLACE_CHECK: return "check constraints";
    case PLACE_GENERATED: return "column generation expressions";
    case PLACE_DEFAULT: return "DEFAULT expressions";
    case PLACE_EXECUTE: return "EXECUTE parameters";
    case PLACE_CALL: return "CALL arguments";
    case PLACE_COPY_WHERE: return "COPY FROM WHERE conditions";
    default: return "SELECT";
    }
}

/* ---- aggregates */

static bool same_call(const AggCall *a, const AggCall *b)
{
    if (a->kind != b->kind || a->nargs != b->nargs || a->distinct != b->distinct || a->norder != b->norder ||
        a->descending != b->descending)
        return false;
    if ((a->filter == NULL) != (b->filter == NULL)) return false;
    if (a->filter != NULL && !expr_equal(a->filter, b->filter)) return false;
    for (uint32_t i = 0; i < a->nargs; i++) {
        if (!expr_equal(a->args[i], b->args[i]) || expr_volatile(a->args[i])) return false;
    }
    for (uint32_t i = 0; i < a->norder; i++) {
        if (!expr_equal(a->order[i].expr, b->order[i].expr)) return false;
        if (a->order[i].descending != b->order[i].descending) return false;
        if (a->order[i].nulls_first != b->order[i].nulls_first) return false;
    }
    return true;
}

static tcudb_status add_aggregate(Binder *b, Block *block, const AggCall *call, const AggCall **out, Error *err)
{
    for (uint32_t i = 0; i < block->naggs; i++) {
        *out = &block->aggs[i];
        if (same_call(*out, call)) return TCUDB_OK;
    }
    TRY_PTR(block->aggs = ARENA_MORE(b->arena, block->aggs, block->naggs, &block->aggs_cap, err));
    block->aggs[block->naggs] = *call;
    block->aggs[block->naggs].col = bind_new_col(b, call->col.type, call->col.name);
    *out = &block->aggs[block->naggs++];
    return TCUDB_OK;
}

static tcudb_status check_place(const Block *block, int position, Error *err)
{
    if (block->in_agg && block->place != PLACE_FILTER) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, position, "aggregate function calls cannot be nested");
    }
    if (block->place >= PLACE_WHERE) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, position, "aggregate functions are not allowed in %s",
                        bind_place_name(block->place));
    }
    return TCUDB_OK;
}

static tcudb_status refuse_forms(const PgQuery__FuncCall *call, const char *name, int position, Error *err)
{
    if (call->func_variadic) return error_unsupported(err, position, "VARIADIC");
    if (call->n_args == 0 && !call->agg_star) {
        if (strcmp(name, "count") != 0) return TCUDB_OK;
        return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position,
                        "%s(*) must be used to call a parameterless aggregate function", name);
    }
    return TCUDB_OK;
}

static tcudb_status aggregate_order(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr *const *raw,
                                    AggCall *out, Error *err)
{
    if (call->n_agg_order == 0 || call->agg_within_group) return TCUDB_OK;
    out->order = ARENA_ARRAY(b->arena, SortKey, call->n_agg_order, err);
    TRY_PTR(out->order);
    for (size_t i = 0; i < call->n_agg_order; i++) {
        const PgQuery__SortBy *by = call->agg_order[i]->sort_by;
        SortKey *key = &out->order[i];
        TRY(bind_expr(b, block, by->node, &key->expr, err));
        if (key->expr->type.id == TYPE_UNKNOWN) {
            TRY(bind_coerce(b, key->expr, TYPE(TYPE_TEXT), CAST_IMPLICIT, key->expr->position, &key->expr, err));
        }
        TRY(bind_order_direction(b, by, &key->descending, &key->nulls_first, err));
        bool argument = out->nargs > 0 && (expr_equal(key->expr, out->args[0]) || expr_equal(key->expr, raw[0]));
        if (out->distinct && !argument) {
            return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, key->expr->position,
                            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
        }
    }
    /* the order of rows does not matter to any other */
    if (out->kind == AGG_STRING_AGG) out->norder = (uint32_t)call->n_agg_order;
    return TCUDB_OK;
}

static tcudb_status check_within_group(const PgQuery__FuncCall *call, const char *name, int position, Error *err)
{
    bool ordered_set = agg_ordered_set(str_of(name));
    if (ordered_set == (bool)call->agg_within_group) return TCUDB_OK;
    return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position,
                    ordered_set ? "WITHIN GROUP is required for ordered-set aggregate %s"
                                : "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP",
                    name);
}

/* The arguments; of an ordered set what it is ordered by, and then the direct ones, which are the same for all rows. */
static tcudb_status aggregate_args(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr ***out, uint32_t *n,
                                   AggCall *agg, Error *err)
{
    Expr **direct = NULL;
    bool ignored;
    TRY(bind_expr_list(b, block, call->args, call->n_args, &direct, err));
    *n = (uint32_t)call->n_args;
    *out = direct;
    if (!call->agg_within_group) return TCUDB_OK;
    int position = bind_position(b, call->location);
    if (call->n_agg_order != 1) return error_unsupported(err, position, "WITHIN GROUP by several columns");
    *out = ARENA_ARRAY(b->arena, Expr *, *n + 1, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < *n; i++) {
        (*out)[i + 1] = direct[i];
        if (agg_ordered_set(str_of(bind_func_name(call))) && bind_expr_has_col(direct[i], 0))
            return error_unsupported(err, direct[i]->position, "a direct argument of %s that is not a constant",
                                     bind_func_name(call));
    }
    ++*n;
    const PgQuery__SortBy *by = call->agg_order[0]->sort_by;
    TRY(bind_order_direction(b, by, &agg->descending, &ignored, err));
    return bind_expr(b, block, by->node, &(*out)[0], err);
}

/* PostgreSQL names the direct arguments first. */
static tcudb_status no_ordered_set(const char *name, const Type *types, uint32_t n, int position, Error *err)
{
    const char *direct = n > 1 ? type_base_name(types[1]) : "";
    if (types[0].id == TYPE_INTERVAL && strcmp(name, "percentile_cont") == 0)
        return error_unsupported(err, position, "%s of intervals", name);
    error_at(err, SQLSTATE_UNDEFINED_FUNCTION, position, "function %s(%s%s%s) does not exist", name, direct,
             n > 1 ? ", " : "", type_base_name(types[0]));
    error_hint(err,
               "No function matches the given name and argument types. You might need to add explicit type casts.");
    return TCUDB_ERROR;
}

tcudb_status bind_aggregate_call(Binder *b, Block *block, const PgQuery__FuncCall *call, AggCall *out, Error *err)
{
    const char *name = bind_func_name(call);
    int position = bind_position(b, call->location);
    Expr **args = NULL;
    uint32_t n = 0;
    TRY(aggregate_args(b, block, call, &args, &n, out, err));
    Type types[FUNC_MAX_ARGS] = {{0}};
    if (n > FUNC_MAX_ARGS) return error_unsupported(err, position, "an aggregate of so many arguments");
    for (size_t i = 0; i < n; i++) types[i] = args[i]->type;
    AggCallType type;
    tcudb_status status = agg_resolve(str_of(name), types, n, call->agg_star, position, &type, err);
    if (status != TCUDB_OK) return call->agg_within_group ? no_ordered_set(name, types, n, position, err) : status;
    TRY(check_within_group(call, name, position, err));
    assert(n <= 2);
    out->kind = type.kind;
    out->nargs = n;
    out->distinct = call->agg_distinct;
    out->col = (PlanCol){.type = type.result, .name = name};
    for (uint32_t i = 0; i < out->nargs; i++) {
        TRY(bind_coerce(b, args[i], type.args[i], CAST_IMPLICIT, args[i]->position, &out->args[i], err));
    }
    return aggregate_order(b, block, call, args, out, err);
}

static tcudb_status bind_parts(Binder *b, Block *block, const PgQuery__FuncCall *call, AggCall *out, Error *err)
{
    TRY(bind_aggregate_call(b, block, call, out, err));
    if (call->agg_filter == NULL) return TCUDB_OK;
    block->place = PLACE_FILTER;
    return bind_bool(b, block, call->agg_filter, "FILTER", &out->filter, err);
}

/* Checks the place and makes the call a column of the aggregation of the query it belongs to. */
static tcudb_status settle(Binder *b, Block *block, Block *owner, const AggCall *bound, ApplyList *subqueries,
                           int position, Expr **out, Error *err)
{
    TRY(check_place(owner, position, err));
    if (owner->has_work_scan) {
        return error_at(err, SQLSTATE_INVALID_RECURSION, position,
                        "aggregate functions are not allowed in a recursive query's recursive term");
    }
    if (owner != block && subqueries->first != NULL) {
        return error_unsupported(err, position, "a subquery in an aggregate over an outer query's columns");
    }
    for (ApplySpec *spec = subqueries->first, *next; spec != NULL; spec = next) {
        next = spec->next;
        bind_apply_append(&owner->pre, spec);
    }
    const AggCall *shared = NULL;
    TRY(add_aggregate(b, owner, bound, &shared, err));
    *out = expr_col(b->arena, shared->col.id, shared->col.type, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status aggregate(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out, Error *err)
{
    int position = bind_position(b, call->location);
    TRY(refuse_forms(call, bind_func_name(call), position, err));
    bool in_agg_before = block->in_agg;
    Block *owner_before = block->agg_owner;
    ApplyList *applies_before = block->applies, subqueries = {0};
    Place place_before = block->place;
    AggCall bound = {0};
    block->in_agg = true;
    block->agg_owner = NULL;
    block->applies = &subqueries;
    tcudb_status status = bind_parts(b, block, call, &bound, err);
    Block *owner = block->agg_owner == NULL ? block : block->agg_owner;
    bool nested = block->agg_nested == owner;
    block->agg_nested = NULL;
    block->in_agg = in_agg_before;
    block->agg_owner = owner_before;
    block->applies = applies_before;
    block->place = place_before;
    TRY(status);
    if (nested) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, block->agg_nested_position,
                        "aggregate function calls cannot be nested");
    }
    TRY(settle(b, block, owner, &bound, &subqueries, position, out, err));
    if (!block->in_agg) return TCUDB_OK;
    block->agg_nested = owner; /* an outer query's aggregate inside this query's one */
    block->agg_nested_position = position;
    if (block->agg_owner == NULL) block->agg_owner = owner;
    return TCUDB_OK;
}

/* count(t) is count(*). */
static tcudb_status count_or_aggregate(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out, Error *err)
{
    bool rows = false;
    PgQuery__FuncCall star = *call;
    TRY(bind_counts_rows(b, block, call, &rows, err));
    if (!rows) return aggregate(b, block, call, out, err);
    star.n_args = 0;
    star.agg_star = true;
    return aggregate(b, block, &star, out, err);
}

/* ---- functions */

static tcudb_status plain_only(const PgQuery__FuncCall *call, const char *name, int position, Error *err)
{
    const char *what = NULL;
    if (call->agg_distinct) what = "DISTINCT";
    if (call->n_agg_order > 0) what = "ORDER BY";
    if (call->agg_filter != NULL) what = "FILTER";
    if (call->agg_within_group) what = "WITHIN GROUP";
    if (what == NULL) return TCUDB_OK;
    return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position, "%s specified, but %s is not an aggregate function",
                    what, name);
}

/* date('2001-01-01'): *out NULL if there is no such type. */
static tcudb_status call_as_cast(Binder *b, const char *name, Expr *arg, int position, Expr **out, Error *err)
{
    Type type = {0};
    *out = NULL;
    if (type_from_name(str_of(name), NULL, 0, position, &type, NULL) != TCUDB_OK) return TCUDB_OK;
    return bind_coerce(b, arg, type, CAST_EXPLICIT, position, out, err);
}

static tcudb_status named_call(Binder *b, const char *name, Expr **args, uint32_t nargs, int position, int start,
                               Expr **out, Error *err)
{
    Error local = {0};
    tcudb_status status = bind_call(b, FUNC_FUNCTION, name, args, nargs, position, start, out, &local);
    if (status == TCUDB_OK) return status;
    if (nargs == 1 && strcmp(local.sqlstate, SQLSTATE_UNDEFINED_FUNCTION) == 0) {
        TRY(call_as_cast(b, name, args[0], position, out, err));
        if (*out != NULL) return TCUDB_OK;
    }
    if (strcmp(local.sqlstate, SQLSTATE_UNDEFINED_FUNCTION) == 0 && bind_foreign_function(name) &&
        !func_exists(FUNC_FUNCTION, str_of(name)) && !bind_system_has(name))
        return error_unsupported(err, position, "the function %s", name);
    if (err != NULL) *err = local;
    return status;
}

/* ---- named arguments: of the functions that have several of one type */

enum { NAMED_MAX = 7 };

typedef struct NamedFunction {
    const char *name;
    uint32_t nargs, needed; /* those after `needed` are 0 if they are left out */
    const char *args[NAMED_MAX];
} NamedFunction;

static const NamedFunction *named_function(const char *name)
{
    static const NamedFunction functions[] = {
        {"make_interval", 7, 0, {"years", "months", "weeks", "days", "hours", "mins", "secs"}},
        {"make_date", 3, 3, {"year", "month", "day"}},
        {"make_timestamp", 6, 6, {"year", "month", "mday", "hour", "min", "sec"}},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}

static bool has_named(const PgQuery__FuncCall *call)
{
    return call->n_args > 0 && NODE_IS(call->args[call->n_args - 1], NAMED_ARG_EXPR);
}

/* f(1, c => 3): the arguments in their places. */
static tcudb_status place_named(Binder *b, Block *block, const PgQuery__FuncCall *call, const NamedFunction *f,
                                Expr **args, Error *err)
{
    for (uint32_t i = 0; i < call->n_args; i++) {
        const Node *arg = call->args[i];
        uint32_t at = i;
        if (NODE_IS(arg, NAMED_ARG_EXPR)) {
            const PgQuery__NamedArgExpr *named = arg->named_arg_expr;
            for (at = 0; at < f->nargs && strcmp(f->args[at], named->name) != 0;) at++;
            if (at < f->nargs && args[at] != NULL)
                return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_node_position(b, arg),
                                "argument name \"%s\" used more than once", named->name);
            arg = named->arg;
        }
        if (at >= f->nargs)
            return error_unsupported(err, bind_node_position(b, call->args[i]), "this argument of %s", f->name);
        TRY(bind_expr(b, block, arg, &args[at], err));
    }
    return TCUDB_OK;
}

static tcudb_status named_args(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr ***args, uint32_t *n,
                               Error *err)
{
    const NamedFunction *f = named_function(bind_func_name(call));
    assert(f != NULL);
    *n = f->nargs;
    *args = ARENA_ARRAY(b->arena, Expr *, f->nargs, err);
    TRY_PTR(*args);
    TRY(place_named(b, block, call, f, *args, err));
    for (uint32_t i = 0; i < f->nargs; i++) {
        if ((*args)[i] != NULL) continue;
        if (i < f->needed)
            return error_unsupported(err, bind_position(b, call->location), "%s without %s", f->name, f->args[i]);
        (*args)[i] = expr_const(b->arena, &(Value){.type = TYPE(TYPE_INT4)}, 0, err);
        TRY_PTR((*args)[i]);
    }
    return TCUDB_OK;
}

static tcudb_status refuse_call(Binder *b, const PgQuery__FuncCall *call, const char *name, int position, Error *err)
{
    if (bind_is_window_name(name) && !call->agg_within_group) {
        return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position, "window function %s requires an OVER clause", name);
    }
    if (call->func_variadic) return error_unsupported(err, position, "VARIADIC");
    for (size_t i = 0; i < call->n_args; i++) {
        if (!NODE_IS(call->args[i], NAMED_ARG_EXPR)) continue;
        if (named_function(name) != NULL) continue;
        return error_unsupported(err, bind_node_position(b, call->args[i]), "a named argument of %s", name);
    }
    if (bind_foreign_aggregate(name)) return error_unsupported(err, position, "the aggregate %s", name);
    return TCUDB_OK;
}

/* schema.f(...): there are no functions in any other schema. */
static tcudb_status no_schema_function(Binder *b, Block *block, const PgQuery__FuncCall *call, int position, Error *err)
{
    Expr **args = NULL;
    const char *list = "", *schema = sql_string(call->funcname[0]);
    if (strcmp(schema, "public") != 0 && strcmp(schema, "information_schema") != 0)
        return error_at(err, SQLSTATE_INVALID_SCHEMA_NAME, position, "schema \"%s\" does not exist", schema);
    TRY(bind_expr_list(b, block, call->args, call->n_args, &args, err));
    for (size_t i = 0; i < call->n_args; i++) {
        list = arena_printf(b->arena, err, "%s%s%s", list, i == 0 ? "" : ", ", type_base_name(args[i]->type));
        TRY_PTR(list);
    }
    tcudb_status status = error_at(err, SQLSTATE_UNDEFINED_FUNCTION, position, "function %s.%s(%s) does not exist",
                                   schema, bind_func_name(call), list);
    error_hint(err,
               "No function matches the given name and argument types. You might need to add explicit type casts.");
    return status;
}

/* PostgreSQL's names of functions that were called by a schema's name, as TRIM and others are, have it in messages. */
static tcudb_status qualified(const PgQuery__FuncCall *call, tcudb_status status, Error *err)
{
    static const char head[] = "function ";
    if (status != TCUDB_ERROR || err == NULL || call->n_funcname < 2 ||
        strncmp(err->message, head, sizeof head - 1) != 0 || strcmp(err->sqlstate, SQLSTATE_UNDEFINED_FUNCTION) != 0)
        return status;
    char rest[ERROR_TEXT];
    snprintf(rest, sizeof rest, "%s", err->message + sizeof head - 1);
    snprintf(err->message, sizeof err->message, "%s%s.%.*s", head, sql_string(call->funcname[0]), (int)(ERROR_TEXT / 2),
             rest);
    return status;
}

tcudb_status bind_func_call(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    const PgQuery__FuncCall *call = node->func_call;
    const char *name = bind_func_name(call);
    int position = bind_position(b, call->location);
    if (call->n_funcname > 1 && strcmp(sql_string(call->funcname[0]), "pg_catalog") != 0) {
        return no_schema_function(b, block, call, position, err);
    }
    if (call->over == NULL && agg_exists(str_of(name))) return count_or_aggregate(b, block, call, out, err);
    if (call->over != NULL) return bind_window(b, block, call, out, err);
    TRY(refuse_call(b, call, name, position, err));
    const TableFunc *rows = b->env->find_table_func == NULL ? NULL : b->env->find_table_func(str_of(name));
    if (rows != NULL && bind_makes_array(call)) return error_unsupported(err, position, "the function %s here", name);
    if (rows != NULL || bind_is_unnest(call)) return bind_srf_call(b, block, rows, call, out, err);
    if (bind_takes_array(call)) return bind_array_call(b, block, call, out, err);
    Expr **args = NULL;
    if (bind_is_sequence_call(call)) return bind_sequence_call(b, block, call, out, err);
    uint32_t nargs = (uint32_t)call->n_args;
    if (has_named(call))
        TRY(named_args(b, block, call, &args, &nargs, err));
    else
        TRY(bind_expr_list(b, block, call->args, nargs, &args, err)); /* f(*) has none: it is looked up as f() */
    TRY(bind_system_function(b, block, name, args, nargs, position, out, err));
    if (*out != NULL) return plain_only(call, name, position, err);
    TRY(qualified(call, named_call(b, name, args, nargs, position, bind_node_position(b, node), out, err), err));
    if (bind_makes_array(call)) return error_unsupported(err, position, "the function %s", name);
    return plain_only(call, name, position, err);
}
