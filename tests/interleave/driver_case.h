/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_DRIVER_CASE_H
#define TESTS_INTERLEAVE_DRIVER_CASE_H

/*
 * A few threads use a client, and the last one closes it: who runs the loop, in every
 * schedule?
 *
 * Checked: one thread at a time; work that is left is done without time having to pass,
 * or with `naps` a millisecond; each call returns with its result; nothing touches the client once it is gone.
 */

#include "interleave/rig.h"

#define DRIVER_CASE_CALM (-1U)

typedef struct driver_case {
    const char *name;
    rig_options_t rig;
    unsigned callers, calls;      /* threads that block, calls of each */
    unsigned submitters, submits; /* threads that do not */
    bool waits_for_room;          /* a submission or a call does */
    uint64_t wait_us;             /* calls begin, and their threads wait so long ... */
    bool gives_up;                /* ... and give up; else wait on.  0: they stay */
    bool reconnects;              /* a thread wants the connection anew */
    bool closes_early;            /* when a command was written, or a thread waits */
    unsigned preemptions;         /* 0: no bound; or DRIVER_CASE_CALM: none */
    unsigned ticks;               /* naps that end at any moment */
    bool naps;                    /* short naps end when nobody can go on */
    bool is_idle;                 /* callers that are awake go to sleep soon */
} driver_case_t;

/* Explore; the cmocka test fails if any schedule did. */
void driver_case_run(const driver_case_t *c);

#endif
