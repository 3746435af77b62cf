/*
 * scan_order.c: which segments a scan reads first when a sort with a limit bounds it (topn.c).
 *
 * The bound moves towards the front only when rows come that lie there. Segments are read by their exact bounds, the
 * most promising first: by ascending minimum, or for DESC by descending maximum. Then after one segment or two the
 * bound is near its last place and the zone maps skip the rest, which in an ascending column ORDER BY ... DESC would
 * else read to the last row. Segments that hold NULLs come first if NULLs do.
 * The order depends on the data only, so results do not depend on the number of workers. Cost: a sort of segments.
 */
#include "exec/cpu/scan_int.h"

#include <stdlib.h>

typedef struct Place {
    int64_t key;
    uint32_t segment;
} Place;

static int by_key(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static bool bounds_of(const SegColumn *seg, const ScanPred *pred, int64_t *min, int64_t *max)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t least, most;
    if (pred->heads.count == 0)
        return seg->has_bounds && scan_bound_int(&seg->min, min) && scan_bound_int(&seg->max, max);
    if (!scan_head_bounds(&pred->heads, seg, &least, &most)) return false;
    *min = (int64_t)(least ^ sign);
    *max = (int64_t)(most ^ sign);
    return true;
}

static int64_t key_of(const SegColumn *seg, const ScanPred *pred)
{
    const SortBound *bound = pred->semi->bound;
    int64_t min, max;
    if (seg == NULL) return INT64_MAX;
    if (bound->nulls_first && seg->nulls > 0) return INT64_MIN;
    if (!bounds_of(seg, pred, &min, &max)) return INT64_MAX;
    return bound->descending ? ~max : min;
}

tcudb_status scan_order(Scan *s, uint32_t segments, Error *err)
{
    const ScanPred *pred = NULL;
    for (uint32_t i = 0; i < s->npreds && pred == NULL; i++)
        if (s->preds[i].kind == PRED_BOUND) pred = &s->preds[i];
    if (pred == NULL || segments < 2 || s->plan->scan.columns[pred->cols[0]] == ROWID_COLUMN) return TCUDB_OK;
    Place *places = ARENA_ARRAY(&s->x->arena, Place, segments, err);
    TRY_PTR(places);
    s->order = ARENA_ARRAY(&s->x->arena, uint32_t, segments, err);
    TRY_PTR(s->order);
    for (uint32_t i = 0; i < segments; i++) {
        const SegColumn *seg = segment_column(s->plan->scan.table, i, s->plan->scan.columns[pred->cols[0]]);
        places[i] = (Place){key_of(seg, pred), i};
    }
    qsort(places, segments, sizeof *places, by_key);
    for (uint32_t i = 0; i < segments; i++) s->order[i] = places[i].segment;
    return TCUDB_OK;
}
