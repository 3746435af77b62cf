/*
 * card_reach.c: filters of a table of which another one refers to a small part.
 *
 * Sales name days of five years, the calendar has two hundred: of the days, one in two hundred is of 2001; of those
 * that sales name, one in five. Where the other side's values reach over a small part of a key's range, the filters are
 * evaluated on the rows of that part (where there are many on every n-th batch): how much more of them pass there than
 * of all rows is how much more rows the join has. Answers are remembered by filters and part.
 *
 * Cost: BATCHES_READ batches of the key and of the filters' columns; where they are, catalog/ remembers.
 */
#include "expr/eval.h"
#include "opt/card_combine.h"

#include <assert.h>
#include <math.h>

static const double NARROW = 0.5; /* wider parts are as good as all */

enum { REMEMBERED = 64, BATCHES_READ = 16, COLS_MAX = 16 };

typedef struct Reach {
    const Table *table;
    uint32_t column;
    double lo, hi;
    Expr *const *filters;
    const Expr *last; /* arrays are filled up in place */
    uint32_t nfilters;
    double factor;
} Reach;

typedef struct ReachCache {
    Reach items[REMEMBERED];
    uint32_t n;
} ReachCache;

static Reach *remembered(Opt *opt, const Reach *r)
{
    if (opt->reaches == NULL) opt->reaches = ARENA_NEW(opt->arena, ReachCache, NULL);
    ReachCache *cache = opt->reaches;
    for (uint32_t i = 0; cache != NULL && i < cache->n; i++) {
        Reach *x = &cache->items[i];
        bool part = x->table == r->table && x->column == r->column && x->lo == r->lo && x->hi == r->hi;
        if (part && x->filters == r->filters && x->nfilters == r->nfilters && x->last == r->last) return x;
    }
    return NULL;
}

static void remember(Opt *opt, const Reach *r)
{
    if (opt->reaches != NULL && opt->reaches->n < REMEMBERED) opt->reaches->items[opt->reaches->n++] = *r;
}

/* ---- counting ------------------------------------------------------------------------------------- */

typedef struct Counting {
    const Plan *scan;
    const Reach *reach;
    Evaluator *evaluator;
    EvalState *state;
    ColId layout[COLS_MAX];
    uint32_t columns[COLS_MAX]; /* of the table; the key first */
    uint32_t ncols;
    uint64_t there, passed;
    Arena *batches;
} Counting;

static bool is_parameter(void *ctx, const Expr *e)
{
    if (e->kind == EXPR_PARAM) *(bool *)ctx = true;
    return !*(bool *)ctx;
}

/* The columns that the filters use; false: there are too many, or something else than the table decides. */
static bool list_columns(Counting *c)
{
    const Plan *scan = c->scan;
    bool parameter = false;
    c->columns[c->ncols++] = c->reach->column;
    for (uint32_t f = 0; f < scan->scan.nfilters; f++) {
        (void)expr_walk(scan->scan.filters[f], is_parameter, &parameter);
        if (parameter || expr_volatile(scan->scan.filters[f]) || !expr_within(scan->scan.filters[f], scan))
            return false;
    }
    for (uint32_t i = 0; i < scan->ncols; i++) {
        bool used = false;
        for (uint32_t f = 0; f < scan->scan.nfilters; f++)
            used |= expr_has_col(scan->scan.filters[f], scan->cols[i].id);
        if (!used) continue;
        if (c->ncols == COLS_MAX || scan->scan.columns[i] == ROWID_COLUMN) return false;
        c->layout[c->ncols] = scan->cols[i].id;
        c->columns[c->ncols++] = scan->scan.columns[i];
    }
    return true;
}

#define IN_REACH(type)                                                                                                 \
    for (uint32_t i = 0; i < n; i++) {                                                                                 \
        uint32_t at = v->form == VEC_CONST ? 0 : i;                                                                    \
        int64_t key = ((const type *)v->data)[at];                                                                     \
        sel[live] = (uint16_t)i;                                                                                       \
        live += key >= lo && key <= hi && (v->valid == NULL || bit_get(v->valid, at));                                 \
    }

/* The rows whose key is in the part. */
static uint32_t select_reach(const Reach *r, const Vector *v, uint32_t n, uint16_t *sel)
{
    int64_t lo = (int64_t)ceil(r->lo), hi = (int64_t)floor(r->hi);
    uint32_t live = 0;
    switch (v->phys) {
    case PHYS_I16: IN_REACH(int16_t) break;
    case PHYS_I32: IN_REACH(int32_t) break;
    default: IN_REACH(int64_t) break;
    }
    return live;
}

static tcudb_status count_batch(Counting *c, uint32_t segment, uint32_t row, uint32_t n, Error *err)
{
    uint16_t *sel = ARENA_ARRAY(c->batches, uint16_t, BATCH_ROWS, err), *passed;
    Vector cols[COLS_MAX];
    uint32_t left = 0;
    TRY_PTR(sel);
    passed = ARENA_ARRAY(c->batches, uint16_t, BATCH_ROWS, err);
    TRY_PTR(passed);
    TRY(segment_read(c->scan->scan.table, segment, c->columns[0], row, n, NULL, 0, c->batches, &cols[0], err));
    uint32_t live = select_reach(c->reach, &cols[0], n, sel);
    if (live == 0) return TCUDB_OK;
    for (uint32_t i = 1; i < c->ncols; i++)
        TRY(segment_read(c->scan->scan.table, segment, c->columns[i], row, n, sel, live, c->batches, &cols[i], err));
    Batch batch = {.rows = n, .n = live, .sel = sel, .ncols = c->ncols, .cols = cols};
    EvalCtx ctx = {.arena = c->batches};
    TRY(eval_filter(c->evaluator, c->state, &ctx, &batch, passed, &left, err));
    c->there += live;
    c->passed += left;
    return TCUDB_OK;
}

static bool meets(const BatchRange *range, const Reach *r)
{
    return (double)range->lo <= r->hi && (double)range->hi >= r->lo;
}

static tcudb_status count(Opt *opt, Counting *c, Arena *arena, Error *err)
{
    const Table *table = c->scan->scan.table;
    uint64_t batch = 0, batches = 0, here = 0, met = 0;
    BatchRange *ranges;
    Expr *all;
    TRY(key_batches_of(key_cache_batches(opt->env->keys), table, c->columns[0], arena, opt->env->cancel, &ranges,
                       &batches, err));
    for (uint64_t i = 0; i < batches && ranges != NULL; i++) here += meets(&ranges[i], c->reach);
    uint64_t step = here / BATCHES_READ + 1;
    if (here == 0) return TCUDB_OK;
    TRY(expr_and(opt, c->scan->scan.filters, c->scan->scan.nfilters, &all, err));
    TRY(eval_compile(arena, all, c->layout, c->ncols, NULL, 0, &c->evaluator, err));
    TRY(eval_state_new(arena, c->evaluator, &c->state, err));
    for (uint32_t s = 0; s < table_segments(table); s++) {
        TRY(opt_poll(opt, err));
        for (uint32_t row = 0; row < segment_rows(table, s); row += BATCH_ROWS, batch++) {
            uint32_t n = segment_rows(table, s) - row;
            if (!meets(&ranges[batch], c->reach) || met++ % step != 0) continue;
            arena_reset(c->batches);
            TRY(count_batch(c, s, row, n < BATCH_ROWS ? n : BATCH_ROWS, err));
        }
    }
    return TCUDB_OK;
}

/* Of the rows in the part, the share that passes; < 0: not known. */
static double passing_share(Opt *opt, const Plan *scan, const Reach *r)
{
    Counting c = {.scan = scan, .reach = r};
    Arena arena, batches;
    Error ignored; /* a plan can be made without; an error that rows raise shows when they are asked for */
    if (!list_columns(&c)) return -1;
    arena_init(&arena, opt->arena->mem);
    arena_init(&batches, opt->arena->mem);
    c.batches = &batches;
    bool counted = count(opt, &c, &arena, &ignored) == TCUDB_OK && c.there > 0;
    arena_free(&batches);
    arena_free(&arena);
    return counted ? fmax((double)c.passed, 0.5) / (double)c.there : -1;
}

double card_reach(const Opt *const_opt, const Plan *scan, ColId key, const ColFact *reach)
{
    Opt *opt = (Opt *)(uintptr_t)const_opt; /* only its cache and its arena change */
    const ColFact *own = card_fact(opt, key);
    uint32_t n = scan->scan.nfilters;
    if (n == 0 || opt->env->keys == NULL || !own->has_range || !reach->has_range || own->table != scan->scan.table)
        return 1;
    uint8_t phys = (uint8_t)type_phys(own->min.type);
    bool number = own->exact && own->min.type.id != TYPE_NUMERIC && own->column != ROWID_COLUMN &&
                  (phys == PHYS_I16 || phys == PHYS_I32 || phys == PHYS_I64);
    double lo = fmax(own->lo, reach->lo), hi = fmin(own->hi, reach->hi);
    if (!number || lo > hi || hi - lo > NARROW * (own->hi - own->lo)) return 1;
    Reach r = {.table = scan->scan.table, .column = own->column, .lo = lo, .hi = hi, .factor = 1};
    r.filters = scan->scan.filters;
    r.last = scan->scan.filters[n - 1];
    r.nfilters = n;
    const Reach *known = remembered(opt, &r);
    if (known != NULL) return known->factor;
    double share = passing_share(opt, scan, &r);
    if (share >= 0) r.factor = share / card_selectivity_all(opt, scan->scan.filters, n);
    remember(opt, &r);
    assert(r.factor > 0);
    return r.factor;
}
