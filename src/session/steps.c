/*
 * steps.c: statements of several plans: WITH d AS (DELETE ... RETURNING ...), MERGE.
 *
 *     step 1, step 2, ... -> the rows that they put out are kept -> the plans after them read them as VALUES
 *
 * All were bound against one snapshot, and a scan reads the version of its table that it was bound to, so no part sees
 * what another changes, as in PostgreSQL. Cost: an expression for each value kept.
 */
#include "session/session_int.h"

#include <stdlib.h>

typedef struct Keep {
    Arena *arena;
    KeptRows *rows;
    uint32_t ncols;
    uint64_t cap;
} Keep;

static tcudb_status more_room(Keep *keep, Error *err)
{
    uint64_t cap = keep->cap == 0 ? 64 : keep->cap * 2;
    Expr **cells = ARENA_ARRAY(keep->arena, Expr *, cap * keep->ncols, err);
    TRY_PTR(cells);
    if (keep->rows->nrows > 0) memcpy(cells, keep->rows->cells, keep->rows->nrows * keep->ncols * sizeof *cells);
    keep->rows->cells = cells;
    keep->cap = cap;
    return TCUDB_OK;
}

static tcudb_status keep_value(Keep *keep, const Vector *v, uint32_t row, Expr **out, Error *err)
{
    Value value = vec_value(v, row);
    if (!value.null && type_phys(value.type) == PHYS_STR) {
        value.str.ptr = arena_strndup(keep->arena, value.str.ptr, value.str.len, err);
        TRY_PTR(value.str.ptr);
    }
    *out = expr_const(keep->arena, &value, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status keep_batch(void *ctx, const Batch *batch, Error *err)
{
    Keep *keep = ctx;
    for (uint32_t i = 0; i < batch->n && keep->ncols > 0; i++) {
        if (keep->rows->nrows == keep->cap) TRY(more_room(keep, err));
        Expr **row = keep->rows->cells + keep->rows->nrows * keep->ncols;
        for (uint32_t c = 0; c < keep->ncols; c++)
            TRY(keep_value(keep, &batch->cols[c], batch_row(batch, i), &row[c], err));
        keep->rows->nrows++;
    }
    return TCUDB_OK;
}

/* The VALUES that stand for kept rows get them; each its own list, as rules may change it. */
static tcudb_status fill(Arena *arena, Plan *plan, Error *err)
{
    if (plan->kind == PLAN_VALUES && plan->values.kept != NULL) {
        const KeptRows *kept = plan->values.kept;
        size_t n = (size_t)kept->nrows * plan->ncols;
        plan->values.rows_exprs = ARENA_ARRAY(arena, Expr *, n + 1, err);
        TRY_PTR(plan->values.rows_exprs);
        if (n > 0) memcpy(plan->values.rows_exprs, kept->cells, n * sizeof *kept->cells);
        plan->values.nrows = kept->nrows;
    }
    if (plan->kind == PLAN_CTE_SCAN && plan->ninputs == 0) TRY(fill(arena, plan->cte_scan.cte->plan, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(fill(arena, plan->inputs[i], err));
    return TCUDB_OK;
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static tcudb_status changed_twice(Error *err)
{
    error_set(err, SQLSTATE_CARDINALITY_VIOLATION, "MERGE command cannot affect row a second time");
    error_hint(err, "Ensure that not more than one source row matches any one target row.");
    return TCUDB_ERROR;
}

/* MERGE may not change a row twice. */
static tcudb_status check_once(Run *run, const KeptRows *rows, uint32_t ncols, Error *err)
{
    const Stmt *stmt = run->stmt;
    if (stmt->merge_again) return rows->nrows == 0 ? TCUDB_OK : changed_twice(err);
    int64_t *ids = ARENA_ARRAY(run->arena, int64_t, rows->nrows + 1, err);
    TRY_PTR(ids);
    size_t n = 0;
    for (uint64_t i = 0; i < rows->nrows; i++) {
        Expr *const *row = rows->cells + i * ncols;
        const Value *action = &row[ncols - 1]->value;
        if (stmt->merge_once >> (action->i32 - 1) & 1) ids[n++] = row[stmt->merge_rowid]->value.i64;
    }
    qsort(ids, n, sizeof *ids, by_id);
    for (size_t i = 1; i < n; i++) {
        if (ids[i] == ids[i - 1]) return changed_twice(err);
    }
    return TCUDB_OK;
}

tcudb_status session_run_steps(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    for (uint32_t i = 0; i < stmt->nsteps; i++) {
        const StmtStep *step = &stmt->steps[i];
        Run inner = *run;
        Keep keep = {.arena = run->arena, .rows = step->kept, .ncols = step->plan->ncols};
        *step->kept = (KeptRows){0};
        TRY(fill(run->arena, step->plan, err));
        TRY(session_run_plan_into(&inner, stmt, step->plan, keep_batch, &keep, err));
        if (stmt->merge && i == 0) TRY(check_once(run, step->kept, step->plan->ncols, err));
        if (stmt->merge && i > 0) run->report.rows += inner.report.rows;
    }
    return stmt->nsteps == 0 || stmt->merge ? TCUDB_OK : fill(run->arena, stmt->plan, err);
}
