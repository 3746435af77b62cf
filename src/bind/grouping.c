/*
 * grouping.c: GROUPING SETS, ROLLUP, CUBE and GROUPING().
 *
 * GROUP BY's entries each stand for a list of sets of keys; the sets of the query are their products:
 *
 *     GROUP BY a, ROLLUP (b, c)      {a} x ({b,c}, {b}, {})  =  {a,b,c}, {a,b}, {a}
 *
 * The input becomes a shared query (copied where it is no more than a table's rows), and each set an AGGREGATE of its
 * own over it; a PROJECT fills in NULL for the keys that the set lacks and the values of GROUPING(), and UNION ALL puts
 * them together. So every set is planned like a GROUP BY of its own. Cost: the input is read once a set.
 */
#include "bind/bind_int.h"

#include <assert.h>

enum { CUBE_MAX = 12, SETS_MAX = 4096, GROUPING_ARGS_MAX = 31 };

/* ---- sets */

static tcudb_status new_sets(Binder *b, uint32_t n, KeySets *out, Error *err)
{
    out->n = n;
    out->sets = ARENA_ARRAY(b->arena, KeySet, n, err);
    TRY_PTR(out->sets);
    return TCUDB_OK;
}

static bool set_has(const KeySet *set, uint32_t key)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->keys[i] == key) return true;
    return false;
}

/* The keys of both, each once. */
static tcudb_status join_sets(Binder *b, const KeySet *x, const KeySet *y, KeySet *out, Error *err)
{
    uint32_t *keys = ARENA_ARRAY(b->arena, uint32_t, x->n + y->n, err);
    TRY_PTR(keys);
    KeySet joined = {keys, 0};
    for (uint32_t i = 0; i < x->n + y->n; i++) {
        uint32_t key = i < x->n ? x->keys[i] : y->keys[i - x->n];
        if (!set_has(&joined, key)) keys[joined.n++] = key;
    }
    *out = joined;
    return TCUDB_OK;
}

static tcudb_status multiply(Binder *b, KeySets *sets, const KeySets *by, Error *err)
{
    KeySets out = {0};
    if ((uint64_t)sets->n * by->n > SETS_MAX) {
        return error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "too many grouping sets present (maximum %d)", SETS_MAX);
    }
    TRY(new_sets(b, sets->n * by->n, &out, err));
    for (uint32_t i = 0; i < sets->n; i++)
        for (uint32_t k = 0; k < by->n; k++)
            TRY(join_sets(b, &sets->sets[i], &by->sets[k], &out.sets[i * by->n + k], err));
    *sets = out;
    return TCUDB_OK;
}

typedef struct KeyBinder {
    Binder *b;
    BindKeyFn bind;
    void *ctx;
} KeyBinder;

static tcudb_status sets_of(const KeyBinder *k, const Node *node, KeySets *out, Error *err);

/* The keys of an expression or of a row of them. */
static tcudb_status unit(const KeyBinder *k, const Node *node, KeySet *out, Error *err)
{
    bool row = NODE_IS(node, ROW_EXPR) && node->row_expr->row_format == PG_QUERY__COERCION_FORM__COERCE_IMPLICIT_CAST;
    size_t n = row ? node->row_expr->n_args : 1;
    uint32_t *keys = ARENA_ARRAY(k->b->arena, uint32_t, n, err);
    TRY_PTR(keys);
    *out = (KeySet){keys, 0};
    for (size_t i = 0; i < n; i++) {
        uint32_t key = 0;
        TRY(k->bind(k->ctx, row ? node->row_expr->args[i] : node, &key, err));
        if (!set_has(out, key)) keys[out->n++] = key;
    }
    return TCUDB_OK;
}

static tcudb_status units(const KeyBinder *k, const PgQuery__GroupingSet *set, KeySet **out, Error *err)
{
    *out = ARENA_ARRAY(k->b->arena, KeySet, set->n_content, err);
    TRY_PTR(*out);
    for (size_t i = 0; i < set->n_content; i++) TRY(unit(k, set->content[i], &(*out)[i], err));
    return TCUDB_OK;
}

/* All units, then one less, ..., none. */
static tcudb_status rollup(const KeyBinder *k, const PgQuery__GroupingSet *set, KeySets *out, Error *err)
{
    KeySet *all = NULL;
    uint32_t n = (uint32_t)set->n_content;
    TRY(units(k, set, &all, err));
    TRY(new_sets(k->b, n + 1, out, err));
    for (uint32_t i = 0; i < n; i++) TRY(join_sets(k->b, &out->sets[n - i], &all[i], &out->sets[n - i - 1], err));
    return TCUDB_OK;
}

static tcudb_status cube(const KeyBinder *k, const PgQuery__GroupingSet *set, KeySets *out, Error *err)
{
    KeySet *all = NULL;
    uint32_t n = (uint32_t)set->n_content;
    if (n > CUBE_MAX) {
        return error_at(err, SQLSTATE_TOO_MANY_COLUMNS, bind_position(k->b, set->location),
                        "CUBE is limited to %d elements", CUBE_MAX);
    }
    TRY(units(k, set, &all, err));
    TRY(new_sets(k->b, 1u << n, out, err));
    for (uint32_t s = 0; s < out->n; s++)
        for (uint32_t i = 0; i < n; i++)
            if ((s >> i & 1) == 0) TRY(join_sets(k->b, &out->sets[s], &all[i], &out->sets[s], err));
    return TCUDB_OK;
}

static tcudb_status listed(const KeyBinder *k, const PgQuery__GroupingSet *set, KeySets *out, Error *err)
{
    *out = (KeySets){0};
    for (size_t i = 0; i < set->n_content; i++) {
        KeySets more = {0}, both = {0};
        TRY(sets_of(k, set->content[i], &more, err));
        TRY(new_sets(k->b, out->n + more.n, &both, err));
        if (out->n > 0) memcpy(both.sets, out->sets, out->n * sizeof *both.sets);
        if (more.n > 0) memcpy(both.sets + out->n, more.sets, more.n * sizeof *both.sets);
        *out = both;
    }
    return TCUDB_OK;
}

static tcudb_status sets_of(const KeyBinder *k, const Node *node, KeySets *out, Error *err)
{
    if (!NODE_IS(node, GROUPING_SET)) {
        TRY(new_sets(k->b, 1, out, err));
        return unit(k, node, &out->sets[0], err);
    }
    TRY(bind_enter(k->b, err));
    tcudb_status status = TCUDB_OK;
    switch (node->grouping_set->kind) {
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY: status = new_sets(k->b, 1, out, err); break;
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_ROLLUP: status = rollup(k, node->grouping_set, out, err); break;
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_CUBE: status = cube(k, node->grouping_set, out, err); break;
    default: status = listed(k, node->grouping_set, out, err); break;
    }
    bind_leave(k->b);
    return status;
}

static bool same_set(const KeySet *x, const KeySet *y)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!set_has(y, x->keys[i])) return false;
    return x->n == y->n;
}

static void drop_repeated(KeySets *sets)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < sets->n; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < n && !seen; k++) seen = same_set(&sets->sets[k], &sets->sets[i]);
        if (!seen) sets->sets[n++] = sets->sets[i];
    }
    sets->n = n;
}

tcudb_status bind_grouping_sets(Binder *b, const PgQuery__SelectStmt *stmt, BindKeyFn bind, void *ctx, KeySets *out,
                                Error *err)
{
    const KeyBinder k = {b, bind, ctx};
    TRY(new_sets(b, 1, out, err)); /* one, of no keys */
    for (size_t i = 0; i < stmt->n_group_clause; i++) {
        KeySets sets = {0};
        TRY(sets_of(&k, stmt->group_clause[i], &sets, err));
        TRY(multiply(b, out, &sets, err));
    }
    if (stmt->group_distinct) drop_repeated(out);
    return TCUDB_OK;
}

/* ---- GROUPING() */

tcudb_status bind_grouping_call(Binder *b, Block *block, const PgQuery__GroupingFunc *node, Expr **out, Error *err)
{
    int position = bind_position(b, node->location);
    if (block->in_agg)
        return error_at(err, SQLSTATE_GROUPING_ERROR, position, "aggregate function calls cannot be nested");
    if (block->place >= PLACE_WHERE) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, position, "grouping operations are not allowed in %s",
                        bind_place_name(block->place));
    }
    if (node->n_args > GROUPING_ARGS_MAX)
        return error_at(err, SQLSTATE_TOO_MANY_ARGUMENTS, position, "GROUPING must have fewer than 32 arguments");
    GroupingCall *call = ARENA_NEW(b->arena, GroupingCall, err);
    TRY_PTR(call);
    TRY(bind_expr_list(b, block, node->args, (uint32_t)node->n_args, &call->args, err));
    call->nargs = (uint32_t)node->n_args;
    call->col = bind_new_col(b, TYPE(TYPE_INT4), "grouping");
    GroupingCall **at = &block->groupings;
    while (*at != NULL) at = &(*at)->next;
    *at = call;
    *out = expr_col(b->arena, call->col.id, call->col.type, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* A bit for each argument, the last one lowest: set where the set lacks it. */
static tcudb_status grouping_value(const GroupKeys *keys, const KeySet *set, const GroupingCall *call, int32_t *out,
                                   Error *err)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < call->nargs; i++) {
        uint32_t key = 0;
        while (key < keys->n && !expr_equal(keys->exprs[key], call->args[i])) key++;
        if (key == keys->n) {
            return error_at(err, SQLSTATE_GROUPING_ERROR, call->args[i]->position,
                            "arguments to GROUPING must be grouping expressions of the associated query level");
        }
        bits = bits << 1 | !set_has(set, key);
    }
    *out = (int32_t)bits;
    return TCUDB_OK;
}

/* ---- plans */

typedef struct Renaming {
    Binder *b;
    const Plan *from, *to; /* column by column */
} Renaming;

static tcudb_status rename_col(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    const Renaming *r = ctx;
    for (uint32_t i = 0; e->kind == EXPR_COL && i < r->from->ncols; i++) {
        if (r->from->cols[i].id != e->col) continue;
        *replacement = expr_col(r->b->arena, r->to->cols[i].id, e->type, e->position, err);
        TRY_PTR(*replacement);
        return TCUDB_OK;
    }
    return TCUDB_OK;
}

static tcudb_status rename_slot(void *ctx, Expr **slot, Error *err)
{
    return expr_replace(((Renaming *)ctx)->b->arena, *slot, rename_col, ctx, slot, err);
}

/* An AGGREGATE by one set over one scan of the input. */
static tcudb_status aggregate_set(Binder *b, const Block *block, const GroupKeys *keys, const KeySet *set,
                                  const Plan *input, Plan *scan, Plan **out, Error *err)
{
    Plan *plan = plan_new(b->arena, PLAN_AGGREGATE, 1, set->n + block->naggs, err);
    TRY_PTR(plan);
    plan->inputs[0] = scan;
    plan->agg.ngroups = set->n;
    plan->agg.naggs = block->naggs;
    plan->agg.groups = ARENA_ARRAY(b->arena, NamedExpr, set->n, err);
    TRY_PTR(plan->agg.groups);
    plan->agg.aggs = ARENA_ARRAY(b->arena, AggCall, block->naggs, err);
    TRY_PTR(plan->agg.aggs);
    for (uint32_t i = 0; i < set->n; i++) {
        Expr *e = keys->exprs[set->keys[i]];
        plan->agg.groups[i] = (NamedExpr){bind_new_col(b, e->type, "?column?"), e};
        plan->cols[i] = plan->agg.groups[i].col;
    }
    for (uint32_t i = 0; i < block->naggs; i++) {
        AggCall *agg = &plan->agg.aggs[i];
        *agg = block->aggs[i];
        agg->col = bind_new_col(b, agg->col.type, agg->col.name);
        if (agg->norder > 0) {
            agg->order = ARENA_ARRAY(b->arena, SortKey, agg->norder, err);
            TRY_PTR(agg->order);
            memcpy(agg->order, block->aggs[i].order, agg->norder * sizeof *agg->order);
        }
        plan->cols[set->n + i] = agg->col;
    }
    Renaming renaming = {b, input, scan};
    *out = plan;
    return plan_each_expr(plan, rename_slot, &renaming, err);
}

/* All keys (NULL: not in the set), all aggregates, all GROUPING()s. */
static tcudb_status complete_set(Binder *b, const Block *block, const GroupKeys *keys, const KeySet *set, Plan *plan,
                                 uint32_t ncols, Plan **out, Error *err)
{
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, ncols, err);
    TRY_PTR(exprs);
    uint32_t n = 0;
    for (uint32_t k = 0; k < keys->n; k++, n++) {
        uint32_t at = 0;
        while (at < set->n && set->keys[at] != k) at++;
        Type type = keys->exprs[k]->type;
        if (at < set->n) exprs[n].expr = expr_col(b->arena, plan->cols[at].id, type, 0, err);
        if (at == set->n) TRY(bind_null(b, type, 0, &exprs[n].expr, err));
        TRY_PTR(exprs[n].expr);
        exprs[n].expr->given |= at == set->n; /* the key's modifiers are the column's */
        exprs[n].col = bind_new_col(b, type, "?column?");
    }
    for (uint32_t i = 0; i < block->naggs; i++, n++) {
        const PlanCol *col = &plan->cols[set->n + i];
        exprs[n].expr = expr_col(b->arena, col->id, col->type, 0, err);
        TRY_PTR(exprs[n].expr);
        exprs[n].col = bind_new_col(b, col->type, col->name);
    }
    for (const GroupingCall *call = block->groupings; call != NULL; call = call->next, n++) {
        Value value = {.type = TYPE(TYPE_INT4)};
        TRY(grouping_value(keys, set, call, &value.i32, err));
        exprs[n].expr = expr_const(b->arena, &value, 0, err);
        TRY_PTR(exprs[n].expr);
        exprs[n].col = bind_new_col(b, TYPE(TYPE_INT4), "grouping");
    }
    assert(n == ncols);
    return plan_project(b->arena, plan, exprs, ncols, out, err);
}

/* Whether reading it again is as good as keeping it. */
static bool cheap_to_repeat(const Plan *plan)
{
    while (plan->kind == PLAN_FILTER) plan = plan->inputs[0];
    return plan->kind == PLAN_SCAN;
}

tcudb_status bind_grouping_plan(Binder *b, const Block *block, const GroupKeys *keys, const NamedExpr *groups,
                                Plan *input, Plan **out, Error *err)
{
    CteEntry *entry = NULL;
    uint32_t ncols = keys->n + block->naggs;
    for (const GroupingCall *call = block->groupings; call != NULL; call = call->next) ncols++;
    TRY(bind_with_share(b, "grouping sets", input, cheap_to_repeat(input), &entry, err));
    *out = NULL;
    for (uint32_t s = 0; s < keys->sets.n; s++) {
        const KeySet *set = &keys->sets.sets[s];
        Plan *scan = NULL, *arm = NULL;
        TRY(bind_with_scan(b, entry, 0, &scan, err));
        TRY(aggregate_set(b, block, keys, set, input, scan, &arm, err));
        TRY(complete_set(b, block, keys, set, arm, ncols, &arm, err));
        if (*out == NULL)
            *out = arm;
        else
            TRY(bind_setop_node(b, SET_UNION, true, *out, arm, out, err));
    }
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, ncols, err); /* under the ids that are referred to */
    TRY_PTR(exprs);
    const GroupingCall *call = block->groupings;
    assert(*out != NULL); /* there is a set */
    for (uint32_t i = 0; i < ncols; i++) {
        const PlanCol *col = &(*out)->cols[i];
        exprs[i].expr = expr_col(b->arena, col->id, col->type, 0, err);
        TRY_PTR(exprs[i].expr);
        exprs[i].col = i < keys->n                  ? groups[i].col
                       : i < keys->n + block->naggs ? block->aggs[i - keys->n].col
                                                    : call->col;
        if (i >= keys->n + block->naggs) call = call->next;
    }
    return plan_project(b->arena, *out, exprs, ncols, out, err);
}
