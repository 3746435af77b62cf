/*
 * corrections.c: exponentially weighted means of log(actual / predicted), one a form and size; and what nodes took.
 *
 * Forms. A ratio beyond a factor of four is taken as four: one query that met a cold disk must not decide the next
 * hundred. Few samples mean nothing, so a factor is 1 until there are CORRECTION_SAMPLES. The mean before it is full is
 * the plain one, so that the first sample does not outweigh the rest. A machine that is busy makes every form slow, but
 * only those that are taken show it: so the mean over all forms corrects all, and a form's own difference from it
 * counts only up to BOUND.
 *
 * Nodes. What a way took of what was expected, with the errors of the estimates in it: the least of the runs, each
 * older one counting FADE more, since a run can be slow for any reason but not fast. A table of so many classes, found
 * by the low bits of their number; a class puts out another one of its place.
 */
#include "opt/corrections.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

static const double WEIGHT = 0.2, CLIP = 1.3862943611198906; /* log 4 */
static const double BOUND = 0.6931471805599453, FADE = 1.05; /* log 2 */

enum { NODES = 1024 };

typedef struct Mean {
    double log_ratio;
    uint64_t n;
} Mean;

struct Corrections {
    pthread_mutex_t lock;
    Mean means[CANDIDATE_FORMS][CORRECTION_REGIMES];
    NodeRuns nodes[NODES];
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

/* The mean over the forms that have samples enough, each weighing as many as count; false: none has. */
static bool common_mean(const Corrections *c, uint32_t regime, double *mean)
{
    double sum = 0, weight = 0;
    for (uint32_t form = 0; form < CANDIDATE_FORMS; form++) {
        const Mean *m = &c->means[form][regime];
        if (m->n < CORRECTION_SAMPLES) continue;
        double own = fmin((double)m->n, 1 / WEIGHT);
        sum += own * m->log_ratio;
        weight += own;
    }
    *mean = weight > 0 ? sum / weight : 0;
    return weight > 0;
}

double corrections_factor(Corrections *c, CandidateForm form, double predicted)
{
    double common;
    if (c == NULL) return 1;
    uint32_t regime = correction_regime(predicted);
    pthread_mutex_lock(&c->lock);
    const Mean own = c->means[form][regime];
    bool any = common_mean(c, regime, &common);
    pthread_mutex_unlock(&c->lock);
    if (!any) return 1;
    double difference = own.n < CORRECTION_SAMPLES ? 0 : own.log_ratio - common;
    return exp(common + fmin(BOUND, fmax(-BOUND, difference)));
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

NodeWay correction_way(CandidateForm form)
{
    return form == CANDIDATE_PLAIN ? WAY_PLAIN : form == CANDIDATE_VECTOR ? WAY_VECTOR : WAY_CONTRACT;
}

void corrections_node(Corrections *c, uint64_t node, NodeWay way, double expected, double actual)
{
    if (c == NULL || node == 0 || !(expected > 0) || !(actual > 0)) return;
    double ratio = actual / expected;
    pthread_mutex_lock(&c->lock);
    NodeRuns *runs = &c->nodes[node % NODES];
    if (runs->node != node) *runs = (NodeRuns){.node = node};
    double known = runs->runs[way] == 0 ? INFINITY : runs->ratio[way] * FADE;
    runs->ratio[way] = fmin(known, ratio);
    runs->runs[way]++;
    runs->last = way;
    pthread_mutex_unlock(&c->lock);
}

bool corrections_node_look(Corrections *c, uint64_t node, NodeRuns *out)
{
    if (c == NULL || node == 0) return false;
    pthread_mutex_lock(&c->lock);
    *out = c->nodes[node % NODES];
    pthread_mutex_unlock(&c->lock);
    return out->node == node;
}

void corrections_reset(Corrections *c)
{
    pthread_mutex_lock(&c->lock);
    memset(c->means, 0, sizeof c->means);
    memset(c->nodes, 0, sizeof c->nodes);
    pthread_mutex_unlock(&c->lock);
}
