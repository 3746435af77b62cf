/*
 * exact.c: a contraction row by row, with sums of float8 that are exact whatever the values are.
 *
 * For what does not go in limbs (floats.c). Gustavson's way: the left rows sorted by group, the right ones by key; of
 * one left group, every right group has a count, 128-bit sums of the integer products, and for each float8 sum a long
 * fixed-point number (fixed.h) and marks for NaN and the infinities. Each pair's product is what PostgreSQL would have
 * added but for its rounding: 0 x Infinity is NaN, an infinite or vanished product of finite values is 22003.
 * Few groups are added up one after the other by all cores, each in a lane of its own, and the lanes are joined: sums
 * are exact, so their order does not matter. Cost: about 10 to 100 ns a pair and float8 sum; memory: right groups x
 * words a worker.
 */
#include "exec/tcu/contract_int.h"
#include "exec/tcu/fixed.h"

#include <assert.h>
#include <math.h>

enum {
    GROUPS_PER_TASK = 8,
    FEW_GROUPS = 64,
    MANY_ROWS = 1 << 12,
    PIECES = 32,
    JOIN_COLUMNS = 1024,
    SPECIAL_NAN = 1,
    SPECIAL_PLUS = 2,
    SPECIAL_MINUS = 4
};

/* Rows of one side, sorted by group (left) or key (right). */
typedef struct Sorted {
    uint64_t *starts;
    uint32_t *other; /* the key, or the group */
    uint32_t *count;
    int64_t *values[PRODUCT_MAX];
} Sorted;

typedef struct FloatSum {
    const Sum *sum;
    uint32_t left, right;         /* columns, or ONES */
    bool left_float, right_float; /* else integers: how often the row counts */
    bool nullable;
    ContractTerm counts; /* nullable: columns that are 0 where the row does not count */
    int low;             /* the exponent of the lowest bit */
    uint32_t words;
} FloatSum;

typedef struct Lane {
    uint64_t *counts;
    int128 *sums[PRODUCT_MAX];
    uint64_t **fixed; /* a float sum */
    uint8_t **marks;
    uint32_t *touched;
    ProductRows rows; /* waiting for the output */
    void **out;       /* its sums */
    uint32_t *left, *right;
    uint64_t *out_counts;
} Lane;

typedef struct ExactRun {
    Exec *x;
    const ProductSpec *spec;
    const Input *inputs;
    const Output *output;
    Stage *down;
    Sorted left, right;
    FloatSum *floats;
    uint32_t nfloats;
    Lane *lanes; /* a worker */
} ExactRun;

/* ---- sorting ---------------------------------------------------------------------------------------- */

static tcudb_status alloc_sorted(Exec *x, const Input *in, uint64_t codes, Sorted *out, Error *err)
{
    TRY_PTR(out->starts = exec_alloc_zero(x, sizeof(uint64_t) * (codes + 2), err));
    TRY_PTR(out->other = exec_alloc(x, sizeof(uint32_t) * (in->n + 1), err));
    TRY_PTR(out->count = exec_alloc(x, sizeof(uint32_t) * (in->n + 1), err));
    for (uint32_t v = 0; v < in->nvalues; v++)
        TRY_PTR(out->values[v] = exec_alloc(x, sizeof(int64_t) * (in->n + 1), err));
    return TCUDB_OK;
}

/* A counting sort: starts[c + 1] is the cursor of code c while rows are placed. */
static tcudb_status sort_rows(Exec *x, const Input *in, bool by_key, uint64_t codes, Sorted *out, Error *err)
{
    TRY(alloc_sorted(x, in, codes, out, err));
    for (uint32_t r = 0; r < in->nruns; r++) {
        const uint32_t *code = by_key ? in->runs[r].key : in->runs[r].group;
        for (uint64_t i = 0; i < in->runs[r].n; i++) out->starts[code[i] + 2]++;
    }
    for (uint64_t c = 0; c < codes; c++) out->starts[c + 2] += out->starts[c + 1];
    for (uint32_t r = 0; r < in->nruns; r++) {
        const SideRun *run = &in->runs[r];
        TRY(exec_check_cancel(x, err));
        for (uint64_t i = 0; i < run->n; i++) {
            uint64_t at = out->starts[(by_key ? run->key[i] : run->group[i]) + 1]++;
            out->other[at] = by_key ? run->group[i] : run->key[i];
            out->count[at] = run->count == NULL ? 1 : run->count[i];
            for (uint32_t v = 0; v < in->nvalues; v++) out->values[v][at] = run->values[v][i];
        }
    }
    return TCUDB_OK;
}

/* ---- state ------------------------------------------------------------------------------------------ */

static bool is_float(const Input *in, uint32_t column)
{
    return column != ONES && in->floats[column].used;
}

/* The bits that the sum can have: of all products, and 64 more for their number. */
static void set_range(FloatSum *f, const Input inputs[2])
{
    int high = 64;
    f->low = 0;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t column = side == 0 ? f->left : f->right;
        if (!is_float(&inputs[side], column) || !inputs[side].floats[column].any) continue;
        f->low += inputs[side].floats[column].low;
        high += inputs[side].floats[column].high + 1;
    }
    f->words = (uint32_t)(high - f->low) / 64 + 2;
    assert(f->words <= FIXED_WORDS);
}

static tcudb_status list_floats(ExactRun *e, const Sum *sums, uint32_t nsums, Error *err)
{
    TRY_PTR(e->floats = ARENA_ARRAY(&e->x->arena, FloatSum, nsums + 1, err));
    for (uint32_t s = 0; s < nsums; s++) {
        if (!sums[s].ready) continue;
        const ContractOut *out = sums[s].out;
        FloatSum *f = &e->floats[e->nfloats++];
        *f = (FloatSum){.sum = &sums[s], .left = out->terms[0].left, .right = out->terms[0].right};
        f->left_float = is_float(&e->inputs[0], f->left);
        f->right_float = is_float(&e->inputs[1], f->right);
        f->nullable = out->nullable;
        f->counts = out->nonnull;
        set_range(f, e->inputs);
    }
    return TCUDB_OK;
}

static tcudb_status new_lane(ExactRun *e, Lane *l, Error *err)
{
    Exec *x = e->x;
    size_t groups = e->spec->right.groups;
    uint32_t nproducts = e->spec->nproducts;
    TRY_PTR(l->counts = exec_alloc_zero(x, sizeof(uint64_t) * groups, err));
    TRY_PTR(l->touched = exec_alloc(x, sizeof(uint32_t) * (groups + 1), err)); /* one is written behind the last */
    TRY_PTR(l->left = exec_alloc(x, sizeof(uint32_t) * BATCH_ROWS, err));
    TRY_PTR(l->right = exec_alloc(x, sizeof(uint32_t) * BATCH_ROWS, err));
    TRY_PTR(l->out_counts = exec_alloc(x, sizeof(uint64_t) * BATCH_ROWS, err));
    TRY_PTR(l->out = exec_alloc(x, sizeof(void *) * (nproducts + e->nfloats + 1), err));
    TRY_PTR(l->fixed = exec_alloc(x, sizeof(void *) * (e->nfloats + 1), err));
    TRY_PTR(l->marks = exec_alloc(x, sizeof(void *) * (e->nfloats + 1), err));
    for (uint32_t p = 0; p < nproducts + e->nfloats; p++)
        TRY_PTR(l->out[p] = exec_alloc(x, sizeof(int128) * BATCH_ROWS, err));
    for (uint32_t p = 0; p < nproducts; p++) TRY_PTR(l->sums[p] = exec_alloc_zero(x, sizeof(int128) * groups, err));
    for (uint32_t f = 0; f < e->nfloats; f++) {
        TRY_PTR(l->fixed[f] = exec_alloc_zero(x, sizeof(uint64_t) * e->floats[f].words * groups, err));
        TRY_PTR(l->marks[f] = exec_alloc_zero(x, groups, err));
    }
    l->rows = (ProductRows){.left_group = l->left,
                            .right_group = l->right,
                            .counts = l->out_counts,
                            .sums = (const void *const *)l->out,
                            .wide = true};
    return TCUDB_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------ */

static int64_t value_at(const Sorted *s, uint32_t column, uint64_t row)
{
    return column == ONES ? s->count[row] : s->values[column][row];
}

static double double_of(int64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static tcudb_status check_product(double a, double b, double product, Error *err)
{
    if (isinf(product)) return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    if (product == 0 && a != 0 && b != 0)
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow");
    return TCUDB_OK;
}

/* How often the side's row counts in the sum: 1 by itself if its value is float8; else its integer, which is 0 where it
 * does not count, 1, or the rows that it stands for (a side that was summed first). */
static uint64_t weight_of(const Sorted *s, uint32_t column, bool is_float, uint64_t row)
{
    int64_t weight = is_float ? 1 : value_at(s, column, row);
    assert(weight >= 0);
    return (uint64_t)weight;
}

/* magnitude x weight, 16 bits of the weight at a time: a magnitude has 106. */
static void add_weighed(uint64_t *fixed, uint32_t words, uint128 magnitude, uint128 weight, bool negative,
                        uint32_t shift)
{
    for (; weight != 0; weight >>= 16, shift += 16)
        if ((weight & 0xffff) != 0) fixed_add(fixed, words, magnitude * (uint64_t)(weight & 0xffff), negative, shift);
}

/* Adds the product of one pair of rows. */
static tcudb_status add_pair(const ExactRun *e, const FloatSum *f, uint64_t i, uint64_t j, uint64_t *fixed,
                             uint8_t *marks, Error *err)
{
    if (f->nullable && (value_at(&e->left, f->counts.left, i) == 0 || value_at(&e->right, f->counts.right, j) == 0))
        return TCUDB_OK;
    uint128 weight =
        (uint128)weight_of(&e->left, f->left, f->left_float, i) * weight_of(&e->right, f->right, f->right_float, j);
    if (weight == 0) return TCUDB_OK;
    int64_t one;
    double unit = 1;
    memcpy(&one, &unit, sizeof one);
    int64_t a = f->left_float ? e->left.values[f->left][i] : one;
    int64_t b = f->right_float ? e->right.values[f->right][j] : one;
    double x = double_of(a), y = double_of(b), product = x * y;
    if (!isfinite(x) || !isfinite(y)) {
        *marks |= isnan(product) ? SPECIAL_NAN : product > 0 ? SPECIAL_PLUS : SPECIAL_MINUS;
        return TCUDB_OK;
    }
    TRY(check_product(x, y, product, err));
    int64_t m, k;
    int em, ek;
    float_parts(a, &m, &em);
    float_parts(b, &k, &ek);
    if (m == 0 || k == 0) return TCUDB_OK;
    uint128 size = (uint128)(uint64_t)(m < 0 ? -m : m) * (uint64_t)(k < 0 ? -k : k);
    int shift = em + ek - f->low;
    if (shift < 0) size >>= -shift; /* zeros only: low is the lowest bit that a product has */
    add_weighed(fixed, f->words, size, weight, (m < 0) != (k < 0), shift < 0 ? 0 : (uint32_t)shift);
    return TCUDB_OK;
}

static tcudb_status add_row(const ExactRun *e, Lane *l, uint64_t i, uint32_t *ntouched, Error *err)
{
    uint32_t key = e->left.other[i];
    for (uint64_t j = e->right.starts[key]; j < e->right.starts[key + 1]; j++) {
        uint32_t h = e->right.other[j];
        l->touched[*ntouched] = h;
        *ntouched += l->counts[h] == 0;
        l->counts[h] += (uint64_t)e->left.count[i] * e->right.count[j];
        for (uint32_t p = 0; p < e->spec->nproducts; p++)
            l->sums[p][h] += (int128)value_at(&e->left, e->spec->products[p].left, i) *
                             value_at(&e->right, e->spec->products[p].right, j);
        for (uint32_t f = 0; f < e->nfloats; f++)
            TRY(add_pair(e, &e->floats[f], i, j, l->fixed[f] + (size_t)h * e->floats[f].words, &l->marks[f][h], err));
    }
    return TCUDB_OK;
}

/* ---- output ----------------------------------------------------------------------------------------- */

static tcudb_status flush(ExactRun *e, Lane *l, Worker *w, Error *err)
{
    if (l->rows.n == 0) return TCUDB_OK;
    TRY(output_push(e->output, e->down, w, &l->rows, err));
    l->rows.n = 0;
    return TCUDB_OK;
}

static tcudb_status float_result(const FloatSum *f, const uint64_t *fixed, uint8_t marks, double *out, Error *err)
{
    bool both = (marks & SPECIAL_PLUS) != 0 && (marks & SPECIAL_MINUS) != 0;
    *out = (marks & SPECIAL_NAN) != 0 || both ? NAN : (marks & SPECIAL_PLUS) != 0 ? INFINITY : -INFINITY;
    if (marks != 0) return TCUDB_OK;
    *out = fixed_round(fixed, f->words, f->low);
    return check_product(1, 0, *out, err); /* a sum may be 0, but not infinite */
}

/* Takes one sum over and clears its place. */
static tcudb_status take(ExactRun *e, Lane *l, uint32_t group, uint32_t h, Error *err)
{
    uint32_t r = l->rows.n++;
    l->left[r] = group;
    l->right[r] = h;
    l->out_counts[r] = l->counts[h];
    l->counts[h] = 0;
    for (uint32_t p = 0; p < e->spec->nproducts; p++) {
        ((int128 *)l->out[p])[r] = l->sums[p][h];
        l->sums[p][h] = 0;
    }
    for (uint32_t f = 0; f < e->nfloats; f++) {
        uint64_t *fixed = l->fixed[f] + (size_t)h * e->floats[f].words;
        TRY(float_result(&e->floats[f], fixed, l->marks[f][h], (double *)l->out[e->spec->nproducts + f] + r, err));
        memset(fixed, 0, sizeof *fixed * e->floats[f].words);
        l->marks[f][h] = 0;
    }
    return TCUDB_OK;
}

static tcudb_status multiply_groups(void *ctx, Worker *w, uint64_t task, Error *err)
{
    ExactRun *e = ctx;
    Lane *l = &e->lanes[w->id];
    if (l->counts == NULL) TRY(new_lane(e, l, err));
    l->rows.task = task;
    for (uint64_t g = task * GROUPS_PER_TASK; g < (task + 1) * GROUPS_PER_TASK && g < e->spec->left.groups; g++) {
        uint32_t n = 0;
        for (uint64_t i = e->left.starts[g]; i < e->left.starts[g + 1]; i++) {
            if (i % 64 == 0) TRY(exec_check_cancel(e->x, err));
            TRY(add_row(e, l, i, &n, err));
        }
        for (uint32_t t = 0; t < n; t++) {
            if (l->rows.n == BATCH_ROWS) TRY(flush(e, l, w, err));
            TRY(take(e, l, (uint32_t)g, l->touched[t], err));
        }
    }
    return flush(e, l, w, err);
}

/* ---- few groups ------------------------------------------------------------------------------------- */

/* The group at hand. */
typedef struct Shared {
    ExactRun *e;
    uint32_t group;
} Shared;

static tcudb_status add_piece(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Shared *s = ctx;
    const ExactRun *e = s->e;
    uint64_t from = e->left.starts[s->group], n = e->left.starts[s->group + 1] - from;
    uint32_t touched = 0;
    for (uint64_t i = from + n * task / PIECES; i < from + n * (task + 1) / PIECES; i++) {
        if (i % 64 == 0) TRY(exec_check_cancel(e->x, err));
        TRY(add_row(e, &e->lanes[w->id], i, &touched, err));
        touched = 0;
    }
    return TCUDB_OK;
}

/* What a lane has of a column goes to the first lane. */
static void join_column(const ExactRun *e, Lane *to, Lane *l, uint32_t h)
{
    if (l->counts[h] == 0) return;
    to->counts[h] += l->counts[h];
    l->counts[h] = 0;
    for (uint32_t p = 0; p < e->spec->nproducts; p++) {
        to->sums[p][h] += l->sums[p][h];
        l->sums[p][h] = 0;
    }
    for (uint32_t f = 0; f < e->nfloats; f++) {
        size_t at = (size_t)h * e->floats[f].words;
        fixed_join(to->fixed[f] + at, l->fixed[f] + at, e->floats[f].words);
        memset(l->fixed[f] + at, 0, sizeof(uint64_t) * e->floats[f].words);
        to->marks[f][h] |= l->marks[f][h];
        l->marks[f][h] = 0;
    }
}

static tcudb_status join_columns(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const ExactRun *e = ((const Shared *)ctx)->e;
    for (uint64_t h = task * JOIN_COLUMNS; h < (task + 1) * JOIN_COLUMNS && h < e->spec->right.groups; h++)
        for (uint32_t lane = 1; lane < e->x->nworkers; lane++)
            join_column(e, &e->lanes[0], &e->lanes[lane], (uint32_t)h);
    return TCUDB_OK;
}

static tcudb_status emit_group(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Shared *s = ctx;
    ExactRun *e = s->e;
    Lane *l = &e->lanes[0];
    l->rows.task = task;
    for (uint32_t h = 0; h < e->spec->right.groups; h++) {
        if (l->counts[h] == 0) continue;
        if (l->rows.n == BATCH_ROWS) TRY(flush(e, l, w, err));
        TRY(take(e, l, s->group, h, err));
    }
    return flush(e, l, w, err);
}

static tcudb_status share_groups(ExactRun *e, PhysNode *node, Error *err)
{
    Shared s = {.e = e};
    uint64_t columns = ((uint64_t)e->spec->right.groups + JOIN_COLUMNS - 1) / JOIN_COLUMNS;
    for (uint32_t lane = 0; lane < e->x->nworkers; lane++) TRY(new_lane(e, &e->lanes[lane], err));
    for (s.group = 0; s.group < e->spec->left.groups && !stage_stopped(e->down); s.group++) {
        TRY(exec_parallel(e->x, node, PIECES, add_piece, &s, err));
        TRY(exec_parallel(e->x, node, columns, join_columns, &s, err));
        TRY(exec_source(e->x, node, e->down, 1, emit_group, &s, err));
    }
    return TCUDB_OK;
}

tcudb_status exact_run(Exec *x, PhysNode *node, const ProductSpec *spec, const Input inputs[2], const Sum *sums,
                       const Output *output, Stage *down, Error *err)
{
    ExactRun e = {.x = x, .spec = spec, .inputs = inputs, .output = output, .down = down};
    bool any = spec->left.n > 0 && spec->right.n > 0;
    if (any) {
        TRY(sort_rows(x, &inputs[0], false, spec->left.groups, &e.left, err));
        TRY(sort_rows(x, &inputs[1], true, spec->keys, &e.right, err));
        TRY(list_floats(&e, sums, node->plan->contract.nouts, err));
        TRY_PTR(e.lanes = exec_alloc_zero(x, sizeof(Lane) * x->nworkers, err));
    }
    if (any && spec->left.groups < FEW_GROUPS && spec->left.n > MANY_ROWS) return share_groups(&e, node, err);
    uint64_t tasks = any ? ((uint64_t)spec->left.groups + GROUPS_PER_TASK - 1) / GROUPS_PER_TASK : 0;
    return exec_source(x, node, down, tasks, multiply_groups, &e, err);
}
