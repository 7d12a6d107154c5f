/* SPDX-License-Identifier: MIT */
#include "core/greeting/hello_doubt.h"

#include <shoal/errors.h>

shoal__greeting_style_t shoal__hello_style(shoal__hello_doubt_t doubt)
{
    if (doubt == SHOAL__HELLO_SUSPECTED)
        return SHOAL__GREETING_TEST;
    return doubt == SHOAL__HELLO_REFUSED ? SHOAL__GREETING_BARE : SHOAL__GREETING_FULL;
}

/* clang-format off */
static const shoal__hello_doubt_t next[][SHOAL__HELLO_OUTCOME_COUNT] = {
    /*                           ANSWERED                HUNG_UP                 OTHERWISE */
    [SHOAL__HELLO_TRUSTED]   = {SHOAL__HELLO_TRUSTED,  SHOAL__HELLO_SUSPECTED, SHOAL__HELLO_TRUSTED},
    [SHOAL__HELLO_SUSPECTED] = {SHOAL__HELLO_RETESTED, SHOAL__HELLO_TRUSTED,   SHOAL__HELLO_TRUSTED},
    [SHOAL__HELLO_RETESTED]  = {SHOAL__HELLO_TRUSTED,  SHOAL__HELLO_REFUSED,   SHOAL__HELLO_TRUSTED},
    [SHOAL__HELLO_REFUSED]   = {SHOAL__HELLO_REFUSED,  SHOAL__HELLO_TRUSTED,   SHOAL__HELLO_RETESTED},
};
/* clang-format on */

shoal__hello_doubt_t shoal__hello_next(shoal__hello_doubt_t doubt,
                                       shoal__hello_outcome_t outcome)
{
    return next[doubt][outcome];
}

shoal__hello_outcome_t shoal__hello_failed(const shoal__greeting_t *greeting,
                                           int status)
{
    if (!greeting)
        return SHOAL__HELLO_OTHERWISE;
    if (greeting->is_test_passed)
        return SHOAL__HELLO_ANSWERED;
    return status == SHOAL_ECONN && !greeting->heard_anything ? SHOAL__HELLO_HUNG_UP
                                                              : SHOAL__HELLO_OTHERWISE;
}
