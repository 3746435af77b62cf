/*
 * candidates.h: prices for the ways to compute an aggregate over a join, and the choice among them.
 */
#ifndef OPT_CANDIDATES_H
#define OPT_CANDIDATES_H

#include "opt/opt_int.h"

tcudb_status candidates_new(Opt *opt, Candidates **out, Error *err) MUST_CHECK;
/* A candidate that can run at this price (not yet corrected), or (why) cannot. */
void candidates_add(Opt *opt, Candidates *list, CandidateForm form, Price price, const char *why);
/* Plain and vector: the aggregate (or DISTINCT) over joins whose order may not be settled yet. */
tcudb_status candidates_ordinary(Opt *opt, Candidates *list, const Plan *plan, Error *err) MUST_CHECK;
/* The forms of a contraction. */
tcudb_status candidates_contract(Opt *opt, Candidates *list, const Plan *contract, Error *err) MUST_CHECK;
/* Whether a plan in the place of an ordinary aggregate, its contractions priced already, is cheaper or asked for. */
tcudb_status candidates_prefer(Opt *opt, Plan *ordinary, Plan *other, bool *prefer, Error *err) MUST_CHECK;
/* Sets list->taken: what a setting forces, else the cheapest. A correction alone changes the choice only where it
 * promises a fifth of the time. */
void candidates_choose(const Opt *opt, Candidates *list);

/* rule_eager.c: *slot, an aggregate over a join, with its sums below the join, if that can be; *done. */
tcudb_status eager_rewrite(Opt *opt, Plan **slot, bool *done, Error *err) MUST_CHECK;

#endif
