/*
 * scan_ranges.c: conditions that a text column lies between two texts: <, <=, >, >=, and LIKE 'start%'.
 *
 * 'start%' is from 'start' to before 'staru'. All that is asked of one column is one range. It is tested by the texts'
 * heads (store.h), eight bytes each; only texts whose head is that of an end are looked at. Where codes run in order,
 * as they do where each text stands in one row, the bounds of blocks of codes leave out whole segments and batches of
 * rows. A pattern that goes on behind its first % stays a condition of its own, for the rows that are left.
 */
#include "exec/cpu/scan_int.h"

#include "base/hot.h"

#include <assert.h>

enum { SPAN_BLOCKS = 16 }; /* codes of a batch that span more blocks are tested one by one */

/* ---- recognising ------------------------------------------------------------------------------------------ */

static void set_lo(TextRange *r, Str text, bool with)
{
    int order = r->has_lo ? str_compare(text, r->lo) : 1;
    if (order < 0 || (order == 0 && with)) return;
    r->has_lo = true;
    r->lo = text;
    r->with_lo = with;
    r->lo_head = str_head(text);
}

static void set_hi(TextRange *r, Str text, bool with)
{
    int order = r->has_hi ? str_compare(text, r->hi) : -1;
    if (order > 0 || (order == 0 && with)) return;
    r->has_hi = true;
    r->hi = text;
    r->with_hi = with;
    r->hi_head = str_head(text);
}

static TextRange everything(void)
{
    return (TextRange){.hi_head = UINT64_MAX};
}

/* The bytes with which all texts begin that match the pattern. *whole: and all that begin so match. False: none, or the
 * pattern is in error. */
static bool pattern_start(Arena *arena, Str pattern, Str *start, bool *whole)
{
    char *bytes = arena_alloc_raw(arena, pattern.len + 1, NULL);
    uint32_t n = 0, i = 0;
    if (bytes == NULL) return false;
    for (; i < pattern.len && pattern.ptr[i] != '%' && pattern.ptr[i] != '_'; i++) {
        if (pattern.ptr[i] == '\\' && ++i == pattern.len) return false;
        bytes[n++] = pattern.ptr[i];
    }
    *start = (Str){bytes, n};
    *whole = i < pattern.len && pattern.ptr[i] == '%' && i + 1 == pattern.len;
    return n > 0;
}

/* The least text above all that begin with `start`; false: there is none. */
static bool next_start(Arena *arena, Str start, Str *out)
{
    char *bytes = arena_strndup(arena, start.ptr, start.len, NULL);
    uint32_t n = start.len;
    if (bytes == NULL) return false;
    while (n > 0 && (unsigned char)bytes[n - 1] == 0xff) n--;
    if (n == 0) return false;
    bytes[n - 1]++;
    *out = (Str){bytes, n};
    return true;
}

static bool like_range(const Scan *s, Str pattern, TextRange *r, bool *whole)
{
    Str start, next;
    if (!pattern_start(&s->x->arena, pattern, &start, whole) || !next_start(&s->x->arena, start, &next)) return false;
    set_lo(r, start, true);
    set_hi(r, next, false);
    return true;
}

static bool compare_range(FuncCompare compare, Str text, TextRange *r)
{
    switch (compare) {
    case CMP_LT: set_hi(r, text, false); return true;
    case CMP_LE: set_hi(r, text, true); return true;
    case CMP_GT: set_lo(r, text, false); return true;
    case CMP_GE: set_lo(r, text, true); return true;
    default: return false;
    }
}

static bool match(const Scan *s, const Layout *layout, const Expr *e, uint32_t *col, TextRange *r, bool *whole)
{
    Str text;
    *whole = true;
    if (e->kind != EXPR_FUNC || e->nargs != 2) return false;
    bool first = scan_text_column(s, layout, e->args[0], col);
    if (!first && !scan_text_column(s, layout, e->args[1], col)) return false;
    if (!scan_text_const(s, e->args[first], &text)) return false;
    if (first && e->func->kind == FUNC_OPERATOR && strcmp(e->func->name, "~~") == 0)
        return like_range(s, text, r, whole);
    return compare_range(first ? e->func->compare : compare_swapped(e->func->compare), text, r);
}

/* ---- building --------------------------------------------------------------------------------------------- */

tcudb_status scan_heads(const Scan *s, uint32_t col, HeadView *out, Error *err)
{
    Error none = {0};
    *out = (HeadView){0};
    tcudb_status status = table_heads(s->plan->scan.table, s->plan->scan.columns[col], s->x->env->cancel, out, &none);
    if (status == TCUDB_OK) return TCUDB_OK;
    *out = (HeadView){0};
    if (status == TCUDB_NOMEM) return TCUDB_OK;
    if (err != NULL) *err = none;
    return status;
}

static ScanPred *texts_on(Scan *s, uint32_t col)
{
    for (uint32_t i = 0; i < s->npreds; i++)
        if (s->preds[i].kind == PRED_TEXTS && s->preds[i].cols[0] == col) return &s->preds[i];
    return NULL;
}

tcudb_status scan_text_range(Scan *s, const Layout *layout, const Expr *e, bool *taken, Error *err)
{
    TextRange range = everything();
    uint32_t col;
    bool whole;
    *taken = false;
    if (!match(s, layout, e, &col, &range, &whole)) return TCUDB_OK;
    ScanPred *pred = texts_on(s, col);
    if (pred == NULL) {
        HeadView heads;
        TRY(scan_heads(s, col, &heads, err));
        if (heads.count == 0) return TCUDB_OK;
        TRY(scan_new_pred(s, PRED_TEXTS, col, &pred, err));
        pred->heads = heads;
        pred->texts = everything();
    }
    if (range.has_lo) set_lo(&pred->texts, range.lo, range.with_lo);
    if (range.has_hi) set_hi(&pred->texts, range.hi, range.with_hi);
    *taken = whole;
    return TCUDB_OK;
}

/* ---- segments --------------------------------------------------------------------------------------------- */

bool scan_head_bounds(const HeadView *heads, const SegColumn *seg, uint64_t *min, uint64_t *max)
{
    if (heads->count == 0 || !seg->has_bounds) return false;
    assert(seg->min.i64 <= seg->max.i64 && (uint64_t)seg->max.i64 < heads->count);
    heads_bounds(heads, (uint32_t)seg->min.i64, (uint32_t)seg->max.i64, min, max);
    return true;
}

void scan_text_bounds(const TextRange *r, uint64_t min, uint64_t max, bool *some, bool *all)
{
    *some = max >= r->lo_head && min <= r->hi_head;
    *all = (!r->has_lo || min > r->lo_head) && (!r->has_hi || max < r->hi_head);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static bool between(const TextRange *r, Str text)
{
    int lo = r->has_lo ? str_compare(text, r->lo) : 1, hi = r->has_hi ? str_compare(text, r->hi) : -1;
    return (lo > 0 || (lo == 0 && r->with_lo)) && (hi < 0 || (hi == 0 && r->with_hi));
}

/* Live rows that are not NULL. */
static uint32_t known_rows(const Batch *batch, const Vector *v, uint16_t *out)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        out[k] = (uint16_t)row;
        k += !vec_is_null(v, row);
    }
    return k;
}

static HOT void span_of_all(const uint32_t *codes, uint32_t n, uint32_t *least, uint32_t *most)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t i = 0; i < n; i++) {
        low = codes[i] < low ? codes[i] : low;
        high = codes[i] > high ? codes[i] : high;
    }
    *least = low;
    *most = high;
}

static void span_of(const uint32_t *codes, const uint16_t *sel, uint32_t n, uint32_t *least, uint32_t *most)
{
    *least = UINT32_MAX;
    *most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t code = codes[sel[i]];
        if (code < *least) *least = code;
        if (code > *most) *most = code;
    }
}

/* Heads of the codes at these rows lie within [min, max]; false: they are not worth asking for. */
static bool batch_bounds(const HeadView *heads, const uint32_t *codes, const uint16_t *sel, uint32_t n, uint64_t *min,
                         uint64_t *max)
{
    uint32_t least, most;
    if (n == 0) return false;
    if (sel == NULL)
        span_of_all(codes, n, &least, &most);
    else
        span_of(codes, sel, n, &least, &most);
    if (most / HEAD_BLOCK - least / HEAD_BLOCK >= SPAN_BLOCKS) return false;
    heads_bounds(heads, least, most, min, max);
    return true;
}

/* Rows (of sel, which may be out, or 0..n-1) whose head lies within [lo, hi]. */
static uint32_t rows_by_head(const HeadView *heads, const uint32_t *codes, const uint16_t *sel, uint32_t n, uint64_t lo,
                             uint64_t hi, uint16_t *out)
{
    uint32_t k = 0;
    if (scan_simd_ready()) return scan_heads_512(heads->blocks, codes, sel, n, lo, hi, out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel_row(sel, i);
        uint64_t head = head_at(heads, codes[row]);
        out[k] = (uint16_t)row;
        k += head >= lo && head <= hi;
    }
    return k;
}

static uint32_t coded_rows(const TextRange *r, const HeadView *heads, const Vector *v, const uint16_t *sel, uint32_t n,
                           uint16_t *out)
{
    const uint32_t *codes = v->data;
    uint32_t few = rows_by_head(heads, codes, sel, n, r->lo_head, r->hi_head, out), k = 0;
    for (uint32_t i = 0; i < few; i++) {
        uint16_t row = out[i];
        uint64_t head = head_at(heads, codes[row]);
        bool at_end = head == r->lo_head || head == r->hi_head;
        out[k] = row;
        k += !at_end || between(r, v->values[codes[row]]);
    }
    return k;
}

uint32_t scan_text_rows(const Batch *batch, const Vector *v, const ScanPred *pred, uint16_t *out)
{
    const TextRange *r = &pred->texts;
    uint64_t min, max;
    uint32_t n = known_rows(batch, v, out), k = 0;
    if (v->form == VEC_CONST) return n > 0 && between(r, *(const Str *)v->data) ? n : 0;
    if (v->form == VEC_FLAT) {
        for (uint32_t i = 0; i < n; i++) {
            uint16_t row = out[i];
            out[k] = row;
            k += between(r, ((const Str *)v->data)[row]);
        }
        return k;
    }
    const uint16_t *sel = n == batch->rows ? NULL : out;
    if (batch_bounds(&pred->heads, v->data, sel, n, &min, &max)) {
        bool some, all;
        scan_text_bounds(r, min, max, &some, &all);
        if (all || !some) return all ? n : 0;
    }
    return coded_rows(r, &pred->heads, v, sel, n, out);
}

uint32_t scan_bound_heads(const Batch *batch, const Vector *v, const HeadView *heads, int64_t lo, int64_t hi,
                          uint16_t *out)
{
    const uint64_t sign = UINT64_C(1) << 63, least = (uint64_t)lo ^ sign, most = (uint64_t)hi ^ sign;
    const uint32_t *codes = v->data;
    uint64_t min, max;
    uint32_t k = 0;
    if (v->valid == NULL) {
        bool known = batch_bounds(heads, codes, batch->sel, batch->n, &min, &max);
        if (known && (max < least || min > most)) return 0;
        return rows_by_head(heads, codes, batch->sel, batch->n, least, most, out);
    }
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        uint64_t head = head_at(heads, codes[row]);
        out[k] = (uint16_t)row;
        k += (head >= least && head <= most) || vec_is_null(v, row);
    }
    return k;
}
