/* SPDX-License-Identifier: MIT */
#include "route/standalone.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/flush/flush_auto.h"
#include "net/clock.h"
#include "net/conn_set.h"
#include "route/config.h"
#include "route/doubts.h"
#include "route/errand.h"
#include "route/figures.h"
#include "route/keeper.h"
#include "route/lane_choice.h"
#include "route/lanes.h"
#include "route/leases.h"
#include "route/parting.h"
#include "route/reads.h"
#include "route/sentinel.h"
#include <shoal/errors.h>
#include <string.h>

typedef struct standalone {
    shoal__route_t route; /* first: what the client holds */
    shoal__conn_config_t config,
        other_config; /* of the first home, and of the others */
    shoal__target_t target;
    shoal__endpoint_list_t endpoints; /* of the target */
    shoal__keeper_t keeper;           /* of the target's credentials */
    shoal__conn_set_t set;
    shoal__conn_hooks_t conn_hooks; /* of the homes */
    shoal__homes_t homes;           /* the connections that callers share */
    shoal__lanes_t lanes;   /* the one for bulk commands, which callers share too */
    shoal__leases_t leases; /* the others */
    const char
        *followed; /* the name of the server that the connections were led to last */
    shoal__sentinel_t *sentinel; /* finds the server; NULL: its address is known */
    shoal__conn_t conns[];       /* of the homes */
} standalone_t;

/* The numbers of the other homes: behind the bulk lane's. */
#define HOME_ID (SHOAL__LEASE_CONNECTIONS_MAX + 3)

static standalone_t *of(shoal__route_t *route)
{
    return (standalone_t *)route;
}

static const standalone_t *of_const(const shoal__route_t *route)
{
    return (const standalone_t *)route;
}

static void open_route(shoal__route_t *route, shoal__loop_t *loop)
{
    of(route)->set.loop = loop->uv;
    shoal__keeper_open(&of(route)->keeper, loop->uv);
    if (of(route)->sentinel)
        shoal__sentinel_open(of(route)->sentinel);
    for (size_t i = 0; i < of(route)->homes.count; i++)
        shoal__conn_open(&of(route)->conns[i]);
}

/* ---- commands in ---- */

static shoal__request_t *reserve(shoal__route_t *route, unsigned slot, size_t bytes,
                                 size_t count, char **ret_bytes)
{
    shoal__pipe_t *pipe = &of(route)->conns->pipe;

    (void)slot;
    *ret_bytes = shoal__pipe_reserve(pipe, bytes, count);
    return *ret_bytes ? shoal__pipe_next(pipe) : NULL;
}

static shoal__request_t *push(shoal__route_t *route)
{
    shoal__pipe_t *pipe = &of(route)->conns->pipe;

    shoal__pipe_pushed_here(pipe);
    shoal__conn_touch(of(route)->conns);
    return shoal__pipe_next(pipe);
}

static void refer(shoal__route_t *route, size_t bytes)
{
    shoal__pipe_refer(&of(route)->conns->pipe, bytes);
}

/* Does nothing want the bulk lane?  Then nothing is to be done for it. */
static inline bool is_lane_asleep(const standalone_t *standalone)
{
    return !standalone->set.shared.wants_bulk;
}

static void look_for_lanes(standalone_t *standalone, uint64_t now_us)
{
    standalone->route.must_place =
        shoal__lane_choice_is_due(&standalone->lanes, now_us);
}

/* Some of them are for leases, or may be for the lane. */
static bool place_apart(standalone_t *standalone, const shoal__mailbox_side_t *side,
                        uint64_t now_us)
{
    if (!shoal__parting_place(&standalone->lanes, &standalone->leases, side, now_us))
        return false;
    look_for_lanes(standalone, now_us);
    return true;
}

static bool place(shoal__route_t *route, const shoal__mailbox_side_t *side,
                  uint64_t now_us)
{
    if (side->has_apart || route->must_place)
        return place_apart(of(route), side, now_us);

    shoal__conn_t *conn = of(route)->conns;
    size_t bytes = shoal__buffer_bytes(&side->bytes);
    char *at = shoal__pipe_reserve(&conn->pipe, bytes, side->count);

    if (!at)
        return false;
    memcpy(at, shoal__buffer_data(&side->bytes), bytes);
    for (size_t i = 0; i < side->count; i++) {
        const shoal__request_t *request = &side->requests[i];
        shoal__stage_times_count(&conn->pipe.times, SHOAL_STAGE_QUEUED,
                                 shoal__time_since(request->submitted_us, now_us), 1);
        shoal__pipe_push(&conn->pipe, request);
    }
    shoal__stage_times_taken(&conn->pipe.times, side->count, now_us);
    shoal__conn_touch(conn);
    return true;
}

/* ---- the loop ---- */

static void follow_sentinels(standalone_t *standalone, uint64_t now_us)
{
    bool is_news = standalone->followed != standalone->target.name;

    standalone->followed = standalone->target.name;
    if (is_news)
        shoal__leases_reconnect(&standalone->leases);
    for (size_t i = 0; i < standalone->homes.count; i++)
        shoal__conn_follow(&standalone->conns[i], is_news, now_us);
}

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    shoal__leases_t *leases = &of(route)->leases;
    shoal__lanes_t *lanes = &of(route)->lanes;
    uint64_t wake_us, lanes_us = SHOAL__NEVER_US;

    shoal__keeper_turn(&of(route)->keeper, now_us);
    if (of(route)->sentinel) {
        shoal__sentinel_turn(of(route)->sentinel, now_us);
        follow_sentinels(of(route), now_us);
    }
    of(route)->conns->pipe.flush.awake = route->awake;
    of(route)->conns->pipe.flush.is_still = route->is_still;
    if (shoal__doubts_exist(&of(route)->set))
        for (size_t i = 0; i < of(route)->homes.count; i++)
            shoal__doubts_ask(&of(route)->conns[i], now_us);
    if (shoal__leases_are_due(leases, now_us))
        shoal__leases_turn(leases, now_us);
    if (!is_lane_asleep(of(route))) {
        lanes_us = shoal__lanes_turn(lanes, now_us);
        look_for_lanes(of(route), now_us);
    }
    wake_us = shoal__conn_set_turn(&of(route)->set, now_us);
    /* Commands of the lane may have waited for one whose time has just passed. */
    if (lanes_us != SHOAL__NEVER_US) {
        lanes_us = shoal__lanes_turn(lanes, now_us);
        wake_us =
            shoal__time_min(lanes_us, shoal__conn_set_next_us(&of(route)->set, now_us));
    }
    wake_us = shoal__time_min(wake_us, shoal__keeper_next_wake_us(&of(route)->keeper));
    if (of(route)->sentinel)
        wake_us = shoal__time_min(
            wake_us, shoal__sentinel_next_wake_us(of(route)->sentinel, now_us));
    return leases->common.is_touched ? now_us
                                     : shoal__time_min(wake_us, leases->wake_us);
}

static void read_ahead(shoal__route_t *route)
{
    for (size_t i = 0; i < of(route)->homes.count; i++)
        shoal__conn_read_ahead(&of(route)->conns[i]);
    if (!is_lane_asleep(of(route)))
        shoal__lanes_read_ahead(&of(route)->lanes);
    shoal__leases_read_ahead(&of(route)->leases);
    if (of(route)->sentinel)
        shoal__sentinel_read_ahead(of(route)->sentinel, shoal__clock_us());
}

static bool cancel(shoal__route_t *route, uint64_t ticket, uint64_t now_us)
{
    for (size_t i = 0; i < of(route)->homes.count; i++) {
        shoal__conn_touch(&of(route)->conns[i]);
        if (shoal__pipe_cancel(&of(route)->conns[i].pipe, ticket, now_us))
            return true;
    }
    return shoal__lanes_cancel(&of(route)->lanes, ticket, now_us) ||
           shoal__leases_cancel(&of(route)->leases, ticket, now_us);
}

static void end_lease(shoal__route_t *route, shoal_lease_t *lease)
{
    shoal__leases_end(&of(route)->leases, lease);
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    for (size_t i = 0; i < of(route)->homes.count; i++)
        shoal__conn_reconnect(&of(route)->conns[i], SHOAL__CONN_ASKED_FOR, now_us);
    shoal__lanes_reconnect(&of(route)->lanes, now_us);
    shoal__leases_reconnect(&of(route)->leases);
}

static void authenticate(shoal__route_t *route, shoal__secret_t *secret,
                         uint64_t now_us)
{
    shoal__keeper_take(&of(route)->keeper, secret);
    for (size_t i = 0; i < of(route)->homes.count; i++)
        shoal__conn_authenticate(&of(route)->conns[i], now_us);
    shoal__lanes_authenticate(&of(route)->lanes, now_us);
    shoal__leases_authenticate(&of(route)->leases, now_us);
}

/* ---- what others see ---- */

static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    shoal__homes_view(&of_const(route)->homes, ret_view);
    ret_view->is_idle = ret_view->is_idle &&
                        (is_lane_asleep(of_const(route)) ||
                         shoal__lanes_are_idle(&of_const(route)->lanes)) &&
                        shoal__leases_are_idle(&of_const(route)->leases) &&
                        shoal__keeper_is_calm(&of_const(route)->keeper);
}

static bool may_share(const shoal__route_t *route)
{
    const shoal__conn_t *conn = of_const(route)->conns;

    return !shoal__homes_are_many(&of_const(route)->homes) &&
           conn->state == SHOAL__CONN_READY && !conn->line->is_blocked &&
           !shoal__conn_is_renewed(conn) && is_lane_asleep(of_const(route)) &&
           (!of_const(route)->sentinel ||
            shoal__sentinel_is_calm(of_const(route)->sentinel)) &&
           shoal__keeper_is_calm(&of_const(route)->keeper) &&
           atomic_load_explicit(&route->counts->leases, memory_order_relaxed) == 0;
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    uint64_t wake_us =
        shoal__time_min(shoal__leases_next_wake_us(&of_const(route)->leases),
                        shoal__keeper_next_wake_us(&of_const(route)->keeper));

    for (size_t i = 0; i < of_const(route)->homes.count; i++)
        wake_us = shoal__time_min(
            wake_us, shoal__pipe_next_wake_us(&of_const(route)->conns[i].pipe));
    if (!is_lane_asleep(of_const(route)))
        wake_us = shoal__time_min(wake_us,
                                  shoal__lanes_next_wake_us(&of_const(route)->lanes));
    return wake_us;
}

static void publish(shoal__route_t *route)
{
    if (!is_lane_asleep(of(route)))
        shoal__lanes_publish(&of(route)->lanes);
    shoal__conn_set_publish(&of(route)->set);
}

static void shared_figures(const shoal__route_t *route, shoal_stats_t *ret_stats)
{
    shoal__figures_read_shared(&of_const(route)->set, ret_stats);
    shoal__lanes_read(&of_const(route)->lanes, ret_stats);
    shoal__leases_read(&of_const(route)->leases, ret_stats);
}

static void each(const shoal__route_t *route, shoal__route_visit_fn visit, void *data)
{
    shoal__lanes_each(&of_const(route)->lanes, visit, data);
    shoal__leases_each(&of_const(route)->leases, visit, data);
}

static int describe(const shoal__route_t *route, shoal_topology_snapshot_t *snapshot)
{
    shoal__snapshot_node_t node = shoal__figures_server(&of_const(route)->conns[0]);

    if (of_const(route)->sentinel) {
        shoal__snapshot_set_kind(snapshot, SHOAL_TOPOLOGY_SENTINEL);
        node.role = SHOAL_NODE_PRIMARY;
    }
    return shoal__snapshot_add(snapshot, &node);
}

/* ---- the end ---- */

static void shut(shoal__route_t *route, uint64_t now_us)
{
    shoal__leases_shut(&of(route)->leases, now_us);
    shoal__lanes_shut(&of(route)->lanes, now_us);
    for (size_t i = 0; i < of(route)->homes.count; i++)
        shoal__conn_close(&of(route)->conns[i], now_us);
    if (of(route)->sentinel)
        shoal__sentinel_shut(of(route)->sentinel, now_us);
    shoal__keeper_shut(&of(route)->keeper);
}

static void forget(shoal__route_t *route)
{
    for (size_t i = 0; i < of(route)->homes.count; i++)
        shoal__conn_forget(&of(route)->conns[i]);
    shoal__lanes_forget(&of(route)->lanes);
    shoal__leases_forget(&of(route)->leases);
    if (of(route)->sentinel)
        shoal__sentinel_forget(of(route)->sentinel);
    shoal__keeper_forget(&of(route)->keeper);
}

static void release_homes(standalone_t *standalone)
{
    for (size_t i = 0; i < standalone->homes.count; i++)
        shoal__conn_release(&standalone->conns[i]);
}

static void free_route(shoal__route_t *route)
{
    shoal__leases_release(&of(route)->leases);
    shoal__lanes_release(&of(route)->lanes);
    release_homes(of(route));
    shoal__sentinel_free(of(route)->sentinel);
    shoal__conn_set_release(&of(route)->set);
    shoal__config_release(&of(route)->config);
    shoal__target_release(&of(route)->target);
    shoal__keeper_release(&of(route)->keeper);
    shoal__free(route);
}

static const shoal__route_ops_t ops = {
    .open = open_route,
    .reserve = reserve,
    .push = push,
    .refer = refer,
    .place = place,
    .turn = turn,
    .read_ahead = read_ahead,
    .cancel = cancel,
    .end_lease = end_lease,
    .authenticate = authenticate,
    .reconnect = reconnect,
    .view = view,
    .may_share = may_share,
    .next_wake_us = next_wake_us,
    .publish = publish,
    .shared_figures = shared_figures,
    .each = each,
    .describe = describe,
    .shut = shut,
    .forget = forget,
    .free = free_route,
};

/* 0 or SHOAL_ENOMEM: nothing needs to be released. */
static int init_homes(standalone_t *standalone, unsigned count,
                      const shoal__route_hooks_t *hooks, void *owner)
{
    shoal__homes_t *homes = &standalone->homes;

    standalone->conn_hooks = (shoal__conn_hooks_t){.on_result = hooks->on_result,
                                                   .on_event = hooks->on_event,
                                                   .on_reading = hooks->on_reading,
                                                   .on_delivered = hooks->on_delivered,
                                                   .on_own = shoal__errand_on_own};
    homes->conns = standalone->conns;
    standalone->other_config = standalone->config;
    standalone->other_config.pipe.is_ordinary = false; /* shared sinks hear one alone */
    for (; homes->count < count; homes->count++) {
        bool is_first = homes->count == 0;
        const shoal__conn_plan_t plan = {
            .config = is_first ? &standalone->config : &standalone->other_config,
            .target = &standalone->target,
            .set = &standalone->set,
            .id = is_first ? 1 : HOME_ID + homes->count - 1,
            .hooks = &standalone->conn_hooks,
            .owner = owner};
        if (shoal__conn_init(&standalone->conns[homes->count], &plan) < 0) {
            release_homes(standalone);
            return SHOAL_ENOMEM;
        }
    }
    return 0;
}

/* 0 or SHOAL_ENOMEM. */
static int init_sentinel(standalone_t *standalone, const shoal_options_t *options,
                         const shoal__route_hooks_t *hooks, void *owner)
{
    const shoal__sentinel_plan_t plan = {.options = options,
                                         .config = &standalone->config,
                                         .set = &standalone->set,
                                         .target = &standalone->target,
                                         .first = standalone->conns,
                                         .hooks = hooks,
                                         .owner = owner};

    return options->sentinels.name ? shoal__sentinel_new(&plan, &standalone->sentinel)
                                   : 0;
}

/* ---- the server of leases ---- */

static shoal__conn_t *find_site(void *route, shoal_lease_t *lease)
{
    (void)lease;
    return ((standalone_t *)route)->conns;
}

static bool has_since(const void *route, const shoal_lease_t *lease,
                      const shoal__conn_t *site, uint64_t until_us)
{
    (void)lease;
    return shoal__pipe_has_since(&site->pipe, until_us) ||
           shoal__lanes_have_since(&((const standalone_t *)route)->lanes, until_us);
}

static void init_leases(standalone_t *standalone, const shoal__route_hooks_t *hooks,
                        void *owner)
{
    const shoal__leases_plan_t plan = {
        .config = &standalone->config,
        .sites = {.find = find_site, .has_since = has_since, .route = standalone},
        .set = &standalone->set,
        .home = &standalone->conns->pipe,
        .first_id = standalone->conns->id + 1,
        .hooks = hooks,
        .owner = owner,
        .count = &hooks->counts->leases};

    shoal__leases_init(&standalone->leases, &plan);
}

int shoal__standalone_new(const shoal_options_t *options, uint64_t seed,
                          const shoal__route_hooks_t *hooks, void *owner,
                          shoal__route_t **ret_route)
{
    standalone_t *standalone = shoal__calloc(
        1, sizeof *standalone + options->connections * sizeof *standalone->conns);
    int rc;

    if (!standalone)
        return SHOAL_ENOMEM;
    standalone->route = (shoal__route_t){.ops = &ops,
                                         .counts = hooks->counts,
                                         .keeper = &standalone->keeper,
                                         .leases = &standalone->leases,
                                         .must_place = options->connections > 1,
                                         .places_all = options->connections > 1};
    rc = shoal__config_read(options, &standalone->config);
    if (rc < 0)
        goto fail_config;
    standalone->route.tls = standalone->config.dial.tls;
    shoal__target_read(options, &standalone->endpoints, &standalone->target);
    rc = shoal__keeper_init(&standalone->keeper,
                            &(shoal__keeper_plan_t){options, &standalone->route,
                                                    &standalone->target, hooks, owner});
    if (rc < 0)
        goto fail_keeper;
    rc = shoal__conn_set_init(&standalone->set, seed, &hooks->counts->account);
    if (rc < 0)
        goto fail_set;
    standalone->set.shared.scripts = hooks->scripts;
    rc = init_homes(standalone, options->connections, hooks, owner);
    if (rc < 0)
        goto fail_homes;
    rc = init_sentinel(standalone, options, hooks, owner);
    if (rc < 0)
        goto fail_sentinel;
    rc = shoal__lanes_init(&standalone->lanes, &standalone->homes, hooks, owner,
                           options->has_bulk_lane);
    if (rc < 0)
        goto fail_lanes;
    rc = shoal__reads_init(
        &standalone->route,
        &(shoal__reads_plan_t){options, standalone->conns, hooks, owner});
    if (rc < 0)
        goto fail_reads;
    init_leases(standalone, hooks, owner);
    *ret_route = &standalone->route;
    return 0;

fail_reads:
    shoal__lanes_release(&standalone->lanes);
fail_lanes:
    shoal__sentinel_free(standalone->sentinel);
fail_sentinel:
    release_homes(standalone);
fail_homes:
    shoal__conn_set_release(&standalone->set);
fail_set:
    shoal__keeper_release(&standalone->keeper);
fail_keeper:
    shoal__config_release(&standalone->config);
fail_config:
    shoal__free(standalone);
    return rc;
}
