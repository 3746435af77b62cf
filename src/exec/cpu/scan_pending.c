/*
 * scan_pending.c: gathers the few rows that survive in each block into full batches.
 *
 * Selective scans leave a handful of rows per block of BATCH_ROWS; pushing each block by itself would cost
 * every operator above its fixed price per batch. Blocks with less than a quarter of their rows left are
 * copied, densely, to vectors of the worker; these are pushed when the next block might not fit, when a
 * block with many rows comes (order is kept) and at the end of the task.
 */
#include "exec/cpu/scan_int.h"

#include <assert.h>

enum { SPARSE = BATCH_ROWS / 4 };

struct ScanPending {
    Batch batch;
    bool *nulls; /* by column: a validity bitmap is in use */
    uint64_t **valid;
};

static tcudb_status pending_new(const Scan *s, Worker *w, ScanPending **out, Error *err)
{
    uint32_t ncols = s->plan->ncols;
    ScanPending *p = ARENA_NEW(&w->own, ScanPending, err);
    TRY_PTR(p);
    p->batch.ncols = ncols;
    p->batch.cols = ARENA_ARRAY(&w->own, Vector, ncols + 1, err);
    TRY_PTR(p->batch.cols);
    p->nulls = ARENA_ARRAY(&w->own, bool, ncols + 1, err);
    TRY_PTR(p->nulls);
    p->valid = ARENA_ARRAY(&w->own, uint64_t *, ncols + 1, err);
    TRY_PTR(p->valid);
    for (uint32_t c = 0; c < ncols; c++) {
        TRY(vec_new(&w->own, s->plan->cols[c].type, BATCH_ROWS, &p->batch.cols[c], err));
        p->valid[c] = ARENA_ARRAY(&w->own, uint64_t, BATCH_ROWS / 64, err);
        TRY_PTR(p->valid[c]);
    }
    *out = p;
    return TCUDB_OK;
}

#define COPY(T)                                                                                                        \
    do {                                                                                                               \
        T *to_rows = (T *)to->data + at;                                                                               \
        const T *from_rows = from->data;                                                                               \
        for (uint32_t i = 0; i < n; i++) to_rows[i] = from_rows[sel_row(sel, i) & step];                               \
    } while (0)

static void copy_column(Vector *to, uint32_t at, const Vector *from, const uint16_t *sel, uint32_t n)
{
    typedef struct Wide {
        uint64_t w[4];
    } Wide;
    uint32_t step = from->form == VEC_CONST ? 0 : UINT32_MAX;
    to->form = from->form == VEC_DICT ? VEC_DICT : VEC_FLAT;
    to->values = from->values;
    to->nvalues = from->nvalues;
    to->dict_id = from->dict_id;
    switch (from->form == VEC_DICT ? sizeof(uint32_t) : phys_size((Phys)from->phys)) {
    case 1: COPY(uint8_t); break;
    case 2: COPY(uint16_t); break;
    case 4: COPY(uint32_t); break;
    case 8: COPY(uint64_t); break;
    case 16: COPY(Str); break;
    case 32: COPY(Wide); break;
    default: assert(!"no such size");
    }
}

static void copy_nulls(ScanPending *p, uint32_t c, uint32_t at, const Vector *from, const uint16_t *sel, uint32_t n)
{
    uint64_t *valid = p->valid[c];
    if (from->valid == NULL && !p->nulls[c]) return;
    if (!p->nulls[c]) memset(valid, 0xff, BATCH_ROWS / 8);
    p->nulls[c] = true;
    p->batch.cols[c].valid = valid;
    for (uint32_t i = 0; i < n && from->valid != NULL; i++)
        if (vec_is_null(from, sel_row(sel, i))) bit_clear(valid, at + i);
}

tcudb_status scan_flush(const Scan *s, Worker *w, Error *err)
{
    ScanPending *p = s->pending[w->id];
    if (p == NULL || p->batch.n == 0) return TCUDB_OK;
    p->batch.rows = p->batch.n;
    tcudb_status status = stage_push(s->down, w, &p->batch, err);
    p->batch.n = 0;
    for (uint32_t c = 0; c < p->batch.ncols; c++) {
        p->nulls[c] = false;
        p->batch.cols[c].valid = NULL;
    }
    return status;
}

tcudb_status scan_emit(ScanBatch *b, Error *err)
{
    const Scan *s = b->scan;
    ScanPending **p = &s->pending[b->w->id];
    if (b->batch.n > SPARSE) {
        TRY(scan_flush(s, b->w, err));
        return stage_push(s->down, b->w, &b->batch, err);
    }
    if (*p == NULL) TRY(pending_new(s, b->w, p, err));
    uint32_t at = (*p)->batch.n, n = b->batch.n;
    assert(at + n <= BATCH_ROWS);
    for (uint32_t c = 0; c < b->batch.ncols; c++) {
        const Vector *from = &b->batch.cols[c];
        Vector *to = &(*p)->batch.cols[c];
        bool mixed = at > 0 && (to->form == VEC_DICT) != (from->form == VEC_DICT);
        if (mixed) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a column changes its form between segments");
        copy_column(to, at, from, b->batch.sel, n);
        copy_nulls(*p, c, at, from, b->batch.sel, n);
    }
    (*p)->batch.n = at + n;
    return at + n > BATCH_ROWS - SPARSE ? scan_flush(s, b->w, err) : TCUDB_OK;
}
