/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_DRIVER_SEAT_H
#define SHOAL_NET_DRIVER_SEAT_H

/*
 * The seat of the thread that runs a client's loop, and the one lock between that
 * thread and all others.  core/driver_token.c says which thread may sit here; this file
 * keeps the token, wakes a driver that sleeps in the poll, and lets the background
 * thread nap.
 *
 * Callers may stay awake until their results come, and take the seat in turns.  The seat
 * counts them, because the loop may be parked while one of them is awake.
 *
 * The lock also guards the mailbox and the gate.  It is a leaf: no callback runs under
 * it.  (I10)
 *
 * Guarantee: the loop sees every command that a thread left before an unlock, without
 * another push.  (I11)  The driver announces its sleep under the lock, and a thread
 * that pokes the seat after that wakes the driver.
 */

#include "base/counter.h"
#include "core/driver_token.h"
#include "net/notifier.h"
#include <stdbool.h>
#include <uv.h>

typedef struct shoal__driver_seat {
    uv_mutex_t lock;
    uv_cond_t called; /* the background thread is to look at the token */
    shoal__driver_token_t token;
    _Atomic shoal__driver_t driver; /* as the token says, for a look without the lock */
    unsigned
        awake; /* callers that are awake, each of which will drive if nobody does */
    unsigned round; /* of callers: a new one begins when the background thread drives */
    uint64_t nap_until_us;      /* when the background thread's nap ends by itself */
    uintptr_t last_thread;      /* the thread that drove last; 0: none */
    bool is_asleep;             /* the driver sleeps in the poll, or is about to */
    bool is_signal_due;         /* set under the lock, acted on by the unlock */
    shoal__counter_t wakeups;   /* of the loop, by other threads */
    shoal__counter_t handovers; /* times another thread than before began to drive */
    const shoal__notifier_t *notifier; /* the loop's */
} shoal__driver_seat_t;

/* 0 or an errno, negated. */
int shoal__driver_seat_init(shoal__driver_seat_t *seat,
                            const shoal__notifier_t *notifier);
void shoal__driver_seat_release(shoal__driver_seat_t *seat);

void shoal__driver_seat_lock(shoal__driver_seat_t *seat);
/* Also wakes the driver, if it was poked while it slept. */
void shoal__driver_seat_unlock(shoal__driver_seat_t *seat);

/* Something was left for the loop: wake the thread that is to see it. */
void shoal__driver_seat_poke_locked(shoal__driver_seat_t *seat);

/* The calling thread is about to sleep, which unlocks without
 * shoal__driver_seat_unlock(): wake a driver that was poked while it slept. */
void shoal__driver_seat_signal_locked(shoal__driver_seat_t *seat);

/* Something happened to the driver: step the token, and wake the background thread if
 * it is to drive. */
shoal__driver_verdict_t shoal__driver_seat_step_locked(shoal__driver_seat_t *seat,
                                                       shoal__driver_event_t event,
                                                       bool is_quiet);
/* The calling thread drives from now on. */
void shoal__driver_seat_taken_locked(shoal__driver_seat_t *seat);

/* Sleep on a condition that the seat's lock guards.  Without a signal the sleep ends
 * after left_us, or earlier if that is more than an hour: the caller looks again. */
void shoal__driver_seat_wait_locked(shoal__driver_seat_t *seat, uv_cond_t *condition,
                                    uint64_t left_us);
/* Wake the background thread from its nap. */
void shoal__driver_seat_call_locked(shoal__driver_seat_t *seat);
/* The loop is parked: the background thread is to look at it. */
void shoal__driver_seat_look_locked(shoal__driver_seat_t *seat);
/* The background thread sleeps until it is called, until_us at most. */
void shoal__driver_seat_nap_locked(shoal__driver_seat_t *seat, uint64_t until_us);

#endif
