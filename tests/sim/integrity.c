/* SPDX-License-Identifier: MIT */

/* What the client owes when the server spoils its answers: in STRICT no wrong value ever,
 * in DETECT the end of the connection at the first fence whose answer was reached, and a
 * fence within 100 ms of activity. */

#include "base/time_us.h"
#include "sim/world.h"

#define FENCE_EVERY_US 100000

bool sim_integrity_is_strict(const sim_world_t *world)
{
    return world->config.greeting.integrity == SHOAL_INTEGRITY_STRICT;
}

/* A caller's command was handed over. */
void sim_integrity_handed(sim_world_t *world, sim_link_t *link)
{
    if (link->fence_us == SHOAL__NEVER_US)
        link->fence_us = world->now_us;
    link->handed_us = world->now_us;
}

/* So was a fence. */
void sim_integrity_fenced(sim_world_t *world, sim_link_t *link)
{
    link->fence_us = world->now_us;
    link->fences_heard++;
}

/* Nothing more may leave: has a fence gone with it, if one was due and none was awaited? */
void sim_integrity_written(sim_world_t *world, const sim_link_t *link)
{
    /* Where answers are shifted the client waits for one that it has read. */
    bool is_awaited = link->is_spoilt || link->fences_heard != link->fences_answered ||
                      link->fence_end > link->taken_bytes;

    if (world->config.greeting.integrity != SHOAL_INTEGRITY_DETECT || is_awaited ||
        !link->is_echoing || !world->is_fresh_batch || world->is_short_of_memory ||
        link->fence_us == SHOAL__NEVER_US || link->handed_us != world->now_us)
        return;
    if (world->now_us - link->fence_us > FENCE_EVERY_US)
        sim_world_fail(world, "O1: there was no fence for %llu us of activity",
                       (unsigned long long)(world->now_us - link->fence_us));
}

/* An answer was produced.  Behind the spoilt one, the first fence is out of place; its slot
 * is filled at the latest by the answer that follows it. */
void sim_integrity_answered(sim_world_t *world, sim_link_t *link, bool is_fence,
                            bool was_spoilt)
{
    if (is_fence) {
        link->fences_answered++;
        link->fence_end = link->produced_bytes;
    }
    if (!link->is_spoilt || link->doom_end != SHOAL__NEVER_US)
        return;
    link->was_troubled |= link->is_forgotten || world->now_us < world->trouble_until_us;
    if (!was_spoilt) /* this is the spoilt one, and may be an error that is repeated */
        return;
    if (link->has_fence_behind && !link->was_troubled)
        link->doom_end = link->produced_bytes;
    link->has_fence_behind |= is_fence;
}

/* The client has read, and goes on. */
void sim_integrity_heard(sim_world_t *world, const sim_link_t *link)
{
    if (world->config.greeting.integrity != SHOAL_INTEGRITY_SHAPES &&
        world->link == link && link->taken_bytes >= link->doom_end)
        sim_world_fail(world, "O1: the answer to a fence was wrong, but is taken");
}
