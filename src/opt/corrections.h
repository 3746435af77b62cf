/*
 * corrections.h: what queries took, against what was predicted, in one database handle: a factor for each form of
 * candidate and size; and what the nodes took that ran here before. Any thread.
 */
#ifndef OPT_CORRECTIONS_H
#define OPT_CORRECTIONS_H

#include "base/mem.h"
#include "plan/candidate.h"

enum { CORRECTION_REGIMES = 3, CORRECTION_SAMPLES = 5 };

/* Ways to run a node between which the plan decides; a contraction finds its form when it runs. */
typedef enum NodeWay { WAY_PLAIN, WAY_VECTOR, WAY_CONTRACT, NODE_WAYS } NodeWay;

typedef struct NodeRuns {
    uint64_t node;            /* 0: none */
    NodeWay last;             /* that ran */
    uint64_t runs[NODE_WAYS]; /* 0: never taken */
    double ratio[NODE_WAYS];  /* the least that a run took of what was expected, older runs counting less */
} NodeRuns;

typedef struct Corrections Corrections;

tcudb_status corrections_new(Corrections **out, Error *err) MUST_CHECK;
void corrections_free(Corrections *c);
/* Of predictions (uncorrected seconds): below 1 ms, below 30 ms, more. */
uint32_t correction_regime(double predicted);
const char *correction_regime_name(uint32_t regime);
/* What a prediction is to be multiplied by; 1 until there are CORRECTION_SAMPLES of any form, or c is NULL. What all
 * forms have in common concerns those too that were never taken; a form differs from it by a factor of two at most. */
double corrections_factor(Corrections *c, CandidateForm form, double predicted);
/* A query of the form took `actual` seconds; predicted from the rows that there really were, uncorrected. */
void corrections_learn(Corrections *c, CandidateForm form, double predicted, double actual);

NodeWay correction_way(CandidateForm form);
/* A node of the class (node_class.h), whose way was expected (estimated rows, uncorrected) to take so long, took
 * `actual`. */
void corrections_node(Corrections *c, uint64_t node, NodeWay way, double expected, double actual);
/* What is known of the class; false: nothing. */
bool corrections_node_look(Corrections *c, uint64_t node, NodeRuns *out);
/* Forgets everything. */
void corrections_reset(Corrections *c);
/* For SHOW: the mean of log(actual / predicted) and the number of queries. */
void corrections_look(Corrections *c, CandidateForm form, uint32_t regime, double *mean_log, uint64_t *samples);

#endif
