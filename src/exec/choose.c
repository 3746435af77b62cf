/*
 * choose.c: logical plan -> physical plan: the cheapest operator that can run each node.
 *
 * The operators of a kind are tried in the order of phys/op.def; what refuses says why, for EXPLAIN. CTEs
 * that the plan scans are planned before it. Facts about columns (dictionaries, bounds) are collected
 * once for the whole statement.
 */
#include "exec/exec_int.h"

#include <stdio.h>

typedef struct OpEntry {
    const Op *op;
    PlanKind kind;
} OpEntry;

static const OpEntry ops[] = {
#define OP(symbol, kind) {&op_##symbol, PLAN_##kind},
#include "phys/op.def"
#undef OP
};

typedef struct Chooser {
    Arena *arena;
    const ExecEnv *env;
    bool *fast; /* PhysPlan's */
} Chooser;

static void note_refusal(PhysNode *node, const Op *op, const char *why)
{
    size_t used = strlen(node->why);
    snprintf(node->why + used, sizeof node->why - used, "%s%s: %s", used == 0 ? "" : "; ", op->name, why);
}

static tcudb_status choose_op(const Chooser *c, PhysNode *node, Error *err)
{
    double best = 0;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (ops[i].kind != node->plan->kind) continue;
        char why[PHYS_NOTE] = "";
        if (ops[i].op->can_run != NULL && !ops[i].op->can_run(c->env, node->plan, why)) {
            note_refusal(node, ops[i].op, why);
            continue;
        }
        double cost = ops[i].op->cost == NULL ? 0 : ops[i].op->cost(node->plan);
        if (node->op == NULL || cost < best) {
            node->op = ops[i].op;
            best = cost;
            snprintf(node->note, sizeof node->note, "%s", why);
        }
    }
    if (node->op == NULL) return error_unsupported(err, 0, "the plan node \"%s\"", plan_kind_name(node->plan->kind));
    return TCUDB_OK;
}

static tcudb_status choose(const Chooser *c, const Plan *plan, uint32_t depth, PhysNode **out, Error *err)
{
    enum { MAX_DEPTH = 4000 };
    if (depth > MAX_DEPTH) return error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    TRY(cancel_poll(c->env->cancel, err));
    PhysNode *node = ARENA_NEW(c->arena, PhysNode, err);
    TRY_PTR(node);
    node->plan = plan;
    node->ninputs = plan->ninputs;
    *c->fast |= plan->kind == PLAN_CONTRACT && plan->contract.fast;
    node->inputs = ARENA_ARRAY(c->arena, PhysNode *, plan->ninputs + 1, err);
    TRY_PTR(node->inputs);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(choose(c, plan->inputs[i], depth + 1, &node->inputs[i], err));
    TRY(choose_op(c, node, err));
    *out = node;
    return TCUDB_OK;
}

static tcudb_status choose_ctes(const Chooser *c, PhysPlan *phys, Error *err)
{
    phys->cte_nodes = ARENA_ARRAY(c->arena, PhysNode *, phys->nctes + 1, err);
    TRY_PTR(phys->cte_nodes);
    phys->cte_free = ARENA_ARRAY(c->arena, bool, phys->nctes + 1, err);
    TRY_PTR(phys->cte_free);
    for (uint32_t i = 0; i < phys->nctes; i++) {
        ColId *cols = NULL;
        uint32_t ncols = 0;
        TRY(choose(c, phys->ctes[i]->plan, 0, &phys->cte_nodes[i], err));
        TRY(plan_free_cols(c->arena, phys->ctes[i]->plan, &cols, &ncols, err));
        TRY(plan_free_work(c->arena, phys->ctes[i]->plan, &phys->cte_free[i], err));
        phys->cte_free[i] |= ncols > 0;
    }
    return TCUDB_OK;
}

static tcudb_status check_engine(const ExecEnv *env, PhysPlan *phys, Error *err)
{
    static const char *const names[] = {"auto", "cpu", "gpu", "tcu"};
    int64_t wanted = env->settings == NULL ? ENGINE_AUTO : env->settings->engine;
    bool other = wanted != ENGINE_AUTO && wanted != ENGINE_CPU;
    snprintf(phys->why, sizeof phys->why, "%s", other ? "the plan has no operator of the engine asked for" : "");
    if (!other || !env->settings->require_engine) return TCUDB_OK;
    tcudb_status status =
        error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "engine \"%s\" cannot run this query", names[wanted & 3]);
    error_detail(err, "%s.", phys->why);
    error_hint(err, "Turn tcudb.require_engine off to let another engine run it.");
    return status;
}

tcudb_status phys_plan(Arena *arena, const ExecEnv *env, const Plan *plan, PhysPlan **out, Error *err)
{
    PhysPlan *phys = ARENA_NEW(arena, PhysPlan, err);
    TRY_PTR(phys);
    Chooser c = {arena, env, &phys->fast};
    TRY(check_engine(env, phys, err));
    TRY(plan_ctes(arena, plan, &phys->ctes, &phys->nctes, err));
    phys->ninfo = plan_col_end(plan, phys->ctes, phys->nctes);
    phys->info = ARENA_ARRAY(arena, ColInfo, phys->ninfo + 1, err);
    TRY_PTR(phys->info);
    for (uint32_t i = 0; i < phys->nctes; i++) phys_collect_info(phys->info, phys->ninfo, phys->ctes[i]->plan);
    phys_collect_info(phys->info, phys->ninfo, plan);
    TRY(choose_ctes(&c, phys, err));
    TRY(choose(&c, plan, 0, &phys->root, err));
    phys->writes = plan_writes(plan);
    *out = phys;
    return TCUDB_OK;
}
