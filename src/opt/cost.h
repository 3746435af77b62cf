/*
 * cost.h: what plans cost on the CPU: read by the rules, which choose by it, and after a run, which asks how far off it
 * was with the rows that there really were.
 */
#ifndef OPT_COST_H
#define OPT_COST_H

#include "plan/plan.h"
#include "tensor/rates.h"

/* Rows that a node puts out: an estimate (plan->rows) or a count. */
typedef double (*CostRows)(void *ctx, const Plan *plan);

typedef struct CostEnv {
    const Rates *rates;
    uint32_t workers;
    CostRows rows; /* NULL: the estimates */
    void *ctx;
} CostEnv;

/* Predicted wall seconds of the node and all below it. Groups and keys have their domains (card_domains). */
Price cost_tree(const CostEnv *env, const Plan *plan);
/* Pieces that work on the left input of a node: what runs in parallel. */
double cost_tasks(const CostEnv *env, const Plan *plan);

/* Seconds of one core, for ordering joins and such. */
double cost_hash_join(const Rates *r, double left, double right, double out);
double cost_nested_join(const Rates *r, double left, double right, double out);
/* domain: of the keys (card_keys_domain). */
double cost_aggregate(const Rates *r, double rows, double groups, double domain);
double cost_sort(const Rates *r, double rows, double kept);

#endif
