/*
 * corrections.h: what queries took, against what was predicted, in one database handle: a factor for each form of
 * candidate and size. Any thread.
 */
#ifndef OPT_CORRECTIONS_H
#define OPT_CORRECTIONS_H

#include "base/mem.h"
#include "plan/candidate.h"

enum { CORRECTION_REGIMES = 3, CORRECTION_SAMPLES = 5 };

typedef struct Corrections Corrections;

tcudb_status corrections_new(Corrections **out, Error *err) MUST_CHECK;
void corrections_free(Corrections *c);
/* Of predictions (uncorrected seconds): below 1 ms, below 30 ms, more. */
uint32_t correction_regime(double predicted);
const char *correction_regime_name(uint32_t regime);
/* What a prediction is to be multiplied by; 1 until there are CORRECTION_SAMPLES, or c is NULL. */
double corrections_factor(Corrections *c, CandidateForm form, double predicted);
/* A query of the form took `actual` seconds; predicted from the rows that there really were, uncorrected. */
void corrections_learn(Corrections *c, CandidateForm form, double predicted, double actual);
void corrections_reset(Corrections *c);
/* For SHOW: the mean of log(actual / predicted) and the number of queries. */
void corrections_look(Corrections *c, CandidateForm form, uint32_t regime, double *mean_log, uint64_t *samples);

#endif
