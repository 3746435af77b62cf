/*
 * eval_int.h: the compiled form of an expression, shared by eval.c (compiler) and eval_run.c (kernels).
 */
#ifndef EXPR_EVAL_INT_H
#define EXPR_EVAL_INT_H

#include "expr/eval.h"
#include "expr/expr_int.h"

typedef enum EvalOp { EV_CONST, EV_COL, EV_FUNC, EV_AND, EV_OR, EV_CASE, EV_COALESCE, EV_IN } EvalOp;

enum { EVAL_NO_CACHE = UINT32_MAX, EVAL_NO_COL = UINT32_MAX };

/* The constants of an IN list, sorted. Integers up to 64 bits as ints[], anything else as values[]. */
typedef struct InSet {
    uint32_t n;
    int64_t *ints;
    Value *values;
    bool has_null;
} InSet;

typedef struct EvalNode EvalNode;
struct EvalNode {
    EvalOp op;
    uint8_t phys;
    bool is_volatile; /* it or something below */
    Type type;
    uint32_t nargs;
    EvalNode **args;
    const Func *func;
    uint32_t col;      /* EV_COL: index in the batch */
    uint32_t only_col; /* the one text column that the subtree reads, else EVAL_NO_COL */
    uint32_t cache;    /* slot in EvalState for values per dictionary entry, or EVAL_NO_CACHE */
    Vector constant;   /* EV_CONST */
    InSet *in;         /* EV_IN */
};

struct Evaluator {
    EvalNode *root;
    uint32_t ncaches;
};

/* The result of a subtree for each entry of a dictionary; entry nvalues is the result for NULL. */
typedef struct DictCache {
    uint64_t dict_id;
    uint32_t nvalues;
    uint64_t rows_seen;
    bool failed; /* some entry raises an error: evaluate row by row */
    Vector result;
} DictCache;

struct EvalState {
    Arena *arena; /* of the worker; holds the caches */
    DictCache *caches;
};

typedef struct EvalRun {
    EvalState *state;
    EvalCtx *ctx;
    const Batch *batch;
    bool no_dict; /* inside the evaluation over a dictionary */
} EvalRun;

/* Evaluates at rows sel[0..n-1] (NULL: 0..n-1) of the run's batch. */
tcudb_status eval_node(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out, Error *err);
tcudb_status eval_in(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out, Error *err);
/* A flat vector of the node's type, not initialised, without NULLs. */
tcudb_status eval_new_vector(EvalRun *run, Type type, uint32_t rows, Vector *out, Error *err);
/* Builds the sorted constants of an IN list; *set stays NULL if an item is not constant. */
tcudb_status eval_in_set(Arena *arena, const EvalNode *node, InSet **set, Error *err);

#endif
