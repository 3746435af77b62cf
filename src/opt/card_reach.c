/*
 * card_reach.c: filters of a table of which another one refers to a small part.
 *
 * Sales name days of five years, the calendar has two hundred: of the days, one in two hundred is of 2001; of those
 * that sales name, one in five. Where the other side's values reach over a small part of a key's range, the filters are
 * evaluated on the rows of that part (where there are many on every n-th batch): how much more of them pass there than
 * of all rows is how much more rows the join has. Answers are remembered by filters and part.
 *
 * Filters of a third table count where an equality carries them over: of days in the weeks of 2001, which are the weeks
 * of the days of 2001, all are where sales name days. What carries over is between what values the other column lies.
 *
 * Cost: BATCHES_READ batches of the key and of the filters' columns; where they are, catalog/ remembers. To carry
 * filters over, all rows of a table of BATCHES_MOST at most.
 */
#include "expr/eval.h"
#include "opt/card_combine.h"

#include <assert.h>
#include <math.h>

static const double NARROW = 0.5; /* wider parts are as good as all */

enum { REMEMBERED = 64, BATCHES_READ = 16, BATCHES_MOST = 64, COLS_MAX = 16 };

typedef struct Reach {
    const Table *table;
    uint32_t column;
    double lo, hi;
    Expr *const *filters;
    const Expr *last; /* arrays are filled up in place */
    uint32_t nfilters;
    Expr *const *carried; /* the filters of a third table, NULL: none, and what they carry over to */
    ColId to;
    double factor;
} Reach;

/* Between what values a column lies in the rows that pass; lo > hi: not known. */
typedef struct Bounds {
    Expr *const *filters;
    ColId col;
    int64_t lo, hi;
} Bounds;

typedef struct ReachCache {
    Reach items[REMEMBERED];
    Bounds bounds[REMEMBERED];
    uint32_t n, nbounds;
} ReachCache;

static Reach *remembered(Opt *opt, const Reach *r)
{
    if (opt->reaches == NULL) opt->reaches = ARENA_NEW(opt->arena, ReachCache, NULL);
    ReachCache *cache = opt->reaches;
    for (uint32_t i = 0; cache != NULL && i < cache->n; i++) {
        Reach *x = &cache->items[i];
        bool part = x->table == r->table && x->column == r->column && x->lo == r->lo && x->hi == r->hi;
        part &= x->carried == r->carried && x->to == r->to;
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
    bool all; /* no batch is left out */
    Evaluator *evaluator;
    EvalState *state;
    ColId layout[COLS_MAX];
    uint32_t columns[COLS_MAX]; /* of the table; the key first */
    uint32_t ncols;
    uint64_t there, passed;
    int64_t least, most; /* keys of rows that passed */
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
    for (uint32_t f = 0; f < c->reach->nfilters; f++) {
        const Expr *e = c->reach->filters[f];
        (void)expr_walk(e, is_parameter, &parameter);
        if (parameter || expr_volatile(e) || !expr_within(e, scan)) return false;
    }
    for (uint32_t i = 0; i < scan->ncols; i++) {
        bool used = false;
        for (uint32_t f = 0; f < c->reach->nfilters; f++) used |= expr_has_col(c->reach->filters[f], scan->cols[i].id);
        if (!used) continue;
        if (c->ncols == COLS_MAX || scan->scan.columns[i] == ROWID_COLUMN) return false;
        c->layout[c->ncols] = scan->cols[i].id;
        c->columns[c->ncols++] = scan->scan.columns[i];
    }
    return true;
}

static int64_t key_at(const Vector *v, uint32_t row)
{
    uint32_t at = v->form == VEC_CONST ? 0 : row;
    switch (v->phys) {
    case PHYS_I16: return ((const int16_t *)v->data)[at];
    case PHYS_I32: return ((const int32_t *)v->data)[at];
    default: return ((const int64_t *)v->data)[at];
    }
}

/* Doubles next to the ends of int64 are beyond them. */
static int64_t to_int64(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

/* The rows whose key is in the part. */
static uint32_t select_reach(const Reach *r, const Vector *v, uint32_t n, uint16_t *sel)
{
    int64_t lo = to_int64(ceil(r->lo)), hi = to_int64(floor(r->hi));
    uint32_t live = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t key = key_at(v, i);
        sel[live] = (uint16_t)i;
        live += key >= lo && key <= hi && !vec_is_null(v, i);
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
    for (uint32_t i = 0; i < left; i++) {
        int64_t key = key_at(&cols[0], passed[i]);
        c->least = key < c->least ? key : c->least;
        c->most = key > c->most ? key : c->most;
    }
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
    uint64_t step = c->all ? 1 : here / BATCHES_READ + 1;
    if (here == 0 || (c->all && here > BATCHES_MOST)) return TCUDB_OK;
    TRY(expr_and(opt, c->reach->filters, c->reach->nfilters, &all, err));
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

/* False: not known, or no row is in the part. */
static bool counted(Opt *opt, Counting *c)
{
    Arena arena, batches;
    Error ignored; /* a plan can be made without; an error that rows raise shows when they are asked for */
    c->least = INT64_MAX;
    c->most = INT64_MIN;
    if (!list_columns(c)) return false;
    arena_init(&arena, opt->arena->mem);
    arena_init(&batches, opt->arena->mem);
    c->batches = &batches;
    bool done = count(opt, c, &arena, &ignored) == TCUDB_OK && c->there > 0;
    arena_free(&batches);
    arena_free(&arena);
    c->batches = NULL;
    return done;
}

/* How many times as large a share of the rows passes in the part. */
static double factor_of(Opt *opt, const Plan *scan, const Reach *r)
{
    Counting c = {.scan = scan, .reach = r};
    if (!counted(opt, &c)) return 1;
    double share = fmax((double)c.passed, 0.5) / (double)c.there;
    return share / card_selectivity_all(opt, r->filters, r->nfilters);
}

/* A column of the scan's table whose values are integers with known bounds. */
static bool is_countable(const Opt *opt, const Plan *scan, const ColFact *fact)
{
    if (opt->env->keys == NULL || !fact->has_range || !fact->exact || fact->table != scan->scan.table) return false;
    uint8_t phys = (uint8_t)type_phys(fact->min.type);
    bool integer = phys == PHYS_I16 || phys == PHYS_I32 || phys == PHYS_I64;
    return integer && fact->min.type.id != TYPE_NUMERIC && fact->column != ROWID_COLUMN;
}

/* The part of the key's range where the other side's values are; false: it is most of it, or not known. */
static bool find_part(const Opt *opt, const Plan *scan, ColId key, const ColFact *reach, Reach *out)
{
    const ColFact *own = card_fact(opt, key);
    if (!is_countable(opt, scan, own) || !reach->has_range) return false;
    *out = (Reach){.table = scan->scan.table, .column = own->column, .factor = 1};
    out->lo = fmax(own->lo, reach->lo);
    out->hi = fmin(own->hi, reach->hi);
    return out->lo <= out->hi && out->hi - out->lo <= NARROW * (own->hi - own->lo);
}

static void set_filters(Reach *r, Expr *const *filters, uint32_t n)
{
    r->filters = filters;
    r->nfilters = n;
    r->last = n > 0 ? filters[n - 1] : NULL;
}

double card_reach(const Opt *const_opt, const Plan *scan, ColId key, const ColFact *reach)
{
    Opt *opt = (Opt *)(uintptr_t)const_opt; /* only its cache and its arena change */
    Reach r;
    if (scan->scan.nfilters == 0 || !find_part(opt, scan, key, reach, &r)) return 1;
    set_filters(&r, scan->scan.filters, scan->scan.nfilters);
    const Reach *known = remembered(opt, &r);
    if (known != NULL) return known->factor;
    r.factor = factor_of(opt, scan, &r);
    remember(opt, &r);
    assert(r.factor > 0);
    return r.factor;
}

/* ---- filters of a third table ------------------------------------------------------------------------- */

static Bounds count_bounds(Opt *opt, const Plan *scan, ColId col)
{
    const ColFact *fact = card_fact(opt, col);
    Bounds none = {.filters = scan->scan.filters, .col = col, .lo = 1, .hi = 0}, b = none;
    if (!is_countable(opt, scan, fact)) return none;
    Reach all = {.table = scan->scan.table, .column = fact->column, .lo = fact->lo, .hi = fact->hi};
    set_filters(&all, scan->scan.filters, scan->scan.nfilters);
    Counting c = {.scan = scan, .reach = &all, .all = true};
    if (!counted(opt, &c)) return none;
    b.lo = c.least;
    b.hi = c.most;
    return b;
}

/* Of a scan's filtered rows; counted once. */
static Bounds filtered_bounds(Opt *opt, const Plan *scan, ColId col)
{
    ReachCache *cache = opt->reaches;
    for (uint32_t i = 0; cache != NULL && i < cache->nbounds; i++)
        if (cache->bounds[i].filters == scan->scan.filters && cache->bounds[i].col == col) return cache->bounds[i];
    Bounds b = count_bounds(opt, scan, col);
    if (cache != NULL && cache->nbounds < REMEMBERED) cache->bounds[cache->nbounds++] = b;
    return b;
}

static tcudb_status add_bound(Opt *opt, const PlanCol *col, const char *op, int64_t bound, ExprList *out, Error *err)
{
    Value value = {.type = col->type};
    Expr *e, *column = expr_of_col(opt, col, err);
    TRY_PTR(column);
    switch (type_phys(col->type)) {
    case PHYS_I16: value.i16 = (int16_t)bound; break;
    case PHYS_I32: value.i32 = (int32_t)bound; break;
    default: value.i64 = bound; break;
    }
    Expr *constant = expr_const(opt->arena, &value, 0, err);
    TRY_PTR(constant);
    TRY(expr_operator(opt, op, column, constant, &e, err));
    return list_add(opt, out, e, err);
}

/* The key's filters and between what the third scan's keep the column; n 0: not known. */
static tcudb_status carry_over(Opt *opt, const CardKey *key, const CardKey *third, const PlanCol *to, ExprList *out,
                               Error *err)
{
    const ColFact *fact = card_fact(opt, to->id);
    bool alike = type_equal(to->type, card_fact(opt, third->col)->min.type) && is_countable(opt, key->scan, fact);
    if (!alike) return TCUDB_OK;
    Bounds b = filtered_bounds(opt, third->scan, third->col);
    if (b.lo > b.hi || (double)b.hi - (double)b.lo > NARROW * (fact->hi - fact->lo)) return TCUDB_OK;
    TRY(list_add_all(opt, out, key->scan->scan.filters, key->scan->scan.nfilters, err));
    TRY(add_bound(opt, to, ">=", b.lo, out, err));
    return add_bound(opt, to, "<=", b.hi, out, err);
}

double card_reach_through(const Opt *const_opt, const CardKey *key, const CardKey *third, ColId to)
{
    Opt *opt = (Opt *)(uintptr_t)const_opt;
    const PlanCol *col = plan_find_col(key->scan, to);
    ExprList filters = {0};
    Error ignored;
    Reach r;
    if (col == NULL || third->scan->scan.nfilters == 0 || !find_part(opt, key->scan, key->col, key->reach, &r))
        return 1;
    set_filters(&r, key->scan->scan.filters, key->scan->scan.nfilters);
    r.carried = third->scan->scan.filters;
    r.to = to;
    const Reach *known = remembered(opt, &r);
    if (known != NULL) return known->factor;
    if (carry_over(opt, key, third, col, &filters, &ignored) == TCUDB_OK && filters.n > 0) {
        Reach with = r;
        set_filters(&with, filters.items, filters.n);
        r.factor = factor_of(opt, key->scan, &with) / card_reach(opt, key->scan, key->col, key->reach);
    }
    remember(opt, &r);
    return r.factor;
}
