/*
 * cost_contract.h: what a contraction costs in a form, its inputs included.
 */
#ifndef OPT_COST_CONTRACT_H
#define OPT_COST_CONTRACT_H

#include "opt/cost.h"
#include "tensor/product_price.h"

/* Predicted wall seconds; direct: groups and keys are coded from exact bounds; heavy keys dense, light_pairs sparse. */
Price cost_contract(const CostEnv *env, const Plan *contract, const ProductShape *shape, bool direct, double heavy,
                    double light_pairs);

#endif
