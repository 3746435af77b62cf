/*
 * product_proof.c: why a product's sums are exact: their width, and where doubles suffice.
 *
 * |sum of product p| <= sum over keys of |l r| <= (largest row weight of the left column) x (largest |right value|),
 * from the cells themselves, after pre-aggregation. Below 2^62 the sums are int64, below 2^126 int128; the caller has
 * excluded more. Below 2^53 every partial sum is an integer that a double holds, so the dense form may use doubles,
 * and does where that is cheaper than the pairs of limbs. The bounds are computed in doubles, whose rounding is
 * monotonic: a true value of 2^n or more never appears as less.
 */
#include "tensor/product_int.h"

#include <math.h>
#include <pthread.h>

uint32_t facts_limbs(CellFacts facts)
{
    uint32_t bits = bit_width64((uint64_t)facts.max - (uint64_t)facts.min);
    return bits == 0 ? 1 : (bits + 7) / 8;
}

enum { FACT_CELLS = 1 << 16 }; /* of a task */

typedef struct FactsTask {
    ProductRun *run;
    uint64_t left_tasks, tasks;
    uint32_t column;
    RowEdges *edges; /* of the left's tasks, whose row weights matter */
    pthread_mutex_t lock;
} FactsTask;

bool product_uses(const ProductRun *run, bool left, uint32_t column)
{
    if (column == ONES) return true;
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        if ((left ? run->spec->products[p].left : run->spec->products[p].right) == column) return true;
    return false;
}

/* Tasks over the left's cells, then the right's. */
static tcudb_status find_facts(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    FactsTask *f = ctx;
    ProductRun *run = f->run;
    bool left = task < f->left_tasks;
    const Cells *cells = left ? &run->left : &run->right;
    uint64_t from = (left ? task : task - f->left_tasks) * FACT_CELLS;
    uint64_t to = cells->n - from < FACT_CELLS ? cells->n : from + FACT_CELLS;
    RowEdges edges;
    CellFacts facts = cells_facts(cells, f->column, from, to, left ? &f->edges[task] : &edges);
    uint32_t o = operand_index(f->column);
    pthread_mutex_lock(&f->lock);
    cells_facts_merge(left ? &run->left_ops[o].facts : &run->right_ops[o].facts, facts);
    pthread_mutex_unlock(&f->lock);
    return TCUDB_OK;
}

/* Adds up what tasks saw of one row each. */
static void join_edges(const FactsTask *f)
{
    CellFacts *facts = &f->run->left_ops[operand_index(f->column)].facts;
    double weight = 0;
    for (uint64_t t = 0; t < f->left_tasks; t++) {
        weight += f->edges[t].head;
        facts->row_weight = fmax(facts->row_weight, weight);
        if (!f->edges[t].whole) weight = f->edges[t].tail;
    }
}

/* Of one column, of the sides that use it. */
static tcudb_status column_facts(FactsTask *f, uint32_t column, Error *err)
{
    const ProductRun *run = f->run;
    bool left = product_uses(run, true, column), right = product_uses(run, false, column);
    f->column = column;
    f->left_tasks = left ? (run->left.n + FACT_CELLS - 1) / FACT_CELLS : 0;
    uint64_t right_tasks = right ? (run->right.n + FACT_CELLS - 1) / FACT_CELLS : 0;
    TRY(pool_run(run->pool, f->left_tasks + right_tasks, find_facts, f, run->cancel, err));
    join_edges(f);
    return TCUDB_OK;
}

tcudb_status product_facts(ProductRun *run, Error *err)
{
    FactsTask f = {.run = run, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint32_t most = run->left.nvalues > run->right.nvalues ? run->left.nvalues : run->right.nvalues;
    size_t bytes = sizeof *f.edges * (size_t)((run->left.n + FACT_CELLS - 1) / FACT_CELLS + 1);
    TRY_PTR(f.edges = mem_alloc(run->mem, bytes, err));
    tcudb_status status = TCUDB_OK;
    for (uint32_t o = 0; o <= most && status == TCUDB_OK; o++) status = column_facts(&f, o == 0 ? ONES : o - 1, err);
    mem_free(run->mem, f.edges, bytes);
    return status;
}

static double limb_pairs(const ProductRun *run, uint32_t p)
{
    Product product = run->spec->products[p];
    return (double)facts_limbs(run->left_ops[operand_index(product.left)].facts) *
           facts_limbs(run->right_ops[operand_index(product.right)].facts);
}

/* Multiply-adds of doubles as passes of limbs. */
static double double_passes(const ProductRun *run)
{
    return run->spec->rates->mac_double[run->spec->isa] / run->spec->rates->mac[run->spec->isa];
}

double product_passes(const ProductRun *run, uint32_t p)
{
    return run->in_doubles[p] ? double_passes(run) : limb_pairs(run, p);
}

double product_bound(const ProductRun *run, uint32_t p)
{
    const ProductSpec *spec = run->spec;
    const CellFacts *l = &run->left_ops[operand_index(spec->products[p].left)].facts;
    const CellFacts *r = &run->right_ops[operand_index(spec->products[p].right)].facts;
    double bound = l->row_weight * fmax(fabs((double)r->min), fabs((double)r->max));
    if (spec->left.weight > 0 && spec->right.weight > 0) bound = fmin(bound, spec->left.weight * spec->right.weight);
    return bound;
}

bool product_likes_doubles(const ProductRun *run, uint32_t p)
{
    ProductForm form = run->spec->form;
    return form == FORM_DOUBLES || (form != FORM_DENSE && double_passes(run) < limb_pairs(run, p));
}

tcudb_status product_prove(ProductRun *run, Error *err)
{
    const ProductSpec *spec = run->spec;
    double worst = 0;
    for (uint32_t p = 0; p < spec->nproducts; p++) {
        double bound = product_bound(run, p);
        run->in_doubles[p] = bound < 0x1p53 && product_likes_doubles(run, p);
        worst = fmax(worst, bound);
    }
    double counts = run->left_ops[0].facts.row_weight * (double)run->right_ops[0].facts.max;
    run->wide = worst >= 0x1p62;
    run->report->wide = run->wide;
    run->nhaving = run->wide ? 0 : run->spec->nhaving;
    run->tests = run->nhaving > 0 || (!run->wide && run->spec->top.last != NULL);
    run->report->having = !run->wide;
    run->report->sum_bits = worst < 1 ? 1 : (uint32_t)ilogb(worst) + 2;
    if (worst < 0x1p126 && counts < 0x1p62) return TCUDB_OK;
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "a sum of products may need more than 127 bits");
}
