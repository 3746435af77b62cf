/*
 * dict.h: dictionaries of text columns: in memory, and their part on disk.
 */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include "store/file.h"
#include "store/store.h"
#include "type/vector.h"

#include <pthread.h>

/* What a commit says of a dictionary. */
typedef struct DictState {
    uint32_t count;  /* values */
    uint32_t stored; /* the first so many are in the file */
    uint64_t length; /* of the file */
    bool loose;      /* some values may be in no row: of transactions that were rolled back */
} DictState;

/* A block kept until the dictionary goes: retired arrays and the texts' bytes. */
typedef struct DictKept {
    struct DictKept *next;
    size_t size;
} DictKept;

enum { GROUP_SLOTS = 10 };

/* A cache line of the hash table: codes, and of each some bits of its text's hash, 0: free. */
typedef struct DictGroup {
    _Alignas(64) _Atomic uint64_t tags[3]; /* the last two are not used */
    uint32_t codes[GROUP_SLOTS];
} DictGroup;

typedef struct DictSlots {
    DictKept kept;
    uint32_t ngroups;
    DictGroup groups[];
} DictSlots;

typedef struct DictValues {
    DictKept kept;
    uint32_t cap;
    Str at[];
} DictValues;

typedef struct DictHeads {
    DictKept kept;
    uint32_t cap;
    HeadBlock *blocks[];
} DictHeads;

struct Dict {
    _Atomic uint32_t refs;
    Mem *mem;
    uint64_t id;
    const char *dir;      /* of the database; NULL: in memory */
    pthread_mutex_t lock; /* of everything below that is not atomic */
    atomic_bool loaded;   /* the file's values are in values[] */
    atomic_bool indexed;  /* slots know all values */
    _Atomic uint32_t count;
    atomic_bool ascii; /* all values so far */
    _Atomic(DictSlots *) slots;
    _Atomic(DictValues *) values;
    _Atomic(DictHeads *) heads;  /* NULL: never asked for */
    _Atomic uint32_t head_count; /* codes below have heads */
    uint32_t head_blocks;
    DictKept *kept;
    char *chunk_at;
    char *chunk_end;
    size_t chunk_size;
    size_t chunk_total;           /* of all chunks so far */
    uint64_t expected;            /* rows that a load in progress may bring; 0: not known */
    uint32_t expected_from;       /* count before it */
    _Atomic uint64_t loaded_rows; /* of those so far */
    DictState now;                /* stored, length: with what a transaction in progress wrote */
    DictState committed;          /* as of the last commit */
};

tcudb_status dict_new(Mem *mem, uint64_t id, const char *dir, Dict **out, Error *err) MUST_CHECK;
void dict_ref(Dict *dict);
void dict_unref(Dict *dict);
uint32_t dict_count(const Dict *dict);
/* Whether look-ups are quick already. */
bool dict_indexed(const Dict *dict);
/* At least as many as any count read before; after dict_load. */
const Str *dict_values(const Dict *dict);
uint64_t dict_hash(Str text);
/* Bytes of a value, about; without loading them. */
double dict_width(const Dict *dict);
/* Makes values[] complete; dict_index makes look-ups possible too. Cheap once done; *cancel (may be NULL) ends it. */
tcudb_status dict_load(Dict *dict, const atomic_bool *cancel, Error *err) MUST_CHECK;
tcudb_status dict_index(Dict *dict, const atomic_bool *cancel, Error *err) MUST_CHECK;
/* Lock-free, after dict_index. Codes from `limit` on do not count. */
bool dict_find(const Dict *dict, Str text, uint64_t hash, uint32_t limit, uint32_t *code);
/* Where a look-up of that hash begins. */
static inline uint32_t group_of(const DictSlots *slots, uint64_t hash)
{
    return (uint32_t)((hash >> 32) * slots->ngroups >> 32);
}
/* Asks for what a look-up that comes soon reads first. */
static inline void dict_fetch(const Dict *dict, uint64_t hash)
{
    const DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_acquire);
    __builtin_prefetch(&slots->groups[group_of(slots, hash)]);
}
/* Gives the codes of n <= BATCH_ROWS texts. Those that are not there yet are added under one lock, unless *cancel (may
 * be NULL) ends that while the table grows. After dict_index. */
tcudb_status dict_codes(Dict *dict, const Str *texts, const uint64_t *hashes, uint32_t n, uint32_t *codes,
                        const atomic_bool *cancel, Error *err) MUST_CHECK;
/* A load of about that many rows begins (0: ends): while most of them bring texts of their own, the dictionary grows to
 * what they will need, instead of twice its size time and again. Loads report their rows by dict_loaded. */
void dict_expect(Dict *dict, uint64_t rows);
void dict_loaded(Dict *dict, uint32_t rows);

/* dict_heads.c: heads of all values. Polls *cancel, which may be NULL. */
tcudb_status dict_heads(Dict *dict, const atomic_bool *cancel, HeadView *out, Error *err) MUST_CHECK;

/* ---- with the lock held, for dict_file.c --------------------------------------------------- */

void *dict_keep(Dict *dict, size_t size, Error *err) MUST_CHECK;
/* Gives back what was kept last. */
void dict_unkeep(Dict *dict);
tcudb_status dict_reserve(Dict *dict, uint32_t count, Error *err) MUST_CHECK;
/* Gives the next code to the text, whose bytes stay where they are unless copy. */
tcudb_status dict_push(Dict *dict, Str text, bool copy, Error *err) MUST_CHECK;

/* ---- on disk (dict_file.c) ------------------------------------------------------------------ */

tcudb_status dict_load_locked(Dict *dict, const atomic_bool *cancel, Error *err) MUST_CHECK;
/* Appends the values that are not in the file yet and makes them durable, unless *cancel (may be NULL) ends it. Changes
 * `now` only. */
tcudb_status dict_save(Dict *dict, const atomic_bool *cancel, Error *err) MUST_CHECK;
/* The commit that is under way tells of the values up to `count` in its record. */
void dict_tell(Dict *dict, uint32_t count);
/* A commit took place here, or `now` is given up. What the commit has neither told nor saved is not committed with it:
 * values of rows that were undone, where the commit was about another table. cut: nobody can need what the file has
 * more. */
void dict_commit(Dict *dict);
void dict_give_up(Dict *dict, bool cut);
bool dict_is_loose(Dict *dict);
/* Values may be in no row any more. */
void dict_loosen(Dict *dict);
/* A commit of another process, or of the log that is replayed: values first..first + n - 1 from the texts (first is
 * the committed count), or all up to state.count in the file. */
tcudb_status dict_replay(Dict *dict, uint32_t first, const Str *texts, uint32_t n, bool loose, Error *err) MUST_CHECK;
tcudb_status dict_extend(Dict *dict, DictState state, Error *err) MUST_CHECK;
/* Before those: forgets values that were never committed. */
void dict_truncate(Dict *dict);

#endif
