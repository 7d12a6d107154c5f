/* SPDX-License-Identifier: MIT */
#include "core/flush_census.h"

#include "base/time_us.h"

/* After this long with nothing outstanding, the callers may be others. */
#define SILENCE_US 2000

void shoal__flush_census_init(shoal__flush_census_t *census)
{
    *census = (shoal__flush_census_t){0};
}

void shoal__flush_census_note(shoal__flush_census_t *census, uint64_t outstanding,
                              uint64_t now_us)
{
    if (outstanding == 0)
        return;
    census->seen_us = now_us;
    if (outstanding > census->peak)
        census->peak = outstanding;
    if (outstanding > census->most)
        census->most = outstanding;
    if (census->cycle_left == 0)
        census->cycle_left = outstanding;
}

bool shoal__flush_census_resume(shoal__flush_census_t *census, uint64_t now_us)
{
    if (shoal__time_since(census->seen_us, now_us) <= SILENCE_US)
        return false;
    shoal__flush_census_init(census);
    return true;
}

void shoal__flush_census_completed(shoal__flush_census_t *census, uint64_t commands,
                                   uint64_t outstanding)
{
    if (commands == 0)
        return;
    if (commands < census->cycle_left) {
        census->cycle_left -= commands;
        return;
    }

    /* Every command outstanding at the start of the cycle has completed. */
    census->peaks[census->next_peak] = census->peak;
    census->next_peak = (census->next_peak + 1) % SHOAL__CENSUS_CYCLES;
    census->peak = census->most = census->cycle_left = outstanding;
    for (unsigned i = 0; i < SHOAL__CENSUS_CYCLES; i++)
        if (census->peaks[i] > census->most)
            census->most = census->peaks[i];
}
