/*
 * contract.h: aggregates as sums of products over two sides of a join: what rule_contract.c and contract*.c share.
 */
#ifndef OPT_CONTRACT_H
#define OPT_CONTRACT_H

#include "opt/join_graph.h"

enum { CONTRACT_RELATIONS = 10, POLY_MAX = 8, LEAVES_MAX = 6 };

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

/* ---- contract_split.c ----------------------------------------------------------------------- */

/* The relations that an expression uses, those by way of an operator's columns included; outer columns are in none. */
uint64_t contract_relations(const JoinGraph *g, const Expr *e);
/* The relations that an operator on top of the region looks at; the first if none. */
uint64_t contract_op_relations(const JoinGraph *g, const GraphOp *op);
uint64_t contract_all(const JoinGraph *g);
/* The left half of the best split; 0: none, *why says what stands in the way. */
tcudb_status contract_split(Opt *opt, const JoinGraph *g, const Plan *agg, uint64_t *left, const char **why,
                            Error *err) MUST_CHECK;

/* ---- contract_order.c ----------------------------------------------------------------------- */

/* By set of relations: what is left once it is summed by its groups and outward keys, and what that costs in rows and
 * pairs; -1: its relations are not connected. */
typedef struct ContractOrder {
    Opt *opt;
    const JoinGraph *graph;
    const Plan *agg;
    double *cells, *cost;
    uint64_t *group_rels; /* of each group expression */
    double *group_values;
    struct CondArg **cond_args; /* of each condition between relations */
} ContractOrder;
tcudb_status contract_order(Opt *opt, const JoinGraph *g, const Plan *agg, ContractOrder *out, Error *err) MUST_CHECK;
double contract_pairs(const ContractOrder *o, uint64_t left, uint64_t right);
bool contract_connected(const JoinGraph *g, uint64_t set);

/* ---- contract_range.c ----------------------------------------------------------------------- */

/* Whether the conditions between the halves are equalities and comparisons that the operator has. */
bool contract_keys_fit(const JoinGraph *g, uint64_t left, bool *compares, const char **why);
/* The comparisons of a split that fits. */
tcudb_status contract_range(Sides *s, const JoinGraph *g, uint64_t left, ContractRange *out, bool *ok,
                            Error *err) MUST_CHECK;

/* ---- contract_calls.c ----------------------------------------------------------------------- */

/* The calls that the contraction makes, and what the aggregate's columns are made of above it. */
typedef struct ContractCalls {
    AggCall *items;
    uint32_t n;
    NamedExpr *finals; /* one a column of the aggregate */
    bool divides;      /* some final is not a column */
} ContractCalls;
/* g, left: the split of the aggregate's input, for CASE over both sides; g NULL: none is known. */
tcudb_status contract_calls(Opt *opt, const Plan *agg, const JoinGraph *g, uint64_t left, ContractCalls *calls,
                            Error *err) MUST_CHECK;

/* ---- contract_cases.c ----------------------------------------------------------------------- */

enum { CONTRACT_PARTS = 8 };
/* The calls of disjoint rows that add up to the call; *n 0: it stays as it is. */
tcudb_status contract_parts(Opt *opt, const JoinGraph *g, uint64_t left, const Plan *joins, const AggCall *call,
                            AggCall out[CONTRACT_PARTS], uint32_t *n, Error *err) MUST_CHECK;

/* ---- contract_build.c, contract_half.c, rule_contract.c ------------------------------------- */

/* The contraction of the split, one row at most if nothing is grouped; *ok false and s->why if an expression stands in
 * the way. */
tcudb_status contract_build(Sides *s, const JoinGraph *g, const Plan *agg, uint64_t left, const ContractCalls *calls,
                            Plan **out, bool *ok, Error *err) MUST_CHECK;
/* Makes a side a contraction of its own where that pays; else leaves it as it is. */
tcudb_status contract_half(Opt *opt, Plan *node, uint32_t side, Error *err) MUST_CHECK;
/* Replaces *slot by a contraction of the aggregate over the joins, if it is one; else the note says why not. */
tcudb_status contract_aggregate(Opt *opt, Plan **slot, Plan *agg, Plan *joins, Error *err) MUST_CHECK;

/* ---- contract_sink.c ------------------------------------------------------------------------ */

/* Filters on marks above an inner join, in *slot, go below it where they can. */
tcudb_status contract_sink(Opt *opt, Plan **slot, Error *err) MUST_CHECK;

/* ---- contract_finer.c, contract_once.c ------------------------------------------------------ */

/* The aggregate over a contraction by more groups, if its join is one and that pays. */
tcudb_status contract_finer(Opt *opt, Plan **slot, Plan *agg, Error *err) MUST_CHECK;
/* A plan of which only the distinct values of these columns (NULL: all) matter. */
tcudb_status contract_once(Opt *opt, Plan **slot, const ColSet *needed, Error *err) MUST_CHECK;
/* Nodes whose inputs are such plans. */
tcudb_status contract_distinct(Opt *opt, Plan **slot, Error *err) MUST_CHECK;

#endif
