/*
 * group.c: GROUP BY, and turning expressions over ungrouped columns into ones over the groups.
 *
 * The select list, HAVING and ORDER BY of a grouped query are first bound as if there were no grouping, aggregate
 * calls having become columns of the AGGREGATE node to come. Then every subexpression that equals a group key is
 * replaced by that key's column; a column of the input that is still there is PostgreSQL's grouping error.
 *
 *     SELECT a + 1, count(*) FROM t GROUP BY a + 1
 *     bound:     (a#1 + 1), agg#7        keys: (a#1 + 1) as #8
 *     rewritten: #8, agg#7
 *
 * GROUPING SETS are in grouping.c. A key that is a bare column keeps its ColId otherwise, so that nothing needs to be
 * replaced for it. Subqueries of these expressions run above the aggregation; their plans' references to this level are
 * rewritten the same way.
 *
 * A column of a table whose whole primary key is grouped by has one value in a group: it becomes a key of its own where
 * it is first met, which changes no group.
 */
#include "bind/bind_int.h"

#include <assert.h>

struct GroupMap {
    Binder *b;
    const Block *block;
    const Plan *input;
    Plan *plan; /* the AGGREGATE; NULL: of grouping sets */
    const NamedExpr *groups;
    uint32_t ngroups;
    bool in_subquery;
};

/* ---- keys */

typedef struct AggregateSearch {
    const Block *block;
    const Expr *found;
} AggregateSearch;

static bool find_aggregate(void *ctx, const Expr *e)
{
    AggregateSearch *search = ctx;
    for (uint32_t i = 0; e->kind == EXPR_COL && i < search->block->naggs; i++) {
        if (search->block->aggs[i].col.id == e->col) search->found = e;
    }
    return search->found == NULL;
}

/* A target used as a key must hold no aggregate; its subqueries move below the aggregation. */
static tcudb_status key_from_target(Binder *b, Block *block, Expr *e, ApplyList *post, Error *err)
{
    if (bind_srf_has(block, e)) return error_unsupported(err, e->position, "a set-returning function in GROUP BY");
    AggregateSearch search = {block, NULL};
    (void)expr_walk(e, find_aggregate, &search);
    if (search.found != NULL) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, search.found->position,
                        "aggregate functions are not allowed in GROUP BY");
    }
    TRY(bind_window_refuse(block, e, "GROUP BY", err));
    (void)b;
    for (ApplySpec **at = &post->first; *at != NULL;) {
        ApplySpec *spec = *at;
        if (!bind_expr_has_col(e, spec->result.id)) {
            at = &spec->next;
            continue;
        }
        *at = spec->next;
        bind_apply_append(&block->pre, spec);
    }
    post->last = post->first;
    while (post->last != NULL && post->last->next != NULL) post->last = post->last->next;
    return TCUDB_OK;
}

static tcudb_status append_key(Binder *b, Expr *e, GroupKeys *out, uint32_t *at, Error *err)
{
    if ((out->n & (out->n - 1)) == 0) { /* full */
        Expr **exprs = ARENA_ARRAY(b->arena, Expr *, out->n == 0 ? 1 : 2 * out->n, err);
        TRY_PTR(exprs);
        if (out->n > 0) memcpy(exprs, out->exprs, out->n * sizeof *exprs);
        out->exprs = exprs;
    }
    *at = out->n;
    out->exprs[out->n++] = e;
    return TCUDB_OK;
}

static tcudb_status add_key(Binder *b, Expr *e, GroupKeys *out, uint32_t *at, Error *err)
{
    if (e->type.id == TYPE_UNKNOWN) TRY(bind_coerce(b, e, TYPE(TYPE_TEXT), CAST_IMPLICIT, e->position, &e, err));
    for (*at = 0; *at < out->n; ++*at)
        if (expr_equal(out->exprs[*at], e)) return TCUDB_OK;
    return append_key(b, e, out, at, err);
}

typedef struct KeyContext {
    Binder *b;
    Block *block;
    TargetList *targets;
    ApplyList *post;
    GroupKeys *keys;
    bool sets; /* grouping sets: targets that are equal are keys apart, each NULL where its own set lacks it */
} KeyContext;

/* The key that a target is, which is the same node: replace_key knows it again. */
static tcudb_status target_key(const KeyContext *c, uint32_t target, uint32_t *key, Error *err)
{
    Expr **e = &c->targets->exprs[target].expr;
    for (*key = 0; *key < c->keys->n; ++*key)
        if (c->keys->exprs[*key] == *e) return TCUDB_OK;
    TRY(key_from_target(c->b, c->block, *e, c->post, err));
    if (c->sets && (*e)->type.id != TYPE_UNKNOWN) {
        Expr *own = ARENA_NEW(c->b->arena, Expr, err); /* no other target's node */
        TRY_PTR(own);
        *own = **e;
        *e = own;
        return append_key(c->b, own, c->keys, key, err);
    }
    TRY(add_key(c->b, *e, c->keys, key, err));
    *e = c->keys->exprs[*key];
    return TCUDB_OK;
}

static tcudb_status bind_key(void *ctx, const Node *node, uint32_t *key, Error *err)
{
    const KeyContext *c = ctx;
    uint32_t target = 0;
    TRY(bind_order_target(c->b, c->block, node, c->targets, "GROUP BY", &target, err));
    if (target != UINT32_MAX) return target_key(c, target, key, err);
    Expr *e = NULL;
    TRY(bind_expr(c->b, c->block, node, &e, err));
    for (uint32_t i = 0; c->sets && i < c->targets->n; i++)
        if (expr_equal(c->targets->exprs[i].expr, e)) return target_key(c, i, key, err);
    return add_key(c->b, e, c->keys, key, err);
}

tcudb_status bind_group_keys(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, TargetList *targets,
                             ApplyList *post, GroupKeys *out, Error *err)
{
    KeyContext context = {b, block, targets, post, out, false};
    for (size_t i = 0; i < stmt->n_group_clause; i++)
        context.sets = context.sets || NODE_IS(stmt->group_clause[i], GROUPING_SET);
    *out = (GroupKeys){0};
    return bind_grouping_sets(b, stmt, bind_key, &context, &out->sets, err);
}

/* ---- the node */

static const char *key_name(const Plan *input, const Expr *e)
{
    const PlanCol *col = e->kind == EXPR_COL ? plan_find_col(input, e->col) : NULL;
    return col == NULL ? "?column?" : col->name;
}

/* One set of all keys and no GROUPING(): a plain AGGREGATE. HAVING alone makes one group of whatever rows there are:
 * they are not looked at. */
static tcudb_status plain_plan(Binder *b, Block *block, const GroupKeys *keys, NamedExpr *groups, Plan *input,
                               Plan **out, Error *err)
{
    Plan *plan = plan_new(b->arena, PLAN_AGGREGATE, 1, keys->n + block->naggs, err);
    TRY_PTR(plan);
    for (uint32_t i = 0; i < keys->n; i++) {
        if (keys->exprs[i]->kind == EXPR_COL) groups[i].col.id = keys->exprs[i]->col;
        plan->cols[i] = groups[i].col;
    }
    for (uint32_t i = 0; i < block->naggs; i++) plan->cols[keys->n + i] = block->aggs[i].col;
    plan->inputs[0] = input;
    if (plan->ncols == 0) TRY(bind_plan_one_row(b, &plan->inputs[0], err));
    plan->agg.groups = groups;
    plan->agg.ngroups = keys->n;
    plan->agg.aggs = block->aggs;
    plan->agg.naggs = block->naggs;
    *out = plan;
    return TCUDB_OK;
}

tcudb_status bind_group_plan(Binder *b, Block *block, const GroupKeys *keys, Plan *input, Plan **out, GroupMap **map,
                             Error *err)
{
    NamedExpr *groups = ARENA_ARRAY(b->arena, NamedExpr, keys->n, err);
    TRY_PTR(groups);
    for (uint32_t i = 0; i < keys->n; i++) {
        groups[i].expr = keys->exprs[i];
        groups[i].col = bind_new_col(b, keys->exprs[i]->type, key_name(input, keys->exprs[i]));
    }
    bool plain = block->groupings == NULL && keys->sets.n == 1 && keys->sets.sets[0].n == keys->n;
    if (plain)
        TRY(plain_plan(b, block, keys, groups, input, out, err));
    else
        TRY(bind_grouping_plan(b, block, keys, groups, input, out, err));
    *map = ARENA_NEW(b->arena, GroupMap, err);
    TRY_PTR(*map);
    **map = (GroupMap){.b = b, .block = block, .input = input, .groups = groups, .ngroups = keys->n};
    if (plain) (*map)->plan = *out;
    return TCUDB_OK;
}

/* ---- columns that depend on a grouped primary key */

/* The scan that puts out a column and which of its columns that is; *scan stays NULL for a column of anything else. */
static tcudb_status find_scan(Binder *b, const Plan *plan, ColId col, const Plan **scan, Error *err)
{
    TRY(bind_enter(b, err));
    tcudb_status status = TCUDB_OK;
    if (plan->kind == PLAN_SCAN && plan_find_col(plan, col) != NULL) *scan = plan;
    for (uint32_t i = 0; status == TCUDB_OK && *scan == NULL && i < plan->ninputs; i++)
        status = find_scan(b, plan->inputs[i], col, scan, err);
    bind_leave(b);
    return status;
}

static bool grouped_column(const GroupMap *map, ColId col)
{
    for (uint32_t i = 0; i < map->ngroups; i++)
        if (map->groups[i].expr->kind == EXPR_COL && map->groups[i].expr->col == col) return true;
    return false;
}

/* Whether all columns of the scanned table's primary key are groups. */
static bool key_grouped(const GroupMap *map, const Plan *scan)
{
    const TableDef *def = table_def(scan->scan.table);
    const KeyDef *key = NULL;
    for (uint32_t i = 0; i < def->nkeys; i++)
        if (def->keys[i].primary) key = &def->keys[i];
    for (uint32_t k = 0; key != NULL && k < key->ncols; k++) {
        bool grouped = false;
        for (uint32_t c = 0; c < scan->ncols; c++)
            grouped |= scan->scan.columns[c] == key->cols[k] && grouped_column(map, scan->cols[c].id);
        if (!grouped) return false;
    }
    return key != NULL;
}

/* One more key of the AGGREGATE, a bare column, which stands before the aggregates. */
static tcudb_status add_dependent(GroupMap *map, const Expr *e, Error *err)
{
    Plan *plan = map->plan;
    uint32_t n = map->ngroups;
    NamedExpr *groups = ARENA_ARRAY(map->b->arena, NamedExpr, n + 1, err);
    TRY_PTR(groups);
    PlanCol *cols = ARENA_ARRAY(map->b->arena, PlanCol, plan->ncols + 1, err);
    TRY_PTR(cols);
    memcpy(groups, map->groups, n * sizeof *groups);
    memcpy(cols, plan->cols, n * sizeof *cols);
    memcpy(cols + n + 1, plan->cols + n, (plan->ncols - n) * sizeof *cols);
    groups[n].col = cols[n] = *plan_find_col(map->input, e->col);
    groups[n].expr = expr_col(map->b->arena, e->col, e->type, 0, err);
    TRY_PTR(groups[n].expr);
    plan->cols = cols;
    plan->ncols++;
    map->groups = plan->agg.groups = groups;
    map->ngroups = plan->agg.ngroups = n + 1;
    return TCUDB_OK;
}

static tcudb_status depends_on_key(GroupMap *map, const Expr *e, bool *yes, Error *err)
{
    const Plan *scan = NULL;
    TRY(find_scan(map->b, map->input, e->col, &scan, err));
    *yes = scan != NULL && key_grouped(map, scan);
    if (!*yes) return TCUDB_OK;
    if (map->plan != NULL) return add_dependent(map, e, err);
    return error_unsupported(err, e->position, "a column that depends on a primary key, with grouping sets");
}

/* ---- rewriting */

static tcudb_status ungrouped(const GroupMap *map, const Expr *e, Error *err)
{
    const char *name = bind_scope_column_name(map->b, map->block, e->col, err);
    TRY_PTR(name);
    if (map->in_subquery) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, e->position,
                        "subquery uses ungrouped column \"%s\" from outer query", name);
    }
    return error_at(err, SQLSTATE_GROUPING_ERROR, e->position,
                    "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", name);
}

/*
 * Whether an expression is the key, or the key as another type of the same bits: lower(v) of a varchar key asks for it
 * as text. A cast with modifiers is not, its type says what it does; nor is the bare column where the key is
 * relabelled.
 */
static bool is_key(const GroupMap *map, const Expr *key, const Expr *e)
{
    if (expr_equal(key, e)) return true;
    if (type_phys(key->type) != type_phys(e->type)) return false;
    bool cast = e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST;
    if (cast && (e->type.length > 0 || e->type.precision > 0 || key->type.length > 0 || key->type.precision > 0))
        return false;
    const PlanCol *col = e->kind == EXPR_COL ? plan_find_col(map->input, e->col) : NULL;
    if (col != NULL && !type_equal(col->type, key->type)) return false;
    Expr same = *e;
    same.type = key->type;
    return expr_equal(key, &same);
}

static tcudb_status replace_key(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    GroupMap *map = ctx;
    bool constant = e->kind == EXPR_CONST; /* GROUP BY 'x' does not make the x of other places a column */
    uint32_t key = 0;
    while (key < map->ngroups && map->groups[key].expr != e) key++;
    if (key == map->ngroups && !constant)
        for (key = 0; key < map->ngroups && !is_key(map, map->groups[key].expr, e);) key++;
    if (key < map->ngroups) {
        *replacement = expr_col(map->b->arena, map->groups[key].col.id, e->type, e->position, err);
        TRY_PTR(*replacement);
        return TCUDB_OK;
    }
    if (e->kind != EXPR_COL || plan_find_col(map->input, e->col) == NULL) return TCUDB_OK; /* constants, too */
    bool depends = false;
    TRY(depends_on_key(map, e, &depends, err));
    return depends ? TCUDB_OK : ungrouped(map, e, err);
}

tcudb_status bind_group_rewrite(GroupMap *map, Expr *e, Expr **out, Error *err)
{
    return expr_replace(map->b->arena, e, replace_key, map, out, err);
}

static tcudb_status rewrite_slot(void *ctx, Expr **slot, Error *err)
{
    if (*slot == NULL) return TCUDB_OK;
    return bind_group_rewrite(ctx, *slot, slot, err);
}

tcudb_status bind_group_rewrite_plan(GroupMap *map, Plan *plan, Error *err)
{
    TRY(bind_enter(map->b, err));
    tcudb_status status = plan_each_expr(plan, rewrite_slot, map, err);
    for (uint32_t i = 0; status == TCUDB_OK && i < plan->ninputs; i++) {
        status = bind_group_rewrite_plan(map, plan->inputs[i], err);
    }
    bind_leave(map->b);
    return status;
}

tcudb_status bind_group_rewrite_applies(GroupMap *map, ApplyList *list, Error *err)
{
    for (ApplySpec *spec = list->first; spec != NULL; spec = spec->next) {
        map->in_subquery = true;
        TRY(bind_group_rewrite_plan(map, spec->right, err));
        map->in_subquery = false;
        if (spec->test != NULL) TRY(bind_group_rewrite(map, spec->test, &spec->test, err));
    }
    return TCUDB_OK;
}
