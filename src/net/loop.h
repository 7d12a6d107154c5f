/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_LOOP_H
#define SHOAL_NET_LOOP_H

/*
 * One libuv loop, and the order of the work in each iteration.
 *
 *   poll ─► reads, and the results' callbacks ─► on_turn: take over new commands, look
 *    ▲      at the time, write what may leave, ask for the next wake-up
 *    └──────────────────────────────────────────┘
 *
 * on_turn runs once per iteration, right before the poll, so everything that was
 * submitted meanwhile leaves together.
 */

#include "net/notifier.h"
#include "net/waker.h"
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef struct shoal__loop_hooks {
    /* Do what is due.  Returns when to be called again at the latest. */
    uint64_t (*on_turn)(void *owner, uint64_t now_us);
    /* Every handle is closed. */
    void (*on_closed)(void *owner);
} shoal__loop_hooks_t;

typedef struct shoal__loop {
    uv_loop_t *uv; /* own, or the caller's */
    uv_loop_t own; /* if is_own */
    bool is_own;
    bool is_again;     /* the idle handle runs: do not block in the next poll */
    bool is_poked;     /* something is to be done in the next turn */
    bool is_past_turn; /* the turn is over, the poll perhaps not begun */
    bool is_closing;
    unsigned open_handles;
    uint64_t until_us; /* a step or an iteration must return by then */
    uv_prepare_t prepare;
    uv_idle_t idle;
    uv_poll_t wakeups; /* of the notifier */
    shoal__waker_t waker;
    shoal__notifier_t notifier;
    shoal__loop_hooks_t hooks;
    void *owner;
} shoal__loop_t;

/* `uv`: the caller's loop, or NULL for one of our own.
 * 0 or an errno, negated.  If it fails with open_handles > 0, then the memory of `loop`
 * must stay until on_closed. */
int shoal__loop_init(shoal__loop_t *loop, uv_loop_t *uv,
                     const shoal__loop_hooks_t *hooks, void *owner);

/* Loop thread: there is something for the next turn.  A turn comes before the next
 * poll, unless on a loop of the caller's another prepare callback runs between the two;
 * is_in_poll says that this is not the case. */
void shoal__loop_again(shoal__loop_t *loop);
static inline void shoal__loop_poke(shoal__loop_t *loop, bool is_in_poll)
{
    loop->is_poked = true;
    if (!loop->is_own && loop->is_past_turn && !is_in_poll)
        shoal__loop_again(loop);
}

/* Close every handle; on_closed follows from inside the loop. */
void shoal__loop_close(shoal__loop_t *loop);

/* One iteration of an own loop; blocks until timeout_us at most (0: not at all). */
void shoal__loop_step(shoal__loop_t *loop, uint64_t timeout_us);

/* Run an own loop until everything is closed, or until a turn stops it. */
void shoal__loop_run(shoal__loop_t *loop);
/* In a turn: the poll does not block, and the run ends with it. */
void shoal__loop_stop(shoal__loop_t *loop);
/* An own loop, whichever thread ran it before: one turn, one poll until until_us at
 * most, and the events of that poll. */
void shoal__loop_iterate(shoal__loop_t *loop, uint64_t until_us);

/* After on_closed, when no thread signals any more: free what is left. */
void shoal__loop_release(shoal__loop_t *loop);

/* In the child of a fork: close the descriptors, run nothing. */
void shoal__loop_forget(shoal__loop_t *loop);

#endif
