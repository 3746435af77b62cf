/*
 * row_check.c: NOT NULL and CHECK of rows on their way into a table.
 *
 * All conditions are evaluated over a batch at once; the row that is reported is the first one that fails any, and
 * of its faults first a NULL, then the first check by name, as PostgreSQL does. A check that is NULL holds.
 * Cost: that of the expressions; a look at the validity of NOT NULL columns.
 */
#include "exec/cpu/modify_int.h"

#include <string.h>

typedef struct RowCheckStage {
    Stage stage;
    Exec *x;
    const TableDef *def;
    const Plan *plan;
    const Table *table; /* as the input's row ids mean it */
    const uint32_t *at; /* of each of the table's columns: the input's; ABSENT: it is as before */
    Ev *conds;
} RowCheckStage;

enum { VALUE_CUT = 64 /* bytes of a value that PostgreSQL shows */, ABSENT = UINT32_MAX };

tcudb_status row_text(Buf *buf, const Vector *cols, const uint32_t *which, uint32_t n, uint32_t row, bool cut,
                      Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const Vector *v = &cols[which == NULL ? i : which[i]];
        if (i > 0) TRY(buf_printf(buf, err, ", "));
        if (vec_is_null(v, row)) {
            TRY(buf_printf(buf, err, "null"));
            continue;
        }
        Value value = vec_value(v, row);
        size_t start = buf->len;
        TRY(value_print(&value, buf, err));
        if (!cut || buf->len - start <= VALUE_CUT) continue;
        buf->len = start + VALUE_CUT;
        while (buf->len > start && ((uint8_t)buf->data[buf->len] & 0xc0) == 0x80) buf->len--; /* whole characters */
        TRY(buf_printf(buf, err, "..."));
    }
    return TCUDB_OK;
}

static tcudb_status old_value(const RowCheckStage *s, Worker *w, uint64_t id, uint32_t c, Vector *out, Error *err)
{
    uint32_t segment = (uint32_t)(id >> 32), row = (uint32_t)id, start = row - row % CODEC_BLOCK;
    Vector block;
    TRY(segment_read(s->table, segment, c, start, row - start + 1, NULL, 0, worker_arena(w), &block, err));
    Value value = vec_value(&block, row - start);
    return vec_const(worker_arena(w), &value, out, err);
}

/* The whole new row, each column as a constant. */
static tcudb_status whole_row(const RowCheckStage *s, Worker *w, const Batch *batch, uint32_t row, uint32_t shift,
                              Vector **out, Error *err)
{
    Vector *cols = ARENA_ARRAY(worker_arena(w), Vector, s->def->ncols, err);
    TRY_PTR(cols);
    for (uint32_t c = 0; c < s->def->ncols; c++) {
        if (s->at[c] == ABSENT) {
            Value id = vec_value(&batch->cols[0], row);
            TRY(old_value(s, w, (uint64_t)id.i64, c, &cols[c], err));
            continue;
        }
        Value value = vec_value(&batch->cols[s->at[c] + shift], row);
        TRY(vec_const(worker_arena(w), &value, &cols[c], err));
    }
    *out = cols;
    return TCUDB_OK;
}

/* shift: by how many columns the row stands further than the one that the statement brings. */
static tcudb_status failed(const RowCheckStage *s, Worker *w, const Batch *batch, uint32_t row, uint32_t shift,
                           const char *check, const ColumnDef *null, Error *err)
{
    Buf buf;
    Vector *cols = NULL;
    TRY(whole_row(s, w, batch, row, shift, &cols, err));
    buf_init(&buf, s->x->env->mem);
    tcudb_status status = row_text(&buf, cols, NULL, s->def->ncols, 0, true, err);
    if (status == TCUDB_OK && null != NULL) {
        status =
            error_set(err, SQLSTATE_NOT_NULL_VIOLATION,
                      "null value in column \"" STR_FMT "\" of relation \"" STR_FMT "\" violates not-null constraint",
                      STR_ARG(null->name), STR_ARG(s->def->name));
    } else if (status == TCUDB_OK) {
        status = error_set(err, SQLSTATE_CHECK_VIOLATION,
                           "new row for relation \"" STR_FMT "\" violates check constraint \"%s\"",
                           STR_ARG(s->def->name), check);
    }
    error_detail(err, "Failing row contains (%.*s).", (int)buf.len, buf.len == 0 ? "" : (const char *)buf.data);
    buf_free(&buf);
    return status;
}

/* The first live row of the batch at which the vector is NULL (or, of a condition, false); `end` if none. */
static uint32_t first_null(const Vector *v, const Batch *batch, uint32_t end)
{
    if (v->valid == NULL) return end;
    for (uint32_t i = 0; i < end; i++)
        if (vec_is_null(v, batch_row(batch, i))) return i;
    return end;
}

static uint32_t first_false(const Vector *v, const Batch *batch, uint32_t end)
{
    const uint8_t *truth = v->data;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t row = batch_row(batch, i);
        if (!vec_is_null(v, row) && !truth[v->form == VEC_CONST ? 0 : row]) return i;
    }
    return end;
}

/* The same of the row that ON CONFLICT DO UPDATE leaves in the c-th column, where it leaves one. */
static uint32_t first_null_left(const RowCheckStage *s, const Batch *batch, uint32_t c, uint32_t end)
{
    const uint32_t n = s->def->ncols;
    const Vector *v = &batch->cols[n + 1 + c], *flag = &batch->cols[2 * n + 1];
    if (s->plan->modify.conflict != CONFLICT_UPDATE || v->valid == NULL) return end;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t row = batch_row(batch, i);
        if (vec_is_null(v, row) && !vec_is_null(flag, row) && vec_value(flag, row).b) return i;
    }
    return end;
}

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    RowCheckStage *s = (RowCheckStage *)stage;
    uint32_t bad = batch->n, shift = 0;
    const uint32_t left = s->def->ncols + 1; /* see Conflict in plan.h */
    const ColumnDef *null = NULL;
    const char *check = NULL;
    for (uint32_t c = 0; c < s->def->ncols; c++) {
        if (!s->def->cols[c].not_null || s->at[c] == ABSENT) continue;
        uint32_t at = first_null(&batch->cols[s->at[c]], batch, bad);
        if (at < bad) null = &s->def->cols[c], shift = 0;
        bad = at;
        at = first_null_left(s, batch, c, bad);
        if (at < bad) null = &s->def->cols[c], shift = left;
        bad = at;
    }
    Batch part = *batch; /* checks of a row with a NULL in its way are not asked */
    uint16_t *sel = arena_alloc_raw(worker_arena(w), (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    for (uint32_t i = 0; i < bad; i++) sel[i] = (uint16_t)batch_row(batch, i);
    part.sel = sel;
    part.n = bad;
    for (uint32_t i = 0; i < s->plan->modify.nchecks && part.n > 0; i++) {
        Vector truth;
        TRY(ev_run(&s->conds[i], w, &part, &truth, err));
        uint32_t at = first_false(&truth, &part, part.n);
        if (at == part.n) continue;
        check = s->plan->modify.checks[i].name;
        null = NULL;
        shift = i >= s->def->nchecks ? left : 0; /* the new row's checks come first */
        bad = part.n = at;
    }
    if (bad < batch->n) return failed(s, w, batch, batch_row(batch, bad), shift, check, null, err);
    return stage_push(stage->down, w, batch, err);
}

/* Where the input has the table's columns. */
static tcudb_status find_columns(Exec *x, const Plan *plan, const TableDef *def, const uint32_t **out, Error *err)
{
    uint32_t *at = ARENA_ARRAY(&x->arena, uint32_t, def->ncols + 1, err);
    TRY_PTR(at);
    for (uint32_t c = 0; c < def->ncols; c++) at[c] = plan->kind == PLAN_UPDATE ? ABSENT : c;
    for (uint32_t i = 0; plan->kind == PLAN_UPDATE && i < plan->modify.ncolumns; i++)
        at[plan->modify.columns[i]] = 1 + i;
    *out = at;
    return TCUDB_OK;
}

static bool nothing_to_check(const Plan *plan, const TableDef *def, const uint32_t *at)
{
    for (uint32_t c = 0; c < def->ncols; c++)
        if (def->cols[c].not_null && at[c] != ABSENT) return false;
    return plan->modify.nchecks == 0;
}

tcudb_status row_check_stage(Exec *x, PhysNode *node, const Table *table, Stage *down, Stage **out, Error *err)
{
    const TableDef *def = table_def(table);
    const uint32_t *at;
    *out = down;
    TRY(find_columns(x, node->plan, def, &at, err));
    if (nothing_to_check(node->plan, def, at)) return TCUDB_OK;
    RowCheckStage *s = ARENA_NEW(&x->arena, RowCheckStage, err);
    TRY_PTR(s);
    *s = (RowCheckStage){.x = x, .table = table, .def = def, .plan = node->plan, .at = at};
    stage_init(&s->stage, down);
    s->stage.push = push;
    Layout in;
    TRY(layout_of(x, node->plan->inputs[0], &in, err));
    s->conds = ARENA_ARRAY(&x->arena, Ev, node->plan->modify.nchecks + 1, err);
    TRY_PTR(s->conds);
    for (uint32_t i = 0; i < node->plan->modify.nchecks; i++)
        TRY(ev_new(x, node->plan->modify.checks[i].cond, &in, &s->conds[i], err));
    *out = &s->stage;
    return TCUDB_OK;
}
