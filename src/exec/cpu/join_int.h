/*
 * join_int.h: what the hash join and the loop join share.
 *
 * Both keep the right input in memory and stream the left one. A pair is a left row and a right row; a
 * pair batch is a left batch whose live rows each stand for one pair. join_pairs.c tests the residual
 * condition on pairs, notes who matched and puts out what the kind of join asks for.
 */
#ifndef EXEC_CPU_JOIN_INT_H
#define EXEC_CPU_JOIN_INT_H

#include "exec/keys.h"

typedef struct Join Join;
struct Join {
    Stage stage;
    Join *next_kept; /* of the execution */
    Exec *x;
    PhysNode *node;
    const Plan *plan;
    JoinKind kind;
    Layout left, right, pair; /* pair: left columns, then right ones */
    Rows *rows;               /* the right input */
    /* equal keys */
    uint32_t nkeys;
    Expr **left_exprs, **right_exprs;
    Ev *left_keys, *right_keys;
    KeySpec left_spec, right_spec;
    bool has_residual;
    Ev residual;
    bool *residual_needs; /* by right column */
    bool *output_needs;
    /* output */
    int32_t *out_map; /* position in pair; JOIN_MARK_COL for the mark */
    /* the table of right rows */
    bool dense, unique, empty, null_key;
    int64_t min;
    uint64_t domain;
    uint32_t *heads;  /* row + 1 by key - min, or by hash & mask; 0: none */
    uint32_t *next;   /* row + 1, of the same head */
    uint32_t *starts; /* dense with repeated keys: instead of heads; see join_build.c */
    uint64_t mask;
    uint64_t *bits;   /* instead of right rows: key - min is there; see join_bits.c */
    uint64_t *keys;   /* words of each row */
    uint8_t *matched; /* RIGHT, FULL, RIGHT_SEMI, RIGHT_ANTI: by right row */
    Arena *arenas;    /* by worker: for stages that multiply rows */
    Arena *texts;     /* by worker: bytes of computed text keys of right rows */
};

enum { JOIN_MARK_COL = INT32_MAX };

/* Layouts, keys, residual, output map; rows of the right input; semi-join bitmaps. */
tcudb_status join_prepare(Exec *x, PhysNode *node, Stage *down, Join **out, Error *err) MUST_CHECK;
/* The equalities among the conditions that a hash table can serve: pairs of expressions over left and right.
 * The rest goes to *residual. */
tcudb_status join_split(Arena *arena, const Plan *plan, Expr ***left, Expr ***right, uint32_t *n, Expr ***residual,
                        uint32_t *nresidual, Error *err) MUST_CHECK;
/* Whether the equality can be a hash key: e is `left = right`, in either order. */
bool join_is_key(const Plan *plan, const Expr *e);
tcudb_status join_residual(Join *j, Expr **conds, uint32_t n, Error *err) MUST_CHECK;
tcudb_status join_collect_right(Join *j, Error *err) MUST_CHECK;
tcudb_status join_build(Join *j, Error *err) MUST_CHECK;
tcudb_status join_fill_semi(Join *j, Error *err) MUST_CHECK;
/* Takes the right input in as a bitmap of its keys, if that is enough: then the stage tests it. */
tcudb_status join_bits(Join *j, bool *taken, Error *err) MUST_CHECK;
/* IN, by row: a left row without a match is unknown; *out NULL: none is. */
tcudb_status join_unknown(Join *j, Worker *w, const Batch *batch, const Vector *key, uint8_t **out,
                          Error *err) MUST_CHECK;

/* Candidate pairs: live row i of `left` with right row idx[i]. Tests the residual, sets flags[row] of the left
 * rows that matched (rows of the input batch: orig[i], or the live rows themselves; NULL: nobody asks), notes right
 * matches, and puts out the pairs if the kind wants pairs. */
tcudb_status join_pairs(Join *j, Worker *w, const Batch *left, const uint32_t *idx, const uint16_t *orig,
                        uint8_t *flags, Error *err) MUST_CHECK;
/* Live row `row` of `left` with the right rows [at, at + n), n <= BATCH_ROWS: nothing is copied. */
tcudb_status join_range(Join *j, Worker *w, const Batch *left, uint32_t row, uint64_t at, uint32_t n, uint8_t *flags,
                        Error *err) MUST_CHECK;
/* One value of a vector as a constant one. */
tcudb_status join_const(Arena *arena, const Vector *v, uint32_t row, Vector *out, Error *err) MUST_CHECK;
/* Puts out pairs that are known to match; idx may have ROWS_NONE if may_miss. */
tcudb_status join_emit(Join *j, Worker *w, const Batch *left, const uint32_t *idx, bool may_miss,
                       Error *err) MUST_CHECK;
/* After all pairs of an input batch: what LEFT, SEMI, ANTI, MARK put out per left row. unknown[row]: some
 * comparison was NULL; may be NULL. */
tcudb_status join_finish_left(Join *j, Worker *w, const Batch *left, const uint8_t *flags, const uint8_t *unknown,
                              Error *err) MUST_CHECK;
/* What RIGHT, FULL, RIGHT_SEMI and RIGHT_ANTI put out per right row, as a phase of its own. */
tcudb_status join_right_rows(Join *j, Error *err) MUST_CHECK;
/* An output batch from a batch in pair layout. */
tcudb_status join_output(Join *j, Worker *w, const Batch *pairs, const Vector *mark, Error *err) MUST_CHECK;
void join_free(Join *j);

/* Right rows come out, once at most, by whether they have matched. */
static inline bool join_keeps_right(JoinKind kind)
{
    return kind == JOIN_RIGHT_SEMI || kind == JOIN_RIGHT_ANTI;
}

static inline bool join_wants_pairs(JoinKind kind)
{
    return kind != JOIN_SEMI && kind != JOIN_ANTI && kind != JOIN_MARK && !join_keeps_right(kind);
}

/* There are no right rows and without them nothing comes out: the left input need not run. */
static inline bool join_needs_right(const Join *j)
{
    bool needs = j->kind == JOIN_INNER || j->kind == JOIN_SEMI || j->kind == JOIN_RIGHT || join_keeps_right(j->kind);
    return j->empty && needs;
}

#endif
