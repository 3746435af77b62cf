/*
 * candidate.h: the ways to compute an aggregate over a join that the optimizer priced, carried by the plan node that
 * does it, for EXPLAIN. A device's candidates are more of the same: another engine, and seconds for moving data.
 */
#ifndef PLAN_CANDIDATE_H
#define PLAN_CANDIDATE_H

#include <stdint.h>

typedef enum CandidateForm {
    CANDIDATE_PLAIN,  /* join, then aggregate */
    CANDIDATE_VECTOR, /* sums before the join */
    CANDIDATE_SPARSE, /* contractions: the forms of tensor/product.h, in its order */
    CANDIDATE_DENSE,
    CANDIDATE_BITS,
    CANDIDATE_SPLIT,
    CANDIDATE_DOUBLES,
    CANDIDATE_FORMS
} CandidateForm;

/* Predicted seconds: moving data to and from a device; running the inputs and building tables or operands; meeting
 * and adding; putting rows out. */
typedef struct Price {
    double move, build, multiply, emit;
} Price;

static inline double price_total(Price p)
{
    return p.move + p.build + p.multiply + p.emit;
}

typedef struct Candidate {
    CandidateForm form;
    const char *engine;
    Price price;     /* corrected */
    double factor;   /* of earlier queries in the price; 1: none */
    double before;   /* seconds that a run of the form is known to take here, from earlier runs; 0: none */
    const char *why; /* it cannot run, or was not to: a constant string; NULL: it can */
} Candidate;

enum { CANDIDATES_MAX = 16 };

typedef struct Candidates {
    uint64_t node; /* what it is an alternative for: nodes that are alike have the same number; 0: unknown */
    uint32_t n, taken;
    Candidate items[CANDIDATES_MAX];
} Candidates;

const char *candidate_name(CandidateForm form);

#endif
