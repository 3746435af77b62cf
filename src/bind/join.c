/*
 * join.c: JOIN ... ON, USING, NATURAL, and what columns a join shows.
 *
 * ON sees the two inputs only. Subqueries in an inner join's ON are applied above the cross product; in an outer
 * join's they must depend on one side, whose plan they are applied to. USING and NATURAL show each shared column
 * once and first: the left one (RIGHT: the right one; FULL: COALESCE of both).
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef struct JoinSides {
    uint32_t first; /* items of the block: left [first, middle), right [middle, end) */
    uint32_t middle, end;
    Plan *left, *right;
    bool lateral;
} JoinSides;

static JoinKind join_kind(PgQuery__JoinType type)
{
    switch (type) {
    case PG_QUERY__JOIN_TYPE__JOIN_LEFT: return JOIN_LEFT;
    case PG_QUERY__JOIN_TYPE__JOIN_RIGHT: return JOIN_RIGHT;
    case PG_QUERY__JOIN_TYPE__JOIN_FULL: return JOIN_FULL;
    default: return JOIN_INNER;
    }
}

/* The columns that a side shows to bare names, in order. */
static tcudb_status side_columns(Binder *b, const Block *block, uint32_t from, uint32_t to, ScopeCol **out, uint32_t *n,
                                 Error *err)
{
    *n = 0;
    for (uint32_t i = from; i < to; i++) {
        if (block->items[i]->cols_visible) *n += block->items[i]->ncols;
    }
    *out = ARENA_ARRAY(b->arena, ScopeCol, *n, err);
    TRY_PTR(*out);
    uint32_t at = 0;
    for (uint32_t i = from; i < to; i++) {
        const ScopeItem *item = block->items[i];
        for (uint32_t k = 0; item->cols_visible && k < item->ncols; k++) (*out)[at++] = item->cols[k];
    }
    return TCUDB_OK;
}

static tcudb_status find_common(const ScopeCol *cols, uint32_t n, Str name, const char *side, uint32_t *out, Error *err)
{
    *out = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (!str_equal(cols[i].name, name)) continue;
        if (*out != UINT32_MAX) {
            return error_set(err, SQLSTATE_AMBIGUOUS_COLUMN,
                             "common column name \"" STR_FMT "\" appears more than once in %s table", STR_ARG(name),
                             side);
        }
        *out = i;
    }
    return TCUDB_OK;
}

/* The names of USING; of NATURAL: those of the left side that the right side has too. */
static tcudb_status common_names(Binder *b, const PgQuery__JoinExpr *join, const ScopeCol *left, uint32_t nleft,
                                 const ScopeCol *right, uint32_t nright, Str **out, uint32_t *n, Error *err)
{
    *n = 0;
    *out = ARENA_ARRAY(b->arena, Str, join->is_natural ? nleft : join->n_using_clause, err);
    TRY_PTR(*out);
    for (size_t i = 0; i < join->n_using_clause; i++) {
        Str name = str_of(sql_string(join->using_clause[i]));
        for (uint32_t k = 0; k < *n; k++) {
            if (!str_equal((*out)[k], name)) continue;
            return error_set(err, SQLSTATE_DUPLICATE_COLUMN,
                             "column name \"" STR_FMT "\" appears more than once in USING clause", STR_ARG(name));
        }
        (*out)[(*n)++] = name;
    }
    for (uint32_t i = 0; join->is_natural && i < nleft; i++) {
        for (uint32_t k = 0; k < nright; k++) {
            if (!str_equal(left[i].name, right[k].name)) continue;
            (*out)[(*n)++] = left[i].name;
            break;
        }
    }
    return TCUDB_OK;
}

static tcudb_status merged_column(Binder *b, JoinKind kind, const ScopeCol *left, const ScopeCol *right, ScopeCol *out,
                                  Error *err)
{
    Expr *sides[2] = {left->expr, right->expr};
    Type type = {0};
    TRY(bind_unify(b, sides, 2, "JOIN/USING", 0, &type, err));
    out->name = left->name;
    out->expr = kind == JOIN_RIGHT ? sides[1] : sides[0];
    if (kind != JOIN_FULL) return TCUDB_OK;
    out->expr = expr_node(b->arena, EXPR_COALESCE, type, sides, 2, 0, err);
    TRY_PTR(out->expr);
    return TCUDB_OK;
}

static tcudb_status missing_common(const char *side, Str name, Error *err)
{
    return error_set(err, SQLSTATE_UNDEFINED_COLUMN,
                     "column \"" STR_FMT "\" specified in USING clause does not exist in %s table", STR_ARG(name),
                     side);
}

/* Fills the shown columns (item) and the condition of a join with merged columns; no USING: all columns, NULL. */
static tcudb_status merge_columns(Binder *b, Block *block, const PgQuery__JoinExpr *join, const JoinSides *sides,
                                  ScopeItem **item, Expr **cond, Error *err)
{
    ScopeCol *left = NULL, *right = NULL;
    uint32_t nleft, nright, nnames, at = 0;
    Str *names = NULL;
    TRY(side_columns(b, block, sides->first, sides->middle, &left, &nleft, err));
    TRY(side_columns(b, block, sides->middle, sides->end, &right, &nright, err));
    TRY(common_names(b, join, left, nleft, right, nright, &names, &nnames, err));
    if (join->is_natural) bind_note_natural(b);
    if (join->is_natural) b->nmerged += nnames;
    TRY(bind_scope_item_new(b, (Str){0}, nleft + nright - nnames, item, err));
    (*item)->join = true;
    for (uint32_t i = sides->first; i < sides->end; i++) {
        (*item)->any_case = (*item)->any_case || (block->items[i]->cols_visible && block->items[i]->any_case);
    }
    bool *left_used = ARENA_ARRAY(b->arena, bool, nleft, err), *right_used = NULL;
    TRY_PTR(left_used);
    right_used = ARENA_ARRAY(b->arena, bool, nright, err);
    TRY_PTR(right_used);
    *cond = NULL;
    for (uint32_t i = 0; i < nnames; i++) {
        uint32_t l = 0, r = 0;
        TRY(find_common(left, nleft, names[i], "left", &l, err));
        if (l == UINT32_MAX) return missing_common("left", names[i], err);
        TRY(find_common(right, nright, names[i], "right", &r, err));
        if (r == UINT32_MAX) return missing_common("right", names[i], err);
        left_used[l] = right_used[r] = true;
        bind_note_merged(b, &left[l], &right[r]);
        TRY(merged_column(b, join_kind(join->jointype), &left[l], &right[r], &(*item)->cols[at++], err));
        Expr *args[2] = {left[l].expr, right[r].expr}, *equal;
        TRY(bind_call(b, FUNC_OPERATOR, "=", args, 2, 0, 0, &equal, err));
        TRY(bind_and_or(b, EXPR_AND, *cond, equal, cond, err));
    }
    for (uint32_t i = 0; i < nleft; i++) {
        if (!left_used[i]) (*item)->cols[at++] = left[i];
    }
    for (uint32_t i = 0; i < nright; i++) {
        if (!right_used[i]) (*item)->cols[at++] = right[i];
    }
    assert(at == (*item)->ncols);
    return TCUDB_OK;
}

/* Whether a subquery, or the left operand of its test (x IN ...), uses a plan's columns. */
static tcudb_status depends_on(Binder *b, const ApplySpec *spec, const Plan *plan, bool *yes, Error *err)
{
    TRY(bind_refers_to(b, spec->right, plan, yes, err));
    for (uint32_t i = 0; spec->test != NULL && i < plan->ncols; i++) {
        *yes = *yes || bind_expr_has_col(spec->test, plan->cols[i].id);
    }
    return TCUDB_OK;
}

/* An outer join whose condition has subqueries: each is computed on the side that it depends on. */
static tcudb_status outer_with_subqueries(Binder *b, JoinKind kind, JoinSides *sides, ApplyList *list, Expr *cond,
                                          Plan **out, Error *err)
{
    for (ApplySpec *spec = list->first, *next; spec != NULL; spec = next) {
        bool left = false, right = false;
        next = spec->next;
        TRY(depends_on(b, spec, sides->left, &left, err));
        TRY(depends_on(b, spec, sides->right, &right, err));
        if (left && right) {
            return error_unsupported(err, spec->position,
                                     "a subquery over both sides in the condition of an outer join");
        }
        ApplyList one = {0};
        bind_apply_append(&one, spec);
        Plan **side = left ? &sides->left : &sides->right;
        TRY(bind_plan_apply(b, *side, &one, side, err));
    }
    return bind_plan_join(b, kind, sides->left, sides->right, cond, out, err);
}

static tcudb_status lateral_join(Binder *b, const Block *block, JoinKind kind, JoinSides *sides, const ApplyList *list,
                                 Expr *cond, Plan **out, Error *err)
{
    if (kind == JOIN_RIGHT || kind == JOIN_FULL)
        return bind_refuse_reference(b, block, sides->right, sides->left, false, err);
    if (cond != NULL) { /* evaluated per left row, so the right side's plan may look at the left columns */
        TRY(bind_plan_apply(b, sides->right, list, &sides->right, err));
        TRY(bind_plan_filter(b, sides->right, cond, &sides->right, err));
    }
    return bind_plan_lateral(b, kind == JOIN_LEFT ? APPLY_LEFT : APPLY_CROSS, sides->left, sides->right, out, err);
}

static tcudb_status join_plan(Binder *b, const Block *block, JoinKind kind, JoinSides *sides, ApplyList *list,
                              Expr *cond, Plan **out, Error *err)
{
    if (sides->lateral) return lateral_join(b, block, kind, sides, list, cond, out, err);
    if (list->first == NULL) return bind_plan_join(b, kind, sides->left, sides->right, cond, out, err);
    if (kind != JOIN_INNER) return outer_with_subqueries(b, kind, sides, list, cond, out, err);
    TRY(bind_plan_join(b, JOIN_INNER, sides->left, sides->right, NULL, out, err));
    TRY(bind_plan_apply(b, *out, list, out, err));
    return bind_plan_filter(b, *out, cond, out, err);
}

static tcudb_status on_condition(Binder *b, Block *block, const PgQuery__JoinExpr *join, const JoinSides *sides,
                                 ApplyList *list, Expr **cond, Error *err)
{
    if (join->quals == NULL) return TCUDB_OK;
    uint32_t first_before = block->first_visible;
    ApplyList *applies_before = block->applies;
    Place place_before = block->place;
    block->first_visible = sides->first;
    block->applies = list;
    block->place = PLACE_ON;
    tcudb_status status = bind_bool(b, block, join->quals, "JOIN/ON", cond, err);
    block->first_visible = first_before;
    block->applies = applies_before;
    block->place = place_before;
    return status;
}

/* The entries of sides that may have no row. */
static void mark_nullable(Block *block, const JoinSides *sides, JoinKind kind)
{
    for (uint32_t i = sides->first; i < sides->end; i++) {
        bool left = i < sides->middle;
        if (kind == JOIN_FULL || kind == (left ? JOIN_RIGHT : JOIN_LEFT)) block->items[i]->nullable = true;
    }
}

/* Hides what the join's own item shows instead. */
static void hide_inputs(Block *block, const JoinSides *sides, bool aliased)
{
    for (uint32_t i = sides->first; i < sides->end; i++) {
        block->items[i]->cols_visible = false;
        if (aliased) block->items[i]->rel_visible = false;
    }
}

/* JOIN ... USING (a, b) AS x: x.a and x.b are the merged columns, which come first in the join's item. */
static tcudb_status using_alias(Binder *b, Block *block, const PgQuery__JoinExpr *join, const ScopeItem *item,
                                uint32_t first, Error *err)
{
    if (join->join_using_alias == NULL || join->alias != NULL) return TCUDB_OK;
    ScopeItem *merged = NULL;
    uint32_t ncols = (uint32_t)join->n_using_clause;
    assert(ncols <= item->ncols);
    TRY(bind_scope_item_new(b, str_of(join->join_using_alias->aliasname), ncols, &merged, err));
    if (ncols > 0) memcpy(merged->cols, item->cols, sizeof *merged->cols * ncols);
    merged->cols_visible = false;
    merged->join = true;
    uint32_t before = block->nitems;
    TRY(bind_scope_add(b, block, merged, err));
    return bind_scope_conflict(block, first, before, err);
}

tcudb_status bind_join(Binder *b, Block *block, const PgQuery__JoinExpr *join, Plan **out, bool *lateral, Error *err)
{
    JoinSides sides = {.first = block->nitems};
    bool left_lateral = false;
    TRY(bind_from_item(b, block, join->larg, &sides.left, &left_lateral, err));
    sides.middle = block->nitems;
    TRY(bind_from_item(b, block, join->rarg, &sides.right, &sides.lateral, err));
    sides.end = block->nitems;
    TRY(bind_scope_conflict(block, sides.first, sides.middle, err));
    *lateral = left_lateral || sides.lateral;
    if (sides.lateral) TRY(bind_refers_to(b, sides.right, sides.left, &sides.lateral, err));
    ScopeItem *item = NULL;
    Expr *cond = NULL;
    ApplyList list = {0};
    TRY(merge_columns(b, block, join, &sides, &item, &cond, err));
    TRY(on_condition(b, block, join, &sides, &list, &cond, err));
    TRY(join_plan(b, block, join_kind(join->jointype), &sides, &list, cond, out, err));
    mark_nullable(block, &sides, join_kind(join->jointype));
    hide_inputs(block, &sides, join->alias != NULL);
    TRY(using_alias(b, block, join, item, sides.first, err));
    TRY(bind_alias(b, item, join->alias, err));
    return bind_scope_add(b, block, item, err);
}
