/*
 * ties.c: ORDER BY ... OFFSET o FETCH FIRST n ROWS WITH TIES: n rows and those that are equal to the last in the order.
 *
 *     SORT                                    row_number > o: the rows behind the offset
 *       FILTER number > o AND rank - o <= n   rank <= o + n: the first n of them, and the peers of the last
 *         WINDOW rank, row_number by the sort's keys
 *
 * Limits: n and o are constants; not over DISTINCT ON or a set operation.
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef struct Ties {
    Binder *b;
    Plan *window;
    PlanCol rank, number;
    Expr *limit, *offset; /* NULL: none */
} Ties;

static tcudb_status check_count(const Expr *e, const char *what, bool limit, Error *err)
{
    if (e == NULL) return TCUDB_OK;
    if (e->kind != EXPR_CONST) return error_unsupported(err, e->position, "WITH TIES and %s that is no constant", what);
    if (e->value.null || e->value.i64 >= 0) return TCUDB_OK;
    return error_set(err, limit ? SQLSTATE_INVALID_ROW_COUNT_IN_LIMIT : SQLSTATE_INVALID_ROW_COUNT_IN_OFFSET,
                     "%s must not be negative", what);
}

static tcudb_status number_rows(Ties *t, const Plan *sort, Error *err)
{
    Plan *input = sort->inputs[0];
    Plan *window = plan_new(t->b->arena, PLAN_WINDOW, 1, sort->ncols + 2, err);
    TRY_PTR(window);
    WindowCall *calls = ARENA_ARRAY(t->b->arena, WindowCall, 2, err);
    TRY_PTR(calls);
    calls[0] = (WindowCall){.func = WINDOW_RANK, .end = FRAME_CURRENT, .col = t->rank};
    calls[1] = (WindowCall){.func = WINDOW_ROW_NUMBER, .end = FRAME_CURRENT, .col = t->number};
    assert(input->ncols == sort->ncols);
    memcpy(window->cols, sort->cols, sort->ncols * sizeof *sort->cols);
    window->cols[sort->ncols] = t->rank;
    window->cols[sort->ncols + 1] = t->number;
    window->inputs[0] = input;
    window->window.order = sort->sort.keys;
    window->window.norder = sort->sort.nkeys;
    window->window.calls = calls;
    window->window.ncalls = 2;
    t->window = window;
    return TCUDB_OK;
}

static tcudb_status compare(const Ties *t, const char *op, const PlanCol *col, Expr *with, Expr **out, Error *err)
{
    Expr *args[2] = {expr_col(t->b->arena, col->id, col->type, 0, err), with};
    TRY_PTR(args[0]);
    return bind_call(t->b, FUNC_OPERATOR, op, args, 2, 0, 0, out, err);
}

/* rank <= n, or rank - o <= n, which cannot overflow. */
static tcudb_status among_first(const Ties *t, Expr **out, Error *err)
{
    if (t->offset == NULL) return compare(t, "<=", &t->rank, t->limit, out, err);
    Expr *args[2] = {NULL, t->limit};
    TRY(compare(t, "-", &t->rank, t->offset, &args[0], err));
    return bind_call(t->b, FUNC_OPERATOR, "<=", args, 2, 0, 0, out, err);
}

tcudb_status bind_with_ties(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Plan *sort, Plan **out,
                            Error *err)
{
    Ties t = {.b = b};
    Expr *first = NULL, *behind = NULL, *cond = NULL;
    *out = sort;
    TRY(bind_order_counts(b, block, stmt, &t.limit, &t.offset, err));
    TRY(check_count(t.offset, "OFFSET", false, err));
    TRY(check_count(t.limit, "LIMIT", true, err));
    t.rank = bind_new_col(b, TYPE(TYPE_INT8), "rank");
    t.number = bind_new_col(b, TYPE(TYPE_INT8), "row_number");
    TRY(number_rows(&t, sort, err));
    if (t.limit != NULL) TRY(among_first(&t, &first, err));
    if (t.offset != NULL) TRY(compare(&t, ">", &t.number, t.offset, &behind, err));
    TRY(bind_and_or(b, EXPR_AND, first, behind, &cond, err));
    if (cond == NULL) return TCUDB_OK;
    TRY(bind_plan_filter(b, t.window, cond, &sort->inputs[0], err));
    return TCUDB_OK;
}
