/*
 * srf.c: functions that yield rows in the select list: SELECT a, generate_series(1, b) FROM t.
 *
 * The call becomes a column of the function's scan, which is joined to what is below the projection, row by row:
 *
 *     PROJECT a, #s                            several at once run side by side: their rows are numbered and
 *       APPLY cross                            fully joined by number, so that the shorter ones end in NULLs
 *         SCAN t
 *         FUNC_SCAN generate_series(1, b) #s
 *
 * It stands above grouping and window functions and below DISTINCT, ORDER BY and LIMIT. Where PostgreSQL allows no such
 * call it is refused in its words. Limits: not within another such call, not in GROUP BY.
 */
#include "bind/bind_int.h"

#include <assert.h>

struct SrfUse {
    struct SrfUse *next; /* the one before it in the text */
    Plan *scan;
    int position;
};

static tcudb_status refuse(const char *message, const char *what, int position, bool hint, Error *err)
{
    error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position, message, what);
    if (hint) error_hint(err, "You might be able to move the set-returning function into a LATERAL FROM item.");
    return TCUDB_ERROR;
}

static tcudb_status check_place(const Block *block, int position, Error *err)
{
    if (block->in_agg)
        return refuse("%s function calls cannot contain set-returning function calls", "aggregate", position, true,
                      err);
    if (block->in_window)
        return refuse("%s function calls cannot contain set-returning function calls", "window", position, true, err);
    switch (block->place) {
    case PLACE_SELECT:
    case PLACE_ORDER_BY:
    case PLACE_DISTINCT_ON: return TCUDB_OK;
    case PLACE_GROUP_BY: return error_unsupported(err, position, "a set-returning function in GROUP BY");
    default: break;
    }
    const char *what = block->place == PLACE_HAVING ? "HAVING" : bind_place_name(block->place);
    return refuse("set-returning functions are not allowed in %s", what, position, false, err);
}

tcudb_status bind_srf_call(Binder *b, Block *block, const TableFunc *func, const PgQuery__FuncCall *call, Expr **out,
                           Error *err)
{
    int position = bind_position(b, call->location);
    uint32_t before = block->nsrfs;
    bool dynamic;
    TRY(check_place(block, position, err));
    SrfUse *use = ARENA_NEW(b->arena, SrfUse, err);
    TRY_PTR(use);
    if (func == NULL)
        TRY(bind_unnest(b, block, call, block->place, &use->scan, err));
    else
        TRY(bind_function_scan(b, block, func, call, block->place, &use->scan, &dynamic, err));
    if (block->nsrfs != before)
        return error_unsupported(err, block->srfs->position, "a set-returning function within another");
    if (use->scan->ncols != 1) return error_unsupported(err, position, "%s outside FROM", bind_func_name(call));
    use->position = position;
    use->next = block->srfs;
    block->srfs = use;
    block->nsrfs++;
    *out = expr_col(b->arena, use->scan->cols[0].id, use->scan->cols[0].type, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_srf_refuse(const Block *block, uint32_t before, const char *what, Error *err)
{
    if (block->nsrfs == before) return TCUDB_OK;
    return refuse("set-returning functions are not allowed in %s", what, block->srfs->position, true, err);
}

bool bind_srf_has(const Block *block, const Expr *e)
{
    for (const SrfUse *use = block->srfs; use != NULL; use = use->next)
        if (bind_expr_has_col(e, use->scan->cols[0].id)) return true;
    return false;
}

tcudb_status bind_srf_rewrite(GroupMap *map, const Block *block, Error *err)
{
    for (const SrfUse *use = block->srfs; use != NULL; use = use->next)
        TRY(bind_group_rewrite_plan(map, use->scan, err));
    return TCUDB_OK;
}

/* ---- side by side */

static tcudb_status col_of(Binder *b, const PlanCol *col, Expr **out, Error *err)
{
    *out = expr_col(b->arena, col->id, col->type, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* The plan's columns and, last, the row's number. */
static tcudb_status number_rows(Binder *b, Plan *plan, Plan **out, Error *err)
{
    Plan *window = plan_new(b->arena, PLAN_WINDOW, 1, plan->ncols + 1, err);
    TRY_PTR(window);
    WindowCall *call = ARENA_NEW(b->arena, WindowCall, err);
    TRY_PTR(call);
    call->func = WINDOW_ROW_NUMBER;
    call->end = FRAME_CURRENT;
    call->col = bind_new_col(b, TYPE(TYPE_INT8), "ordinality");
    memcpy(window->cols, plan->cols, plan->ncols * sizeof *plan->cols);
    window->cols[plan->ncols] = call->col;
    window->inputs[0] = plan;
    window->window.calls = call;
    window->window.ncalls = 1;
    *out = window;
    return TCUDB_OK;
}

/* Both end in a row's number, and so does the result. */
static tcudb_status join_numbered(Binder *b, Plan *left, Plan *right, Plan **out, Error *err)
{
    uint32_t l = left->ncols - 1, r = right->ncols - 1;
    Expr *numbers[2], *same = NULL;
    Plan *join = NULL;
    TRY(col_of(b, &left->cols[l], &numbers[0], err));
    TRY(col_of(b, &right->cols[r], &numbers[1], err));
    TRY(bind_call(b, FUNC_OPERATOR, "=", numbers, 2, 0, 0, &same, err));
    TRY(bind_plan_join(b, JOIN_FULL, left, right, same, &join, err));
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, l + r + 1, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < l + r; i++) {
        exprs[i].col = i < l ? left->cols[i] : right->cols[i - l];
        TRY(col_of(b, &exprs[i].col, &exprs[i].expr, err));
    }
    exprs[l + r].col = bind_new_col(b, TYPE(TYPE_INT8), "ordinality");
    exprs[l + r].expr = expr_node(b->arena, EXPR_COALESCE, TYPE(TYPE_INT8), numbers, 2, 0, err);
    TRY_PTR(exprs[l + r].expr);
    return plan_project(b->arena, join, exprs, l + r + 1, out, err);
}

static tcudb_status side_by_side(Binder *b, const Block *block, Plan **out, Error *err)
{
    *out = block->srfs->scan;
    if (block->nsrfs == 1) return TCUDB_OK;
    TRY(number_rows(b, *out, out, err));
    for (const SrfUse *use = block->srfs->next; use != NULL; use = use->next) {
        Plan *numbered = NULL;
        TRY(number_rows(b, use->scan, &numbered, err));
        TRY(join_numbered(b, *out, numbered, out, err));
    }
    return TCUDB_OK;
}

tcudb_status bind_srf_plan(Binder *b, const Block *block, Plan *plan, Plan **out, Error *err)
{
    Plan *rows = NULL;
    bool lateral = false;
    *out = plan;
    if (block->nsrfs == 0) return TCUDB_OK;
    TRY(side_by_side(b, block, &rows, err));
    TRY(bind_refers_to(b, rows, plan, &lateral, err));
    if (lateral) return bind_plan_lateral(b, APPLY_CROSS, plan, rows, out, err);
    return bind_plan_join(b, JOIN_INNER, plan, rows, NULL, out, err);
}

tcudb_status bind_with_ordinality(Binder *b, Plan *plan, Plan **out, Error *err)
{
    return number_rows(b, plan, out, err);
}
