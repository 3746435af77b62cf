/*
 * mem.h: memory charged to a budget, and arenas for memory that dies together.
 *
 * A Mem is a budget (one per database, `tcudb.memory_limit`). Large and long-lived blocks are taken
 * with mem_alloc and charged to it; everything with the lifetime of a statement, an execution or a
 * batch comes from an Arena that charges its blocks to a Mem. Exceeding the limit is an error
 * (53200) that names the limit and the knob. Mem is thread-safe; an Arena belongs to one thread.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/error.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

enum { MEM_CLASSES = 64 }; /* of spares, by size */

typedef struct Mem {
    _Atomic size_t used;
    _Atomic size_t peak;
    _Atomic size_t limit; /* 0: unlimited */
    /* Freed blocks, kept for the next request: pages that were touched need no clearing. */
    atomic_flag spare_lock;
    size_t spare_limit; /* bytes; 0: nothing is kept */
    size_t spare_bytes;
    struct MemSpare *spares[MEM_CLASSES];
} Mem;

void mem_init(Mem *mem, size_t limit);
/* Keeps up to that many bytes of freed blocks that are not small. They do not count as used; mem_trim gives them back,
 * the largest first, but for `keep` bytes, and must be called with 0 before the Mem goes. */
void mem_keep_spares(Mem *mem, size_t bytes);
void mem_trim(Mem *mem, size_t keep);
/* Charges or releases bytes that another allocator provided (mmap). */
tcudb_status mem_charge(Mem *mem, size_t size, Error *err) MUST_CHECK;
void mem_release(Mem *mem, size_t size);
/* NULL and *err set on failure; 64-byte aligned; not zeroed. size 0 gives a valid pointer.
 * mem may be NULL: unaccounted. */
void *mem_alloc(Mem *mem, size_t size, Error *err) MUST_CHECK;
void *mem_alloc_zero(Mem *mem, size_t size, Error *err) MUST_CHECK;
/* Grows or shrinks; the old block stays valid on failure. old may be NULL with old_size 0. */
void *mem_realloc(Mem *mem, void *old, size_t old_size, size_t size, Error *err) MUST_CHECK;
/* size as given to mem_alloc; ptr may be NULL. */
void mem_free(Mem *mem, void *ptr, size_t size);

typedef struct ArenaBlock ArenaBlock;
typedef struct Arena {
    Mem *mem;
    ArenaBlock *blocks; /* newest first */
    char *at;
    char *end;
    size_t next_size;
} Arena;

/* No allocation happens until the first arena_alloc. */
void arena_init(Arena *arena, Mem *mem);
/* Frees everything; the arena may be used again. */
void arena_free(Arena *arena);
/* Empties the arena but keeps its newest block: for per-batch use. */
void arena_reset(Arena *arena);
/* Zeroed, 16-byte aligned (64 from 4 KB up). NULL and *err set on failure. */
void *arena_alloc(Arena *arena, size_t size, Error *err) MUST_CHECK;
/* The same, not zeroed. */
void *arena_alloc_raw(Arena *arena, size_t size, Error *err) MUST_CHECK;
/* Copies n bytes and appends a NUL. */
char *arena_strndup(Arena *arena, const char *text, size_t n, Error *err) MUST_CHECK;
char *arena_printf(Arena *arena, Error *err, const char *format, ...) PRINTF_LIKE(3, 4);

/* p = ARENA_NEW(arena, T, err); p = ARENA_ARRAY(arena, T, n, err): typed, zeroed. */
#define ARENA_NEW(arena, T, err)      ((T *)arena_alloc((arena), sizeof(T), (err)))
#define ARENA_ARRAY(arena, T, n, err) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n), (err)))
/* items = ARENA_MORE(arena, items, n, &cap, err): room for an item behind n ones: the array itself, or where it is full
 * (cap items; 0 and NULL at first) a copy with at least twice the room, zeroed behind the items. NULL: no memory. */
#define ARENA_MORE(arena, items, n, cap, err) arena_more((arena), (items), (n), (cap), sizeof *(items), (err))
void *arena_more(Arena *arena, void *items, uint32_t n, uint32_t *cap, size_t size, Error *err) MUST_CHECK;
/* Returns TCUDB_NOMEM from the enclosing function when the pointer is NULL (err is already set). */
#define TRY_PTR(p)                                                                                                     \
    do {                                                                                                               \
        if ((p) == NULL) return TCUDB_NOMEM;                                                                           \
    } while (0)

#endif
