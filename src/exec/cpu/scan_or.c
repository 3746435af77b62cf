/*
 * scan_or.c: between what values an OR lets an integer column lie.
 *
 *     (a BETWEEN 5 AND 9 AND x = 1) OR (a BETWEEN 20 AND 24 AND y = 2)   ->   a BETWEEN 5 AND 24, and the OR
 *
 * A range is tested by sixteen rows a step and leaves out segments, an OR is evaluated as an expression: so it meets
 * only rows within. Right because: every part of the OR asks for a value within its own range, so that a row outside
 * all of them, or with NULL there, passes none. Loses a tenth of what the OR costs where no row is outside.
 */
#include "exec/cpu/scan_int.h"

#include <assert.h>
#include <math.h>

static const double NARROW = 0.25;

/* The conditions that all must be true for a part to be. */
static Expr *const *conds_of(Expr *const *part, uint32_t *n)
{
    bool several = (*part)->kind == EXPR_AND;
    *n = several ? (*part)->nargs : 1;
    return several ? (*part)->args : part;
}

static bool part_range(const Scan *s, const Layout *layout, Expr *const *part, uint32_t col, int64_t *lo, int64_t *hi)
{
    uint32_t n, at;
    Expr *const *conds = conds_of(part, &n);
    int64_t low, high;
    bool found = false;
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (!scan_int_range(s, layout, conds[i], &at, &low, &high) || at != col) continue;
        found = true;
        *lo = low > *lo ? low : *lo;
        *hi = high < *hi ? high : *hi;
    }
    return found;
}

/* Of all parts together; false: one of them asks nothing of the column. */
static bool or_range(const Scan *s, const Layout *layout, const Expr *e, uint32_t col, int64_t *lo, int64_t *hi)
{
    int64_t low, high;
    *lo = INT64_MAX;
    *hi = INT64_MIN;
    for (uint32_t i = 0; i < e->nargs; i++) {
        if (!part_range(s, layout, &e->args[i], col, &low, &high)) return false;
        *lo = low < *lo ? low : *lo;
        *hi = high > *hi ? high : *hi;
    }
    return true;
}

static bool is_narrow(const Scan *s, uint32_t col, int64_t lo, int64_t hi)
{
    const ColInfo *info = exec_info(s->x, s->plan->cols[col].id);
    if (!info->has_bounds) return false;
    double within = fmin((double)hi, (double)info->max) - fmax((double)lo, (double)info->min);
    return within <= NARROW * ((double)info->max - (double)info->min);
}

uint32_t scan_or_most(const Expr *e)
{
    uint32_t n = 0;
    if (e->kind == EXPR_OR) (void)conds_of(&e->args[0], &n);
    return n;
}

tcudb_status scan_or_ranges(Scan *s, const Layout *layout, const Expr *e, Error *err)
{
    uint32_t n, col;
    int64_t lo, hi;
    if (e->kind != EXPR_OR) return TCUDB_OK;
    assert(e->nargs > 0);
    Expr *const *conds = conds_of(&e->args[0], &n);
    for (uint32_t i = 0; i < n; i++)
        if (scan_int_range(s, layout, conds[i], &col, &lo, &hi) && or_range(s, layout, e, col, &lo, &hi) &&
            is_narrow(s, col, lo, hi))
            TRY(scan_add_range(s, col, lo, hi, err));
    return TCUDB_OK;
}
