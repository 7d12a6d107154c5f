/* SPDX-License-Identifier: MIT */

/* The client: two connections, a map of slots, and the hand-overs between them. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "sim/pair/pair_world.h"
#include <shoal/errors.h>
#include <stdlib.h>
#include <string.h>

/* ---- the map ---- */

shoal__pipe_t *pair_client_pipe(pair_world_t *world, unsigned slot)
{
    return world->pen[slot] ? world->pen[slot] : &world->sides[world->map[slot]].pipe;
}

bool pair_client_picks(void *owner, const shoal__pipe_t *pen,
                       const shoal__request_t *request, const char *bytes)
{
    const pair_world_t *world = owner;
    const pair_call_t *call = request->data;

    /* The first of ASK's two belongs to the second. */
    if (!call)
        return false;
    if (!pair_has_bytes(call, bytes, request->bytes))
        pair_world_fail(call->world, "O6: the bytes of %u are others",
                        pair_id_of(call));
    return world->pen[pair_slot_of(call)] == pen;
}

static void end_handovers(pair_world_t *world)
{
    for (unsigned i = 0; i < PAIR; i++) {
        shoal__handover_t *handover = &world->sides[i].handover;
        uint64_t before = shoal__pipe_queued(handover->to);
        shoal__pipe_t *pen;

        while ((pen = shoal__handover_step(handover, world->now_us)) != NULL) {
            world->sights.spliced++;
            world->sights.penned += shoal__pipe_queued(handover->to) - before;
            before = shoal__pipe_queued(handover->to);
            for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
                if (world->pen[slot] == pen)
                    world->pen[slot] = NULL;
            pair_world_note(world, "spliced", i, shoal__pipe_queued(handover->to));
        }
    }
}

void pair_client_flip(pair_world_t *world, uint32_t slots)
{
    for (unsigned from = 0; from < PAIR; from++) {
        shoal__handover_t *handover = &world->sides[from].handover;
        shoal__pipe_t *pen = shoal__handover_pen(handover);
        uint32_t chosen = 0;

        for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
            if ((slots >> slot & 1) && world->map[slot] == from && !world->pen[slot])
                chosen |= UINT32_C(1) << slot;
        for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
            if (chosen >> slot & 1)
                world->pen[slot] = pen;
        slots &= ~chosen;
        if (chosen == 0)
            continue;
        unsigned in_use = handover->count;
        int rc = shoal__handover_begin(handover, world->now_us);
        if (rc < 0) {
            world->sights.not_begun++;
            if (rc != SHOAL_EAGAIN && !world->is_short_of_memory)
                pair_world_fail(world, "O6: a hand-over does not begin");
            for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
                if (chosen >> slot & 1)
                    world->pen[slot] = NULL;
            continue;
        }
        if (world->sides[from].pipe.phase != SHOAL__PIPE_READY &&
            !world->rates.is_lanes)
            shoal__handover_lost(handover, false);
        world->sights.begun++;
        world->sights.shared += in_use == SHOAL__HANDOVER_PENS;
        for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
            if (chosen >> slot & 1) {
                world->map[slot] = 1 - from;
                world->is_told[slot] = false;
            }
        pair_world_note(world, "begun", from, chosen);
    }
    end_handovers(world);
}

/* Redirects were read: the map follows. */
static void heed_redirects(pair_world_t *world)
{
    uint32_t slots = 0;

    for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
        if (world->is_told[slot])
            slots |= UINT32_C(1) << slot;
    end_handovers(world);
    if (slots)
        pair_client_flip(world, slots);
}

/* ---- what it hears ---- */

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    pair_side_t *side = owner;

    side->world->completed++;
    pair_callers_heard(side->world, request->data, result);
}

/* All parts of a unit may go again. */
static void note_held(pair_world_t *world, const shoal__refused_t *refused,
                      unsigned side)
{
    for (uint64_t i = 0; i < refused->count; i++) {
        pair_call_t *call =
            shoal__request_ring_at(refused->ring, refused->first + i)->data;
        pair_place_refusal_heard(world, call, side);
        call->held++;
    }
}

static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    const shoal__refused_t refused = shoal__pipe_refused(pipe);
    const shoal__bytes_t ask_first = {asking, sizeof asking - 1}, nothing = {NULL, 0};
    pair_side_t *side = owner;
    pair_world_t *world = side->world;
    shoal__pipe_t *to = &world->sides[1 - side->index].pipe;
    pair_call_t *call = request->data;
    bool is_ask = error.data[0] == 'A';

    if (!pair_has_bytes(call, bytes, request->bytes))
        pair_world_fail(world, "O6: these are not the bytes of %u", pair_id_of(call));
    if (error.data[0] == 'L' || error.data[0] == 'T') {
        shoal__pipe_verdict_t verdict = shoal__pipe_send_again(pipe, &refused, error);
        if (verdict == SHOAL__PIPE_TAKEN)
            note_held(world, &refused, side->index);
        return verdict;
    }
    if (error.data[0] != 'M' && !is_ask)
        return SHOAL__PIPE_SURFACE;
    unsigned slot = pair_slot_of(call);
    if (!is_ask && world->map[slot] == side->index)
        world->is_told[slot] = true;
    world->sights.redirected += !is_ask;
    world->sights.asked += is_ask;
    world->sights.units += refused.count > 1;
    return shoal__handover_redirect(to, &refused, is_ask ? ask_first : nothing,
                                    world->now_us);
}

const shoal__pipe_hooks_t pair_client_hooks = {.on_result = on_result,
                                               .on_error = on_error};

/* ---- connections ---- */

static void restore_memory(pair_world_t *world)
{
    if (world->is_short_of_memory)
        shoal__test_fail_alloc_never();
    world->is_short_of_memory = false;
}

/* What was accepted and not read: some of it arrives. */
static void make_ghost(pair_world_t *world, pair_side_t *side)
{
    pair_link_t *link = &side->link, *ghost = &side->ghosts[0];

    for (unsigned i = 0; i < PAIR_GHOSTS && ghost->in_bytes > 0; i++)
        ghost = &side->ghosts[i];
    pair_link_serve(world, side, ghost, ghost->in_bytes);
    pair_link_t spare = *ghost;
    link->is_up = false;
    if (link->is_closed)
        link->in_bytes = link->read_bytes;
    else
        link->in_bytes =
            link->read_bytes +
            sim_dice_below(&world->dice,
                           (uint32_t)(link->in_bytes - link->read_bytes) + 1);
    *ghost = *link;
    spare.in_bytes = spare.out_bytes = spare.read_bytes = spare.parsed_bytes = 0;
    *link = spare;
    world->sights.ghosts++;
}

void pair_client_lose(pair_world_t *world, pair_side_t *side, int status)
{
    pair_world_note(world, "lose", side->index, (uint64_t)-status);
    world->sights.losses++;
    world->sights.losses_meanwhile += side->handover.count > 0;
    shoal__pipe_lost(&side->pipe, status, "cut", world->now_us);
    restore_memory(world);
    if (!world->rates.is_lanes)
        pair_place_lost(world, side->index);
    shoal__handover_lost(&side->handover, world->rates.is_lanes);
    heed_redirects(world);
    if (side->link.is_up)
        make_ghost(world, side);
    side->dial_us = world->now_us +
                    sim_dice_below(&world->dice, (uint32_t)world->rates.dial_us_max);
    side->flush_us = SHOAL__NEVER_US;
}

static void dial(pair_world_t *world, pair_side_t *side)
{
    pair_link_t *link = &side->link;

    /* As the greeting does: the former connections end. */
    for (unsigned i = 0; i < PAIR_GHOSTS && world->rates.is_lanes; i++)
        side->ghosts[i].in_bytes = side->ghosts[i].read_bytes = 0;
    if (world->rates.is_lanes)
        pair_place_lost(world, side->index);
    link->is_up = true;
    link->is_closed = link->is_asking = false;
    link->unit_first = 0;
    link->in_window = world->rates.window;
    pair_world_note(world, "dial", side->index, 0);
    int rc = shoal__pipe_begin(&side->pipe, SHOAL__GREETING_BARE, world->now_us);
    if (rc < 0)
        pair_client_lose(world, side, rc);
}

/* The link takes the first `bytes` of the parts. */
static void take_written(pair_world_t *world, pair_side_t *side,
                         const shoal__bytes_t *parts, size_t bytes)
{
    for (size_t left = bytes; left > 0; parts++) {
        size_t taken = left < parts->bytes ? left : parts->bytes;
        pair_link_accept(world, side, parts->data, taken);
        left -= taken;
    }
    shoal__pipe_written(&side->pipe, bytes, world->now_us);
    pair_world_note(world, "write", side->index, bytes);
}

void pair_client_write(pair_world_t *world, pair_side_t *side)
{
    pair_link_t *link = &side->link;

    for (int i = 0; i < 4 && link->is_up; i++) {
        shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX];
        size_t ready_bytes = 0;
        parts[0] = shoal__pipe_output(&side->pipe, world->now_us, &side->flush_us);
        size_t count = parts[0].bytes ? shoal__pipe_gather(&side->pipe, parts) : 0;
        for (size_t j = 0; j < count; j++)
            ready_bytes += parts[j].bytes;
        size_t unread = link->in_bytes - link->read_bytes;
        size_t bytes = unread < link->in_window ? link->in_window - unread : 0;

        if (ready_bytes < bytes)
            bytes = ready_bytes;
        if (bytes > 0 && sim_dice_hits(&world->dice, world->rates.partial))
            bytes = (size_t)sim_dice_scale(&world->dice, bytes);
        if (bytes == 0)
            return;
        take_written(world, side, parts, bytes);
    }
}

void pair_client_read(pair_world_t *world, pair_side_t *side)
{
    pair_link_t *link = &side->link;
    char data[4096];
    size_t bytes = link->out_bytes < sizeof data ? link->out_bytes : sizeof data;

    if (!link->is_up)
        return;
    if (bytes == 0) {
        if (link->is_closed)
            pair_client_lose(world, side, SHOAL_ECONN);
        return;
    }
    if (sim_dice_hits(&world->dice, world->rates.partial))
        bytes = (size_t)sim_dice_scale(&world->dice, bytes);
    memcpy(data, link->out, bytes);
    memmove(link->out, link->out + bytes, link->out_bytes - bytes);
    link->out_bytes -= bytes;
    pair_world_note(world, "read", side->index, bytes);
    int rc = shoal__pipe_feed(&side->pipe, data, bytes, world->now_us);
    bool was_short = world->is_short_of_memory;
    if (sim_dice_hits(&world->dice, 512))
        restore_memory(world);
    if (rc < 0 && !was_short)
        pair_world_fail(world, "O1: what a healthy server said is refused: %s",
                        side->pipe.detail);
    if (rc < 0)
        pair_client_lose(world, side, rc);
    else
        heed_redirects(world);
    restore_memory(world);
}

void pair_client_turn(pair_world_t *world)
{
    for (unsigned i = 0; i < PAIR; i++) {
        pair_side_t *side = &world->sides[i];

        if (!side->link.is_up && world->now_us >= side->dial_us)
            dial(world, side);
        bool was_short = world->is_short_of_memory || side->pipe.is_torn;
        shoal__handover_tick(&side->handover, world->now_us);
        int rc = shoal__pipe_tick(&side->pipe, world->now_us);
        if (rc < 0 && !was_short)
            pair_world_fail(world, "O5: a healthy server is given up: %s",
                            side->pipe.detail);
        if (rc < 0)
            pair_client_lose(world, side, rc);
    }
    heed_redirects(world);
    for (unsigned i = 0; i < PAIR; i++)
        pair_client_write(world, &world->sides[i]);
    restore_memory(world);
}

uint64_t pair_client_wake_us(const pair_world_t *world)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    for (unsigned i = 0; i < PAIR; i++) {
        const pair_side_t *side = &world->sides[i];

        wake_us = shoal__time_min(wake_us, shoal__pipe_next_wake_us(&side->pipe));
        wake_us =
            shoal__time_min(wake_us, shoal__handover_next_wake_us(&side->handover));
        wake_us = shoal__time_min(wake_us, side->flush_us);
        if (!side->link.is_up)
            wake_us = shoal__time_min(wake_us, side->dial_us);
    }
    return wake_us;
}
