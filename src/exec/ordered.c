/*
 * ordered.c: turns parallel pushes into one ordered stream.
 *
 * Tasks of a phase end in any order; their batches go out in task order. The lowest unfinished task
 * writes straight through; batches of later tasks are copied and wait. Since the pool hands tasks out in
 * order, what waits is at most what the other workers make while the slowest one finishes its task.
 * Everything happens under one lock, so the consumer never runs twice at once.
 */
#include "exec/exec_int.h"

#include <assert.h>

typedef struct Held Held;
struct Held {
    Held *next;
    Batch batch;
};

typedef struct Pending Pending;
struct Pending { /* a task with batches waiting, or ended out of turn; ascending by task */
    Pending *next;
    uint64_t task;
    bool ended;
    Arena arena;
    Held *first;
    Held **last;
};

struct Ordered {
    Stage stage;
    Exec *x;
    OrderedFn fn;
    void *ctx;
    uint64_t current; /* lowest unfinished task */
    Pending *pending;
    pthread_mutex_t lock;
};

static tcudb_status find_pending(Ordered *o, uint64_t task, Pending **out, Error *err)
{
    Pending **at = &o->pending;
    while (*at != NULL && (*at)->task < task) at = &(*at)->next;
    if (*at == NULL || (*at)->task != task) {
        Pending *p = mem_alloc_zero(o->x->env->mem, sizeof *p, err);
        TRY_PTR(p);
        p->task = task;
        p->next = *at;
        p->last = &p->first;
        arena_init(&p->arena, o->x->env->mem);
        *at = p;
    }
    *out = *at;
    return TCUDB_OK;
}

static tcudb_status hold(Pending *p, const Batch *batch, Error *err)
{
    Held *held = ARENA_NEW(&p->arena, Held, err);
    TRY_PTR(held);
    TRY(batch_compact(&p->arena, batch, true, &held->batch, err));
    *p->last = held;
    p->last = &held->next;
    return TCUDB_OK;
}

static void drop_first(Ordered *o)
{
    Pending *p = o->pending;
    o->pending = p->next;
    arena_free(&p->arena);
    mem_free(o->x->env->mem, p, sizeof *p);
}

/* Writes what the current task has waiting, and so on through the tasks that have ended. */
static tcudb_status advance(Ordered *o, Error *err)
{
    while (o->pending != NULL && o->pending->task == o->current) {
        Pending *p = o->pending;
        for (Held *h = p->first; h != NULL; h = h->next) TRY(o->fn(o->ctx, &h->batch, err));
        bool ended = p->ended;
        drop_first(o);
        if (!ended) break;
        o->current++;
    }
    return TCUDB_OK;
}

static tcudb_status ordered_open(Stage *stage, uint64_t base, uint64_t tasks, Error *err)
{
    Ordered *o = (Ordered *)stage;
    (void)tasks;
    (void)err;
    assert(o->pending == NULL);
    o->current = base;
    return TCUDB_OK;
}

static tcudb_status push_locked(Ordered *o, Worker *w, const Batch *batch, Error *err)
{
    if (w->task == o->current) {
        if (o->pending != NULL && o->pending->task == w->task) TRY(advance(o, err));
        return o->fn(o->ctx, batch, err);
    }
    assert(w->task > o->current);
    Pending *p;
    TRY(find_pending(o, w->task, &p, err));
    return hold(p, batch, err);
}

static tcudb_status ordered_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Ordered *o = (Ordered *)stage;
    pthread_mutex_lock(&o->lock);
    tcudb_status status = push_locked(o, w, batch, err);
    pthread_mutex_unlock(&o->lock);
    return status;
}

static tcudb_status end_locked(Ordered *o, Worker *w, Error *err)
{
    if (w->task == o->current) {
        if (o->pending != NULL && o->pending->task == w->task) TRY(advance(o, err));
        o->current++;
        return advance(o, err);
    }
    Pending *p;
    TRY(find_pending(o, w->task, &p, err));
    p->ended = true;
    return TCUDB_OK;
}

static tcudb_status ordered_task_end(Stage *stage, Worker *w, Error *err)
{
    Ordered *o = (Ordered *)stage;
    pthread_mutex_lock(&o->lock);
    tcudb_status status = end_locked(o, w, err);
    pthread_mutex_unlock(&o->lock);
    return status;
}

tcudb_status ordered_new(Exec *x, OrderedFn fn, void *ctx, Ordered **out, Error *err)
{
    Ordered *o = ARENA_NEW(&x->arena, Ordered, err);
    TRY_PTR(o);
    *o = (Ordered){.x = x, .fn = fn, .ctx = ctx};
    o->stage.open = ordered_open;
    o->stage.push = ordered_push;
    o->stage.task_end = ordered_task_end;
    pthread_mutex_init(&o->lock, NULL);
    *out = o;
    return TCUDB_OK;
}

Stage *ordered_stage(Ordered *o)
{
    return &o->stage;
}

void ordered_free(Ordered *o)
{
    while (o->pending != NULL) drop_first(o);
    pthread_mutex_destroy(&o->lock);
}
