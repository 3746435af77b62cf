/*
 * corrections.c: exponentially weighted means of log(actual / predicted), one a form and size.
 *
 * A ratio beyond a factor of four is taken as four: one query that met a cold disk must not decide the next hundred.
 * Few samples mean nothing, so a factor is 1 until there are CORRECTION_SAMPLES. The mean before it is full is the
 * plain one, so that the first sample does not outweigh the rest.
 */
#include "opt/corrections.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>

static const double WEIGHT = 0.2, CLIP = 1.3862943611198906; /* log 4 */

typedef struct Mean {
    double log_ratio;
    uint64_t n;
} Mean;

struct Corrections {
    pthread_mutex_t lock;
    Mean means[CANDIDATE_FORMS][CORRECTION_REGIMES];
};

tcudb_status corrections_new(Corrections **out, Error *err)
{
    *out = mem_alloc_zero(NULL, sizeof **out, err);
    TRY_PTR(*out);
    pthread_mutex_init(&(*out)->lock, NULL);
    return TCUDB_OK;
}

void corrections_free(Corrections *c)
{
    if (c == NULL) return;
    pthread_mutex_destroy(&c->lock);
    mem_free(NULL, c, sizeof *c);
}

uint32_t correction_regime(double predicted)
{
    return predicted < 1e-3 ? 0 : predicted < 30e-3 ? 1 : 2;
}

const char *correction_regime_name(uint32_t regime)
{
    static const char *const names[CORRECTION_REGIMES] = {"below 1 ms", "below 30 ms", "from 30 ms on"};
    return names[regime];
}

void corrections_look(Corrections *c, CandidateForm form, uint32_t regime, double *mean_log, uint64_t *samples)
{
    assert(form < CANDIDATE_FORMS && regime < CORRECTION_REGIMES);
    pthread_mutex_lock(&c->lock);
    *mean_log = c->means[form][regime].log_ratio;
    *samples = c->means[form][regime].n;
    pthread_mutex_unlock(&c->lock);
}

double corrections_factor(Corrections *c, CandidateForm form, double predicted)
{
    double mean;
    uint64_t n;
    if (c == NULL) return 1;
    corrections_look(c, form, correction_regime(predicted), &mean, &n);
    return n < CORRECTION_SAMPLES ? 1 : exp(mean);
}

void corrections_learn(Corrections *c, CandidateForm form, double predicted, double actual)
{
    if (c == NULL || !(predicted > 0) || !(actual > 0)) return;
    double sample = fmin(CLIP, fmax(-CLIP, log(actual / predicted)));
    pthread_mutex_lock(&c->lock);
    Mean *mean = &c->means[form][correction_regime(predicted)];
    mean->n++;
    double weight = fmax(WEIGHT, 1.0 / (double)mean->n);
    mean->log_ratio += weight * (sample - mean->log_ratio);
    pthread_mutex_unlock(&c->lock);
}

void corrections_reset(Corrections *c)
{
    pthread_mutex_lock(&c->lock);
    for (uint32_t form = 0; form < CANDIDATE_FORMS; form++)
        for (uint32_t regime = 0; regime < CORRECTION_REGIMES; regime++) c->means[form][regime] = (Mean){0};
    pthread_mutex_unlock(&c->lock);
}
