/*
 * op_contract.c: an aggregate over a join as sums of products (tensor/product.h).
 *
 *     out[g][h] = sum over matching rows of sum over terms of factor x left value x right value
 *
 * 1. Each input is run; its groups and keys become dense codes, its values integers (contract_input.c), of large
 *    ones two halves (wide.c). The sums become a list of products (contract_terms.c).
 *    Comparisons between the sides become equal keys of another kind (ranges.c).
 * 2. product_open pre-aggregates, proves the width of the sums from the data itself and decides, key by key,
 *    between sparse rows and the matrix instructions; the late decision costs nothing, since the histograms
 *    are needed anyway.
 * 3. Blocks of the output are multiplied in parallel and pushed on as columns (contract_output.c).
 *    What float8 columns need that does not fit (floats.c) is multiplied row by row (exact.c).
 * Exact: integers only, float8 in limbs of them; a sum that its type cannot hold is PostgreSQL's out-of-range error.
 */
#include "exec/tcu/contract_int.h"

#include <assert.h>
#include <stdio.h>

enum { MOST_PARTS = 16 }; /* of a product whose inputs could be read by parts instead */

typedef struct ContractRun {
    Exec *x;
    PhysNode *node;
    const Plan *plan;
    Stage *down;
    Input inputs[2];
    ProductSpec spec;
    ProductReport report;
    uint64_t started;  /* exec_clock */
    uint64_t building; /* nanoseconds, of inputs, cells and operands */
    ProductRun *run;
    Output *output;
    const char *how; /* the comparisons were made keys */
    bool by_row;     /* exact.c */
    Exec *inner;     /* holds the inputs' rows */
    bool begun;      /* the first rows are on their way */
} ContractRun;

/* ---- running ------------------------------------------------------------------------------------ */

typedef struct Emitter {
    ContractRun *c;
    Worker *w;
} Emitter;

static tcudb_status emit(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)worker;
    const Emitter *e = ctx;
    return output_push(e->c->output, e->c->down, e->w, rows, err);
}

static tcudb_status emit_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Emitter emitter = {.c = ctx, .w = w};
    return product_task(emitter.c->run, emitter.c->x->serial ? 0 : w->id, task, emit, &emitter, err);
}

static void describe(ContractRun *c)
{
    const ProductReport *r = &c->report;
    char doubles[64] = "";
    if (r->in_doubles > 0) snprintf(doubles, sizeof doubles, ", %u products in doubles (below 2^53)", r->in_doubles);
    const char *top = c->spec.top.last != NULL && !r->wide ? ", the sort's bound applied" : "";
    char blocked[96] = "";
    if (r->parts > 1 || r->chunks > 0)
        snprintf(blocked, sizeof blocked, ", memory_limit: %u parts, %u chunks of keys", r->parts, r->chunks);
    exec_note(c->node, "%s%s %ux%ux%u, %llu pairs, limbs %ux%u%s, sums of %u bits in %d, %u dense keys%s%s%s%s%s%s",
              c->spec.fast        ? "fast (FP16 inputs): not exact, "
              : c->spec.symmetric ? "symmetric "
                                  : "",
              product_form_name(r->form), c->spec.left.groups, c->spec.keys, c->spec.right.groups,
              (unsigned long long)r->products, r->limbs_left, r->limbs_right, doubles, r->sum_bits, r->wide ? 128 : 64,
              r->heavy_keys, r->full ? " filled from unique rows" : "",
              r->short_of_memory ? " (memory_limit leaves room for none)" : "", blocked, top,
              c->how[0] == '\0' ? "" : ", compared by ", c->how);
}

static void report_product(ContractRun *c)
{
    describe(c);
    exec_node_lock(c->node);
    c->node->product =
        (PhysProduct){.report = c->report, .direct = c->inputs[0].direct, .build_seconds = (double)c->building * 1e-9};
    exec_node_unlock(c->node);
}

/* Part by part: the rows of one go on before the next is built. */
static tcudb_status multiply_parts(ContractRun *c, Error *err)
{
    for (bool more = true; more && !stage_stopped(c->down);) {
        uint64_t tasks = c->spec.left.n == 0 || c->spec.right.n == 0 ? 0 : product_tasks(c->run);
        if (c->output != NULL) output_set_tested(c->output, c->report.having && c->spec.nhaving > 0);
        report_product(c);
        c->begun = true;
        TRY(exec_source(c->x, c->node, c->down, tasks, emit_task, c, err));
        uint64_t started = exec_clock();
        TRY(product_next(c->run, &more, err));
        if (more) c->building += exec_clock() - started;
    }
    return TCUDB_OK;
}

/* CASE WHEN ... THEN 1 ELSE 0 END, as COUNT(x) has it, or the rows themselves. */
static bool counts_rows(const Plan *plan, uint32_t side, uint32_t column)
{
    if (column == ONES) return true;
    const Expr *e = column < plan->contract.nvalues[side] ? plan->contract.values[side][column] : NULL;
    if (e == NULL || e->kind != EXPR_CASE || e->nargs != 3 || e->type.id != TYPE_INT4) return false;
    const Expr *one = e->args[1], *zero = e->args[2];
    return one->kind == EXPR_CONST && !one->value.null && one->value.i32 == 1 && zero->kind == EXPR_CONST &&
           !zero->value.null && zero->value.i32 == 0;
}

static void find_counting(ContractRun *c)
{
    for (uint32_t p = 0; p < c->spec.nproducts; p++) {
        Product product = c->spec.products[p];
        c->spec.counting[p] = counts_rows(c->plan, 0, product.left) && counts_rows(c->plan, 1, product.right);
    }
}

/* Whether a contraction that a memory limit cut short may be run by parts: an allocation that failed without one not.
 */
static bool limited(const Exec *x)
{
    return atomic_load(&x->env->mem->limit) != 0;
}

static tcudb_status multiply(ContractRun *c, Pool *pool, Error *err)
{
    c->spec.most_parts = limited(c->x) ? MOST_PARTS : 0;
    c->spec.isa = kernels_best_isa();
    c->spec.rates = c->x->env->rates;
    c->spec.form = (ProductForm)c->x->env->settings->product_form;
    c->spec.fast = c->plan->contract.fast;
    if (c->spec.fast) find_counting(c);
    TRY(product_open(&c->spec, pool, c->x->env->mem, c->x->env->cancel, &c->report, &c->run, err));
    c->building = exec_clock() - c->started;
    tcudb_status status = multiply_parts(c, err);
    product_close(c->run);
    return status;
}

static Side side_of(const Input *in)
{
    return (Side){.groups = in->ngroup_codes,
                  .n = in->n,
                  .nruns = in->nruns,
                  .runs = in->runs,
                  .nvalues = in->nvalues,
                  .weight = in->weight};
}

/* Which products are made, and whether of float8 columns' limbs or row by row. */
static tcudb_status plan_sums(ContractRun *c, Sum **sums, Error *err)
{
    Error full = {0};
    bool fits = floats_plan(c->plan, c->inputs);
    if (fits && terms_list(c->x, c->plan, c->inputs, true, &c->spec, sums, &fits, &full) != TCUDB_OK && fits) {
        if (err != NULL) *err = full;
        return full.status;
    }
    c->by_row = !fits;
    if (c->by_row) return terms_list(c->x, c->plan, c->inputs, false, &c->spec, sums, &fits, err);
    for (uint32_t s = 0; s < 2; s++) TRY(floats_split(c->inner, &c->inputs[s], err));
    return TCUDB_OK;
}

static tcudb_status by_row(ContractRun *c, const Sum *sums, Error *err)
{
    exec_note(c->node, "row by row %ux%ux%u: floating point too far apart for limbs%s%s", c->spec.left.groups,
              c->spec.keys, c->spec.right.groups, c->how[0] == '\0' ? "" : ", compared by ", c->how);
    return exact_run(c->x, c->node, &c->spec, c->inputs, sums, c->output, c->down, err);
}

static double real_bytes(PhysNode *node)
{
    double rows[2];
    for (uint32_t s = 0; s < 2; s++) {
        rows[s] = exec_real_rows(node, node->plan->inputs[s]);
        if (rows[s] < node->plan->inputs[s]->rows) rows[s] = node->plan->inputs[s]->rows;
    }
    return parts_input_bytes(node->plan, rows[0], rows[1]);
}

/* What the inputs' coded rows need, where they did not fit and could not be cut. */
static tcudb_status tell_need(const ContractRun *c, size_t before, Error *err)
{
    error_detail(
        err,
        "The inputs of a contraction need %.0f bytes, estimated; tcudb.memory_limit is %zu bytes, %zu of them in "
        "use before.",
        real_bytes(c->node), atomic_load(&c->x->env->mem->limit), before);
    error_hint(err, "Raise tcudb.memory_limit, or SET tcudb.contraction = off.");
    return TCUDB_NOMEM;
}

static tcudb_status run_inputs(ContractRun *c, Error *err)
{
    size_t before = atomic_load(&c->x->env->mem->used), limit = atomic_load(&c->x->env->mem->limit);
    tcudb_status status = inputs_run(c->inner, c->node, c->inputs, &c->spec.keys, &c->spec.symmetric, err);
    return status != TCUDB_NOMEM || limit == 0 ? status : tell_need(c, before, err);
}

static tcudb_status prepare(ContractRun *c, Sum **sums, Error *err)
{
    Exec *x = c->x;
    TRY(run_inputs(c, err));
    TRY(plan_sums(c, sums, err));
    for (uint32_t p = 0; p < c->spec.nproducts; p++)
        c->spec.symmetric &= c->spec.products[p].left == c->spec.products[p].right;
    TRY(ranges_apply(c->inner, &c->plan->contract.range, c->inputs, !c->by_row, &c->spec.keys, &c->how, err));
    c->spec.left = side_of(&c->inputs[0]);
    c->spec.right = side_of(&c->inputs[1]);
    if (c->spec.left.n == 0 || c->spec.right.n == 0) return TCUDB_OK;
    TRY(output_new(x, c->plan, c->inputs, *sums, &c->output, err));
    c->spec.no_left = !output_reads_groups(c->output, 0);
    c->spec.no_right = !output_reads_groups(c->output, 1);
    output_bounds(c->output, x, &c->spec);
    c->spec.fold = c->plan->contract.fold;
    c->spec.symmetric &= !c->spec.fold; /* a folded row is no mirror image of a column */
    return c->spec.fold ? output_uncounted(x, c->plan, &c->inputs[1], &c->spec.uncounted, err) : TCUDB_OK;
}

static tcudb_status run_whole(ContractRun *c, Error *err)
{
    Sum *sums;
    TRY(prepare(c, &sums, err));
    if (c->by_row && c->plan->contract.fold)
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "floating point sums of a folded contraction");
    c->begun = c->by_row;
    if (c->by_row) return by_row(c, sums, err);
    if (!c->x->serial) return multiply(c, c->x->env->pool, err);
    Pool *pool = NULL; /* a child execution runs inside a task of the pool */
    TRY(pool_new(1, &pool, err));
    tcudb_status status = multiply(c, pool, err);
    pool_free(pool);
    return status;
}

/* The inputs' rows are in an execution of their own, which ends before another way is tried. */
static tcudb_status try_whole(Exec *x, PhysNode *node, Stage *down, bool *begun, Error *err)
{
    Exec inner;
    ContractRun *c = ARENA_NEW(&x->arena, ContractRun, err);
    TRY_PTR(c);
    *c =
        (ContractRun){.x = x, .node = node, .plan = node->plan, .down = down, .started = exec_clock(), .inner = &inner};
    tcudb_status status = exec_inner_new(x, &inner, err);
    if (status == TCUDB_OK) status = run_whole(c, err);
    exec_end(&inner);
    *begun = c->begun;
    return status;
}

/* The inputs' rows, estimated, are more than half of what the limit leaves. */
static bool short_of_memory(const ExecEnv *env, double bytes, size_t *left)
{
    size_t used = atomic_load(&env->mem->used), limit = atomic_load(&env->mem->limit);
    *left = limit > used ? limit - used : 0;
    return limit != 0 && bytes > (double)*left / 2;
}

static bool can_run(const ExecEnv *env, const Plan *plan, char why[PHYS_NOTE])
{
    size_t left;
    double bytes = parts_input_bytes(plan, plan->inputs[0]->rows, plan->inputs[1]->rows);
    if (env->mem == NULL || !short_of_memory(env, bytes, &left)) return true;
    snprintf(why, PHYS_NOTE,
             "by parts, for each of which the inputs are read again: they need %.0f bytes, estimated, and "
             "tcudb.memory_limit leaves %zu",
             bytes, left);
    return true;
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    bool done = false, begun = false;
    size_t left;
    bool by_parts = short_of_memory(x->env, real_bytes(node), &left);
    if (by_parts) TRY(parts_run(x, node, down, &done, err));
    if (done) return TCUDB_OK;
    Error full = {0};
    tcudb_status status = try_whole(x, node, down, &begun, &full);
    if (status == TCUDB_NOMEM && !begun && !by_parts && limited(x)) TRY(parts_run(x, node, down, &done, err));
    if (status != TCUDB_OK && !done && err != NULL) *err = full;
    return done ? TCUDB_OK : status;
}

const Op op_contract = {.name = "Contract", .engine = "cpu", .can_run = can_run, .run = run};
