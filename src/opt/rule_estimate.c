/*
 * rule_estimate.c: rows and cost of every node, for EXPLAIN and for exec's choices.
 *
 * Pattern: any plan. Rewrite: none; only plan->rows and plan->cost are set. Loses never.
 */
#include "opt/opt_int.h"

#include <assert.h>

tcudb_status rule_estimate(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    card_domains(opt, *root);
    CostEnv env = {.rates = opt->env->rates, .workers = opt->env->workers};
    (*root)->cost = price_total(cost_tree(&env, *root));
    assert((*root)->cost >= 0);
    opt->changed = true;
    return TCUDB_OK;
}
