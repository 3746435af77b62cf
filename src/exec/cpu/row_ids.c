/*
 * row_ids.c: the rows that a statement changes, from the ids that its input names: each once, ascending.
 *
 * A scan yields ids in order, and then they are taken as they lie. After a join they come in any order, and may repeat:
 * a stable radix sort, skipping digits in which all agree, keeps the first of each, as PostgreSQL takes the first
 * match. Cost: 32 bytes an id while sorting, 12 after; six passes at worst, interrupted within POLL_ROWS rows.
 */
#include "exec/cpu/modify_int.h"

enum { DIGIT = 11, DIGITS = 1 << DIGIT, POLL_ROWS = 65536 };

typedef struct IdRow {
    uint64_t id, row;
} IdRow;

static tcudb_status sort_pass(Exec *x, const IdRow *from, IdRow *to, uint64_t n, uint32_t shift, Error *err)
{
    uint64_t starts[DIGITS + 1] = {0};
    for (uint64_t i = 0; i < n; i++) starts[(from[i].id >> shift) % DIGITS + 1]++;
    for (uint32_t d = 0; d < DIGITS; d++) starts[d + 1] += starts[d];
    for (uint64_t i = 0; i < n; i++) {
        if (i % POLL_ROWS == 0) TRY(exec_check_cancel(x, err));
        to[starts[(from[i].id >> shift) % DIGITS]++] = from[i];
    }
    return TCUDB_OK;
}

/* Sorts by id; *pairs and *scratch may change places. */
static tcudb_status sort_pairs(Exec *x, IdRow **pairs, IdRow **scratch, uint64_t n, Error *err)
{
    uint64_t differ = 0;
    for (uint64_t i = 1; i < n; i++) differ |= (*pairs)[i].id ^ (*pairs)[i - 1].id;
    for (uint32_t shift = 0; shift < 64; shift += DIGIT) {
        if ((differ >> shift) % DIGITS == 0) continue;
        TRY(sort_pass(x, *pairs, *scratch, n, shift, err));
        IdRow *swap = *pairs;
        *pairs = *scratch;
        *scratch = swap;
    }
    return TCUDB_OK;
}

static bool ascending(const uint64_t *ids, uint64_t n)
{
    uint64_t disorder = 0;
    for (uint64_t i = 1; i < n; i++) disorder += ids[i] <= ids[i - 1];
    return disorder == 0;
}

static tcudb_status sorted(Exec *x, const uint64_t *ids, const uint32_t *order, uint64_t n, IdRow **out, Error *err)
{
    IdRow *pairs = exec_alloc(x, (n + 1) * sizeof *pairs, err);
    TRY_PTR(pairs);
    IdRow *scratch = exec_alloc(x, (n + 1) * sizeof *scratch, err);
    TRY_PTR(scratch);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = order == NULL ? i : order[i];
        pairs[i] = (IdRow){ids[row], row};
    }
    TRY(sort_pairs(x, &pairs, &scratch, n, err));
    exec_free(x, scratch);
    *out = pairs;
    return TCUDB_OK;
}

tcudb_status row_ids_new(Exec *x, const uint64_t *ids, const uint32_t *order, uint64_t n, RowIds *out, Error *err)
{
    *out = (RowIds){.n = n, .ids = ids};
    if (order == NULL && ascending(ids, n)) return TCUDB_OK;
    IdRow *pairs = NULL;
    TRY(sorted(x, ids, order, n, &pairs, err));
    *out = (RowIds){.own = exec_alloc(x, (n + 1) * sizeof *out->own, err)};
    TRY_PTR(out->own);
    out->rows = exec_alloc(x, (n + 1) * sizeof *out->rows, err);
    TRY_PTR(out->rows);
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0 && pairs[i].id == pairs[i - 1].id) continue;
        out->own[out->n] = pairs[i].id;
        out->rows[out->n++] = (uint32_t)pairs[i].row;
    }
    out->ids = out->own;
    exec_free(x, pairs);
    return TCUDB_OK;
}

void row_ids_free(Exec *x, RowIds *ids)
{
    if (ids->own != NULL) exec_free(x, ids->own);
    if (ids->rows != NULL) exec_free(x, ids->rows);
}
