/*
 * join_graph.h: a region of inner joins as relations and conditions between sets of them.
 */
#ifndef OPT_JOIN_GRAPH_H
#define OPT_JOIN_GRAPH_H

#include "opt/opt_int.h"

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

typedef struct JoinGraph {
    GraphRel *rels;
    uint32_t nrels;
    ExprList all; /* conditions as found */
    GraphClass *classes;
    uint32_t nclasses;
    GraphCond *conds;
    uint32_t nconds;
    ExprList above; /* conditions over no relation */
} JoinGraph;

/* A joined set of relations. */
typedef struct Part {
    Plan *plan;
    uint64_t rels;
    double rows;
} Part;

/* Takes a tree of inner joins apart. */
tcudb_status graph_collect(Opt *opt, JoinGraph *g, Plan *root, Error *err) MUST_CHECK;
/* Sorts the conditions into classes and others; conditions within one relation become filters on it. Needs
 * the relations' rows. */
tcudb_status graph_finish(Opt *opt, JoinGraph *g, Error *err) MUST_CHECK;
/* Estimated rows of the join of a set of relations; depends on the set only. */
double graph_rows(const JoinGraph *g, uint64_t set);
/* The conditions of the join of two disjoint sets. */
tcudb_status graph_conds(Opt *opt, const JoinGraph *g, uint64_t a, uint64_t b, ExprList *out, Error *err) MUST_CHECK;

#endif
