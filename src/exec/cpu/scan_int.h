/*
 * scan_int.h: between op_scan.c and scan_pred.c, the conditions of a scan.
 */
#ifndef EXEC_CPU_SCAN_INT_H
#define EXEC_CPU_SCAN_INT_H

#include "exec/exec_int.h"

typedef enum PredKind {
    PRED_RANGE, /* lo <= column <= hi */
    PRED_BOUND, /* column not beyond the bound of a sort */
    PRED_SEMI,  /* column in a join's bitmap */
    PRED_CODES, /* text column's code in a bitmap; ev where it comes without codes */
    PRED_TEXTS, /* text column in a range of texts */
    PRED_EXPR   /* anything else */
} PredKind;

/* Texts between two, by their heads where those differ. */
typedef struct TextRange {
    bool has_lo, has_hi, with_lo, with_hi;
    Str lo, hi;
    uint64_t lo_head, hi_head; /* without a bound: of the least, of the greatest text */
} TextRange;

typedef struct ScanPred {
    PredKind kind;
    uint32_t ncols;
    uint32_t *cols; /* of the scan's output */
    int64_t lo, hi;
    const SemiBits *semi;
    TextRange texts;
    HeadView heads; /* of the text column, for PRED_TEXTS and PRED_BOUND; count 0: there are none */
    Ev ev;
} ScanPred;

typedef struct ScanPending ScanPending;

typedef struct Scan {
    Exec *x;
    PhysNode *node;
    const Plan *plan;
    Stage *down;
    uint32_t parts; /* tasks a segment */
    uint32_t npreds;
    ScanPred *preds;
    ScanPending **pending; /* by worker */
    uint32_t *order;       /* segments in the order they are read; NULL: as they are stored */
} Scan;

typedef struct ScanBatch {
    const Scan *scan;
    Worker *w;
    uint32_t segment, row;
    Batch batch;
    uint16_t *sel; /* room for the live rows */
    bool *loaded;  /* by output column */
} ScanBatch;

/* scan_pending.c: sends the batch's rows up, now or gathered with those of later blocks. */
tcudb_status scan_emit(ScanBatch *b, Error *err) MUST_CHECK;
/* Sends what is gathered; at the end of a task. */
tcudb_status scan_flush(const Scan *s, Worker *w, Error *err) MUST_CHECK;

/* Makes the conditions of the plan node, cheapest first. */
tcudb_status scan_preds(Scan *s, Error *err) MUST_CHECK;
/* scan_texts.c: `column = text` and `column IN (texts)` as a set of the dictionary's codes; *taken false: e is neither.
 */
tcudb_status scan_texts(Scan *s, const Layout *layout, Expr *e, bool *taken, Error *err) MUST_CHECK;
/* scan_ranges.c: a condition that a text column lies in a range, as part of the column's PRED_TEXTS. *taken: nothing of
 * e is left to test. */
tcudb_status scan_text_range(Scan *s, const Layout *layout, const Expr *e, bool *taken, Error *err) MUST_CHECK;
/* Heads of a text column; count 0 where there is no room for them. */
tcudb_status scan_heads(const Scan *s, uint32_t col, HeadView *out, Error *err) MUST_CHECK;
/* The least and the greatest head of a segment's texts; false: not known. */
bool scan_head_bounds(const HeadView *heads, const SegColumn *seg, uint64_t *min, uint64_t *max);
/* Of a segment whose heads lie within [min, max]: some rows pass, all rows pass. */
void scan_text_bounds(const TextRange *texts, uint64_t min, uint64_t max, bool *some, bool *all);
uint32_t scan_text_rows(const Batch *batch, const Vector *v, const ScanPred *pred, uint16_t *out);
/* Rows whose head, as SortBound.last has it, lies within [lo, hi]. NULLs are left in. */
uint32_t scan_bound_heads(const Batch *batch, const Vector *v, const HeadView *heads, int64_t lo, int64_t hi,
                          uint16_t *out);
/* A text column of the scan, and whether e is one: scan_texts.c. */
bool scan_text_column(const Scan *s, const Layout *layout, const Expr *e, uint32_t *col);
/* The text that e always is; false: it is none, or NULL. */
bool scan_text_const(const Scan *s, const Expr *e, Str *out);
/* column OP constant as a range of the column's integers; false: e is something else. */
bool scan_int_range(const Scan *s, const Layout *layout, const Expr *e, uint32_t *col, int64_t *lo, int64_t *hi);
/* The column lies in the range, too. */
tcudb_status scan_add_range(Scan *s, uint32_t col, int64_t lo, int64_t hi, Error *err) MUST_CHECK;
/* scan_or.c: adds the ranges that an OR keeps columns in (at most so many), which stays to be tested. */
tcudb_status scan_or_ranges(Scan *s, const Layout *layout, const Expr *e, Error *err) MUST_CHECK;
uint32_t scan_or_most(const Expr *e);
/* One more condition on a column, without bounds yet. */
tcudb_status scan_new_pred(Scan *s, PredKind kind, uint32_t col, ScanPred **out, Error *err) MUST_CHECK;
/* skip[i]: every row of the segment passes condition i. *any false: no row passes. */
tcudb_status scan_prune(const Scan *s, uint32_t segment, bool *skip, bool *any, Error *err) MUST_CHECK;
/* scan_order.c: sets s->order where a sort bounds the scan. */
tcudb_status scan_order(Scan *s, uint32_t segments, Error *err) MUST_CHECK;
/* A segment's bound as an integer; false: it is none. */
bool scan_bound_int(const Value *v, int64_t *out);
/* Decodes an output column at the live rows, once. */
tcudb_status scan_load(ScanBatch *b, uint32_t col, Error *err) MUST_CHECK;
uint32_t scan_bound(const Batch *batch, const Vector *v, const ScanPred *pred, uint16_t *out);
uint32_t scan_range(const Batch *batch, const Vector *v, const ScanPred *pred, uint16_t *out);
tcudb_status scan_semi(ScanBatch *b, const ScanPred *pred, uint32_t *n, Error *err) MUST_CHECK;
tcudb_status scan_codes(ScanBatch *b, ScanPred *pred, uint32_t *n, Error *err) MUST_CHECK;

/* scan_simd.c: rows (of sel, or 0..n-1) whose value passes; out has room for n + 16 and may be sel. */
bool scan_simd_ready(void);
uint32_t scan_range_512(const int32_t *data, const uint16_t *sel, uint32_t n, int32_t lo, int32_t hi, uint16_t *out);
uint32_t scan_heads_512(const HeadBlock *const *blocks, const uint32_t *codes, const uint16_t *sel, uint32_t n,
                        uint64_t lo, uint64_t hi, uint16_t *out);
uint32_t scan_bits_512(const int32_t *data, const uint16_t *sel, uint32_t n, const SemiBits *bits, uint16_t *out);

#endif
