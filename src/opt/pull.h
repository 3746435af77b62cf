/*
 * pull.h: takes the references to outer columns out of a subplan.
 */
#ifndef OPT_PULL_H
#define OPT_PULL_H

#include "opt/opt_int.h"

/* What was pulled out of a subplan R: R(l) = the rows of `plan` for which all of `preds` are true, with
 * output columns replaced as `subst` says. plan has no outer references; it puts out the columns that preds
 * and subst need besides R's own. */
typedef struct Pulled {
    ColSet outer;   /* in: the columns to get rid of */
    ExprList preds; /* over outer columns and plan's outputs */
    NamedExpr *subst;
    uint32_t nsubst;
    Plan *plan;
} Pulled;

/* *ok false: not possible this way; nothing has changed. */
tcudb_status pull_outer(Opt *opt, Pulled *p, const Plan *plan, bool *ok, Error *err) MUST_CHECK;
/* The same for an aggregate without groups (the caller's own copy): it is grouped by the inner sides of the
 * conditions, so that it has no row where it would have had one for no input. */
tcudb_status pull_outer_grouped(Opt *opt, Pulled *p, Plan *agg, bool *ok, Error *err) MUST_CHECK;
/* Whether the plan uses any of the columns. */
tcudb_status plan_refers(Opt *opt, const Plan *plan, const ColSet *cols, bool *out, Error *err) MUST_CHECK;

#endif
