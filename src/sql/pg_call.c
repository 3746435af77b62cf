/*
 * pg_call.c: libpg_query's memory is ours.
 *
 * libpg_query does not check all that malloc gives it, keeps memory contexts per thread until the thread ends (one
 * pthread key a thread), and would end the process when its error handling fails. None of that may happen inside
 * somebody's program. So the build makes a copy of the archive in which those functions' names are replaced
 * (tool/cmake/pg_query.syms) by the functions below:
 *
 *     pg_call -> sigsetjmp -> body -> pg_query_parse -> ... -> sql_pg_malloc: a block of our budget, in the call's ring
 *                   ^                                              | none left, or cancelled
 *                   +-------------------- siglongjmp --------------+
 *
 * Results come as messages, before they would be packed (tree.c).
 *
 * The jump passes only frames of libpg_query and of the body, which own nothing but blocks of the ring. malloc is
 * called by its memory contexts before they change anything, so what they link is whole at any jump. After each call
 * its variables of this thread are what they were before its first one, as nothing that they point to lives on.
 *
 * Invariants: libpg_query is called from a body only; the thread's `current` is set exactly while one runs.
 * Cost: two blocks of 8 KB and a setjmp a call.
 */
#include "sql/pg_call.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

/* libpg_query's functions take no context: malloc must find the call by the thread. */
static _Thread_local PgCall *current;

/* Variables and functions of libpg_query. */
extern _Thread_local int pg_query_initialized;
extern _Thread_local void *TopMemoryContext, *ErrorContext, *CurrentMemoryContext;
extern _Thread_local void *PG_exception_stack, *error_context_stack;
void FlushErrorState(void);
void AllocSetDeleteFreeList(void *context);

/* Functions that stand for the C library's in the archive's copy. */
void *sql_pg_malloc(size_t size);
void *sql_pg_realloc(void *old, size_t size);
void sql_pg_free(void *ptr);
char *sql_pg_strdup(const char *text);
void sql_pg_abort(void);
void sql_pg_exit(int code);
size_t sql_pg_tree_size(const void *message);
size_t sql_pg_tree_pack(const void *message, uint8_t *out);
size_t sql_pg_scan_size(const void *message);
size_t sql_pg_scan_pack(const void *message, uint8_t *out);
int sql_pg_key_create(pthread_key_t *key, void (*destroy)(void *));
int sql_pg_setspecific(pthread_key_t key, const void *value);

static _Noreturn void leave(tcudb_status status)
{
    current->status = status;
    siglongjmp(current->out, 1);
}

static void link_block(PgBlock *block, size_t size)
{
    PgBlock *ring = &current->blocks;
    *block = (PgBlock){.previous = ring->previous, .next = ring, .size = size};
    ring->previous->next = block;
    ring->previous = block;
}

static void unlink_block(PgBlock *block)
{
    block->previous->next = block->next;
    block->next->previous = block->previous;
}

void *sql_pg_malloc(size_t size)
{
    assert(current != NULL);
    tcudb_status status = cancel_poll(current->cancel, current->err);
    if (status != TCUDB_OK) leave(status);
    size_t whole = sizeof(PgBlock) + size;
    PgBlock *block = mem_alloc(current->mem, whole, current->err);
    if (block == NULL) leave(TCUDB_NOMEM);
    link_block(block, whole);
    return block + 1;
}

void sql_pg_free(void *ptr)
{
    if (ptr == NULL) return;
    PgBlock *block = (PgBlock *)ptr - 1;
    unlink_block(block);
    mem_free(current->mem, block, block->size);
}

void *sql_pg_realloc(void *old, size_t size)
{
    void *ptr = sql_pg_malloc(size);
    if (old == NULL) return ptr;
    size_t had = ((PgBlock *)old - 1)->size - sizeof(PgBlock);
    memcpy(ptr, old, had < size ? had : size);
    sql_pg_free(old);
    return ptr;
}

char *sql_pg_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(sql_pg_malloc(size), text, size);
}

void sql_pg_abort(void)
{
    leave(error_set(current->err, SQLSTATE_INTERNAL_ERROR, "the SQL parser failed"));
}

void sql_pg_exit(int code)
{
    leave(error_set(current->err, SQLSTATE_INTERNAL_ERROR, "the SQL parser failed with status %d", code));
}

/* In place of packing: a result's messages go to the call's taker, and no bytes come out. */
size_t sql_pg_tree_size(const void *message)
{
    (void)message;
    return 0;
}

size_t sql_pg_tree_pack(const void *message, uint8_t *out)
{
    (void)out;
    assert(current->take != NULL);
    tcudb_status status = current->take(current->ctx, message, current->err);
    if (status != TCUDB_OK) leave(status);
    return 0;
}

size_t sql_pg_scan_size(const void *message)
{
    return sql_pg_tree_size(message);
}

size_t sql_pg_scan_pack(const void *message, uint8_t *out)
{
    return sql_pg_tree_pack(message, out);
}

/* Nothing is left to do when a thread ends. */
int sql_pg_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    (void)key, (void)destroy;
    return 0;
}

int sql_pg_setspecific(pthread_key_t key, const void *value)
{
    (void)key, (void)value;
    return 0;
}

/* libpg_query's variables, as before its first call in this thread. */
static void forget(void)
{
    if (ErrorContext != NULL) FlushErrorState();
    if (TopMemoryContext != NULL) AllocSetDeleteFreeList(TopMemoryContext);
    TopMemoryContext = ErrorContext = CurrentMemoryContext = NULL;
    PG_exception_stack = error_context_stack = NULL;
    pg_query_initialized = 0;
}

tcudb_status pg_call(PgCall *call, Mem *mem, const atomic_bool *cancel, void (*body)(void *ctx), PgTake take, void *ctx,
                     Error *err)
{
    assert(current == NULL);
    *call = (PgCall){.mem = mem, .cancel = cancel, .err = err, .status = TCUDB_OK, .take = take, .ctx = ctx};
    call->blocks.previous = call->blocks.next = &call->blocks;
    current = call;
    if (sigsetjmp(call->out, 0) == 0) body(ctx);
    forget();
    current = NULL;
    return call->status;
}

void pg_call_end(PgCall *call)
{
    for (PgBlock *block = call->blocks.next, *next; block != &call->blocks; block = next) {
        next = block->next;
        mem_free(call->mem, block, block->size);
    }
}
