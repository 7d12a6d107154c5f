/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_RIG_H
#define TESTS_INTERLEAVE_RIG_H

/*
 * A whole client on explored threads: what is above the route is the real code
 * (api/, client/, net/loop.c, net/mailbox.c, net/parker.c, the token); below it a server
 * that answers in order, and libuv's loop reduced to what the library uses of it.
 *
 * Checked on the way: one thread at a time runs the loop, and no callback of a user
 * comes on a thread in a blocking call.
 */

#include <shoal/client.h>
#include <stdbool.h>

/* So long is a tick of a scenario that has ticks. */
#define RIG_TICK_US 100000

typedef struct rig_options {
    bool is_parked;      /* nobody drives at the beginning */
    bool is_about_to;    /* the next lone call parks the loop */
    bool is_steady;      /* plain calls alone came before: the loop sleeps openly */
    unsigned queued_max; /* 0: plenty */
    bool answers_slowly; /* the server is a thread of its own */
    bool hangs_up;       /* it does, once, instead of its first answer */
    bool breaks;         /* the connection does, once, at the first send */
    bool fails;      /* once, a send of a thread that relieves the driver fails, and so
                            do the commands that have no result */
    bool is_astray;  /* it has sent something that no command asked for */
    bool is_silent;  /* it never answers */
    bool is_stalled; /* nothing can be written */
    bool holds;      /* before anything was written, the loop sleeps until a second
                        command comes, or time passes */
    unsigned lasts;  /* a turn of a thread that relieves the driver lasts until the next
                        command was submitted, or so many in all */
    bool is_stepped; /* the client has no thread: the scenario's threads step it */
} rig_options_t;

/* The client's own thread; with is_stepped the first one of the scenario. */
#define RIG_BACKGROUND 0

/* In a scenario's `begin`, before any thread is started: open the client. */
shoal_client_t *rig_begin(const rig_options_t *options);
/* In `end`: the client must be gone. */
void rig_end(void);

/* Turns, since the process began, of threads that relieved the driver. */
unsigned rig_reliefs(void);

/* In a thread: wait until so many commands were written, in all. */
void rig_wait_written(unsigned commands);

#endif
