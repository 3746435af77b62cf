/*
 * rule_recursion.c: a recursion's step builds what stays.
 *
 * Pattern: in the step of a recursion, an inner join that builds its table from the rows of the round before and
 * streams something that is the same in every round. Rewrite: the sides change places.
 * Why: exec keeps a table whose rows depend on no round (op_hash_join.c), so that a round costs what its rows cost;
 * the other way round every round reads the whole side again. Right because an inner join has no sides.
 * Loses when the recursion ends after few rounds and the side is large: so only sides of up to BUILD_MOST rows.
 */
#include "opt/opt_int.h"

enum { BUILD_MOST = 1000000 };

static bool reads_work(const Plan *plan)
{
    if (plan->kind == PLAN_WORK_SCAN) return true;
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (reads_work(plan->inputs[i])) return true;
    return false;
}

static void turn(Opt *opt, Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) turn(opt, plan->inputs[i]);
    if (plan->kind != PLAN_JOIN || plan->join.kind != JOIN_INNER) return;
    Plan *left = plan->inputs[0], *right = plan->inputs[1];
    if (reads_work(left) || !reads_work(right) || !(left->rows <= BUILD_MOST)) return;
    plan->inputs[0] = right;
    plan->inputs[1] = left;
    opt->changed = true;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    TRY(opt_poll(opt, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    if (plan->kind == PLAN_RECURSIVE) turn(opt, plan->inputs[1]);
    return TCUDB_OK;
}

tcudb_status rule_recursion(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, *root, err);
}
