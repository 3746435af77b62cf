/*
 * contract_cuts.c: where a contraction is cut into parts that fit into what tcudb.memory_limit leaves.
 *
 * A third of what is left is for the sums of a block's pairs of groups, a third for the rows of a part, a third for
 * what multiplying them takes (tensor/product_parts.c cuts further if need be). If the sums of all pairs fit, the parts
 * are ranges of keys, of compared sides slices of the values on both: reading costs as many passes as there are parts.
 * Otherwise the groups are cut into blocks, of rows that fit, each with all keys: so its sums are final, and need no
 * array. Only if a block's keys do not fit either are there both.
 * Ranges of keys and groups are cut by their numbers of rows, which the survey counted: what a part takes is known
 * before any is read. Rows that are added up on the way (cell_table.c) take less.
 */
#include "exec/tcu/contract_parts.h"

#include <math.h>

enum { KEY_BYTES = 64, TREE_ROWS = 12, MOST_PARTS = 4096 }; /* that a product takes a key; a row in the tree */

/* A compared row and what it becomes: a node of the tree a level, or a cell a group of the side with fewer. */
static double copies(const ContractParts *p)
{
    double fewer = p->feeds[0].groups < p->feeds[1].groups ? p->feeds[0].groups : p->feeds[1].groups;
    return fmin(TREE_ROWS, 2 + fewer);
}

static double row_bytes(const Feed *f)
{
    double columns = f->in->nvalues + f->in->ncompared, row = 3 * sizeof(uint32_t) + columns * sizeof(int64_t);
    return f->in->ncompared > 0 ? row * copies(f->p) : row + 2 * sizeof(uint32_t);
}

/* Rows that are kept of some: of equal groups and keys one. */
static double rows_kept(const Feed *f, double rows, double keys, double groups)
{
    return f->in->ncompared > 0 ? rows : fmin(rows, keys * groups);
}

static double side_bytes(const ContractParts *p, const Feed *f)
{
    return rows_kept(f, (double)f->rows, (double)p->inputs[0].keys.domain, f->groups) * row_bytes(f);
}

/* Of a pair of groups in a block's array. */
static double pair_bytes(const ContractParts *p)
{
    return sizeof(uint64_t) + p->spec.nproducts * sizeof(int128);
}

/* By the limit, and by running an input. */
static double bytes_left(const ContractParts *p)
{
    size_t limit = atomic_load(&p->x->env->mem->limit), used = atomic_load(&p->x->env->mem->used);
    size_t reading = p->feeds[0].reading > p->feeds[1].reading ? p->feeds[0].reading : p->feeds[1].reading;
    if (limit == 0) return INFINITY;
    return limit > used + reading ? (double)(limit - used - reading) : 0;
}

/* Of the rows in a range of keys, of so many groups. */
static double range_bytes(const ContractParts *p, uint64_t range, const double groups[2])
{
    double keys = (double)p->feeds[0].key_width, bytes = KEY_BYTES * keys;
    for (uint32_t s = 0; s < 2; s++) {
        const Feed *f = &p->feeds[s];
        double rows = (double)f->key_rows[range] * groups[s] / f->groups;
        bytes += rows_kept(f, rows, keys, groups[s]) * row_bytes(f);
    }
    return bytes;
}

/* Ranges of keys of so many bytes, for blocks of so many groups. */
static tcudb_status cut_keys(ContractParts *p, double room, const double groups[2], Error *err)
{
    Cuts *c = &p->cuts;
    uint64_t keys = p->inputs[0].keys.domain, width = p->feeds[0].key_width, ranges = (keys + width - 1) / width;
    double bytes = 0;
    TRY_PTR(c->keys = exec_alloc(p->x, sizeof *c->keys * (ranges + 2), err));
    c->nkeys = 0;
    c->keys[0] = 0;
    for (uint64_t r = 0; r < ranges; r++) {
        double more = range_bytes(p, r, groups);
        if (bytes > 0 && bytes + more > room) {
            c->keys[++c->nkeys] = (uint32_t)(r * width);
            bytes = 0;
        }
        bytes += more;
    }
    c->keys[++c->nkeys] = (uint32_t)keys;
    return TCUDB_OK;
}

/* Blocks of a side's groups of at most so many rows and groups, one group at least. */
static tcudb_status cut_groups(ContractParts *p, uint32_t s, double rows, double groups, Error *err)
{
    const Feed *f = &p->feeds[s];
    Cuts *c = &p->cuts;
    double here = 0;
    TRY_PTR(c->groups[s] = exec_alloc(p->x, sizeof *c->groups[s] * ((size_t)f->groups + 2), err));
    c->ngroups[s] = 0;
    c->groups[s][0] = 0;
    for (uint32_t g = 0; g < f->groups; g++) {
        bool full = here + f->rows_of[g] > rows || g - c->groups[s][c->ngroups[s]] >= groups;
        if (g > c->groups[s][c->ngroups[s]] && full) {
            c->groups[s][++c->ngroups[s]] = g;
            here = 0;
        }
        here += f->rows_of[g];
    }
    c->groups[s][++c->ngroups[s]] = f->groups;
    return TCUDB_OK;
}

/* Groups of each side of a block whose pairs' sums fit: all of the smaller side if they may be. */
static void block_shape(const ContractParts *p, double room, double groups[2])
{
    double pairs = fmax(floor(room / pair_bytes(p)), 1);
    uint32_t small = p->feeds[0].groups < p->feeds[1].groups ? 0 : 1;
    groups[small] = fmin(p->feeds[small].groups, fmax(1, sqrt(pairs)));
    if (p->feeds[small].groups <= pairs / 2) groups[small] = p->feeds[small].groups;
    groups[1 - small] = fmax(1, floor(pairs / groups[small]));
}

/* A part of what there is to read, in slices of the compared values where there are no keys to cut by. */
static tcudb_status cut_rows(ContractParts *p, double room, const double groups[2], Error *err)
{
    Cuts *c = &p->cuts;
    bool compared = p->node->plan->contract.range.n > 0;
    c->nslices[0] = c->nslices[1] = 1;
    if (!compared || p->inputs[0].keys.domain > 1) return cut_keys(p, room, groups, err);
    TRY(cut_keys(p, INFINITY, groups, err));
    for (uint32_t s = 0; s < 2; s++) {
        double bytes = side_bytes(p, &p->feeds[s]) * groups[s] / p->feeds[s].groups;
        c->nslices[s] = (uint32_t)fmin(fmax(ceil(bytes / (room / 2)), 1), 1024);
    }
    return TCUDB_OK;
}

/* Reads of the inputs' rows that blocks without arrays need: all keys, and half of the room for each side. */
static double block_reads(const ContractParts *p, double room)
{
    double keys = KEY_BYTES * (double)p->inputs[0].keys.domain, n[2];
    if (keys > room / 2) return INFINITY;
    for (uint32_t s = 0; s < 2; s++) n[s] = fmax(ceil(side_bytes(p, &p->feeds[s]) / (room / 4)), 1);
    return n[0] * n[1];
}

static tcudb_status cut_blocks(ContractParts *p, double left, Error *err)
{
    double room = left / 3, groups[2];
    block_shape(p, room, groups);
    double blocks = ceil(p->feeds[0].groups / groups[0]) * ceil(p->feeds[1].groups / groups[1]);
    double all =
        side_bytes(p, &p->feeds[0]) + side_bytes(p, &p->feeds[1]) + KEY_BYTES * (double)p->inputs[0].keys.domain;
    double parts = blocks * fmax(ceil(all / blocks / room), 1);
    if (block_reads(p, room) <= parts) {
        for (uint32_t s = 0; s < 2; s++) TRY(cut_groups(p, s, room / 4 / row_bytes(&p->feeds[s]), INFINITY, err));
        p->cuts.nslices[0] = p->cuts.nslices[1] = 1;
        return cut_keys(p, INFINITY, groups, err);
    }
    for (uint32_t s = 0; s < 2; s++) TRY(cut_groups(p, s, INFINITY, groups[s], err));
    return cut_rows(p, room, groups, err);
}

/* What a part takes however little it has: the workers' first cells and rows of output. */
static double least_bytes(const ContractParts *p)
{
    double bytes = pair_bytes(p) + KEY_BYTES * (double)p->feeds[0].key_width;
    double output = BATCH_ROWS * (2 * sizeof(uint32_t) + 2 * sizeof(uint64_t) + p->spec.nproducts * sizeof(int128));
    for (uint32_t s = 0; s < 2; s++)
        bytes += p->x->nworkers * (CELL_RUN * row_bytes(&p->feeds[s]) + CELL_SLOTS * sizeof(uint32_t));
    return bytes + 2 * output * p->x->nworkers;
}

/* A block's sums, or one of its parts, do not fit. */
static tcudb_status too_large(const ContractParts *p, double bytes, double left, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    error_detail(
        err,
        "A part of a matrix product (of %.0f and %.0f rows) needs %.0f bytes; tcudb.memory_limit is %zu bytes and "
        "leaves %.0f.",
        (double)p->feeds[0].rows, (double)p->feeds[1].rows, bytes, atomic_load(&p->x->env->mem->limit), left);
    error_hint(err, "Raise tcudb.memory_limit, or SET tcudb.contraction = off.");
    return status;
}

static tcudb_status too_many(double parts, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    error_detail(err, "A matrix product would read its inputs again for each of %.0f parts; %d are allowed.", parts,
                 MOST_PARTS);
    error_hint(err, "Raise tcudb.memory_limit, or SET tcudb.contraction = off.");
    return status;
}

tcudb_status cuts_make(ContractParts *p, Error *err)
{
    const Cuts *c = &p->cuts;
    double left = bytes_left(p), dense = (double)p->feeds[0].groups * p->feeds[1].groups * pair_bytes(p);
    double least = least_bytes(p);
    if (least > left / 2) return too_large(p, 2 * least, left, err);
    if (dense > left / 3) {
        TRY(cut_blocks(p, left, err));
    } else {
        const double groups[2] = {p->feeds[0].groups, p->feeds[1].groups};
        for (uint32_t s = 0; s < 2; s++) TRY(cut_groups(p, s, INFINITY, INFINITY, err));
        TRY(cut_rows(p, (left - dense) / 3, groups, err));
    }
    double parts = (double)c->ngroups[0] * c->ngroups[1] * c->nkeys * c->nslices[0] * c->nslices[1];
    return parts > MOST_PARTS ? too_many(parts, err) : TCUDB_OK;
}
