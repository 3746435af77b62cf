/*
 * node_class.h: which nodes are alike: what one took says something of the others.
 */
#ifndef OPT_NODE_CLASS_H
#define OPT_NODE_CLASS_H

#include "plan/plan.h"

/* The same for plans of the same nodes, expressions (but for their constants) and tables, whose scans are expected to
 * have about as many rows; never 0. */
uint64_t node_class(const Plan *plan);

#endif
