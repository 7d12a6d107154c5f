/* SPDX-License-Identifier: MIT */

/* What the connections to nodes tell; their owner is the node. */

#include "base/time_us.h"
#include "route/cluster/state.h"
#include "route/errand.h"
#include <stdio.h>

static shoal__cluster_t *cluster_of(void *owner)
{
    return ((shoal__node_t *)owner)->owner;
}

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    shoal__cluster_t *cluster = cluster_of(owner);

    if (shoal__spread_is_part(request))
        shoal__spread_take(request, result, ((shoal__node_t *)owner)->name);
    else
        cluster->hooks.on_result(cluster->owner, request, result);
}

/* ... of a command that no node has. */
void shoal__cluster_waiting_result(void *owner, const shoal__request_t *request,
                                   const shoal_result_t *result)
{
    shoal__cluster_t *cluster = owner;

    if (shoal__spread_is_part(request))
        shoal__spread_take(request, result, NULL);
    else
        cluster->hooks.on_result(cluster->owner, request, result);
}

/* Those that wait for any node hear why there is none. */
static void note_trouble(shoal__cluster_t *cluster, const shoal__node_t *node)
{
    shoal__pipe_t *waiting = &cluster->waiting;
    const shoal__pipe_t *pipe = &node->conn.pipe;

    if (shoal__nodes_pick(&cluster->nodes, NULL, false, &cluster->set.random))
        return;
    waiting->is_offline = true;
    waiting->offline_since_us = pipe->offline_since_us;
    waiting->attempts_failed = pipe->attempts_failed;
    snprintf(waiting->detail, sizeof waiting->detail, "%s", pipe->detail);
}

/* The first server that is greeted says what all of them are. */
static void find_out(shoal__cluster_t *cluster, const shoal__node_t *node)
{
    if (cluster->route.found == SHOAL__FOUND_NOTHING)
        cluster->route.found = node->conn.pipe.greeting.mode == SHOAL__MODE_CLUSTER
                                   ? SHOAL__FOUND_CLUSTER
                                   : SHOAL__FOUND_ONE_SERVER;
}

/* It is greeted, and gets no command: the route of one server connects to it. */
static void tell_of_one_server(const shoal__cluster_t *cluster,
                               const shoal_event_t *event)
{
    shoal_event_t told = *event;
    char detail[SHOAL__TARGET_NAME_BYTES + 80];

    snprintf(detail, sizeof detail,
             "%s, a server of its own, no cluster: it is connected to again",
             event->server);
    told.detail = detail;
    cluster->hooks.on_event(cluster->owner, &told);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    shoal__cluster_t *cluster = cluster_of(owner);
    shoal__node_t *node = owner;

    cluster->is_touched = true;
    shoal__cluster_count(cluster);
    if (event->kind == SHOAL_EVENT_READY) {
        find_out(cluster, node);
        cluster->waiting.is_offline = false;
        cluster->has_waiting_news = true;
        shoal__role_watch_forget(&node->watch);
        shoal__leases_rouse(&cluster->leases); /* what blocks elsewhere may be its */
    }
    if (event->kind == SHOAL_EVENT_LOST) {
        node->was_lost = true;
        node->is_sure = false;
        shoal__handovers_lost(&cluster->handovers, &node->conn.pipe);
    }
    if (event->kind == SHOAL_EVENT_LOST || event->kind == SHOAL_EVENT_ATTEMPT_FAILED) {
        shoal__leases_rouse(&cluster->leases);
        note_trouble(cluster, node);
    }
    if (event->kind == SHOAL_EVENT_READY &&
        cluster->route.found == SHOAL__FOUND_ONE_SERVER)
        tell_of_one_server(cluster, event);
    else
        cluster->hooks.on_event(cluster->owner, event);
}

/* ... of a bulk lane. */
static void on_lane_event(void *owner, const shoal_event_t *event)
{
    shoal__cluster_t *cluster = cluster_of(owner);

    if (event->kind == SHOAL_EVENT_LOST)
        shoal__handovers_lost(&cluster->handovers, &shoal__node_bulk(owner)->conn.pipe);
    if (event->kind == SHOAL_EVENT_LOST || event->kind == SHOAL_EVENT_ATTEMPT_FAILED)
        shoal__leases_rouse(&cluster->leases); /* they may get its place */
    cluster->hooks.on_event(cluster->owner, event);
}

static void on_reading(void *owner, uint64_t now_us)
{
    shoal__cluster_t *cluster = cluster_of(owner);

    cluster->hooks.on_reading(cluster->owner, now_us);
}

static void on_delivered(void *owner)
{
    shoal__cluster_t *cluster = cluster_of(owner);

    cluster->hooks.on_delivered(cluster->owner);
}

const shoal__conn_hooks_t shoal__cluster_hooks = {.on_result = on_result,
                                                  .on_event = on_event,
                                                  .on_reading = on_reading,
                                                  .on_delivered = on_delivered,
                                                  .on_own = shoal__errand_on_own,
                                                  .on_error = shoal__cluster_on_error};

const shoal__conn_hooks_t shoal__cluster_lane_hooks = {.on_result = on_result,
                                                       .on_event = on_lane_event,
                                                       .on_reading = on_reading,
                                                       .on_delivered = on_delivered,
                                                       .on_own = shoal__errand_on_own,
                                                       .on_error =
                                                           shoal__cluster_on_error};
