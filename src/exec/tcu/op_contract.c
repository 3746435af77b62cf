/*
 * op_contract.c: an aggregate over a join as sums of products (tensor/product.h).
 *
 *     out[g][h] = sum over matching rows of sum over terms of factor x left value x right value
 *
 * 1. Each input is run and its groups, keys and values are kept as columns.
 * 2. Groups and keys become dense codes (codes.c); rows with a NULL key are dropped.
 * 3. product_open pre-aggregates, proves the width of the sums from the data itself and decides, key by key,
 *    between sparse rows and the matrix instructions; the late decision costs nothing, since the histograms
 *    are needed anyway.
 * 4. Blocks of the output are multiplied in parallel and pushed on: group columns are gathered from a row that
 *    has the code, sums are combined from the products and checked against the result type.
 * Exact: integers only; a sum that its type cannot hold is PostgreSQL's out-of-range error.
 */
#include "exec/tcu/codes.h"
#include "tensor/product.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

typedef struct SideInput {
    Stage stage; /* evaluates, then collects */
    Ev *exprs;   /* groups, keys, values */
    uint32_t nexprs;
    Rows *rows;
    GroupCodes groups;
    uint64_t n; /* rows with a key */
    uint32_t *group, *key;
    int64_t **values;
} SideInput;

typedef struct ContractRun {
    Exec *x;
    PhysNode *node;
    const Plan *plan;
    Stage *down;
    SideInput sides[2];
    ProductSpec spec;
    ProductReport report;
    ProductRun *run;
    uint32_t *term_product; /* outs' terms in order, then its nonnull: index of the product, ONES: the counts */
} ContractRun;

/* ---- inputs ----------------------------------------------------------------------------------- */

static tcudb_status push_side(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    SideInput *side = (SideInput *)stage;
    Batch out = *batch;
    out.ncols = side->nexprs;
    out.cols = ARENA_ARRAY(worker_arena(w), Vector, side->nexprs + 1, err);
    TRY_PTR(out.cols);
    for (uint32_t i = 0; i < side->nexprs; i++) TRY(ev_run(&side->exprs[i], w, batch, &out.cols[i], err));
    return stage_push(stage->down, w, &out, err);
}

/* First group of the side, and how many. */
static uint32_t side_groups(const Plan *plan, uint32_t s, uint32_t *n)
{
    *n = s == 0 ? plan->contract.nleft : plan->contract.ngroups - plan->contract.nleft;
    return s == 0 ? 0 : plan->contract.nleft;
}

static Expr *side_expr(const Plan *plan, uint32_t s, uint32_t i)
{
    uint32_t ngroups, first = side_groups(plan, s, &ngroups);
    if (i < ngroups) return plan->contract.groups[first + i].expr;
    i -= ngroups;
    return i < plan->contract.nkeys ? plan->contract.keys[s][i] : plan->contract.values[s][i - plan->contract.nkeys];
}

static tcudb_status collect_side(ContractRun *c, uint32_t s, Error *err)
{
    SideInput *side = &c->sides[s];
    Layout in;
    Collector *collector = NULL;
    uint32_t ngroups;
    side_groups(c->plan, s, &ngroups);
    side->nexprs = ngroups + c->plan->contract.nkeys + c->plan->contract.nvalues[s];
    side->exprs = ARENA_ARRAY(&c->x->arena, Ev, side->nexprs + 1, err);
    TRY_PTR(side->exprs);
    PlanCol *cols = ARENA_ARRAY(&c->x->arena, PlanCol, side->nexprs + 1, err);
    TRY_PTR(cols);
    TRY(layout_of(c->x, c->plan->inputs[s], &in, err));
    for (uint32_t i = 0; i < side->nexprs; i++) {
        Expr *e = side_expr(c->plan, s, i);
        TRY(ev_new(c->x, e, &in, &side->exprs[i], err));
        cols[i] = (PlanCol){.id = e->kind == EXPR_COL ? e->col : 0, .type = e->type, .name = ""};
    }
    TRY(collector_new(c->x, cols, side->nexprs, &collector, err));
    stage_init(&side->stage, collector_stage(collector));
    side->stage.push = push_side;
    TRY(exec_produce(c->x, c->node->inputs[s], &side->stage, err));
    return collector_rows(collector, c->node, &side->rows, err);
}

/* ---- codes and values --------------------------------------------------------------------------- */

static tcudb_status iota(Exec *x, uint32_t first, uint32_t n, uint32_t **out, Error *err)
{
    *out = ARENA_ARRAY(&x->arena, uint32_t, n + 1, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < n; i++) (*out)[i] = first + i;
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

/* Cells add up to `rows` values: their sums must stay within 64 bits. */
static tcudb_status check_weight(double weight, Error *err)
{
    if (weight < 0x1p62) return TCUDB_OK;
    tcudb_status status =
        error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "values are too large to be summed as a matrix product");
    error_hint(err, "SET tcudb.contraction = off runs the query as an ordinary join.");
    return status;
}

/* The values of the rows with a key, as int64. */
static tcudb_status fill_value(ContractRun *c, SideInput *side, uint32_t v, const RowsCol *col, const uint32_t *keys,
                               Error *err)
{
    bool as_is = side->n == side->rows->n && col->phys == PHYS_I64;
    int64_t *values = as_is ? col->data : exec_alloc(c->x, sizeof *values * (side->n + 1), err);
    TRY_PTR(values);
    uint64_t at = 0;
    for (uint64_t row = 0; !as_is && row < side->rows->n; row++) {
        if (keys[row] == CODE_NONE) continue;
        assert(col->valid == NULL || bit_get(col->valid, row));
        values[at++] = integer_at(col, row);
    }
    double weight = 0;
    for (uint64_t i = 0; i < side->n; i++) weight += fabs((double)values[i]);
    side->values[v] = values;
    return check_weight(weight, err);
}

/* Drops the rows without a key: codes in place, values into arrays of their own. */
static tcudb_status fill_side(ContractRun *c, uint32_t s, uint32_t *keys, Error *err)
{
    SideInput *side = &c->sides[s];
    uint32_t nvalues = c->plan->contract.nvalues[s];
    side->n = 0;
    for (uint64_t row = 0; row < side->rows->n; row++) side->n += keys[row] != CODE_NONE;
    side->values = ARENA_ARRAY(&c->x->arena, int64_t *, nvalues + 1, err);
    TRY_PTR(side->values);
    for (uint32_t v = 0; v < nvalues; v++)
        TRY(fill_value(c, side, v, &side->rows->cols[side->nexprs - nvalues + v], keys, err));
    side->group = side->groups.codes;
    side->key = keys;
    uint64_t at = 0;
    for (uint64_t row = 0; side->n < side->rows->n && row < side->rows->n; row++) {
        if (keys[row] == CODE_NONE) continue;
        side->group[at] = side->group[row];
        side->key[at++] = keys[row];
    }
    Side *out = s == 0 ? &c->spec.left : &c->spec.right;
    *out = (Side){.groups = side->groups.count,
                  .n = side->n,
                  .group = side->group,
                  .key = side->key,
                  .nvalues = nvalues,
                  .values = (const int64_t *const *)side->values};
    return TCUDB_OK;
}

static tcudb_status encode(ContractRun *c, Error *err)
{
    const Rows *rows[2] = {c->sides[0].rows, c->sides[1].rows};
    uint32_t *key_cols[2];
    KeyCodes keys;
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t ngroups, *cols = NULL;
        side_groups(c->plan, s, &ngroups);
        TRY(iota(c->x, 0, ngroups, &cols, err));
        if (rows[s]->n > 0) TRY(codes_groups(c->x, rows[s], cols, ngroups, &c->sides[s].groups, err));
        TRY(iota(c->x, ngroups, c->plan->contract.nkeys, &key_cols[s], err));
    }
    if (rows[0]->n == 0 || rows[1]->n == 0) return TCUDB_OK;
    TRY(codes_keys(c->x, rows, (const uint32_t *const *)key_cols, c->plan->contract.nkeys, &keys, err));
    c->spec.keys = keys.count;
    for (uint32_t s = 0; s < 2; s++) TRY(fill_side(c, s, keys.codes[s], err));
    return TCUDB_OK;
}

/* ---- products ----------------------------------------------------------------------------------- */

static tcudb_status add_product(ContractRun *c, const ContractTerm *term, uint32_t *index, Error *err)
{
    ProductSpec *spec = &c->spec;
    static_assert((uint32_t)CONTRACT_ONES == (uint32_t)ONES, "terms name columns as products do");
    *index = ONES;
    if (term->left == CONTRACT_ONES && term->right == CONTRACT_ONES) {
        spec->exact_counts = true;
        return TCUDB_OK;
    }
    for (*index = 0; *index < spec->nproducts; (*index)++)
        if (spec->products[*index].left == term->left && spec->products[*index].right == term->right) return TCUDB_OK;
    if (spec->nproducts == PRODUCT_MAX)
        return error_unsupported(err, 0, "a contraction of more than %d products", PRODUCT_MAX);
    spec->products[spec->nproducts++] = (Product){term->left, term->right};
    return TCUDB_OK;
}

static tcudb_status list_products(ContractRun *c, Error *err)
{
    uint32_t n = 0, at = 0;
    for (uint32_t o = 0; o < c->plan->contract.nouts; o++) n += c->plan->contract.outs[o].nterms + 1;
    c->term_product = ARENA_ARRAY(&c->x->arena, uint32_t, n + 1, err);
    TRY_PTR(c->term_product);
    for (uint32_t o = 0; o < c->plan->contract.nouts; o++) {
        const ContractOut *out = &c->plan->contract.outs[o];
        for (uint32_t t = 0; t < out->nterms; t++) TRY(add_product(c, &out->terms[t], &c->term_product[at++], err));
        if (out->nullable) TRY(add_product(c, &out->nonnull, &c->term_product[at], err));
        at++;
    }
    return TCUDB_OK;
}

/* ---- output ------------------------------------------------------------------------------------- */

static int128 product_at(const ProductRows *rows, uint32_t product, uint32_t r)
{
    if (product == ONES) return rows->counts[r];
    return rows->wide ? ((const int128 *)rows->sums[product])[r] : ((const int64_t *)rows->sums[product])[r];
}

static tcudb_status sum_terms(const ContractOut *out, const uint32_t *products, const ProductRows *rows, uint32_t r,
                              int128 *sum, Error *err)
{
    bool overflow = false;
    *sum = 0;
    for (uint32_t t = 0; t < out->nterms; t++) {
        int128 term;
        overflow |= __builtin_mul_overflow(product_at(rows, products[t], r), (int128)out->terms[t].factor, &term);
        overflow |= __builtin_add_overflow(*sum, term, sum);
    }
    static const int128 limit = (int128)10000000000000000000u * 10000000000000000000u; /* 10^38 */
    bool wide = type_phys(out->col.type) == PHYS_I128;
    if (overflow || (wide && (*sum >= limit || *sum <= -limit)))
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
    if (!wide && (*sum > INT64_MAX || *sum < INT64_MIN))
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    return TCUDB_OK;
}

static tcudb_status make_out(const ContractOut *out, const uint32_t *products, const ProductRows *rows, Arena *arena,
                             Vector *v, Error *err)
{
    TRY(vec_new(arena, out->col.type, rows->n, v, err));
    bool wide = v->phys == PHYS_I128;
    assert(wide || v->phys == PHYS_I64);
    if (!wide && !rows->wide && !out->nullable && out->nterms == 1 && out->terms[0].factor == 1) {
        const void *from = products[0] == ONES ? (const void *)rows->counts : rows->sums[products[0]];
        memcpy(v->data, from, rows->n * sizeof(int64_t));
        return TCUDB_OK;
    }
    if (out->nullable) TRY(vec_need_valid(arena, v, rows->n, err));
    for (uint32_t r = 0; r < rows->n; r++) {
        int128 sum;
        if (out->nullable && product_at(rows, products[out->nterms], r) == 0) {
            bit_clear(v->valid, r);
            continue;
        }
        TRY(sum_terms(out, products, rows, r, &sum, err));
        if (wide)
            ((int128 *)v->data)[r] = sum;
        else
            ((int64_t *)v->data)[r] = (int64_t)sum;
    }
    return TCUDB_OK;
}

static tcudb_status gather_groups(ContractRun *c, const ProductRows *rows, uint32_t s, Arena *arena, Vector *cols,
                                  Error *err)
{
    const SideInput *side = &c->sides[s];
    const uint32_t *groups = s == 0 ? rows->left_group : rows->right_group;
    uint32_t ngroups, first = side_groups(c->plan, s, &ngroups),
                      *idx = arena_alloc_raw(arena, sizeof *idx * rows->n, err);
    TRY_PTR(idx);
    for (uint32_t r = 0; r < rows->n; r++) idx[r] = side->groups.rows[groups[r]];
    for (uint32_t i = 0; i < ngroups; i++)
        TRY(rows_gather(side->rows, i, idx, rows->n, NULL, rows->n, false, arena, &cols[first + i], err));
    return TCUDB_OK;
}

typedef struct Emitter {
    ContractRun *c;
    Worker *w;
} Emitter;

static tcudb_status emit(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)worker;
    ContractRun *c = ((Emitter *)ctx)->c;
    Worker *w = ((Emitter *)ctx)->w;
    assert(rows->n <= BATCH_ROWS);
    arena_reset(&w->batch);
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = rows->n, .n = rows->n, .ncols = c->plan->ncols};
    batch.cols = ARENA_ARRAY(arena, Vector, batch.ncols + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t s = 0; s < 2; s++) TRY(gather_groups(c, rows, s, arena, batch.cols, err));
    const uint32_t *products = c->term_product;
    for (uint32_t o = 0; o < c->plan->contract.nouts; o++) {
        const ContractOut *out = &c->plan->contract.outs[o];
        TRY(make_out(out, products, rows, arena, &batch.cols[c->plan->contract.ngroups + o], err));
        products += out->nterms + 1;
    }
    return stage_push(c->down, w, &batch, err);
}

static tcudb_status emit_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Emitter emitter = {.c = ctx, .w = w};
    return product_task(emitter.c->run, emitter.c->x->serial ? 0 : w->id, task, emit, &emitter, err);
}

static void describe(ContractRun *c)
{
    const ProductReport *r = &c->report;
    snprintf(c->node->note, sizeof c->node->note,
             "%s %ux%ux%u, %llu pairs, limbs %ux%u, sums of %u bits in %d, %u dense keys", product_form_name(r->form),
             c->spec.left.groups, c->spec.keys, c->spec.right.groups, (unsigned long long)r->products, r->limbs_left,
             r->limbs_right, r->sum_bits, r->wide ? 128 : 64, r->heavy_keys);
}

static tcudb_status multiply(ContractRun *c, Pool *pool, Error *err)
{
    c->spec.isa = kernels_best_isa();
    TRY(product_open(&c->spec, pool, c->x->env->mem, c->x->env->cancel, &c->report, &c->run, err));
    describe(c);
    uint64_t tasks = c->spec.left.n == 0 || c->spec.right.n == 0 ? 0 : product_tasks(c->run);
    tcudb_status status = exec_source(c->x, c->node, c->down, tasks, emit_task, c, err);
    product_close(c->run);
    return status;
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    ContractRun *c = ARENA_NEW(&x->arena, ContractRun, err);
    TRY_PTR(c);
    *c = (ContractRun){.x = x, .node = node, .plan = node->plan, .down = down};
    TRY(list_products(c, err));
    for (uint32_t s = 0; s < 2; s++) TRY(collect_side(c, s, err));
    TRY(encode(c, err));
    if (!x->serial) return multiply(c, x->env->pool, err);
    Pool *pool = NULL; /* a child execution runs inside a task of the pool */
    TRY(pool_new(1, &pool, err));
    tcudb_status status = multiply(c, pool, err);
    pool_free(pool);
    return status;
}

const Op op_contract = {.name = "Contract", .engine = "cpu", .run = run};
