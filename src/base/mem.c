/*
 * mem.c: budgeted allocation and arenas.
 *
 * An arena is a list of blocks that double in size up to 1 MB, and faster if a large allocation comes, so that
 * an arena that is reset for each batch soon lives in one block. What is larger than a quarter of the largest
 * block gets a block of its own. Cost: a pointer bump.
 *
 * Freed blocks of SPARE_LEAST bytes and more are kept as spares, so that the next statement, or the next doubling of an
 * array, does not pay for their pages again: the kernel clears a page at its first touch, at half of what the work on
 * it costs, and malloc gives back the end of its heap each time it is free. So that a spare serves requests of nearly
 * its size, such blocks come in classes, four to each power of two; pages behind what was asked for are never touched.
 */
#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef TCUDB_TINY_ARENAS /* for fault injection: each allocation from an arena can fail, not each block's first */
enum { TINY_ARENAS = true };
#else
enum { TINY_ARENAS = false };
#endif
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
enum { HUGE_PAGE = 2 << 20 }; /* blocks from this size on ask for huge pages: 512 times fewer faults */
/* Where each block's end and each use after a free, or each allocation, is to be noticed, only huge ones are kept. */
enum { SPARE_BITS = TINY_ARENAS || SANITIZED ? 21 : 16, SPARE_LEAST = 1 << SPARE_BITS, SPARE_MOST = 1 << 30 };
enum { MEM_ALIGN = 64, HEAP_ALIGN = alignof(max_align_t) }; /* HEAP_ALIGN: what malloc gives anyway */
enum { ARENA_FIRST = 4096, ARENA_MAX = 1 << 20, ARENA_ALIGN = 16, ARENA_LARGE = 4096 };

struct ArenaBlock {
    ArenaBlock *next;
    size_t size; /* whole block, this header included */
};

void mem_init(Mem *mem, size_t limit)
{
    *mem = (Mem){.spare_lock = ATOMIC_FLAG_INIT};
    atomic_init(&mem->limit, limit);
}

typedef struct MemSpare {
    struct MemSpare *next;
} MemSpare;

static bool has_class(size_t size)
{
    return size >= SPARE_LEAST && size <= SPARE_MOST;
}

/* Its number, and the quarters of a power of two, up to which its sizes go. */
static uint32_t size_class(size_t size, size_t *whole)
{
    uint32_t power = 63 - (uint32_t)__builtin_clzll(size);
    size_t quarter = (size_t)1 << power >> 2, n = (size + quarter - 1) / quarter; /* 4 to 8 */
    *whole = n * quarter;
    return (power - SPARE_BITS) * 4 + (uint32_t)n - 4;
}

static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) & ~(to - 1);
}

/* What a block of that size takes from the system. */
static size_t block_size(size_t size)
{
    if (has_class(size)) size_class(size, &size);
    return size == 0 ? MEM_ALIGN : rounded(size, size < HUGE_PAGE ? MEM_ALIGN : HUGE_PAGE);
}

/* Large blocks come from the system page by page, so that freeing one always gives it back: malloc would keep them
 * among its own once it has seen some freed. Under AddressSanitizer they stay its business. */
#if defined(__SANITIZE_ADDRESS__)
enum { MAPS_ZERO = false, CAN_MOVE = false };

static void *map_block(size_t whole)
{
    return aligned_alloc(HUGE_PAGE, whole);
}

static void *heap_block(size_t whole)
{
    return aligned_alloc(MEM_ALIGN, whole);
}

static void free_heap_block(void *ptr)
{
    free(ptr);
}

static void unmap_block(void *ptr, size_t whole)
{
    (void)whole;
    free(ptr);
}

static void *move_block(void *ptr, size_t whole, size_t more)
{
    (void)ptr, (void)whole, (void)more;
    return NULL;
}
#else
enum { MAPS_ZERO = true, CAN_MOVE = true };

static void *map_block(size_t whole)
{
    char *at = mmap(NULL, whole + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)at & (HUGE_PAGE - 1));
    if (before > 0) munmap(at, before);
    munmap(at + before + whole, HUGE_PAGE - before);
    (void)madvise(at + before, whole, MADV_HUGEPAGE); /* advice only */
    return at + before;
}

static void unmap_block(void *ptr, size_t whole)
{
    munmap(ptr, whole);
}

/* Aligned here: malloc would cut pieces off in front and behind for it, which it keeps apart from what it serves next;
 * a million of them, put together again by one free() later on, take 100 ms. The byte before a block says how far in it
 * starts. */
static void *heap_block(size_t whole)
{
    char *at = aligned_alloc(HEAP_ALIGN, whole + MEM_ALIGN);
    if (at == NULL) return NULL;
    uint32_t skip = MEM_ALIGN - (uint32_t)((uintptr_t)at & (MEM_ALIGN - 1));
    assert(skip >= HEAP_ALIGN);
    at += skip;
    at[-1] = (char)skip;
    return at;
}

static void free_heap_block(void *ptr)
{
    char *at = ptr;
    free(at - at[-1]);
}

/* The block's pages, at the start of a larger one; NULL: all is as before. */
static void *move_block(void *ptr, size_t whole, size_t more)
{
    void *to = map_block(more);
    if (to == NULL) return NULL;
    if (mremap(ptr, whole, more, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) return to;
    munmap(to, more);
    return NULL;
}
#endif

static void *alloc_block(size_t size)
{
    size_t whole = block_size(size);
    return whole >= HUGE_PAGE ? map_block(whole) : heap_block(whole);
}

static void free_block(void *ptr, size_t size)
{
    size_t whole = block_size(size);
    if (whole >= HUGE_PAGE)
        unmap_block(ptr, whole);
    else
        free_heap_block(ptr);
}

/* ---- spares ---------------------------------------------------------------------------------------------- */

static void lock_spares(Mem *mem)
{
    while (atomic_flag_test_and_set_explicit(&mem->spare_lock, memory_order_acquire)) {}
}

static void unlock_spares(Mem *mem)
{
    atomic_flag_clear_explicit(&mem->spare_lock, memory_order_release);
}

void mem_keep_spares(Mem *mem, size_t bytes)
{
    mem->spare_limit = bytes;
}

static size_t class_bytes(uint32_t class)
{
    return block_size((size_t)(4 + class % 4) << class / 4 << (SPARE_BITS - 2));
}

void mem_trim(Mem *mem, size_t keep)
{
    static_assert(((size_t)SPARE_MOST >> SPARE_BITS) < (size_t)1 << (MEM_CLASSES / 4), "each size has a class");
    lock_spares(mem);
    for (uint32_t class = MEM_CLASSES; class -- > 0 && mem->spare_bytes > keep;)
        while (mem->spares[class] != NULL && mem->spare_bytes > keep) {
            MemSpare *spare = mem->spares[class];
            mem->spares[class] = spare->next;
            mem->spare_bytes -= class_bytes(class);
            free_block(spare, class_bytes(class));
        }
    unlock_spares(mem);
}

/* NULL: there is none. */
static void *take_spare(Mem *mem, size_t size)
{
    if (mem == NULL || mem->spare_limit == 0 || !has_class(size)) return NULL;
    uint32_t class = size_class(size, &size);
    lock_spares(mem);
    MemSpare *spare = mem->spares[class];
    if (spare != NULL) {
        mem->spares[class] = spare->next;
        mem->spare_bytes -= class_bytes(class);
    }
    unlock_spares(mem);
    return spare;
}

/* Whether the block was kept. */
static bool keep_spare(Mem *mem, void *ptr, size_t size)
{
    if (mem == NULL || mem->spare_limit == 0 || !has_class(size)) return false;
    uint32_t class = size_class(size, &size);
    MemSpare *spare = ptr;
    lock_spares(mem);
    bool keep = mem->spare_bytes + class_bytes(class) <= mem->spare_limit;
    if (keep) {
        spare->next = mem->spares[class];
        mem->spares[class] = spare;
        mem->spare_bytes += class_bytes(class);
    }
    unlock_spares(mem);
    return keep;
}

static tcudb_status limit_error(Mem *mem, size_t size, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    error_detail(err, "Host memory: %zu bytes asked for, %zu in use, tcudb.memory_limit is %zu bytes.", size,
                 atomic_load(&mem->used), atomic_load(&mem->limit));
    error_hint(err, "Raise tcudb.memory_limit, or make the query keep fewer rows at a time.");
    return status;
}

tcudb_status mem_charge(Mem *mem, size_t size, Error *err)
{
    if (mem == NULL) return TCUDB_OK;
    size_t limit = atomic_load_explicit(&mem->limit, memory_order_relaxed);
    size_t used = atomic_fetch_add_explicit(&mem->used, size, memory_order_relaxed) + size;
    if (limit != 0 && used > limit) {
        atomic_fetch_sub_explicit(&mem->used, size, memory_order_relaxed);
        return limit_error(mem, size, err);
    }
    size_t peak = atomic_load_explicit(&mem->peak, memory_order_relaxed);
    while (used > peak && !atomic_compare_exchange_weak_explicit(&mem->peak, &peak, used, memory_order_relaxed,
                                                                 memory_order_relaxed)) {}
    return TCUDB_OK;
}

void mem_release(Mem *mem, size_t size)
{
    if (mem == NULL) return;
    size_t before = atomic_fetch_sub_explicit(&mem->used, size, memory_order_relaxed);
    assert(before >= size);
    (void)before;
}

/* *zero: the block is fresh from the system, all zero. */
static void *alloc_charged(Mem *mem, size_t size, bool *zero, Error *err)
{
    *zero = false;
    if (size > SIZE_MAX - HUGE_PAGE) {
        error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "an allocation of %zu bytes is too large", size);
        return NULL;
    }
    if (mem_charge(mem, size, err) != TCUDB_OK) return NULL;
    void *ptr = take_spare(mem, size);
    if (ptr != NULL) return ptr;
    *zero = size >= HUGE_PAGE && MAPS_ZERO;
    ptr = alloc_block(size);
    if (ptr == NULL && mem != NULL && mem->spare_bytes > 0) {
        mem_trim(mem, 0);
        ptr = alloc_block(size);
    }
    if (ptr == NULL) {
        mem_release(mem, size);
        error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
        error_detail(err, "The system refused %zu bytes.", size);
    }
    return ptr;
}

void *mem_alloc(Mem *mem, size_t size, Error *err)
{
    bool zero;
    return alloc_charged(mem, size, &zero, err);
}

void *mem_alloc_zero(Mem *mem, size_t size, Error *err)
{
    bool zero;
    void *ptr = alloc_charged(mem, size, &zero, err);
    if (ptr != NULL && !zero) memset(ptr, 0, size);
    return ptr;
}

/* Copying a very large block would take longer than a statement may take to stop: its pages move. NULL, and no error:
 * they cannot. */
static void *grow_by_moving(Mem *mem, void *old, size_t old_size, size_t size)
{
    enum { MOVE_FROM = 64 << 20 };
    if (!CAN_MOVE || old == NULL || old_size < MOVE_FROM || size <= old_size || size > SIZE_MAX / 2) return NULL;
    if (mem_charge(mem, size - old_size, NULL) != TCUDB_OK) return NULL;
    if (block_size(size) == block_size(old_size)) return old;
    void *ptr = move_block(old, block_size(old_size), block_size(size));
    if (ptr == NULL) mem_release(mem, size - old_size);
    return ptr;
}

void *mem_realloc(Mem *mem, void *old, size_t old_size, size_t size, Error *err)
{
    void *moved = grow_by_moving(mem, old, old_size, size);
    if (moved != NULL) return moved;
    void *ptr = mem_alloc(mem, size, err);
    if (ptr == NULL) return NULL;
    if (old != NULL) memcpy(ptr, old, old_size < size ? old_size : size);
    mem_free(mem, old, old_size);
    return ptr;
}

void mem_free(Mem *mem, void *ptr, size_t size)
{
    if (ptr == NULL) return;
    if (!keep_spare(mem, ptr, size)) free_block(ptr, size);
    mem_release(mem, size);
}

void arena_init(Arena *arena, Mem *mem)
{
    *arena = (Arena){.mem = mem, .next_size = ARENA_FIRST};
}

static void free_blocks(Arena *arena, ArenaBlock *block)
{
    while (block != NULL) {
        ArenaBlock *next = block->next;
        mem_free(arena->mem, block, block->size);
        block = next;
    }
}

void arena_free(Arena *arena)
{
    free_blocks(arena, arena->blocks);
    arena_init(arena, arena->mem);
}

void arena_reset(Arena *arena)
{
    ArenaBlock *keep = arena->blocks;
    if (keep == NULL) return;
    free_blocks(arena, keep->next);
    keep->next = NULL;
    arena->at = (char *)keep + MEM_ALIGN;
    arena->end = (char *)keep + keep->size;
}

/* A block of its own goes behind the current one, whose free space stays in use. */
static void *alloc_own_block(Arena *arena, size_t size, Error *err)
{
    ArenaBlock *block = mem_alloc(arena->mem, size + MEM_ALIGN, err);
    if (block == NULL) return NULL;
    block->size = size + MEM_ALIGN;
    if (arena->blocks == NULL) {
        block->next = NULL;
        arena->blocks = block;
        arena->at = arena->end = (char *)block + block->size;
    } else {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    }
    return (char *)block + MEM_ALIGN;
}

static tcudb_status grow(Arena *arena, Error *err)
{
    ArenaBlock *block = mem_alloc(arena->mem, arena->next_size, err);
    TRY_PTR(block);
    block->size = arena->next_size;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = (char *)block + MEM_ALIGN;
    arena->end = (char *)block + block->size;
    if (arena->next_size < ARENA_MAX) arena->next_size *= 2;
    return TCUDB_OK;
}

void *arena_alloc_raw(Arena *arena, size_t size, Error *err)
{
    if (size > SIZE_MAX / 2) {
        error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "an allocation of %zu bytes is too large", size);
        return NULL;
    }
    size_t align = size >= ARENA_LARGE ? MEM_ALIGN : ARENA_ALIGN;
    size = size == 0 ? ARENA_ALIGN : (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    while (size > arena->next_size / 4 && arena->next_size < ARENA_MAX) arena->next_size *= 2;
    if (TINY_ARENAS || size > arena->next_size / 4) return alloc_own_block(arena, size, err);
    size_t skip = -(uintptr_t)arena->at & (align - 1);
    if ((size_t)(arena->end - arena->at) < size + skip) {
        if (grow(arena, err) != TCUDB_OK) return NULL;
        skip = 0; /* blocks start aligned */
    }
    void *ptr = arena->at + skip;
    arena->at += skip + size;
    return ptr;
}

void *arena_alloc(Arena *arena, size_t size, Error *err)
{
    void *ptr = arena_alloc_raw(arena, size, err);
    if (ptr != NULL) memset(ptr, 0, size);
    return ptr;
}

void *arena_more(Arena *arena, void *items, uint32_t n, uint32_t *cap, size_t size, Error *err)
{
    enum { FIRST = 8 };
    if (n < *cap) return items;
    uint32_t more = *cap == 0 ? FIRST : 2 * *cap;
    void *grown = arena_alloc(arena, more * size, err);
    if (grown == NULL) return NULL;
    if (n > 0) memcpy(grown, items, n * size);
    *cap = more;
    return grown;
}

char *arena_strndup(Arena *arena, const char *text, size_t n, Error *err)
{
    char *copy = arena_alloc_raw(arena, n + 1, err);
    if (copy == NULL) return NULL;
    if (n > 0) memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *arena_printf(Arena *arena, Error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        error_set(err, SQLSTATE_INTERNAL_ERROR, "could not format a text");
        return NULL;
    }
    char *text = arena_alloc_raw(arena, (size_t)n + 1, err);
    if (text == NULL) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}
