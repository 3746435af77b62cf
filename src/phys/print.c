/*
 * print.c: EXPLAIN's text and JSON of a physical plan.
 *
 *     Hash Join  (rows=2556) (actual rows=2556 time=0.41 ms memory=61 kB)
 *       Cond: (lo_orderdate = d_datekey)
 *
 * Time is what the operator itself used, summed over workers.
 */
#include "phys/print_int.h"

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)counter, memory_order_relaxed);
}

double phys_own_ms(const PhysNode *node)
{
    int64_t ns = (int64_t)load(&node->stats.phase_ns) - (int64_t)load(&node->stats.down_ns);
    for (uint32_t i = 0; i < node->ninputs; i++) ns += (int64_t)load(&node->inputs[i]->stats.down_ns);
    return ns < 0 ? 0 : (double)ns * 1e-6;
}

typedef struct Printer {
    PlanNames *names;
    bool analyze;
    bool json;
    Buf *buf;
    uint32_t depth;
} Printer;

static tcudb_status indent(const void *ctx, uint32_t more, Error *err)
{
    const Printer *p = ctx;
    for (uint32_t i = 0; i < p->depth + more; i++) TRY(buf_text(p->buf, "  ", err));
    return TCUDB_OK;
}

/* ---- details: label and expressions of a node --------------------------------------------------------- */

typedef tcudb_status (*DetailFn)(const Printer *p, const char *label, Expr *const *list, uint32_t n,
                                 const char *between, Error *err);

static tcudb_status list_text(const Printer *p, Buf *buf, Expr *const *list, uint32_t n, const char *between,
                              Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) TRY(buf_text(buf, between, err));
        TRY(expr_print(list[i], plan_name, p->names, buf, err));
    }
    return TCUDB_OK;
}

static tcudb_status detail_text(const Printer *p, const char *label, Expr *const *list, uint32_t n, const char *between,
                                Error *err)
{
    if (n == 0) return TCUDB_OK;
    TRY(indent(p, 1, err));
    TRY(buf_printf(p->buf, err, "%s: ", label));
    TRY(list_text(p, p->buf, list, n, between, err));
    return buf_char(p->buf, '\n', err);
}

static tcudb_status json_string(Buf *buf, Str text, Error *err)
{
    TRY(buf_char(buf, '"', err));
    for (uint32_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\')
            TRY(buf_printf(buf, err, "\\%c", c));
        else if (c < 0x20)
            TRY(buf_printf(buf, err, "\\u%04x", c));
        else
            TRY(buf_char(buf, (char)c, err));
    }
    return buf_char(buf, '"', err);
}

static tcudb_status detail_json(const Printer *p, const char *label, Expr *const *list, uint32_t n, const char *between,
                                Error *err)
{
    if (n == 0) return TCUDB_OK;
    Buf text;
    buf_init(&text, NULL);
    tcudb_status status;
    TRY_GOTO(list_text(p, &text, list, n, between, err));
    TRY_GOTO(buf_text(p->buf, ",\n", err));
    TRY_GOTO(indent(p, 1, err));
    TRY_GOTO(buf_printf(p->buf, err, "\"%s\": ", label));
    TRY_GOTO(json_string(p->buf, (Str){text.data, (uint32_t)text.len}, err));
done:
    buf_free(&text);
    return status;
}

static tcudb_status contract_details(const Printer *p, const Plan *plan, DetailFn fn, Error *err)
{
    const char *right = plan->contract.fold ? "Right Group (folded)" : "Right Group";
    for (uint32_t i = 0; i < plan->contract.ngroups; i++)
        TRY(fn(p, i < plan->contract.nleft ? "Left Group" : right, &plan->contract.groups[i].expr, 1, "", err));
    for (uint32_t k = 0; k < plan->contract.nkeys; k++) {
        Expr *pair[2] = {plan->contract.keys[0][k], plan->contract.keys[1][k]};
        TRY(fn(p, "Summed Key", pair, 2, " = ", err));
    }
    TRY(fn(p, "Compared Key", plan->contract.range.conds, plan->contract.range.n, " AND ", err));
    TRY(fn(p, "Left Values", plan->contract.values[0], plan->contract.nvalues[0], ", ", err));
    TRY(fn(p, "Right Values", plan->contract.values[1], plan->contract.nvalues[1], ", ", err));
    return fn(p, "Having", plan->contract.having, plan->contract.nhaving, " AND ", err);
}

static tcudb_status details(const Printer *p, const Plan *plan, DetailFn fn, Error *err)
{
    switch (plan->kind) {
    case PLAN_SCAN: return fn(p, "Filter", plan->scan.filters, plan->scan.nfilters, " AND ", err);
    case PLAN_FILTER: return fn(p, "Filter", plan->filter.conds, plan->filter.nconds, " AND ", err);
    case PLAN_JOIN: return fn(p, "Condition", plan->join.conds, plan->join.nconds, " AND ", err);
    case PLAN_AGGREGATE:
        for (uint32_t i = 0; i < plan->agg.ngroups; i++)
            TRY(fn(p, "Group Key", &plan->agg.groups[i].expr, 1, ", ", err));
        return TCUDB_OK;
    case PLAN_CONTRACT: return contract_details(p, plan, fn, err);
    case PLAN_SORT:
        for (uint32_t i = 0; i < plan->sort.nkeys; i++)
            TRY(fn(p, plan->sort.keys[i].descending ? "Sort Key (descending)" : "Sort Key", &plan->sort.keys[i].expr, 1,
                   ", ", err));
        return TCUDB_OK;
    case PLAN_LIMIT:
        if (plan->limit.limit != NULL) TRY(fn(p, "Limit", &plan->limit.limit, 1, "", err));
        if (plan->limit.offset != NULL) TRY(fn(p, "Offset", &plan->limit.offset, 1, "", err));
        return TCUDB_OK;
    default: return TCUDB_OK;
    }
}

static tcudb_status title(const PhysNode *node, Buf *buf, Error *err)
{
    const Plan *plan = node->plan;
    TRY(buf_text(buf, node->op->name, err));
    switch (plan->kind) {
    case PLAN_SCAN: return buf_printf(buf, err, " on " STR_FMT, STR_ARG(plan->scan.name));
    case PLAN_FUNC_SCAN: return buf_printf(buf, err, " on %s", plan->func_scan.call.name);
    case PLAN_CTE_SCAN: return buf_printf(buf, err, " on %s", plan->cte_scan.cte->name);
    case PLAN_JOIN:
        return plan->join.kind == JOIN_INNER ? TCUDB_OK
                                             : buf_printf(buf, err, " (%s)", plan_join_name(plan->join.kind));
    case PLAN_APPLY: return buf_printf(buf, err, " (%s)", plan_apply_name(plan->apply.kind));
    case PLAN_INSERT:
    case PLAN_DELETE:
    case PLAN_UPDATE: return buf_printf(buf, err, " on " STR_FMT, STR_ARG(plan->modify.table));
    default: return TCUDB_OK;
    }
}

/* ---- text ------------------------------------------------------------------------------------------------ */

static tcudb_status actual_text(const Printer *p, const PhysNode *node, Error *err)
{
    if (load(&node->stats.loops) == 0) return buf_text(p->buf, " (never executed)", err);
    TRY(buf_printf(p->buf, err, " (actual rows=%llu batches=%llu time=%.3f ms",
                   (unsigned long long)load(&node->stats.rows), (unsigned long long)load(&node->stats.batches),
                   phys_own_ms(node)));
    if (load(&node->stats.loops) > 1)
        TRY(buf_printf(p->buf, err, " loops=%llu", (unsigned long long)load(&node->stats.loops)));
    if (load(&node->stats.bytes) > 0)
        TRY(buf_printf(p->buf, err, " memory=%llu kB", (unsigned long long)(load(&node->stats.bytes) + 1023) / 1024));
    return buf_char(p->buf, ')', err);
}

static tcudb_status print_text(Printer *p, const PhysNode *node, Error *err)
{
    TRY(indent(p, 0, err));
    if (p->depth > 0) TRY(buf_text(p->buf, "->  ", err));
    TRY(title(node, p->buf, err));
    if (node->plan->rows >= 0) TRY(buf_printf(p->buf, err, "  (rows=%.0f)", node->plan->rows));
    if (p->analyze) TRY(actual_text(p, node, err));
    TRY(buf_char(p->buf, '\n', err));
    p->depth += p->depth == 0 ? 1 : 3;
    TRY(details(p, node->plan, detail_text, err));
    if (node->plan->note != NULL) {
        TRY(indent(p, 1, err));
        TRY(buf_printf(p->buf, err, "%s\n", node->plan->note));
    }
    TRY(print_candidates_text(node, p->analyze, p->buf, indent, p, err));
    if (node->note[0] != '\0') {
        TRY(indent(p, 1, err));
        TRY(buf_printf(p->buf, err, "How: %s\n", node->note));
    }
    for (uint32_t i = 0; i < node->ninputs; i++) TRY(print_text(p, node->inputs[i], err));
    p->depth -= p->depth == 1 ? 1 : 3;
    return TCUDB_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

static tcudb_status json_title(const Printer *p, const PhysNode *node, Error *err)
{
    Buf text;
    tcudb_status status;
    buf_init(&text, NULL);
    TRY_GOTO(title(node, &text, err));
    TRY_GOTO(json_string(p->buf, (Str){text.data, (uint32_t)text.len}, err));
done:
    buf_free(&text);
    return status;
}

static tcudb_status actual_json(const Printer *p, const PhysNode *node, Error *err)
{
    TRY(buf_text(p->buf, ",\n", err));
    TRY(indent(p, 1, err));
    return buf_printf(p->buf, err,
                      "\"Actual Rows\": %llu, \"Batches\": %llu, \"Time ms\": %.3f, \"Loops\": %llu, "
                      "\"Bytes\": %llu",
                      (unsigned long long)load(&node->stats.rows), (unsigned long long)load(&node->stats.batches),
                      phys_own_ms(node), (unsigned long long)load(&node->stats.loops),
                      (unsigned long long)load(&node->stats.bytes));
}

static tcudb_status print_json(Printer *p, const PhysNode *node, Error *err)
{
    TRY(indent(p, 0, err));
    TRY(buf_text(p->buf, "{\n", err));
    TRY(indent(p, 1, err));
    TRY(buf_text(p->buf, "\"Operator\": ", err));
    TRY(json_title(p, node, err));
    TRY(buf_printf(p->buf, err, ", \"Engine\": \"%s\"", node->op->engine));
    if (node->plan->rows >= 0) TRY(buf_printf(p->buf, err, ", \"Rows\": %.0f", node->plan->rows));
    if (p->analyze) TRY(actual_json(p, node, err));
    TRY(details(p, node->plan, detail_json, err));
    if (node->plan->note != NULL) {
        TRY(buf_text(p->buf, ",\n", err));
        TRY(indent(p, 1, err));
        TRY(buf_text(p->buf, "\"Note\": ", err));
        TRY(json_string(p->buf, str_of(node->plan->note), err));
    }
    TRY(print_candidates_json(node, p->analyze, p->buf, indent, p, err));
    if (node->ninputs > 0) {
        TRY(buf_text(p->buf, ",\n", err));
        TRY(indent(p, 1, err));
        TRY(buf_text(p->buf, "\"Inputs\": [\n", err));
        p->depth += 2;
        for (uint32_t i = 0; i < node->ninputs; i++) {
            if (i > 0) TRY(buf_text(p->buf, ",\n", err));
            TRY(print_json(p, node->inputs[i], err));
        }
        p->depth -= 2;
        TRY(buf_char(p->buf, ']', err));
    }
    TRY(buf_char(p->buf, '\n', err));
    TRY(indent(p, 0, err));
    return buf_char(p->buf, '}', err);
}

/* ---- both ------------------------------------------------------------------------------------------------ */

static tcudb_status print_plan(const PhysPlan *phys, bool analyze, bool json, Buf *buf, Error *err)
{
    Printer p = {.analyze = analyze, .json = json, .buf = buf};
    tcudb_status status;
    TRY(plan_names(NULL, phys->root->plan, &p.names, err));
    if (json) {
        TRY_GOTO(print_json(&p, phys->root, err));
        TRY_GOTO(buf_char(buf, '\n', err));
    } else {
        for (uint32_t i = 0; i < phys->nctes; i++) {
            TRY_GOTO(buf_printf(buf, err, "CTE %s\n", phys->ctes[i]->name));
            TRY_GOTO(print_text(&p, phys->cte_nodes[i], err));
        }
        TRY_GOTO(print_text(&p, phys->root, err));
    }
done:
    plan_names_free(p.names);
    return status;
}

tcudb_status phys_print(const PhysPlan *phys, bool analyze, Buf *buf, Error *err)
{
    return print_plan(phys, analyze, false, buf, err);
}

tcudb_status phys_print_json(const PhysPlan *phys, bool analyze, Buf *buf, Error *err)
{
    return print_plan(phys, analyze, true, buf, err);
}
