/*
 * contract_parts.c: a contraction by parts of its inputs, which are run again for each, where tcudb.memory_limit has no
 * room for their rows as a whole.
 *
 *     for each block of left and right groups:  for each range of keys:  read both inputs, keep its rows, multiply
 *
 * 1. A first pass over both inputs keeps nothing but counts: rows of each group and of each range of keys, the weight
 * of every value column, the bits of float8 ones. So the format of all sums is settled once, and the parts are cut
 * before any is multiplied (contract_cuts.c); what cannot work is 53200 then.
 * 2. Of each part rows with equal group and key are added up as they come (cell_table.c), values split into halves and
 *    limbs at once. Of compared sides every row is kept; their parts are slices of the compared values, each of the
 * left with each of the right.
 * 3. Several parts of one block add their sums to an array of the block's pairs of groups; a single part's go on at
 * once. Exact: every pair of rows meets in one part; the weights of the whole bound the sums (128 bits). Cost: reading
 * both inputs once more than there are parts. Inputs without direct codes are not done so.
 */
#include "exec/tcu/contract_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- a first pass ------------------------------------------------------------------------------- */

/* Consecutive rows of one group or range at once: threads share the counters. */
static void count_codes(Feed *f, const CodedRows *r)
{
    uint32_t groups = 0, keys = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        groups++;
        keys++;
        if (i + 1 == r->n || r->group[i + 1] != r->group[i]) {
            __atomic_fetch_add(&f->group_rows[r->group[i]], groups, __ATOMIC_RELAXED);
            groups = 0;
        }
        if (i + 1 == r->n || r->key[i + 1] / f->key_width != r->key[i] / f->key_width) {
            __atomic_fetch_add(&f->key_rows[r->key[i] / f->key_width], keys, __ATOMIC_RELAXED);
            keys = 0;
        }
    }
}

static tcudb_status survey_rows(Feed *f, Worker *w, const CodedRows *r, Error *err)
{
    const Input *in = f->in;
    double weights[PRODUCT_PLAN] = {0};
    FloatColumn floats[PRODUCT_PLAN];
    int64_t *values = arena_alloc_raw(worker_arena(w), sizeof *values * BATCH_ROWS, err);
    TRY_PTR(values);
    for (uint32_t v = 0; v < in->nvalues; v++) {
        floats[v] = (FloatColumn){.used = in->floats[v].used};
        weights[v] = input_widen(&r->cols[in->ngroups + in->nkeys + v], r->rows, r->n, values);
        for (uint32_t i = 0; floats[v].used && i < r->n; i++) float_note(&floats[v], values[i]);
    }
    count_codes(f, r);
    pthread_mutex_lock(&f->lock);
    f->rows += r->n;
    for (uint32_t v = 0; v < in->nvalues; v++) {
        f->weights[v] += in->floats[v].used ? 0 : weights[v];
        if (floats[v].used) float_merge(&f->in->floats[v], &floats[v]);
    }
    pthread_mutex_unlock(&f->lock);
    return TCUDB_OK;
}

static tcudb_status push_survey(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Feed *f = (Feed *)stage;
    uint16_t keyed[BATCH_ROWS];
    uint32_t group[BATCH_ROWS], key[BATCH_ROWS];
    CodedRows r = {.group = group, .key = key};
    TRY(input_code_rows(f->in, w, batch, keyed, &r, err));
    return survey_rows(f, w, &r, err);
}

/* Numbers the groups that there are. */
static tcudb_status number_groups(ContractParts *p, Feed *f, Error *err)
{
    uint64_t domain = f->in->groups.domain;
    TRY_PTR(f->number = exec_alloc(p->x, sizeof *f->number * (domain + 1), err));
    for (uint64_t code = 0; code < domain; code++) f->groups += f->group_rows[code] > 0;
    TRY_PTR(f->code_of = exec_alloc(p->x, sizeof *f->code_of * ((size_t)f->groups + 1), err));
    TRY_PTR(f->rows_of = exec_alloc(p->x, sizeof *f->rows_of * ((size_t)f->groups + 1), err));
    uint32_t n = 0;
    for (uint64_t code = 0; code < domain; code++) {
        f->number[code] = n;
        if (f->group_rows[code] == 0) continue;
        f->code_of[n] = (uint32_t)code;
        f->rows_of[n++] = f->group_rows[code];
    }
    exec_free(p->x, f->group_rows);
    return TCUDB_OK;
}

/* As inputs_run would: halves of columns whose sums may leave 64 bits. */
static void settle_weights(Feed *f)
{
    Input *in = f->in;
    in->n = f->rows;
    in->direct = true;
    for (uint32_t v = 0, n = in->nvalues; v < n; v++) {
        in->weight += f->weights[v];
        if (f->weights[v] >= 0x1p62) in->high[v] = in->nvalues++;
    }
    in->weight = fmin(fmax(in->weight, (double)in->n), 0x1p62);
}

/* Runs the side's input; what that takes by itself is given back. */
static tcudb_status read_input(ContractParts *p, Feed *f, Error *err)
{
    Exec reader;
    Mem *mem = p->x->env->mem;
    size_t before = atomic_load(&mem->used);
    tcudb_status status = exec_inner_new(p->x, &reader, err);
    if (status == TCUDB_OK) status = exec_produce(&reader, p->node->inputs[f->side], &f->stage, err);
    size_t after = atomic_load(&mem->used);
    if (f->reading == 0 && after > before) f->reading = after - before;
    exec_end(&reader);
    return status;
}

static tcudb_status survey(ContractParts *p, Error *err)
{
    for (uint32_t s = 0; s < 2; s++) {
        Feed *f = &p->feeds[s];
        uint64_t keys = p->inputs[0].keys.domain;
        *f = (Feed){.stage = {.push = push_survey}, .in = &p->inputs[s], .side = s, .p = p};
        f->key_width = (keys + KEY_RANGES - 1) / KEY_RANGES;
        f->base = f->in->nvalues;
        pthread_mutex_init(&f->lock, NULL);
        TRY_PTR(f->group_rows = exec_alloc_zero(p->x, sizeof *f->group_rows * (f->in->groups.domain + 1), err));
        TRY(read_input(p, f, err));
        TRY(number_groups(p, f, err));
        settle_weights(f);
    }
    return TCUDB_OK;
}

/* ---- reading a part ----------------------------------------------------------------------------- */

static uint32_t slice_of(const Vector *compared, uint32_t row, uint32_t slices)
{
    int64_t value;
    uint16_t at = (uint16_t)row;
    input_order(compared, &at, 1, &value);
    uint64_t mixed = (uint64_t)value * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed ^ mixed >> 32) % slices);
}

/* Closes up the rows of the part, their codes counted from its first. */
static void keep_part(const Feed *f, CodedRows *r, uint16_t *kept)
{
    const Part *part = f->p->part;
    const Range *groups = &part->groups[f->side];
    const Vector *compared = r->cols + f->in->ngroups + f->in->nkeys + f->base;
    uint32_t n = 0, slices = part->slices[f->side];
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t group = f->number[r->group[i]] - groups->from, key = r->key[i] - part->keys.from;
        uint16_t row = r->rows == NULL ? (uint16_t)i : r->rows[i];
        bool keep = group < groups->to - groups->from && key < part->keys.to - part->keys.from;
        if (keep && slices > 1) keep = slice_of(compared, row, slices) == part->slice[f->side];
        r->group[n] = group;
        r->key[n] = key;
        kept[n] = row;
        n += keep;
    }
    r->n = n;
    r->rows = kept;
}

/* Column v, in integers of the format that the survey settled. */
static void split_value(const Feed *f, uint32_t v, uint32_t n, int64_t *const *values)
{
    const Input *in = f->in;
    const FloatColumn *col = &in->floats[v];
    int64_t *base = values[v];
    if (base == NULL) return; /* there are no rows */
    for (uint32_t k = 0; col->used && col->special && k < 3; k++)
        for (uint32_t i = 0; i < n; i++) values[col->specials + k][i] = float_kind(base[i], k);
    for (uint32_t c = col->used ? col->limbs : 0; c-- > 0;)
        for (uint32_t i = 0; i < n; i++) values[c == 0 ? v : col->first + c - 1][i] = float_limb(col, base[i], c);
    for (uint32_t i = 0; in->high[v] != 0 && i < n; i++) {
        values[in->high[v]][i] = base[i] >> 32;
        base[i] = (uint32_t)base[i];
    }
}

static tcudb_status keep_rows(Feed *f, Worker *w, const CodedRows *r, int64_t *const *values, uint32_t columns,
                              Error *err)
{
    Run *run;
    TRY(runs_room(f->x, &f->lists[w->id], columns, r->n, &run, err));
    memcpy(run->group + run->n, r->group, sizeof *r->group * r->n);
    memcpy(run->key + run->n, r->key, sizeof *r->key * r->n);
    for (uint32_t v = 0; v < columns; v++) memcpy(run->values[v] + run->n, values[v], sizeof(int64_t) * r->n);
    run->n += r->n;
    return TCUDB_OK;
}

static tcudb_status push_part(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Feed *f = (Feed *)stage;
    const Input *in = f->in;
    uint16_t keyed[BATCH_ROWS], kept[BATCH_ROWS];
    uint32_t group[BATCH_ROWS], key[BATCH_ROWS], columns = in->nvalues + in->ncompared;
    int64_t *values[PRODUCT_MAX] = {NULL};
    CodedRows r = {.group = group, .key = key};
    TRY(input_code_rows(in, w, batch, keyed, &r, err));
    keep_part(f, &r, kept);
    if (r.n == 0) return TCUDB_OK;
    for (uint32_t v = 0; v < columns; v++)
        TRY_PTR(values[v] = arena_alloc_raw(worker_arena(w), sizeof(int64_t) * r.n, err));
    const Vector *cols = r.cols + in->ngroups + in->nkeys;
    for (uint32_t v = 0; v < f->base; v++) (void)input_widen(&cols[v], r.rows, r.n, values[v]);
    for (uint32_t v = 0; v < f->base; v++) split_value(f, v, r.n, values);
    for (uint32_t c = 0; c < in->ncompared; c++) input_order(&cols[f->base + c], r.rows, r.n, values[in->nvalues + c]);
    if (in->ncompared > 0) return keep_rows(f, w, &r, values, columns, err);
    return cells_add(&f->tables[w->id], &r, values, err);
}

static tcudb_status gather_cells(Feed *f, Error *err)
{
    Input *in = f->in;
    in->nruns = 0;
    in->n = 0;
    for (uint32_t w = 0; w < f->x->nworkers; w++) in->nruns += f->tables[w].nruns;
    TRY_PTR(in->runs = exec_alloc(f->x, sizeof *in->runs * ((size_t)in->nruns + 1), err));
    in->nruns = 0;
    for (uint32_t w = 0; w < f->x->nworkers; w++) {
        CellTable *t = &f->tables[w];
        exec_free(f->x, t->slots);
        for (uint32_t r = 0; r < t->nruns; r++) {
            const Run *run = t->runs[r];
            SideRun *out = &in->runs[in->nruns++];
            *out = (SideRun){.n = run->n, .group = run->group, .key = run->key, .count = run->count};
            for (uint32_t v = 0; v < in->nvalues; v++) out->values[v] = run->values[v];
            in->n += run->n;
        }
    }
    return TCUDB_OK;
}

/* What the part has of one side, in runs that live as long as the inner execution. */
static tcudb_status read_side(ContractParts *p, Exec *inner, uint32_t s, Error *err)
{
    Feed *f = &p->feeds[s];
    Input *in = f->in;
    f->x = inner;
    f->stage = (Stage){.push = push_part};
    TRY_PTR(f->tables = ARENA_ARRAY(&inner->arena, CellTable, inner->nworkers, err));
    TRY_PTR(f->lists = ARENA_ARRAY(&inner->arena, RunList, inner->nworkers, err));
    for (uint32_t w = 0; w < inner->nworkers; w++) f->tables[w] = (CellTable){.x = inner, .nvalues = in->nvalues};
    TRY(read_input(p, f, err));
    in->x = inner;
    in->lists = f->lists;
    in->ngroup_codes = p->part->groups[s].to - p->part->groups[s].from;
    in->code_of = f->code_of + p->part->groups[s].from;
    return in->ncompared > 0 ? runs_gather(in, f->lists, inner->nworkers, in->nvalues + in->ncompared, err)
                             : gather_cells(f, err);
}

/* ---- a block's sums ----------------------------------------------------------------------------- */

static tcudb_status new_sums(ContractParts *p, uint64_t cells, Error *err)
{
    TRY_PTR(p->counts = exec_alloc_zero(p->x, sizeof *p->counts * cells, err));
    for (uint32_t i = 0; i < p->spec.nproducts; i++)
        TRY_PTR(p->sums[i] = exec_alloc_zero(p->x, sizeof(int128) * cells, err));
    return TCUDB_OK;
}

static void free_sums(ContractParts *p)
{
    exec_free(p->x, p->counts);
    for (uint32_t i = 0; i < p->spec.nproducts; i++) exec_free(p->x, p->sums[i]);
    p->counts = NULL;
}

/* A pair of groups comes once a part, and parts follow one another: no two threads add to a cell. */
static tcudb_status add_sums(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)worker, (void)err;
    ContractParts *p = ctx;
    for (uint32_t r = 0; r < rows->n; r++) {
        uint64_t cell = (uint64_t)rows->left_group[r] * p->spec.right.groups + rows->right_group[r];
        p->counts[cell] += rows->counts[r];
        for (uint32_t i = 0; i < p->spec.nproducts; i++)
            p->sums[i][cell] += rows->wide ? ((const int128 *)rows->sums[i])[r] : ((const int64_t *)rows->sums[i])[r];
    }
    return TCUDB_OK;
}

/* Rows on their way to the output. */
typedef struct Lane {
    uint32_t n, *left, *right;
    uint64_t *counts, *cells;
    void *sums[PRODUCT_MAX];
} Lane;

typedef struct Emit {
    ContractParts *p;
    Output *output;
    const uint8_t *uncounted;
    Lane *lanes;
} Emit;

static tcudb_status new_lane(const ContractParts *p, Lane *l, Error *err)
{
    TRY_PTR(l->left = exec_alloc(p->x, sizeof *l->left * BATCH_ROWS, err));
    TRY_PTR(l->right = exec_alloc(p->x, sizeof *l->right * BATCH_ROWS, err));
    TRY_PTR(l->counts = exec_alloc(p->x, sizeof *l->counts * BATCH_ROWS, err));
    TRY_PTR(l->cells = exec_alloc(p->x, sizeof *l->cells * BATCH_ROWS, err));
    for (uint32_t i = 0; i < p->spec.nproducts; i++)
        TRY_PTR(l->sums[i] = exec_alloc(p->x, sizeof(int128) * BATCH_ROWS, err));
    return TCUDB_OK;
}

static void free_lane(const ContractParts *p, Lane *l)
{
    exec_free(p->x, l->left);
    exec_free(p->x, l->right);
    exec_free(p->x, l->counts);
    exec_free(p->x, l->cells);
    for (uint32_t i = 0; i < p->spec.nproducts; i++) exec_free(p->x, l->sums[i]);
}

static tcudb_status flush(const Emit *e, Lane *l, Worker *w, Error *err)
{
    ProductRows rows = {.task = w->task,
                        .n = l->n,
                        .left_group = l->left,
                        .right_group = l->right,
                        .counts = l->counts,
                        .sums = (const void *const *)l->sums,
                        .wide = true,
                        .cells = l->cells};
    l->n = 0;
    return rows.n == 0 ? TCUDB_OK : output_push(e->output, e->p->down, w, &rows, err);
}

static void put_cell(const Emit *e, Lane *l, uint32_t left, uint32_t right, bool first)
{
    const ContractParts *p = e->p;
    uint64_t cell = (uint64_t)left * p->spec.right.groups + right;
    uint32_t r = first ? l->n++ : l->n - 1;
    l->left[r] = left;
    l->right[r] = right;
    l->counts[r] = (first ? 0 : l->counts[r]) + p->counts[cell];
    l->cells[r] = (first ? 0 : l->cells[r]) + (e->uncounted == NULL || e->uncounted[right] == 0);
    for (uint32_t i = 0; i < p->spec.nproducts; i++) {
        int128 *sum = (int128 *)l->sums[i] + r;
        *sum = (first ? 0 : *sum) + p->sums[i][cell];
    }
}

/* A left group's pairs, or their only row where they are folded. */
static tcudb_status emit_group(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Emit *e = ctx;
    const ContractParts *p = e->p;
    Lane *l = &e->lanes[w->id];
    bool fold = p->node->plan->contract.fold, begun = false;
    if (l->left == NULL) TRY(new_lane(p, l, err));
    for (uint32_t right = 0; right < p->spec.right.groups; right++) {
        if (p->counts[task * p->spec.right.groups + right] == 0) continue;
        if (l->n == BATCH_ROWS && !(fold && begun)) TRY(flush(e, l, w, err));
        put_cell(e, l, (uint32_t)task, right, !(fold && begun));
        begun = true;
    }
    return flush(e, l, w, err);
}

static tcudb_status new_output(ContractParts *p, Emit *e, Error *err)
{
    *e = (Emit){.p = p};
    for (uint32_t s = 0; s < 2; s++) {
        p->inputs[s].ngroup_codes = p->part->groups[s].to - p->part->groups[s].from;
        p->inputs[s].code_of = p->feeds[s].code_of + p->part->groups[s].from;
    }
    TRY(output_new(p->x, p->node->plan, p->inputs, p->lists, &e->output, err));
    if (!p->node->plan->contract.fold) return TCUDB_OK;
    return output_uncounted(p->x, p->node->plan, &p->inputs[1], &e->uncounted, err);
}

static tcudb_status emit_sums(ContractParts *p, Error *err)
{
    Emit e;
    TRY(new_output(p, &e, err));
    TRY_PTR(e.lanes = exec_alloc_zero(p->x, sizeof *e.lanes * p->x->nworkers, err));
    tcudb_status status = exec_source(p->x, p->node, p->down, p->spec.left.groups, emit_group, &e, err);
    for (uint32_t w = 0; w < p->x->nworkers; w++) free_lane(p, &e.lanes[w]);
    exec_free(p->x, e.lanes);
    return status;
}

/* ---- multiplying -------------------------------------------------------------------------------- */

static void set_sides(ContractParts *p)
{
    Side *sides[2] = {&p->spec.left, &p->spec.right};
    for (uint32_t s = 0; s < 2; s++) {
        const Input *in = &p->inputs[s];
        *sides[s] = (Side){.groups = p->part->groups[s].to - p->part->groups[s].from,
                           .n = in->n,
                           .nruns = in->nruns,
                           .runs = in->runs,
                           .nvalues = in->nvalues,
                           .weight = in->weight};
    }
}

/* The only part of its block: its rows go on, with the bounds of HAVING and LIMIT. */
typedef struct Stream {
    ContractParts *p;
    ProductRun *run;
    Output *output;
    Worker *w;
} Stream;

static tcudb_status stream_rows(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)worker;
    const Stream *s = ctx;
    return output_push(s->output, s->p->down, s->w, rows, err);
}

static tcudb_status stream_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Stream s = *(const Stream *)ctx;
    s.w = w;
    return product_task(s.run, s.p->x->serial ? 0 : w->id, task, stream_rows, &s, err);
}

static tcudb_status stream_part(ContractParts *p, Pool *pool, ProductReport *report, Error *err)
{
    Emit e;
    Stream s = {.p = p};
    ProductSpec spec = p->spec;
    TRY(new_output(p, &e, err));
    s.output = e.output;
    output_bounds(e.output, p->x, &spec);
    spec.fold = p->node->plan->contract.fold;
    spec.uncounted = e.uncounted;
    TRY(product_open(&spec, pool, p->x->env->mem, p->x->env->cancel, report, &s.run, err));
    tcudb_status status = TCUDB_OK;
    for (bool more = true; status == TCUDB_OK && more && !stage_stopped(p->down);) {
        output_set_tested(e.output, report->having && spec.nhaving > 0);
        status = exec_source(p->x, p->node, p->down, product_tasks(s.run), stream_task, &s, err);
        if (status == TCUDB_OK) status = product_next(s.run, &more, err);
    }
    product_close(s.run);
    return status;
}

static tcudb_status multiply_part(ContractParts *p, Exec *inner, Pool *pool, bool alone, Error *err)
{
    uint32_t keys = p->part->keys.to - p->part->keys.from;
    const ContractRange *range = &p->node->plan->contract.range;
    for (uint32_t s = 0; s < 2; s++) {
        TRY(read_side(p, inner, s, err));
        if (p->inputs[s].n == 0) return TCUDB_OK;
    }
    TRY(ranges_apply(inner, range, p->inputs, true, &keys, &p->how, err));
    set_sides(p);
    p->spec.keys = keys;
    if (p->spec.left.n == 0 || p->spec.right.n == 0) return TCUDB_OK;
    ProductReport report = {.form = FORM_AUTO};
    tcudb_status status =
        alone ? stream_part(p, pool, &report, err)
              : product_run(&p->spec, pool, p->x->env->mem, p->x->env->cancel, add_sums, p, &report, err);
    p->pairs += report.products;
    p->blocks += report.parts;
    return status;
}

static tcudb_status run_part(ContractParts *p, Pool *pool, bool alone, Error *err)
{
    Exec inner;
    tcudb_status status = exec_inner_new(p->x, &inner, err);
    if (status == TCUDB_OK) status = multiply_part(p, &inner, pool, alone, err);
    exec_end(&inner);
    p->parts++;
    return status;
}

/* All parts of one block of groups: of ranges of keys, or of slices of compared values. */
static tcudb_status run_block(ContractParts *p, Part *part, Pool *pool, Error *err)
{
    const Cuts *c = &p->cuts;
    bool alone = c->nkeys == 1 && c->nslices[0] == 1 && c->nslices[1] == 1;
    p->part = part;
    set_sides(p);
    if (!alone) TRY(new_sums(p, (uint64_t)p->spec.left.groups * p->spec.right.groups, err));
    for (uint32_t k = 0; k < c->nkeys && !stage_stopped(p->down); k++) {
        part->keys = (Range){c->keys[k], c->keys[k + 1]};
        for (uint32_t i = 0; i < c->nslices[0] * c->nslices[1]; i++) {
            part->slice[0] = i / c->nslices[1];
            part->slice[1] = i % c->nslices[1];
            TRY(run_part(p, pool, alone, err));
        }
    }
    if (alone) return TCUDB_OK;
    set_sides(p);
    TRY(emit_sums(p, err));
    free_sums(p);
    return TCUDB_OK;
}

static tcudb_status run_blocks(ContractParts *p, Pool *pool, Error *err)
{
    const Cuts *c = &p->cuts;
    for (uint32_t j = 0; j < c->ngroups[1]; j++) {
        for (uint32_t i = 0; i < c->ngroups[0] && !stage_stopped(p->down); i++) {
            Part part = {.groups = {{c->groups[0][i], c->groups[0][i + 1]}, {c->groups[1][j], c->groups[1][j + 1]}},
                         .slices = {c->nslices[0], c->nslices[1]}};
            TRY(run_block(p, &part, pool, err));
        }
    }
    return TCUDB_OK;
}

static void describe(const ContractParts *p)
{
    const Cuts *c = &p->cuts;
    char sliced[64] = "";
    if (c->nslices[0] * c->nslices[1] > 1)
        snprintf(sliced, sizeof sliced, " x %u x %u slices of compared values", c->nslices[0], c->nslices[1]);
    exec_note(p->node,
              "memory_limit: inputs of %.0f and %.0f rows read again for each of %u parts: %u x %u blocks of "
              "groups x %u ranges of keys%s; %llu pairs, %u parts multiplied%s%s",
              (double)p->feeds[0].rows, (double)p->feeds[1].rows, p->parts, c->ngroups[0], c->ngroups[1], c->nkeys,
              sliced, (unsigned long long)p->pairs, p->blocks, p->how[0] == '\0' ? "" : ", compared by ", p->how);
}

/* The sums' format, from the survey. false: floating point too far apart for limbs (exact.c needs all rows). */
static tcudb_status settle_sums(ContractParts *p, bool *fits, Error *err)
{
    Error full = {0};
    *fits = floats_plan(p->node->plan, p->inputs);
    if (!*fits) return TCUDB_OK;
    tcudb_status status = terms_list(p->x, p->node->plan, p->inputs, true, &p->spec, &p->lists, fits, &full);
    if (status != TCUDB_OK && *fits) *err = full;
    if (status != TCUDB_OK) return *fits ? status : TCUDB_OK;
    for (uint32_t s = 0; s < 2; s++) p->inputs[s].nvalues += floats_more(&p->inputs[s]);
    return TCUDB_OK;
}

static tcudb_status run_all(ContractParts *p, bool *done, Error *err)
{
    TRY(survey(p, err));
    TRY(settle_sums(p, done, err));
    if (!*done || p->feeds[0].rows == 0 || p->feeds[1].rows == 0) return TCUDB_OK;
    TRY(cuts_make(p, err));
    p->spec.isa = kernels_best_isa();
    p->spec.rates = p->x->env->rates;
    p->spec.form = (ProductForm)p->x->env->settings->product_form;
    Pool *own = NULL;
    if (p->x->serial) TRY(pool_new(1, &own, err));
    tcudb_status status = run_blocks(p, p->x->serial ? own : p->x->env->pool, err);
    if (own != NULL) pool_free(own);
    describe(p);
    return status;
}

tcudb_status parts_run(Exec *x, PhysNode *node, Stage *down, bool *done, Error *err)
{
    ContractParts *p = ARENA_NEW(&x->arena, ContractParts, err);
    TRY_PTR(p);
    *p = (ContractParts){.x = x, .node = node, .down = down, .how = ""};
    *done = false;
    if (node->plan->contract.fast) return TCUDB_OK;
    TRY(inputs_prepare(x, node, p->inputs, done, err));
    return *done ? run_all(p, done, err) : TCUDB_OK;
}

double parts_input_bytes(const Plan *plan, double left, double right)
{
    const double rows[2] = {left, right};
    double bytes = 0;
    for (uint32_t s = 0; s < 2; s++)
        bytes += rows[s] * (2 * sizeof(uint32_t) + plan->contract.nvalues[s] * sizeof(int64_t));
    return bytes;
}
