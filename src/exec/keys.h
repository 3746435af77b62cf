/*
 * keys.h: rows of key values as words: encoding, hashing, equality; and tables that number distinct keys.
 *
 * A key is `compared` words that decide equality, then one pointer word per text column (equality compares
 * the bytes too), then words that are only carried (a decimal's display scale, an interval's fields):
 *
 *     [null mask] [col 0] [col 1 ...] | [text pointers] | [carried]
 *
 * Columns of known bounds and dictionaries that fit 64 bits together are packed into one word instead; NULL is the
 * number after a column's largest.
 *
 * Values that SQL calls equal have equal words: -0 is 0, all NaN are one, 1.50 is 1.5, one day is 24
 * hours; a char of no length is without its blanks, whose number is carried. Text from a known dictionary is its code.
 */
#ifndef EXEC_KEYS_H
#define EXEC_KEYS_H

#include "exec/exec_int.h"

typedef enum KeyForm { KEY_INT, KEY_CODE, KEY_I128, KEY_FLOAT, KEY_NUM, KEY_INTERVAL, KEY_TEXT, KEY_PADDED } KeyForm;

typedef struct KeyCol {
    KeyForm form;
    Type type;
    uint8_t phys;
    uint32_t word;      /* first compared word */
    uint32_t extra;     /* first pointer or carried word */
    uint32_t blanks;    /* KEY_PADDED: the carried word, behind its pointer */
    uint32_t shift;     /* packed: place in the word */
    int64_t min;        /* packed: what 0 stands for */
    uint64_t range;     /* packed: largest number; one more is NULL */
    const Table *table; /* KEY_CODE */
    uint32_t column;
    DictView view;
} KeyCol;

typedef struct KeySpec {
    uint32_t ncols;
    KeyCol *cols;
    bool with_nulls; /* the first words are the null mask: NULLs are equal (grouping) */
    bool packed;     /* one word holds all columns and their NULLs */
    uint32_t compared;
    uint32_t ntext;      /* pointer words follow the compared ones */
    uint32_t *text_word; /* compared word (length, hash) of each */
    uint32_t words;      /* in all */
} KeySpec;

/* infos[i]: facts about column i (dictionaries, bounds). With nulls, keys are packed if the facts allow it. */
tcudb_status keys_spec(Exec *x, const Type *types, const ColInfo *infos, uint32_t n, bool with_nulls, KeySpec *out,
                       Error *err) MUST_CHECK;
/* Encodes the rows sel[0..n-1]: out has n * spec->words words, hash n. Without a null mask the rows must
 * have no NULL. Text pointers point into the batch's memory. */
tcudb_status keys_encode(const KeySpec *spec, Arena *arena, const Vector *cols, const uint16_t *sel, uint32_t n,
                         uint32_t rows, uint64_t *out, uint64_t *hash, Error *err) MUST_CHECK;
/* Column `col` of n keys that lie `stride` bytes apart. */
tcudb_status keys_decode(const KeySpec *spec, uint32_t col, const char *keys, size_t stride, uint32_t n, Arena *arena,
                         Vector *out, Error *err) MUST_CHECK;
bool keys_text_equal(const KeySpec *spec, const uint64_t *a, const uint64_t *b);

static inline bool keys_equal(const KeySpec *spec, const uint64_t *a, const uint64_t *b)
{
    uint64_t diff = 0;
    for (uint32_t i = 0; i < spec->compared; i++) diff |= a[i] ^ b[i];
    return diff == 0 && (spec->ntext == 0 || keys_text_equal(spec, a, b));
}

static inline uint64_t keys_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 32);
}

/* Distinct keys in order of first appearance, each with `state_bytes` of zeroed state:
 * a row is [hash][key words][state]. */
typedef struct KeyTable {
    Exec *x;
    const KeySpec *spec;
    uint32_t state_at; /* byte offset of the state in a row */
    uint32_t stride;
    uint64_t *slots; /* hash high half << 32 | row + 1 */
    uint64_t nslots;
    char *rows;
    uint32_t n, cap;
    Arena *text; /* where the bytes of new text keys go; NULL: they are kept already */
} KeyTable;

tcudb_status keytable_init(Exec *x, const KeySpec *spec, uint32_t state_bytes, Arena *text, KeyTable *out,
                           Error *err) MUST_CHECK;
void keytable_free(KeyTable *t);
/* Empties the table, which keeps its memory. */
void keytable_clear(KeyTable *t);
/* The same, but t->rows are the caller's from now on (exec_free). */
void keytable_take_rows(KeyTable *t);
/* Room for so many more rows without growing. */
tcudb_status keytable_reserve(KeyTable *t, uint32_t more, Error *err) MUST_CHECK;
/* Row number of each key, inserted if new. */
tcudb_status keytable_find(KeyTable *t, const uint64_t *keys, const uint64_t *hash, uint32_t n, uint32_t *out,
                           Error *err) MUST_CHECK;
/* A row for each key, whether or not there is one already: the table must not be asked for keys afterwards.
 * *first: the number of the first; the others follow. */
tcudb_status keytable_append(KeyTable *t, const uint64_t *keys, const uint64_t *hash, uint32_t n, uint32_t *first,
                             Error *err) MUST_CHECK;
/* The same for one key. *found: it was there before. */
tcudb_status keytable_add(KeyTable *t, const uint64_t *key, uint64_t hash, uint32_t *out, bool *found,
                          Error *err) MUST_CHECK;

/* Brings in the slot where a key of this hash will be looked for. */
static inline void keytable_prefetch(const KeyTable *t, uint64_t hash)
{
    __builtin_prefetch(&t->slots[hash & (t->nslots - 1)]);
}
/* The row number of a key that is there; false: it is not. Any number of threads, as long as nobody adds. */
bool keytable_get(const KeyTable *t, const uint64_t *key, uint64_t hash, uint32_t *out);

static inline char *keytable_row(const KeyTable *t, uint32_t row)
{
    return t->rows + (size_t)row * t->stride;
}
static inline char *keytable_state(const KeyTable *t, uint32_t row)
{
    return keytable_row(t, row) + t->state_at;
}

#endif
