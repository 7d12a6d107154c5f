/* SPDX-License-Identifier: MIT */
#include "core/cluster/lane_life.h"

/* Slots that left the node took their commands along; so nothing of the others can run late at
 * a server that matters. */
static bool is_given_up(const shoal__lane_state_t *state)
{
    return state->has_failed && (!state->may_be_proved || !state->is_owner);
}

static bool is_superfluous(const shoal__lane_state_t *state)
{
    return state->is_empty &&
           (!state->is_owner || state->is_short || state->is_elsewhere ||
            state->idle_us >= SHOAL__LANE_IDLE_US);
}

shoal__lane_deed_t shoal__lane_deed(const shoal__lane_state_t *state)
{
    if (!state->is_open)
        return state->is_wanted && state->may_open && state->is_owner &&
                       !state->is_short
                   ? SHOAL__LANE_OPEN
                   : SHOAL__LANE_REST;
    if (is_given_up(state))
        return SHOAL__LANE_GIVE_UP;
    if (!state->is_ready)
        return SHOAL__LANE_REST;
    if (is_superfluous(state))
        return SHOAL__LANE_CLOSE;
    return state->is_elsewhere ? SHOAL__LANE_RENEW : SHOAL__LANE_REST;
}
