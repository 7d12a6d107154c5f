/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_TURNSTILE_H
#define SHOAL_PYTHON_TURNSTILE_H

/*
 * Threads whose results came together want the GIL together, and only one can have it.
 * Those that wait in the interpreter fall asleep, each is woken when another one has
 * given the GIL up, and on several CPUs the wake-up takes longer than what the thread
 * then does.  So they pass a turnstile, before they take the GIL: a thread that passed
 * has the turn until it begins its next call, which for a thread that does little else
 * is a few microseconds later.  One thread watches for that moment without a pause; the
 * others sleep, and one of them takes its place at each release.
 *
 * A turn is no right and no lock; the GIL alone keeps the interpreter's state apart.  A
 * thread that does not come back loses its turn after 20 us.  If that happens often, the
 * threads do other things between their calls, and the turnstile stands open: for
 * some thousand passes, and for longer each time that it was in vain.
 *
 * All functions: any thread, without the GIL.  A turnstile is never freed.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct shoalpy_turnstile {
    _Atomic(const void *) holder; /* NULL: none */
    _Atomic int holder_cpu;       /* where it took the turn */
    _Atomic bool has_watcher;     /* a thread watches for the release */
    _Atomic unsigned sleepers;
    _Atomic unsigned releases;
    _Atomic unsigned open; /* so many passes are free */
    /* The watcher's. */
    unsigned watches, in_vain; /* since the last verdict */
    unsigned openings;         /* in a row; 6 at most */
    pthread_mutex_t lock;      /* of the sleep */
    pthread_cond_t released;
} shoalpy_turnstile_t;

/* 0 or SHOAL_ESYSTEM.  Once more in the child of a fork, where threads that wait, or have
 * the turn, are not. */
int shoalpy_turnstile_init(shoalpy_turnstile_t *turnstile);

/* `thread` wants the GIL: wait for the turn, 1 ms at most. */
void shoalpy_turnstile_enter(shoalpy_turnstile_t *turnstile, const void *thread);
/* It gave the GIL up, in the course of its next call. */
void shoalpy_turnstile_leave(shoalpy_turnstile_t *turnstile, const void *thread);

#endif
