/*
 * simplify.c: an expression in its simplest form.
 *
 * Bottom-up, one pass. Every rewrite keeps the three-valued result for every row, except in
 * expr_simplify_filter, where NULL and FALSE are the same at the top and below AND and OR.
 *
 *   constants         a call of constants is evaluated now, unless that fails (then it fails when a row
 *                     reaches it) or the function is volatile or depends on the time
 *   AND, OR           flattened; TRUE in AND and FALSE in OR dropped; FALSE in AND and TRUE in OR win;
 *                     duplicates dropped
 *   NOT               of NOT, of a constant; of a comparison: the opposite one (PostgreSQL orders NaN, so
 *                     NOT < is >=); of AND and OR: De Morgan
 *   OR of x = c       x IN (c, ...)
 *   (a AND b) OR (a AND c)   a AND (b OR c): frees the join condition of TPC-H query 19
 *   CASE, COALESCE    decided where the conditions are constants
 *   cast(x) op c      in casts.c
 */
#include "expr/eval.h"
#include "opt/opt_int.h"

#include <assert.h>

enum { MAX_DEPTH = 4000, IN_MIN = 2 };

static tcudb_status simplify(Opt *opt, Expr *e, bool filter, uint32_t depth, Expr **out, Error *err);

static bool args_const(const Expr *e)
{
    for (uint32_t i = 0; i < e->nargs; i++)
        if (e->args[i]->kind != EXPR_CONST) return false;
    return true;
}

static bool foldable(const Expr *e)
{
    if (e->kind == EXPR_FUNC) return (e->func->flags & (FUNC_VOLATILE | FUNC_STABLE)) == 0 && args_const(e);
    return e->kind == EXPR_IN && args_const(e);
}

/* A strict function of a NULL constant is NULL; as in PostgreSQL the other arguments are not evaluated, even where
 * they would fail. */
static bool null_by_strictness(const Expr *e)
{
    if (e->kind != EXPR_FUNC || (e->func->flags & FUNC_STRICT) == 0) return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (expr_is_null_const(e->args[i])) return true;
    return false;
}

static tcudb_status null_of(Opt *opt, const Expr *e, Expr **out, Error *err)
{
    Value null = {.type = e->type, .null = true};
    *out = expr_const(opt->arena, &null, e->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status fold(Opt *opt, Expr *e, Expr **out, Error *err)
{
    EvalCtx ctx = {.arena = opt->arena, .now = opt->env->now};
    Value value;
    Error ignored;
    error_clear(&ignored);
    tcudb_status status = eval_const(opt->arena, e, NULL, 0, &ctx, &value, &ignored);
    *out = e;
    if (status == TCUDB_NOMEM) {
        if (err != NULL) *err = ignored;
        return status;
    }
    if (status != TCUDB_OK) return TCUDB_OK;
    value.type = e->type;
    *out = expr_const(opt->arena, &value, e->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* ---- AND and OR ----------------------------------------------------------------------------- */

static tcudb_status flatten(Opt *opt, ExprKind kind, Expr *e, ExprList *out, Error *err)
{
    if (e->kind != kind) return list_add(opt, out, e, err);
    for (uint32_t i = 0; i < e->nargs; i++) TRY(flatten(opt, kind, e->args[i], out, err));
    return TCUDB_OK;
}

/* Splits e into its conjuncts (or itself) for comparison with others. */
static bool every_branch_has(const ExprList *branches, const Expr *e)
{
    for (uint32_t i = 0; i < branches->n; i++) {
        const Expr *branch = branches->items[i];
        if (branch->kind != EXPR_AND) {
            if (!expr_equal(branch, e)) return false;
            continue;
        }
        ExprList conjuncts = {.items = branch->args, .n = branch->nargs};
        if (!list_has(&conjuncts, e)) return false;
    }
    return true;
}

static tcudb_status without(Opt *opt, Expr *branch, const ExprList *factors, Expr **out, Error *err)
{
    ExprList rest = {0};
    *out = NULL;
    if (branch->kind != EXPR_AND) return TCUDB_OK; /* it is one of the factors */
    for (uint32_t i = 0; i < branch->nargs; i++)
        if (!list_has(factors, branch->args[i])) TRY(list_add(opt, &rest, branch->args[i], err));
    return rest.n == 0 ? TCUDB_OK : expr_and(opt, rest.items, rest.n, out, err);
}

/* (a AND b) OR (a AND c) -> a AND (b OR c); a OR (a AND c) -> a. */
static tcudb_status factor(Opt *opt, const ExprList *branches, Expr * or, Expr **out, Error *err)
{
    const Expr *first = branches->items[0];
    ExprList conjuncts = {.items = first->args, .n = first->nargs};
    if (first->kind != EXPR_AND) conjuncts = (ExprList){.items = branches->items, .n = 1};
    ExprList factors = {0}, rest = {0};
    for (uint32_t i = 0; i < conjuncts.n; i++)
        if (!expr_volatile(conjuncts.items[i]) && every_branch_has(branches, conjuncts.items[i]))
            TRY(list_add_new(opt, &factors, conjuncts.items[i], err));
    *out = or ;
    if (factors.n == 0) return TCUDB_OK;
    bool absorbed = false; /* some branch is the factors alone: the OR is they */
    for (uint32_t i = 0; i < branches->n && !absorbed; i++) {
        Expr *e;
        TRY(without(opt, branches->items[i], &factors, &e, err));
        if (e == NULL)
            absorbed = true;
        else
            TRY(list_add(opt, &rest, e, err));
    }
    if (!absorbed) {
        Expr *e;
        TRY(expr_or(opt, rest.items, rest.n, &e, err));
        TRY(list_add(opt, &factors, e, err));
    }
    return expr_and(opt, factors.items, factors.n, out, err);
}

/* x of "x = constant" or "x IN (constants)"; NULL if e is neither. */
static Expr *in_subject(const Expr *e)
{
    if (e->kind == EXPR_IN) {
        for (uint32_t i = 1; i < e->nargs; i++)
            if (e->args[i]->kind != EXPR_CONST) return NULL;
        return e->args[0];
    }
    if (!expr_is_equality(e) || e->args[1]->kind != EXPR_CONST) return NULL;
    return type_equal(e->args[0]->type, e->args[1]->type) ? e->args[0] : NULL;
}

static tcudb_status make_in(Opt *opt, Expr *subject, const ExprList *values, Expr **out, Error *err)
{
    ExprList args = {0};
    TRY(list_add(opt, &args, subject, err));
    for (uint32_t i = 0; i < values->n; i++) TRY(list_add_new(opt, &args, values->items[i], err));
    *out = expr_node(opt->arena, EXPR_IN, TYPE(TYPE_BOOL), args.items, args.n, subject->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* Gathers the branches about `subject` from place i on; they are set to NULL. */
static tcudb_status gather_in(Opt *opt, ExprList *branches, uint32_t i, ExprList *values, uint32_t *found, Error *err)
{
    const Expr *subject = in_subject(branches->items[i]);
    *found = 0;
    for (uint32_t k = i; k < branches->n; k++) {
        Expr *e = branches->items[k];
        const Expr *other = e == NULL ? NULL : in_subject(e);
        if (other == NULL || !expr_equal(other, subject)) continue;
        TRY(list_add_all(opt, values, e->args + 1, e->nargs - 1, err));
        if (k > i) branches->items[k] = NULL;
        (*found)++;
    }
    return TCUDB_OK;
}

static tcudb_status merge_equalities(Opt *opt, ExprList *branches, Error *err)
{
    ExprList merged = {0};
    for (uint32_t i = 0; i < branches->n; i++) {
        Expr *e = branches->items[i];
        if (e == NULL) continue;
        Expr *subject = in_subject(e);
        if (subject != NULL && !expr_volatile(subject)) {
            ExprList values = {0};
            uint32_t found = 0;
            TRY(gather_in(opt, branches, i, &values, &found, err));
            if (found >= IN_MIN) TRY(make_in(opt, subject, &values, &e, err));
        }
        TRY(list_add(opt, &merged, e, err));
    }
    *branches = merged;
    return TCUDB_OK;
}

static tcudb_status simplify_logic(Opt *opt, Expr *e, bool filter, Expr **out, Error *err)
{
    ExprList flat = {0}, kept = {0};
    bool is_and = e->kind == EXPR_AND;
    TRY(flatten(opt, e->kind, e, &flat, err));
    for (uint32_t i = 0; i < flat.n; i++) {
        Expr *arg = flat.items[i];
        bool neutral = is_and ? expr_is_true(arg) : expr_is_false(arg);
        bool decides = is_and ? expr_is_false(arg) : expr_is_true(arg);
        if (filter && expr_is_null_const(arg)) neutral = !is_and, decides = is_and;
        if (decides) {
            *out = expr_bool(opt, !is_and, err);
            TRY_PTR(*out);
            return TCUDB_OK;
        }
        if (!neutral) TRY(list_add_new(opt, &kept, arg, err));
    }
    if (!is_and) TRY(merge_equalities(opt, &kept, err));
    if (kept.n == 0) {
        *out = expr_bool(opt, is_and, err);
        TRY_PTR(*out);
        return TCUDB_OK;
    }
    bool same = kept.n == e->nargs;
    for (uint32_t i = 0; same && i < kept.n; i++) same = kept.items[i] == e->args[i];
    *out = e;
    if (!same) TRY(is_and ? expr_and(opt, kept.items, kept.n, out, err) : expr_or(opt, kept.items, kept.n, out, err));
    return is_and || kept.n < 2 ? TCUDB_OK : factor(opt, &kept, *out, out, err);
}

/* ---- NOT, IS NULL, CASE, COALESCE ------------------------------------------------------------ */

static const char *opposite(FuncCompare compare)
{
    static const FuncCompare opposites[] = {[CMP_EQ] = CMP_NE, [CMP_NE] = CMP_EQ, [CMP_LT] = CMP_GE,
                                            [CMP_LE] = CMP_GT, [CMP_GT] = CMP_LE, [CMP_GE] = CMP_LT};
    return compare_symbol(opposites[compare]);
}

static tcudb_status push_not(Opt *opt, Expr *e, uint32_t depth, Expr **out, Error *err)
{
    Expr *arg = e->args[0];
    *out = e;
    if (expr_is_not(arg)) {
        *out = arg->args[0];
        return TCUDB_OK;
    }
    const char *op = opposite(expr_compare(arg));
    if (op != NULL) return expr_operator(opt, op, arg->args[0], arg->args[1], out, err);
    if (arg->kind != EXPR_AND && arg->kind != EXPR_OR) return TCUDB_OK;
    ExprList negated = {0};
    for (uint32_t i = 0; i < arg->nargs; i++) {
        Expr *part;
        TRY(expr_negate(opt, arg->args[i], &part, err));
        TRY(simplify(opt, part, false, depth + 1, &part, err));
        TRY(list_add(opt, &negated, part, err));
    }
    TRY(arg->kind == EXPR_AND ? expr_or(opt, negated.items, negated.n, out, err)
                              : expr_and(opt, negated.items, negated.n, out, err));
    return simplify_logic(opt, *out, false, out, err);
}

static tcudb_status simplify_case(Opt *opt, Expr *e, Expr **out, Error *err)
{
    ExprList args = {0};
    for (uint32_t i = 0; i + 1 < e->nargs; i += 2) {
        if (expr_never_true(e->args[i])) continue;
        if (expr_is_true(e->args[i])) {
            TRY(list_add(opt, &args, e->args[i + 1], err));
            break;
        }
        TRY(list_add(opt, &args, e->args[i], err));
        TRY(list_add(opt, &args, e->args[i + 1], err));
    }
    if (args.n % 2 == 0) TRY(list_add(opt, &args, e->args[e->nargs - 1], err));
    *out = e;
    if (args.n == e->nargs) return TCUDB_OK;
    if (args.n == 1) return expr_relabel(opt->arena, args.items[0], e->type, e->position, out, err);
    *out = expr_node(opt->arena, EXPR_CASE, e->type, args.items, args.n, e->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status simplify_coalesce(Opt *opt, Expr *e, bool filter, Expr **out, Error *err)
{
    ExprList args = {0};
    if (filter && e->nargs == 2 && expr_is_false(e->args[1])) { /* NULL and FALSE are the same here */
        *out = e->args[0];
        return TCUDB_OK;
    }
    for (uint32_t i = 0; i < e->nargs; i++) {
        if (expr_is_null_const(e->args[i])) continue;
        TRY(list_add(opt, &args, e->args[i], err));
        if (e->args[i]->kind == EXPR_CONST) break;
    }
    *out = e;
    if (args.n == 0) return null_of(opt, e, out, err);
    if (args.n == 1) return expr_relabel(opt->arena, args.items[0], e->type, e->position, out, err);
    if (args.n == e->nargs) return TCUDB_OK;
    *out = expr_node(opt->arena, EXPR_COALESCE, e->type, args.items, args.n, e->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* x IN (one constant) is x = it. */
static tcudb_status simplify_in(Opt *opt, Expr *e, Expr **out, Error *err)
{
    *out = e;
    if (expr_is_null_const(e->args[0])) return null_of(opt, e, out, err);
    if (e->nargs != 2) return TCUDB_OK;
    return expr_operator(opt, "=", e->args[0], e->args[1], out, err);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static tcudb_status simplify_args(Opt *opt, Expr *e, bool filter, uint32_t depth, Expr **out, Error *err)
{
    Expr *copy = NULL;
    for (uint32_t i = 0; i < e->nargs; i++) {
        Expr *arg;
        TRY(simplify(opt, e->args[i], filter, depth + 1, &arg, err));
        if (arg == e->args[i]) continue;
        if (copy == NULL) {
            copy = expr_node(opt->arena, e->kind, e->type, e->args, e->nargs, e->position, err);
            TRY_PTR(copy);
            if (e->kind == EXPR_FUNC) copy->func = e->func;
        }
        copy->args[i] = arg;
    }
    *out = copy == NULL ? e : copy;
    return TCUDB_OK;
}

static tcudb_status simplify_param(Opt *opt, Expr *e, Expr **out, Error *err)
{
    *out = e;
    if (opt->env->params == NULL || e->param >= opt->env->nparams) return TCUDB_OK;
    Value value = opt->env->params[e->param];
    if (!value.null && type_phys(value.type) != type_phys(e->type)) return TCUDB_OK;
    value.type = e->type;
    *out = expr_const(opt->arena, &value, e->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status simplify_node(Opt *opt, Expr *e, bool filter, uint32_t depth, Expr **out, Error *err)
{
    *out = e;
    if (foldable(e)) return fold(opt, e, out, err);
    if (null_by_strictness(e)) return null_of(opt, e, out, err);
    switch (e->kind) {
    case EXPR_PARAM: return simplify_param(opt, e, out, err);
    case EXPR_AND:
    case EXPR_OR: return simplify_logic(opt, e, filter, out, err);
    case EXPR_CASE: return simplify_case(opt, e, out, err);
    case EXPR_COALESCE: return simplify_coalesce(opt, e, filter, out, err);
    case EXPR_IN: return simplify_in(opt, e, out, err);
    case EXPR_FUNC:
        if (expr_is_not(e)) return push_not(opt, e, depth, out, err);
        if (expr_compare(e) != CMP_NONE) return expr_move_cast(opt, e, filter, out, err);
        return TCUDB_OK;
    default: return TCUDB_OK;
    }
}

static tcudb_status simplify(Opt *opt, Expr *e, bool filter, uint32_t depth, Expr **out, Error *err)
{
    if (depth > MAX_DEPTH) return error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    Expr *inner;
    bool logic = e->kind == EXPR_AND || e->kind == EXPR_OR;
    TRY(simplify_args(opt, e, filter && logic, depth, &inner, err));
    TRY(simplify_node(opt, inner, filter, depth, out, err));
    assert(type_phys((*out)->type) == type_phys(e->type));
    return TCUDB_OK;
}

tcudb_status expr_simplify(Opt *opt, Expr *e, Expr **out, Error *err)
{
    return simplify(opt, e, false, 0, out, err);
}

tcudb_status expr_simplify_filter(Opt *opt, Expr *e, Expr **out, Error *err)
{
    return simplify(opt, e, true, 0, out, err);
}
