/*
 * op_modify.c: INSERT, DELETE; UPDATE is in op_update.c.
 *
 * Rows pass NOT NULL and CHECK (row_check.c) on their way; where the table has keys (unique.c), a row may be in the
 * way of another (ON CONFLICT) or RETURNING wants them, they are kept first.
 * INSERT appends in task order while its input runs: the input reads the version of the tables that was
 * bound, so it does not see its own rows. Large inserts encode in parallel, a run of segments per task. DELETE
 * collects first: row ids stay valid only until the transaction's next change.
 */
#include "exec/cpu/modify_int.h"

#include <assert.h>

typedef struct Insert {
    Exec *x;
    Str table;
} Insert;

static tcudb_status append(void *ctx, const Batch *batch, Error *err)
{
    Insert *i = ctx;
    i->x->written += batch->n;
    return txn_append(i->x->env->txn, i->table, batch, err);
}

/* ---- bulk: one appender a task ---------------------------------------------------------------------- */

typedef struct Bulk {
    Stage stage;
    Exec *x;
    Str table;
    Appender **appenders; /* by worker: of its current task */
    _Atomic uint64_t rows;
} Bulk;

static tcudb_status bulk_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Bulk *bulk = (Bulk *)stage;
    Appender **appender = &bulk->appenders[w->id];
    if (*appender == NULL) TRY(appender_new(bulk->x->env->txn, bulk->table, appender, err));
    atomic_fetch_add(&bulk->rows, batch->n);
    return appender_add(*appender, batch, err);
}

static tcudb_status bulk_task_end(Stage *stage, Worker *w, Error *err)
{
    Bulk *bulk = (Bulk *)stage;
    Appender *appender = bulk->appenders[w->id];
    if (appender == NULL) return TCUDB_OK;
    bulk->appenders[w->id] = NULL;
    return appender_finish(appender, w->task, err);
}

static tcudb_status insert_bulk(Exec *x, PhysNode *node, const Table *table, Error *err)
{
    Bulk bulk = {.x = x, .table = node->plan->modify.table};
    Stage *stage = NULL;
    bulk.stage.push = bulk_push;
    bulk.stage.task_end = bulk_task_end;
    bulk.appenders = ARENA_ARRAY(&x->arena, Appender *, x->nworkers, err);
    TRY_PTR(bulk.appenders);
    TRY(row_check_stage(x, node, table, &bulk.stage, &stage, err));
    Appender *guard; /* stays open, so that no task's rows are settled before those of an earlier one are there */
    TRY(appender_new(x->env->txn, bulk.table, &guard, err));
    appender_expect(guard, (uint64_t)node->plan->inputs[0]->rows);
    tcudb_status status = exec_produce(x, node->inputs[0], stage, err);
    for (uint32_t w = 0; w < x->nworkers; w++)
        if (bulk.appenders[w] != NULL) appender_abort(bulk.appenders[w]);
    appender_expect(guard, 0);
    if (status == TCUDB_OK)
        status = appender_finish(guard, UINT64_MAX, err);
    else
        appender_abort(guard);
    x->written = atomic_load(&bulk.rows);
    return status;
}

static tcudb_status insert_stream(Exec *x, PhysNode *node, const Table *table, Error *err)
{
    Insert insert = {x, node->plan->modify.table};
    Ordered *ordered = NULL;
    Stage *stage = NULL;
    TRY(ordered_new(x, append, &insert, &ordered, err));
    tcudb_status status = row_check_stage(x, node, table, ordered_stage(ordered), &stage, err);
    if (status == TCUDB_OK) status = exec_produce(x, node->inputs[0], stage, err);
    ordered_free(ordered);
    return status;
}

/* ---- kept rows: keys, ON CONFLICT, RETURNING ---------------------------------------------------------- */

tcudb_status modify_collect(Exec *x, PhysNode *node, const Table *table, Rows **out, Error *err)
{
    const Plan *input = node->plan->inputs[0];
    Collector *c;
    Stage *stage;
    TRY(collector_new(x, input->cols, input->ncols, &c, err));
    TRY(row_check_stage(x, node, table, collector_stage(c), &stage, err));
    TRY(exec_produce(x, node->inputs[0], stage, err));
    return collector_rows(c, node, out, err);
}

tcudb_status modify_append(Exec *x, PhysNode *node, const Rows *rows, const NewRows *part, uint32_t ncols, Error *err)
{
    Insert insert = {x, node->plan->modify.table};
    Ordered *ordered = NULL;
    uint32_t *map = ARENA_ARRAY(&x->arena, uint32_t, ncols + 1, err);
    TRY_PTR(map);
    for (uint32_t i = 0; i < ncols; i++) map[i] = part->first + i;
    TRY(ordered_new(x, append, &insert, &ordered, err));
    tcudb_status status = rows_push_order(x, node, rows, part->order, part->n, map, ncols, ordered_stage(ordered), err);
    ordered_free(ordered);
    return status;
}

tcudb_status modify_put_out(Exec *x, PhysNode *node, const Rows *rows, const uint32_t *order, uint64_t n, Stage *down,
                            Error *err)
{
    if (node->plan->ncols == 0) return TCUDB_OK;
    if (order == NULL) return rows_push(x, node, rows, NULL, 0, down, err);
    return rows_push_order(x, node, rows, order, n, NULL, 0, down, err);
}

static bool row_is_null(const Rows *rows, uint32_t col, uint64_t row)
{
    return rows->cols[col].valid != NULL && !bit_get(rows->cols[col].valid, row);
}

/* New rows, and rows that update one in their way: see Conflict in plan.h. */
static tcudb_status split_rows(Exec *x, const Plan *plan, const TableDef *def, const Rows *rows, NewRows parts[2],
                               Error *err)
{
    const uint32_t rowid = def->ncols, flag = 2 * def->ncols + 1;
    for (uint32_t p = 0; p < 2; p++) {
        parts[p] = (NewRows){.first = p == 0 ? 0 : def->ncols + 1};
        parts[p].order = exec_alloc(x, (rows->n + 1) * sizeof *parts[p].order, err);
        TRY_PTR(parts[p].order);
    }
    for (uint64_t i = 0; i < rows->n; i++) {
        bool matched = plan->modify.conflict == CONFLICT_UPDATE && !row_is_null(rows, rowid, i);
        if (matched && (row_is_null(rows, flag, i) || ((uint8_t *)rows->cols[flag].data)[i] == 0)) continue;
        parts[matched].order[parts[matched].n++] = (uint32_t)i;
    }
    return TCUDB_OK;
}

static tcudb_status delete_matched(Exec *x, const Plan *plan, const TableDef *def, const Rows *rows,
                                   const NewRows *part, Error *err)
{
    RowIds v;
    TRY(row_ids_new(x, rows->cols[def->ncols].data, part->order, part->n, &v, err));
    if (v.n < part->n) return unique_second_time(err);
    if (v.n > 0) TRY(txn_delete(x->env->txn, plan->modify.table, v.ids, v.n, err));
    row_ids_free(x, &v);
    return TCUDB_OK;
}

/* Both parts' rows as they came; each part's are ascending. */
static void merge(const NewRows parts[2], uint32_t *out)
{
    for (uint64_t a = 0, b = 0; a < parts[0].n || b < parts[1].n;) {
        bool first = b == parts[1].n || (a < parts[0].n && parts[0].order[a] < parts[1].order[b]);
        *out++ = first ? parts[0].order[a++] : parts[1].order[b++];
    }
}

static tcudb_status insert_kept(Exec *x, PhysNode *node, const Table *table, Stage *down, Error *err)
{
    const TableDef *def = table_def(table);
    Rows *rows;
    NewRows parts[2];
    TRY(modify_collect(x, node, table, &rows, err));
    TRY(split_rows(x, node->plan, def, rows, parts, err));
    if (parts[1].n > 0) TRY(delete_matched(x, node->plan, def, rows, &parts[1], err));
    TRY(unique_check(x, node, rows, parts, 2, err));
    for (uint32_t p = 0; p < 2; p++) TRY(modify_append(x, node, rows, &parts[p], def->ncols, err));
    uint32_t *all = exec_alloc(x, (parts[0].n + parts[1].n + 1) * sizeof *all, err);
    TRY_PTR(all);
    merge(parts, all);
    TRY(modify_put_out(x, node, rows, all, parts[0].n + parts[1].n, down, err));
    exec_free(x, all);
    for (uint32_t p = 0; p < 2; p++) exec_free(x, parts[p].order);
    rows_free(rows);
    return TCUDB_OK;
}

static tcudb_status run_insert(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const double bulk_rows = 4 * SEGMENT_ROWS; /* fewer would end in many small segments */
    const Table *table = txn_table(x->env->txn, node->plan->modify.table);
    if (table == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "the changed table is gone");
    if (node->plan->ncols > 0 || table_def(table)->nkeys > 0)
        TRY(insert_kept(x, node, table, down, err));
    else if (node->plan->inputs[0]->rows >= bulk_rows)
        TRY(insert_bulk(x, node, table, err));
    else
        TRY(insert_stream(x, node, table, err));
    atomic_store(&node->stats.rows, x->written);
    return TCUDB_OK;
}

/* ---- DELETE ----------------------------------------------------------------------------------- */

static tcudb_status run_delete(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Rows *rows;
    RowIds v;
    TRY(exec_collect(x, node->inputs[0], &rows, err));
    TRY(row_ids_new(x, rows->cols[0].data, NULL, rows->n, &v, err));
    if (v.n > 0) TRY(txn_delete(x->env->txn, node->plan->modify.table, v.ids, v.n, err));
    x->written = v.n;
    atomic_store(&node->stats.rows, x->written);
    TRY(modify_put_out(x, node, rows, v.rows, v.n, down, err));
    row_ids_free(x, &v);
    rows_free(rows);
    return TCUDB_OK;
}

const Op op_insert = {.name = "Insert", .engine = "cpu", .run = run_insert};
const Op op_delete = {.name = "Delete", .engine = "cpu", .run = run_delete};
