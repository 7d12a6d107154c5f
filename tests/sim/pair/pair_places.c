/* SPDX-License-Identifier: MIT */

/* O9: in which order commands run, and which of them may pass others. */

#include "sim/pair/pair_world.h"
#include <stdlib.h>

/* `by` may run before the call that has this in its list. */
struct pair_pass {
    uint32_t by; /* 0: nobody any more */
    uint32_t next;
};

static bool may_pass(const pair_world_t *world, const pair_call_t *call, uint32_t by)
{
    for (uint32_t at = call->passes; at; at = world->passes[at].next)
        if (world->passes[at].by == by)
            return true;
    return call->unit_first && call->is_refused;
}

static void let_pass(pair_world_t *world, pair_call_t *call, const pair_call_t *by)
{
    if (by <= call || by->thread != call->thread ||
        pair_slot_of(by) != pair_slot_of(call))
        return;
    if (++world->pass_count >= world->pass_capacity) {
        world->pass_capacity = 2 * world->pass_capacity + 64;
        world->passes =
            realloc(world->passes, world->pass_capacity * sizeof *world->passes);
        if (!world->passes)
            abort();
    }
    world->passes[world->pass_count] =
        (pair_pass_t){.by = pair_id_of(by), .next = call->passes};
    call->passes = world->pass_count;
}

/* Of those that have not run, these may not pass any more: their places, which are not 0,
 * are behind that of the call. */
static void keep_back(pair_world_t *world, const pair_call_t *call, uint64_t place)
{
    for (uint32_t at = call->passes; at; at = world->passes[at].next) {
        const pair_call_t *by = &world->calls[world->passes[at].by];
        if (by->place > place && !by->has_run)
            world->passes[at].by = 0;
    }
}

void pair_place_ran(pair_world_t *world, pair_call_t *call, unsigned side)
{
    uint32_t id = pair_id_of(call);
    uint32_t *last = &world->ran_for_slot[call->thread][pair_slot_of(call)];

    for (uint32_t at = id + 1; at <= *last; at++) {
        const pair_call_t *by = &world->calls[at];
        bool is_same = world->rates.has_ask ? by->key == call->key
                                            : pair_slot_of(by) == pair_slot_of(call);

        if (by->has_run && by->thread == call->thread && is_same &&
            !may_pass(world, call, at))
            pair_world_fail(world,
                            "O9: %u of thread %u runs behind %u, for the same %s", id,
                            call->thread, at, by->key == call->key ? "key" : "slot");
    }
    call->has_run = true;
    call->side = (uint8_t)side;
    *last = id > *last ? id : *last;
}

void pair_place_refused(pair_call_t *call, unsigned side)
{
    call->is_unheard = true;
    call->side = (uint8_t)side;
}

/* What is in flight behind it may have run, or be redirected.  What was refused before it
 * stays before it. */
void pair_place_refusal_heard(pair_world_t *world, pair_call_t *call, unsigned side)
{
    const shoal__pipe_t *pipe = &world->sides[side].pipe;
    uint64_t end = shoal__pipe_watermark(pipe);

    call->is_unheard = false;
    for (uint64_t at = pipe->ring.head; at != end; at++) {
        const pair_call_t *by = shoal__request_ring_at(&pipe->ring, at)->data;
        if (by)
            let_pass(world, call, by);
    }
    call->place = 1;
    for (uint64_t at = pipe->pen ? pipe->pen->ring.head : 0;
         pipe->pen && at != pipe->pen->ring.tail; at++) {
        const pair_call_t *held = shoal__request_ring_at(&pipe->pen->ring, at)->data;
        if (held && held != call)
            keep_back(world, held, 0);
    }
    call->place = 0;
}

/* What is sent again goes in the order in which it stands in the pipe. */
static void follow_pipe(pair_world_t *world, const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;

    for (uint64_t at = ring->head; at != ring->tail; at++) {
        pair_call_t *call = shoal__request_ring_at(ring, at)->data;
        if (call)
            call->place = at + 1;
    }
    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const pair_call_t *call = shoal__request_ring_at(ring, at)->data;
        if (call)
            keep_back(world, call, at + 1);
    }
    for (uint64_t at = ring->head; at != ring->tail; at++) {
        pair_call_t *call = shoal__request_ring_at(ring, at)->data;
        if (call)
            call->place = 0;
    }
}

void pair_place_lost(pair_world_t *world, unsigned side)
{
    for (uint32_t i = 0; i < world->live_count; i++) {
        pair_call_t *call = &world->calls[world->live[i]];
        uint32_t last = world->ran_for_slot[call->thread][pair_slot_of(call)];

        if (!call->is_unheard || call->side != side)
            continue;
        call->is_unheard = false;
        for (uint32_t at = world->live[i] + 1; at <= last; at++)
            if (world->calls[at].has_run && world->calls[at].side == side)
                let_pass(world, call, &world->calls[at]);
    }
    follow_pipe(world, &world->sides[side].pipe);
}
