/*
 * same_sides.h: contractions of a table with itself.
 */
#ifndef PLAN_SAME_SIDES_H
#define PLAN_SAME_SIDES_H

#include "plan/plan.h"

/* Whether both sides of a contraction are the same rows, groups, keys and values. */
tcudb_status plan_sides_are_same(Arena *arena, const Plan *contract, bool *same, Error *err) MUST_CHECK;

#endif
