/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_HELLO_DOUBT_H
#define SHOAL_CORE_HELLO_DOUBT_H

/*
 * Finds out whether a server hangs up on HELLO.  A connection that ends right after
 * HELLO may be the sign of a small server or proxy, or of a server that just died.
 * Staying with RESP2 on a mere suspicion would change the types of replies, so the
 * greeting tests the suspicion:
 *
 *   HELLO, hung up  ->  bare greeting, answered  ->  HELLO again, hung up  ->  bare
 *
 * Any other course leads back to HELLO.
 */

#include "core/greeting/greeting.h"

typedef enum shoal__hello_doubt {
    SHOAL__HELLO_TRUSTED,   /* zero: say HELLO */
    SHOAL__HELLO_SUSPECTED, /* the server hung up once: test with a bare greeting */
    SHOAL__HELLO_RETESTED,  /* it answered the bare greeting: say HELLO again */
    SHOAL__HELLO_REFUSED    /* it hung up on HELLO again: bare greetings */
} shoal__hello_doubt_t;

typedef enum shoal__hello_outcome {
    SHOAL__HELLO_ANSWERED,  /* the greeting is done, or the test passed */
    SHOAL__HELLO_HUNG_UP,   /* closed before a byte of an answer */
    SHOAL__HELLO_OTHERWISE, /* lost in any other way, during the greeting or later */
    SHOAL__HELLO_OUTCOME_COUNT
} shoal__hello_outcome_t;

/* What a failed attempt to connect says.  `greeting`: NULL if none was begun. */
shoal__hello_outcome_t shoal__hello_failed(const shoal__greeting_t *greeting,
                                           int status);

/* How to greet. */
shoal__greeting_style_t shoal__hello_style(shoal__hello_doubt_t doubt);

/* The doubt after an outcome. */
shoal__hello_doubt_t shoal__hello_next(shoal__hello_doubt_t doubt,
                                       shoal__hello_outcome_t outcome);

#endif
