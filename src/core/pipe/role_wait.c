/* SPDX-License-Identifier: MIT */
#include "core/pipe/role_wait.h"

#include "base/time_us.h"

#define PAUSE_US_MIN 8000
#define PAUSE_DOUBLINGS 5 /* up to 256 ms */
#define FORGET_US 1000000 /* so long after a round, the next one begins another wait */

uint64_t shoal__role_wait_next_us(shoal__role_wait_t *wait, uint64_t now_us,
                                  shoal__random_t *random)
{
    if (now_us < wait->due_us)
        return wait->due_us;
    if (now_us - wait->due_us >= FORGET_US)
        wait->rounds = 0;

    uint64_t half_us = (uint64_t)PAUSE_US_MIN << wait->rounds >> 1;

    if (wait->rounds < PAUSE_DOUBLINGS)
        wait->rounds++;
    wait->due_us = now_us + half_us + shoal__random_below(random, half_us + 1);
    return wait->due_us;
}

uint64_t shoal__role_wait_end_us(uint64_t submitted_us, uint64_t deadline_us)
{
    return shoal__time_min(deadline_us,
                           shoal__time_after(submitted_us, SHOAL__ROLE_WAIT_US_MAX));
}
