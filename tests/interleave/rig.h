/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_RIG_H
#define TESTS_INTERLEAVE_RIG_H

/*
 * A whole client on explored threads: what is above the route is the real code
 * (api/, client/, net/loop.c, net/mailbox.c, net/parker.c, the token); below it a server
 * that answers in order, and libuv's loop reduced to what the library uses of it.
 *
 * Checked on the way: one thread at a time runs the loop; no callback of a user comes on a
 * thread in a blocking call; while the loop is parked, the seat's count of callers that
 * are awake is exact; what arrived before a caller's turn began is read before the caller
 * writes.
 */

#include <shoal/client.h>
#include <stdbool.h>

/* So long is a tick of a scenario that has ticks. */
#define RIG_TICK_US 100000

typedef struct rig_options {
    bool is_parked;      /* nobody drives at the beginning */
    bool is_about_to;    /* the next lone call parks the loop */
    unsigned queued_max; /* 0: plenty */
    bool answers_slowly; /* the server is a thread of its own */
    bool answers_singly; /* ... and takes its time for each command */
    bool hangs_up;       /* it does, once, instead of its first answer */
    bool breaks;         /* the connection does, once, at the first send */
    /* Once, a send of a caller that is awake fails, and so do the commands that have no
     * result. */
    bool fails;
    bool strays;    /* at the first tick, something arrives that no command asked for */
    bool is_silent; /* it never answers */
    uint64_t late_us;  /* with answers_slowly: it answers nothing before */
    bool is_stalled;   /* nothing can be written */
    bool lacks_memory; /* once, for a command of a caller */
    bool is_stepped;   /* the client has no thread: the scenario's threads step it */
} rig_options_t;

/* The client's own thread; with is_stepped the first one of the scenario. */
#define RIG_BACKGROUND 0

/* In a scenario's `begin`, before any thread is started: open the client. */
shoal_client_t *rig_begin(const rig_options_t *options);
/* In `end`: the client must be gone. */
void rig_end(void);

/* What happened since the process began. */
typedef struct rig_seen {
    unsigned awake_turns; /* of callers that are awake */
    unsigned polls;       /* ... and polls of callers that are alone */
    unsigned failures;    /* for want of memory */
    unsigned left_alone;  /* the loop was parked, a caller slept, and none was awake */
} rig_seen_t;

rig_seen_t rig_seen(void);

/* Did the program learn that the connection was lost? */
bool rig_is_loss_told(void);

/* In a thread: wait until so many commands were written, in all. */
void rig_wait_written(unsigned commands);

#endif
