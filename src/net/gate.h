/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_GATE_H
#define SHOAL_NET_GATE_H

/*
 * The gate that commands pass on their way in.  A gate is open, or closed for good.
 * Threads wait in front of the gate for room, or until the connection is ready.
 *
 * The driver seat's lock guards it.
 */

#include "net/driver_seat.h"
#include <stdbool.h>

typedef struct shoal__gate {
    shoal__driver_seat_t *seat; /* borrowed */
    uv_cond_t changed;          /* room was made, or the state below changed */
    unsigned waiting;           /* threads in shoal__gate_wait_locked */
    _Atomic bool is_closed;     /* no more commands are taken in */
    bool is_close_wanted;       /* the loop is to settle what is left, and end */
    uint64_t drain_us;          /* with is_close_wanted: time for what is outstanding */
    _Atomic bool is_over;       /* outstanding commands get their results now, or have
                                   them; for good */
    bool is_ready;              /* the connection is ready */
    int last_status;            /* of the last loss or failed attempt to connect; 0:
                                   none, or an attempt worked since */
} shoal__gate_t;

/* 0 or an errno, negated. */
int shoal__gate_init(shoal__gate_t *gate, shoal__driver_seat_t *seat);
void shoal__gate_release(shoal__gate_t *gate);

static inline bool shoal__gate_is_closed(const shoal__gate_t *gate)
{
    return atomic_load_explicit(&gate->is_closed, memory_order_relaxed);
}

static inline bool shoal__gate_is_over(const shoal__gate_t *gate)
{
    return atomic_load_explicit(&gate->is_over, memory_order_relaxed);
}

/* The state changed, or room was made: the threads that wait look again. */
void shoal__gate_tell_locked(shoal__gate_t *gate);

/* Close it, which it is not yet, and ask the loop to end. */
void shoal__gate_close_locked(shoal__gate_t *gate, uint64_t drain_us);

/* It was closed, and what was outstanding gets its results now. */
void shoal__gate_end(shoal__gate_t *gate);

/* Block until shoal__gate_tell_locked(), or for a while; false, at once, if until_us is
 * over. */
bool shoal__gate_wait_locked(shoal__gate_t *gate, uint64_t until_us);

#endif
