/*
 * opt.c: runs the rules.
 *
 * Rules run once each, in the order of rule.def, over every CTE of the statement and then over the
 * statement itself. After a rule that changed a plan, builds with assertions verify it, and EXPLAIN
 * (STAGES) is told. A plan is good for the snapshot it was made in: rules rest on exact statistics.
 */
#include "opt/opt_int.h"

#include <assert.h>

enum { MAX_DEPTH = 6000 }; /* rules recurse; bind/ already refuses deeper nesting */

typedef struct RuleEntry {
    const char *name;
    OptRule run;
} RuleEntry;

static const RuleEntry rules[] = {
#define RULE(name, fn) {name, fn},
#include "opt/rule.def"
#undef RULE
};

static tcudb_status check_depth(const Plan *plan, uint32_t depth, Error *err)
{
    if (depth > MAX_DEPTH) return error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(check_depth(plan->inputs[i], depth + 1, err));
    return TCUDB_OK;
}

static tcudb_status verify(Opt *opt, const char *rule, Plan *plan, Error *err)
{
#ifndef NDEBUG
    TRY(opt_poll(opt, err));
    ColId *outer = NULL;
    uint32_t n = 0;
    TRY(plan_free_cols(opt->arena, plan, &outer, &n, err));
    if (n > 0 && plan != opt->statement) return TCUDB_OK; /* a CTE of a correlated subquery */
    tcudb_status status = plan_verify(plan, err);
    if (status != TCUDB_OK && err != NULL) error_detail(err, "After rule \"%s\".", rule);
    return status;
#else
    (void)opt, (void)rule, (void)plan, (void)err;
    return TCUDB_OK;
#endif
}

/* Rules work on a root at a time but may touch CTEs from the statement, so all are verified. */
static tcudb_status verify_all(Opt *opt, const char *rule, Cte **ctes, uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < n; i++) TRY(verify(opt, rule, ctes[i]->plan, err));
    return verify(opt, rule, opt->statement, err);
}

static tcudb_status run_rule(Opt *opt, const RuleEntry *rule, bool *changed, Error *err)
{
    Cte **ctes = NULL;
    uint32_t n = 0;
    TRY(plan_ctes(opt->arena, opt->statement, &ctes, &n, err));
    opt->changed = false;
    for (uint32_t i = 0; i < n; i++) {
        TRY(opt_poll(opt, err));
        TRY(rule->run(opt, &ctes[i]->plan, err));
    }
    TRY(opt_poll(opt, err));
    TRY(rule->run(opt, &opt->statement, err));
    *changed = opt->changed;
    return opt->changed ? verify_all(opt, rule->name, ctes, n, err) : TCUDB_OK;
}

/* A caller may not know the first free id (EXPLAIN's inner statement). */
static tcudb_status settle_next_col(Opt *opt, Error *err)
{
    Cte **ctes = NULL;
    uint32_t n = 0;
    TRY(plan_ctes(opt->arena, opt->statement, &ctes, &n, err));
    ColId end = plan_col_end(opt->statement, ctes, n);
    if (opt->env->next_col < end) opt->env->next_col = end;
    return TCUDB_OK;
}

/* What EXPLAIN (STAGES) is told: only stages that read differently from the one before. */
typedef struct Tracer {
    OptTrace trace;
    void *ctx;
    Buf last, now;
} Tracer;

static tcudb_status trace_stage(Tracer *t, const char *rule, const Plan *plan, Error *err)
{
    t->now.len = 0;
    TRY(plan_print(plan, &t->now, err));
    bool same = t->now.len == t->last.len && memcmp(t->now.data, t->last.data, t->now.len) == 0;
    Buf swap = t->last;
    t->last = t->now;
    t->now = swap;
    return same ? TCUDB_OK : t->trace(t->ctx, rule, plan, err);
}

static tcudb_status run_rules(Opt *opt, Tracer *tracer, Error *err)
{
    if (tracer != NULL) TRY(plan_print(opt->statement, &tracer->last, err));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        bool changed = false;
        TRY(run_rule(opt, &rules[i], &changed, err));
        if (changed && tracer != NULL) TRY(trace_stage(tracer, rules[i].name, opt->statement, err));
    }
    return TCUDB_OK;
}

tcudb_status opt_run_traced(OptEnv *env, Plan **plan, OptTrace trace, void *ctx, Error *err)
{
    assert(env->arena != NULL && env->settings != NULL);
    TRY(check_depth(*plan, 0, err));
    if (!env->settings->optimizer) return TCUDB_OK;
    Opt opt = {.env = env, .arena = env->arena, .statement = *plan, .next_semi = 1};
    TRY(settle_next_col(&opt, err));
    TRY(verify(&opt, "bind", opt.statement, err));
    Tracer tracer = {.trace = trace, .ctx = ctx};
    buf_init(&tracer.last, env->arena->mem);
    buf_init(&tracer.now, env->arena->mem);
    tcudb_status status = run_rules(&opt, trace == NULL ? NULL : &tracer, err);
    buf_free(&tracer.last);
    buf_free(&tracer.now);
    *plan = opt.statement;
    return status;
}

tcudb_status opt_run(OptEnv *env, Plan **plan, Error *err)
{
    return opt_run_traced(env, plan, NULL, NULL, err);
}
