/* SPDX-License-Identifier: MIT */
#include "core/backoff.h"

void shoal__backoff_init(shoal__backoff_t *backoff, uint64_t base_us,
                         uint64_t delay_us_max)
{
    *backoff = (shoal__backoff_t){.base_us = base_us, .delay_us_max = delay_us_max};
}

/* base * 2^failures, but at most max_us; a shift could lose bits. */
static uint64_t jitter_max_us(const shoal__backoff_t *backoff, uint64_t max_us)
{
    if (backoff->failures >= 64 || backoff->base_us > max_us >> backoff->failures)
        return max_us;
    return backoff->base_us << backoff->failures;
}

uint64_t shoal__backoff_next(shoal__backoff_t *backoff, shoal__random_t *random,
                             uint64_t delay_us_min)
{
    uint64_t room_us =
        backoff->delay_us_max > delay_us_min ? backoff->delay_us_max - delay_us_min : 0;
    uint64_t jitter_us =
        shoal__random_below(random, jitter_max_us(backoff, room_us) + 1);

    if (backoff->failures < 64)
        backoff->failures += 1;
    return delay_us_min + jitter_us;
}

void shoal__backoff_succeeded(shoal__backoff_t *backoff)
{
    backoff->failures = 0;
}
