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
    uint32_t only_col; /* the one text or date column that the subtree reads, else EVAL_NO_COL */
    bool days;         /* only_col is of dates */
    bool dear;         /* a step makes something else than booleans, integers and dates */
    uint32_t cache;    /* slot in EvalState for values per dictionary entry or day, or EVAL_NO_CACHE */
    Vector constant;   /* EV_CONST */
    InSet *in;         /* EV_IN */
};

struct Evaluator {
    EvalNode *root;
    uint32_t ncaches;
};

/* The result of a subtree for each entry of a dictionary, or each day of a window; entry nvalues is the result for
 * NULL. */
typedef struct DictCache {
    uint64_t dict_id;
    uint32_t nvalues;
    uint64_t rows_seen;
    bool failed; /* some entry raises an error: evaluate row by row */
    bool nulls;  /* some entry but the one for NULL is NULL */
    Vector result;
    int32_t first_day; /* days: what entry 0 is */
    uint8_t *known;    /* days: entries that were computed, and the one for NULL */
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
/* Copies value i of v into entry `at` of a cache; text bytes move to the cache's arena. */
tcudb_status eval_keep(EvalState *state, DictCache *cache, uint32_t at, const Vector *v, uint32_t i, Error *err);
/* A cache's result for each row's entry; rows of col that are NULL take the entry for NULL. */
tcudb_status eval_map_codes(EvalRun *run, const EvalNode *node, const Vector *col, const DictCache *cache,
                            const uint16_t *sel, uint32_t n, Vector *out, Error *err);
/* eval_days.c: a node over a column of dates, by the results of the days seen. *done false: to be evaluated by row. */
tcudb_status eval_by_days(EvalRun *run, const EvalNode *node, const Vector *col, const uint16_t *sel, uint32_t n,
                          Vector *out, bool *done, Error *err);
/* A flat vector of the node's type, not initialised, without NULLs. */
tcudb_status eval_new_vector(EvalRun *run, Type type, uint32_t rows, Vector *out, Error *err);
/* Builds the sorted constants of an IN list; *set stays NULL if an item is not constant. */
tcudb_status eval_in_set(Arena *arena, const EvalNode *node, InSet **set, Error *err);

#endif
