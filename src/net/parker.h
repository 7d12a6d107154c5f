/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_PARKER_H
#define SHOAL_NET_PARKER_H

/*
 * A thread parks until another one unparks it, once.
 *
 * Many threads park at one place, so that one system call wakes many of them: on Linux
 * the place has a few futexes, whose bits tell neighbours apart.  On other systems each
 * thread has a semaphore (SHOAL_PARKER chooses at build time).
 *
 * Guarantee: a thread is unparked, or it has left, never both.  A parker may be freed
 * as soon as it is unparked; the unparker frees a parker whose thread has left.  The
 * parking place must stay while a thread parks there, so each such thread holds a
 * reference to the object that the place is part of.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* A row of spots is one futex; its sleepers are looked through at each waking. */
#define SHOAL__PARKING_ROWS 16
/* So many consecutive numbers share a spot.  When one of their threads is unparked, all of
 * those that sleep there wake. */
#define SHOAL__PARKING_NEIGHBOURS 4

typedef struct shoal__parking {
    _Atomic uint32_t rounds[SHOAL__PARKING_ROWS]; /* of waking */
} shoal__parking_t;

/* The spots where sleepers are to be woken.  Zero: none. */
typedef struct shoal__parking_due {
    uint32_t spots[SHOAL__PARKING_ROWS];
} shoal__parking_due_t;

#define SHOAL__PARKER_UNPARKED UINT32_C(1)

typedef struct shoal__parker {
    _Atomic uint32_t state; /* awake, unparked, left, or asleep and where */
#if !SHOAL_PARKER_FUTEX
    uv_sem_t semaphore;
    bool has_slept; /* for the thread itself: who unparks it posts, now or soon */
#endif
} shoal__parker_t;

/* 0 or an errno, negated. */
int shoal__parker_init(shoal__parker_t *parker);
void shoal__parker_release(shoal__parker_t *parker);

/* Sleep until unparked: true.  Or until_us is over, or a signal came: false; the thread
 * may park again, with the same number.
 * Threads that are likely to be unparked together give numbers close to one another. */
bool shoal__parker_park(shoal__parker_t *parker, shoal__parking_t *parking,
                        uint64_t number, uint64_t until_us);

/* Was the thread, which did not park, unparked? */
static inline bool shoal__parker_is_unparked(const shoal__parker_t *parker)
{
    return atomic_load_explicit(&parker->state, memory_order_acquire) ==
           SHOAL__PARKER_UNPARKED;
}

/* The thread does not wait any more, and does not look at the parker again.  False: it
 * was unparked already. */
bool shoal__parker_leave(shoal__parker_t *parker);

/* The thread may go on; false: it has left.  A thread that sleeps learns of it from
 * shoal__parking_wake(), which takes what was added to `due`. */
bool shoal__parker_unpark(shoal__parker_t *parker, shoal__parking_due_t *due);
void shoal__parking_wake(shoal__parking_t *parking, const shoal__parking_due_t *due);

/* Wait until `fd` is readable, until_us at most.  0, SHOAL_ETIMEOUT or SHOAL_EINTR. */
int shoal__parker_wait_readable(int fd, uint64_t until_us);

#endif
