/*
 * product_full.c: sides that nearly fill their matrices go from rows to dense operands, without cells.
 *
 *     SELECT a.i, b.j, sum(a.v * b.v) FROM a JOIN b ON a.j = b.i GROUP BY a.i, b.j     (a, b: a row a cell)
 *
 * If no two rows of a side have the same group and key, its rows are cells already, and sorting them (cells.c) buys
 * nothing where the dense form is taken anyway. So, where a side has a row for at least a quarter of its matrix:
 * 1. Every row sets its bit of a bitmap; a bit that was set before is a duplicate, and ends the attempt. The bitmap's
 *    lines are groups or keys, whatever consecutive rows share, so that rows in order touch words in order. Smallest
 *    and largest values come from the same pass.
 * 2. The bitmap says how many pairs each key has, what the forms cost, and whether counts must be computed at all. The
 *    bound of a sum is largest value x most cells of a group x largest value, looser than the cells' own; where that
 *    is not enough to prove what the cells might, the attempt ends too.
 * 3. Every row writes its value's limbs where they belong.
 * Cost: two passes over the rows, 2 to 3 ns a row and core for rows in order; memory: a bit a cell of the matrix.
 * Threads write different bytes of limbs, and or their bits into words atomically.
 */
#include "base/hot.h"
#include "tensor/product_int.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { SLICE = 16384, SOME = 256, SAMPLE = 4096 };

typedef struct FullSide {
    const Side *side;
    Operand *ops;
    bool by_key; /* lines of the bitmap are keys */
    uint32_t lines, columns;
    size_t words; /* of a line */
    _Atomic uint64_t *bits;
    uint64_t *key_cells, *group_cells; /* cells of each; of a group those of heavy keys */
} FullSide;

/* Rows of one run. */
typedef struct Slice {
    const SideRun *run;
    uint64_t from;
    uint32_t n, side;
} Slice;

typedef struct Full {
    ProductRun *run;
    FullSide sides[2];
    Slice *slices;
    uint64_t nslices;
    atomic_bool duplicate;
    pthread_mutex_t lock;
} Full;

/* ---- setting up --------------------------------------------------------------------------------- */

static bool nearly_full(const Side *side, uint32_t keys)
{
    for (uint32_t r = 0; r < side->nruns; r++)
        if (side->runs[r].count != NULL) return false;
    return product_fills((double)side->n, side->groups, keys);
}

/* For bitmaps and counters. */
static bool has_room(const ProductRun *run)
{
    const ProductSpec *spec = run->spec;
    double groups = (double)spec->left.groups + spec->right.groups, lines = 2 * (groups + 2.0 * spec->keys);
    return run->memory == 0 || groups * spec->keys / 8 + lines * sizeof(uint64_t) < (double)run->memory;
}

static bool worth_trying(const ProductSpec *spec)
{
    bool form = spec->form == FORM_AUTO || spec->form == FORM_DENSE || spec->form == FORM_DOUBLES;
    return form && !spec->fast && !spec->symmetric && nearly_full(&spec->left, spec->keys) &&
           nearly_full(&spec->right, spec->keys);
}

/* Whether consecutive rows share their key more often than their group. */
static bool sorted_by_key(const Side *side)
{
    int64_t lead = 0;
    const SideRun *run = &side->runs[0];
    for (uint32_t r = 0; r < side->nruns && run->n < side->runs[r].n; r++) run = &side->runs[r];
    for (uint64_t i = 1; i < run->n && i < SAMPLE; i++)
        lead += (run->key[i] == run->key[i - 1]) - (run->group[i] == run->group[i - 1]);
    return lead > 0;
}

static size_t bitmap_bytes(const FullSide *s)
{
    return sizeof *s->bits * s->lines * s->words;
}

static tcudb_status side_new(Full *f, uint32_t which, Error *err)
{
    const ProductSpec *spec = f->run->spec;
    FullSide *s = &f->sides[which];
    s->side = which == 0 ? &spec->left : &spec->right;
    s->ops = which == 0 ? f->run->left_ops : f->run->right_ops;
    s->by_key = sorted_by_key(s->side);
    s->lines = s->by_key ? spec->keys : s->side->groups;
    s->columns = s->by_key ? s->side->groups : spec->keys;
    s->words = bit_words(s->columns);
    TRY_PTR(s->bits = mem_alloc_zero(f->run->mem, bitmap_bytes(s), err));
    TRY_PTR(s->key_cells = mem_alloc_zero(f->run->mem, sizeof *s->key_cells * spec->keys, err));
    TRY_PTR(s->group_cells = mem_alloc_zero(f->run->mem, sizeof *s->group_cells * s->side->groups, err));
    return TCUDB_OK;
}

static void side_free(Full *f, FullSide *s)
{
    mem_free(f->run->mem, s->bits, bitmap_bytes(s));
    if (s->side == NULL) return;
    mem_free(f->run->mem, s->key_cells, sizeof *s->key_cells * f->run->spec->keys);
    mem_free(f->run->mem, s->group_cells, sizeof *s->group_cells * s->side->groups);
}

static uint64_t slices_of(const Side *side)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < side->nruns; r++) n += (side->runs[r].n + SLICE - 1) / SLICE;
    return n;
}

static void cut(Full *f, uint32_t which, const Side *side)
{
    for (uint32_t r = 0; r < side->nruns; r++) {
        const SideRun *run = &side->runs[r];
        for (uint64_t from = 0; from < run->n; from += SLICE)
            f->slices[f->nslices++] =
                (Slice){run, from, run->n - from < SLICE ? (uint32_t)(run->n - from) : SLICE, which};
    }
}

/* ---- looking at the rows ------------------------------------------------------------------------ */

/* Whether n rows are a line: `fixed` is one number, `moving` consecutive ones. */
HOT static bool is_line(const uint32_t *fixed, const uint32_t *moving, uint32_t n)
{
    uint32_t other = 0;
    for (uint32_t i = 0; i < n; i++) other |= (fixed[i] ^ fixed[0]) | (moving[i] ^ (moving[0] + i));
    return other == 0;
}

static bool mark_word(_Atomic uint64_t *word, uint64_t bits)
{
    return (atomic_fetch_or_explicit(word, bits, memory_order_relaxed) & bits) != 0;
}

/* Bits [first, first + n). */
static bool mark_line(_Atomic uint64_t *line, uint32_t first, uint32_t n)
{
    bool twice = false;
    for (uint32_t some; n > 0; first += some, n -= some) {
        some = 64 - first % 64 < n ? 64 - first % 64 : n;
        assert(some >= 1 && some <= 64);
        twice |= mark_word(&line[first / 64], (UINT64_MAX >> (64 - some)) << first % 64);
    }
    return twice;
}

/* Sets the bits, a word of consecutive rows at a time; whether one was set before. */
static bool mark(_Atomic uint64_t *bits, size_t words, const uint32_t *lines, const uint32_t *columns, uint32_t n)
{
    size_t at = lines[0] * words + columns[0] / 64;
    uint64_t word = 0;
    bool twice = false;
    if (is_line(lines, columns, n)) return mark_line(bits + lines[0] * words, columns[0], n);
    for (uint32_t i = 0; i < n; i++) {
        size_t place = lines[i] * words + columns[i] / 64;
        uint64_t bit = UINT64_C(1) << columns[i] % 64;
        if (place != at) {
            twice |= mark_word(&bits[at], word);
            at = place;
            word = 0;
        }
        twice |= (word & bit) != 0;
        word |= bit;
    }
    return mark_word(&bits[at], word) || twice;
}

HOT static CellFacts facts_of(const int64_t *values, uint32_t n)
{
    int64_t min = 0, max = 0;
    for (uint32_t i = 0; i < n; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    return (CellFacts){.min = min, .max = max};
}

static tcudb_status look(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Full *f = ctx;
    const Slice *slice = &f->slices[task];
    const SideRun *run = slice->run;
    FullSide *s = &f->sides[slice->side];
    const uint32_t *key = run->key + slice->from, *group = run->group + slice->from;
    if (atomic_load_explicit(&f->duplicate, memory_order_relaxed)) return TCUDB_OK;
    const uint32_t *line = s->by_key ? key : group, *column = s->by_key ? group : key;
    for (uint32_t i = 0; i < slice->n; i += SOME)
        if (mark(s->bits, s->words, line + i, column + i, slice->n - i < SOME ? slice->n - i : SOME))
            atomic_store_explicit(&f->duplicate, true, memory_order_relaxed);
    for (uint32_t v = 0; v < s->side->nvalues; v++) {
        if (!product_uses(f->run, slice->side == 0, v)) continue;
        CellFacts facts = facts_of(run->values[v] + slice->from, slice->n);
        pthread_mutex_lock(&f->lock);
        cells_facts_merge(&s->ops[operand_index(v)].facts, facts);
        pthread_mutex_unlock(&f->lock);
    }
    return TCUDB_OK;
}

/* ---- counting ----------------------------------------------------------------------------------- */

static uint64_t word_at(const FullSide *s, uint32_t line, size_t w)
{
    return atomic_load_explicit(&s->bits[line * s->words + w], memory_order_relaxed);
}

/* Keys that are not heavy are left out; dense_key NULL: none is. */
static bool left_out(const uint32_t *dense_key, uint32_t key)
{
    return dense_key != NULL && dense_key[key] == LIGHT;
}

static uint64_t count_line(const FullSide *s, uint32_t line)
{
    uint64_t n = 0;
    for (size_t w = 0; w < s->words; w++) n += popcount64(word_at(s, line, w));
    return n;
}

/* counts[c] += by where the line's bit is `set`. */
static void add_bits(const FullSide *s, uint32_t line, bool set, uint64_t by, uint64_t *counts)
{
    for (size_t w = 0; w < s->words; w++) {
        uint32_t used = s->columns - (uint32_t)w * 64 < 64 ? s->columns - (uint32_t)w * 64 : 64;
        uint64_t word = (set ? word_at(s, line, w) : ~word_at(s, line, w)) & (UINT64_MAX >> (64 - used));
        for (; word != 0; word &= word - 1) counts[w * 64 + (uint32_t)__builtin_ctzll(word)] += by;
    }
}

/* Bits of each column, of lines that are nearly full by those that they lack. */
static void count_columns(const FullSide *s, const uint32_t *dense_key, uint64_t *counts)
{
    uint64_t full = 0;
    for (uint32_t line = 0; line < s->lines; line++) {
        uint64_t n = left_out(dense_key, line) ? 0 : count_line(s, line);
        if (n > s->columns / 2) {
            full++;
            add_bits(s, line, false, UINT64_MAX, counts);
        } else if (n > 0) {
            add_bits(s, line, true, 1, counts);
        }
    }
    for (uint32_t c = 0; c < s->columns; c++) counts[c] += full;
}

static void count_keys(FullSide *s)
{
    if (!s->by_key)
        count_columns(s, NULL, s->key_cells);
    else
        for (uint32_t key = 0; key < s->lines; key++) s->key_cells[key] = count_line(s, key);
}

/* Over the heavy keys. */
static void count_groups(FullSide *s, const uint32_t *dense_key)
{
    if (s->by_key) {
        count_columns(s, dense_key, s->group_cells);
        return;
    }
    for (uint32_t group = 0; group < s->lines; group++) {
        s->group_cells[group] = count_line(s, group);
        for (uint32_t key = 0; dense_key != NULL && key < s->columns; key++)
            if (left_out(dense_key, key)) s->group_cells[group] -= word_at(s, group, key / 64) >> key % 64 & 1;
    }
}

static bool all_heavy(const ProductRun *run)
{
    return run->heavy == run->spec->keys;
}

/* Keys with pairs become dense. */
static uint64_t number_keys(Full *f)
{
    ProductRun *run = f->run;
    uint64_t pairs = 0;
    run->heavy = 0;
    for (uint32_t key = 0; key < run->spec->keys; key++) {
        uint64_t n = f->sides[0].key_cells[key] * f->sides[1].key_cells[key];
        run->dense_key[key] = n == 0 ? LIGHT : run->heavy++;
        pairs += n;
    }
    return pairs;
}

/* ---- deciding ----------------------------------------------------------------------------------- */

/* As if there were cells. */
static void pretend_cells(ProductRun *run)
{
    const ProductSpec *spec = run->spec;
    run->left = (Cells){.mem = run->mem, .rows = spec->left.groups, .columns = spec->keys, .n = spec->left.n};
    run->right = (Cells){.mem = run->mem, .rows = spec->keys, .columns = spec->right.groups, .n = spec->right.n};
    run->left.nvalues = spec->left.nvalues;
    run->right.nvalues = spec->right.nvalues;
    run->left.unique = run->right.unique = true;
}

static void loosen_facts(FullSide *s, uint64_t most)
{
    s->ops[0].facts.max = 1;
    for (uint32_t o = 0; o <= s->side->nvalues; o++) {
        CellFacts *facts = &s->ops[o].facts;
        facts->row_weight = (double)most * fmax(fabs((double)facts->min), fabs((double)facts->max));
    }
}

/* Cells might prove more of larger sums than the loose bounds do. */
static bool bounds_suffice(const ProductRun *run)
{
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        double bound = product_bound(run, p);
        if (bound >= 0x1p62 || (bound >= 0x1p53 && product_likes_doubles(run, p))) return false;
    }
    return true;
}

static bool dense_is_best(ProductRun *run, uint64_t pairs)
{
    double dense, sparse;
    product_compare(run, pairs, &dense, &sparse);
    bool fits = run->memory == 0 || product_operand_bytes(run, run->heavy, true) <= (double)run->memory;
    return run->heavy > 0 && fits && (run->spec->form != FORM_AUTO || dense < sparse);
}

static tcudb_status decide(Full *f, bool *dense, Error *err)
{
    ProductRun *run = f->run;
    *dense = false;
    for (uint32_t s = 0; s < 2; s++) {
        loosen_facts(&f->sides[s], run->spec->keys);
        count_keys(&f->sides[s]);
    }
    if (!bounds_suffice(run)) return TCUDB_OK;
    TRY(product_prove(run, err));
    *dense = dense_is_best(run, number_keys(f));
    return TCUDB_OK;
}

/* Which groups have any heavy key; *full: each of them has all. */
static tcudb_status mark_present(Full *f, uint32_t which, uint8_t **present, bool *full, Error *err)
{
    const FullSide *s = &f->sides[which];
    TRY_PTR(*present = mem_alloc(f->run->mem, s->side->groups, err));
    *full = true;
    for (uint32_t g = 0; g < s->side->groups; g++) {
        (*present)[g] = s->group_cells[g] > 0;
        *full &= s->group_cells[g] == 0 || s->group_cells[g] == f->run->heavy;
    }
    return TCUDB_OK;
}

static tcudb_status choose_counts(Full *f, Error *err)
{
    ProductRun *run = f->run;
    bool full[2] = {false, false};
    for (uint32_t s = 0; s < 2; s++) count_groups(&f->sides[s], all_heavy(run) ? NULL : run->dense_key);
    run->count_mode = COUNT_BITS;
    if (!run->spec->exact_counts) {
        TRY(mark_present(f, 0, &run->left_present, &full[0], err));
        TRY(mark_present(f, 1, &run->right_present, &full[1], err));
    }
    if (full[0] || full[1]) {
        run->count_mode = COUNT_PRESENT;
        return TCUDB_OK;
    }
    TRY(bitmat_new(run->mem, run->spec->left.groups, run->heavy, &run->left_bits, err));
    return bitmat_new(run->mem, run->spec->right.groups, run->heavy, &run->right_bits, err);
}

/* ---- filling ------------------------------------------------------------------------------------ */

static tcudb_status clear_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Full *f = ctx;
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t o = 0; o < COLUMNS; o++) {
            Operand *op = &f->sides[s].ops[o];
            if (op->in_limbs && task < op->limbs.panels)
                limb_clear(&op->limbs, (uint32_t)task, (uint32_t)task + 1, 0, op->limbs.blocks, op->shift);
        }
    }
    return TCUDB_OK;
}

/* Some rows of heavy keys: as they lie in the run, or copied where keys are left out or numbered anew. */
typedef struct Some {
    uint32_t n;
    bool line; /* as limb_put_line wants them */
    const uint32_t *group, *k;
    uint32_t groups[SOME], ks[SOME], at[SOME];
    int64_t values[SOME];
} Some;

static void take_rows(const ProductRun *run, const Slice *slice, uint32_t from, Some *rows)
{
    uint32_t n = slice->n - from < SOME ? slice->n - from : SOME;
    const uint32_t *key = slice->run->key + slice->from + from, *group = slice->run->group + slice->from + from;
    rows->n = 0;
    for (uint32_t i = 0; i < n && !all_heavy(run); i++) {
        rows->groups[rows->n] = group[i];
        rows->ks[rows->n] = run->dense_key[key[i]];
        rows->at[rows->n] = i;
        rows->n += run->dense_key[key[i]] != LIGHT;
    }
    rows->group = rows->groups;
    rows->k = rows->ks;
    if (all_heavy(run)) {
        rows->group = group;
        rows->k = key;
        rows->n = n;
    }
    bool left = slice->side == 0;
    rows->line = rows->n > 0 && is_line(left ? rows->group : rows->k, left ? rows->k : rows->group, rows->n);
}

/* The rows' values: as they lie in the run where all rows are taken. */
static const int64_t *take_values(const ProductRun *run, const Slice *slice, uint32_t from, uint32_t o, Some *rows)
{
    const int64_t *values = o == 0 ? NULL : slice->run->values[o - 1] + slice->from + from;
    if (values != NULL && all_heavy(run)) return values;
    for (uint32_t i = 0; i < rows->n; i++) rows->values[i] = values == NULL ? 1 : values[rows->at[i]];
    return rows->values;
}

static void put_rows(Operand *op, const Some *rows, const int64_t *values)
{
    if (op->in_limbs && rows->line)
        limb_put_line(&op->limbs, rows->group[0], rows->k[0], values, rows->n, op->shift);
    else if (op->in_limbs)
        limb_put(&op->limbs, rows->group, rows->k, values, rows->n, op->shift);
    if (op->in_doubles) double_put(&op->doubles, rows->group, rows->k, values, rows->n);
}

static tcudb_status fill_slice(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Full *f = ctx;
    const Slice *slice = &f->slices[task];
    const FullSide *s = &f->sides[slice->side];
    const BitMatrix *bits = slice->side == 0 ? &f->run->left_bits : &f->run->right_bits;
    Some rows;
    for (uint32_t from = 0; from < slice->n; from += SOME) {
        take_rows(f->run, slice, from, &rows);
        if (rows.n == 0) continue;
        for (uint32_t o = 0; o <= s->side->nvalues; o++)
            if (s->ops[o].in_limbs || s->ops[o].in_doubles)
                put_rows(&s->ops[o], &rows, take_values(f->run, slice, from, o, &rows));
        if (bits->bits != NULL) (void)mark((_Atomic uint64_t *)bits->bits, bits->words, rows.group, rows.k, rows.n);
    }
    return TCUDB_OK;
}

static tcudb_status sum_left_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ((Full *)ctx)->run;
    uint32_t first = (uint32_t)task * LIMB_ROWS_A;
    for (uint32_t o = 0; o < COLUMNS; o++) {
        Operand *op = &run->left_ops[o];
        for (uint32_t row = first; op->in_limbs && row < first + LIMB_ROWS_A && row < run->left.rows; row++)
            op->sums[row] = (int128)(limb_left_sum(&op->limbs, row) - (uint128)op->shift * run->heavy);
    }
    return TCUDB_OK;
}

static tcudb_status fill(Full *f, Error *err)
{
    ProductRun *run = f->run;
    uint64_t left = ((uint64_t)run->spec->left.groups + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    uint64_t right = ((uint64_t)run->spec->right.groups + LIMB_ROWS_B - 1) / LIMB_ROWS_B;
    TRY(choose_counts(f, err));
    TRY(operands_new(run, err));
    TRY(pool_run(run->pool, left > right ? left : right, clear_panel, f, run->cancel, err));
    TRY(pool_run(run->pool, f->nslices, fill_slice, f, run->cancel, err));
    TRY(pool_run(run->pool, left, sum_left_panel, f, run->cancel, err));
    snprintf(run->report->why, sizeof run->report->why, "%u of %u keys dense", run->heavy, run->spec->keys);
    return operands_finish(run, err);
}

/* ---- all ---------------------------------------------------------------------------------------- */

static tcudb_status attempt(Full *f, bool *done, Error *err)
{
    ProductRun *run = f->run;
    for (uint32_t s = 0; s < 2; s++) TRY(side_new(f, s, err));
    cut(f, 0, &run->spec->left);
    cut(f, 1, &run->spec->right);
    TRY_PTR(run->dense_key = mem_alloc(run->mem, sizeof(uint32_t) * run->spec->keys, err));
    TRY(pool_run(run->pool, f->nslices, look, f, run->cancel, err));
    if (atomic_load(&f->duplicate)) return TCUDB_OK;
    pretend_cells(run);
    TRY(decide(f, done, err));
    return *done ? fill(f, err) : TCUDB_OK;
}

/* As it was before. */
static void give_up(ProductRun *run)
{
    mem_free(run->mem, run->dense_key, sizeof(uint32_t) * run->spec->keys);
    run->dense_key = NULL;
    run->heavy = 0;
    run->left = run->right = (Cells){.mem = run->mem};
    for (uint32_t o = 0; o < COLUMNS; o++) run->left_ops[o].facts = run->right_ops[o].facts = (CellFacts){0};
}

tcudb_status full_build(ProductRun *run, bool *done, Error *err)
{
    *done = false;
    if (!worth_trying(run->spec) || !has_room(run)) return TCUDB_OK;
    Full f = {.run = run, .lock = PTHREAD_MUTEX_INITIALIZER};
    size_t bytes = sizeof *f.slices * (slices_of(&run->spec->left) + slices_of(&run->spec->right));
    TRY_PTR(f.slices = mem_alloc(run->mem, bytes, err));
    tcudb_status status = attempt(&f, done, err);
    for (uint32_t s = 0; s < 2; s++) side_free(&f, &f.sides[s]);
    mem_free(run->mem, f.slices, bytes);
    run->report->full = *done;
    if (status == TCUDB_OK && !*done) give_up(run);
    return status;
}
