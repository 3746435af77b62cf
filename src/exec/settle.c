/*
 * settle.c: after a run: what nodes with candidates took, against what they should have taken.
 *
 * A node's time is the wall time of its run, all below it included, less what its pushes spent above it. It is compared
 * with the price of what ran at the numbers of rows that there really were: so an error of the estimates does not pass
 * for one of the rates. What a LIMIT cut short, or a child execution repeated, teaches nothing.
 */
#include "exec/exec_int.h"
#include "opt/cost_contract.h"

#include <math.h>

static const double TOO_SHORT = 50e-6; /* seconds: the clock and the scheduler decide */

static const PhysNode *find(const PhysNode *node, const Plan *plan)
{
    if (node->plan == plan) return node;
    for (uint32_t i = 0; i < node->ninputs; i++) {
        const PhysNode *found = find(node->inputs[i], plan);
        if (found != NULL) return found;
    }
    return NULL;
}

double exec_real_rows(void *ctx, const Plan *plan)
{
    const PhysNode *node = find(ctx, plan);
    return node == NULL || atomic_load(&node->stats.loops) == 0 ? plan->rows : (double)atomic_load(&node->stats.rows);
}

static double repriced(const ExecEnv *env, PhysNode *node)
{
    CostEnv cost = {.rates = env->rates, .workers = pool_workers(env->pool), .rows = exec_real_rows, .ctx = node};
    if (node->plan->kind != PLAN_CONTRACT) return price_total(cost_tree(&cost, node->plan));
    PhysProduct *p = &node->product;
    p->report.shape.out = (double)atomic_load(&node->stats.rows);
    return price_total(
        cost_contract(&cost, node->plan, &p->report.shape, p->direct, p->report.heavy_keys, p->report.light_pairs));
}

/* Pairs a second of the sparse rows, operations of the dense ones: a multiplication and an addition a limb pair or bit.
 */
static void set_work(const PhysProduct *p, PhysActual *a)
{
    const ProductShape *s = &p->report.shape;
    bool dense = p->report.heavy_keys > 0;
    a->unit = dense ? "GOPS" : "Gpairs/s";
    a->work = s->pairs;
    if (dense) a->work = 2 * s->groups[0] * s->groups[1] * p->report.heavy_keys * (s->limb_pairs + (s->bits ? 1 : 0));
    if (s->symmetric) a->work /= 2;
    a->work_seconds = a->multiply;
}

static void settle(const ExecEnv *env, PhysNode *node, bool whole)
{
    uint64_t loops = atomic_load(&node->stats.loops);
    const Candidates *list = node->plan->candidates;
    bool cut = node->plan->kind == PLAN_LIMIT || node->plan->kind == PLAN_APPLY;
    for (uint32_t i = 0; i < node->ninputs; i++) settle(env, node->inputs[i], whole && !cut);
    if (list == NULL || loops != 1 || env->rates == NULL) return;
    bool by_row = node->plan->kind == PLAN_CONTRACT && node->product.report.form == FORM_AUTO;
    if (by_row) return; /* tcu/exact.c: no candidate that was priced */
    PhysActual *a = &node->actual;
    double workers = atomic_load(&node->stats.batches) > 8 ? pool_workers(env->pool) : 1;
    double wall = (double)atomic_load(&node->stats.wall_ns), down = (double)atomic_load(&node->stats.down_ns);
    *a = (PhysActual){.done = true, .form = list->items[list->taken].form};
    a->seconds = fmax(wall - down / workers, 0) * 1e-9;
    if (node->plan->kind == PLAN_CONTRACT) {
        a->form = (CandidateForm)(CANDIDATE_SPARSE + node->product.report.form - FORM_SPARSE);
        if (a->form == CANDIDATE_DENSE && node->product.report.in_doubles > 0) a->form = CANDIDATE_DOUBLES;
        a->build = fmin(node->product.build_seconds, a->seconds);
        a->multiply = a->seconds - a->build;
        set_work(&node->product, a);
    }
    double predicted = repriced(env, node);
    a->predicted = predicted * corrections_factor(env->corrections, a->form, predicted);
    bool blocked = node->plan->kind == PLAN_CONTRACT && node->product.report.parts > 1; /* no candidate's price */
    if (!whole || blocked || a->seconds <= TOO_SHORT) return;
    const Candidate *taken = &list->items[list->taken];
    corrections_learn(env->corrections, a->form, predicted, a->seconds);
    corrections_node(env->corrections, list->node, correction_way(taken->form),
                     price_total(taken->price) / taken->factor, a->seconds);
}

void exec_settle(const ExecEnv *env, const PhysPlan *phys)
{
    for (uint32_t i = 0; i < phys->nctes; i++) settle(env, phys->cte_nodes[i], false);
    settle(env, phys->root, true);
}
