/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_COROUTINE_H
#define TESTS_INTERLEAVE_COROUTINE_H

/* Stacks to run the threads of a scenario on, one at a time.  A coroutine is given up by
 * never resuming it; starting it anew reuses its stack, without a system call. */

#include <setjmp.h>
#include <stdbool.h>

typedef struct coroutine {
    void (*body)(void *data);
    void *data;
    jmp_buf bottom; /* of its stack, where every start begins */
    jmp_buf here;   /* where it goes on */
    char *stack;    /* NULL: not made yet */
} coroutine_t;

/* Let the next resume begin body(data).  Once over, a coroutine must not be resumed.
 * False: no memory. */
bool coroutine_start(coroutine_t *coroutine, void (*body)(void *data), void *data);
/* Run it until it yields or is over. */
void coroutine_resume(coroutine_t *coroutine);
/* Inside a coroutine: go back to its resumer. */
void coroutine_yield(coroutine_t *coroutine);

#endif
