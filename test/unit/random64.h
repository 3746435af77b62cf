/*
 * random64.h: the same numbers in every run: Marsaglia's xorshift, a state a program.
 */
#ifndef TEST_RANDOM64_H
#define TEST_RANDOM64_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

#endif
