/* SPDX-License-Identifier: MIT */
#include "core/conn_fsm.h"

#include <assert.h>

/* clang-format off */
#define STEP(state, action) {SHOAL__CONN_##state, SHOAL__CONN_DO_##action}

static const shoal__conn_step_t
    steps[SHOAL__CONN_STATE_COUNT][SHOAL__CONN_EVENT_COUNT] = {
    [SHOAL__CONN_IDLE] = {
        [SHOAL__CONN_ON_OPEN]      = STEP(DIALING,  DIAL),
        [SHOAL__CONN_ON_CLOSE]     = STEP(CLOSED,   SHUT),
    },
    [SHOAL__CONN_DIALING] = {
        [SHOAL__CONN_ON_DIALED]    = STEP(GREETING, GREET),
        [SHOAL__CONN_ON_LOST]      = STEP(BACKOFF,  RETRY),
        [SHOAL__CONN_ON_CLOSE]     = STEP(CLOSED,   SHUT),
    },
    [SHOAL__CONN_GREETING] = {
        [SHOAL__CONN_ON_GREETED]   = STEP(READY,    RESUME),
        [SHOAL__CONN_ON_LOST]      = STEP(BACKOFF,  RETRY),
        [SHOAL__CONN_ON_CLOSE]     = STEP(CLOSED,   SHUT),
    },
    [SHOAL__CONN_READY] = {
        [SHOAL__CONN_ON_RENEWED]   = STEP(GREETING, SUCCEED),
        [SHOAL__CONN_ON_LOST]      = STEP(BACKOFF,  RETRY),
        [SHOAL__CONN_ON_CLOSE]     = STEP(CLOSED,   SHUT),
    },
    [SHOAL__CONN_BACKOFF] = {
        [SHOAL__CONN_ON_RETRY_DUE] = STEP(DIALING,  DIAL),
        [SHOAL__CONN_ON_CLOSE]     = STEP(CLOSED,   SHUT),
    },
    [SHOAL__CONN_CLOSED] = {
        [SHOAL__CONN_ON_OPEN]      = STEP(DIALING,  DIAL),
        /* Every other event there is a bug. */
    },
};
/* clang-format on */

shoal__conn_step_t shoal__conn_fsm_step(shoal__conn_state_t state,
                                        shoal__conn_event_t event)
{
    assert(state < SHOAL__CONN_STATE_COUNT);
    assert(event < SHOAL__CONN_EVENT_COUNT);
    return steps[state][event];
}
