/*
 * op_sort.c: ORDER BY, and ORDER BY with LIMIT: sort.c does the work.
 */
#include "exec/exec_int.h"

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Rows *rows;
    Layout in;
    int32_t *map;
    uint32_t *order;
    uint64_t limit, offset;
    TRY(exec_limits(x, plan->sort.limit, plan->sort.offset, &limit, &offset, err));
    limit = limit > UINT64_MAX - offset ? UINT64_MAX : limit + offset;
    TRY(exec_sort(x, node, plan->sort.keys, plan->sort.nkeys, limit, &rows, &order, err));
    TRY(layout_of(x, plan->inputs[0], &in, err));
    TRY(layout_map_all(x, plan, &in, &map, err));
    uint64_t n = rows->n < limit ? rows->n : limit;
    TRY(rows_push_order(x, node, rows, order, n, (const uint32_t *)map, plan->ncols, down, err));
    exec_free(x, order);
    rows_free(rows);
    return TCUDB_OK;
}

const Op op_sort = {.name = "Sort", .engine = "cpu", .run = run};
