/*
 * join_graph.h: a region of inner joins as relations and conditions between sets of them.
 */
#ifndef OPT_JOIN_GRAPH_H
#define OPT_JOIN_GRAPH_H

#include "opt/card_combine.h"

enum { GRAPH_MAX_RELS = 60 }; /* sets of relations are 64-bit masks; larger regions become several */

typedef struct GraphRel {
    Plan *plan;
    double rows;
    uint64_t neighbours; /* relations that a condition connects it to */
} GraphRel;

/* Expressions that are all equal, each over one relation. */
typedef struct GraphClass {
    uint64_t rels;
    ExprList members;
    uint32_t *member_rels; /* the relation of each member */
    double *distinct;      /* of each member */
} GraphClass;

/* Any other condition. */
typedef struct GraphCond {
    Expr *cond;
    uint64_t rels;
    bool equality; /* left = right, each over relations of its own */
    uint64_t left, right;
    double share;
} GraphCond;

/* Two relations with several equalities between them, or a key of which some values are frequent: factor times as many
 * rows meet as if the equalities were independent and all values as frequent. */
typedef struct GraphPair {
    uint32_t a, b;
    uint64_t with; /* relations whose filters make it so */
    double factor;
} GraphPair;

/* A semi, anti, mark, single or left join that was found on the way down: it keeps its right input and can be
 * put back anywhere where its conditions' columns are. */
typedef struct GraphOp {
    Plan *join;
    ColSet needs; /* columns of its left side that its conditions use */
    double share; /* rows out per row in */
} GraphOp;

typedef struct JoinGraph {
    const Rates *rates;
    GraphRel *rels;
    uint32_t nrels;
    ExprList all; /* conditions as found */
    GraphClass *classes;
    uint32_t nclasses;
    GraphCond *conds;
    uint32_t nconds;
    GraphPair *pairs; /* the largest factor first */
    uint32_t npairs, most_pairs;
    ExprList above; /* conditions over no relation */
    GraphOp *ops;   /* outermost first */
    uint32_t nops;
} JoinGraph;

/* A joined set of relations. */
typedef struct Part {
    Plan *plan;
    uint64_t rels;
    double rows;
} Part;

/* Takes a tree of inner joins apart. */
tcudb_status graph_collect(Opt *opt, JoinGraph *g, Plan *root, Error *err) MUST_CHECK;
/* Whether the plan is a region of more than one relation (operators on top of a join count). */
bool graph_is_region(const Plan *plan);
/* Sorts the conditions into classes and others; conditions within one relation become filters on it. Needs
 * the relations' rows. */
tcudb_status graph_finish(Opt *opt, JoinGraph *g, Error *err) MUST_CHECK;
/* Estimated rows of the join of a set of relations; depends on the set only. */
double graph_rows(const JoinGraph *g, uint64_t set);
/* The conditions of the join of two disjoint sets. */
tcudb_status graph_conds(Opt *opt, const JoinGraph *g, uint64_t a, uint64_t b, ExprList *out, Error *err) MUST_CHECK;

/* join_ops.c: puts the operators back where they cost least. */
tcudb_status graph_place_ops(Opt *opt, JoinGraph *g, Plan **slot, Error *err) MUST_CHECK;

#endif
