/*
 * contract_cases.c: CASE, and conditions with OR, over both sides as disjoint parts, each a call that a contraction
 * has.
 *
 *     sum(CASE WHEN a.x = 1 THEN b.p WHEN b.y = 2 THEN a.q ELSE 0 END)
 *         sum(b.p) FILTER (WHERE a.x = 1)
 *       + sum(a.q) FILTER (WHERE a.x = 1 IS NOT TRUE AND b.y = 2)
 *       + sum(0)   FILTER (WHERE a.x = 1 IS NOT TRUE AND b.y = 2 IS NOT TRUE)
 *
 *     count(*) FILTER (WHERE p OR q)  =  count(*) FILTER (WHERE p) + count(*) FILTER (WHERE p IS NOT TRUE AND q)
 *
 * Every row that the call takes is in exactly one part, so that sums and counts add up (contract_calls.c): a part
 * without rows is NULL and left out, which keeps the scale that PostgreSQL's sum of mixed scales has. Each condition of
 * a part is over one side in the end, or the call is left as it is. Parts double with every OR that spans both sides:
 * at most PARTS_MAX.
 */
#include "opt/contract.h"

#include <assert.h>

/* A condition that holds (is true), or one that does not. */
typedef struct Test {
    Expr *e;
    bool fails;
} Test;

enum { TESTS_MAX = 12 };
static const int64_t POW10_18 = 1000000000000000000;

typedef struct CasePart {
    Test tests[TESTS_MAX];
    uint32_t ntests;
    Expr *value; /* NULL: rows are counted */
} CasePart;

typedef struct CaseParts {
    CasePart items[CONTRACT_PARTS];
    uint32_t n;
    const JoinGraph *graph;
    uint64_t left;
} CaseParts;

static bool spans(const CaseParts *p, const Expr *e)
{
    uint64_t used = contract_relations(p->graph, e);
    return (used & p->left) != 0 && (used & ~p->left) != 0;
}

static bool add_test(CasePart *part, Expr *e, bool fails)
{
    if (part->ntests == TESTS_MAX) return false;
    part->tests[part->ntests++] = (Test){e, fails};
    return true;
}

/* In place of part i: n of them; *first is the copy to fill in first. */
static bool fork_part(CaseParts *p, uint32_t i, uint32_t n, CasePart **first)
{
    if (p->n + n - 1 > CONTRACT_PARTS) return false;
    memmove(&p->items[i + n], &p->items[i + 1], (p->n - i - 1) * sizeof *p->items);
    p->n += n - 1;
    for (uint32_t k = 1; k < n; k++) p->items[i + k] = p->items[i];
    *first = &p->items[i];
    return true;
}

/* AND that holds, OR that does not: all their arguments do so. Else the first argument that makes it so decides: a part
 * for each. */
static bool split_test(CaseParts *p, uint32_t i, uint32_t t)
{
    CasePart *part = &p->items[i];
    Test test = part->tests[t];
    bool junction = test.e->kind == EXPR_AND || test.e->kind == EXPR_OR, ok = junction;
    if (!junction) return false;
    part->tests[t] = part->tests[--part->ntests];
    if ((test.e->kind == EXPR_AND) == !test.fails) {
        for (uint32_t a = 0; a < test.e->nargs && ok; a++) ok = add_test(part, test.e->args[a], test.fails);
        return ok;
    }
    ok = fork_part(p, i, test.e->nargs, &part);
    for (uint32_t k = 0; k < test.e->nargs && ok; k++)
        for (uint32_t a = 0; a <= k && ok; a++)
            ok = add_test(&part[k], test.e->args[a], a < k ? !test.fails : test.fails);
    return ok;
}

/* A part for each branch of CASE; what it tests holds, and nothing before does. */
static bool split_case(CaseParts *p, uint32_t i)
{
    CasePart *part;
    const Expr *e = p->items[i].value;
    uint32_t n = (e->nargs + 1) / 2;
    bool ok = e->nargs % 2 == 1 && fork_part(p, i, n, &part);
    for (uint32_t k = 0; k < n && ok; k++) {
        for (uint32_t a = 0; a < k && ok; a++) ok = add_test(&part[k], e->args[2 * a], true);
        if (ok && k + 1 < n) ok = add_test(&part[k], e->args[2 * k], false);
        part[k].value = k + 1 < n ? e->args[2 * k + 1] : e->args[e->nargs - 1];
    }
    return ok;
}

/* A cast to numeric without limits keeps every digit, and is what CASE of mixed types has around its branches. */
static Expr *strip_cast(Expr *e)
{
    bool wide = e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST && e->nargs == 1 && e->type.id == TYPE_NUMERIC &&
                e->type.precision == 0;
    return wide ? e->args[0] : e;
}

/* A constant of numeric without limits as a decimal of its scale; another value as it is. */
static tcudb_status limit_const(Opt *opt, Expr *e, Expr **out, Error *err)
{
    const Num *num = &e->value.num;
    *out = e;
    bool wide = e->kind == EXPR_CONST && !e->value.null && e->type.id == TYPE_NUMERIC && e->type.precision == 0;
    if (!wide || num->kind != NUM_FINITE || num->scale < 0 || num->scale > 18) return TCUDB_OK;
    if (num->value <= -POW10_18 || num->value >= POW10_18) return TCUDB_OK;
    Value v = {.type = TYPE_DECIMAL(18, (uint8_t)num->scale), .i64 = (int64_t)num->value};
    *out = expr_const(opt->arena, &v, e->position, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* One step on part i; *again: it is not done. false: it cannot be split. */
static bool refine(CaseParts *p, uint32_t i, bool *again)
{
    CasePart *part = &p->items[i];
    *again = true;
    for (uint32_t t = 0; t < part->ntests; t++)
        if (spans(p, part->tests[t].e)) return split_test(p, i, t);
    if (part->value != NULL) part->value = strip_cast(part->value);
    if (part->value != NULL && part->value->kind == EXPR_CASE && spans(p, part->value)) return split_case(p, i);
    *again = false;
    return true;
}

static tcudb_status part_call(Opt *opt, const AggCall *call, const CasePart *part, AggCall *out, Error *err)
{
    Expr *tests[TESTS_MAX];
    *out = *call;
    out->args[0] = part->value;
    if (part->value != NULL) TRY(limit_const(opt, part->value, &out->args[0], err));
    out->filter = NULL;
    for (uint32_t t = 0; t < part->ntests; t++) {
        tests[t] = part->tests[t].e;
        if (part->tests[t].fails)
            TRY(expr_call(opt->arena, FUNC_OPERATOR, "is not true", &tests[t], 1, 0, &tests[t], err));
    }
    return part->ntests == 0 ? TCUDB_OK : expr_and(opt, tests, part->ntests, &out->filter, err);
}

/* What contract.c does by itself: CASE WHEN c THEN x [ELSE 0] END, where x is not NULL, and c is an AND of conditions
 * of one side each. */
static bool is_pivot(Opt *opt, const CaseParts *p, const Plan *joins, const Expr *e)
{
    if (e->kind != EXPR_CASE || !spans(p, e)) return true;
    const Expr *when = e->args[0], *other = e->args[e->nargs - 1];
    bool zero = other->kind == EXPR_CONST && !other->value.null && card_number(&other->value) == 0;
    bool simple = e->nargs == 3 && (expr_is_null_const(other) || (zero && expr_not_null(opt, joins, NULL, e->args[1])));
    if (!simple || (e->type.id == TYPE_NUMERIC && e->type.precision == 0)) return false;
    for (uint32_t i = 0; i < when->nargs && when->kind == EXPR_AND; i++)
        if (spans(p, when->args[i])) return false;
    return when->kind == EXPR_AND || !spans(p, when);
}

static bool is_plain_filter(const CaseParts *p, const Expr *e)
{
    for (uint32_t i = 0; i < e->nargs && e->kind == EXPR_AND; i++)
        if (spans(p, e->args[i])) return false;
    return e->kind == EXPR_AND || !spans(p, e);
}

tcudb_status contract_parts(Opt *opt, const JoinGraph *g, uint64_t left, const Plan *joins, const AggCall *call,
                            AggCall out[CONTRACT_PARTS], uint32_t *n, Error *err)
{
    CaseParts *p = ARENA_NEW(opt->arena, CaseParts, err);
    TRY_PTR(p);
    *n = 0;
    *p = (CaseParts){.n = 1, .graph = g, .left = left};
    bool values = call->kind == AGG_SUM || call->kind == AGG_AVG || call->kind == AGG_COUNT;
    if (!values && call->kind != AGG_COUNT_STAR) return TCUDB_OK;
    bool whole = (!values || is_pivot(opt, p, joins, call->args[0])) &&
                 (call->filter == NULL || is_plain_filter(p, call->filter));
    if (whole || call->distinct) return TCUDB_OK;
    p->items[0].value = values ? call->args[0] : NULL;
    if (call->filter != NULL) (void)add_test(&p->items[0], call->filter, false);
    bool again = true;
    for (uint32_t i = 0; i < p->n; i += !again)
        if (!refine(p, i, &again)) return TCUDB_OK;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->items[i].value != NULL && expr_is_null_const(p->items[i].value)) continue;
        TRY(part_call(opt, call, &p->items[i], &out[(*n)++], err));
    }
    return TCUDB_OK;
}
