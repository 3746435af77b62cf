/*
 * opt.h: bound plan -> optimised plan. Rules are one file each (rule_*.c), run in the order of rule.def.
 */
#ifndef OPT_OPT_H
#define OPT_OPT_H

#include "base/cancel.h"
#include "base/settings.h"
#include "catalog/key_counts.h"
#include "opt/corrections.h"
#include "plan/plan.h"
#include "tensor/rates.h"

typedef struct OptEnv {
    Arena *arena;
    const Settings *settings;
    const Rates *rates;
    Corrections *corrections; /* NULL: none are made */
    KeyCache *keys;           /* frequencies of join keys; NULL: none are asked for */
    const Value *params;      /* values if known (then folded), or NULL */
    uint32_t nparams;
    int64_t now;
    ColId next_col; /* for new columns; counts up */
    uint32_t workers;
    const atomic_bool *cancel; /* may be NULL */
} OptEnv;

/* Rewrites *plan in place or replaces it. With settings->optimizer off only what execution needs is done
 * (decorrelation is not: Apply runs as it is). Debug builds verify after each rule. */
tcudb_status opt_run(OptEnv *env, Plan **plan, Error *err) MUST_CHECK;
/* For EXPLAIN (STAGES): called after each rule that changed the plan; may be NULL. */
typedef tcudb_status (*OptTrace)(void *ctx, const char *rule, const Plan *plan, Error *err);
tcudb_status opt_run_traced(OptEnv *env, Plan **plan, OptTrace trace, void *ctx, Error *err) MUST_CHECK;

#endif
