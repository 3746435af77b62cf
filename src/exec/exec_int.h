/*
 * exec_int.h: what the operators share.
 *
 * Execution is push-based. An operator's run() drives its inputs with a Stage that receives their batches.
 * Streaming operators (filter, project, a join's probe) put a Stage in front of the one above them and
 * run their input with it; pipeline breakers (build side, aggregate, sort) collect first and then start a
 * parallel phase of their own. A phase is a numbered range of tasks: task numbers only grow, each
 * task runs on one worker, and a task's rows do not depend on the number of workers. So results that are
 * merged in task order are the same on any machine.
 */
#ifndef EXEC_EXEC_INT_H
#define EXEC_EXEC_INT_H

#include "exec/exec.h"
#include "expr/eval.h"
#include "phys/phys.h"

#include <pthread.h>
#include <time.h>

typedef struct Worker {
    Exec *x;
    uint32_t id;
    uint64_t task; /* the task it runs */
    Arena own;     /* lives as long as the execution */
    Arena batch;   /* reset by sources before each batch */
    EvalCtx ctx;   /* ctx.arena: where to put what lives as long as the current batch */
    uint32_t ticks;
} Worker;

struct Stage {
    /* A phase of `tasks` tasks numbered from `base` is about to push. NULL: passed on to `down`. */
    tcudb_status (*open)(Stage *stage, uint64_t base, uint64_t tasks, Error *err);
    tcudb_status (*push)(Stage *stage, Worker *w, const Batch *batch, Error *err);
    /* After the last batch of w->task. NULL: passed on. */
    tcudb_status (*task_end)(Stage *stage, Worker *w, Error *err);
    Stage *down;
    PhysNode *from;    /* whose output it receives: for the counters; may be NULL */
    atomic_bool *stop; /* reads true: no more rows wanted. NULL: always wanted */
};

/* A value of an enclosing row, bound while the inner side of an Apply runs. */
typedef struct Outer {
    ColId col;
    Value value;
} Outer;

/* A few codes of a dictionary: the same one fills what is left. */
enum { CODES_FEW = 4 };
typedef struct FewCodes {
    uint64_t dict_id;
    uint32_t nvalues;
    uint32_t codes[CODES_FEW];
} FewCodes;

/* The last value of the first key with which a row can still be among the first of a sort with a limit. It moves
 * towards the front while rows come. Of texts: the codes with which it can. */
typedef struct SortBound {
    _Atomic int64_t last;
    _Atomic(const FewCodes *) codes; /* NULL: any */
    bool descending, nulls_first;
} SortBound;

/* A bitmap over [min, min + bits) that a join's build side filled, or the bound of a sort. */
typedef struct SemiBits {
    uint32_t id;
    bool filled;
    bool codes; /* of dictionary codes (dict_id), else of integers */
    uint64_t dict_id;
    int64_t min;
    uint64_t bits;
    uint64_t count; /* set bits */
    uint64_t *words;
    SortBound *bound; /* NULL: a bitmap */
} SemiBits;

typedef struct Rows Rows;
typedef struct XBlock XBlock;

/* A recursion that runs: what its last round produced, and the execution that its next one runs in. */
typedef struct WorkFrame WorkFrame;
struct WorkFrame {
    WorkFrame *next;
    uint32_t cte;
    Rows *rows;
    const Exec *round;
};

struct Exec {
    const ExecEnv *env;
    const PhysPlan *phys;
    Exec *parent; /* of the inner side of an Apply */
    bool serial;  /* runs on the calling thread only */
    uint32_t nworkers;
    Worker *workers;
    Arena arena; /* of the thread that drives the execution */
    uint64_t next_task;
    Outer *outer;
    uint32_t nouter;
    SemiBits *semi;
    uint32_t nsemi;
    Rows **cte_rows;   /* as phys->ctes; shared by children */
    WorkFrame *frames; /* recursions that are running, innermost first */
    struct Join *kept; /* joins whose tables serve all rounds of a recursion that runs in it */
    pthread_mutex_t lock;
    struct ArenaSet *arenas;
    XBlock *blocks; /* of exec_alloc; under the lock */
    uint64_t written;
};

/* ---- driving (exec.c) --------------------------------------------------------------------------- */

/* Runs the operator and everything below it, pushing into down. */
tcudb_status exec_produce(Exec *x, PhysNode *node, Stage *down, Error *err) MUST_CHECK;

typedef tcudb_status (*TaskFn)(void *ctx, Worker *w, uint64_t task, Error *err);
/* Calls fn for tasks 0..n-1 on the pool. `node` is charged with the time; may be NULL. */
tcudb_status exec_parallel(Exec *x, PhysNode *node, uint64_t tasks, TaskFn fn, void *ctx, Error *err) MUST_CHECK;
/* The same as a source: opens a phase of `down` and ends each task in it. */
tcudb_status exec_source(Exec *x, PhysNode *node, Stage *down, uint64_t tasks, TaskFn fn, void *ctx,
                         Error *err) MUST_CHECK;

tcudb_status stage_open(Stage *stage, uint64_t base, uint64_t tasks, Error *err) MUST_CHECK;
tcudb_status stage_push(Stage *stage, Worker *w, const Batch *batch, Error *err) MUST_CHECK;
tcudb_status stage_task_end(Stage *stage, Worker *w, Error *err) MUST_CHECK;
static inline bool stage_stopped(const Stage *stage)
{
    return stage->stop != NULL && atomic_load_explicit(stage->stop, memory_order_relaxed);
}

/* 57014 once the statement is cancelled. */
tcudb_status exec_check_cancel(const Exec *x, Error *err) MUST_CHECK;
/* Copies the text's bytes into the arena: looks for cancellation as often as there are megabytes. */
tcudb_status exec_keep_text(const Exec *x, Arena *arena, Str *text, Error *err) MUST_CHECK;
/* How the node ran, for EXPLAIN ANALYZE. Workers may run it at once, for different bindings: the last one's stays. */
void exec_note(PhysNode *node, const char *format, ...) PRINTF_LIKE(2, 3);
/* Around writing to `product`, for as long as an assignment takes. */
void exec_node_lock(PhysNode *node);
void exec_node_unlock(PhysNode *node);
static inline Arena *worker_arena(Worker *w)
{
    return w->ctx.arena;
}
/* Points the worker at another batch arena; returns the old one. */
static inline Arena *worker_swap_arena(Worker *w, Arena *arena)
{
    Arena *old = w->ctx.arena;
    w->ctx.arena = arena;
    return old;
}
static inline uint64_t exec_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Large blocks of the execution: charged to env->mem, freed at its end or by exec_free. Thread-safe. */
void *exec_alloc(Exec *x, size_t size, Error *err) MUST_CHECK;
void *exec_alloc_zero(Exec *x, size_t size, Error *err) MUST_CHECK;
/* Contents are kept up to the smaller size; the old block stays valid on failure. */
void *exec_realloc(Exec *x, void *old, size_t size, Error *err) MUST_CHECK;
void exec_free(Exec *x, void *ptr);

/* Runs and keeps those CTEs below the node that depend on no outer column, so that children find them. */
tcudb_status exec_materialise_ctes(Exec *x, PhysNode *node, Error *err) MUST_CHECK;

/* settle.c: what nodes with candidates took; teaches env->corrections. */
void exec_settle(const ExecEnv *env, const PhysPlan *phys);

/* A stage that hands batches on one at a time, in task order. */
typedef struct Ordered Ordered;
typedef tcudb_status (*OrderedFn)(void *ctx, const Batch *batch, Error *err);
tcudb_status ordered_new(Exec *x, OrderedFn fn, void *ctx, Ordered **out, Error *err) MUST_CHECK;
Stage *ordered_stage(Ordered *o);
void ordered_free(Ordered *o);

/* An arena per worker, freed with the execution. */
tcudb_status exec_arenas(Exec *x, Arena **out, Error *err) MUST_CHECK;

/* A child execution on the calling thread, for the inner side of an Apply: shares the CTEs. */
tcudb_status exec_child_new(Exec *parent, Worker *caller, Exec *child, Error *err) MUST_CHECK;
/* An execution within an execution, by its driving thread, on all of its workers: what it allocates goes with exec_end,
 * so that a plan's inputs can be run again. */
tcudb_status exec_inner_new(Exec *parent, Exec *inner, Error *err) MUST_CHECK;
/* The same execution for another run, as new; it keeps its first memory, so that this takes less than a new one does.
 */
tcudb_status exec_inner_again(Exec *parent, Exec *inner, Error *err) MUST_CHECK;
void exec_end(Exec *x);

/* ---- expressions (ev.c) --------------------------------------------------------------------------- */

/* An evaluator with a state per worker. */
typedef struct Ev {
    const Evaluator *e;
    Exec *x;            /* made for */
    EvalState **states; /* by worker */
    Type type;
    const Expr *expr; /* after outer columns were bound */
} Ev;

typedef struct Layout {
    const ColId *cols;
    uint32_t n;
} Layout;

/* Output columns of a node. */
tcudb_status layout_of(Exec *x, const Plan *plan, Layout *out, Error *err) MUST_CHECK;
/* Position of a column; -1: not there. */
int32_t layout_find(const Layout *layout, ColId col);
tcudb_status ev_new(Exec *x, Expr *e, const Layout *layout, Ev *out, Error *err) MUST_CHECK;
tcudb_status ev_run(const Ev *ev, Worker *w, const Batch *batch, Vector *out, Error *err) MUST_CHECK;
tcudb_status ev_filter(const Ev *ev, Worker *w, const Batch *batch, uint16_t *sel, uint32_t *n, Error *err) MUST_CHECK;
/* A stage in front of `down` with its stop flag. */
static inline void stage_init(Stage *stage, Stage *down)
{
    stage->down = down;
    stage->stop = down == NULL ? NULL : down->stop;
}
/* Evaluates an expression without columns (LIMIT). */
tcudb_status ev_value(Exec *x, Expr *e, Value *out, Error *err) MUST_CHECK;
/* The value of an outer column bound in this execution or those around it; NULL: not bound. */
const Value *exec_outer(const Exec *x, ColId col);
/* Binds outer columns and parameters in an expression. */
tcudb_status exec_bind_expr(Exec *x, Expr *e, const Layout *layout, Expr **out, Error *err) MUST_CHECK;
tcudb_status exec_bind_expr_in(Exec *x, Arena *arena, Expr *e, const Layout *layout, Expr **out, Error *err) MUST_CHECK;
/* Positions of the node's output columns within a layout; -1: not there (layout_map_all: XX000). */
tcudb_status layout_map_all(Exec *x, const Plan *plan, const Layout *in, int32_t **out, Error *err) MUST_CHECK;
tcudb_status layout_map(Exec *x, const Plan *plan, const Layout *in, int32_t **out, Error *err) MUST_CHECK;

static inline const ColInfo *exec_info(const Exec *x, ColId col)
{
    static const ColInfo none;
    return col < x->phys->ninfo ? &x->phys->info[col] : &none;
}

/* The bitmap of a semi-join filter, if its join has filled it; NULL: not. */
static inline const SemiBits *exec_semi(const Exec *x, uint32_t id)
{
    for (; x != NULL; x = x->parent)
        for (uint32_t i = 0; i < x->nsemi; i++)
            if (x->semi[i].id == id && x->semi[i].filled) return &x->semi[i];
    return NULL;
}
/* Whether some of n codes is one of the few. */
bool codes_any(const FewCodes *few, const uint32_t *codes, uint32_t n);
/* A new entry for that id (or the existing one, emptied). */
tcudb_status exec_semi_new(Exec *x, uint32_t id, SemiBits **out, Error *err) MUST_CHECK;

/* ---- kept rows (rows.c) ----------------------------------------------------------------------------- */

typedef struct RowsCol {
    Type type;
    uint8_t phys;
    bool dict; /* data: uint32_t codes of view */
    uint32_t size;
    DictView view;
    void *data;
    uint64_t *valid; /* NULL: no NULLs */
} RowsCol;

/* Rows kept in memory, one array a column. Text bytes live in the dictionary or in workers' arenas. */
struct Rows {
    Exec *x;
    uint64_t n;
    uint32_t ncols;
    RowsCol *cols;
    size_t bytes;
};

enum { ROWS_NONE = UINT32_MAX }; /* a row index that stands for a row of NULLs */

typedef struct Collector Collector;
/* A stage that keeps everything pushed into it. cols[i] names and types the columns to come. */
tcudb_status collector_new(Exec *x, const PlanCol *cols, uint32_t ncols, Collector **out, Error *err) MUST_CHECK;
Stage *collector_stage(Collector *c);
/* Joins what was collected, in task order. The collector is empty afterwards. */
tcudb_status collector_rows(Collector *c, PhysNode *node, Rows **out, Error *err) MUST_CHECK;
/* Runs a node and keeps its output. */
tcudb_status exec_collect(Exec *x, PhysNode *node, Rows **out, Error *err) MUST_CHECK;
void rows_free(Rows *rows);
/* out[pos[i]] (pos NULL: out[i]) = column of row idx[i]; ROWS_NONE gives NULL if may_miss. The vector has
 * room for nout rows. */
tcudb_status rows_gather(const Rows *rows, uint32_t col, const uint32_t *idx, uint32_t n, const uint16_t *pos,
                         uint32_t nout, bool may_miss, Arena *arena, Vector *out, Error *err) MUST_CHECK;
/* A view of rows [at, at + n): nothing is copied if `at` is a multiple of 64. */
tcudb_status rows_slice(const Rows *rows, uint32_t col, uint64_t at, uint32_t n, Arena *arena, Vector *out,
                        Error *err) MUST_CHECK;
/* A copy with row order[i] in place i. */
tcudb_status rows_permute(const Rows *rows, PhysNode *node, const uint32_t *order, Rows **out, Error *err) MUST_CHECK;
/* Pushes all rows as a source of `down`. map[i]: which column the i-th output is; NULL: all in order. */
tcudb_status rows_push(Exec *x, PhysNode *node, const Rows *rows, const uint32_t *map, uint32_t nmap, Stage *down,
                       Error *err) MUST_CHECK;
/* Row order given by order[0..n-1]. */
tcudb_status rows_push_order(Exec *x, PhysNode *node, const Rows *rows, const uint32_t *order, uint64_t n,
                             const uint32_t *map, uint32_t nmap, Stage *down, Error *err) MUST_CHECK;

/* Runs the node's first input, keeps it and sorts it: order[i] is the i-th row. Rows beyond `limit` may be in
 * any order. rows has the input's columns first. */
tcudb_status exec_sort(Exec *x, PhysNode *node, const SortKey *keys, uint32_t nkeys, uint64_t limit, Rows **rows,
                       uint32_t **order, Error *err) MUST_CHECK;
/* The same in several ways: the first nkeys[0] keys, the next nkeys[1], ... make orders[0], orders[1], ... */
tcudb_status exec_sort_ways(Exec *x, PhysNode *node, const SortKey *keys, const uint32_t *nkeys, uint32_t nways,
                            uint64_t limit, Rows **rows, uint32_t **orders, Error *err) MUST_CHECK;

/* ---- small helpers (util.c) ------------------------------------------------------------------------- */

/* The dense flat codes of a text vector for a dictionary; rows that are NULL get any code. */
tcudb_status vec_codes(Arena *arena, const Vector *v, const Table *table, uint32_t column, const DictView *view,
                       const uint16_t *sel, uint32_t n, uint32_t rows, const uint32_t **out, Error *err) MUST_CHECK;
/* Dense copy of n rows of a vector (dictionary form kept). */
tcudb_status vec_gather(Arena *arena, const Vector *v, const uint16_t *rows, uint32_t n, Vector *out,
                        Error *err) MUST_CHECK;
/* A text column in any form as Str of each row: flat. */
static inline uint32_t sel_row(const uint16_t *sel, uint32_t i)
{
    return sel == NULL ? i : sel[i];
}
tcudb_status exec_too_many_rows(Error *err);
/* One input of a UNION ALL, into the stage above. */
tcudb_status exec_union_side(Exec *x, PhysNode *node, uint32_t side, Stage *down, Error *err) MUST_CHECK;
/* The values of LIMIT (UINT64_MAX: none) and OFFSET. */
tcudb_status exec_limits(Exec *x, Expr *limit_expr, Expr *offset_expr, uint64_t *limit, uint64_t *offset,
                         Error *err) MUST_CHECK;

#define OP(symbol, kind) extern const Op op_##symbol;
#include "phys/op.def"
#undef OP

#endif
