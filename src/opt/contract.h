/*
 * contract.h: aggregates as sums of products over two sides of a join, for rule_contract.c.
 */
#ifndef OPT_CONTRACT_H
#define OPT_CONTRACT_H

#include "opt/opt_int.h"

enum { POLY_MAX = 8, LEAVES_MAX = 6 };

/* factor x 10^-scale x product of the sides' leaves; a side without leaves is 1. */
typedef struct Mono {
    int64_t factor;
    uint32_t scale;
    Expr *leaves[2][LEAVES_MAX];
    uint32_t nleaves[2];
} Mono;

typedef struct Poly {
    Mono monos[POLY_MAX];
    uint32_t n;
} Poly;

/* The inputs, a plan that has both as inputs (for ranges), and the reason when something does not fit. */
typedef struct Sides {
    Opt *opt;
    Plan *inputs[2];
    Plan *both;
    const char *why; /* a constant string */
} Sides;

/* 0 or 1: every column of e is an output of that input; 2: no columns; -1: both, or outer columns. */
int sides_of(const Sides *s, const Expr *e);
/* e as a polynomial, exactly: the same value wherever e is not NULL, and no intermediate overflow that e would
 * have reported. false: it is none, s->why says what stood in the way. */
bool poly_expand(Sides *s, Expr *e, Poly *out);
/* The aggregate call's terms, added to the node's values and outs. Not an error: *ok false and s->why. */
tcudb_status contract_add_call(Sides *s, const AggCall *call, Plan *node, ContractOut *out, bool *ok,
                               Error *err) MUST_CHECK;

#endif
