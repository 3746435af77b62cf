/*
 * agg.c: aggregates as SQL sees them: names, argument and result types.
 *
 * One table row a signature; the row whose argument type the actual type casts to implicitly and exactly
 * or preferred is taken, as for functions. PostgreSQL's result types: sums of small integers are bigint,
 * of bigint numeric; averages of integers numeric. A sum of numeric(p,s) keeps the scale s and has 38
 * digits; the exec/ kernels report overflow beyond them.
 */
#include "type/type_int.h"

#include <assert.h>
#include <stdio.h>

typedef struct AggLine {
    const char *name;
    AggKind kind;
    uint8_t nargs;
    uint8_t args[2]; /* TYPE_NONE: any */
    uint8_t result;  /* TYPE_NONE: the argument's */
} AggLine;

#define EVERY_ORDERED(name, kind)                                                                                      \
    {name, kind, 1, {TYPE_INT2}, 0}, {name, kind, 1, {TYPE_INT4}, 0}, {name, kind, 1, {TYPE_INT8}, 0},                 \
        {name, kind, 1, {TYPE_NUMERIC}, 0}, {name, kind, 1, {TYPE_FLOAT4}, 0}, {name, kind, 1, {TYPE_FLOAT8}, 0},      \
        {name, kind, 1, {TYPE_DATE}, 0}, {name, kind, 1, {TYPE_TIMESTAMP}, 0}, {name, kind, 1, {TYPE_TEXT}, 0},        \
        {name, kind, 1, {TYPE_BPCHAR}, 0},                                                                             \
    {                                                                                                                  \
        name, kind, 1, {TYPE_INTERVAL}, 0                                                                              \
    }

#define EVERY_DEVIATION(name, kind)                                                                                    \
    {name, kind, 1, {TYPE_INT2}, TYPE_NUMERIC}, {name, kind, 1, {TYPE_INT4}, TYPE_NUMERIC},                            \
        {name, kind, 1, {TYPE_INT8}, TYPE_NUMERIC}, {name, kind, 1, {TYPE_NUMERIC}, TYPE_NUMERIC},                     \
        {name, kind, 1, {TYPE_FLOAT4}, TYPE_FLOAT8},                                                                   \
    {                                                                                                                  \
        name, kind, 1, {TYPE_FLOAT8}, TYPE_FLOAT8                                                                      \
    }

#define EVERY_INTEGER(name, kind)                                                                                      \
    {name, kind, 1, {TYPE_INT2}, 0}, {name, kind, 1, {TYPE_INT4}, 0},                                                  \
    {                                                                                                                  \
        name, kind, 1, {TYPE_INT8}, 0                                                                                  \
    }

#define STATISTIC(name, kind)                                                                                          \
    {                                                                                                                  \
        name, kind, 2, {TYPE_FLOAT8, TYPE_FLOAT8}, TYPE_FLOAT8                                                         \
    }

static const AggLine aggs[] = {
    {"count", AGG_COUNT, 1, {TYPE_NONE}, TYPE_INT8},
    {"sum", AGG_SUM, 1, {TYPE_INT2}, TYPE_INT8},
    {"sum", AGG_SUM, 1, {TYPE_INT4}, TYPE_INT8},
    {"sum", AGG_SUM, 1, {TYPE_INT8}, TYPE_NUMERIC},
    {"sum", AGG_SUM, 1, {TYPE_NUMERIC}, TYPE_NUMERIC},
    {"sum", AGG_SUM, 1, {TYPE_FLOAT4}, TYPE_FLOAT4},
    {"sum", AGG_SUM, 1, {TYPE_FLOAT8}, TYPE_FLOAT8},
    {"sum", AGG_SUM, 1, {TYPE_INTERVAL}, TYPE_INTERVAL},
    {"avg", AGG_AVG, 1, {TYPE_INT2}, TYPE_NUMERIC},
    {"avg", AGG_AVG, 1, {TYPE_INT4}, TYPE_NUMERIC},
    {"avg", AGG_AVG, 1, {TYPE_INT8}, TYPE_NUMERIC},
    {"avg", AGG_AVG, 1, {TYPE_NUMERIC}, TYPE_NUMERIC},
    {"avg", AGG_AVG, 1, {TYPE_FLOAT4}, TYPE_FLOAT8},
    {"avg", AGG_AVG, 1, {TYPE_FLOAT8}, TYPE_FLOAT8},
    {"avg", AGG_AVG, 1, {TYPE_INTERVAL}, TYPE_INTERVAL},
    EVERY_ORDERED("min", AGG_MIN),
    EVERY_ORDERED("max", AGG_MAX),
    EVERY_DEVIATION("var_pop", AGG_VAR_POP),
    EVERY_DEVIATION("var_samp", AGG_VAR_SAMP),
    EVERY_DEVIATION("variance", AGG_VAR_SAMP),
    EVERY_DEVIATION("stddev_pop", AGG_STDDEV_POP),
    EVERY_DEVIATION("stddev_samp", AGG_STDDEV_SAMP),
    EVERY_DEVIATION("stddev", AGG_STDDEV_SAMP),
    {"bool_and", AGG_BOOL_AND, 1, {TYPE_BOOL}, TYPE_BOOL},
    {"every", AGG_BOOL_AND, 1, {TYPE_BOOL}, TYPE_BOOL},
    {"bool_or", AGG_BOOL_OR, 1, {TYPE_BOOL}, TYPE_BOOL},
    {"string_agg", AGG_STRING_AGG, 2, {TYPE_TEXT, TYPE_TEXT}, TYPE_TEXT},
    {"any_value", AGG_ANY, 1, {TYPE_NONE}, TYPE_NONE},
    EVERY_INTEGER("bit_and", AGG_BIT_AND),
    EVERY_INTEGER("bit_or", AGG_BIT_OR),
    EVERY_INTEGER("bit_xor", AGG_BIT_XOR),
    STATISTIC("corr", AGG_CORR),
    STATISTIC("covar_pop", AGG_COVAR_POP),
    STATISTIC("covar_samp", AGG_COVAR_SAMP),
    {"regr_count", AGG_REGR_COUNT, 2, {TYPE_FLOAT8, TYPE_FLOAT8}, TYPE_INT8},
    STATISTIC("regr_avgx", AGG_REGR_AVGX),
    STATISTIC("regr_avgy", AGG_REGR_AVGY),
    STATISTIC("regr_sxx", AGG_REGR_SXX),
    STATISTIC("regr_syy", AGG_REGR_SYY),
    STATISTIC("regr_sxy", AGG_REGR_SXY),
    STATISTIC("regr_slope", AGG_REGR_SLOPE),
    STATISTIC("regr_intercept", AGG_REGR_INTERCEPT),
    STATISTIC("regr_r2", AGG_REGR_R2),
    STATISTIC("percentile_cont", AGG_PERCENTILE_CONT),
    {"percentile_disc", AGG_PERCENTILE_DISC, 2, {TYPE_NONE, TYPE_FLOAT8}, TYPE_NONE},
    {"mode", AGG_MODE, 1, {TYPE_NONE}, TYPE_NONE},
};
enum { AGG_COUNT_LINES = sizeof aggs / sizeof *aggs };

bool agg_exists(Str name)
{
    for (size_t i = 0; i < AGG_COUNT_LINES; i++)
        if (str_equal(name, str_of(aggs[i].name)) && aggs[i].kind != AGG_ANY) return true;
    return false;
}

bool agg_ordered_set(Str name)
{
    for (size_t i = 0; i < AGG_COUNT_LINES; i++)
        if (aggs[i].kind >= AGG_PERCENTILE_CONT && str_equal(name, str_of(aggs[i].name))) return true;
    return false;
}

const char *agg_name(AggKind kind)
{
    if (kind == AGG_COUNT_STAR) return "count";
    for (size_t i = 0; i < AGG_COUNT_LINES; i++)
        if (aggs[i].kind == kind) return aggs[i].name;
    assert(false);
    return "";
}

static bool line_fits(const AggLine *line, const Type *args, uint32_t nargs)
{
    bool fits = line->nargs == nargs && line->kind != AGG_ANY;
    for (uint32_t a = 0; a < nargs && fits; a++) fits = func_can_cast_implicitly(args[a], TYPE(line->args[a]));
    return fits;
}

/* No argument's type is known, no line takes text, and the others are numbers and intervals, of which PostgreSQL
 * prefers none. */
static bool is_ambiguous(Str name, const Type *args, uint32_t nargs)
{
    bool interval = false;
    for (uint32_t a = 0; a < nargs; a++)
        if (args[a].id != TYPE_UNKNOWN) return false;
    for (size_t i = 0; i < AGG_COUNT_LINES; i++) {
        if (!str_equal(name, str_of(aggs[i].name)) || !line_fits(&aggs[i], args, nargs)) continue;
        if (nargs == 0 || aggs[i].args[0] == TYPE_TEXT || aggs[i].args[0] == TYPE_NONE) return false;
        interval |= aggs[i].args[0] == TYPE_INTERVAL;
    }
    return interval;
}

/* The table lists narrower types first, so the first line that an argument casts to is the nearest; unknown
 * literals are text where text is taken, else the preferred float8. */
static const AggLine *find_agg(Str name, const Type *args, uint32_t nargs)
{
    const AggLine *found = NULL;
    for (size_t i = 0; i < AGG_COUNT_LINES; i++) {
        const AggLine *line = &aggs[i];
        if (!str_equal(name, str_of(line->name)) || !line_fits(line, args, nargs)) continue;
        bool exact =
            nargs > 0 && (line->args[0] == args[0].id || (args[0].id == TYPE_VARCHAR && line->args[0] == TYPE_TEXT));
        bool preferred = nargs > 0 && args[0].id == TYPE_UNKNOWN &&
                         (line->args[0] == TYPE_TEXT || (line->args[0] == TYPE_FLOAT8 && found != NULL));
        if (exact) return line;
        if (found == NULL || preferred) found = line;
    }
    return found;
}

static tcudb_status no_aggregate(Str name, const Type *args, uint32_t nargs, bool ambiguous, int position, Error *err)
{
    char list[ERROR_TEXT / 2] = "";
    size_t used = 0;
    for (uint32_t a = 0; a < nargs && used < sizeof list; a++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", a == 0 ? "" : ", ", type_base_name(args[a]));
    tcudb_status status =
        error_at(err, ambiguous ? SQLSTATE_AMBIGUOUS_FUNCTION : SQLSTATE_UNDEFINED_FUNCTION, position,
                 "function " STR_FMT "(%s) %s", STR_ARG(name), list, ambiguous ? "is not unique" : "does not exist");
    error_hint(
        err, ambiguous
                 ? "Could not choose a best candidate function. You might need to add explicit type casts."
                 : "No function matches the given name and argument types. You might need to add explicit type casts.");
    return status;
}

tcudb_status agg_resolve(Str name, const Type *args, uint32_t nargs, bool star, int position, AggCallType *out,
                         Error *err)
{
    *out = (AggCallType){.kind = AGG_COUNT_STAR, .result = TYPE(TYPE_INT8)};
    if (star && str_equal(name, STR_LIT("count"))) return TCUDB_OK;
    if (star || (nargs == 0 && str_equal(name, STR_LIT("count")))) {
        if (star) return no_aggregate(name, args, 0, false, position, err);
        return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position,
                        "count(*) must be used to call a parameterless aggregate function");
    }
    const AggLine *line = find_agg(name, args, nargs);
    if (line == NULL) return no_aggregate(name, args, nargs, false, position, err);
    if (is_ambiguous(name, args, nargs)) return no_aggregate(name, args, nargs, true, position, err);
    out->kind = line->kind;
    for (uint32_t a = 0; a < nargs; a++) {
        bool same = line->args[a] == TYPE_NONE ? args[a].id != TYPE_UNKNOWN : line->args[a] == args[a].id;
        out->args[a] = same ? args[a] : TYPE(line->args[a] == TYPE_NONE ? TYPE_TEXT : line->args[a]);
    }
    for (uint32_t a = 0; a < nargs; a++)
        if (out->args[a].id == TYPE_TIMESTAMP) out->args[a] = TYPE(TYPE_TIMESTAMP);
    out->result = line->result == TYPE_NONE ? out->args[0] : TYPE(line->result);
    if (out->kind == AGG_SUM && out->args[0].id == TYPE_INT8) out->result = TYPE_DECIMAL(NUM_MAX_DIGITS, 0);
    if (out->kind == AGG_SUM && out->args[0].id == TYPE_NUMERIC && out->args[0].precision > 0)
        out->result = TYPE_DECIMAL(NUM_MAX_DIGITS, out->args[0].scale);
    return TCUDB_OK;
}
