/* SPDX-License-Identifier: MIT */
#include "many/crowd.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/conn.h"
#include "net/conn_set.h"
#include "route/config.h"
#include "route/figures.h"
#include <shoal/errors.h>
#include <string.h>

typedef struct crowd {
    shoal__route_t route; /* first: what the client holds */
    shoal__conn_config_t config;
    shoal__target_t target;
    shoal__endpoint_list_t endpoints; /* of the target */
    shoal__conn_set_t set;
    shoal__conn_hooks_t conn_hooks;
    shoal__conn_t *conns;
    unsigned count;
    unsigned aim; /* which of them takes commands */
} crowd_t;

static unsigned expected = 1;

void crowd_expect(unsigned connections)
{
    expected = connections;
}

static crowd_t *of(const shoal__route_t *route)
{
    return (crowd_t *)route;
}

static shoal__conn_t *aimed_at(const shoal__route_t *route)
{
    return &of(route)->conns[of(route)->aim];
}

void crowd_aim(shoal__route_t *route, unsigned connection)
{
    of(route)->aim = connection;
}

unsigned crowd_ready(const shoal__route_t *route)
{
    unsigned ready = 0;

    for (unsigned i = 0; i < of(route)->count; i++)
        ready += of(route)->conns[i].state == SHOAL__CONN_READY;
    return ready;
}

unsigned crowd_at_rest(const shoal__route_t *route)
{
    unsigned resting = 0;

    for (unsigned i = 0; i < of(route)->count; i++)
        resting += !of(route)->conns[i].pipe.is_warm;
    return resting;
}

/* ---- the table ---- */

static void open_crowd(shoal__route_t *route, shoal__loop_t *loop)
{
    of(route)->set.loop = loop->uv;
    for (unsigned i = 0; i < of(route)->count; i++)
        shoal__conn_open(&of(route)->conns[i]);
}

static shoal__request_t *reserve(shoal__route_t *route, unsigned slot, size_t bytes,
                                 size_t count, char **ret_bytes)
{
    shoal__pipe_t *pipe = &aimed_at(route)->pipe;

    (void)slot; /* the program aims */
    *ret_bytes = shoal__pipe_reserve(pipe, bytes, count);
    return *ret_bytes ? shoal__pipe_next(pipe) : NULL;
}

static shoal__request_t *push(shoal__route_t *route)
{
    shoal__conn_t *conn = aimed_at(route);

    shoal__pipe_pushed(&conn->pipe, shoal__pipe_claim(&conn->pipe));
    shoal__conn_touch(conn);
    return shoal__pipe_next(&conn->pipe);
}

static bool place(shoal__route_t *route, const shoal__mailbox_side_t *side,
                  uint64_t now_us)
{
    shoal__conn_t *conn = aimed_at(route);
    size_t bytes = shoal__buffer_bytes(&side->bytes);
    char *at = shoal__pipe_reserve(&conn->pipe, bytes, side->count);

    (void)now_us;
    if (!at)
        return false;
    memcpy(at, shoal__buffer_data(&side->bytes), bytes);
    for (size_t i = 0; i < side->count; i++)
        shoal__pipe_push(&conn->pipe, &side->requests[i]);
    shoal__conn_touch(conn);
    return true;
}

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    return shoal__conn_set_turn(&of(route)->set, now_us);
}

static void read_ahead(shoal__route_t *route)
{
    for (unsigned i = 0; i < of(route)->count; i++)
        shoal__conn_read_ahead(&of(route)->conns[i]);
}

static bool cancel(shoal__route_t *route, uint64_t ticket, uint64_t now_us)
{
    bool is_found = false;

    for (unsigned i = 0; i < of(route)->count && !is_found; i++) {
        shoal__conn_touch(&of(route)->conns[i]);
        is_found = shoal__pipe_cancel(&of(route)->conns[i].pipe, ticket, now_us);
    }
    return is_found;
}

static bool may_share(const shoal__route_t *route)
{
    (void)route;
    return false;
}

static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    const shoal__conn_t *conn = aimed_at(route);

    *ret_view = (shoal__route_view_t){
        .is_ready = conn->state == SHOAL__CONN_READY,
        .is_idle = shoal__counter_get(&route->counts->account.queued) +
                       shoal__counter_get(&route->counts->account.inflight) ==
                   0,
        .wake_after =
            conn->state == SHOAL__CONN_READY ? shoal__pipe_wake_after(&conn->pipe) : 1,
        .rtt_us = conn->pipe.flush.learned.tempo.rtt_us,
    };
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    return shoal__conn_set_next_us(&of(route)->set, 0);
}

static void publish(shoal__route_t *route)
{
    shoal__conn_set_publish(&of(route)->set);
}

static void shared_figures(const shoal__route_t *route, shoal_stats_t *ret_stats)
{
    shoal__figures_read_shared(&of(route)->set, ret_stats);
}

static void each(const shoal__route_t *route, shoal__route_visit_fn visit, void *data)
{
    for (unsigned i = 0; i < of(route)->count; i++) {
        shoal__route_member_t member;
        shoal__figures_read(&of(route)->conns[i], &member);
        visit(data, &member);
    }
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    for (unsigned i = 0; i < of(route)->count; i++)
        shoal__conn_reconnect(&of(route)->conns[i], SHOAL__CONN_ASKED_FOR, now_us);
}

static void shut(shoal__route_t *route, uint64_t now_us)
{
    for (unsigned i = 0; i < of(route)->count; i++)
        shoal__conn_close(&of(route)->conns[i], now_us);
}

static void forget(shoal__route_t *route)
{
    for (unsigned i = 0; i < of(route)->count; i++)
        shoal__conn_forget(&of(route)->conns[i]);
}

/* Also of a crowd that is not complete. */
static void free_crowd(shoal__route_t *route)
{
    crowd_t *crowd = of(route);

    for (unsigned i = 0; i < crowd->count; i++)
        shoal__conn_release(&crowd->conns[i]);
    shoal__conn_set_release(&crowd->set);
    shoal__free(crowd->conns);
    shoal__free(crowd);
}

static const shoal__route_ops_t ops = {
    .open = open_crowd,
    .reserve = reserve,
    .push = push,
    .place = place,
    .turn = turn,
    .read_ahead = read_ahead,
    .cancel = cancel,
    .reconnect = reconnect,
    .view = view,
    .may_share = may_share,
    .next_wake_us = next_wake_us,
    .publish = publish,
    .shared_figures = shared_figures,
    .each = each,
    .shut = shut,
    .forget = forget,
    .free = free_crowd,
};

static int add_conns(crowd_t *crowd, void *owner)
{
    crowd->conns = shoal__calloc(expected, sizeof *crowd->conns);
    if (!crowd->conns)
        return SHOAL_ENOMEM;
    for (; crowd->count < expected; crowd->count++) {
        shoal__conn_plan_t plan = {.config = &crowd->config,
                                   .target = &crowd->target,
                                   .set = &crowd->set,
                                   .id = crowd->count + 1,
                                   .hooks = &crowd->conn_hooks,
                                   .owner = owner};
        int rc = shoal__conn_init(&crowd->conns[crowd->count], &plan);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int crowd_new(const shoal_options_t *options, uint64_t seed,
              const shoal__route_hooks_t *hooks, void *owner,
              shoal__route_t **ret_route)
{
    crowd_t *crowd = shoal__calloc(1, sizeof *crowd);
    int rc;

    if (!crowd)
        return SHOAL_ENOMEM;
    crowd->route = (shoal__route_t){.ops = &ops, .counts = hooks->counts};
    crowd->conn_hooks = (shoal__conn_hooks_t){.on_result = hooks->on_result,
                                              .on_event = hooks->on_event,
                                              .on_reading = hooks->on_reading,
                                              .on_delivered = hooks->on_delivered};
    shoal__config_read(options, &crowd->config);
    shoal__target_read(options, &crowd->endpoints, &crowd->target);
    rc = shoal__conn_set_init(&crowd->set, seed, &hooks->counts->account);
    if (rc < 0) {
        shoal__free(crowd);
        return rc;
    }
    rc = add_conns(crowd, owner);
    if (rc < 0)
        free_crowd(&crowd->route);
    else
        *ret_route = &crowd->route;
    return rc;
}
