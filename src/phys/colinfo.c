/*
 * colinfo.c: what is known of every column of a statement, from exact facts.
 *
 * Scans give dictionaries (text) and bounds (integers, dates, decimals up to 18 digits: the extremes over
 * all segments). Renaming keeps both; +, - and * of bounded integers give bounds by interval arithmetic if
 * they stay within 64 bits, % of a constant and fields of dates have bounds of their own. Set operations keep what is
 * known of both sides. Everything else is unknown. Facts hold for every row of the statement, NULLs aside, since rows
 * only get fewer or repeated on the way up.
 */
#include "phys/phys.h"
#include "type/datetime.h"

#include <assert.h>

static void scan_bounds(const Table *table, uint32_t column, ColInfo *info)
{
    bool any = false;
    int64_t lo, hi;
    for (uint32_t s = 0; s < table_segments(table); s++) {
        const SegColumn *seg = segment_column(table, s, column);
        if (seg == NULL) return;
        if (seg->rows == seg->nulls) continue;
        if (!seg->has_bounds || !value_int64(&seg->min, &lo) || !value_int64(&seg->max, &hi)) return;
        if (!any || lo < info->min) info->min = lo;
        if (!any || hi > info->max) info->max = hi;
        any = true;
    }
    if (!any) info->min = info->max = 0;
    info->has_bounds = true;
}

static void scan_info(ColInfo *all, ColId n, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ncols; i++) {
        uint32_t column = plan->scan.columns[i];
        assert(plan->cols[i].id < n);
        if (column == ROWID_COLUMN) continue;
        ColInfo *info = &all[plan->cols[i].id];
        *info = (ColInfo){.table = plan->scan.table, .column = column};
        Phys phys = type_phys(plan->cols[i].type);
        info->dict = phys == PHYS_STR && !type_keeps_blanks(plan->cols[i].type); /* different codes may be equal */
        if (phys <= PHYS_I64) scan_bounds(plan->scan.table, column, info);
    }
}

/* Only the bounds of a call's result; exact numbers with one scale rule: + and - align scales first. */
static bool int_args(const ColInfo *all, ColId n, const Expr *e, ColInfo *a, ColInfo *b)
{
    *a = phys_expr_info(all, n, e->args[0]);
    *b = phys_expr_info(all, n, e->args[1]);
    return a->has_bounds && b->has_bounds;
}

static bool fits(int128 lo, int128 hi, ColInfo *out)
{
    if (lo < INT64_MIN || hi > INT64_MAX) return false;
    *out = (ColInfo){.has_bounds = true, .min = (int64_t)lo, .max = (int64_t)hi};
    return true;
}

static bool same_scale(const Expr *e)
{
    return e->args[0]->type.scale == e->args[1]->type.scale && e->type.scale == e->args[0]->type.scale;
}

static bool mul_bounds(const ColInfo *a, const ColInfo *b, ColInfo *out)
{
    int128 p[4] = {(int128)a->min * b->min, (int128)a->min * b->max, (int128)a->max * b->min, (int128)a->max * b->max};
    int128 lo = p[0], hi = p[0];
    for (int i = 1; i < 4; i++) {
        if (p[i] < lo) lo = p[i];
        if (p[i] > hi) hi = p[i];
    }
    return fits(lo, hi, out);
}

/* The remainder has the dividend's sign. */
static bool mod_bounds(const ColInfo *a, const ColInfo *b, ColInfo *out)
{
    if (b->min != b->max || b->min == 0 || b->min == INT64_MIN) return false;
    int64_t most = (b->min < 0 ? -b->min : b->min) - 1;
    *out = (ColInfo){.has_bounds = true, .min = a->min >= 0 ? 0 : -most, .max = a->max <= 0 ? 0 : most};
    return true;
}

typedef struct FieldBounds {
    const char *unit;
    int16_t min, max;
} FieldBounds;

/* extract(unit from date). Other units than these have no bounds worth knowing. */
static ColInfo field_info(const ColInfo *all, ColId n, const Expr *e)
{
    static const FieldBounds fields[] = {{"month", 1, 12}, {"day", 1, 31},  {"quarter", 1, 4}, {"dow", 0, 6},
                                         {"isodow", 1, 7}, {"doy", 1, 366}, {"week", 1, 53}};
    const Expr *unit = e->args[0];
    ColInfo days = phys_expr_info(all, n, e->args[1]), none = {0};
    if (unit->kind != EXPR_CONST || unit->value.null || e->args[1]->type.id != TYPE_DATE || !days.has_bounds)
        return none;
    if (!date_finite((int32_t)days.min) || !date_finite((int32_t)days.max)) return none;
    if (str_equal(unit->value.str, STR_LIT("year"))) {
        int32_t first = date_to_civil((int32_t)days.min).year, last = date_to_civil((int32_t)days.max).year;
        return first > 0 ? (ColInfo){.has_bounds = true, .min = first, .max = last} : none; /* 1 BC is year -1 */
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (str_equal(unit->value.str, str_of(fields[i].unit)))
            return (ColInfo){.has_bounds = true, .min = fields[i].min, .max = fields[i].max};
    return none;
}

static ColInfo call_info(const ColInfo *all, ColId n, const Expr *e)
{
    ColInfo a, b, none = {0}, out;
    if (type_phys(e->type) > PHYS_I64 || type_phys(e->type) == PHYS_BOOL || e->nargs == 0) return none;
    if (e->type.id == TYPE_DATE || e->type.id == TYPE_TIMESTAMP) return none;
    if (e->func->kind == FUNC_CAST && e->nargs == 1) {
        bool plain = type_phys(e->args[0]->type) <= PHYS_I64 && e->args[0]->type.scale == e->type.scale;
        a = phys_expr_info(all, n, e->args[0]);
        a.dict = false;
        return plain && a.has_bounds ? a : none;
    }
    if (e->func->kind == FUNC_FUNCTION && e->nargs == 2 && strcmp(e->func->name, "extract") == 0)
        return field_info(all, n, e);
    if (e->func->kind != FUNC_OPERATOR || e->nargs != 2 || !int_args(all, n, e, &a, &b)) return none;
    if (type_phys(e->args[0]->type) > PHYS_I64 || type_phys(e->args[1]->type) > PHYS_I64) return none;
    bool ok = false;
    if (strcmp(e->func->name, "+") == 0 && same_scale(e)) ok = fits((int128)a.min + b.min, (int128)a.max + b.max, &out);
    if (strcmp(e->func->name, "-") == 0 && same_scale(e)) ok = fits((int128)a.min - b.max, (int128)a.max - b.min, &out);
    if (strcmp(e->func->name, "*") == 0 && e->args[0]->type.scale + e->args[1]->type.scale == e->type.scale)
        ok = mul_bounds(&a, &b, &out);
    if (strcmp(e->func->name, "%") == 0 && same_scale(e)) ok = mod_bounds(&a, &b, &out);
    return ok ? out : none;
}

ColInfo phys_expr_info(const ColInfo *all, ColId n, const Expr *e)
{
    ColInfo info = {0};
    if (e->kind == EXPR_COL && e->col < n) return all[e->col];
    if (e->kind == EXPR_CONST) {
        int64_t v;
        info.nulls = e->value.null;
        info.has_bounds = value_int64(&e->value, &v);
        if (info.has_bounds) info.min = info.max = v;
        return info;
    }
    return e->kind == EXPR_FUNC ? call_info(all, n, e) : info;
}

static void named_info(ColInfo *all, ColId n, const NamedExpr *exprs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool same = exprs[i].expr->kind == EXPR_COL && exprs[i].expr->col == exprs[i].col.id;
        if (!same) all[exprs[i].col.id] = phys_expr_info(all, n, exprs[i].expr);
    }
}

/* What holds for values of either; a dictionary only if it is the same one. */
static ColInfo either(const ColInfo *a, const ColInfo *b)
{
    ColInfo both = {0};
    if (a->nulls || b->nulls) return a->nulls ? *b : *a;
    if (a->dict && b->dict && a->table == b->table && a->column == b->column)
        both = (ColInfo){.dict = true, .table = a->table, .column = a->column};
    both.has_bounds = a->has_bounds && b->has_bounds;
    both.min = a->min < b->min ? a->min : b->min;
    both.max = a->max > b->max ? a->max : b->max;
    return both;
}

/* Column by column; an output may have the id of an input's column. */
static void set_op_info(ColInfo *all, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ncols; i++)
        all[plan->cols[i].id] = either(&all[plan->inputs[0]->cols[i].id], &all[plan->inputs[1]->cols[i].id]);
}

void phys_collect_info(ColInfo *all, ColId n, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) phys_collect_info(all, n, plan->inputs[i]);
    switch (plan->kind) {
    case PLAN_SCAN: scan_info(all, n, plan); break;
    case PLAN_PROJECT: named_info(all, n, plan->project.exprs, plan->ncols); break;
    case PLAN_AGGREGATE: named_info(all, n, plan->agg.groups, plan->agg.ngroups); break;
    case PLAN_CONTRACT: named_info(all, n, plan->contract.groups, plan->contract.ngroups); break;
    case PLAN_CTE_SCAN: /* the CTE's own plan has been collected before */
        for (uint32_t i = 0; i < plan->ncols; i++) all[plan->cols[i].id] = all[plan->cte_scan.cte->plan->cols[i].id];
        break;
    case PLAN_SET_OP: set_op_info(all, plan); break;
    case PLAN_RECURSIVE:
    case PLAN_WORK_SCAN: /* rows from elsewhere too, should an id be an input's */
        for (uint32_t i = 0; i < plan->ncols; i++) all[plan->cols[i].id] = (ColInfo){0};
        break;
    default: break;
    }
}
