/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_CENSUS_H
#define SHOAL_CORE_FLUSH_CENSUS_H

/*
 * Estimates the number of callers: the most commands that were outstanding at once,
 * queued or in flight, in the last 12 cycles.  A cycle ends when every command that was
 * outstanding at its start has completed: about a round trip.
 *
 * Guarantee: the estimate is never below the number of commands outstanding now.  The
 * census forgets callers 12 cycles after they left, or after 2 ms with nothing
 * outstanding.
 */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__CENSUS_CYCLES 12

typedef struct shoal__flush_census {
    uint64_t peaks[SHOAL__CENSUS_CYCLES]; /* most outstanding, of the last cycles */
    unsigned next_peak;
    uint64_t peak;       /* of the present cycle */
    uint64_t most;       /* of all of them */
    uint64_t cycle_left; /* completions until the present cycle ends */
    uint32_t records;    /* share of cycles that equalled the most, of 65536 */
    uint64_t seen_us;    /* something was outstanding then, for the last time */
} shoal__flush_census_t;

void shoal__flush_census_init(shoal__flush_census_t *census);

/* `outstanding` commands are queued or in flight.  To be told before completions and
 * before decisions, so that no peak is missed. */
void shoal__flush_census_note(shoal__flush_census_t *census, uint64_t outstanding,
                              uint64_t now_us);

/* Commands come after nothing was outstanding.  True if it was silent for so long that
 * everything is forgotten. */
bool shoal__flush_census_resume(shoal__flush_census_t *census, uint64_t now_us);

/* `commands` completed; `outstanding` are left. */
void shoal__flush_census_completed(shoal__flush_census_t *census, uint64_t commands,
                                   uint64_t outstanding);

/* In a closed loop each cycle has the same peak: all callers.  Commands that come by
 * themselves seldom reach the most of the last cycles. */
bool shoal__flush_census_is_varied(const shoal__flush_census_t *census);

static inline uint64_t shoal__flush_census_callers(const shoal__flush_census_t *census)
{
    return census->most;
}

#endif
