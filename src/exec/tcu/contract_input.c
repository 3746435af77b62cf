/*
 * contract_input.c: from the rows of a contraction's inputs to runs of (group code, key code, values).
 *
 * Where the exact bounds of all group and key columns allow (direct.c), rows are coded as they arrive, each worker
 * into runs of its own: 8 bytes of codes and 8 a value. Otherwise the columns are kept and coded afterwards by
 * interning (codes.c). Rows with a NULL key are dropped. Columns whose absolute values add up to 2^62 or more, so that
 * a pre-aggregated cell might overflow, are split in two (wide.c). The compared keys of a side come after its values,
 * as integers of their order (ranges.c).
 */
#include "exec/tcu/contract_int.h"

#include "base/hot.h"
#include "plan/same_sides.h"

#include <assert.h>
#include <math.h>

enum { SLICE_ROWS = 1 << 16, DIRECT_LIMIT = 1 << 26 };

/* ---- evaluation --------------------------------------------------------------------------------- */

static tcudb_status evaluate(const Input *in, Worker *w, const Batch *batch, Vector **out, Error *err)
{
    *out = ARENA_ARRAY(worker_arena(w), Vector, in->ncols + 1, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < in->ncols; i++) TRY(ev_run(&in->exprs[i], w, batch, &(*out)[i], err));
    return TCUDB_OK;
}

static tcudb_status prepare(Exec *x, const Plan *plan, uint32_t s, Input *in, Error *err)
{
    Layout layout;
    uint32_t first = s == 0 ? 0 : plan->contract.nleft;
    in->x = x;
    in->ngroups = s == 0 ? plan->contract.nleft : plan->contract.ngroups - plan->contract.nleft;
    in->nkeys = plan->contract.nkeys;
    in->nvalues = plan->contract.nvalues[s];
    in->ncompared = s == plan->contract.range.side ? plan->contract.range.n > 0 : plan->contract.range.n;
    if (in->nvalues + in->ncompared > PRODUCT_MAX)
        return error_unsupported(err, 0, "a contraction of more than %d values", PRODUCT_MAX);
    uint32_t n = in->ncols = in->ngroups + in->nkeys + in->nvalues + in->ncompared;
    TRY_PTR(in->exprs = ARENA_ARRAY(&x->arena, Ev, n + 1, err));
    TRY_PTR(in->list = ARENA_ARRAY(&x->arena, Expr *, n + 1, err));
    TRY_PTR(in->cols = ARENA_ARRAY(&x->arena, PlanCol, n + 1, err));
    for (uint32_t i = 0; i < in->ngroups; i++) in->list[i] = plan->contract.groups[first + i].expr;
    for (uint32_t i = 0; i < in->nkeys; i++) in->list[in->ngroups + i] = plan->contract.keys[s][i];
    for (uint32_t i = 0; i < in->nvalues; i++) {
        in->list[in->ngroups + in->nkeys + i] = plan->contract.values[s][i];
        in->floats[i].used = plan->contract.values[s][i]->type.id == TYPE_FLOAT8;
    }
    for (uint32_t i = 0; i < in->ncompared; i++)
        in->list[n - in->ncompared + i] = plan->contract.range.conds[i]->args[s != plan->contract.range.side];
    TRY(layout_of(x, plan->inputs[s], &layout, err));
    for (uint32_t i = 0; i < n; i++) {
        Expr *e = in->list[i];
        TRY(ev_new(x, e, &layout, &in->exprs[i], err));
        in->cols[i] = (PlanCol){.id = e->kind == EXPR_COL ? e->col : 0, .type = e->type, .name = ""};
    }
    return TCUDB_OK;
}

/* ---- direct --------------------------------------------------------------------------------------- */

/* rows: of the vector, NULL: the first n. The sum of the absolute values, exact for narrow ones. */
#define WIDEN(name, T, Weight, size)                                                                                   \
    HOT static double name(const T *data, const uint16_t *rows, uint32_t n, int64_t *out)                              \
    {                                                                                                                  \
        Weight weight = 0;                                                                                             \
        for (uint32_t i = 0; rows == NULL && i < n; i++) out[i] = data[i];                                             \
        for (uint32_t i = 0; rows != NULL && i < n; i++) out[i] = data[rows[i]];                                       \
        for (uint32_t i = 0; i < n; i++) weight += (Weight)size(out[i]);                                               \
        return (double)weight;                                                                                         \
    }
#define SIZE(x)      ((x) < 0 ? -(x) : (x))
#define SIZE_WIDE(x) fabs((double)(x))
WIDEN(widen_i16, int16_t, uint64_t, SIZE)
WIDEN(widen_i32, int32_t, uint64_t, SIZE)
WIDEN(widen_i64, int64_t, double, SIZE_WIDE)

double input_widen(const Vector *v, const uint16_t *rows, uint32_t n, int64_t *out)
{
    static const uint16_t first[BATCH_ROWS];
    if (v->form == VEC_CONST) rows = first; /* all of them */
    switch (v->phys) {
    case PHYS_I16: return widen_i16(v->data, rows, n, out);
    case PHYS_I32: return widen_i32(v->data, rows, n, out);
    default: return widen_i64(v->data, rows, n, out);
    }
}

/* Integers ordered as the doubles are: NaN above all, -0 as 0. */
static int64_t order_of_double(double d)
{
    if (d != d) return INT64_MAX;
    if (d == 0) return 0;
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

#define ORDER_LOOP(T, order)                                                                                           \
    for (uint32_t i = 0; i < n; i++) out[i] = order(((const T *)v->data)[(rows == NULL ? i : rows[i]) * step])

void input_order(const Vector *v, const uint16_t *rows, uint32_t n, int64_t *out)
{
    uint32_t step = v->form == VEC_CONST ? 0 : 1;
    switch (v->phys) {
    case PHYS_BOOL: ORDER_LOOP(uint8_t, ); break;
    case PHYS_F32: ORDER_LOOP(float, order_of_double); break;
    case PHYS_F64: ORDER_LOOP(double, order_of_double); break;
    default: input_widen(v, rows, n, out); break;
    }
}

/* A row whose compared key is NULL matches nothing, as if its key were. */
static void drop_nulls(const Input *in, const Vector *compared, const Batch *batch, uint32_t *key)
{
    for (uint32_t c = 0; c < in->ncompared; c++) {
        if (compared[c].valid == NULL) continue;
        for (uint32_t i = 0; i < batch->n; i++)
            if (vec_is_null(&compared[c], batch_row(batch, i))) key[i] = DIRECT_NONE;
    }
}

/* Closes up the codes that have a key; which rows of the vectors they are. */
static uint32_t keep_keyed(const Batch *batch, uint32_t *group, uint32_t *key, uint16_t *rows)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        group[n] = group[i];
        rows[n] = (uint16_t)batch_row(batch, i);
        uint32_t k = key[n] = key[i];
        n += k != DIRECT_NONE;
    }
    return n;
}

static void mark_used(_Atomic uint8_t *used, const uint32_t *group, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || group[i] != group[i - 1]) atomic_store_explicit(&used[group[i]], 1, memory_order_relaxed);
}

tcudb_status input_code_rows(const Input *in, Worker *w, const Batch *batch, uint16_t *keyed, CodedRows *out,
                             Error *err)
{
    TRY(evaluate(in, w, batch, &out->cols, err));
    out->n = batch->n;
    out->rows = batch->sel;
    TRY(direct_encode(&in->keys, w, out->cols + in->ngroups, batch, out->key, err));
    TRY(direct_encode(&in->groups, w, out->cols, batch, out->group, err));
    drop_nulls(in, out->cols + in->ngroups + in->nkeys + in->nvalues, batch, out->key);
    if (!direct_any_none(out->key, out->n)) return TCUDB_OK;
    out->n = keep_keyed(batch, out->group, out->key, keyed);
    out->rows = keyed;
    return TCUDB_OK;
}

static tcudb_status push_direct(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Input *in = (Input *)stage;
    RunList *list = &in->lists[w->id];
    uint16_t keyed[BATCH_ROWS];
    Run *run;
    TRY(runs_room(in->x, list, in->nvalues + in->ncompared, batch->n, &run, err));
    CodedRows r = {.group = run->group + run->n, .key = run->key + run->n};
    TRY(input_code_rows(in, w, batch, keyed, &r, err));
    const Vector *values = r.cols + in->ngroups + in->nkeys, *compared = values + in->nvalues;
    mark_used(in->used, r.group, r.n);
    for (uint32_t v = 0; v < in->nvalues; v++) {
        assert(values[v].valid == NULL || r.n == 0 || !vec_is_null(&values[v], r.rows == NULL ? 0 : r.rows[0]));
        double weight = input_widen(&values[v], r.rows, r.n, run->values[v] + run->n);
        if (!in->floats[v].used) list->weight += weight;
    }
    for (uint32_t c = 0; c < in->ncompared; c++)
        input_order(&compared[c], r.rows, r.n, run->values[in->nvalues + c] + run->n);
    run->n += r.n;
    return TCUDB_OK;
}

/* Direct coding pays when the codes are not much more than the rows can fill. */
static tcudb_status plan_direct(Exec *x, const Plan *plan, Input inputs[2], bool *ok, Error *err)
{
    DirectTuple keys[2];
    double rows = fmax(plan->inputs[0]->rows, plan->inputs[1]->rows);
    uint64_t limit = rows > 0 && rows < 1e9 ? (uint64_t)rows * 8 + (1 << 16) : 1 << 16;
    if (limit > DIRECT_LIMIT) limit = DIRECT_LIMIT;
    *ok = !ranks_needed(&inputs[0]);
    if (!*ok) return TCUDB_OK;
    TRY(direct_keys(x, inputs[0].list + inputs[0].ngroups, inputs[1].list + inputs[1].ngroups, inputs[0].nkeys, limit,
                    keys, ok, err));
    for (uint32_t s = 0; s < 2 && *ok; s++) {
        inputs[s].keys = keys[s];
        TRY(direct_groups(x, inputs[s].list, inputs[s].ngroups, limit, &inputs[s].groups, ok, err));
    }
    return TCUDB_OK;
}

/* Leaves out the codes that no row has, if that makes the matrix much smaller. */
static tcudb_status compact_groups(Input *in, Error *err)
{
    uint32_t domain = (uint32_t)in->groups.domain, used = 0, *number;
    in->ngroup_codes = domain;
    for (uint32_t code = 0; code < domain; code++) used += in->used[code];
    if (used >= domain - domain / 8) return TCUDB_OK;
    TRY_PTR(number = exec_alloc(in->x, sizeof *number * domain, err));
    TRY_PTR(in->code_of = exec_alloc(in->x, sizeof *in->code_of * ((size_t)used + 1), err));
    used = 0;
    for (uint32_t code = 0; code < domain; code++) {
        if (in->used[code] == 0) continue;
        in->code_of[used] = code;
        number[code] = used++;
    }
    in->ngroup_codes = used;
    TRY(runs_renumber(in, false, number, err));
    exec_free(in->x, number);
    return TCUDB_OK;
}

static tcudb_status run_direct(Exec *x, PhysNode *node, Input inputs[2], uint32_t sides, uint32_t *keys, Error *err)
{
    for (uint32_t s = 0; s < sides; s++) {
        Input *in = &inputs[s];
        in->direct = true;
        TRY_PTR(in->lists = ARENA_ARRAY(&x->arena, RunList, x->nworkers, err));
        TRY_PTR(in->used = exec_alloc_zero(x, in->groups.domain + 1, err));
        in->stage = (Stage){.push = push_direct};
        TRY(exec_produce(x, node->inputs[s], &in->stage, err));
        TRY(runs_gather(in, in->lists, x->nworkers, in->nvalues + in->ncompared, err));
        for (uint32_t w = 0; w < x->nworkers; w++) in->weight += in->lists[w].weight;
        TRY(compact_groups(in, err));
        exec_free(x, (void *)in->used);
    }
    *keys = (uint32_t)inputs[0].keys.domain;
    return TCUDB_OK;
}

/* ---- by interning --------------------------------------------------------------------------------- */

static tcudb_status push_kept(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Input *in = (Input *)stage;
    Batch out = *batch;
    out.ncols = in->ncols;
    TRY(evaluate(in, w, batch, &out.cols, err));
    return stage_push(stage->down, w, &out, err);
}

static tcudb_status keep(PhysNode *node, Input *in, uint32_t s, Error *err)
{
    Collector *collector = NULL;
    uint32_t *cols;
    TRY(collector_new(in->x, in->cols, in->ncols, &collector, err));
    stage_init(&in->stage, collector_stage(collector));
    in->stage.push = push_kept;
    TRY(exec_produce(in->x, node->inputs[s], &in->stage, err));
    TRY(collector_rows(collector, node, &in->rows, err));
    TRY_PTR(cols = ARENA_ARRAY(&in->x->arena, uint32_t, in->ngroups + 1, err));
    for (uint32_t i = 0; i < in->ngroups; i++) cols[i] = i;
    if (in->rows->n == 0) return TCUDB_OK;
    TRY(codes_groups(in->x, in->rows, cols, in->ngroups, &in->coded, err));
    in->ngroup_codes = in->coded.count;
    return TCUDB_OK;
}

static int64_t integer_at(const RowsCol *col, uint64_t row)
{
    switch (col->phys) {
    case PHYS_I16: return ((const int16_t *)col->data)[row];
    case PHYS_I32: return ((const int32_t *)col->data)[row];
    default: return ((const int64_t *)col->data)[row];
    }
}

static int64_t order_at(const RowsCol *col, uint64_t row)
{
    switch (col->phys) {
    case PHYS_BOOL: return ((const uint8_t *)col->data)[row];
    case PHYS_F32: return order_of_double(((const float *)col->data)[row]);
    case PHYS_F64: return order_of_double(((const double *)col->data)[row]);
    default: return integer_at(col, row);
    }
}

/* Rows without a key are dropped: each slice of the rows is closed up where it lies and becomes a run. */
typedef struct Slicing {
    Input *in;
    uint32_t *keys;
    int64_t *values[PRODUCT_MAX];
    pthread_mutex_t lock;
} Slicing;

/* A row whose compared key is NULL matches nothing. */
static bool is_kept(const Slicing *s, uint64_t row)
{
    const Input *in = s->in;
    if (s->keys[row] == CODE_NONE) return false;
    for (uint32_t c = 0; c < in->ncompared; c++) {
        const RowsCol *col = &in->rows->cols[in->ncols - in->ncompared + c];
        if (col->valid != NULL && !bit_get(col->valid, row)) return false;
    }
    return true;
}

static void slice_value(const Slicing *s, uint32_t v, uint64_t row, uint64_t at)
{
    const Input *in = s->in;
    const RowsCol *col = &in->rows->cols[in->ngroups + in->nkeys + v];
    if (v < in->nvalues) {
        assert(col->valid == NULL || bit_get(col->valid, row));
        s->values[v][at] = integer_at(col, row); /* of float8: the bits */
        return;
    }
    const int64_t *ranks = in->ranks == NULL ? NULL : in->ranks[v - in->nvalues];
    s->values[v][at] = ranks == NULL ? order_at(col, row) : ranks[col->dict ? ((const uint32_t *)col->data)[row] : row];
}

static tcudb_status slice_rows(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    Slicing *s = ctx;
    Input *in = s->in;
    uint32_t *group = in->coded.codes, columns = in->nvalues + in->ncompared;
    uint64_t from = task * SLICE_ROWS, to = from + SLICE_ROWS < in->rows->n ? from + SLICE_ROWS : in->rows->n,
             at = from;
    double weight = 0;
    for (uint64_t row = from; row < to; row++) {
        if (!is_kept(s, row)) continue;
        for (uint32_t v = 0; v < columns; v++) slice_value(s, v, row, at);
        for (uint32_t v = 0; v < in->nvalues; v++)
            if (!in->floats[v].used) weight += fabs((double)s->values[v][at]);
        group[at] = group[row];
        s->keys[at++] = s->keys[row];
    }
    in->runs[task] = (SideRun){.n = at - from, .group = group + from, .key = s->keys + from};
    for (uint32_t v = 0; v < columns; v++) in->runs[task].values[v] = s->values[v] + from;
    pthread_mutex_lock(&s->lock);
    in->n += at - from;
    in->weight += weight;
    pthread_mutex_unlock(&s->lock);
    return TCUDB_OK;
}

static tcudb_status slice(Input *in, uint32_t *keys, Error *err)
{
    Slicing s = {.in = in, .keys = keys, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t n = in->rows->n;
    for (uint32_t v = 0; v < in->nvalues + in->ncompared; v++)
        TRY_PTR(s.values[v] = exec_alloc(in->x, sizeof(int64_t) * (n + 1), err));
    in->nruns = (uint32_t)((n + SLICE_ROWS - 1) / SLICE_ROWS);
    TRY_PTR(in->runs = ARENA_ARRAY(&in->x->arena, SideRun, in->nruns + 1, err));
    return exec_parallel(in->x, NULL, in->nruns, slice_rows, &s, err);
}

static tcudb_status run_interned(Exec *x, PhysNode *node, Input inputs[2], uint32_t sides, uint32_t *keys, Error *err)
{
    uint32_t *cols[2];
    KeyCodes codes;
    for (uint32_t s = 0; s < 2; s++) {
        if (s < sides)
            TRY(keep(node, &inputs[s], s, err));
        else
            inputs[s].rows = inputs[0].rows; /* for the keys */
        TRY_PTR(cols[s] = ARENA_ARRAY(&x->arena, uint32_t, inputs[s].nkeys + 1, err));
        for (uint32_t i = 0; i < inputs[s].nkeys; i++) cols[s][i] = inputs[s].ngroups + i;
    }
    *keys = 0;
    if (inputs[0].rows->n == 0 || inputs[1].rows->n == 0) return TCUDB_OK;
    const Rows *rows[2] = {inputs[0].rows, inputs[1].rows};
    TRY(ranks_make(x, inputs, err));
    TRY(codes_keys(x, rows, (const uint32_t *const *)cols, inputs[0].nkeys, &codes, err));
    *keys = codes.count;
    for (uint32_t s = 0; s < sides; s++) TRY(slice(&inputs[s], codes.codes[s], err));
    return TCUDB_OK;
}

/* ---- both ------------------------------------------------------------------------------------------- */

tcudb_status inputs_prepare(Exec *x, PhysNode *node, Input inputs[2], bool *direct, Error *err)
{
    for (uint32_t s = 0; s < 2; s++) TRY(prepare(x, node->plan, s, &inputs[s], err));
    return plan_direct(x, node->plan, inputs, direct, err);
}

tcudb_status inputs_run(Exec *x, PhysNode *node, Input inputs[2], uint32_t *keys, bool *same, Error *err)
{
    bool direct;
    TRY(inputs_prepare(x, node, inputs, &direct, err));
    TRY(plan_sides_are_same(&x->arena, node->plan, same, err));
    if (direct)
        TRY(run_direct(x, node, inputs, *same ? 1 : 2, keys, err));
    else
        TRY(run_interned(x, node, inputs, *same ? 1 : 2, keys, err));
    if (*same) TRY(side_share(x, &inputs[0], &inputs[1], err));
    for (uint32_t s = 0; s < 2; s++) {
        TRY(wide_split(x, &inputs[s], inputs[s].nvalues + inputs[s].ncompared, err));
        inputs[s].weight = fmin(fmax(inputs[s].weight, (double)inputs[s].n), 0x1p62); /* of any column, ones too */
        TRY(floats_scan(x, &inputs[s], err));
    }
    return TCUDB_OK;
}

tcudb_status input_group_column(const Input *in, uint32_t i, Arena *arena, Vector *out, Error *err)
{
    uint32_t n = in->ngroup_codes, *codes = in->direct ? in->code_of : in->coded.rows;
    if (codes == NULL) {
        TRY_PTR(codes = arena_alloc_raw(arena, sizeof *codes * ((size_t)n + 1), err));
        for (uint32_t code = 0; code < n; code++) codes[code] = code;
    }
    if (in->direct) return direct_decode(&in->groups, i, codes, n, arena, out, err);
    return rows_gather(in->rows, i, codes, n, NULL, n, false, arena, out, err);
}
