/*
 * ranks.c: compared keys that are no 64-bit integers (text, wide and unlimited decimals) as their ranks among all.
 *
 *     a.t < b.t    'pear', 'fig' | 'fig', 'plum'    ->    1, 0 | 0, 2
 *
 * ranges.c compares integers. The values of all compared columns of both sides are sorted together, and each is
 * replaced by the number of smaller ones, equal ones alike. Of text with a dictionary its entries are sorted, not the
 * rows. Cost: n log n comparisons of n values or entries, on one core, interruptible; 64 bytes each while it sorts.
 */
#include "exec/tcu/contract_int.h"
#include "type/num.h"

#include <assert.h>

typedef struct Item {
    union {
        Str text;
        Num num;
    };
    int64_t *rank; /* where it goes */
} Item;

typedef struct Ranking {
    Exec *x;
    Item *items, *spare;
    uint64_t n;
    bool text;
} Ranking;

enum { POLL_ITEMS = 16384 };

static uint64_t column_items(const RowsCol *col, uint64_t rows)
{
    return col->dict ? col->view.count : rows;
}

static Num num_at(const RowsCol *col, uint64_t row)
{
    if (col->phys == PHYS_NUM) return ((const Num *)col->data)[row];
    return (Num){.value = ((const int128 *)col->data)[row], .scale = col->type.scale, .kind = NUM_FINITE};
}

static void add_column(Ranking *r, const RowsCol *col, uint64_t rows, int64_t *ranks)
{
    uint64_t n = column_items(col, rows);
    for (uint64_t i = 0; i < n; i++) {
        Item *item = &r->items[r->n];
        if (!col->dict && col->valid != NULL && !bit_get(col->valid, i)) continue;
        item->rank = &ranks[i];
        if (!r->text)
            item->num = num_at(col, i);
        else
            item->text = col->dict ? col->view.values[i] : ((const Str *)col->data)[i];
        r->n++;
    }
}

static int compare(const Ranking *r, const Item *a, const Item *b)
{
    return r->text ? str_compare(a->text, b->text) : num_compare(a->num, b->num);
}

/* [from, middle) and [middle, to), each sorted, into the spare. */
static void merge(Ranking *r, uint64_t from, uint64_t middle, uint64_t to)
{
    uint64_t a = from, b = middle;
    for (uint64_t at = from; at < to; at++) {
        bool first = b >= to || (a < middle && compare(r, &r->items[a], &r->items[b]) <= 0);
        r->spare[at] = first ? r->items[a++] : r->items[b++];
    }
}

static tcudb_status sort_items(Ranking *r, Error *err)
{
    uint64_t done = 0;
    for (uint64_t run = 1; run < r->n; run *= 2) {
        for (uint64_t from = 0; from < r->n; from += 2 * run) {
            uint64_t middle = from + run < r->n ? from + run : r->n;
            uint64_t to = middle + run < r->n ? middle + run : r->n;
            merge(r, from, middle, to);
            done += to - from;
            if (done < POLL_ITEMS) continue;
            TRY(exec_check_cancel(r->x, err));
            done = 0;
        }
        Item *sorted = r->spare;
        r->spare = r->items;
        r->items = sorted;
    }
    return TCUDB_OK;
}

static tcudb_status rank_items(Ranking *r, Error *err)
{
    TRY(sort_items(r, err));
    int64_t rank = 0;
    for (uint64_t i = 0; i < r->n; i++) {
        rank += i > 0 && compare(r, &r->items[i - 1], &r->items[i]) != 0;
        *r->items[i].rank = rank;
    }
    return TCUDB_OK;
}

static const RowsCol *compared_column(const Input *in, uint32_t c)
{
    return &in->rows->cols[in->ncols - in->ncompared + c];
}

bool ranks_needed(const Input *in)
{
    for (uint32_t c = 0; c < in->ncompared; c++) {
        uint8_t phys = (uint8_t)type_phys(in->cols[in->ncols - in->ncompared + c].type);
        if (phys == PHYS_STR || phys == PHYS_I128 || phys == PHYS_NUM) return true;
    }
    return false;
}

/* All compared columns share the point's type, so all are of one kind. */
tcudb_status ranks_make(Exec *x, Input inputs[2], Error *err)
{
    if (!ranks_needed(&inputs[0])) return TCUDB_OK;
    Ranking r = {.x = x,
                 .text = compared_column(&inputs[0], 0)->phys == PHYS_STR || compared_column(&inputs[0], 0)->dict};
    uint64_t most = 0;
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t c = 0; c < inputs[s].ncompared; c++)
            most += column_items(compared_column(&inputs[s], c), inputs[s].rows->n);
    TRY_PTR(r.items = exec_alloc(x, sizeof *r.items * (most + 1), err));
    TRY_PTR(r.spare = exec_alloc(x, sizeof *r.spare * (most + 1), err));
    for (uint32_t s = 0; s < 2; s++) {
        Input *in = &inputs[s];
        TRY_PTR(in->ranks = ARENA_ARRAY(&x->arena, int64_t *, in->ncompared + 1, err));
        for (uint32_t c = 0; c < in->ncompared; c++) {
            const RowsCol *col = compared_column(in, c);
            uint64_t n = column_items(col, in->rows->n);
            TRY_PTR(in->ranks[c] = exec_alloc_zero(x, sizeof(int64_t) * (n + 1), err));
            add_column(&r, col, in->rows->n, in->ranks[c]);
        }
    }
    assert(r.n <= most);
    TRY(rank_items(&r, err));
    exec_free(x, r.items);
    exec_free(x, r.spare);
    return TCUDB_OK;
}
