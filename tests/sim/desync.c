/* SPDX-License-Identifier: MIT */

/* A server, or a proxy before it, that answers once too often, not at all, or out of
 * turn: each frame is well formed, but belongs to another command. */

#include "sim/world.h"
#include <stdlib.h>
#include <string.h>

enum desync {
    DESYNC_NONE,
    DESYNC_DROP,
    DESYNC_REPEAT,
    DESYNC_ADD,
    DESYNC_FORGE, /* it repeats an argument with line ends in an error */
    DESYNC_SWAP,
    DESYNC_HELD, /* the first of the two is kept back */
    DESYNC_COUNT
};

void sim_desync_strike(sim_world_t *world, sim_link_t *link)
{
    /* Two replies of one batch in each other's place look like any two: no fence tells. */
    uint32_t kinds = world->config.greeting.integrity == SHOAL_INTEGRITY_SHAPES
                         ? DESYNC_SWAP
                         : DESYNC_FORGE;

    if (link->desync == DESYNC_NONE && !link->is_spoilt)
        link->desync = (uint8_t)(1 + sim_dice_below(&world->dice, kinds));
}

/* From now on replies are not those of their commands, and what follows from that is not
 * the client's fault. */
static void taint(sim_world_t *world, sim_link_t *link)
{
    link->is_spoilt = link->is_hostile = true;
    world->sights.spoilt_links++;
    if (sim_integrity_is_strict(world))
        return;
    for (uint32_t i = 0; i < world->live_count; i++)
        world->calls[world->live[i]].is_tainted = true;
}

static void hold(sim_link_t *link, uint64_t begin)
{
    link->held_bytes = (size_t)(link->produced_bytes - begin);
    if (link->held_capacity < link->held_bytes) {
        link->held = realloc(link->held, link->held_bytes);
        if (!link->held)
            abort();
        link->held_capacity = link->held_bytes;
    }
    memcpy(link->held, link->out + link->out_end - link->held_bytes, link->held_bytes);
}

static void take_back(sim_link_t *link, uint64_t begin)
{
    link->out_end -= (size_t)(link->produced_bytes - begin);
    link->produced_bytes = begin;
}

static void spoil(sim_world_t *world, sim_link_t *link, uint64_t begin)
{
    static const char extra[] = "$2\r\nOK\r\n";
    static const char forged[] = "-ERR no \r\n$6\r\nforged\r\n$0\r\n\r\n";
    enum desync what = (enum desync)link->desync;

    if (what == DESYNC_NONE || link->is_closed || link->is_mute)
        return;
    if (what != DESYNC_HELD)
        taint(world, link);
    link->desync = what == DESYNC_SWAP ? DESYNC_HELD : DESYNC_NONE;
    sim_world_note(world, "spoil", (uint64_t)what, 0);
    if (what == DESYNC_REPEAT || what == DESYNC_SWAP)
        hold(link, begin);
    if (what == DESYNC_DROP || what == DESYNC_FORGE || what == DESYNC_SWAP)
        take_back(link, begin);
    if (what == DESYNC_REPEAT || what == DESYNC_HELD)
        sim_link_produce(link, link->held, link->held_bytes);
    if (what == DESYNC_ADD)
        sim_link_produce(link, extra, sizeof extra - 1);
    if (what == DESYNC_FORGE)
        sim_link_produce(link, forged, sizeof forged - 1);
}

void sim_desync_answered(sim_world_t *world, sim_link_t *link, uint64_t begin,
                         bool is_fence)
{
    bool was_spoilt = link->is_spoilt; /* before this answer */

    spoil(world, link, begin);
    sim_integrity_answered(world, link, is_fence, was_spoilt);
}
