/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ROLE_WAIT_H
#define SHOAL_CORE_ROLE_WAIT_H

/*
 * Waiting for a server whose role changes: commands that it turned away with READONLY
 * or MASTERDOWN are sent again, all of them at the same times, until it takes them.
 *
 * The pause between two such rounds doubles from 8 ms to 256 ms, the second half of
 * each is random.  So the pipe notices a switch soon, and a server that keeps its role
 * gets each command about five times a second.  The wait of a command ends at its
 * deadline, or 30 s after its submission, whichever is first.  (I13)
 */

#include "base/random.h"
#include <stdbool.h>
#include <stdint.h>

#define SHOAL__ROLE_WAIT_US_MAX 30000000

typedef struct shoal__role_wait {
    uint64_t due_us; /* of the round that is planned, or of the last one */
    unsigned rounds; /* planned in a row */
} shoal__role_wait_t;

/* A command was turned away: when will it be sent again? */
uint64_t shoal__role_wait_next_us(shoal__role_wait_t *wait, uint64_t now_us,
                                  shoal__random_t *random);

/* Until when a command of this deadline waits. */
uint64_t shoal__role_wait_end_us(uint64_t submitted_us, uint64_t deadline_us);

#endif
