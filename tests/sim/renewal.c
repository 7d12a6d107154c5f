/* SPDX-License-Identifier: MIT */

/* The owner renews a connection.  The successor is greeted at once, or not at all, so that
 * no time passes between two turns in which it is prepared. */

#include "core/pipe/pipe_succession.h"
#include "sim/world.h"
#include <shoal/errors.h>

#define GREETING_STEPS_MAX 200

void sim_renewal_drop(sim_world_t *world)
{
    shoal__pipe_free_greeter(&world->pipe, world->greeter);
    world->greeter = NULL;
    world->successor = NULL;
}

void sim_renewal_want(sim_world_t *world)
{
    if (world->pipe.phase != SHOAL__PIPE_READY)
        return;
    sim_renewal_drop(world);
    world->pipe.renewal.spacing_us = 0; /* a seed is short */
    shoal__renewal_want(&world->pipe.renewal, "renewed, for a test", world->now_us);
}

static void fail(sim_world_t *world)
{
    sim_renewal_drop(world);
    shoal__renewal_failed(&world->pipe.renewal, world->now_us);
}

/* False: the successor is of no use. */
static bool greet(sim_world_t *world)
{
    shoal__pipe_t *greeter = world->greeter;
    sim_link_t *link = world->successor;
    uint64_t wake_us;

    if (shoal__pipe_begin(greeter, world->style, world->now_us) < 0)
        return false;
    for (int step = 0; step < GREETING_STEPS_MAX; step++) {
        shoal__bytes_t out = shoal__pipe_output(greeter, world->now_us, &wake_us);
        size_t bytes =
            out.bytes < sim_link_room(link) ? out.bytes : sim_link_room(link);
        if (bytes > 0) {
            sim_link_accept(link, world, out.data, bytes);
            shoal__pipe_written(greeter, bytes, world->now_us);
        }
        sim_link_serve(link, world, link->accepted_bytes - link->read_bytes);
        bytes = sim_link_readable(link);
        if (bytes == 0)
            continue;
        const char *data = sim_link_data(link);
        sim_link_take(link, bytes);
        if (shoal__pipe_feed(greeter, data, bytes, world->now_us) < 0)
            return false;
        if (greeter->phase == SHOAL__PIPE_READY)
            return true;
    }
    return false;
}

static void begin(sim_world_t *world)
{
    sim_world_note(world, "renew", world->links, 0);
    world->renewed_us = world->now_us;
    if (sim_dice_hits(&world->dice, world->swarm.dial_fail_rate) ||
        world->now_us < world->refused_until_us) {
        fail(world);
        return;
    }
    world->greeter = shoal__pipe_new_greeter(&world->pipe);
    if (!world->greeter) {
        fail(world);
        return;
    }
    world->successor = sim_owner_spare_link(world);
    sim_link_open(world->successor, world);
    if (greet(world))
        shoal__pipe_drain(&world->pipe, world->now_us);
    else
        fail(world);
}

/* All was answered, or the time for it is over; no unit is cut. */
static void check_leaving(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;
    const shoal__request_t *next = shoal__request_ring_at(&pipe->ring, pipe->ring.sent);

    if (world->now_us >= pipe->renewal.end_us)
        return;
    if (shoal__pipe_owes_replies(pipe))
        sim_world_fail(world, "O3: a connection is left with commands unanswered");
    if (pipe->ring.sent != pipe->ring.tail && (next->flags & SHOAL__REQUEST_UNIT) &&
        !(next->flags & SHOAL__REQUEST_UNIT_FIRST))
        sim_world_fail(world, "O8: a connection is left inside a unit");
}

static void succeed(sim_world_t *world)
{
    sim_link_t *former = world->link;
    bool is_loss = shoal__pipe_owes_replies(&world->pipe);
    int rc;

    check_leaving(world);

    sim_world_note(world, "succeed", former->serial, world->successor->serial);
    sim_owner_leaves(world, is_loss ? SHOAL_ECONN : 0);
    rc = shoal__pipe_succeed(&world->pipe, world->greeter, world->now_us);
    sim_oracle_repeats(world, former->serial);
    world->link = world->successor;
    sim_renewal_drop(world);
    sim_owner_has_left(world, former);
    world->opened_us = world->heard_us = world->waits_from_us = world->now_us;
    world->answered_order = 0;
    world->is_written_out = false;
    world->sights.renewals++;
    if (rc < 0)
        sim_owner_lose(world, rc, "no memory");
}

void sim_renewal_turn(sim_world_t *world)
{
    if (world->pipe.phase != SHOAL__PIPE_READY)
        return;
    if (world->successor && world->successor->is_closed)
        fail(world);
    if (shoal__renewal_begins(&world->pipe.renewal, world->now_us))
        begin(world);
    if (shoal__pipe_makes_way(&world->pipe, world->now_us))
        succeed(world);
}
