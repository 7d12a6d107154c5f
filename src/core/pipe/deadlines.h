/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_DEADLINES_H
#define SHOAL_CORE_DEADLINES_H

/*
 * Decides when the owner looks for commands whose deadline has passed.
 *
 * The unit keeps one number, a lower bound of every deadline, so that a command costs
 * one comparison.  When the bound is reached the owner walks its commands once, expires
 * those due, and reports the others back: the bound is exact again.  Walks are spaced
 * in proportion to their length, so that they cost at most a few percent of the time.
 *
 * Guarantee: a command is expired within deadline + DELAY_US_MAX, if the owner asks
 * due() at next_us().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No walk is put off for longer than this. */
#define SHOAL__DEADLINES_DELAY_US_MAX 10000

typedef struct shoal__deadlines {
    uint64_t earliest_us;   /* no deadline is before this; NEVER if there is none */
    uint64_t not_before_us; /* the next walk, for the sake of spacing */
} shoal__deadlines_t;

void shoal__deadlines_init(shoal__deadlines_t *deadlines);

/* A command with this deadline was taken in (SHOAL__NEVER_US: none). */
static inline void shoal__deadlines_add(shoal__deadlines_t *deadlines,
                                        uint64_t deadline_us)
{
    if (deadline_us < deadlines->earliest_us)
        deadlines->earliest_us = deadline_us;
}

/* Is a walk due? */
bool shoal__deadlines_due(const shoal__deadlines_t *deadlines, uint64_t now_us);

/* A walk over `commands` commands begins: the bound is reset; report those that stay
 * with shoal__deadlines_add(). */
void shoal__deadlines_walk(shoal__deadlines_t *deadlines, size_t commands,
                           uint64_t now_us);

/* When to ask again; SHOAL__NEVER_US if there is nothing to expire. */
uint64_t shoal__deadlines_next_us(const shoal__deadlines_t *deadlines);

#endif
