/* SPDX-License-Identifier: MIT */

/* What a connection's owner does with its pipe: dial, write what may leave, feed what
 * came, tick, and tell it of losses. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "sim/world.h"
#include <shoal/errors.h>
#include <string.h>

#define WRITES_PER_TURN 4

/* ---- what it hears of its pipe ---- */

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    sim_world_t *world = owner;

    world->handed_in_hold = 0;
    world->answers_heard += result->fate == SHOAL_FATE_REPLIED;
    request->on_result(NULL, result, request->data);
}

static void on_push(void *owner, const shoal_reply_t *push)
{
    sim_world_t *world = owner;

    world->pushes_heard++;
    if (shoal_reply_type(push) != SHOAL_REPLY_PUSH)
        sim_world_fail(world, "O1: what is no push is handed out as one");
}

static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    sim_world_t *world = owner;

    if (!sim_call_has_bytes(request->data, bytes, request->bytes))
        sim_world_fail(world, "O6: the log does not begin with %llu",
                       (unsigned long long)request->tag);
    const shoal__refused_t refused = shoal__pipe_refused(pipe);
    shoal__pipe_verdict_t verdict = shoal__pipe_send_again(pipe, &refused, error);
    if (verdict == SHOAL__PIPE_TAKEN)
        sim_oracle_held(world, request->data, error.data);
    return verdict;
}

const shoal__pipe_hooks_t sim_owner_hooks = {
    .on_result = on_result, .on_push = on_push, .on_error = on_error};

/* ---- what it does ---- */

/* A call that may fail for want of memory is over. */
static void restore_memory(sim_world_t *world)
{
    if (!world->is_short_of_memory)
        return;
    world->is_short_of_memory = false;
    shoal__test_fail_alloc_never();
}

/* The command that the connection holds the first bytes of. */
static void note_touched(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;
    sim_call_t *call = shoal__request_ring_at(&pipe->ring, pipe->ring.sent)->data;

    if (pipe->part_bytes > 0 && call)
        call->was_touched = true;
}

static void plan_dial(sim_world_t *world)
{
    world->dial_us =
        world->now_us + sim_dice_scale(&world->dice, world->swarm.dial_us_max);
    world->flush_us = SHOAL__NEVER_US;
}

/* What was accepted and not read: all of it arrives, or some, or nothing. */
static void make_ghost(sim_world_t *world, sim_link_t *link)
{
    uint64_t left = link->accepted_bytes - link->read_bytes;

    if (world->ghost_count == SIM_GHOSTS)
        sim_fault_bury(world);
    link->is_ghost = true;
    if (link->is_closed || sim_dice_hits(&world->dice, 300))
        left = 0;
    else if (sim_dice_hits(&world->dice, 400))
        left = sim_dice_below(&world->dice, (uint32_t)left + 1);
    link->accepted_bytes = link->read_bytes + left;
    world->ghosts[world->ghost_count++] = link;
}

void sim_owner_leaves(sim_world_t *world, int status)
{
    if (status < 0) {
        note_touched(world);
        sim_poison_lost(world, status);
    }
    world->lost_status = status;
    world->is_unclear = true; /* a callback may cancel what was to be sent again */
}

void sim_owner_has_left(sim_world_t *world, sim_link_t *link)
{
    world->handed_in_hold = 0;
    world->lost_status = 0;
    world->is_unclear = false;
    restore_memory(world);
    if (link)
        make_ghost(world, link);
}

void sim_owner_lose(sim_world_t *world, int status, const char *detail)
{
    sim_link_t *link = world->link;

    sim_world_note(world, "lose", (uint64_t)-status, link ? link->serial : 0);
    sim_renewal_drop(world);
    sim_oracle_lost(world, status, detail);
    sim_sights_note_loss(world, status, detail);
    if (sim_dice_hits(&world->dice, 512))
        restore_memory(world);
    world->was_lost = true;
    sim_owner_leaves(world, status);
    shoal__pipe_lost(&world->pipe, status, detail, world->now_us);
    if (link)
        sim_oracle_repeats(world, link->serial);
    world->link = NULL;
    world->style = SHOAL__GREETING_FULL;
    sim_owner_has_left(world, link);
    plan_dial(world);
}

sim_link_t *sim_owner_spare_link(sim_world_t *world)
{
    for (unsigned i = 0; i < SIM_LINKS; i++) {
        bool is_used =
            &world->memory[i] == world->link || &world->memory[i] == world->successor;
        for (unsigned j = 0; j < world->ghost_count; j++)
            is_used |= &world->memory[i] == world->ghosts[j];
        if (!is_used)
            return &world->memory[i];
    }
    sim_fault_bury(world);
    return sim_owner_spare_link(world);
}

static void dial(sim_world_t *world)
{
    if (sim_dice_hits(&world->dice, world->swarm.dial_fail_rate) ||
        world->now_us < world->refused_until_us) {
        sim_owner_lose(world, SHOAL_ECONN, "connection refused");
        return;
    }
    if (sim_dice_hits(&world->dice, world->swarm.bare_rate))
        world->style = SHOAL__GREETING_BARE;

    sim_link_t *link = sim_owner_spare_link(world);
    sim_link_open(link, world);
    world->link = link;
    world->opened_us = world->heard_us = world->waits_from_us = world->now_us;
    world->answered_order = 0;
    sim_world_note(world, "dial", link->serial, (uint64_t)world->style);
    int rc = shoal__pipe_begin(&world->pipe, world->style, world->now_us);
    if (rc < 0)
        sim_owner_lose(world, rc, "no memory");
}

/* The next batch goes on with a unit, which nothing may part. */
static bool is_inside_unit(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    const shoal__request_t *next = shoal__request_ring_at(ring, ring->sent);

    return ring->sent != ring->tail && (next->flags & SHOAL__REQUEST_UNIT) &&
           !(next->flags & SHOAL__REQUEST_UNIT_FIRST);
}

/* What may leave at once.  Returns the bytes of all parts. */
static size_t gather(sim_world_t *world, shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX])
{
    size_t count, bytes = 0;

    parts[0] = shoal__pipe_output(&world->pipe, world->now_us, &world->flush_us);
    count = parts[0].bytes > 0 ? shoal__pipe_gather(&world->pipe, parts) : 0;
    for (size_t i = 0; i < count; i++)
        bytes += parts[i].bytes;
    return bytes;
}

/* The link takes the first `bytes` of the parts. */
static void take_written(sim_world_t *world, const shoal__bytes_t *parts, size_t bytes)
{
    for (; bytes > 0; parts++) {
        size_t taken = bytes < parts->bytes ? bytes : parts->bytes;
        sim_link_accept(world->link, world, parts->data, taken);
        bytes -= taken;
    }
}

void sim_owner_write(sim_world_t *world)
{
    shoal__pipe_t *pipe = &world->pipe;
    sim_dice_t *dice = &world->dice;

    world->is_fresh_batch = pipe->authorised_bytes == 0 && !is_inside_unit(pipe);
    for (int i = 0; i < WRITES_PER_TURN && world->link; i++) {
        shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX];
        size_t ready_bytes = gather(world, parts);
        size_t room = sim_link_room(world->link);
        size_t bytes = ready_bytes < room ? ready_bytes : room;
        size_t narrow = sim_poison_room(world);

        if (bytes > narrow)
            bytes = narrow;

        world->is_written_out = ready_bytes == 0;
        if (ready_bytes > 0 && world->flush_us != SHOAL__NEVER_US)
            sim_world_fail(world, "O5: bytes may leave and shall wait");
        if (world->flush_us <= world->now_us)
            sim_world_fail(world, "O5: the flush policy asks for the past");
        if (bytes > 0 && sim_dice_hits(dice, world->swarm.partial_rate))
            bytes = (size_t)sim_dice_scale(dice, bytes);
        if (ready_bytes == 0 && i > 0)
            sim_integrity_written(world, world->link);
        if (bytes == 0)
            return;
        if (world->link->is_deaf) {
            sim_owner_lose(world, SHOAL_ECONN, "write: broken pipe");
            return;
        }
        bool was_quiet = shoal__request_ring_inflight(&pipe->ring) == 0;
        take_written(world, parts, bytes);
        shoal__pipe_written(pipe, bytes, world->now_us);
        if (was_quiet)
            world->waits_from_us = world->now_us;
        sim_world_note(world, "write", bytes, ready_bytes);
    }
}

/* Poll reports what is there to be read before the turn looks at the time. */
static void read_at_last(sim_world_t *world)
{
    const sim_link_t *link = world->link;

    if (link && sim_link_readable(link) > 0 && world->pipe.phase == SHOAL__PIPE_READY &&
        world->now_us - world->heard_us >= world->config.stall_us)
        sim_owner_read(world);
}

void sim_owner_turn(sim_world_t *world)
{
    read_at_last(world);
    sim_callers_take_over(world);
    world->has_submitted = false;
    if (!world->link && world->now_us >= world->dial_us && !world->is_closing)
        dial(world);
    bool was_warm = world->pipe.is_warm;
    int rc = shoal__pipe_tick(&world->pipe, world->now_us);
    world->sights.rests += was_warm && !world->pipe.is_warm;
    if (rc < 0)
        sim_owner_lose(world, world->pipe.fault, world->pipe.detail);
    else if (world->link && world->pipe.phase == SHOAL__PIPE_GREETING &&
             world->now_us - world->opened_us >= world->swarm.handshake_us)
        sim_owner_lose(world, SHOAL_ECONN, "the greeting took too long");
    sim_renewal_turn(world);
    sim_owner_write(world);
    restore_memory(world);
}

void sim_owner_read(sim_world_t *world)
{
    sim_link_t *link = world->link;

    if (!link || (link->drip_us > 0 && world->now_us < link->drip_next_us))
        return;
    size_t bytes = sim_link_readable(link);
    if (bytes == 0) {
        if (link->is_closed)
            sim_owner_lose(world, SHOAL_ECONN, "the server closed the connection");
        return;
    }
    if (sim_dice_hits(&world->dice, world->swarm.partial_rate))
        bytes = (size_t)sim_dice_scale(&world->dice, bytes);
    if (link->drip_us > 0) {
        bytes = 1;
        link->drip_next_us = world->now_us + link->drip_us;
    }
    sim_world_note(world, "read", bytes, 0);
    world->heard_us = world->now_us;

    /* The bytes leave the link first: the callbacks may look at it. */
    const char *data = sim_link_data(link);
    sim_link_take(link, bytes);
    world->is_unclear = true;
    int rc = shoal__pipe_feed(&world->pipe, data, bytes, world->now_us);
    world->is_unclear = false;
    restore_memory(world);
    if (world->pipe.phase == SHOAL__PIPE_READY)
        world->was_lost = false;
    if (rc == 0)
        sim_oracle_heard(world, link);
    if (rc < 0)
        sim_owner_lose(world, rc, world->pipe.detail);
    else
        sim_integrity_heard(world, link);
}

uint64_t sim_owner_wake_us(const sim_world_t *world)
{
    uint64_t wake_us = shoal__pipe_next_wake_us(&world->pipe);

    wake_us = shoal__time_min(wake_us, world->flush_us);
    if (!world->link)
        return shoal__time_min(wake_us, world->dial_us);
    if (world->pipe.phase == SHOAL__PIPE_GREETING)
        wake_us =
            shoal__time_min(wake_us, world->opened_us + world->swarm.handshake_us);
    return wake_us;
}
