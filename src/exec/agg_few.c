/*
 * agg_few.c: sums of integers over few groups.
 *
 * With few groups neighbouring rows meet the same state, and each would wait for the additions of the one before. So a
 * batch is summed in small arrays first, LANES of them side by side, and these are added to the states once a batch.
 * Words of 64 bits are added in halves: of a batch neither sum can leave 64 bits, and no carry is waited for. TPC-H 1
 * (eight aggregates, four groups) took 32 ms without, 27 with.
 */
#include "exec/agg_int.h"

enum { LANES = 4 };

typedef struct FewSums {
    int64_t sum[LANES][AGG_FEW];  /* of narrow values, or of high halves */
    uint64_t low[LANES][AGG_FEW]; /* of low halves */
    uint32_t n[LANES][AGG_FEW];
} FewSums;

#define ADD_NARROW(s, k, g, x)                                                                                         \
    do {                                                                                                               \
        (s)->sum[k][g] += (x);                                                                                         \
        (s)->n[k][g]++;                                                                                                \
    } while (0)

#define ADD_WIDE(s, k, g, x)                                                                                           \
    do {                                                                                                               \
        (s)->low[k][g] += (uint32_t)(x);                                                                               \
        (s)->sum[k][g] += (x) >> 32;                                                                                   \
        (s)->n[k][g]++;                                                                                                \
    } while (0)

#define ADD_ROWS(T, ADD)                                                                                               \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        uint32_t i = 0;                                                                                                \
        if (sel == NULL) {                                                                                             \
            for (; i + LANES <= n; i += LANES)                                                                         \
                for (uint32_t k = 0; k < LANES; k++) ADD(&s, k, group[i + k], data[i + k]);                            \
            for (; i < n; i++) ADD(&s, 0, group[i], data[i]);                                                          \
        } else {                                                                                                       \
            for (; i + LANES <= n; i += LANES)                                                                         \
                for (uint32_t k = 0; k < LANES; k++) ADD(&s, k, group[i + k], data[sel[i + k]]);                       \
            for (; i < n; i++) ADD(&s, 0, group[i], data[sel[i]]);                                                     \
        }                                                                                                              \
    } while (0)

static void add_to_state(SumInt *state, const FewSums *s, uint32_t group, bool halves)
{
    int128 sum = 0;
    for (uint32_t k = 0; k < LANES; k++) {
        sum += halves ? (int128)s->sum[k][group] * ((int128)1 << 32) + s->low[k][group] : s->sum[k][group];
        state->n += s->n[k][group];
    }
    uint128 total = ((uint128)(uint64_t)state->hi << 64 | state->lo) + (uint128)sum;
    state->lo = (uint64_t)total;
    state->hi = (int64_t)(total >> 64);
}

bool agg_sum_few(const Vector *v, const uint16_t *sel, uint32_t n, const AggStates *states)
{
    const uint32_t *group = states->group;
    FewSums s;
    if (group == NULL || states->ngroups == 0 || states->ngroups > AGG_FEW) return false;
    if (v->valid != NULL || v->form != VEC_FLAT || n < 4 * states->ngroups) return false;
    for (uint32_t k = 0; k < LANES; k++) {
        memset(s.sum[k], 0, states->ngroups * sizeof s.sum[k][0]);
        memset(s.low[k], 0, states->ngroups * sizeof s.low[k][0]);
        memset(s.n[k], 0, states->ngroups * sizeof s.n[k][0]);
    }
    switch (v->phys) {
    case PHYS_I16: ADD_ROWS(int16_t, ADD_NARROW); break;
    case PHYS_I32: ADD_ROWS(int32_t, ADD_NARROW); break;
    case PHYS_I64: ADD_ROWS(int64_t, ADD_WIDE); break;
    default: return false;
    }
    for (uint32_t g = 0; g < states->ngroups; g++)
        add_to_state((SumInt *)(void *)(states->base + g * states->stride), &s, g, v->phys == PHYS_I64);
    return true;
}

bool agg_count_few(uint32_t n, const AggStates *states)
{
    const uint32_t *group = states->group;
    uint32_t count[LANES][AGG_FEW], i = 0;
    if (group == NULL || states->ngroups == 0 || states->ngroups > AGG_FEW || n < 4 * states->ngroups) return false;
    for (uint32_t k = 0; k < LANES; k++) memset(count[k], 0, states->ngroups * sizeof count[k][0]);
    for (; i + LANES <= n; i += LANES)
        for (uint32_t k = 0; k < LANES; k++) count[k][group[i + k]]++;
    for (; i < n; i++) count[0][group[i]]++;
    for (uint32_t g = 0; g < states->ngroups; g++)
        for (uint32_t k = 0; k < LANES; k++) *(int64_t *)(void *)(states->base + g * states->stride) += count[k][g];
    return true;
}
