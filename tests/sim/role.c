/* SPDX-License-Identifier: MIT */

/* The oracles of a server that changes its role: the client asks it seldom, and leaves it
 * soon. */

#include "base/time_us.h"
#include "sim/world.h"

#define RENEWAL_SPACING_US 30000000 /* a demoted server is left at least as often */

/* A server that changes its role is asked seldom.  (I13)  The pauses double from 5 .. 10 ms
 * to 125 .. 250 ms. */
void sim_oracle_role(const sim_call_t *call)
{
    uint64_t age_us = call->world->now_us - call->accepted_us;

    /* And once for each loss before the answer was heard. */
    unsigned most = 1 + call->world->config.attempts_max;

    if (call->role_waits > most + age_us / 4000 ||
        call->role_waits > most + 6 + age_us / 125000)
        sim_oracle_blame(call->world, call,
                         "O2: %u asked a server of the wrong role %u times in %llu us",
                         sim_call_id(call), call->role_waits,
                         (unsigned long long)age_us);
}

void sim_oracle_answered(sim_world_t *world, sim_link_t *link, uint32_t id)
{
    bool is_redial = world->now_us >= world->trouble_until_us &&
                     ((link->is_forgotten && world->secret.password) ||
                      (!link->is_forgotten && link->is_demoted &&
                       world->calls[id].command_class != SHOAL__CLASS_RO));

    if (is_redial && link->redial_end < link->taken_bytes) {
        link->redial_end = link->produced_bytes;
        link->redial_id = id;
    }
}

/* A command waits to be sent again, because the server is not the one for it any more: the
 * connection must be renewed. */
void sim_oracle_heard(sim_world_t *world, sim_link_t *link)
{
    bool is_soon_again = world->renewed_us > 0 &&
                         world->now_us - world->renewed_us <= RENEWAL_SPACING_US;

    if (link->redial_id == 0 || link->taken_bytes < link->redial_end ||
        sim_integrity_is_strict(world)) /* it is held, nobody knows for how long */
        return;
    if (!world->calls[link->redial_id].is_done && !is_soon_again && !link->is_spoilt &&
        world->pipe.renewal.state == SHOAL__RENEWAL_NONE)
        sim_world_fail(world, "O5: a demoted server is not to be left");
    link->redial_id = 0;
}
