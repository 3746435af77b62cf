/*
 * print.c: plans as indented text.
 *
 *     Sort by revenue#31 desc  (rows 150)
 *       Aggregate by d_year#4: revenue#31 = sum(lo_revenue#12)
 *         Join Inner on lo_orderdate#9 = d_datekey#1  (rows 9100, cost 0.4 ms)
 *           Scan lineorder: lo_orderdate#9, lo_revenue#12
 *           Scan date: d_datekey#1, d_year#4  where d_year#4 >= 1992
 *
 * One node a line, inputs below it, indented by two; columns as name#id; the CTEs after the tree. For
 * EXPLAIN and for tests, which compare the text, so nothing in it depends on addresses or time.
 */
#include "plan/plan_int.h"

#include <assert.h>

typedef struct Printer {
    PlanNames *names;
    Buf *buf;
    const char *separator; /* before the next item of a list */
    Error *err;
} Printer;

static tcudb_status print_expr(Printer *p, const Expr *e)
{
    return expr_print(e, plan_name, p->names, p->buf, p->err);
}

static tcudb_status print_id(Printer *p, ColId id)
{
    const char *name = plan_name(p->names, id);
    return buf_printf(p->buf, p->err, "%s#%u", name == NULL ? "?" : name, (unsigned)id);
}

static tcudb_status begin_list(Printer *p, const char *title)
{
    p->separator = title;
    return TCUDB_OK;
}

static tcudb_status next_item(Printer *p, const char *separator)
{
    TRY(buf_text(p->buf, p->separator, p->err));
    p->separator = separator;
    return TCUDB_OK;
}

static tcudb_status print_cols(Printer *p, const char *title, const Plan *plan)
{
    TRY(begin_list(p, title));
    for (uint32_t i = 0; i < plan->ncols; i++) {
        TRY(next_item(p, ", "));
        TRY(print_id(p, plan->cols[i].id));
    }
    return TCUDB_OK;
}

static tcudb_status print_conds(Printer *p, const char *title, Expr *const *conds, uint32_t n)
{
    TRY(begin_list(p, title));
    for (uint32_t i = 0; i < n; i++) {
        TRY(next_item(p, " and "));
        TRY(print_expr(p, conds[i]));
    }
    return TCUDB_OK;
}

static bool is_itself(const NamedExpr *e)
{
    return e->expr->kind == EXPR_COL && e->expr->col == e->col.id;
}

static tcudb_status print_named(Printer *p, const char *title, const NamedExpr *exprs, uint32_t n)
{
    TRY(begin_list(p, title));
    for (uint32_t i = 0; i < n; i++) {
        TRY(next_item(p, ", "));
        TRY(print_id(p, exprs[i].col.id));
        if (is_itself(&exprs[i])) continue;
        TRY(buf_text(p->buf, " = ", p->err));
        TRY(print_expr(p, exprs[i].expr));
    }
    return TCUDB_OK;
}

static tcudb_status print_key(Printer *p, const SortKey *key)
{
    TRY(print_expr(p, key->expr));
    if (key->descending) TRY(buf_text(p->buf, " desc", p->err));
    if (key->nulls_first == key->descending) return TCUDB_OK;
    return buf_text(p->buf, key->nulls_first ? " nulls first" : " nulls last", p->err);
}

static tcudb_status print_agg_call(Printer *p, const AggCall *agg)
{
    TRY(print_id(p, agg->col.id));
    TRY(buf_printf(p->buf, p->err, " = %s(%s", agg_name(agg->kind), agg->distinct ? "distinct " : ""));
    if (agg->kind == AGG_COUNT_STAR) TRY(buf_char(p->buf, '*', p->err));
    for (uint32_t i = 0; i < agg->nargs; i++) {
        if (i > 0) TRY(buf_text(p->buf, ", ", p->err));
        TRY(print_expr(p, agg->args[i]));
    }
    if (agg->descending) TRY(buf_printf(p->buf, p->err, " desc"));
    for (uint32_t i = 0; i < agg->norder; i++) {
        TRY(buf_text(p->buf, i == 0 ? " order by " : ", ", p->err));
        TRY(print_key(p, &agg->order[i]));
    }
    TRY(buf_char(p->buf, ')', p->err));
    if (agg->filter == NULL) return TCUDB_OK;
    TRY(buf_text(p->buf, " filter (where ", p->err));
    TRY(print_expr(p, agg->filter));
    return buf_char(p->buf, ')', p->err);
}

static tcudb_status print_aggregate(Printer *p, const Plan *plan)
{
    TRY(print_named(p, " by ", plan->agg.groups, plan->agg.ngroups));
    TRY(begin_list(p, ": "));
    for (uint32_t i = 0; i < plan->agg.naggs; i++) {
        TRY(next_item(p, ", "));
        TRY(print_agg_call(p, &plan->agg.aggs[i]));
    }
    return TCUDB_OK;
}

static tcudb_status print_term(Printer *p, const Plan *plan, const ContractTerm *term)
{
    if (term->factor != 1) TRY(buf_printf(p->buf, p->err, "%lld * ", (long long)term->factor));
    if (term->left == CONTRACT_ONES && term->right == CONTRACT_ONES) return buf_char(p->buf, '1', p->err);
    if (term->left != CONTRACT_ONES) TRY(print_expr(p, plan->contract.values[0][term->left]));
    if (term->left != CONTRACT_ONES && term->right != CONTRACT_ONES) TRY(buf_text(p->buf, " * ", p->err));
    return term->right == CONTRACT_ONES ? TCUDB_OK : print_expr(p, plan->contract.values[1][term->right]);
}

static tcudb_status print_contract(Printer *p, const Plan *plan)
{
    TRY(print_named(p, " by ", plan->contract.groups, plan->contract.ngroups));
    TRY(begin_list(p, " over "));
    for (uint32_t i = 0; i < plan->contract.nkeys; i++) {
        TRY(next_item(p, " and "));
        TRY(print_expr(p, plan->contract.keys[0][i]));
        TRY(buf_text(p->buf, " = ", p->err));
        TRY(print_expr(p, plan->contract.keys[1][i]));
    }
    for (uint32_t i = 0; i < plan->contract.range.n; i++) {
        TRY(next_item(p, " and "));
        TRY(print_expr(p, plan->contract.range.conds[i]));
    }
    TRY(begin_list(p, plan->contract.fold ? " folded: " : ": "));
    if (plan->contract.fold) {
        TRY(next_item(p, ", "));
        TRY(print_id(p, plan->contract.cells.id));
        TRY(buf_text(p->buf, " = count(right groups)", p->err));
    }
    for (uint32_t i = 0; i < plan->contract.nouts; i++) {
        const ContractOut *out = &plan->contract.outs[i];
        TRY(next_item(p, ", "));
        TRY(print_id(p, out->col.id));
        TRY(buf_text(p->buf, " = sum(", p->err));
        for (uint32_t t = 0; t < out->nterms; t++) {
            if (t > 0) TRY(buf_text(p->buf, " + ", p->err));
            TRY(print_term(p, plan, &out->terms[t]));
        }
        TRY(buf_char(p->buf, ')', p->err));
        if (out->sort_bound != 0) TRY(buf_printf(p->buf, p->err, " from bound %u", (unsigned)out->sort_bound));
    }
    return print_conds(p, "  having ", plan->contract.having, plan->contract.nhaving);
}

static tcudb_status print_scan(Printer *p, const Plan *plan)
{
    TRY(buf_printf(p->buf, p->err, " " STR_FMT, STR_ARG(plan->scan.name)));
    TRY(print_cols(p, ": ", plan));
    TRY(print_conds(p, "  where ", plan->scan.filters, plan->scan.nfilters));
    TRY(begin_list(p, "  semi "));
    for (uint32_t i = 0; i < plan->scan.nsemi; i++) {
        TRY(next_item(p, ", "));
        TRY(print_id(p, plan->scan.semi[i].col));
        TRY(buf_printf(p->buf, p->err, " in bitmap %u", (unsigned)plan->scan.semi[i].id));
    }
    return TCUDB_OK;
}

static tcudb_status print_values(Printer *p, const Plan *plan)
{
    enum { SHOWN = 3 };
    TRY(print_cols(p, ": ", plan));
    for (uint64_t row = 0; row < plan->values.nrows && row < SHOWN; row++) {
        TRY(buf_text(p->buf, row == 0 ? "  (" : ", (", p->err));
        TRY(begin_list(p, ""));
        for (uint32_t i = 0; i < plan->ncols; i++) {
            TRY(next_item(p, ", "));
            TRY(print_expr(p, plan->values.rows_exprs[row * plan->ncols + i]));
        }
        TRY(buf_char(p->buf, ')', p->err));
    }
    if (plan->values.nrows == 0) return buf_text(p->buf, "  no rows", p->err);
    if (plan->values.nrows <= SHOWN) return TCUDB_OK;
    return buf_printf(p->buf, p->err, ", ... %llu rows", (unsigned long long)plan->values.nrows);
}

static tcudb_status print_join(Printer *p, const Plan *plan)
{
    TRY(buf_printf(p->buf, p->err, " %s", plan_join_name(plan->join.kind)));
    if (plan->join.kind == JOIN_MARK) {
        TRY(buf_char(p->buf, ' ', p->err));
        TRY(print_id(p, plan->join.mark.id));
        if (plan->join.mark_null) TRY(buf_text(p->buf, " (null-aware)", p->err));
    }
    TRY(print_conds(p, " on ", plan->join.conds, plan->join.nconds));
    TRY(begin_list(p, "  fills "));
    for (uint32_t i = 0; i < plan->join.nsemi; i++) {
        TRY(next_item(p, ", "));
        TRY(buf_printf(p->buf, p->err, "bitmap %u from ", (unsigned)plan->join.semi[i].id));
        TRY(print_id(p, plan->join.semi[i].key));
    }
    return TCUDB_OK;
}

static tcudb_status print_apply(Printer *p, const Plan *plan)
{
    TRY(buf_printf(p->buf, p->err, " %s", plan_apply_name(plan->apply.kind)));
    if (plan->apply.result.id != 0) {
        TRY(buf_char(p->buf, ' ', p->err));
        TRY(print_id(p, plan->apply.result.id));
    }
    if (plan->apply.test == NULL) return TCUDB_OK;
    TRY(buf_text(p->buf, " on ", p->err));
    return print_expr(p, plan->apply.test);
}

static tcudb_status print_limits(Printer *p, const Expr *limit, const Expr *offset)
{
    if (limit != NULL) {
        TRY(buf_text(p->buf, " limit ", p->err));
        TRY(print_expr(p, limit));
    }
    if (offset != NULL) {
        TRY(buf_text(p->buf, " offset ", p->err));
        TRY(print_expr(p, offset));
    }
    return TCUDB_OK;
}

static tcudb_status print_sort(Printer *p, const Plan *plan)
{
    TRY(begin_list(p, " by "));
    for (uint32_t i = 0; i < plan->sort.nkeys; i++) {
        TRY(next_item(p, ", "));
        TRY(print_key(p, &plan->sort.keys[i]));
    }
    if (plan->sort.bound != 0) TRY(buf_printf(p->buf, p->err, "  bounds %u", (unsigned)plan->sort.bound));
    return print_limits(p, plan->sort.limit, plan->sort.offset);
}

const char *plan_window_name(WindowFunc func)
{
    static const char *const names[WINDOW_FUNCS] = {"aggregate",    "row_number",  "rank",       "dense_rank",
                                                    "percent_rank", "cume_dist",   "ntile",      "lag",
                                                    "lead",         "first_value", "last_value", "nth_value"};
    return names[func];
}

static tcudb_status print_window_call(Printer *p, const WindowCall *call)
{
    if (call->func == WINDOW_AGG) {
        TRY(print_agg_call(p, &call->agg));
    } else {
        TRY(print_id(p, call->col.id));
        TRY(buf_printf(p->buf, p->err, " = %s(", plan_window_name(call->func)));
        for (uint32_t i = 0; i < call->nargs; i++) {
            if (i > 0) TRY(buf_text(p->buf, ", ", p->err));
            TRY(print_expr(p, call->args[i]));
        }
        TRY(buf_char(p->buf, ')', p->err));
    }
    static const char *const bounds[] = {"unbounded", "preceding", "current", "following"};
    static const char *const units[] = {"range", "rows", "groups"};
    static const char *const excluded[] = {"", " without row", " without group", " without ties"};
    TRY(buf_printf(p->buf, p->err, "%s %s", excluded[call->exclude], units[call->unit]));
    return buf_printf(p->buf, p->err, " %s to %s", bounds[call->start], bounds[call->end]);
}

static tcudb_status print_window(Printer *p, const Plan *plan)
{
    TRY(begin_list(p, " partition by "));
    for (uint32_t i = 0; i < plan->window.npartition; i++) {
        TRY(next_item(p, ", "));
        TRY(print_expr(p, plan->window.partition[i]));
    }
    TRY(begin_list(p, " order by "));
    for (uint32_t i = 0; i < plan->window.norder; i++) {
        TRY(next_item(p, ", "));
        TRY(print_key(p, &plan->window.order[i]));
    }
    TRY(begin_list(p, ": "));
    for (uint32_t i = 0; i < plan->window.ncalls; i++) {
        TRY(next_item(p, ", "));
        TRY(print_window_call(p, &plan->window.calls[i]));
    }
    return TCUDB_OK;
}

static tcudb_status print_distinct(Printer *p, const Plan *plan)
{
    TRY(begin_list(p, " on "));
    for (uint32_t i = 0; i < plan->distinct.non; i++) {
        TRY(next_item(p, ", "));
        TRY(print_id(p, plan->distinct.on[i]));
    }
    return TCUDB_OK;
}

static tcudb_status print_set_op(Printer *p, const Plan *plan)
{
    static const char *const names[] = {"Union", "Intersect", "Except"};
    TRY(buf_printf(p->buf, p->err, " %s%s", names[plan->set_op.kind], plan->set_op.all ? " All" : ""));
    return print_cols(p, ": ", plan);
}

static tcudb_status print_cte_name(Printer *p, const Cte *cte)
{
    if (cte == NULL) return TCUDB_OK;
    return buf_printf(p->buf, p->err, " %s", cte->name == NULL ? "?" : cte->name);
}

static tcudb_status print_part(Printer *p, const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_SCAN: return print_scan(p, plan);
    case PLAN_FUNC_SCAN:
        TRY(buf_printf(p->buf, p->err, " %s", plan->func_scan.call.name));
        return print_cols(p, ": ", plan);
    case PLAN_VALUES: return print_values(p, plan);
    case PLAN_FILTER: return print_conds(p, " ", plan->filter.conds, plan->filter.nconds);
    case PLAN_PROJECT: return print_named(p, " ", plan->project.exprs, plan->ncols);
    case PLAN_JOIN: return print_join(p, plan);
    case PLAN_APPLY: return print_apply(p, plan);
    case PLAN_AGGREGATE: return print_aggregate(p, plan);
    case PLAN_WINDOW: return print_window(p, plan);
    case PLAN_DISTINCT: return print_distinct(p, plan);
    case PLAN_SORT: return print_sort(p, plan);
    case PLAN_CONTRACT: return print_contract(p, plan);
    case PLAN_LIMIT: return print_limits(p, plan->limit.limit, plan->limit.offset);
    case PLAN_SET_OP: return print_set_op(p, plan);
    case PLAN_CTE_SCAN: /* a scan and a recursion name their CTE in the same place */
        TRY(print_cte_name(p, plan->cte_scan.cte));
        return print_cols(p, ": ", plan);
    case PLAN_WORK_SCAN: return print_cols(p, ": ", plan);
    case PLAN_RECURSIVE: return print_cte_name(p, plan->recursive.cte);
    case PLAN_INSERT:
    case PLAN_DELETE:
    case PLAN_UPDATE: return buf_printf(p->buf, p->err, " " STR_FMT, STR_ARG(plan->modify.table));
    default: return TCUDB_OK;
    }
}

static tcudb_status print_estimate(Printer *p, const Plan *plan)
{
    if (plan->rows < 0) return TCUDB_OK;
    TRY(buf_printf(p->buf, p->err, "  (rows %.0f", plan->rows));
    if (plan->cost >= 0) TRY(buf_printf(p->buf, p->err, ", cost %.3f ms", plan->cost * 1e3));
    return buf_char(p->buf, ')', p->err);
}

static tcudb_status print_node(Printer *p, const Plan *plan, uint32_t depth)
{
    TRY(buf_printf(p->buf, p->err, "%*s%s", (int)(2 * depth), "", plan_kind_name(plan->kind)));
    TRY(print_part(p, plan));
    TRY(print_estimate(p, plan));
    TRY(buf_char(p->buf, '\n', p->err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(print_node(p, plan->inputs[i], depth + 1));
    return TCUDB_OK;
}

static tcudb_status print_ctes(Printer *p, const CteList *ctes)
{
    for (uint32_t i = 0; i < ctes->n; i++) {
        const Cte *cte = ctes->ctes[i];
        TRY(buf_text(p->buf, "CTE", p->err));
        TRY(print_cte_name(p, cte));
        TRY(print_cols(p, ": ", cte->plan));
        TRY(buf_char(p->buf, '\n', p->err));
        TRY(print_node(p, cte->plan, 1));
    }
    return TCUDB_OK;
}

tcudb_status plan_print(const Plan *plan, Buf *buf, Error *err)
{
    assert(plan != NULL);
    tcudb_status status = TCUDB_OK;
    CteList ctes = {.mem = buf->mem};
    Printer p = {.buf = buf, .err = err};
    TRY_GOTO(plan_names(buf->mem, plan, &p.names, err));
    TRY_GOTO(cte_list_collect(&ctes, plan, err));
    TRY_GOTO(print_node(&p, plan, 0));
    TRY_GOTO(print_ctes(&p, &ctes));
done:
    cte_list_free(&ctes);
    plan_names_free(p.names);
    return status;
}
