/*
 * ranges.c: proven ranges of exact numbers, and proofs that evaluating an expression cannot fail.
 *
 * Ranges are of scaled integers: numeric(5,2) 1.50 is 150. Columns take theirs from the exact bounds of the
 * table's segments, else from their type; + - * and casts follow by interval arithmetic in 128 bits. An
 * arithmetic node whose range fits its type cannot overflow, so it may be evaluated on rows that the query as
 * written would not have reached: that is what moving sums below or across joins needs.
 */
#include "opt/opt_int.h"

#include <assert.h>

static int128 power_of_ten(uint32_t n)
{
    int128 power = 1;
    for (; n > 0; n--) power *= 10;
    return power;
}

/* What a type can hold. */
static bool type_range(Type type, Range *out)
{
    switch (type.id) {
    case TYPE_INT2: *out = (Range){INT16_MIN, INT16_MAX}; return true;
    case TYPE_INT4: *out = (Range){INT32_MIN, INT32_MAX}; return true;
    case TYPE_INT8: *out = (Range){INT64_MIN, INT64_MAX}; return true;
    case TYPE_DATE: *out = (Range){INT32_MIN, INT32_MAX}; return true;
    case TYPE_NUMERIC:
        if (type.precision == 0) return false;
        *out = (Range){1 - power_of_ten(type.precision), power_of_ten(type.precision) - 1};
        return true;
    default: return false;
    }
}

static bool scan_range(const Plan *plan, ColId id, Range *out)
{
    if (plan->kind == PLAN_SCAN) {
        for (uint32_t i = 0; i < plan->ncols; i++) {
            if (plan->cols[i].id != id || plan->scan.columns[i] == ROWID_COLUMN) continue;
            ColumnStats stats;
            if (catalog_stats(plan->scan.table, plan->scan.columns[i], &stats, NULL) != TCUDB_OK) return false;
            return stats.has_bounds && value_integer(&stats.min, &out->min) && value_integer(&stats.max, &out->max);
        }
        return false;
    }
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (scan_range(plan->inputs[i], id, out)) return true;
    return false;
}

static void widen(Range *range, Range other)
{
    if (other.min < range->min) range->min = other.min;
    if (other.max > range->max) range->max = other.max;
}

static bool multiply(Range a, Range b, Range *out)
{
    int128 p[4];
    bool overflow = __builtin_mul_overflow(a.min, b.min, &p[0]) | __builtin_mul_overflow(a.min, b.max, &p[1]) |
                    __builtin_mul_overflow(a.max, b.min, &p[2]) | __builtin_mul_overflow(a.max, b.max, &p[3]);
    *out = (Range){p[0], p[0]};
    for (int i = 1; i < 4; i++) widen(out, (Range){p[i], p[i]});
    return !overflow;
}

static bool rescale(Range *range, uint32_t from, uint32_t to)
{
    if (to < from) return false; /* rounds */
    Range factor = {power_of_ten(to - from), power_of_ten(to - from)};
    return multiply(*range, factor, range);
}

static bool add(Range a, Range b, Range *out)
{
    return !__builtin_add_overflow(a.min, b.min, &out->min) && !__builtin_add_overflow(a.max, b.max, &out->max);
}

static bool is_int(Type type)
{
    return type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8;
}

/* a / b and a % b of integers, b never 0. */
static bool division_range(Type type, bool rest, Range a, Range b, Range *out)
{
    if (!is_int(type) || (b.min <= 0 && b.max >= 0)) return false;
    int128 largest = -a.min > a.max ? -a.min : a.max, most = -b.min > b.max ? -b.min - 1 : b.max - 1;
    if (rest && most < largest) largest = most;
    bool positive = a.min >= 0 && (rest || b.min > 0), negative = a.max <= 0 && (rest || b.min > 0);
    *out = (Range){positive ? 0 : -largest, negative ? 0 : largest};
    return true;
}

/* A number of scale `from` as one of scale `to`; half: rounded half away from zero, else cut off. */
static int128 to_scale(int128 v, uint32_t from, uint32_t to, bool half)
{
    int128 power = power_of_ten(from - to);
    return half ? (v < 0 ? v - power / 2 : v + power / 2) / power : v / power;
}

/* round, trunc, ceil and floor to a scale that the type has. */
static bool rounded_range(const Expr *e, Range first, Range *out)
{
    uint32_t from = e->args[0]->type.scale, to = e->type.scale;
    const int128 most = power_of_ten(36); /* half a power more is no overflow */
    if (from < to) {
        *out = first;
        return rescale(out, from, to);
    }
    if (first.min < -most || first.max > most) return false;
    bool half = strcmp(e->func->name, "round") == 0, cut = strcmp(e->func->name, "trunc") == 0;
    *out = (Range){to_scale(first.min, from, to, half), to_scale(first.max, from, to, half)};
    if (half || cut) return true;
    out->min--;
    out->max++;
    return true;
}

/* abs; numbers rounded to a scale; greatest and least, which skip NULL, so that any of the arguments may be the result.
 */
static bool function_range(const Plan *plan, const Expr *e, Range first, Range *out)
{
    *out = first;
    if (strcmp(e->func->name, "abs") == 0) {
        int128 largest = -first.min > first.max ? -first.min : first.max;
        *out = (Range){first.min > 0 ? first.min : first.max < 0 ? -first.max : 0, largest};
        return true;
    }
    if (expr_rounds(e)) return rounded_range(e, first, out);
    if (strcmp(e->func->name, "greatest") != 0 && strcmp(e->func->name, "least") != 0) return false;
    for (uint32_t i = 1; i < e->nargs; i++) {
        Range range;
        if (!type_equal(e->args[i]->type, e->type) || !expr_range(plan, e->args[i], &range)) return false;
        widen(out, range);
    }
    return type_equal(e->args[0]->type, e->type);
}

static bool call_range(const Plan *plan, const Expr *e, Range *out)
{
    Range a, b;
    const Expr *x = e->args[0];
    if (!expr_range(plan, x, &a)) return false;
    if (e->func->kind == FUNC_FUNCTION) return function_range(plan, e, a, out);
    if (e->func->kind == FUNC_CAST) {
        if (!rescale(&a, x->type.scale, e->type.scale)) return false;
        *out = a;
        return true;
    }
    if (e->func->kind != FUNC_OPERATOR) return false;
    if (e->nargs == 1) {
        *out = (Range){-a.max, -a.min};
        return strcmp(e->func->name, "-") == 0;
    }
    const Expr *y = e->args[1];
    if (e->nargs != 2 || !expr_range(plan, y, &b)) return false;
    bool rest = strcmp(e->func->name, "%") == 0;
    if (rest || strcmp(e->func->name, "/") == 0) return division_range(e->type, rest, a, b, out);
    if (strcmp(e->func->name, "*") == 0) return x->type.scale + y->type.scale == e->type.scale && multiply(a, b, out);
    if (!rescale(&a, x->type.scale, e->type.scale) || !rescale(&b, y->type.scale, e->type.scale)) return false;
    if (strcmp(e->func->name, "+") == 0) return add(a, b, out);
    return strcmp(e->func->name, "-") == 0 && add(a, (Range){-b.max, -b.min}, out);
}

/* The union of the branches; NULL constants add nothing. */
static bool branches_range(const Plan *plan, const Expr *e, Range *out)
{
    bool any = false;
    for (uint32_t i = 0; i < e->nargs; i++) {
        bool condition = e->kind == EXPR_CASE && i % 2 == 0 && i + 1 < e->nargs;
        Range range;
        if (condition || expr_is_null_const(e->args[i])) continue;
        if (!expr_range(plan, e->args[i], &range)) return false;
        if (!any) *out = range;
        widen(out, range);
        any = true;
    }
    if (!any) *out = (Range){0, 0};
    return true;
}

bool expr_range(const Plan *plan, const Expr *e, Range *out)
{
    Range whole;
    if (!type_range(e->type, &whole)) return false;
    bool known = false;
    if (e->kind == EXPR_CONST && value_integer(&e->value, &out->min)) {
        out->max = out->min;
        return true;
    }
    if (e->kind == EXPR_COL) known = scan_range(plan, e->col, out);
    if (e->kind == EXPR_FUNC && e->nargs > 0) known = call_range(plan, e, out);
    if (e->kind == EXPR_CASE || e->kind == EXPR_COALESCE) known = branches_range(plan, e, out);
    if (!known || out->min < whole.min || out->max > whole.max) *out = whole;
    return true;
}

/* Dates far from infinity and from both ends of the calendar, whose sums and differences are no trouble. */
static bool is_plain_date(const Plan *plan, const Expr *e)
{
    Range range;
    return e->type.id != TYPE_DATE || (expr_range(plan, e, &range) && range.min >= -700000 && range.max <= 1000000);
}

typedef struct Totality {
    const Plan *plan;
} Totality;

/* Functions that have a result for every argument. */
static bool never_fails(const Expr *e)
{
    static const char *const names[] = {"greatest", "least",       "lower",           "upper",
                                        "length",   "char_length", "character_length"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (e->func->kind == FUNC_FUNCTION && strcmp(e->func->name, names[i]) == 0) return true;
    return false;
}

static bool total_node(void *ctx, const Expr *e)
{
    const Totality *t = ctx;
    Range range, whole;
    if (e->kind != EXPR_FUNC) return true;
    if ((e->func->flags & FUNC_COMPARISON) != 0 || expr_is_func(e, "not")) return true;
    if (e->func->kind == FUNC_OPERATOR && strncmp(e->func->name, "is ", 3) == 0) return true;
    if (never_fails(e)) return true;
    bool to_float = e->func->kind == FUNC_CAST && e->type.id == TYPE_FLOAT8;
    if (to_float && (type_range(e->args[0]->type, &whole) || e->args[0]->type.id == TYPE_FLOAT4)) return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!is_plain_date(t->plan, e->args[i])) return false;
    return is_plain_date(t->plan, e) && type_range(e->type, &whole) && call_range(t->plan, e, &range) &&
           range.min >= whole.min && range.max <= whole.max;
}

bool expr_total(const Plan *plan, const Expr *e)
{
    Totality t = {plan};
    return !expr_volatile(e) && expr_walk(e, total_node, &t);
}
