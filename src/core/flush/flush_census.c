/* SPDX-License-Identifier: MIT */
#include "core/flush/flush_census.h"

#include "base/time_us.h"

/* After this long with nothing outstanding, the callers may be others. */
#define SILENCE_US 2000

/* Of peaks that differ at random, one in 13 is the greatest of the last 13. */
#define RECORDS_ALL 65536
#define RECORDS_VARIED (RECORDS_ALL * 2 / 5)

void shoal__flush_census_init(shoal__flush_census_t *census)
{
    *census = (shoal__flush_census_t){.records = RECORDS_ALL};
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

bool shoal__flush_census_is_varied(const shoal__flush_census_t *census)
{
    return census->records < RECORDS_VARIED;
}

/* The most that was outstanding in the cycles before. */
static uint64_t former(const shoal__flush_census_t *census)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < SHOAL__CENSUS_CYCLES; i++)
        if (census->peaks[i] > most)
            most = census->peaks[i];
    return most;
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
    census->records -= census->records / 16;
    if (census->peak >= former(census))
        census->records += RECORDS_ALL / 16;
    census->peaks[census->next_peak] = census->peak;
    census->next_peak = (census->next_peak + 1) % SHOAL__CENSUS_CYCLES;
    census->peak = census->most = census->cycle_left = outstanding;
    if (former(census) > census->most)
        census->most = former(census);
}
