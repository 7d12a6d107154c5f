/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_DRIVER_CASE_H
#define TESTS_INTERLEAVE_DRIVER_CASE_H

/*
 * A few threads use a client, and the last one closes it: who runs the loop, in every
 * schedule?
 *
 * Checked: one thread at a time; work that is left is done without time having to pass;
 * each call returns with its result; nothing touches the client once it is gone.
 */

#include "interleave/rig.h"

typedef struct driver_case {
    const char *name;
    rig_options_t rig;
    unsigned callers, calls;      /* threads that block, calls of each */
    unsigned submitters, submits; /* threads that do not */
    bool waits_for_room;          /* a submission does */
    bool callers_come_last;       /* after the submitters */
    bool closes_early;            /* when a command was written, or a thread waits */
    unsigned writes;              /* ... when so many were written; 0: one */
    unsigned preemptions;         /* 0: no bound */
    unsigned ticks;               /* naps that end at any moment */
} driver_case_t;

/* Explore; the cmocka test fails if any schedule did. */
void driver_case_run(const driver_case_t *c);

#endif
