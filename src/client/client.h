/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_CLIENT_H
#define SHOAL_CLIENT_CLIENT_H

/* The struct behind shoal_client_t: its parts, and which thread may touch which part.
 * This file only defines it; the other files of this floor do the work. */

#include "client/events.h"
#include "client/ledger.h"
#include "client/waiters.h"
#include "core/awake_rule.h"
#include "core/company.h"
#include "core/options.h"
#include "core/scripts.h"
#include "net/clock.h"
#include "net/driver_seat.h"
#include "net/fork_guard.h"
#include "net/gate.h"
#include "net/loop.h"
#include "net/mailbox.h"
#include "route/route.h"
#include <pthread.h>
#include <shoal/client.h>
#include <shoal/errors.h>
#include <stdatomic.h>

typedef enum shoal__drive {
    SHOAL__DRIVE_THREAD, /* a thread of our own runs our loop */
    SHOAL__DRIVE_STEPS,  /* the caller steps our loop */
    SHOAL__DRIVE_CALLER  /* the caller runs a loop of theirs */
} shoal__drive_t;

/* The parts of a client's `references`.  Each keeps the memory. */
#define SHOAL__REFERENCE_WORK UINT32_C(1) /* the thread, or the loop's handles */
#define SHOAL__REFERENCE_STEP UINT32_C(2) /* DRIVE_STEPS: a thread is in a step */
#define SHOAL__REFERENCE_USER UINT32_C(4) /* and its multiples */

struct shoal_client {
    shoal_options_t *options;
    shoal__drive_t drive;
    uint64_t fork_generation; /* of the process that opened it */
    /* SHOAL__REFERENCE_USER for the open, each shoal_client_retain() and each pending
     * call, and bits of the work and of a step.  The thread that makes it 0 frees the
     * memory. */
    _Atomic uint32_t references;

    /* Any thread. */
    _Atomic uintptr_t loop_thread; /* the thread that runs the loop; 0: none */
    shoal__driver_seat_t seat;     /* the lock, and who drives */
    shoal__mailbox_t mailbox;      /* under that lock */
    shoal__gate_t gate;            /* under that lock */
    shoal__waiters_t waiters;
    shoal__ledger_t ledger;
    shoal__route_counts_t counts; /* by the route */
    struct shoal_client *prober;  /* a pubsub's, under the lock; NULL: none */
    struct {
        shoal__scripts_t registered; /* under the lock */
        _Atomic uint64_t changes;    /* of it, written under the lock */
        shoal__scripts_t loop;       /* loop thread only: what its connections load */
        uint64_t taken;              /* loop thread: after so many changes */
    } scripts;
    pthread_t thread;     /* DRIVE_THREAD */
    bool are_leases_over; /* under the lock: the route knows none any more */
    bool is_joined; /* a thread waits for that thread's end; set under the lock, before
                         the gate closes */

    /* Loop thread only, whichever thread that is. */
    shoal__loop_t loop;
    shoal__route_t
        *routes[2]; /* the one it was opened with, and the one that may take its
                                    place, or NULL (client/mode.h).  Until the memory is
                                    freed */
    _Atomic(shoal__route_t *)
        route; /* one of them; any thread: shoal__client_route() */
    shoal__events_t events;
    shoal__mailbox_side_t taken; /* the mailbox's other side */
    shoal__mailbox_side_t apart; /* for a submission of the loop thread, see submit.c */
    uint64_t tickets;            /* given out on the loop thread */
    uint64_t drain_until_us;     /* while is_closing: what is outstanding ends then */
    bool is_open;                /* the route was opened */
    bool is_closing;             /* no new commands */
    bool is_shut;                /* everything is settled, the loop closes */
    bool is_gone;                /* every handle is closed */
    shoal_closed_cb on_closed;
    void *closed_data;
    shoal__company_t company;
    uint64_t wake_us;      /* the next turn must come by then */
    uint64_t seen_settled; /* ledger.settled, when results were last announced */
    uint64_t seen_turns;   /* turns, when the background thread last napped */
    bool had_company;      /* since the last turn: more than a lone call completed */
    uint64_t look_us;      /* callers that are awake need not read before */
    shoal__waiter_t
        *direct;     /* the loop thread is in this blocking call; NULL: in none */
    bool was_parked; /* the loop was parked since the last turn */
    shoal__awake_rule_t awake_rule; /* under the lock */

    shoal__counter_t turns, direct_calls, caller_wakeups;
    _Atomic bool runs_sinks; /* calls ask for their sinks to run on callers' threads */
    _Atomic uint32_t inside; /* callers that stay awake, until their threads go on */
    shoal__counter_t answered; /* blocking calls that got their results */
};

static inline bool shoal__client_is_loop_thread(const shoal_client_t *client)
{
    return atomic_load_explicit(&client->loop_thread, memory_order_relaxed) ==
           (uintptr_t)pthread_self();
}

/* A bare load, no call: it is no point at which tests/interleave changes threads.  There is
 * nothing to be seen, because it changes once, in the life of few clients. */
static inline shoal__route_t *shoal__client_route(const shoal_client_t *client)
{
    return client->route;
}

/* Was it opened by a process that this one was forked from? */
static inline bool shoal__client_is_foreign(const shoal_client_t *client)
{
    return client->fork_generation != shoal__fork_generation();
}

/* May this process use it?  0, SHOAL_EINVAL: there is none, or SHOAL_EFORK. */
static inline int shoal__client_check(const shoal_client_t *client)
{
    if (!client)
        return SHOAL_EINVAL;
    return shoal__client_is_foreign(client) ? SHOAL_EFORK : 0;
}

/* DRIVE_STEPS: is a thread in a step? */
static inline bool shoal__client_is_stepping(const shoal_client_t *client)
{
    return (atomic_load(&client->references) & SHOAL__REFERENCE_STEP) != 0;
}

static inline void shoal__client_lock(shoal_client_t *client)
{
    shoal__driver_seat_lock(&client->seat);
}

static inline void shoal__client_unlock(shoal_client_t *client)
{
    shoal__driver_seat_unlock(&client->seat);
}

/* Loop thread: the time. */
static inline uint64_t shoal__client_now_us(const shoal_client_t *client)
{
    return client->ledger.depth ? client->ledger.now_us : shoal__clock_us();
}

#endif
