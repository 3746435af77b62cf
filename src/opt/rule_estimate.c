/*
 * rule_estimate.c: rows and cost of every node, for EXPLAIN and for exec's choices.
 *
 * Pattern: any plan. Rewrite: none; only plan->rows, plan->cost and notes are set. Loses never.
 *
 * A join that multiplies rows and whose rows are all wanted is the one pattern of joins that no product of matrices
 * helps: its cost is that of its output. EXPLAIN says so.
 */
#include "opt/opt_int.h"

#include <assert.h>

static const double FANOUT = 1.1;

static bool multiplies_rows(const Plan *join)
{
    double left = join->inputs[0]->rows, right = join->inputs[1]->rows;
    return join->rows > FANOUT * (left > right ? left : right);
}

/* Down to the topmost inner joins, through what puts out a row for a row. */
static void note_wanted_rows(Plan *plan)
{
    bool passes = plan->kind == PLAN_PROJECT || plan->kind == PLAN_SORT || plan->kind == PLAN_FILTER ||
                  (plan->kind == PLAN_SET_OP && plan->set_op.all);
    bool inner = plan->kind == PLAN_JOIN && plan->join.kind == JOIN_INNER;
    for (uint32_t i = 0; i < plan->ninputs && passes; i++) note_wanted_rows(plan->inputs[i]);
    if (inner && plan->note == NULL && multiplies_rows(plan))
        plan->note = "No contraction: every row of the join is wanted";
}

tcudb_status rule_estimate(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    card_domains(opt, *root);
    CostEnv env = {.rates = opt->env->rates, .workers = opt->env->workers};
    (*root)->cost = price_total(cost_tree(&env, *root));
    assert((*root)->cost >= 0);
    if (opt->env->settings->contraction && *root == opt->statement) note_wanted_rows(*root);
    opt->changed = true;
    return TCUDB_OK;
}
