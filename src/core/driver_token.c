/* SPDX-License-Identifier: MIT */
#include "core/driver_token.h"

#include <assert.h>

typedef struct step {
    shoal__driver_t next;
    shoal__driver_verdict_t verdict;
} step_t;

/* clang-format off */
#define STEP(driver, verdict) {SHOAL__DRIVER_##driver, SHOAL__DRIVER_##verdict}

static const struct {
    step_t quiet, busy;
} steps[SHOAL__DRIVER_COUNT][SHOAL__DRIVER_EVENT_COUNT] = {
    [SHOAL__DRIVER_BACKGROUND] = {
        [SHOAL__DRIVER_ON_CALL]     = {STEP(BACKGROUND, QUEUE),  STEP(BACKGROUND, QUEUE)},
        [SHOAL__DRIVER_ON_PUSH]     = {STEP(BACKGROUND, SIGNAL), STEP(BACKGROUND, SIGNAL)},
        [SHOAL__DRIVER_ON_TURNED]   = {STEP(PARKED,     PARK),   STEP(BACKGROUND, KEEP)},
        [SHOAL__DRIVER_ON_NAPPED]   = {STEP(BACKGROUND, KEEP),   STEP(BACKGROUND, KEEP)},
        [SHOAL__DRIVER_ON_LONE]     = {STEP(BACKGROUND, KEEP),   STEP(BACKGROUND, KEEP)},
        [SHOAL__DRIVER_ON_COMPANY]  = {STEP(BACKGROUND, KEEP),   STEP(BACKGROUND, KEEP)},
    },
    [SHOAL__DRIVER_PARKED] = {
        [SHOAL__DRIVER_ON_CALL]     = {STEP(DIRECT,     DRIVE),  STEP(PARKED,     QUEUE)},
        [SHOAL__DRIVER_ON_PUSH]     = {STEP(BACKGROUND, WAKE),   STEP(BACKGROUND, WAKE)},
        [SHOAL__DRIVER_ON_NAPPED]   = {STEP(PARKED,     KEEP),   STEP(BACKGROUND, LOOK)},
    },
    [SHOAL__DRIVER_DIRECT] = {
        [SHOAL__DRIVER_ON_CALL]     = {STEP(DIRECT,     QUEUE),  STEP(DIRECT,     QUEUE)},
        [SHOAL__DRIVER_ON_PUSH]     = {STEP(DIRECT,     SIGNAL), STEP(DIRECT,     SIGNAL)},
        [SHOAL__DRIVER_ON_TURNED]   = {STEP(DIRECT,     KEEP),   STEP(BACKGROUND, HAND_OVER)},
        [SHOAL__DRIVER_ON_LEFT] = {STEP(PARKED,     PARK),   STEP(BACKGROUND, HAND_OVER)},
        [SHOAL__DRIVER_ON_NAPPED]   = {STEP(DIRECT,     KEEP),   STEP(DIRECT,     KEEP)},
    },
};
/* clang-format on */

void shoal__driver_token_init(shoal__driver_token_t *token)
{
    *token = (shoal__driver_token_t){.driver = SHOAL__DRIVER_BACKGROUND};
}

bool shoal__driver_token_may_park(const shoal__driver_token_t *token)
{
    return token->driver == SHOAL__DRIVER_BACKGROUND &&
           token->lone >= SHOAL__DRIVER_LONE_CALLS;
}

/* Bring the counts up to date after a step. */
static void count(shoal__driver_token_t *token, shoal__driver_event_t event,
                  shoal__driver_verdict_t verdict)
{
    if (event == SHOAL__DRIVER_ON_LONE && token->lone < SHOAL__DRIVER_LONE_CALLS)
        token->lone++;
    if (event == SHOAL__DRIVER_ON_COMPANY || verdict == SHOAL__DRIVER_WAKE ||
        verdict == SHOAL__DRIVER_HAND_OVER)
        token->lone = 0;
    if (verdict == SHOAL__DRIVER_DRIVE)
        token->looks = 0;
    if (verdict == SHOAL__DRIVER_LOOK && ++token->looks >= SHOAL__DRIVER_LOOKS_MAX) {
        token->looks = 0;
        token->lone = 0;
    }
}

shoal__driver_verdict_t shoal__driver_token_step(shoal__driver_token_t *token,
                                                 shoal__driver_event_t event,
                                                 bool is_quiet)
{
    bool may_rest = is_quiet;
    step_t step;

    assert(event < SHOAL__DRIVER_EVENT_COUNT);
    if (token->driver == SHOAL__DRIVER_BACKGROUND && event == SHOAL__DRIVER_ON_TURNED)
        may_rest = is_quiet && shoal__driver_token_may_park(token);
    step =
        may_rest ? steps[token->driver][event].quiet : steps[token->driver][event].busy;
    if (step.verdict == SHOAL__DRIVER_ILLEGAL)
        return SHOAL__DRIVER_ILLEGAL;
    token->driver = step.next;
    count(token, event, step.verdict);
    return step.verdict;
}
