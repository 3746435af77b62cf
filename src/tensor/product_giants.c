/*
 * product_giants.c: left groups that outweigh others: one group's pairs, added up or put out by all cores.
 *
 *     group 7 meets 100,000 keys, the other 999 groups 10 each: a task a row would leave all cores but one idle
 *
 * A left group whose light pairs are a sixteenth of all is a giant. Its keys are cut into pieces, which workers add to
 * lines of their own; then the lines are added up, a piece of the columns at a time, to the giant's. In the sparse form
 * giants are put out by pieces of columns, and groups that meet one key, whose rows are that key's cells, by pieces of
 * these. In the dense forms the giant's line takes the place of its light keys.
 * What is a giant does not depend on the number of workers, nor does the order of the rows; one worker needs none.
 * Cost: a look at the left cells, and a line's columns once a worker and giant.
 */
#include "tensor/product_int.h"

#include <pthread.h>

enum {
    GIANT_SHARE = 16,
    GIANT_PAIRS = 1 << 17, /* the least */
    LOOK_ROWS = 1024,
    CELL_PIECES = 8, /* of a giant's keys, a worker */
    PIECE_COLUMNS = 1 << 13,
    PIECE_CELLS = 1 << 16
};

typedef struct Giant {
    uint32_t group;
    bool cells; /* a group with one key: no line */
} Giant;

typedef struct Search {
    ProductRun *run;
    double least;
    Giant found[GIANT_SHARE];
    uint32_t n;
    pthread_mutex_t lock;
    /* of the giant at hand */
    uint32_t group;
    size_t line;
    Lines *own; /* a worker's */
    uint32_t pieces;
} Search;

/* ---- finding ------------------------------------------------------------------------------------ */

static double light_pairs(const ProductRun *run, uint32_t group)
{
    uint64_t pairs = 0;
    for (uint64_t e = run->left.starts[group]; e < run->left.starts[group + 1]; e++)
        if (run->dense_key[run->left.ids[e]] == LIGHT)
            pairs += run->right.starts[run->left.ids[e] + 1] - pairs_from(run, e);
    return (double)pairs;
}

/* In the sparse form rows keep the order in which they would be put out otherwise: scanned. */
static bool is_giant(const ProductRun *run, uint32_t group, double pairs, Giant *out)
{
    bool sparse = run->heavy == 0, one = run->left.starts[group + 1] - run->left.starts[group] == 1;
    *out = (Giant){.group = group, .cells = sparse && one && !run->spec->fold};
    return out->cells || !sparse || pairs / SCAN_PAIRS >= run->right.columns;
}

static tcudb_status look(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Search *s = ctx;
    uint64_t from = task * LOOK_ROWS;
    for (uint64_t g = from; g < from + LOOK_ROWS && g < s->run->left.rows; g++) {
        Giant giant;
        double pairs = light_pairs(s->run, (uint32_t)g);
        if (pairs < s->least || !is_giant(s->run, (uint32_t)g, pairs, &giant)) continue;
        pthread_mutex_lock(&s->lock);
        if (s->n < GIANT_SHARE) s->found[s->n++] = giant;
        pthread_mutex_unlock(&s->lock);
    }
    return TCUDB_OK;
}

static void sort_found(Search *s)
{
    for (uint32_t i = 1; i < s->n; i++)
        for (uint32_t j = i; j > 0 && s->found[j - 1].group > s->found[j].group; j--) {
            Giant swap = s->found[j];
            s->found[j] = s->found[j - 1];
            s->found[j - 1] = swap;
        }
}

/* ---- adding up ---------------------------------------------------------------------------------- */

static tcudb_status add_piece(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)err;
    const Search *s = ctx;
    uint64_t from = s->run->left.starts[s->group], n = s->run->left.starts[s->group + 1] - from;
    sparse_add(s->run, &s->own[worker], from + n * task / s->pieces, from + n * (task + 1) / s->pieces, 0);
    return TCUDB_OK;
}

static tcudb_status join_columns(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    const Search *s = ctx;
    const ProductRun *run = s->run;
    uint32_t from = (uint32_t)task * PIECE_COLUMNS, columns = run->right.columns;
    uint32_t to = columns - from < PIECE_COLUMNS ? columns : from + PIECE_COLUMNS;
    Lines line = lines_at(run, &run->giants.lines, s->line);
    for (uint32_t w = 0; w < pool_workers(run->pool); w++) {
        lines_add(run, &s->own[w], &line, from, to);
        lines_clear(run, &s->own[w], from, to);
    }
    return TCUDB_OK;
}

static tcudb_status add_giants(Search *s, Error *err)
{
    ProductRun *run = s->run;
    uint64_t columns = ((uint64_t)run->right.columns + PIECE_COLUMNS - 1) / PIECE_COLUMNS;
    s->pieces = CELL_PIECES * pool_workers(run->pool);
    for (s->line = 0; s->line < run->giants.n; s->line++) {
        s->group = run->giants.groups[s->line];
        TRY(pool_run(run->pool, s->pieces, add_piece, s, run->cancel, err));
        TRY(pool_run(run->pool, columns, join_columns, s, run->cancel, err));
    }
    return TCUDB_OK;
}

/* The workers' own lines: their blocks' first, which are zeros still; where lines stand, new ones. */
static tcudb_status take_lines(Search *s, Error *err)
{
    ProductRun *run = s->run;
    uint32_t workers = pool_workers(run->pool);
    TRY_PTR(s->own = mem_alloc_zero(run->mem, sizeof *s->own * workers, err));
    for (uint32_t w = 0; w < workers; w++) {
        if (run->standing)
            TRY(lines_new(run, 1, &s->own[w], err));
        else
            s->own[w] = run->blocks[w].lines;
    }
    return TCUDB_OK;
}

static void give_lines(Search *s)
{
    ProductRun *run = s->run;
    uint32_t workers = pool_workers(run->pool);
    for (uint32_t w = 0; s->own != NULL && run->standing && w < workers; w++) lines_free(run, 1, &s->own[w]);
    mem_free(run->mem, s->own, sizeof *s->own * workers);
}

static tcudb_status make_lines(Search *s, Error *err)
{
    ProductRun *run = s->run;
    Giants *g = &run->giants;
    TRY_PTR(g->groups = mem_alloc(run->mem, sizeof *g->groups * GIANT_SHARE, err));
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->found[i].cells) g->groups[g->n++] = s->found[i].group;
    if (g->n == 0) return TCUDB_OK;
    TRY(lines_new(run, g->n, &g->lines, err));
    tcudb_status status = take_lines(s, err);
    if (status == TCUDB_OK) status = add_giants(s, err);
    give_lines(s);
    return status;
}

/* ---- tasks of the sparse form ------------------------------------------------------------------- */

static uint64_t pieces_of(const ProductRun *run, const Giant *giant, uint64_t *from, uint64_t *to)
{
    *from = 0;
    *to = run->right.columns;
    uint64_t cell = run->left.starts[giant->group], size = giant->cells ? PIECE_CELLS : PIECE_COLUMNS;
    if (giant->cells) {
        *from = pairs_from(run, cell);
        *to = run->right.starts[run->left.ids[cell] + 1];
    }
    return run->spec->fold ? 1 : (*to - *from + size - 1) / size;
}

/* Rows from `first` to the giant, and the giant; counts only where out is NULL. */
static uint64_t list_giant(const ProductRun *run, const Giant *giant, Task *out)
{
    uint64_t from, to, pieces = pieces_of(run, giant, &from, &to);
    for (uint64_t p = 0; p < pieces && out != NULL; p++)
        out[p] = (Task){.kind = giant->cells ? TASK_CELLS : TASK_COLUMNS,
                        .first = giant->group,
                        .from = from + (to - from) * p / pieces,
                        .to = from + (to - from) * (p + 1) / pieces};
    return pieces;
}

static uint64_t list_rows(const ProductRun *run, uint32_t first, uint32_t last, Task *out)
{
    uint64_t n = 0;
    for (uint32_t row = first, rows; row < last; row += rows, n++) {
        rows = last - row < run->block_rows ? last - row : run->block_rows;
        if (out != NULL) out[n] = (Task){.kind = TASK_ROWS, .first = row, .rows = rows};
    }
    return n;
}

static uint64_t list_tasks(const Search *s, Task *out)
{
    const ProductRun *run = s->run;
    uint64_t n = 0;
    uint32_t row = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n += list_rows(run, row, s->found[i].group, out == NULL ? NULL : out + n);
        n += list_giant(run, &s->found[i], out == NULL ? NULL : out + n);
        row = s->found[i].group + 1;
    }
    return n + list_rows(run, row, run->left.rows, out == NULL ? NULL : out + n);
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* Lines of as many giants as there may be are little of what the limit leaves. */
static bool has_room(const ProductRun *run)
{
    double lines = GIANT_SHARE + (run->standing ? pool_workers(run->pool) : 0);
    return run->memory == 0 || lines * (double)row_bytes(run) < (double)run->memory / 4;
}

tcudb_status giants_build(ProductRun *run, Error *err)
{
    double pairs = run->report->light_pairs;
    if (pool_workers(run->pool) == 1 || run->spec->fast || pairs < 2 * GIANT_PAIRS || !has_room(run)) return TCUDB_OK;
    Search s = {.run = run, .lock = PTHREAD_MUTEX_INITIALIZER};
    s.least = pairs / GIANT_SHARE > GIANT_PAIRS ? pairs / GIANT_SHARE : GIANT_PAIRS;
    TRY(pool_run(run->pool, ((uint64_t)run->left.rows + LOOK_ROWS - 1) / LOOK_ROWS, look, &s, run->cancel, err));
    if (s.n == 0) return TCUDB_OK;
    sort_found(&s);
    TRY(make_lines(&s, err));
    if (run->heavy > 0) return TCUDB_OK;
    run->ntasks = list_tasks(&s, NULL);
    TRY_PTR(run->tasks = mem_alloc(run->mem, sizeof *run->tasks * run->ntasks, err));
    (void)list_tasks(&s, run->tasks);
    return TCUDB_OK;
}

int64_t giants_line(const ProductRun *run, uint32_t group)
{
    for (uint32_t i = 0; i < run->giants.n; i++)
        if (run->giants.groups[i] == group) return i;
    return -1;
}

void giants_free(ProductRun *run)
{
    Giants *g = &run->giants;
    lines_free(run, g->n, &g->lines);
    mem_free(run->mem, g->groups, sizeof *g->groups * GIANT_SHARE);
    mem_free(run->mem, run->tasks, sizeof *run->tasks * run->ntasks);
    *g = (Giants){.n = 0};
    run->tasks = NULL;
    run->ntasks = 0;
}
