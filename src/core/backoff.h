/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_BACKOFF_H
#define SHOAL_CORE_BACKOFF_H

/*
 * Delay before the next attempt: uniform in 0 .. min(max, base * 2^n), "full jitter",
 * so that clients that lost one server together do not return together.  A least delay
 * is added, so that it does not take the jitter away.
 *
 * Guarantee: no delay is below delay_us_min, and none exceeds the greater of
 * delay_us_max and delay_us_min.
 */

#include "base/random.h"
#include <stdint.h>

typedef struct shoal__backoff {
    uint64_t base_us;
    uint64_t delay_us_max;
    unsigned failures; /* in a row */
} shoal__backoff_t;

void shoal__backoff_init(shoal__backoff_t *backoff, uint64_t base_us,
                         uint64_t delay_us_max);

/* One more failure: how long to wait, at least delay_us_min. */
uint64_t shoal__backoff_next(shoal__backoff_t *backoff, shoal__random_t *random,
                             uint64_t delay_us_min);

/* It worked: start over. */
void shoal__backoff_succeeded(shoal__backoff_t *backoff);

#endif
