/*
 * eval.c: compiles expressions into trees of EvalNode.
 *
 * Columns become indices into the batch, parameters become constants, constant subtrees are folded unless
 * that fails (the error then belongs to the rows that reach it). A maximal subtree that reads one text
 * column and nothing else gets a cache slot: eval_run.c evaluates it once per dictionary entry.
 * Cost: one pass over the expression. Depth is limited to EXPR_MAX_DEPTH.
 */
#include "expr/eval_int.h"

#include <assert.h>
#include <stdlib.h>

typedef struct Compiler {
    Arena *arena;
    const ColId *layout;
    uint32_t ncols;
    const Value *params;
    uint32_t nparams;
    uint32_t ncaches;
} Compiler;

static tcudb_status compile(Compiler *c, const Expr *e, uint32_t depth, EvalNode **out, Error *err);

static const EvalOp op_of_kind[EXPR_KINDS] = {
    [EXPR_CONST] = EV_CONST, [EXPR_COL] = EV_COL,           [EXPR_PARAM] = EV_CONST,
    [EXPR_FUNC] = EV_FUNC,   [EXPR_AND] = EV_AND,           [EXPR_OR] = EV_OR,
    [EXPR_CASE] = EV_CASE,   [EXPR_COALESCE] = EV_COALESCE, [EXPR_IN] = EV_IN,
};

static tcudb_status make_const(Compiler *c, EvalNode *node, const Value *value, Error *err)
{
    node->op = EV_CONST;
    node->nargs = 0;
    Value typed = *value;
    typed.type = node->type;
    return vec_const(c->arena, &typed, &node->constant, err);
}

static tcudb_status compile_col(Compiler *c, const Expr *e, EvalNode *node, Error *err)
{
    for (uint32_t i = 0; i < c->ncols; i++) {
        if (c->layout[i] != e->col) continue;
        node->col = i;
        return TCUDB_OK;
    }
    return error_at(err, SQLSTATE_INTERNAL_ERROR, e->position, "column #%u is not in the input", e->col);
}

static tcudb_status compile_param(Compiler *c, const Expr *e, EvalNode *node, Error *err)
{
    if (e->param >= c->nparams)
        return error_at(err, SQLSTATE_UNDEFINED_PARAMETER, e->position, "there is no parameter $%u", e->param + 1);
    return make_const(c, node, &c->params[e->param], err);
}

/* A node is foldable if everything below is constant and it always gives the same value. */
static bool foldable(const EvalNode *node)
{
    if (node->op == EV_CONST || node->op == EV_COL || node->is_volatile) return false;
    if (node->func != NULL && (node->func->flags & (FUNC_VOLATILE | FUNC_STABLE)) != 0) return false;
    for (uint32_t i = 0; i < node->nargs; i++)
        if (node->args[i]->op != EV_CONST) return false;
    return true;
}

static tcudb_status fold(Compiler *c, EvalNode *node, Error *err)
{
    Batch batch = {.rows = 1, .n = 1};
    EvalCtx ctx = {.arena = c->arena};
    EvalState state = {.arena = c->arena};
    EvalRun run = {&state, &ctx, &batch, true};
    Vector v;
    Error ignored = {0};
    tcudb_status status = eval_node(&run, node, NULL, 1, &v, &ignored);
    if (status == TCUDB_ERROR) return TCUDB_OK;
    if (status != TCUDB_OK) {
        if (err != NULL) *err = ignored;
        return status;
    }
    Value value = vec_value(&v, 0);
    return make_const(c, node, &value, err);
}

/* Which single column of text or dates the subtree reads. EVAL_NO_COL - 1 stands for "none at all". */
static void note_columns(EvalNode *node)
{
    enum { NONE = EVAL_NO_COL - 1 };
    if (node->op == EV_CONST) {
        node->only_col = NONE;
        return;
    }
    if (node->op == EV_COL) {
        node->days = node->type.id == TYPE_DATE;
        node->only_col = node->phys == PHYS_STR || node->days ? node->col : EVAL_NO_COL;
        return;
    }
    uint32_t only = NONE;
    for (uint32_t i = 0; i < node->nargs; i++) {
        uint32_t below = node->args[i]->only_col;
        node->days |= node->args[i]->days;
        node->dear |= node->args[i]->dear;
        if (below == NONE || below == only) continue;
        only = only == NONE ? below : EVAL_NO_COL;
    }
    node->dear |= node->op == EV_FUNC && node->phys != PHYS_BOOL && node->phys != PHYS_I32;
    bool moving = node->is_volatile || (node->func != NULL && (node->func->flags & FUNC_STABLE) != 0);
    node->only_col = moving ? EVAL_NO_COL : only;
}

static tcudb_status compile_args(Compiler *c, const Expr *e, EvalNode *node, uint32_t depth, Error *err)
{
    node->nargs = e->nargs;
    if (e->nargs == 0) return TCUDB_OK;
    node->args = ARENA_ARRAY(c->arena, EvalNode *, e->nargs, err);
    TRY_PTR(node->args);
    for (uint32_t i = 0; i < e->nargs; i++) {
        TRY(compile(c, e->args[i], depth + 1, &node->args[i], err));
        node->is_volatile |= node->args[i]->is_volatile;
    }
    return TCUDB_OK;
}

/* x IN (a, b) with items that are not constant: x = a OR x = b. */
static tcudb_status compile_in_as_or(Compiler *c, EvalNode *node, Error *err)
{
    FuncCall call;
    Type types[2] = {node->args[0]->type, node->args[0]->type};
    TRY(func_resolve(FUNC_OPERATOR, STR_LIT("="), types, 2, 0, &call, err));
    uint32_t n = node->nargs - 1;
    EvalNode **tests = ARENA_ARRAY(c->arena, EvalNode *, n, err);
    TRY_PTR(tests);
    for (uint32_t i = 0; i < n; i++) {
        EvalNode *test = ARENA_NEW(c->arena, EvalNode, err);
        TRY_PTR(test);
        EvalNode **pair = ARENA_ARRAY(c->arena, EvalNode *, 2, err);
        TRY_PTR(pair);
        pair[0] = node->args[0];
        pair[1] = node->args[i + 1];
        *test = (EvalNode){.op = EV_FUNC,
                           .phys = PHYS_BOOL,
                           .type = TYPE(TYPE_BOOL),
                           .nargs = 2,
                           .args = pair,
                           .func = call.func,
                           .cache = EVAL_NO_CACHE,
                           .only_col = EVAL_NO_COL};
        tests[i] = test;
    }
    node->op = EV_OR;
    node->args = tests;
    node->nargs = n;
    return TCUDB_OK;
}

static tcudb_status compile_in(Compiler *c, EvalNode *node, Error *err)
{
    TRY(eval_in_set(c->arena, node, &node->in, err));
    if (node->in == NULL) return compile_in_as_or(c, node, err);
    node->nargs = 1;
    return TCUDB_OK;
}

/* A call whose only argument is a call that the function can do with its own work. */
static void fuse(EvalNode *node)
{
    if (node->nargs != 1 || node->args[0]->op != EV_FUNC) return;
    const EvalNode *inner = node->args[0];
    const Func *both = func_fused(node->func, inner->func);
    if (both == NULL) return;
    node->func = both;
    node->nargs = inner->nargs;
    node->args = inner->args;
}

static tcudb_status compile(Compiler *c, const Expr *e, uint32_t depth, EvalNode **out, Error *err)
{
    if (depth > EXPR_MAX_DEPTH) return expr_depth_error(err);
    EvalNode *node = ARENA_NEW(c->arena, EvalNode, err);
    TRY_PTR(node);
    *node = (EvalNode){
        .op = op_of_kind[e->kind], .phys = (uint8_t)type_phys(e->type), .type = e->type, .cache = EVAL_NO_CACHE};
    TRY(compile_args(c, e, node, depth, err));
    switch (e->kind) {
    case EXPR_CONST: TRY(make_const(c, node, &e->value, err)); break;
    case EXPR_COL: TRY(compile_col(c, e, node, err)); break;
    case EXPR_PARAM: TRY(compile_param(c, e, node, err)); break;
    case EXPR_FUNC:
        node->func = e->func;
        node->is_volatile |= (e->func->flags & FUNC_VOLATILE) != 0;
        fuse(node);
        break;
    default: break;
    }
    bool fold_it = foldable(node);
    if (e->kind == EXPR_IN) TRY(compile_in(c, node, err));
    if (fold_it) TRY(fold(c, node, err));
    note_columns(node);
    *out = node;
    return TCUDB_OK;
}

/* Gives slots to the topmost nodes that depend on one text column, or by dear functions on one of dates. */
static void place_caches(Compiler *c, EvalNode *node)
{
    if (node->op == EV_CONST || node->op == EV_COL) return;
    if (node->only_col < c->ncols && (!node->days || node->dear)) {
        node->cache = c->ncaches++;
        return;
    }
    for (uint32_t i = 0; i < node->nargs; i++) place_caches(c, node->args[i]);
}

tcudb_status eval_compile(Arena *arena, const Expr *e, const ColId *layout, uint32_t ncols, const Value *params,
                          uint32_t nparams, Evaluator **out, Error *err)
{
    Compiler c = {arena, layout, ncols, params, nparams, 0};
    Evaluator *evaluator = ARENA_NEW(arena, Evaluator, err);
    TRY_PTR(evaluator);
    TRY(compile(&c, e, 0, &evaluator->root, err));
    place_caches(&c, evaluator->root);
    evaluator->ncaches = c.ncaches;
    *out = evaluator;
    return TCUDB_OK;
}

tcudb_status eval_state_new(Arena *arena, const Evaluator *e, EvalState **out, Error *err)
{
    EvalState *state = ARENA_NEW(arena, EvalState, err);
    TRY_PTR(state);
    state->arena = arena;
    if (e->ncaches > 0) {
        state->caches = ARENA_ARRAY(arena, DictCache, e->ncaches, err);
        TRY_PTR(state->caches);
    }
    *out = state;
    return TCUDB_OK;
}

tcudb_status eval_const(Arena *arena, const Expr *e, const Value *params, uint32_t nparams, EvalCtx *ctx, Value *out,
                        Error *err)
{
    Evaluator *evaluator;
    EvalState *state;
    TRY(eval_compile(arena, e, NULL, 0, params, nparams, &evaluator, err));
    TRY(eval_state_new(arena, evaluator, &state, err));
    Batch batch = {.rows = 1, .n = 1};
    Vector v;
    TRY(eval_run(evaluator, state, ctx, &batch, &v, err));
    *out = vec_value(&v, 0);
    out->type = e->type;
    return TCUDB_OK;
}

/* ---- IN lists --------------------------------------------------------------------------------- */

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_values(const void *a, const void *b)
{
    return value_compare(a, b);
}

tcudb_status eval_in_set(Arena *arena, const EvalNode *node, InSet **out, Error *err)
{
    assert(node->nargs >= 2);
    uint32_t n = node->nargs - 1;
    for (uint32_t i = 1; i <= n; i++)
        if (node->args[i]->op != EV_CONST) return TCUDB_OK;
    InSet *set = ARENA_NEW(arena, InSet, err);
    TRY_PTR(set);
    set->values = ARENA_ARRAY(arena, Value, n, err);
    TRY_PTR(set->values);
    set->ints = ARENA_ARRAY(arena, int64_t, n, err);
    TRY_PTR(set->ints);
    bool ints = node->args[0]->phys <= PHYS_I64;
    for (uint32_t i = 1; i <= n; i++) {
        Value v = vec_value(&node->args[i]->constant, 0);
        if (v.null) {
            set->has_null = true;
            continue;
        }
        if (ints) value_int64(&v, &set->ints[set->n]);
        set->values[set->n++] = v;
    }
    if (ints)
        qsort(set->ints, set->n, sizeof *set->ints, compare_ints);
    else
        qsort(set->values, set->n, sizeof *set->values, compare_values);
    if (!ints) set->ints = NULL;
    *out = set;
    return TCUDB_OK;
}
