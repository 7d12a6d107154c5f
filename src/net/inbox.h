/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_INBOX_H
#define SHOAL_NET_INBOX_H

/*
 * Many threads -> the loop: commands, cancels, and the wish to close.  One lock, a
 * leaf: no callback runs under it.  (I10)  It also guards the token that says which
 * thread may run the loop.
 *
 * Two sides swap: threads fill one while the loop works through the other, so that in
 * steady state nothing is allocated.  A thread wakes the loop only if the loop said
 * that it is about to sleep, so a batch costs one wake-up.  A loop that holds commands
 * back says when it wakes by itself, and how many commands are worth waking it sooner.
 *
 * Guarantee: what was pushed before an unlock is seen by the loop without another push.
 * (I11)  The loop announces its sleep under the lock and finds the inbox empty there.
 * What is urgent, or would be overdue when the loop wakes by itself, is seen at once.
 */

#include "base/buffer.h"
#include "base/counter.h"
#include "core/driver_token.h"
#include "core/request.h"
#include "net/notifier.h"
#include "net/parker.h"
#include <stdbool.h>
#include <uv.h>

typedef struct shoal__inbox_side {
    shoal__request_t *requests;
    size_t count, capacity;
    shoal__buffer_t bytes; /* of the requests, in their order */
    uint64_t *cancels;     /* tickets */
    size_t cancels_count, cancels_capacity;
} shoal__inbox_side_t;

typedef struct shoal__inbox {
    uv_mutex_t lock;
    uv_cond_t changed;           /* room was made, or the state below changed */
    unsigned waiting;            /* threads in shoal__inbox_wait_locked */
    _Atomic unsigned signalling; /* threads that are about to wake the loop */
    shoal__parking_t parking;    /* of blocked callers */
    shoal__inbox_side_t side;    /* that threads fill */
    bool is_asleep;              /* the loop sleeps, or is about to */
    uint64_t wake_us;            /* then: when it wakes by itself */
    uint64_t wake_after;         /* then: so many pushes wake it sooner */
    bool is_signal_due;          /* set under the lock, acted on after it */
    uint64_t tickets;            /* given out */
    /* Who runs the loop. */
    shoal__driver_token_t token;
    uv_cond_t called;       /* the background thread is to look at the token */
    uint64_t nap_until_us;  /* of the background thread */
    _Atomic bool is_parked; /* as the token says, for a look without the lock */
    uintptr_t last_thread;  /* that ran the loop; 0: none */
    /* State that threads ask for, and the loop tells. */
    _Atomic bool is_closed; /* no more commands */
    bool is_close_wanted;
    uint64_t drain_us; /* with is_close_wanted */
    bool is_ready;     /* the connection is */
    int last_status;   /* of the last failed attempt; 0: none, or it worked since */
    shoal__counter_t commands; /* taken in */
    shoal__counter_t refused;  /* with the lock held: full or closed */
    shoal__counter_t wakeups;  /* of the loop, by other threads */
    shoal__counter_t handovers;
    shoal__counter_t queued_now, bytes_now; /* of `side`, for the loop to read */
    const shoal__notifier_t *notifier;      /* the loop's */
} shoal__inbox_t;

int shoal__inbox_init(shoal__inbox_t *inbox, const shoal__notifier_t *notifier);
void shoal__inbox_release(shoal__inbox_t *inbox);
void shoal__inbox_side_release(shoal__inbox_side_t *side);

void shoal__inbox_lock(shoal__inbox_t *inbox);
/* Also wakes the loop, if something was pushed and it sleeps. */
void shoal__inbox_unlock(shoal__inbox_t *inbox);

/* Is there nothing for the loop? */
static inline bool shoal__inbox_is_empty_locked(const shoal__inbox_t *inbox)
{
    return inbox->side.count == 0 && inbox->side.cancels_count == 0;
}
/* Loop: it goes to sleep.  It wakes when `wake_after` commands were pushed (1 at least), or
 * anything else, or a command whose deadline is before wake_us; and by itself in time
 * for later deadlines. */
void shoal__inbox_sleep_locked(shoal__inbox_t *inbox, uint64_t wake_us,
                               uint64_t wake_after);

/* Something happened to the loop's driver: step the token, and wake the background
 * thread if it is to drive. */
shoal__driver_verdict_t shoal__inbox_drive_locked(shoal__inbox_t *inbox,
                                                  shoal__driver_event_t event,
                                                  bool is_quiet);
/* The calling thread drives from now on. */
void shoal__inbox_driven_locked(shoal__inbox_t *inbox);
/* Wake the background thread from its nap. */
void shoal__inbox_call_locked(shoal__inbox_t *inbox);
/* Background thread: sleep until it is called, until_us at most. */
void shoal__inbox_nap_locked(shoal__inbox_t *inbox, uint64_t until_us);

/* Room for the bytes of `count` commands; NULL: no memory, nothing changed. */
char *shoal__inbox_reserve_locked(shoal__inbox_t *inbox, size_t bytes, size_t count);
/* Their bytes were written there: push each of them, in order. */
void shoal__inbox_push_locked(shoal__inbox_t *inbox, const shoal__request_t *request);
/* 0 or SHOAL_ENOMEM. */
int shoal__inbox_cancel_locked(shoal__inbox_t *inbox, uint64_t ticket);
/* Something other than a command was left for the loop. */
void shoal__inbox_poke_locked(shoal__inbox_t *inbox);

/* Block until the inbox changes, or for a while; false, at once, if until_us is over. */
bool shoal__inbox_wait_locked(shoal__inbox_t *inbox, uint64_t until_us);

/* No thread calls any more: wait until those that were on their way out have left. */
void shoal__inbox_quiesce(shoal__inbox_t *inbox);

/* Loop: swap the sides.  `taken` must be empty and becomes what threads have left. */
void shoal__inbox_swap_locked(shoal__inbox_t *inbox, shoal__inbox_side_t *taken);

#endif
