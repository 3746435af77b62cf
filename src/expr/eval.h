/*
 * eval.h: vectorised evaluation of expressions.
 *
 * An Evaluator is an expression compiled against a column layout: a list of steps over vector registers.
 * It is immutable and shared between workers; an EvalState per worker holds the registers. Constant
 * subtrees are folded at compile time unless folding them fails (then they fail when a row needs them);
 * text functions and predicates over VEC_DICT vectors run once per dictionary value and are mapped.
 */
#ifndef EXPR_EVAL_H
#define EXPR_EVAL_H

#include "expr/expr.h"

typedef struct Evaluator Evaluator;
typedef struct EvalState EvalState;

/* layout[i] is the ColId of column i of the batches to come. params: the statement's parameter values
 * (may be NULL if the expression has none); they are copied in. A column that layout lacks is XX000. */
tcudb_status eval_compile(Arena *arena, const Expr *e, const ColId *layout, uint32_t ncols, const Value *params,
                          uint32_t nparams, Evaluator **out, Error *err) MUST_CHECK;
/* ctx->arena holds results of a batch; the caller resets it between batches. */
tcudb_status eval_state_new(Arena *arena, const Evaluator *e, EvalState **out, Error *err) MUST_CHECK;
/* Evaluates at the batch's live rows. out may share memory with the batch (a bare column). */
tcudb_status eval_run(const Evaluator *e, EvalState *state, EvalCtx *ctx, const Batch *batch, Vector *out,
                      Error *err) MUST_CHECK;
/* Evaluates a predicate and writes the rows where it is true to sel_out (room for BATCH_ROWS). */
tcudb_status eval_filter(const Evaluator *e, EvalState *state, EvalCtx *ctx, const Batch *batch, uint16_t *sel_out,
                         uint32_t *n_out, Error *err) MUST_CHECK;
/* Evaluates an expression without columns. */
tcudb_status eval_const(Arena *arena, const Expr *e, const Value *params, uint32_t nparams, EvalCtx *ctx, Value *out,
                        Error *err) MUST_CHECK;

#endif
