/*
 * join_ops.c: where in a tree of inner joins a semi, anti, mark, single or left join costs least.
 *
 * Each of these keeps or drops (or repeats) left rows by looking at their columns alone, so it commutes with
 * inner joins that do not use what it adds: semi(A join B, R) = semi(A, R) join B if the conditions use A
 * only. From the root down to the deepest input that has all the columns, every place is priced: probing
 * with the rows there, and all joins above it meeting only the share of rows that it lets through. TPC-H 18
 * filters orders before joining them; TPC-H 21 tests lines after the selective joins.
 */
#include "opt/join_graph.h"

#include <assert.h>

static bool covers(const Plan *plan, const GraphOp *op)
{
    uint32_t found = 0, needed = 0;
    for (uint32_t i = 0; i < plan->ncols; i++) found += colset_has(&op->needs, plan->cols[i].id);
    for (uint32_t i = 0; i < op->needs.nwords; i++) needed += popcount64(op->needs.words[i]);
    assert(found <= needed);
    return found == needed;
}

/* The input of an inner join to look at next; -1: neither, or both. */
static int next_input(const Plan *plan, const GraphOp *op)
{
    if (plan->kind != PLAN_JOIN || plan->join.kind == JOIN_RIGHT || plan->join.kind == JOIN_FULL) return -1;
    bool left = covers(plan->inputs[0], op), right = plan->join.kind == JOIN_INNER && covers(plan->inputs[1], op);
    return left == right ? -1 : right;
}

static double join_cost(const Rates *rates, const Plan *join)
{
    return cost_hash_join(rates, join->inputs[0]->rows, join->inputs[1]->rows, join->rows);
}

/* How many steps down from the root the operator goes. */
static uint32_t best_depth(const Rates *rates, const Plan *root, const GraphOp *op)
{
    double right = op->join->inputs[1]->rows, above = 0, best = 0;
    uint32_t depth = 0, best_at = 0;
    for (const Plan *plan = root;; depth++) {
        double rows = plan->rows;
        double cost = cost_hash_join(rates, rows, right, rows * op->share) - (1 - op->share) * above;
        if (depth == 0 || cost < best) {
            best = cost;
            best_at = depth;
        }
        int next = next_input(plan, op);
        if (next < 0) return best_at;
        above += join_cost(rates, plan);
        plan = plan->inputs[next];
    }
}

static tcudb_status insert(Opt *opt, Plan **slot, const GraphOp *op, uint32_t depth, Error *err)
{
    Plan *plan = *slot, *join = op->join;
    if (depth > 0) {
        int next = next_input(plan, op);
        assert(next >= 0);
        TRY(insert(opt, &plan->inputs[next], op, depth - 1, err));
        plan->rows *= op->share < 1 ? op->share : 1;
        return plan_widen(opt, plan, err);
    }
    join->inputs[0] = plan;
    join->rows = plan->rows * op->share;
    *slot = join;
    return plan_widen(opt, join, err);
}

/* Rows out per row in; the join's own estimate is against the left side that it had. */
static double op_share(const Opt *opt, Plan *join)
{
    card_rows(opt, join->inputs[1], false);
    double left = join->inputs[0]->rows;
    join->rows = -1;
    card_rows(opt, join, false);
    return left > 0 ? join->rows / left : 1;
}

tcudb_status graph_place_ops(Opt *opt, JoinGraph *g, Plan **slot, Error *err)
{
    /* All before any is moved: they are each other's inputs. */
    for (uint32_t i = 0; i < g->nops; i++) g->ops[i].share = op_share(opt, g->ops[i].join);
    for (uint32_t i = g->nops; i-- > 0;)
        TRY(insert(opt, slot, &g->ops[i], best_depth(g->rates, *slot, &g->ops[i]), err));
    return TCUDB_OK;
}
