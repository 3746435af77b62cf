/*
 * verify.c: the invariants of plan.h, checked.
 *
 * Run after every rule in builds with assertions, so it names the node and the fault; the rule is known
 * to the caller. Checked per node: number of inputs; output columns (which ones, in which order, of
 * which types, as the kind demands); every expression: its own types (expr_verify), and that each column
 * in it is in scope with the type it claims. In scope are the inputs' outputs and, inside the right side
 * of an APPLY, the outer columns. Cost: columns are looked for from behind the last
 * one found, so nodes x columns where nodes keep their inputs' order.
 */
#include "plan/plan_int.h"

#include <assert.h>

/* The outputs visible in an expression: of one or two plans, then of the enclosing applies' left sides. */
typedef struct Scope {
    const Plan *plans[2];
    const struct Scope *outer;
} Scope;

typedef struct Verifier {
    const Plan *node; /* being checked, for messages */
    const Scope *scope;
    const Expr *culprit;
    Error *err;
} Verifier;

#define fault(v, format, ...)                                                                                          \
    error_set((v)->err, SQLSTATE_INTERNAL_ERROR, "plan: %s: " format, plan_kind_name((v)->node->kind), ##__VA_ARGS__)

static const PlanCol *in_scope(const Scope *scope, ColId id)
{
    for (; scope != NULL; scope = scope->outer) {
        for (int i = 0; i < 2; i++) {
            const PlanCol *col = scope->plans[i] == NULL ? NULL : plan_find_col(scope->plans[i], id);
            if (col != NULL) return col;
        }
    }
    return NULL;
}

static bool column_ok(void *ctx, const Expr *e)
{
    Verifier *v = ctx;
    if (e->kind != EXPR_COL) return true;
    const PlanCol *col = in_scope(v->scope, e->col);
    /* A relabelling cast (varchar to text) changes a reference's type, not its bits. */
    if (col != NULL && type_phys(col->type) == type_phys(e->type)) return true;
    v->culprit = e;
    return false;
}

static tcudb_status check_expr(Verifier *v, const Expr *e)
{
    if (e == NULL) return fault(v, "missing expression");
    TRY(expr_verify(e, v->err));
    if (expr_walk(e, column_ok, v)) return TCUDB_OK;
    assert(v->culprit != NULL);
    bool known = in_scope(v->scope, v->culprit->col) != NULL;
    return fault(v, "column #%u %s", (unsigned)v->culprit->col, known ? "has another type" : "is not in scope");
}

static tcudb_status check_conds(Verifier *v, Expr *const *conds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        TRY(check_expr(v, conds[i]));
        if (conds[i]->type.id != TYPE_BOOL) return fault(v, "condition %u is not boolean", (unsigned)i);
    }
    return TCUDB_OK;
}

static tcudb_status check_col(Verifier *v, const PlanCol *col, const PlanCol *want)
{
    if (want == NULL) return fault(v, "output column %s#%u comes from nowhere", col->name, (unsigned)col->id);
    if (!type_equal(col->type, want->type))
        return fault(v, "output column %s#%u has another type than its source", col->name, (unsigned)col->id);
    return TCUDB_OK;
}

static bool is_among_first(const Plan *plan, uint32_t n, ColId id)
{
    for (uint32_t k = 0; k < n; k++)
        if (plan->cols[k].id == id) return true;
    return false;
}

/* Only an id whose place in a small set of remainders is taken can be there already. */
static tcudb_status check_unique(Verifier *v)
{
    enum { PLACES = 4096 };
    const Plan *plan = v->node;
    uint64_t seen[PLACES / 64] = {0};
    ColId most = 0; /* so far: ids mostly grow */
    for (uint32_t i = 0; i < plan->ncols; i++) {
        ColId id = plan->cols[i].id;
        if (id == 0 || plan->cols[i].name == NULL) return fault(v, "output column %u has no id or name", i);
        if (id <= most && bit_get(seen, id % PLACES) && is_among_first(plan, i, id))
            return fault(v, "output column #%u twice", (unsigned)id);
        if (id > most) most = id;
        bit_set(seen, id % PLACES);
    }
    return TCUDB_OK;
}

enum { LEFT_SIDE = 1, RIGHT_SIDE = 2 };

/* plan_find_col, looking at column *at first, which is moved behind the column found. */
static const PlanCol *find_from(const Plan *plan, ColId id, uint32_t *at)
{
    const PlanCol *col = *at < plan->ncols && plan->cols[*at].id == id ? &plan->cols[*at] : plan_find_col(plan, id);
    if (col != NULL) *at = (uint32_t)(col - plan->cols) + 1;
    return col;
}

/* Outputs are a subset of those of the inputs in `sides` and `extra`. */
static tcudb_status check_subset(Verifier *v, const PlanCol *extra, uint32_t sides)
{
    const Plan *plan = v->node;
    uint32_t at[2] = {0, 0};
    for (uint32_t i = 0; i < plan->ncols; i++) {
        const PlanCol *col = &plan->cols[i];
        const PlanCol *want = NULL;
        for (uint32_t step = 0; step < plan->ninputs && want == NULL; step++) {
            uint32_t k =
                at[0] == 0 || at[0] < plan->inputs[0]->ncols ? step : plan->ninputs - 1 - step; /* left is done */
            if ((sides >> k & 1) != 0) want = find_from(plan->inputs[k], col->id, &at[k]);
        }
        if (want == NULL && extra != NULL && extra->id == col->id) want = extra;
        TRY(check_col(v, col, want));
    }
    return TCUDB_OK;
}

/* The i-th output is the i-th of what the node defines. */
static tcudb_status check_defined(Verifier *v, uint32_t i, const PlanCol *defined, Type type)
{
    if (i >= v->node->ncols || v->node->cols[i].id != defined->id)
        return fault(v, "output column %u is not %s#%u", (unsigned)i, defined->name, (unsigned)defined->id);
    if (!type_equal(defined->type, v->node->cols[i].type) || !type_equal(defined->type, type))
        return fault(v, "%s#%u has another type than its expression", defined->name, (unsigned)defined->id);
    return TCUDB_OK;
}

static tcudb_status check_scan(Verifier *v)
{
    const Plan *plan = v->node;
    const TableDef *def = plan->scan.table == NULL ? NULL : table_def(plan->scan.table);
    if (def == NULL) return fault(v, "no table");
    for (uint32_t i = 0; i < plan->ncols; i++) {
        uint32_t col = plan->scan.columns[i];
        Type type = col == ROWID_COLUMN ? TYPE(TYPE_INT8) : TYPE(TYPE_NONE);
        if (col != ROWID_COLUMN && col >= def->ncols) return fault(v, "no column %u", (unsigned)col);
        if (col != ROWID_COLUMN) type = def->cols[col].type;
        if (!type_equal(type, plan->cols[i].type)) return fault(v, "column %u has another type", (unsigned)i);
    }
    for (uint32_t i = 0; i < plan->scan.nsemi; i++)
        if (plan_find_col(plan, plan->scan.semi[i].col) == NULL) return fault(v, "a bitmap tests no output column");
    return check_conds(v, plan->scan.filters, plan->scan.nfilters);
}

static tcudb_status check_values(Verifier *v)
{
    const Plan *plan = v->node;
    for (uint64_t i = 0; i < plan->values.nrows * plan->ncols; i++) {
        const Expr *e = plan->values.rows_exprs[i];
        TRY(check_expr(v, e));
        if (!type_equal(e->type, plan->cols[i % plan->ncols].type)) return fault(v, "a value has another type");
    }
    return TCUDB_OK;
}

static tcudb_status check_project(Verifier *v)
{
    const Plan *plan = v->node;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        const NamedExpr *e = &plan->project.exprs[i];
        TRY(check_expr(v, e->expr));
        TRY(check_defined(v, i, &e->col, e->expr->type));
        bool passes = plan_find_col(plan->inputs[0], e->col.id) != NULL;
        if (passes && !(e->expr->kind == EXPR_COL && e->expr->col == e->col.id))
            return fault(v, "%s#%u is redefined", e->col.name, (unsigned)e->col.id);
    }
    return TCUDB_OK;
}

static tcudb_status check_join(Verifier *v)
{
    const Plan *plan = v->node;
    JoinKind kind = plan->join.kind;
    if ((unsigned)kind > JOIN_RIGHT_ANTI) return fault(v, "unknown kind");
    if ((kind == JOIN_MARK) != (plan->join.mark.id != 0)) return fault(v, "mark column and kind disagree");
    if (kind == JOIN_MARK && plan->join.mark.type.id != TYPE_BOOL) return fault(v, "the mark is not boolean");
    for (uint32_t i = 0; i < plan->join.nsemi; i++)
        if (plan_find_col(plan->inputs[1], plan->join.semi[i].key) == NULL)
            return fault(v, "a bitmap's key is not in the right input");
    TRY(check_conds(v, plan->join.conds, plan->join.nconds));
    uint32_t sides = kind == JOIN_SEMI || kind == JOIN_ANTI || kind == JOIN_MARK ? LEFT_SIDE
                     : kind == JOIN_RIGHT_SEMI || kind == JOIN_RIGHT_ANTI        ? RIGHT_SIDE
                                                                                 : LEFT_SIDE | RIGHT_SIDE;
    return check_subset(v, kind == JOIN_MARK ? &plan->join.mark : NULL, sides);
}

static tcudb_status check_apply(Verifier *v)
{
    const Plan *plan = v->node;
    const PlanCol *result = &plan->apply.result;
    ApplyKind kind = plan->apply.kind;
    bool lateral = kind == APPLY_CROSS || kind == APPLY_LEFT;
    bool tests = kind == APPLY_ANY || kind == APPLY_ALL;
    if ((unsigned)kind > APPLY_LEFT) return fault(v, "unknown kind");
    if (lateral != (result->id == 0)) return fault(v, "result column and kind disagree");
    if (kind == APPLY_SCALAR) {
        if (plan->inputs[1]->ncols < 1) return fault(v, "the right side has no column");
        if (!type_equal(plan->inputs[1]->cols[0].type, result->type)) return fault(v, "result of another type");
    } else if (!lateral && result->type.id != TYPE_BOOL) {
        return fault(v, "the result is not boolean");
    }
    if (tests) TRY(check_conds(v, (Expr *const *)&plan->apply.test, 1));
    for (uint32_t i = 0; i < plan->inputs[1]->ncols; i++)
        if (plan_find_col(plan->inputs[0], plan->inputs[1]->cols[i].id) != NULL)
            return fault(v, "column #%u is an output of both sides", (unsigned)plan->inputs[1]->cols[i].id);
    return check_subset(v, lateral ? NULL : result, lateral ? LEFT_SIDE | RIGHT_SIDE : LEFT_SIDE);
}

static tcudb_status check_agg(Verifier *v)
{
    const Plan *plan = v->node;
    if (plan->ncols != plan->agg.ngroups + plan->agg.naggs) return fault(v, "wrong number of columns");
    for (uint32_t i = 0; i < plan->agg.ngroups; i++) {
        TRY(check_expr(v, plan->agg.groups[i].expr));
        TRY(check_defined(v, i, &plan->agg.groups[i].col, plan->agg.groups[i].expr->type));
    }
    for (uint32_t i = 0; i < plan->agg.naggs; i++) {
        const AggCall *agg = &plan->agg.aggs[i];
        if ((unsigned)agg->kind >= AGG_KINDS || agg->nargs > 2) return fault(v, "unknown aggregate");
        if ((agg->kind == AGG_COUNT_STAR) != (agg->nargs == 0)) return fault(v, "wrong number of arguments");
        for (uint32_t k = 0; k < agg->nargs; k++) TRY(check_expr(v, agg->args[k]));
        if (agg->filter != NULL) TRY(check_conds(v, &agg->filter, 1));
        for (uint32_t k = 0; k < agg->norder; k++) TRY(check_expr(v, agg->order[k].expr));
        TRY(check_defined(v, plan->agg.ngroups + i, &agg->col, agg->col.type));
    }
    return TCUDB_OK;
}

static tcudb_status check_term(Verifier *v, const ContractTerm *term)
{
    const Plan *plan = v->node;
    bool left = term->left == CONTRACT_ONES || term->left < plan->contract.nvalues[0];
    bool right = term->right == CONTRACT_ONES || term->right < plan->contract.nvalues[1];
    return left && right ? TCUDB_OK : fault(v, "a term names a value that is not there");
}

static bool is_scaled_integer(Type type)
{
    return type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8 ||
           (type.id == TYPE_NUMERIC && type.precision > 0);
}

/* Expressions of one side see that side's input only. */
static tcudb_status check_contract_side(Verifier *v, uint32_t side)
{
    const Plan *plan = v->node;
    Scope scope = {.plans = {plan->inputs[side]}, .outer = v->scope->outer};
    const Scope *both = v->scope;
    v->scope = &scope;
    for (uint32_t i = 0; i < plan->contract.ngroups; i++)
        if ((i >= plan->contract.nleft) == (side == 1)) TRY(check_expr(v, plan->contract.groups[i].expr));
    for (uint32_t i = 0; i < plan->contract.nkeys; i++) TRY(check_expr(v, plan->contract.keys[side][i]));
    for (uint32_t i = 0; i < plan->contract.nvalues[side]; i++) {
        const Expr *e = plan->contract.values[side][i];
        TRY(check_expr(v, e));
        bool integer = is_scaled_integer(e->type) && type_phys(e->type) != PHYS_I128;
        if (!integer && e->type.id != TYPE_FLOAT8) return fault(v, "value %u is not a number that can be added", i);
    }
    for (uint32_t i = 0; i < plan->contract.range.n; i++) {
        const Expr *cond = plan->contract.range.conds[i];
        if (cond->kind != EXPR_FUNC || cond->nargs != 2 || cond->func->compare == CMP_NONE)
            return fault(v, "condition %u is no comparison", i);
        TRY(check_expr(v, cond->args[side != plan->contract.range.side]));
    }
    v->scope = both;
    return TCUDB_OK;
}

/* The column that a contraction defines under this id: a group or a sum. */
static const PlanCol *contract_col(const Plan *plan, ColId id)
{
    for (uint32_t i = 0; i < plan->contract.ngroups; i++)
        if (plan->contract.groups[i].col.id == id) return &plan->contract.groups[i].col;
    for (uint32_t i = 0; i < plan->contract.nouts; i++)
        if (plan->contract.outs[i].col.id == id) return &plan->contract.outs[i].col;
    if (plan->contract.fold && plan->contract.cells.id == id) return &plan->contract.cells;
    return NULL;
}

static tcudb_status check_contract(Verifier *v)
{
    const Plan *plan = v->node;
    if (plan->contract.range.n > CONTRACT_BOUNDS) return fault(v, "too many comparisons");
    for (uint32_t i = 0; i < plan->ncols; i++) TRY(check_col(v, &plan->cols[i], contract_col(plan, plan->cols[i].id)));
    for (uint32_t side = 0; side < 2; side++) TRY(check_contract_side(v, side));
    for (uint32_t i = 0; i < plan->contract.nkeys; i++)
        if (!type_equal(plan->contract.keys[0][i]->type, plan->contract.keys[1][i]->type))
            return fault(v, "key %u has two types", i);
    for (uint32_t i = 0; i < plan->contract.ngroups; i++) {
        if (!type_equal(plan->contract.groups[i].col.type, plan->contract.groups[i].expr->type))
            return fault(v, "group %u has another type than its expression", i);
        bool folded = plan->contract.fold && i >= plan->contract.nleft;
        if (folded && plan_find_col(plan, plan->contract.groups[i].col.id) != NULL)
            return fault(v, "group %u is summed over, yet put out", i);
    }
    for (uint32_t i = 0; i < plan->contract.nouts; i++) {
        const ContractOut *out = &plan->contract.outs[i];
        for (uint32_t t = 0; t < out->nterms; t++) TRY(check_term(v, &out->terms[t]));
        if (out->nullable) TRY(check_term(v, &out->nonnull));
        if (!is_scaled_integer(out->col.type) && (out->col.type.id != TYPE_FLOAT8 || out->nterms != 1))
            return fault(v, "output %u is not a sum", i);
    }
    return TCUDB_OK;
}

static tcudb_status check_window_call(Verifier *v, const WindowCall *call, uint32_t column)
{
    if ((unsigned)call->func >= WINDOW_FUNCS || call->nargs > 3) return fault(v, "unknown window function");
    for (uint32_t k = 0; k < call->agg.nargs; k++) TRY(check_expr(v, call->agg.args[k]));
    if (call->agg.filter != NULL) TRY(check_conds(v, &call->agg.filter, 1));
    for (uint32_t k = 0; k < call->nargs; k++) {
        TRY(check_expr(v, call->args[k]));
        if (call->args[k]->kind != EXPR_COL) return fault(v, "a window function's argument is no column");
    }
    const Expr *range[3] = {call->range_key, call->range_bounds[0], call->range_bounds[1]};
    for (uint32_t k = 0; k < 3; k++) {
        if (range[k] == NULL) continue;
        TRY(check_expr(v, range[k]));
        if (range[k]->kind != EXPR_COL || range[0] == NULL || !type_equal(range[k]->type, range[0]->type))
            return fault(v, "a frame's bound is no column of its key's type");
    }
    bool start = call->start == FRAME_PRECEDING || call->start == FRAME_FOLLOWING;
    bool end = call->end == FRAME_PRECEDING || call->end == FRAME_FOLLOWING;
    if (start != (call->start_offset != NULL) || end != (call->end_offset != NULL)) return fault(v, "a frame's offset");
    return check_defined(v, column, &call->col, call->col.type);
}

static tcudb_status check_window(Verifier *v)
{
    const Plan *plan = v->node, *input = plan->inputs[0];
    if (plan->ncols != input->ncols + plan->window.ncalls) return fault(v, "wrong number of columns");
    for (uint32_t i = 0; i < input->ncols; i++) {
        if (plan->cols[i].id != input->cols[i].id) return fault(v, "column %u is not its input's", i);
    }
    for (uint32_t i = 0; i < plan->window.npartition; i++) TRY(check_expr(v, plan->window.partition[i]));
    for (uint32_t i = 0; i < plan->window.norder; i++) TRY(check_expr(v, plan->window.order[i].expr));
    for (uint32_t i = 0; i < plan->window.ncalls; i++) {
        TRY(check_window_call(v, &plan->window.calls[i], input->ncols + i));
    }
    return TCUDB_OK;
}

static tcudb_status check_limits(Verifier *v, const Expr *limit, const Expr *offset)
{
    if (limit != NULL) TRY(check_expr(v, limit));
    return offset == NULL ? TCUDB_OK : check_expr(v, offset);
}

static tcudb_status check_sort(Verifier *v)
{
    const Plan *plan = v->node;
    for (uint32_t i = 0; i < plan->sort.nkeys; i++) TRY(check_expr(v, plan->sort.keys[i].expr));
    TRY(check_limits(v, plan->sort.limit, plan->sort.offset));
    return check_subset(v, NULL, LEFT_SIDE | RIGHT_SIDE);
}

/* Outputs correspond to another plan's by position. */
static tcudb_status check_positional(Verifier *v, const Plan *source)
{
    const Plan *plan = v->node;
    if (source->ncols != plan->ncols) return fault(v, "another number of columns than its input");
    for (uint32_t i = 0; i < plan->ncols; i++)
        if (!type_equal(source->cols[i].type, plan->cols[i].type))
            return fault(v, "column %u has another type than its input's", (unsigned)i);
    return TCUDB_OK;
}

static tcudb_status check_distinct(Verifier *v)
{
    for (uint32_t i = 0; i < v->node->distinct.non; i++)
        if (plan_find_col(v->node, v->node->distinct.on[i]) == NULL) return fault(v, "ON names no output column");
    TRY(check_positional(v, v->node->inputs[0]));
    return check_subset(v, NULL, LEFT_SIDE | RIGHT_SIDE);
}

static tcudb_status check_set_op(Verifier *v)
{
    TRY(check_positional(v, v->node->inputs[0]));
    return check_positional(v, v->node->inputs[1]);
}

static tcudb_status check_cte_scan(Verifier *v)
{
    const Cte *cte = v->node->cte_scan.cte;
    if (cte == NULL || cte->plan == NULL) return fault(v, "no CTE");
    return check_positional(v, cte->plan);
}

static tcudb_status check_modify(Verifier *v)
{
    const Plan *plan = v->node;
    for (uint32_t i = 0; i < plan->modify.nchecks; i++) TRY(check_expr(v, plan->modify.checks[i].cond));
    if (plan->ncols == 0) return TCUDB_OK;
    TRY(check_positional(v, plan->inputs[0]));
    return check_subset(v, NULL, LEFT_SIDE);
}

static tcudb_status check_part(Verifier *v)
{
    const Plan *plan = v->node;
    switch (plan->kind) {
    case PLAN_SCAN: return check_scan(v);
    case PLAN_FUNC_SCAN:
        for (uint32_t i = 0; i < plan->func_scan.nargs; i++) TRY(check_expr(v, plan->func_scan.args[i]));
        return TCUDB_OK;
    case PLAN_VALUES: return check_values(v);
    case PLAN_FILTER:
        TRY(check_conds(v, plan->filter.conds, plan->filter.nconds));
        return check_subset(v, NULL, LEFT_SIDE | RIGHT_SIDE);
    case PLAN_PROJECT: return check_project(v);
    case PLAN_JOIN: return check_join(v);
    case PLAN_APPLY: return check_apply(v);
    case PLAN_AGGREGATE: return check_agg(v);
    case PLAN_WINDOW: return check_window(v);
    case PLAN_DISTINCT: return check_distinct(v);
    case PLAN_CONTRACT: return check_contract(v);
    case PLAN_SORT: return check_sort(v);
    case PLAN_LIMIT:
        TRY(check_limits(v, plan->limit.limit, plan->limit.offset));
        return check_subset(v, NULL, LEFT_SIDE | RIGHT_SIDE);
    case PLAN_SET_OP: return check_set_op(v);
    case PLAN_RECURSIVE: return check_set_op(v);
    case PLAN_CTE_SCAN: return check_cte_scan(v);
    case PLAN_INSERT:
    case PLAN_DELETE:
    case PLAN_UPDATE: return check_modify(v);
    default: return TCUDB_OK;
    }
}

static uint32_t wanted_inputs(PlanKind kind)
{
    switch (kind) {
    case PLAN_SCAN:
    case PLAN_FUNC_SCAN:
    case PLAN_VALUES:
    case PLAN_CTE_SCAN:
    case PLAN_WORK_SCAN: return 0;
    case PLAN_JOIN:
    case PLAN_APPLY:
    case PLAN_SET_OP:
    case PLAN_CONTRACT:
    case PLAN_RECURSIVE: return 2;
    default: return 1;
    }
}

static tcudb_status verify_node(const Plan *plan, const Scope *outer, Error *err)
{
    Verifier v = {.node = plan, .err = err};
    if ((unsigned)plan->kind >= PLAN_KINDS) return error_set(err, SQLSTATE_INTERNAL_ERROR, "plan: unknown node kind");
    if (plan->ninputs != wanted_inputs(plan->kind)) return fault(&v, "wrong number of inputs");
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (plan->inputs[i] == NULL) return fault(&v, "an input is missing");
    Scope scope = {.outer = outer};
    bool leaf_filters = plan->kind == PLAN_SCAN; /* a scan's filters see its own outputs */
    for (uint32_t i = 0; i < plan->ninputs && i < 2; i++) scope.plans[i] = plan->inputs[i];
    if (leaf_filters) scope.plans[0] = plan;
    v.scope = &scope;
    TRY(check_unique(&v));
    TRY(check_part(&v));
    Scope apply = {.plans = {plan->ninputs == 0 ? NULL : plan->inputs[0]}, .outer = outer};
    for (uint32_t i = 0; i < plan->ninputs; i++)
        TRY(verify_node(plan->inputs[i], plan->kind == PLAN_APPLY && i == 1 ? &apply : outer, err));
    return TCUDB_OK;
}

tcudb_status plan_verify(const Plan *plan, Error *err)
{
    assert(plan != NULL);
    return verify_node(plan, NULL, err);
}
