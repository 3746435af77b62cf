/*
 * window.c: f(...) OVER (PARTITION BY ... ORDER BY ... frame).
 *
 * A call becomes a column of a WINDOW node; calls over the same partition and order share one. The nodes stand above
 * grouping and HAVING and below the select list's projection. Arguments are computed by a PROJECT below the nodes, so
 * that a node's arguments are columns.
 *
 * A RANGE with offsets compares the key of the order with bounds that are computed beside it, for every row: key -
 * offset and the like, in a type that cannot overflow.
 *
 * GROUPS counts groups of peers; EXCLUDE leaves rows out of any frame.
 */
#include "bind/bind_int.h"

#include <assert.h>
#include <stdio.h>

struct WindowDef {
    struct WindowDef *next;
    uint32_t npartition, norder, ncalls, cap;
    Expr **partition;
    SortKey *order;
    WindowCall *calls;
};

enum { /* libpg_query's frameOptions */
       OPT_NONDEFAULT = 0x1,
       OPT_ROWS = 0x4,
       OPT_GROUPS = 0x8,
       OPT_END_UNBOUNDED = 0x100,
       OPT_START_CURRENT = 0x200,
       OPT_END_CURRENT = 0x400,
       OPT_START_PRECEDING = 0x800,
       OPT_END_PRECEDING = 0x1000,
       OPT_START_FOLLOWING = 0x2000,
       OPT_END_FOLLOWING = 0x4000,
       OPT_EXCLUDE_ROW = 0x8000,
       OPT_EXCLUDE_GROUP = 0x10000,
       OPT_EXCLUDE_TIES = 0x20000
};

static const struct {
    const char *name;
    WindowFunc func;
    uint32_t least, most; /* arguments */
} functions[] = {
    {"row_number", WINDOW_ROW_NUMBER, 0, 0},
    {"rank", WINDOW_RANK, 0, 0},
    {"dense_rank", WINDOW_DENSE_RANK, 0, 0},
    {"percent_rank", WINDOW_PERCENT_RANK, 0, 0},
    {"cume_dist", WINDOW_CUME_DIST, 0, 0},
    {"ntile", WINDOW_NTILE, 1, 1},
    {"lag", WINDOW_LAG, 1, 3},
    {"lead", WINDOW_LEAD, 1, 3},
    {"first_value", WINDOW_FIRST_VALUE, 1, 1},
    {"last_value", WINDOW_LAST_VALUE, 1, 1},
    {"nth_value", WINDOW_NTH_VALUE, 2, 2},
};

bool bind_is_window_name(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0) return true;
    }
    return false;
}

/* ---- the window */

static tcudb_status bind_key(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    TRY(bind_expr(b, block, node, out, err));
    if ((*out)->type.id != TYPE_UNKNOWN) return TCUDB_OK;
    return bind_coerce(b, *out, TYPE(TYPE_TEXT), CAST_IMPLICIT, (*out)->position, out, err);
}

static tcudb_status add_partition(Binder *b, Block *block, const PgQuery__WindowDef *node, WindowDef *def, Error *err)
{
    def->partition = ARENA_ARRAY(b->arena, Expr *, node->n_partition_clause, err);
    TRY_PTR(def->partition);
    for (size_t i = 0; i < node->n_partition_clause; i++) {
        TRY(bind_key(b, block, node->partition_clause[i], &def->partition[def->npartition++], err));
    }
    return TCUDB_OK;
}

static tcudb_status add_order(Binder *b, Block *block, const PgQuery__WindowDef *node, WindowDef *def, Error *err)
{
    def->order = ARENA_ARRAY(b->arena, SortKey, node->n_order_clause, err);
    TRY_PTR(def->order);
    for (size_t i = 0; i < node->n_order_clause; i++) {
        const PgQuery__SortBy *by = node->order_clause[i]->sort_by;
        SortKey *key = &def->order[def->norder++];
        TRY(bind_key(b, block, by->node, &key->expr, err));
        TRY(bind_order_direction(b, by, &key->descending, &key->nulls_first, err));
    }
    return TCUDB_OK;
}

static const PgQuery__WindowDef *find_named(const Block *block, const char *name)
{
    for (size_t i = 0; i < block->nwindows; i++) {
        if (strcmp(block->windows[i]->window_def->name, name) == 0) return block->windows[i]->window_def;
    }
    return NULL;
}

tcudb_status bind_window_clause(Binder *b, const Block *block, Error *err)
{
    for (size_t i = 0; i < block->nwindows; i++) {
        const PgQuery__WindowDef *def = block->windows[i]->window_def;
        if (find_named(block, def->name) == def) continue;
        return error_at(err, SQLSTATE_WINDOWING_ERROR, bind_position(b, def->location),
                        "window \"%s\" is already defined", def->name);
    }
    return TCUDB_OK;
}

static tcudb_status fill_window(Binder *b, Block *block, const PgQuery__WindowDef *node, WindowDef *def, Error *err)
{
    const char *base = node->refname[0] != '\0' ? node->refname : NULL;
    int position = bind_position(b, node->location);
    TRY(bind_enter(b, err));
    tcudb_status status = TCUDB_OK;
    if (base != NULL) {
        const PgQuery__WindowDef *named = find_named(block, base);
        if (named == NULL || named == node) {
            status = error_at(err, SQLSTATE_UNDEFINED_OBJECT, position, "window \"%s\" does not exist", base);
        } else if (node->n_partition_clause > 0) {
            status = error_at(err, SQLSTATE_WINDOWING_ERROR, position,
                              "cannot override PARTITION BY clause of window \"%s\"", base);
        } else if (node->n_order_clause > 0 && named->n_order_clause > 0) {
            status = error_at(err, SQLSTATE_WINDOWING_ERROR, position,
                              "cannot override ORDER BY clause of window \"%s\"", base);
        } else if (named->frame_options & OPT_NONDEFAULT) {
            bool bare = node->n_partition_clause == 0 && node->n_order_clause == 0;
            status = error_at(err, SQLSTATE_WINDOWING_ERROR, position,
                              "cannot copy window \"%s\" because it has a frame clause", base);
            if (bare && node->name[0] == '\0' && !(node->frame_options & OPT_NONDEFAULT))
                error_hint(err, "Omit the parentheses in this OVER clause.");
        } else {
            status = fill_window(b, block, named, def, err);
        }
    }
    if (status == TCUDB_OK && node->n_partition_clause > 0) status = add_partition(b, block, node, def, err);
    if (status == TCUDB_OK && node->n_order_clause > 0) status = add_order(b, block, node, def, err);
    bind_leave(b);
    return status;
}

static bool same_window(const WindowDef *a, const WindowDef *c)
{
    if (a->npartition != c->npartition || a->norder != c->norder) return false;
    for (uint32_t i = 0; i < a->npartition; i++) {
        if (!expr_equal(a->partition[i], c->partition[i])) return false;
    }
    for (uint32_t i = 0; i < a->norder; i++) {
        const SortKey *x = &a->order[i], *y = &c->order[i];
        if (!expr_equal(x->expr, y->expr) || x->descending != y->descending || x->nulls_first != y->nulls_first)
            return false;
    }
    return true;
}

/* ---- the frame */

static tcudb_status frame_offset(Binder *b, Block *block, const Node *node, const char *mode, Expr **out, Error *err)
{
    Expr *e = NULL;
    TRY(bind_expr(b, block, node, &e, err));
    if (bind_expr_has_col(e, 0)) {
        return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, e->position,
                        "argument of %s must not contain variables", mode);
    }
    return bind_coerce(b, e, TYPE(TYPE_INT8), CAST_ASSIGNMENT, e->position, out, err);
}

/* ---- RANGE with offsets */

static tcudb_status no_range(Type key, Type offset, int position, Error *err)
{
    if (offset.id == TYPE_NONE) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s",
                        type_base_name(key));
    }
    error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
             "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s",
             type_base_name(key), type_base_name(offset));
    error_hint(err, "Cast the offset value to an appropriate type.");
    return TCUDB_ERROR;
}

/* The type in which key and offset are added, and what the offset may be. */
static tcudb_status range_types(Type key, Type offset, int position, Type *common, Type *step, Error *err)
{
    bool whole = offset.id == TYPE_INT2 || offset.id == TYPE_INT4 || offset.id == TYPE_INT8, fits = true;
    bool unknown = offset.id == TYPE_UNKNOWN;
    *step = *common = TYPE(TYPE_NUMERIC);
    switch (key.id) {
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8: fits = whole; break;
    case TYPE_NUMERIC: fits = whole || offset.id == TYPE_NUMERIC; break;
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
        *step = *common = TYPE(TYPE_FLOAT8);
        fits = func_can_cast_implicitly(offset, *step);
        break;
    case TYPE_DATE:
    case TYPE_TIMESTAMP:
        *common = TYPE(TYPE_TIMESTAMP);
        *step = TYPE(TYPE_INTERVAL);
        fits = offset.id == TYPE_INTERVAL;
        break;
    default: return no_range(key, TYPE(TYPE_NONE), position, err);
    }
    return fits || unknown ? TCUDB_OK : no_range(key, offset, position, err);
}

/* One end: its offset, and the bound: towards smaller keys where the order runs away from it. */
static tcudb_status range_end(Binder *b, Block *block, const Node *node, const SortKey *key, bool preceding,
                              Expr **offset, Expr **range_key, Expr **bound, Error *err)
{
    if (node == NULL) return TCUDB_OK;
    Type common, step;
    int position = bind_node_position(b, node);
    TRY(bind_expr(b, block, node, offset, err));
    if (bind_expr_has_col(*offset, 0)) {
        return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, (*offset)->position,
                        "argument of RANGE must not contain variables");
    }
    TRY(range_types(key->expr->type, (*offset)->type, position, &common, &step, err));
    bool whole = key->expr->type.id == TYPE_INT2 || key->expr->type.id == TYPE_INT4 || key->expr->type.id == TYPE_INT8;
    if (whole)
        TRY(bind_coerce(b, *offset, TYPE(TYPE_INT8), CAST_IMPLICIT, position, offset, err)); /* a parameter's type */
    TRY(bind_coerce(b, *offset, step, CAST_IMPLICIT, position, offset, err));
    if (*range_key == NULL) TRY(bind_coerce(b, key->expr, common, CAST_IMPLICIT, 0, range_key, err));
    Expr *args[2] = {*range_key, *offset};
    return bind_call(b, FUNC_OPERATOR, preceding == key->descending ? "+" : "-", args, 2, position, position, bound,
                     err);
}

static tcudb_status range_frame(Binder *b, Block *block, const PgQuery__WindowDef *node, const WindowDef *def,
                                WindowCall *call, Error *err)
{
    if (def->norder != 1) {
        return error_at(err, SQLSTATE_WINDOWING_ERROR, bind_position(b, node->location),
                        "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
    }
    TRY(range_end(b, block, node->start_offset, &def->order[0], call->start == FRAME_PRECEDING, &call->start_offset,
                  &call->range_key, &call->range_bounds[0], err));
    return range_end(b, block, node->end_offset, &def->order[0], call->end == FRAME_PRECEDING, &call->end_offset,
                     &call->range_key, &call->range_bounds[1], err);
}

static tcudb_status bind_frame(Binder *b, Block *block, const PgQuery__WindowDef *node, const WindowDef *def,
                               WindowCall *call, Error *err)
{
    int options = node->frame_options, position = bind_position(b, node->location);
    call->unit = options & OPT_ROWS ? FRAME_ROWS : options & OPT_GROUPS ? FRAME_GROUPS : FRAME_RANGE;
    call->exclude = options & OPT_EXCLUDE_ROW     ? EXCLUDE_ROW
                    : options & OPT_EXCLUDE_GROUP ? EXCLUDE_GROUP
                    : options & OPT_EXCLUDE_TIES  ? EXCLUDE_TIES
                                                  : EXCLUDE_NONE;
    if (call->unit == FRAME_GROUPS && def->norder == 0)
        return error_at(err, SQLSTATE_WINDOWING_ERROR, position, "GROUPS mode requires an ORDER BY clause");
    call->start = options & OPT_START_CURRENT     ? FRAME_CURRENT
                  : options & OPT_START_PRECEDING ? FRAME_PRECEDING
                  : options & OPT_START_FOLLOWING ? FRAME_FOLLOWING
                                                  : FRAME_UNBOUNDED;
    call->end = options & OPT_END_UNBOUNDED   ? FRAME_UNBOUNDED
                : options & OPT_END_PRECEDING ? FRAME_PRECEDING
                : options & OPT_END_FOLLOWING ? FRAME_FOLLOWING
                                              : FRAME_CURRENT;
    bool offsets = node->start_offset != NULL || node->end_offset != NULL;
    if (offsets && call->unit == FRAME_RANGE) return range_frame(b, block, node, def, call, err);
    const char *mode = call->unit == FRAME_ROWS ? "ROWS" : "GROUPS";
    if (node->start_offset != NULL) TRY(frame_offset(b, block, node->start_offset, mode, &call->start_offset, err));
    if (node->end_offset != NULL) TRY(frame_offset(b, block, node->end_offset, mode, &call->end_offset, err));
    return TCUDB_OK;
}

/* ---- the call */

static tcudb_status no_function(const char *name, Expr *const *args, uint32_t n, int position, Error *err)
{
    char text[256] = "";
    assert(n == 0 || args != NULL);
    for (uint32_t i = 0, at = 0; i < n && args[i] != NULL && at + 1 < sizeof text; i++) {
        at +=
            (uint32_t)snprintf(text + at, sizeof text - at, "%s%s", i == 0 ? "" : ", ", type_base_name(args[i]->type));
    }
    tcudb_status status =
        error_at(err, SQLSTATE_UNDEFINED_FUNCTION, position, "function %s(%s) does not exist", name, text);
    error_hint(err,
               "No function matches the given name and argument types. You might need to add explicit type casts.");
    return status;
}

/* Types of the arguments and the result. */
static tcudb_status settle_types(Binder *b, WindowCall *call, const char *name, int position, Error *err)
{
    Expr **args = call->args;
    switch (call->func) {
    case WINDOW_ROW_NUMBER:
    case WINDOW_RANK:
    case WINDOW_DENSE_RANK: call->col.type = TYPE(TYPE_INT8); return TCUDB_OK;
    case WINDOW_PERCENT_RANK:
    case WINDOW_CUME_DIST: call->col.type = TYPE(TYPE_FLOAT8); return TCUDB_OK;
    case WINDOW_NTILE: call->col.type = TYPE(TYPE_INT4); break;
    default:
        assert(call->nargs > 0 && args[0] != NULL);
        if (args[0]->type.id == TYPE_UNKNOWN)
            TRY(bind_coerce(b, args[0], TYPE(TYPE_TEXT), CAST_IMPLICIT, 0, &args[0], err));
        if (call->nargs == 3) { /* value and default have one type */
            Expr *both[2] = {args[0], args[2]};
            TRY(bind_unify(b, both, 2, name, position, &call->col.type, err));
            args[0] = both[0];
            args[2] = both[1];
        }
        call->col.type = args[0]->type;
    }
    uint32_t number = call->func == WINDOW_NTILE ? 0 : 1;
    if (call->nargs <= number) return TCUDB_OK;
    if (args[number]->type.id != TYPE_UNKNOWN && !func_can_cast_implicitly(args[number]->type, TYPE(TYPE_INT4))) {
        return no_function(name, args, call->nargs, position, err);
    }
    return bind_coerce(b, args[number], TYPE(TYPE_INT4), CAST_IMPLICIT, args[number]->position, &args[number], err);
}

static tcudb_status bind_function(Binder *b, Block *block, const PgQuery__FuncCall *node, WindowCall *call, Error *err)
{
    const char *name = bind_func_name(node);
    int position = bind_position(b, node->location);
    Expr **args = NULL;
    uint32_t n = (uint32_t)node->n_args;
    TRY(bind_expr_list(b, block, node->args, n, &args, err));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        if (n < functions[i].least || n > functions[i].most) break;
        if (node->agg_filter != NULL) {
            return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                            "FILTER is not implemented for non-aggregate window functions");
        }
        call->func = functions[i].func;
        call->nargs = n;
        if (n > 0) memcpy(call->args, args, sizeof *args * n);
        return settle_types(b, call, name, position, err);
    }
    if (bind_foreign_aggregate(name)) return error_unsupported(err, position, "the aggregate %s", name);
    if (!bind_is_window_name(name)) {
        Expr *ignored = NULL;
        if (b->env->find_table_func == NULL || b->env->find_table_func(str_of(name)) == NULL)
            TRY(bind_call(b, FUNC_FUNCTION, name, args, n, position, position, &ignored, err));
        return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position,
                        "OVER specified, but %s is not a window function nor an aggregate function", name);
    }
    return no_function(name, args, n, position, err);
}

static tcudb_status check_place(const Block *block, int position, Error *err)
{
    if (block->in_window_def)
        return error_at(err, SQLSTATE_WINDOWING_ERROR, position,
                        "window functions are not allowed in window definitions");
    if (block->in_window) {
        return error_at(err, SQLSTATE_WINDOWING_ERROR, position, "window function calls cannot be nested");
    }
    if (block->in_agg) {
        return error_at(err, SQLSTATE_GROUPING_ERROR, position,
                        "aggregate function calls cannot contain window function calls");
    }
    if (block->place == PLACE_SELECT || block->place == PLACE_ORDER_BY || block->place == PLACE_DISTINCT_ON)
        return TCUDB_OK;
    return error_at(err, SQLSTATE_WINDOWING_ERROR, position, "window functions are not allowed in %s",
                    block->place == PLACE_HAVING ? "HAVING" : bind_place_name(block->place));
}

static tcudb_status add_call(Binder *b, Block *block, WindowDef *def, WindowCall *call, const char *name, Error *err)
{
    WindowDef **at = &block->window_defs;
    while (*at != NULL && !same_window(*at, def)) at = &(*at)->next;
    if (*at == NULL) *at = def;
    def = *at;
    TRY_PTR(def->calls = ARENA_MORE(b->arena, def->calls, def->ncalls, &def->cap, err));
    call->col = bind_new_col(b, call->col.type, name);
    call->agg.col = call->col;
    def->calls[def->ncalls++] = *call;
    return TCUDB_OK;
}

static tcudb_status bind_parts(Binder *b, Block *block, const PgQuery__FuncCall *node, WindowDef *def, WindowCall *call,
                               Error *err)
{
    const char *name = bind_func_name(node);
    int position = bind_position(b, node->location);
    if (agg_exists(str_of(name))) {
        if (node->agg_distinct) {
            return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                            "DISTINCT is not implemented for window functions");
        }
        if (node->agg_within_group) {
            return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                            "OVER is not supported for ordered-set aggregate %s", name);
        }
        if (node->n_agg_order > 0) {
            return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                            "aggregate ORDER BY is not implemented for window functions");
        }
        TRY(bind_aggregate_call(b, block, node, &call->agg, err));
        if (node->agg_filter != NULL) TRY(bind_bool(b, block, node->agg_filter, "FILTER", &call->agg.filter, err));
        call->col.type = call->agg.col.type;
    } else {
        TRY(bind_function(b, block, node, call, err));
    }
    const PgQuery__WindowDef *over = node->over, *named = NULL;
    if (over->name[0] != '\0') {
        named = find_named(block, over->name);
        if (named == NULL) {
            return error_at(err, SQLSTATE_UNDEFINED_OBJECT, bind_position(b, over->location),
                            "window \"%s\" does not exist", over->name);
        }
        over = named;
    }
    block->in_window_def = true;
    tcudb_status status = fill_window(b, block, over, def, err);
    if (status == TCUDB_OK) status = bind_frame(b, block, over, def, call, err);
    block->in_window_def = false;
    return status;
}

tcudb_status bind_window(Binder *b, Block *block, const PgQuery__FuncCall *node, Expr **out, Error *err)
{
    int position = bind_position(b, node->location);
    TRY(check_place(block, position, err));
    WindowDef *def = ARENA_NEW(b->arena, WindowDef, err);
    TRY_PTR(def);
    WindowCall call = {0};
    block->in_window = true;
    tcudb_status status = bind_parts(b, block, node, def, &call, err);
    block->in_window = false;
    TRY(status);
    TRY(add_call(b, block, def, &call, bind_func_name(node), err));
    *out = expr_col(b->arena, call.col.id, call.col.type, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

typedef struct CallSearch {
    const WindowDef *defs;
    const Expr *found;
} CallSearch;

static bool find_call(void *ctx, const Expr *e)
{
    CallSearch *search = ctx;
    for (const WindowDef *def = search->defs; e->kind == EXPR_COL && def != NULL; def = def->next) {
        for (uint32_t i = 0; i < def->ncalls; i++)
            if (e->col == def->calls[i].col.id) search->found = e;
    }
    return search->found == NULL;
}

tcudb_status bind_window_refuse(const Block *block, const Expr *e, const char *place, Error *err)
{
    CallSearch search = {block->window_defs, NULL};
    (void)expr_walk(e, find_call, &search);
    if (search.found == NULL) return TCUDB_OK;
    return error_at(err, SQLSTATE_WINDOWING_ERROR, search.found->position, "window functions are not allowed in %s",
                    place);
}

/* ---- the nodes */

/* An expression that a window node needs, as a column: itself if it is one, else one more of the PROJECT. */
static tcudb_status as_column(Binder *b, const Plan *plan, TargetList *list, Expr **slot, Error *err)
{
    if ((*slot)->kind == EXPR_COL && plan_find_col(plan, (*slot)->col) != NULL) return TCUDB_OK;
    TRY(bind_target_add(b, list, *slot, "?column?", 0, err));
    NamedExpr *named = &list->exprs[list->n - 1];
    named->col = bind_new_col(b, (*slot)->type, "?column?");
    *slot = expr_col(b->arena, named->col.id, named->col.type, 0, err);
    TRY_PTR(*slot);
    return TCUDB_OK;
}

typedef tcudb_status (*SlotFn)(void *ctx, Expr **slot, Error *err);

static tcudb_status each_slot(WindowDef *defs, SlotFn fn, void *ctx, Error *err)
{
    for (WindowDef *def = defs; def != NULL; def = def->next) {
        for (uint32_t i = 0; i < def->npartition; i++) TRY(fn(ctx, &def->partition[i], err));
        for (uint32_t i = 0; i < def->norder; i++) TRY(fn(ctx, &def->order[i].expr, err));
        for (uint32_t i = 0; i < def->ncalls; i++) {
            WindowCall *call = &def->calls[i];
            for (uint32_t k = 0; k < call->nargs; k++) TRY(fn(ctx, &call->args[k], err));
            for (uint32_t k = 0; k < call->agg.nargs; k++) TRY(fn(ctx, &call->agg.args[k], err));
            if (call->agg.filter != NULL) TRY(fn(ctx, &call->agg.filter, err));
            if (call->range_key != NULL) TRY(fn(ctx, &call->range_key, err));
            for (uint32_t k = 0; k < 2; k++)
                if (call->range_bounds[k] != NULL) TRY(fn(ctx, &call->range_bounds[k], err));
        }
    }
    return TCUDB_OK;
}

static tcudb_status rewrite_slot(void *ctx, Expr **slot, Error *err)
{
    return bind_group_rewrite(ctx, *slot, slot, err);
}

tcudb_status bind_window_rewrite(GroupMap *map, Block *block, Error *err)
{
    return each_slot(block->window_defs, rewrite_slot, map, err);
}

typedef struct Columns {
    Binder *b;
    const Plan *plan;
    TargetList list;
} Columns;

static tcudb_status column_slot(void *ctx, Expr **slot, Error *err)
{
    Columns *columns = ctx;
    return as_column(columns->b, columns->plan, &columns->list, slot, err);
}

static tcudb_status project_arguments(Binder *b, Block *block, Plan *plan, Plan **out, Error *err)
{
    Columns columns = {.b = b, .plan = plan};
    TRY(each_slot(block->window_defs, column_slot, &columns, err));
    *out = plan;
    uint32_t n = columns.list.n;
    if (n == 0) return TCUDB_OK;
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, plan->ncols + n, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        exprs[i].col = plan->cols[i];
        exprs[i].expr = expr_col(b->arena, plan->cols[i].id, plan->cols[i].type, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    memcpy(exprs + plan->ncols, columns.list.exprs, sizeof *exprs * n);
    return plan_project(b->arena, plan, exprs, plan->ncols + n, out, err);
}

tcudb_status bind_window_plan(Binder *b, Block *block, Plan *plan, Plan **out, Error *err)
{
    *out = plan;
    if (block->window_defs == NULL) return TCUDB_OK;
    TRY(project_arguments(b, block, plan, &plan, err));
    for (const WindowDef *def = block->window_defs; def != NULL; def = def->next) {
        Plan *window = plan_new(b->arena, PLAN_WINDOW, 1, plan->ncols + def->ncalls, err);
        TRY_PTR(window);
        window->inputs[0] = plan;
        if (plan->ncols > 0) memcpy(window->cols, plan->cols, sizeof *plan->cols * plan->ncols);
        for (uint32_t i = 0; i < def->ncalls; i++) window->cols[plan->ncols + i] = def->calls[i].col;
        window->window.partition = def->partition;
        window->window.npartition = def->npartition;
        window->window.order = def->order;
        window->window.norder = def->norder;
        window->window.calls = def->calls;
        window->window.ncalls = def->ncalls;
        plan = window;
    }
    *out = plan;
    return TCUDB_OK;
}
