/* SPDX-License-Identifier: MIT */

/* The network: a dialer and streams instead of the library's own, and the clock. */

#include "base/time_us.h"
#include "net/clock.h"
#include "net/dialer.h"
#include "net/entropy.h"
#include "sim/cluster/cluster_world.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one that the client is in: its functions get no world. */
static cluster_world_t *here;
static sim_dice_t entropy_dice;

void cluster_net_enter(cluster_world_t *world)
{
    here = world;
    if (world)
        entropy_dice = sim_dice_of_step(world->seed, UINT64_MAX);
}

/* ---- instead of the system ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);
int __real_clock_gettime(clockid_t clock, struct timespec *ret_now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    if (!here)
        return __real_clock_gettime(clock, ret_now);
    ret_now->tv_sec = (time_t)(here->now_us / 1000000);
    ret_now->tv_nsec = (long)(here->now_us % 1000000 * 1000);
    return 0;
}

void shoal__entropy_fill(void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = (unsigned char)sim_dice_next(&entropy_dice);
}

/* ---- streams ---- */

static bool is_reachable(const cluster_world_t *world, unsigned node)
{
    return node < CLUSTER_NODES && !world->nodes[node].is_cut;
}

/* A question that is cut in two is not seen. */
static void look_for_view(cluster_world_t *world, shoal__bytes_t bytes)
{
    static const char question[] = "$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";

    if (memmem(bytes.data, bytes.bytes, question, sizeof question - 1))
        cluster_oracle_view(world);
}

static ptrdiff_t write_parts(shoal__stream_t *stream, const shoal__bytes_t *parts,
                             size_t count, size_t *ret_kept)
{
    cluster_link_t *link = (cluster_link_t *)stream;
    cluster_world_t *world = link->world;
    size_t room =
        link->in_bytes < world->rates.window ? world->rates.window - link->in_bytes : 0;
    size_t taken = 0;

    *ret_kept = 0;
    if (!link->is_alive && is_reachable(world, link->node))
        return -EPIPE;
    if (room > 0 && sim_dice_hits(&world->dice, world->rates.partial))
        room = (size_t)sim_dice_scale(&world->dice, room);
    for (size_t i = 0; i < count && taken < room; i++) {
        size_t bytes = parts[i].bytes < room - taken ? parts[i].bytes : room - taken;
        if (link->in_bytes + bytes > link->in_capacity) {
            link->in_capacity = 2 * (link->in_bytes + bytes);
            link->in = realloc(link->in, link->in_capacity);
            if (!link->in)
                abort();
        }
        memcpy(link->in + link->in_bytes, parts[i].data, bytes);
        look_for_view(world, (shoal__bytes_t){parts[i].data, bytes});
        link->in_bytes += bytes;
        taken += bytes;
    }
    cluster_world_note(world, "write", link->node, taken);
    return taken > 0 ? (ptrdiff_t)taken : -EAGAIN;
}

static ptrdiff_t read_some(shoal__stream_t *stream, char *room, size_t bytes,
                           bool *ret_is_dry)
{
    cluster_link_t *link = (cluster_link_t *)stream;
    cluster_world_t *world = link->world;

    *ret_is_dry = true;
    if (!is_reachable(world, link->node))
        return -EAGAIN;
    if (link->out_bytes == 0)
        return link->is_alive ? -EAGAIN : 0;
    if (bytes > link->out_bytes)
        bytes = link->out_bytes;
    if (sim_dice_hits(&world->dice, world->rates.partial))
        bytes = (size_t)sim_dice_scale(&world->dice, bytes);
    memcpy(room, link->out, bytes);
    memmove(link->out, link->out + bytes, link->out_bytes - bytes);
    link->out_bytes -= bytes;
    cluster_world_note(world, "read", link->node, bytes);
    return (ptrdiff_t)bytes;
}

static void want_write(shoal__stream_t *stream)
{
    ((cluster_link_t *)stream)->wants_out = true;
}

static const char *error_text(const shoal__stream_t *stream, int error)
{
    (void)stream;
    return error == SHOAL_ETIMEOUT ? "timed out" : "broken";
}

static void close_stream(shoal__stream_t *stream, bool is_orderly)
{
    cluster_link_t *link = (cluster_link_t *)stream;

    (void)is_orderly;
    link->is_open = link->wants_out = false;
    link->out_bytes = 0;
    /* What is under way to the node arrives, or a part of it; then it is a ghost. */
    if (link->is_alive)
        link->in_bytes =
            sim_dice_below(&link->world->dice, (uint32_t)link->in_bytes + 1);
    link->world->sights.ghosts += link->is_alive && link->in_bytes > 0;
}

static void forget_stream(shoal__stream_t *stream)
{
    close_stream(stream, false);
}

/* The dialer below opens them. */
static const shoal__stream_kind_t kind = {.write = write_parts,
                                          .read = read_some,
                                          .want_write = want_write,
                                          .error_text = error_text,
                                          .close = close_stream,
                                          .forget = forget_stream};

static cluster_link_t *take_link(cluster_world_t *world, unsigned node)
{
    cluster_link_t *link = NULL;

    for (unsigned i = 0; i < CLUSTER_LINKS && !link; i++)
        if (!world->links[i].is_used)
            link = &world->links[i];
    /* The oldest ghost makes room. */
    for (unsigned i = 0; i < CLUSTER_LINKS && !link; i++)
        if (!world->links[i].is_open)
            link = &world->links[i];
    if (!link) {
        cluster_world_fail(world, "O10: %u connections at once", CLUSTER_LINKS);
        return NULL;
    }
    *link = (cluster_link_t){.stream = {&kind},
                             .world = world,
                             .node = node,
                             .id = ++world->links_made,
                             .is_used = true,
                             .is_open = true,
                             .is_alive = true,
                             .in = link->in,
                             .in_capacity = link->in_capacity,
                             .out = link->out,
                             .out_capacity = link->out_capacity};
    return link;
}

void cluster_net_lose(cluster_link_t *link)
{
    link->is_alive = false;
    link->in_bytes = 0;
    if (!link->is_open)
        link->is_used = false;
}

bool cluster_net_end(cluster_world_t *world, unsigned node, uint64_t id)
{
    for (unsigned i = 0; i < CLUSTER_LINKS; i++) {
        cluster_link_t *link = &world->links[i];
        if (!link->is_used || !link->is_alive || link->node != node || link->id != id)
            continue;
        cluster_net_lose(link);
        return true;
    }
    return false;
}

void cluster_net_deliver(cluster_world_t *world, cluster_link_t *link)
{
    if (!link->is_open || !is_reachable(world, link->node))
        return;
    if (link->wants_out && (!link->is_alive || link->in_bytes < world->rates.window)) {
        link->wants_out = false;
        link->hooks->on_writable(link->owner);
    }
    if (link->is_open && (link->out_bytes > 0 || !link->is_alive))
        link->hooks->on_readable(link->owner);
}

/* ---- dialing ---- */

static cluster_attempt_t *attempt_of(const shoal__dialer_t *dialer)
{
    return (cluster_attempt_t *)(void *)dialer->attempt;
}

static unsigned node_of(const shoal__target_t *target)
{
    const shoal__endpoint_t *endpoint = &target->endpoints[target->present];
    unsigned number = 0;

    if (!endpoint->host || sscanf(endpoint->host, "10.0.0.%u", &number) != 1)
        return CLUSTER_STRANGER;
    return number - 1;
}

void shoal__dialer_begin(shoal__dialer_t *dialer, const shoal__dialer_plan_t *plan,
                         uint64_t now_us)
{
    cluster_attempt_t *attempt = here->attempts;

    while (attempt->dialer)
        if (++attempt == here->attempts + CLUSTER_LINKS) {
            cluster_world_fail(here, "O10: %u attempts to connect", CLUSTER_LINKS);
            return;
        }
    *attempt = (cluster_attempt_t){
        .dialer = dialer,
        .hooks = plan->hooks,
        .owner = plan->owner,
        .target = plan->target,
        .node = node_of(plan->target),
        .ready_us = now_us + 1 +
                    sim_dice_below(&here->dice, (uint32_t)here->rates.dial_us_max)};
    dialer->attempt = (struct shoal__attempt *)(void *)attempt;
    here->sights.dials++;
    cluster_world_note(here, "dial", attempt->node, 0);
    if (attempt->node == CLUSTER_STRANGER)
        cluster_world_fail(here, "O11: an address is dialed that one node has named");
    plan->hooks->on_waiting(plan->owner, now_us + plan->config->connect_us);
}

static void end_attempt(cluster_attempt_t *attempt)
{
    attempt->dialer->attempt = NULL;
    attempt->dialer = NULL;
}

static void fail_attempt(cluster_attempt_t *attempt, int status, const char *detail)
{
    const cluster_attempt_t gone = *attempt;

    end_attempt(attempt);
    gone.hooks->on_failed(gone.owner, status, detail);
}

static void reach(cluster_world_t *world, cluster_attempt_t *attempt)
{
    const cluster_attempt_t gone = *attempt;
    shoal__reached_t reached = {.endpoint = gone.target->present,
                                .name =
                                    gone.target->endpoints[gone.target->present].name,
                                .address = {.bytes = sizeof(struct sockaddr_in)}};
    struct sockaddr_in *at = (struct sockaddr_in *)&reached.address.at;
    cluster_link_t *link = take_link(world, gone.node);

    if (!link)
        return;
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(0x0a000001u + gone.node);
    end_attempt(attempt);
    link->hooks = &gone.hooks->stream;
    link->owner = gone.owner;
    gone.hooks->on_reached(gone.owner, &link->stream, &reached);
}

void cluster_net_connect(cluster_world_t *world)
{
    for (unsigned i = 0; i < CLUSTER_LINKS && !world->has_failed; i++) {
        cluster_attempt_t *attempt = &world->attempts[i];
        if (!attempt->dialer || world->now_us < attempt->ready_us ||
            !is_reachable(world, attempt->node))
            continue;
        if (world->nodes[attempt->node].is_up)
            reach(world, attempt);
        else
            fail_attempt(attempt, SHOAL_ECONN, "connection refused");
    }
}

bool shoal__dialer_is_outdated(const shoal__dialer_t *dialer)
{
    (void)dialer;
    return false;
}

/* Streams are connected when the owner gets them. */
void shoal__dialer_answered(shoal__dialer_t *dialer, int error)
{
    (void)dialer, (void)error;
}

void shoal__dialer_timed_out(shoal__dialer_t *dialer)
{
    if (dialer->attempt)
        fail_attempt(attempt_of(dialer), SHOAL_ETIMEOUT, "no answer");
}

void shoal__dialer_stop(shoal__dialer_t *dialer)
{
    if (dialer->attempt)
        end_attempt(attempt_of(dialer));
}

void shoal__dialer_forget(shoal__dialer_t *dialer)
{
    shoal__dialer_stop(dialer);
}

/* ---- what is under way ---- */

bool cluster_net_is_idle(const cluster_world_t *world)
{
    for (unsigned i = 0; i < CLUSTER_LINKS; i++) {
        const cluster_link_t *link = &world->links[i];
        if (link->is_used && link->is_open &&
            (link->in_bytes > 0 || link->out_bytes > 0 || !link->is_alive ||
             link->wants_out))
            return false;
    }
    return true;
}

uint64_t cluster_net_wake_us(const cluster_world_t *world)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    for (unsigned i = 0; i < CLUSTER_LINKS; i++)
        if (world->attempts[i].dialer && is_reachable(world, world->attempts[i].node))
            wake_us = shoal__time_min(wake_us, world->attempts[i].ready_us);
    return wake_us;
}

void cluster_net_clear(cluster_world_t *world)
{
    for (unsigned i = 0; i < CLUSTER_LINKS; i++) {
        cluster_link_t *link = &world->links[i];
        *link = (cluster_link_t){.in = link->in,
                                 .in_capacity = link->in_capacity,
                                 .out = link->out,
                                 .out_capacity = link->out_capacity};
    }
}
