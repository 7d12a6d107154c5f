/* SPDX-License-Identifier: MIT */
#include "route/reads.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/pipe/pipe.h"
#include "route/replicas.h"
#include <shoal/errors.h>
#include <string.h>

typedef struct shoal__reads {
    shoal__route_ops_t ops;
    const shoal__route_ops_t *base; /* of the route */
    shoal__replicas_t *replicas;
    shoal__mailbox_side_t rest; /* of a side: what is not for replicas */
} shoal__reads_t;

static shoal__replicas_t *replicas_of(const shoal__route_t *route)
{
    return route->reads->replicas;
}

static const shoal__route_ops_t *base_of(const shoal__route_t *route)
{
    return route->reads->base;
}

static void open_route(shoal__route_t *route, shoal__loop_t *loop)
{
    base_of(route)->open(route, loop);
    shoal__replicas_open(replicas_of(route));
}

/* ---- commands in ---- */

typedef struct share {
    size_t commands, bytes;
} share_t;

static bool is_for_replica(const shoal__request_t *request)
{
    return (request->flags & SHOAL__REQUEST_FOR_REPLICA) != 0;
}

static share_t share_of(const shoal__mailbox_side_t *side)
{
    share_t share = {0};

    for (size_t i = 0; i < side->count; i++)
        if (is_for_replica(&side->requests[i])) {
            share.commands++;
            share.bytes += side->requests[i].bytes;
        }
    return share;
}

static void unmark(const shoal__mailbox_side_t *side)
{
    for (size_t i = 0; i < side->count; i++)
        side->requests[i].flags &= (uint16_t)~SHOAL__REQUEST_FOR_REPLICA;
}

/* Copy what is not for replicas.  False: no memory. */
static bool copy_rest(shoal__mailbox_side_t *rest, const shoal__mailbox_side_t *side,
                      share_t share)
{
    const char *from = shoal__buffer_data(&side->bytes);
    size_t bytes = shoal__buffer_bytes(&side->bytes) - share.bytes;
    char *at = shoal__mailbox_side_reserve(rest, bytes, side->count - share.commands);

    if (!at)
        return false;
    for (size_t i = 0; i < side->count; from += side->requests[i++].bytes) {
        const shoal__request_t *request = &side->requests[i];
        if (is_for_replica(request))
            continue;
        memcpy(at, from, request->bytes);
        at += request->bytes;
        shoal__mailbox_side_push(rest, request);
    }
    return true;
}

/* There is room at `at`. */
static void push_reads(shoal__pipe_t *pipe, const shoal__mailbox_side_t *side, char *at,
                       uint64_t now_us)
{
    const char *from = shoal__buffer_data(&side->bytes);

    for (size_t i = 0; i < side->count; from += side->requests[i++].bytes) {
        shoal__request_t request = side->requests[i];
        if (!is_for_replica(&request))
            continue;
        request.flags &= (uint16_t)~SHOAL__REQUEST_FOR_REPLICA;
        memcpy(at, from, request.bytes);
        at += request.bytes;
        shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED,
                                 shoal__time_since(request.submitted_us, now_us), 1);
        shoal__pipe_push(pipe, &request);
        shoal__stage_times_taken(&pipe->times, 1, now_us);
    }
}

static bool place(shoal__route_t *route, const shoal__mailbox_side_t *side,
                  uint64_t now_us)
{
    shoal__mailbox_side_t *rest = &route->reads->rest;
    share_t share = share_of(side);
    shoal__pipe_t *pipe = NULL;
    bool is_placed = true;
    char *at;

    if (share.commands > 0)
        pipe = shoal__replicas_pipe(replicas_of(route), now_us);
    if (!pipe) {
        unmark(side);
        return base_of(route)->place(route, side, now_us);
    }
    at = shoal__pipe_reserve(pipe, share.bytes, share.commands);
    if (!at)
        return false;
    if (share.commands < side->count) {
        is_placed =
            copy_rest(rest, side, share) && base_of(route)->place(route, rest, now_us);
        shoal__mailbox_side_clear(rest);
    }
    if (!is_placed)
        return false;
    push_reads(pipe, side, at, now_us);
    shoal__replicas_taken(replicas_of(route), pipe, share.commands);
    return true;
}

/* ---- the loop ---- */

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    uint64_t wake_us;

    shoal__replicas_turn(replicas_of(route), now_us);
    wake_us = base_of(route)->turn(route, now_us);
    return shoal__time_min(wake_us,
                           shoal__replicas_next_wake_us(replicas_of(route), now_us));
}

static void read_ahead(shoal__route_t *route)
{
    base_of(route)->read_ahead(route);
    shoal__replicas_read_ahead(replicas_of(route));
}

static bool cancel(shoal__route_t *route, uint64_t ticket, uint64_t now_us)
{
    return base_of(route)->cancel(route, ticket, now_us) ||
           shoal__replicas_cancel(replicas_of(route), ticket, now_us);
}

static void authenticate(shoal__route_t *route, shoal__secret_t *secret,
                         uint64_t now_us)
{
    base_of(route)->authenticate(route, secret, now_us);
    shoal__replicas_authenticate(replicas_of(route), now_us);
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    base_of(route)->reconnect(route, now_us);
    shoal__replicas_reconnect(replicas_of(route), now_us);
}

/* ---- what others see ---- */

static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    base_of(route)->view(route, ret_view);
    shoal__replicas_view(replicas_of(route), ret_view);
}

static bool may_share(const shoal__route_t *route)
{
    (void)route;
    return false;
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    /* 0: a turn is due at once. */
    return shoal__time_min(base_of(route)->next_wake_us(route),
                           shoal__replicas_next_wake_us(replicas_of(route), 0));
}

static void publish(shoal__route_t *route)
{
    shoal__replicas_publish(replicas_of(route));
    base_of(route)->publish(route);
}

static void shared_figures(const shoal__route_t *route, shoal_stats_t *ret_stats)
{
    base_of(route)->shared_figures(route, ret_stats);
    shoal__replicas_read(replicas_of(route), ret_stats);
}

static void each(const shoal__route_t *route, shoal__route_visit_fn visit, void *data)
{
    base_of(route)->each(route, visit, data);
    shoal__replicas_each(replicas_of(route), visit, data);
}

static int describe(const shoal__route_t *route, shoal_topology_snapshot_t *snapshot)
{
    int rc = base_of(route)->describe(route, snapshot);

    return rc < 0 ? rc : shoal__replicas_describe(replicas_of(route), snapshot);
}

/* ---- the end ---- */

static void shut(shoal__route_t *route, uint64_t now_us)
{
    shoal__replicas_shut(replicas_of(route), now_us);
    base_of(route)->shut(route, now_us);
}

static void forget(shoal__route_t *route)
{
    base_of(route)->forget(route);
    shoal__replicas_forget(replicas_of(route));
}

static void free_route(shoal__route_t *route)
{
    shoal__reads_t *reads = route->reads;
    const shoal__route_ops_t *base = reads->base;

    shoal__replicas_free(reads->replicas);
    shoal__mailbox_side_release(&reads->rest);
    shoal__free(reads);
    base->free(route);
}

int shoal__reads_init(shoal__route_t *route, const shoal__reads_plan_t *plan)
{
    const shoal__replicas_plan_t replicas_plan = {.options = plan->options,
                                                  .primary = plan->primary,
                                                  .hooks = plan->hooks,
                                                  .owner = plan->owner};
    shoal__reads_t *reads;

    if (!shoal__options_use_replicas(plan->options))
        return 0;
    reads = shoal__calloc(1, sizeof *reads);
    if (!reads)
        return SHOAL_ENOMEM;
    if (shoal__replicas_new(&replicas_plan, &reads->replicas) < 0) {
        shoal__free(reads);
        return SHOAL_ENOMEM;
    }
    reads->base = route->ops;
    reads->ops = *route->ops;
    reads->ops.open = open_route;
    reads->ops.place = place;
    reads->ops.turn = turn;
    reads->ops.read_ahead = read_ahead;
    reads->ops.cancel = cancel;
    reads->ops.authenticate = authenticate;
    reads->ops.reconnect = reconnect;
    reads->ops.view = view;
    reads->ops.may_share = may_share;
    reads->ops.next_wake_us = next_wake_us;
    reads->ops.publish = publish;
    reads->ops.shared_figures = shared_figures;
    reads->ops.each = each;
    reads->ops.describe = describe;
    reads->ops.shut = shut;
    reads->ops.forget = forget;
    reads->ops.free = free_route;
    route->ops = &reads->ops;
    route->reads = reads;
    route->places_all = true;
    return 0;
}
