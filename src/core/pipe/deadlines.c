/* SPDX-License-Identifier: MIT */
#include "core/pipe/deadlines.h"
#include "base/time_us.h"

/* A walk costs about 5 ns for each command.  125 ns for each between walks make that
 * 4 % of the time. */
#define COMMANDS_PER_US 8
#define SPACING_US_MIN 200

void shoal__deadlines_init(shoal__deadlines_t *deadlines)
{
    *deadlines = (shoal__deadlines_t){.earliest_us = SHOAL__NEVER_US};
}

bool shoal__deadlines_due(const shoal__deadlines_t *deadlines, uint64_t now_us)
{
    return deadlines->earliest_us != SHOAL__NEVER_US &&
           now_us >= deadlines->earliest_us && now_us >= deadlines->not_before_us;
}

void shoal__deadlines_walk(shoal__deadlines_t *deadlines, size_t commands,
                           uint64_t now_us)
{
    uint64_t spacing_us = commands / COMMANDS_PER_US;

    if (spacing_us < SPACING_US_MIN)
        spacing_us = SPACING_US_MIN;
    if (spacing_us > SHOAL__DEADLINES_DELAY_US_MAX)
        spacing_us = SHOAL__DEADLINES_DELAY_US_MAX;

    deadlines->earliest_us = SHOAL__NEVER_US;
    deadlines->not_before_us = shoal__time_after(now_us, spacing_us);
}

uint64_t shoal__deadlines_next_us(const shoal__deadlines_t *deadlines)
{
    /* Never is the greatest value, so it needs no case of its own. */
    return deadlines->earliest_us > deadlines->not_before_us ? deadlines->earliest_us
                                                             : deadlines->not_before_us;
}
