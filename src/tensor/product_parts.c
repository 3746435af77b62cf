/*
 * product_parts.c: which groups of both sides are multiplied at a time, so that memory suffices.
 *
 *             right groups
 *            |  0  |  1  |        part 0: left 0 x right 0, part 1: left 1 x right 0, ...
 *     left 0 |  .  |  .  |
 *     left 1 |  .  |  .  |        Every part has all keys: its sums are the end result.
 *     left 2 |  .  |  .  |
 *
 * Cells and lines of accumulators are to take at most half of what mem's limit leaves, so that operands and whoever
 * gets the rows have the other. If all groups at once take more, the larger side's rows are halved until a part fits,
 * and groups are cut by their numbers of rows. The right cells are built once for all parts of the left; a left part
 * can get smaller still (most_left), where the accumulators of chunks of keys (product_chunks.c) leave no room.
 * Groups are never divided: a single pair of them that does not fit is an error, before anything is multiplied.
 * Cost: a pass over the left's rows a part and over the right's a column of parts.
 */
#include "tensor/product_int.h"

#include <math.h>

/* Bytes that the product needs at once for a part with so many rows and groups of each side, dense operands aside; if
 * its sums are narrow. */
static double part_bytes(const ProductRun *run, const double rows[2], const double groups[2])
{
    const ProductSpec *spec = run->whole;
    double w = pool_workers(run->pool), keys = spec->keys, place = run->parts.symmetric ? sizeof(uint64_t) : 0;
    double bytes[2], cursors[2];
    for (int side = 0; side < 2; side++) {
        double lines = side == 0 ? groups[0] : keys, nvalues = side == 0 ? spec->left.nvalues : spec->right.nvalues;
        bytes[side] = rows[side] * (2 * sizeof(uint32_t) + nvalues * sizeof(int64_t)) + lines * sizeof(uint64_t);
        double grid = cells_grid_bytes(rows[side], groups[side] * keys, (uint32_t)nvalues, pool_workers(run->pool));
        bytes[side] = fmin(bytes[side], grid + lines * sizeof(uint64_t));
        cursors[side] = 2 * lines * sizeof(uint64_t) + w * (side == 0 ? keys : groups[1]) * sizeof(uint32_t);
    }
    double line = groups[1] * (2 * sizeof(uint64_t) + spec->nproducts * sizeof(int64_t));
    double multiply = w * (line + (double)out_bytes(spec)) + keys * (sizeof(uint32_t) + sizeof(double));
    return bytes[0] + rows[0] * place + bytes[1] + fmax(multiply, fmax(cursors[0], cursors[1]));
}

static uint32_t *count_rows(ProductRun *run, const Side *side, Error *err)
{
    uint32_t *rows = mem_alloc_zero(run->mem, sizeof *rows * side->groups, err);
    if (rows == NULL) return NULL;
    for (uint32_t r = 0; r < side->nruns; r++)
        for (uint64_t i = 0; i < side->runs[r].n; i++) rows[side->runs[r].group[i]]++;
    return rows;
}

static const double SURE = 2;     /* no part takes less than half of its estimate */
static const double SLACK = 1.07; /* groups are no exact fractions of the rows: else a small last part is left */

/* Rows of a part, by halving the side that takes more. Returns how many there will be. */
static double halve(ProductRun *run, const double rows[2], const double groups[2])
{
    Parts *p = &run->parts;
    double r[2] = {rows[0], rows[1]}, g[2] = {groups[0], groups[1]};
    while (part_bytes(run, r, g) > (double)p->budget / 2 && (g[0] > 1 || g[1] > 1)) {
        const double left[2] = {r[0], 0}, right[2] = {0, r[1]}, of_left[2] = {g[0], 0}, of_right[2] = {0, g[1]};
        bool first = part_bytes(run, left, of_left) >= part_bytes(run, right, of_right);
        int side = g[0] <= 1 ? 1 : g[1] <= 1 || first ? 0 : 1;
        r[side] /= 2;
        g[side] /= 2;
    }
    for (int side = 0; side < 2; side++)
        p->most_rows[side] = g[side] < groups[side] ? (uint64_t)(r[side] * SLACK) : UINT64_MAX;
    return ceil(groups[0] / g[0]) * ceil(groups[1] / g[1]);
}

/* The caller may have a better way than so many. */
static tcudb_status most_parts(const ProductRun *run, double parts, Error *err)
{
    uint32_t most = run->whole->most_parts;
    if (most == 0 || parts <= most) return TCUDB_OK;
    tcudb_status status = error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    error_detail(err, "A matrix product would take %.0f parts; tcudb.memory_limit is %zu bytes, %zu of them in use.",
                 parts, atomic_load(&run->mem->limit), atomic_load(&run->mem->used));
    error_hint(err, "Raise tcudb.memory_limit, or SET tcudb.contraction = off.");
    return status;
}

tcudb_status parts_plan(ProductRun *run, Error *err)
{
    Parts *p = &run->parts;
    const ProductSpec *spec = run->whole;
    size_t limit = atomic_load(&run->mem->limit), used = atomic_load(&run->mem->used);
    const double rows[2] = {(double)spec->left.n, (double)spec->right.n};
    const double groups[2] = {spec->left.groups, spec->right.groups};
    p->most_left = UINT32_MAX;
    p->symmetric = spec->symmetric && !spec->fast && !spec->fold;
    p->budget = limit == 0 ? SIZE_MAX : limit > used ? limit - used : 1;
    if (part_bytes(run, rows, groups) <= (double)p->budget / 2) return TCUDB_OK;
    p->symmetric = false; /* a part is no mirror image */
    p->cut = true;
    TRY_PTR(p->rows[0] = count_rows(run, &spec->left, err));
    TRY_PTR(p->rows[1] = count_rows(run, &spec->right, err));
    return most_parts(run, halve(run, rows, groups), err);
}

void parts_free(ProductRun *run)
{
    mem_free(run->mem, run->parts.rows[0], sizeof(uint32_t) * run->whole->left.groups);
    mem_free(run->mem, run->parts.rows[1], sizeof(uint32_t) * run->whole->right.groups);
}

/* The groups from `from` on that have at most so many rows together: one group at least. */
static void cut(const uint32_t *rows, const Side *whole, uint32_t from, uint64_t most_rows, uint32_t most_groups,
                Side *out)
{
    uint32_t to = from;
    uint64_t n = 0;
    while (to < whole->groups && to - from < most_groups && (to == from || n + rows[to] <= most_rows)) n += rows[to++];
    out->part = true;
    out->first = from;
    out->groups = to - from;
    out->n = n;
}

static tcudb_status check_fits(const ProductRun *run, Error *err)
{
    const Parts *p = &run->parts;
    const double rows[2] = {(double)p->spec.left.n, (double)p->spec.right.n};
    const double groups[2] = {p->spec.left.groups, p->spec.right.groups};
    double bytes = part_bytes(run, rows, groups);
    if (bytes / SURE <= (double)p->budget) return TCUDB_OK; /* else it may fit: an allocation says so if not */
    tcudb_status status = error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    error_detail(err,
                 "The smallest part of a matrix product (%.0f and %.0f rows, %u keys) needs %.0f bytes; "
                 "tcudb.memory_limit is %zu bytes, %zu of them in use.",
                 rows[0], rows[1], run->whole->keys, bytes, atomic_load(&run->mem->limit),
                 atomic_load(&run->mem->used));
    error_hint(err, "Raise tcudb.memory_limit, or SET tcudb.contraction = off.");
    return status;
}

/* Left parts within a right one. */
static tcudb_status next_cut(ProductRun *run, bool *more, bool *new_right, Error *err)
{
    Parts *p = &run->parts;
    const Side *left = &run->whole->left, *right = &run->whole->right;
    do {
        if (!p->begun || p->next[0] >= left->groups) {
            if (p->next[1] >= right->groups) return TCUDB_OK;
            cut(p->rows[1], right, p->next[1], p->most_rows[1], UINT32_MAX, &p->spec.right);
            p->next[1] += p->spec.right.groups;
            p->next[0] = 0;
            p->most_left = UINT32_MAX;
            *new_right = true;
        }
        p->begun = true;
        if (p->spec.right.n == 0) {
            p->next[0] = left->groups;
            continue;
        }
        cut(p->rows[0], left, p->next[0], p->most_rows[0], p->most_left, &p->spec.left);
        p->next[0] += p->spec.left.groups;
        *more = p->spec.left.n > 0;
        if (*more) return check_fits(run, err);
    } while (true);
}

tcudb_status parts_next(ProductRun *run, bool *more, bool *new_right, Error *err)
{
    Parts *p = &run->parts;
    *more = *new_right = false;
    if (p->cut) return next_cut(run, more, new_right, err);
    *more = *new_right = !p->begun;
    p->begun = true;
    return TCUDB_OK;
}

/* The part at hand again, with at most so many left groups. */
tcudb_status parts_shrink(ProductRun *run, uint32_t most_left, bool *new_right, Error *err)
{
    Parts *p = &run->parts;
    bool more;
    *new_right = p->symmetric;
    p->most_left = most_left;
    p->symmetric = false;
    if (p->cut) {
        p->next[0] = p->spec.left.first;
        return next_cut(run, &more, new_right, err);
    }
    p->cut = true;
    TRY_PTR(p->rows[0] = count_rows(run, &run->whole->left, err));
    p->most_rows[0] = UINT64_MAX;
    p->next[1] = run->whole->right.groups;
    return next_cut(run, &more, new_right, err);
}
