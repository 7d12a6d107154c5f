/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_KILLER_H
#define SHOAL_TESTS_MATRIX_KILLER_H

/* A job for an agent (load.h): CLIENT KILL of connections at random, a hundred a second. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct killer {
    int port;
    uint64_t random;
    _Atomic uint64_t kills_max; /* then it kills no more */
    _Atomic bool is_over;
    _Atomic uint64_t kills;
} killer_t;

/* Until killer->is_over; `data` points to the killer. */
void killer_run(void *data);

#endif
