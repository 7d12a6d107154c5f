/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_BACKOFF_H
#define SHOAL_CORE_BACKOFF_H

/*
 * The delay before the next attempt after n earlier failures: uniform in
 * 0 .. min(max, base * 2^n), "full jitter", so that clients that lost a server together
 * do not return together.  A least delay is added to the random one, and so does not
 * reduce the jitter.
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
