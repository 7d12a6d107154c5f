/* SPDX-License-Identifier: MIT */

/* One command that ends each connection it travels on: too large for the server, or with a
 * reply that is.  And what must hold then: it does so a few times, no more.  (O9) */

#include "core/blame.h"
#include "sim/world.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define CUTS_MAX 2    /* connections that may end inside one command or its reply */
#define HEAD_BYTES 48 /* of a command: its number is among them */
#define PICKS_MAX 8
#define SHORT_ANSWER 32 /* bytes, kept of an answer that is cut */

typedef enum poison_kind {
    POISON_BYTES,     /* refused while it is read: the server says so, or just closes */
    POISON_REPLY,     /* answered by a close, and with it go the answers before */
    POISON_REPLY_CUT, /* answered in part */
    POISON_REPLY_HUGE, /* with an answer over the client's bound */
    POISON_KINDS
} poison_kind_t;

/* An answer does harm again only if its command may be sent again. */
static uint32_t pick(sim_world_t *world, poison_kind_t kind)
{
    uint32_t id = sim_calls_pick(world);

    for (int tries = 0; tries < PICKS_MAX && id && kind != POISON_BYTES &&
                        !sim_call_is_repeatable(&world->calls[id]);
         tries++)
        id = sim_calls_pick(world);
    return id;
}

void sim_poison_strike(sim_world_t *world)
{
    sim_poison_t *poison = &world->poison;

    if (poison->id && !world->calls[poison->id].is_done)
        return;
    /* Many of them inside their bytes: that is the rarest to happen. */
    poison->kind = (uint8_t)sim_dice_below(&world->dice, 2 + POISON_KINDS);
    if (poison->kind >= POISON_KINDS)
        poison->kind = POISON_BYTES;
    poison->id = pick(world, poison->kind);
    poison->has_words = sim_dice_hits(&world->dice, 512);
    sim_world_note(world, "poison", poison->id, poison->kind);
}

static bool is_poison(const sim_world_t *world, const sim_link_t *link, uint32_t id,
                      poison_kind_t kind)
{
    return id != 0 && world->poison.id == id && world->poison.kind == kind &&
           !link->is_ghost && !link->is_closed && !link->is_mute && !link->is_spoilt;
}

size_t sim_poison_room(const sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;
    const shoal__request_t *next = shoal__request_ring_at(ring, ring->sent);
    const sim_call_t *call = &world->calls[world->poison.id];

    if (world->pipe.phase != SHOAL__PIPE_READY || ring->sent == ring->tail ||
        next->data != call || world->poison.kind != POISON_BYTES || world->is_calm)
        return SIZE_MAX;
    return shoal__request_wire_bytes(next) - world->pipe.part_bytes - 1;
}

static void count(sim_world_t *world)
{
    world->sights.poisoned++;
}

void sim_poison_read(sim_world_t *world, sim_link_t *link)
{
    uint32_t id = world->poison.id;
    char number[SIM_ID_DIGITS + 1], head[HEAD_BYTES + 1] = {0};
    size_t bytes = link->tail_bytes < HEAD_BYTES ? link->tail_bytes : HEAD_BYTES;

    if (bytes == 0 || world->is_calm || !is_poison(world, link, id, POISON_BYTES) ||
        link->read_bytes != link->accepted_bytes)
        return;
    snprintf(number, sizeof number, "%010u", id);
    memcpy(head, link->tail, bytes);
    if (!strstr(head, number))
        return;
    count(world);
    if (world->poison.has_words) {
        /* A client that wrote the rest takes these words for its answer: rightly. */
        sim_call_t *call = &world->calls[id];
        char text[64];

        call->order = ++link->answers;
        snprintf(text, sizeof text, "-ERR Protocol error: %s\r\n", number);
        sim_link_produce(link, text, strlen(text));
        /* An answer that begins before its command is whole: in pieces it tells nothing. */
        link->is_hostile = true;
    }
    link->is_closed = true;
}

/* Instead of its answer, the beginning of one that never ends. */
static void announce(sim_world_t *world, sim_link_t *link, sim_call_t *call)
{
    char text[32];

    link->out_end -= (size_t)(call->answer_end - call->answer_begin);
    link->produced_bytes = call->answer_begin;
    snprintf(text, sizeof text, "$%llu\r\n",
             (unsigned long long)world->config.reply.bytes_max);
    sim_link_produce(link, text, strlen(text));
    call->answer_end = UINT64_MAX;
    link->is_hostile = true;
}

void sim_poison_answered(sim_world_t *world, sim_link_t *link, uint32_t id)
{
    size_t answer =
        (size_t)(world->calls[id].answer_end - world->calls[id].answer_begin);
    size_t unread = link->out_end - link->out_begin;

    if (is_poison(world, link, id, POISON_REPLY)) {
        count(world);
        link->out_end = link->out_begin;
    } else if (is_poison(world, link, id, POISON_REPLY_HUGE) && answer <= unread) {
        count(world);
        announce(world, link, &world->calls[id]);
    } else if (is_poison(world, link, id, POISON_REPLY_CUT) && answer <= unread) {
        count(world);
        link->out_end -= answer - (answer > SHORT_ANSWER ? SHORT_ANSWER : 1);
    } else {
        return;
    }
    link->is_closed = true;
    link->heard_head = link->heard_tail;
}

/* ---- O9 ---- */

static void count_cut(sim_world_t *world, sim_call_t *call, int status)
{
    const sim_link_t *link = world->link;

    if (call->is_done)
        return;
    call->was_huge =
        call->answer_link == link->serial && call->answer_end == UINT64_MAX &&
        link->taken_bytes == link->produced_bytes && status != SHOAL_ENOMEM;
    call->cuts++;
    if (call->cuts > CUTS_MAX)
        sim_oracle_blame(world, call,
                         "O9: the connection was cut %u times inside command %u",
                         call->cuts, sim_call_id(call));
}

/* Where replies are held the decoder knows nothing of them: which one was read in part is
 * seen from outside. */
static void count_held(sim_world_t *world, int status)
{
    const sim_link_t *link = world->link;

    for (uint32_t i = 0; i < world->live_count; i++) {
        sim_call_t *call = &world->calls[world->live[i]];
        if (call->answer_link == link->serial &&
            link->taken_bytes > call->answer_begin &&
            link->taken_bytes < call->answer_end)
            count_cut(world, call, status);
    }
}

void sim_poison_lost(sim_world_t *world, int status)
{
    const shoal__pipe_t *pipe = &world->pipe;
    const shoal__request_ring_t *ring = &pipe->ring;
    sim_call_t *head = shoal__request_ring_at(ring, ring->head)->data;
    sim_call_t *next = shoal__request_ring_at(ring, ring->sent)->data;

    if (!world->link || pipe->phase != SHOAL__PIPE_READY)
        return;
    if (pipe->part_bytes > 0 && next)
        count_cut(world, next, status);
    if (ring->head != ring->sent && head && shoal__decoder_is_mid_reply(pipe->decoder))
        count_cut(world, head, status);
    if (sim_integrity_is_strict(world) && status != SHOAL_ENOMEM &&
        !world->link->is_spoilt)
        count_held(world, status);
}

static bool travels_alone(const sim_world_t *world, const sim_call_t *call)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;
    uint64_t at = ring->sent;

    while (at != ring->tail && shoal__request_ring_at(ring, at)->data != call)
        at++;
    return shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_ALONE;
}

void sim_poison_handed(sim_world_t *world, const sim_call_t *call)
{
    if (call->cuts > 0 && !call->unit_first && !travels_alone(world, call))
        sim_oracle_blame(world, call, "O9: %u was cut, but may have company again",
                         sim_call_id(call));
    if (call->was_huge)
        sim_oracle_blame(world, call,
                         "O9: %u is sent again, but its reply is over a bound",
                         sim_call_id(call));
}

/* One that travels alone is unanswered, or waits until nothing is. */
bool sim_poison_is_waited_for(const sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;

    for (uint64_t at = ring->head; at != ring->sent; at++)
        if (shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_ALONE)
            return true;
    return shoal__pipe_inflight(&world->pipe) > 0 && ring->sent != ring->tail &&
           (shoal__request_ring_at(ring, ring->sent)->flags & SHOAL__REQUEST_ALONE);
}

void sim_poison_check_company(sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;

    for (uint64_t at = ring->head; at != ring->sent; at++)
        if ((shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_ALONE) &&
            shoal__pipe_inflight(&world->pipe) > 1)
            sim_world_fail(world, "O9: a command that shall travel alone has company");
}
