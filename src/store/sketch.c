/*
 * sketch.c: how many distinct values a column has, about: HyperLogLog (Flajolet et al., 2007).
 *
 * SKETCH_BYTES registers a column; a value's hash picks one by its high bits and leaves there the largest number of
 * leading zeros, plus one, of the rest. Merging takes the larger register, so a table's sketch is that of its sealed
 * segments; deletions do not shrink it. Standard error 1.04 / sqrt(1024) = 3.3%; small counts use linear counting.
 * Cost: about 0.5 ns a value, whose hashes vector
 * instructions make some hundred at once.
 */
#include "base/hot.h"
#include "store/store_int.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { INDEX_BITS = 10 };

static inline uint64_t hash64(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static inline void add_hash(uint8_t *sketch, uint64_t hash)
{
    uint64_t rest = hash << INDEX_BITS | (UINT64_C(1) << (INDEX_BITS - 1));
    uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *reg = &sketch[hash >> (64 - INDEX_BITS)];
    if (rank > *reg) *reg = rank;
}

#define HASH_LOOP(T, bits)                                                                                             \
    do {                                                                                                               \
        const T *v_ = (const T *)data + from;                                                                          \
        for (uint32_t i = 0; i < n; i++) hashes[i] = hash64(bits);                                                     \
    } while (0)

/* Of rows [from, from + n), whatever they hold. */
HOT static void hash_rows(Phys phys, const uint8_t *data, uint32_t from, uint32_t n, uint64_t *hashes)
{
    switch (phys) {
    case PHYS_BOOL: HASH_LOOP(uint8_t, v_[i]); return;
    case PHYS_I16: HASH_LOOP(uint16_t, v_[i]); return;
    case PHYS_I32:
    case PHYS_F32: HASH_LOOP(uint32_t, v_[i]); return;
    case PHYS_I64:
    case PHYS_F64: HASH_LOOP(uint64_t, v_[i]); return;
    case PHYS_I128: HASH_LOOP(uint128, (uint64_t)v_[i] ^ hash64((uint64_t)(v_[i] >> 64))); return;
    default: assert(phys == PHYS_NUM); HASH_LOOP(Num, (uint64_t)v_[i].value ^ hash64((uint64_t)(v_[i].value >> 64)));
    }
}

void sketch_add(uint8_t *sketch, Phys phys, const uint8_t *data, const uint8_t *valid, uint32_t n)
{
    enum { STEP = 512 };
    uint64_t hashes[STEP], last = 0;
    if (phys == PHYS_STR || phys == PHYS_INTERVAL) return; /* texts: the dictionary knows */
    for (uint32_t from = 0; from < n; from += STEP) {
        uint32_t some = n - from < STEP ? n - from : STEP;
        hash_rows(phys, data, from, some, hashes);
        if (from == 0) last = ~hashes[0];
        for (uint32_t i = 0; i < some; i++) {
            if (!valid[from + i] || hashes[i] == last) continue;
            last = hashes[i];
            add_hash(sketch, last);
        }
    }
}

void sketch_merge(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = to[i] > from[i] ? to[i] : from[i];
}

double sketch_count(const uint8_t *sketch)
{
    double sum = 0;
    uint32_t zeros = 0;
    for (uint32_t i = 0; i < SKETCH_BYTES; i++) {
        sum += ldexp(1, -sketch[i]);
        zeros += sketch[i] == 0;
    }
    double m = SKETCH_BYTES;
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate <= 2.5 * m && zeros > 0) return m * log(m / zeros);
    return estimate;
}
