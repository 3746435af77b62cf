/*
 * exec.c: the driver: executions, phases of parallel tasks, stages, tracked memory.
 *
 * An execution owns a Worker per thread of the pool: two arenas and an evaluation context each. Sources
 * number their tasks upwards from x->next_task, open the stage above and run the tasks on the pool; a
 * child execution (inner side of an Apply) runs the same code on one thread, since a pool task must not
 * start another loop. Time is charged as: a phase's whole time to the operator that started it, minus
 * what its pushes spent further up.
 */
#include "exec/exec_int.h"

#include <assert.h>
#include <stdio.h>

struct XBlock {
    XBlock *prev, *next;
    size_t size; /* of the whole block */
    char pad[64 - 3 * sizeof(void *)];
};

/* ---- memory ------------------------------------------------------------------------------------- */

static void block_link(Exec *x, XBlock *block)
{
    pthread_mutex_lock(&x->lock);
    block->prev = NULL;
    block->next = x->blocks;
    if (x->blocks != NULL) x->blocks->prev = block;
    x->blocks = block;
    pthread_mutex_unlock(&x->lock);
}

static void *alloc_linked(Exec *x, size_t size, bool zero, Error *err)
{
    if (size > SIZE_MAX / 2) {
        error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "an allocation of %zu bytes is too large", size);
        return NULL;
    }
    size_t whole = size + sizeof(XBlock);
    XBlock *block = zero ? mem_alloc_zero(x->env->mem, whole, err) : mem_alloc(x->env->mem, whole, err);
    if (block == NULL) return NULL;
    block->size = whole;
    block_link(x, block);
    return block + 1;
}

void *exec_alloc(Exec *x, size_t size, Error *err)
{
    return alloc_linked(x, size, false, err);
}

void *exec_alloc_zero(Exec *x, size_t size, Error *err)
{
    return alloc_linked(x, size, true, err);
}

void exec_free(Exec *x, void *ptr)
{
    if (ptr == NULL) return;
    XBlock *block = (XBlock *)ptr - 1;
    pthread_mutex_lock(&x->lock);
    if (block->prev != NULL)
        block->prev->next = block->next;
    else
        x->blocks = block->next;
    if (block->next != NULL) block->next->prev = block->prev;
    pthread_mutex_unlock(&x->lock);
    mem_free(x->env->mem, block, block->size);
}

void *exec_realloc(Exec *x, void *old, size_t size, Error *err)
{
    void *ptr = exec_alloc(x, size, err);
    if (ptr == NULL || old == NULL) return ptr;
    size_t old_size = ((XBlock *)old - 1)->size - sizeof(XBlock);
    memcpy(ptr, old, old_size < size ? old_size : size);
    exec_free(x, old);
    return ptr;
}

/* ---- executions ----------------------------------------------------------------------------------- */

static tcudb_status exec_begin(Exec *x, const ExecEnv *env, const PhysPlan *phys, uint32_t nworkers, Error *err)
{
    *x = (Exec){.env = env, .phys = phys, .nworkers = nworkers};
    pthread_mutex_init(&x->lock, NULL);
    arena_init(&x->arena, env->mem);
    x->workers = exec_alloc_zero(x, nworkers * sizeof *x->workers, err);
    TRY_PTR(x->workers);
    for (uint32_t i = 0; i < nworkers; i++) {
        Worker *w = &x->workers[i];
        w->x = x;
        w->id = i;
        arena_init(&w->own, env->mem);
        arena_init(&w->batch, env->mem);
        w->ctx = (EvalCtx){.arena = &w->batch, .now = env->now, .cancel = env->cancel, .sequences = env->sequences};
        w->ctx.random[0] = exec_clock() ^ (UINT64_C(0x9e3779b97f4a7c15) * (i + 1));
        w->ctx.random[1] = (uint64_t)env->now + i + 1;
    }
    return TCUDB_OK;
}

/* Arenas of operators, to be freed with the execution. */
struct ArenaSet {
    struct ArenaSet *next;
    Arena *arenas;
};

tcudb_status exec_arenas(Exec *x, Arena **out, Error *err)
{
    struct ArenaSet *set = ARENA_NEW(&x->arena, struct ArenaSet, err);
    TRY_PTR(set);
    set->arenas = ARENA_ARRAY(&x->arena, Arena, x->nworkers, err);
    TRY_PTR(set->arenas);
    for (uint32_t i = 0; i < x->nworkers; i++) arena_init(&set->arenas[i], x->env->mem);
    set->next = x->arenas;
    x->arenas = set;
    *out = set->arenas;
    return TCUDB_OK;
}

static void free_arena_sets(Exec *x)
{
    for (struct ArenaSet *set = x->arenas; set != NULL; set = set->next)
        for (uint32_t i = 0; i < x->nworkers; i++) arena_free(&set->arenas[i]);
    x->arenas = NULL;
}

void exec_end(Exec *x)
{
    free_arena_sets(x);
    for (uint32_t i = 0; i < x->nworkers && x->workers != NULL; i++) {
        arena_free(&x->workers[i].own);
        arena_free(&x->workers[i].batch);
    }
    arena_free(&x->arena);
    while (x->blocks != NULL) {
        XBlock *block = x->blocks;
        x->blocks = block->next;
        mem_free(x->env->mem, block, block->size);
    }
    pthread_mutex_destroy(&x->lock);
}

/* CTEs that the child runs for itself are its own. */
static tcudb_status inherit(Exec *parent, Exec *child, Error *err)
{
    child->parent = parent;
    child->frames = parent->frames;
    child->cte_rows = ARENA_ARRAY(&child->arena, Rows *, parent->phys->nctes + 1, err);
    TRY_PTR(child->cte_rows);
    memcpy(child->cte_rows, parent->cte_rows, parent->phys->nctes * sizeof *child->cte_rows);
    return TCUDB_OK;
}

tcudb_status exec_child_new(Exec *parent, Worker *caller, Exec *child, Error *err)
{
    tcudb_status status = exec_begin(child, parent->env, parent->phys, 1, err);
    child->serial = true;
    if (status == TCUDB_OK) {
        child->workers[0].ctx.random[0] = caller->ctx.random[0]++;
        status = inherit(parent, child, err);
    }
    return status;
}

tcudb_status exec_inner_new(Exec *parent, Exec *inner, Error *err)
{
    tcudb_status status = exec_begin(inner, parent->env, parent->phys, parent->nworkers, err);
    inner->serial = parent->serial;
    return status == TCUDB_OK ? inherit(parent, inner, err) : status;
}

/* The workers' block was the first: it is the last of the list. */
static void free_operators(Exec *x)
{
    free_arena_sets(x);
    while (x->blocks->next != NULL) {
        XBlock *block = x->blocks;
        x->blocks = block->next;
        mem_free(x->env->mem, block, block->size);
    }
    x->blocks->prev = NULL;
    for (uint32_t i = 0; i < x->nworkers; i++) {
        arena_reset(&x->workers[i].own);
        arena_reset(&x->workers[i].batch);
    }
    arena_reset(&x->arena);
}

tcudb_status exec_inner_again(Exec *parent, Exec *inner, Error *err)
{
    free_operators(inner);
    inner->semi = NULL;
    inner->nsemi = 0;
    inner->kept = NULL;
    inner->next_task = inner->written = 0;
    return inherit(parent, inner, err);
}

tcudb_status exec_check_cancel(const Exec *x, Error *err)
{
    return cancel_poll(x->env->cancel, err);
}

void exec_note(PhysNode *node, const char *format, ...)
{
    char note[PHYS_NOTE];
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    exec_node_lock(node);
    memcpy(node->note, note, sizeof note);
    exec_node_unlock(node);
}

void exec_node_lock(PhysNode *node)
{
    while (atomic_flag_test_and_set_explicit(&node->noting, memory_order_acquire)) continue;
}

void exec_node_unlock(PhysNode *node)
{
    atomic_flag_clear_explicit(&node->noting, memory_order_release);
}

tcudb_status exec_too_many_rows(Error *err)
{
    return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "too many rows to keep in one operator");
}

/* ---- phases ----------------------------------------------------------------------------------------- */

typedef struct Phase {
    Exec *x;
    PhysNode *node;
    Stage *down; /* sources only */
    uint64_t base;
    TaskFn fn;
    void *ctx;
} Phase;

static tcudb_status phase_task(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    Phase *p = ctx;
    Worker *w = &p->x->workers[worker];
    uint64_t start = p->node == NULL ? 0 : exec_clock();
    w->task = p->base + task;
    arena_reset(&w->batch);
    w->ctx.arena = &w->batch;
    bool skip = p->down != NULL && stage_stopped(p->down);
    tcudb_status status = skip ? TCUDB_OK : p->fn(p->ctx, w, task, err);
    if (status == TCUDB_OK && p->down != NULL) status = stage_task_end(p->down, w, err);
    if (p->node != NULL)
        atomic_fetch_add_explicit(&p->node->stats.phase_ns, exec_clock() - start, memory_order_relaxed);
    return status;
}

static tcudb_status run_phase(Phase *p, uint64_t tasks, Error *err)
{
    if (!p->x->serial) return pool_run(p->x->env->pool, tasks, phase_task, p, p->x->env->cancel, err);
    for (uint64_t t = 0; t < tasks; t++) {
        TRY(exec_check_cancel(p->x, err));
        TRY(phase_task(p, 0, t, err));
    }
    return TCUDB_OK;
}

tcudb_status exec_parallel(Exec *x, PhysNode *node, uint64_t tasks, TaskFn fn, void *ctx, Error *err)
{
    Phase p = {.x = x, .node = node, .fn = fn, .ctx = ctx};
    return run_phase(&p, tasks, err);
}

tcudb_status exec_source(Exec *x, PhysNode *node, Stage *down, uint64_t tasks, TaskFn fn, void *ctx, Error *err)
{
    Phase p = {.x = x, .node = node, .down = down, .base = x->next_task, .fn = fn, .ctx = ctx};
    x->next_task += tasks;
    TRY(stage_open(down, p.base, tasks, err));
    return run_phase(&p, tasks, err);
}

tcudb_status exec_produce(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    down->from = node;
    atomic_fetch_add_explicit(&node->stats.loops, 1, memory_order_relaxed);
    uint64_t start = exec_clock();
    tcudb_status status = node->op->run(x, node, down, err);
    atomic_fetch_add_explicit(&node->stats.wall_ns, exec_clock() - start, memory_order_relaxed);
    return status;
}

/* ---- stages ------------------------------------------------------------------------------------------ */

tcudb_status stage_open(Stage *stage, uint64_t base, uint64_t tasks, Error *err)
{
    while (stage->open == NULL && stage->down != NULL) stage = stage->down;
    return stage->open == NULL ? TCUDB_OK : stage->open(stage, base, tasks, err);
}

tcudb_status stage_task_end(Stage *stage, Worker *w, Error *err)
{
    while (stage->task_end == NULL && stage->down != NULL) stage = stage->down;
    return stage->task_end == NULL ? TCUDB_OK : stage->task_end(stage, w, err);
}

tcudb_status stage_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    assert(batch->n <= batch->rows && (batch->sel != NULL || batch->n == batch->rows));
    if (batch->n == 0) return TCUDB_OK;
    TRY(exec_check_cancel(w->x, err));
    if (stage->from == NULL) return stage->push(stage, w, batch, err);
    OpStats *stats = &stage->from->stats;
    uint64_t start = exec_clock();
    tcudb_status status = stage->push(stage, w, batch, err);
    atomic_fetch_add_explicit(&stats->down_ns, exec_clock() - start, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->rows, batch->n, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->batches, 1, memory_order_relaxed);
    return status;
}

/* ---- running a plan ----------------------------------------------------------------------------------- */

typedef struct Root {
    ExecSink sink;
    void *ctx;
    uint64_t rows;
} Root;

static tcudb_status root_emit(void *ctx, const Batch *batch, Error *err)
{
    Root *root = ctx;
    root->rows += batch->n;
    return root->sink == NULL ? TCUDB_OK : root->sink(root->ctx, batch, err);
}

/* In front of the ordered stream, where workers do not wait for each other. */
typedef struct Shaping {
    Stage stage;
    ExecShape shape;
    void *ctx;
} Shaping;

static tcudb_status shape_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Shaping *s = (Shaping *)stage;
    Batch out;
    TRY(s->shape(s->ctx, worker_arena(w), batch, &out, err));
    return stage_push(stage->down, w, &out, err);
}

static tcudb_status run_root(Exec *x, Root *root, Error *err)
{
    Ordered *ordered = NULL;
    x->cte_rows = ARENA_ARRAY(&x->arena, Rows *, x->phys->nctes + 1, err);
    TRY_PTR(x->cte_rows);
    TRY(ordered_new(x, root_emit, root, &ordered, err));
    Shaping shaping = {.shape = x->env->shape, .ctx = root->ctx};
    stage_init(&shaping.stage, ordered_stage(ordered));
    shaping.stage.push = shape_push;
    Stage *top = x->env->shape == NULL ? ordered_stage(ordered) : &shaping.stage;
    tcudb_status status = exec_produce(x, x->phys->root, top, err);
    ordered_free(ordered);
    return status;
}

/* Measures the peak of this execution; concurrent statements of the database count in. */
static size_t peak_begin(Mem *mem)
{
    return mem == NULL ? 0 : atomic_exchange(&mem->peak, atomic_load(&mem->used));
}

static size_t peak_end(Mem *mem, size_t before)
{
    if (mem == NULL) return 0;
    size_t peak = atomic_load(&mem->peak);
    if (before > peak) atomic_store(&mem->peak, before);
    return peak;
}

tcudb_status exec_run(const ExecEnv *env, const PhysPlan *phys, ExecSink sink, void *ctx, ExecReport *report,
                      Error *err)
{
    Exec x;
    Root root = {sink, ctx, 0};
    uint64_t start = exec_clock();
    size_t before = peak_begin(env->mem);
    tcudb_status status = exec_begin(&x, env, phys, pool_workers(env->pool), err);
    if (status == TCUDB_OK) status = run_root(&x, &root, err);
    if (status == TCUDB_OK && !phys->fast) exec_settle(env, phys);
    if (report != NULL) {
        *report = (ExecReport){.engine = "cpu", .exact = !phys->fast, .rows = phys->writes ? x.written : root.rows};
        report->peak_bytes = peak_end(env->mem, before);
        report->seconds = (double)(exec_clock() - start) * 1e-9;
        snprintf(report->why, sizeof report->why, "%s", phys->why);
    }
    exec_end(&x);
    return status;
}

/* ---- common table expressions -------------------------------------------------------------------------- */

static bool node_uses_cte(const PhysNode *node, const Cte *cte)
{
    if (node->plan->kind == PLAN_CTE_SCAN && node->plan->cte_scan.cte == cte) return true;
    for (uint32_t i = 0; i < node->ninputs; i++)
        if (node_uses_cte(node->inputs[i], cte)) return true;
    return false;
}

/* By CTE, whether the node scans it or one whose result it needs does. A CTE scans only those before it in the list. */
static tcudb_status find_needed(Exec *x, const PhysNode *node, bool **out, Error *err)
{
    const PhysPlan *phys = x->phys;
    bool *needed = ARENA_ARRAY(&x->arena, bool, phys->nctes + 1, err);
    TRY_PTR(needed);
    for (uint32_t i = phys->nctes; i-- > 0;) {
        needed[i] = node_uses_cte(node, phys->ctes[i]);
        for (uint32_t j = i + 1; j < phys->nctes && !needed[i]; j++)
            needed[i] = needed[j] && node_uses_cte(phys->cte_nodes[j], phys->ctes[i]);
    }
    *out = needed;
    return TCUDB_OK;
}

tcudb_status exec_materialise_ctes(Exec *x, PhysNode *node, Error *err)
{
    bool *needed;
    TRY(find_needed(x, node, &needed, err));
    for (uint32_t i = 0; i < x->phys->nctes; i++) {
        if (!needed[i] || x->cte_rows[i] != NULL || x->phys->cte_free[i]) continue;
        TRY(exec_collect(x, x->phys->cte_nodes[i], &x->cte_rows[i], err));
    }
    return TCUDB_OK;
}
