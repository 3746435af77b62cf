/*
 * colset.c: sets of columns as bitmaps over ids.
 *
 * Ids are dense in a statement (hundreds), so a set is a few words; it grows when a rule makes new
 * columns. Sets live in the statement's arena and are never freed singly.
 */
#include "opt/opt_int.h"

#include <assert.h>

static tcudb_status reserve(Opt *opt, ColSet *set, uint32_t nwords, Error *err)
{
    if (nwords <= set->nwords) return TCUDB_OK;
    if (nwords < 2 * set->nwords) nwords = 2 * set->nwords;
    uint64_t *grown = ARENA_ARRAY(opt->arena, uint64_t, nwords, err);
    TRY_PTR(grown);
    if (set->nwords > 0) memcpy(grown, set->words, set->nwords * sizeof *grown);
    set->words = grown;
    set->nwords = nwords;
    return TCUDB_OK;
}

tcudb_status colset_add(Opt *opt, ColSet *set, ColId id, Error *err)
{
    TRY(reserve(opt, set, id / 64 + 1, err));
    bit_set(set->words, id);
    return TCUDB_OK;
}

bool colset_has(const ColSet *set, ColId id)
{
    return id / 64 < set->nwords && bit_get(set->words, id);
}

void colset_remove(ColSet *set, ColId id)
{
    if (id / 64 < set->nwords) bit_clear(set->words, id);
}

tcudb_status colset_union(Opt *opt, ColSet *into, const ColSet *from, Error *err)
{
    TRY(opt_poll(opt, err));
    TRY(reserve(opt, into, from->nwords, err));
    assert(into->nwords >= from->nwords);
    for (uint32_t i = 0; i < from->nwords; i++) into->words[i] |= from->words[i];
    return TCUDB_OK;
}

bool colset_meets(const ColSet *a, const ColSet *b)
{
    for (uint32_t i = 0; i < a->nwords && i < b->nwords; i++)
        if ((a->words[i] & b->words[i]) != 0) return true;
    return false;
}

bool colset_within(const ColSet *a, const ColSet *b)
{
    for (uint32_t i = 0; i < a->nwords; i++) {
        uint64_t there = i < b->nwords ? b->words[i] : 0;
        if ((a->words[i] & ~there) != 0) return false;
    }
    return true;
}

typedef struct Collect {
    Opt *opt;
    ColSet *set;
    tcudb_status status;
    Error *err;
} Collect;

static bool collect_node(void *ctx, const Expr *e)
{
    Collect *c = ctx;
    if (e->kind == EXPR_COL) c->status = colset_add(c->opt, c->set, e->col, c->err);
    return c->status == TCUDB_OK;
}

tcudb_status colset_expr(Opt *opt, ColSet *set, const Expr *e, Error *err)
{
    Collect c = {.opt = opt, .set = set, .err = err};
    (void)expr_walk(e, collect_node, &c);
    return c.status;
}

tcudb_status colset_outputs(Opt *opt, ColSet *set, const Plan *plan, Error *err)
{
    TRY(opt_poll(opt, err));
    for (uint32_t i = 0; i < plan->ncols; i++) TRY(colset_add(opt, set, plan->cols[i].id, err));
    return TCUDB_OK;
}

static tcudb_status collect_slot(void *ctx, Expr **slot, Error *err)
{
    const Collect *c = ctx;
    return colset_expr(c->opt, c->set, *slot, err);
}

tcudb_status colset_used(Opt *opt, ColSet *set, Plan *plan, Error *err)
{
    Collect c = {.opt = opt, .set = set};
    return plan_each_expr(plan, collect_slot, &c, err);
}
