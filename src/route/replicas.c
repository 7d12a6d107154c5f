/* SPDX-License-Identifier: MIT */
#include "route/replicas.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/pipe/pipe_move.h"
#include "net/clock.h"
#include "net/conn_set.h"
#include "route/errand.h"
#include "route/figures.h"
#include "route/homes.h"
#include <shoal/errors.h>
#include <stdio.h>

#define ASK_AGAIN_US 100000 /* a replica was lost */
#define PEN_BYTES_KEPT 1048576

/* ---- which one ---- */

/* NULL: none is usable. */
static shoal__replica_t *choose(shoal__replicas_t *replicas, uint64_t now_us)
{
    shoal__replica_facts_t facts[SHOAL_REPLICAS_MAX];
    bool is_primary_near = replicas->takes_near_primary &&
                           shoal__home_is_ready(replicas->primary) &&
                           shoal__role_watch_is_near(&replicas->primary_watch);
    size_t at;

    for (size_t i = 0; i < replicas->count; i++)
        facts[i] = shoal__replica_facts(replicas->listed[i]);
    at =
        shoal__replica_choose(&replicas->choice, facts, replicas->count,
                              is_primary_near, &replicas->primary->set->random, now_us);
    if (at == SHOAL__REPLICA_NONE) {
        if (replicas->none_since_us == 0)
            replicas->none_since_us = now_us;
        return NULL;
    }
    replicas->none_since_us = 0;
    return replicas->listed[at];
}

shoal__pipe_t *shoal__replicas_pipe(shoal__replicas_t *replicas, uint64_t now_us)
{
    shoal__replica_t *replica = choose(replicas, now_us);

    if (replica && !shoal__pipe_has_since(&replicas->pen, SHOAL__NEVER_US))
        return &replica->conn.pipe;
    return replicas->may_use_primary ? NULL : &replicas->pen;
}

void shoal__replicas_taken(shoal__replicas_t *replicas, const shoal__pipe_t *pipe,
                           uint64_t commands)
{
    shoal__counter_add(&replicas->taken, commands);
    if (pipe == &replicas->pen) {
        replicas->is_touched = true;
        return;
    }
    for (size_t i = 0; i < replicas->count; i++)
        if (pipe == &replicas->listed[i]->conn.pipe)
            shoal__conn_touch(&replicas->listed[i]->conn);
}

/* Another one for a command that went to replicas so often; NULL: there is none. */
static shoal__conn_t *next_for(shoal__replicas_t *replicas, unsigned attempts,
                               uint64_t now_us)
{
    shoal__replica_t *replica = NULL;

    if (!replicas->may_use_primary || !shoal__replica_has_failed(attempts))
        replica = choose(replicas, now_us);
    if (replica)
        return &replica->conn;
    return replicas->may_use_primary ? replicas->primary : NULL;
}

/* ---- what connections tell ---- */

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    const shoal__replica_t *replica = owner;

    replica->all->hooks.on_result(replica->all->owner, request, result);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    const shoal__replica_t *replica = owner;
    shoal__replicas_t *replicas = replica->all;

    replicas->is_touched = true;
    if (event->kind == SHOAL_EVENT_LOST) /* the primary may know that it is gone */
        replicas->ask_us =
            shoal__time_min(replicas->ask_us, shoal__clock_us() + ASK_AGAIN_US);
    replica->all->hooks.on_event(replica->all->owner, event);
}

static void on_reading(void *owner, uint64_t now_us)
{
    const shoal__replica_t *replica = owner;

    replica->all->hooks.on_reading(replica->all->owner, now_us);
}

static void on_delivered(void *owner)
{
    const shoal__replica_t *replica = owner;

    replica->all->hooks.on_delivered(replica->all->owner);
}

/* Hand the command to `to`. */
static shoal__pipe_verdict_t redirect(shoal__conn_t *to,
                                      const shoal__request_t *request,
                                      const char *bytes, uint64_t now_us)
{
    shoal__request_t again = *request;

    again.attempts = (request->attempts + 1u) & SHOAL__REQUEST_ATTEMPTS_MAX;
    if (shoal__pipe_adopt(&to->pipe, &again, bytes, now_us) < 0)
        return SHOAL__PIPE_SURFACE;
    shoal__conn_touch(to);
    return SHOAL__PIPE_TAKEN;
}

static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    shoal__replica_t *replica = owner;
    shoal__replicas_t *replicas = replica->all;
    const shoal__refused_t refused = shoal__pipe_refused(pipe);
    shoal__replica_verdict_t verdict = shoal__replica_on_error(error);
    shoal__conn_t *to = NULL;

    if (verdict == SHOAL__REPLICA_AT_PRIMARY && replicas->may_use_primary)
        to = replicas->primary;
    if (verdict == SHOAL__REPLICA_ELSEWHERE) {
        replica->watch.refused_us = pipe->now_us;
        replicas->is_touched = true;
        to = next_for(replicas, request->attempts + 1u, pipe->now_us);
    }
    if (to && redirect(to, request, bytes, pipe->now_us) == SHOAL__PIPE_TAKEN)
        return SHOAL__PIPE_TAKEN;
    return shoal__pipe_send_again(pipe, &refused, error);
}

const shoal__conn_hooks_t shoal__replicas_conn_hooks = {.on_result = on_result,
                                                        .on_event = on_event,
                                                        .on_reading = on_reading,
                                                        .on_delivered = on_delivered,
                                                        .on_own = shoal__errand_on_own,
                                                        .on_error = on_error};

/* ---- the turn ---- */

static bool has_failed(void *data, const shoal__request_t *request, const char *bytes)
{
    (void)data, (void)bytes;
    return shoal__replica_has_failed(request->attempts);
}

/* Without memory they stay: the next turn tries again, or their deadlines pass. */
static void move(shoal__pipe_t *from, shoal__pipe_t *to, shoal__pipe_picks_fn picks,
                 uint64_t now_us)
{
    if (shoal__pipe_move_held(from, to, picks, NULL, now_us) == 0)
        shoal__pipe_move_queued(from, to, picks, NULL, now_us);
}

static void tell_of_zone(shoal__replicas_t *replicas, shoal__role_watch_t *watch)
{
    const shoal__conn_t *conn = watch->conn;
    char detail[SHOAL__TARGET_NAME_BYTES + 64];
    const shoal_event_t event = {.kind = SHOAL_EVENT_ZONE_UNKNOWN,
                                 .detail = detail,
                                 .epoch = shoal__counter_get(&conn->stats.epoch),
                                 .connection = conn->id,
                                 .server = conn->target->name};

    if (!watch->lacks_zone)
        return;
    watch->lacks_zone = false;
    if (replicas->has_told_zone)
        return;
    replicas->has_told_zone = true;
    snprintf(detail, sizeof detail, "%s does not say in which zone it is",
             event.server);
    replicas->hooks.on_event(replicas->owner, &event);
}

/* What waits at a replica that is not usable goes on. */
static void move_on(shoal__replicas_t *replicas, shoal__replica_t *replica,
                    uint64_t now_us)
{
    shoal__pipe_t *pipe = &replica->conn.pipe;
    shoal__replica_facts_t facts = shoal__replica_facts(replica);
    shoal__conn_t *to;

    if (shoal__replica_waiting(replica) == 0 ||
        shoal__replica_is_usable(&facts, now_us))
        return;
    shoal__conn_touch(&replica->conn);
    if (replicas->may_use_primary) {
        move(pipe, &replicas->primary->pipe, has_failed, now_us);
        shoal__conn_touch(replicas->primary);
    }
    to = next_for(replicas, 0, now_us);
    if (to)
        move(pipe, &to->pipe, NULL, now_us);
    else if (!facts.is_ready)
        move(pipe, &replicas->pen, NULL, now_us);
    if (to)
        shoal__conn_touch(to);
}

static void look_at(shoal__replicas_t *replicas, shoal__replica_t *replica,
                    uint64_t now_us)
{
    replica->watch.is_heard = false;
    if (replica->is_listed && !shoal__replica_is_open(replica))
        shoal__conn_open(&replica->conn);
    shoal__replica_ask(replica, now_us);
    tell_of_zone(replicas, &replica->watch);
    move_on(replicas, replica, now_us);
    if (!replica->is_listed && shoal__replica_is_open(replica) &&
        shoal__replica_is_empty(replica))
        shoal__conn_close(&replica->conn, now_us);
}

static void turn_pen(shoal__replicas_t *replicas, uint64_t now_us)
{
    shoal__pipe_t *pen = &replicas->pen;
    shoal__replica_t *replica;

    if (pen->ring.head == pen->ring.tail)
        return;
    pen->now_us = now_us;
    replica = choose(replicas, now_us);
    if (replica) {
        move(pen, &replica->conn.pipe, NULL, now_us);
        shoal__conn_touch(&replica->conn);
    } else
        shoal__replicas_explain(replicas, now_us);
    shoal__pipe_expire(pen);
    if (shoal__pipe_has_since(pen, SHOAL__NEVER_US))
        return;
    if (pen->ring.gone > 0)
        shoal__pipe_sweep(pen);
    shoal__buffer_shrink(&pen->log, PEN_BYTES_KEPT);
}

void shoal__replicas_turn(shoal__replicas_t *replicas, uint64_t now_us)
{
    replicas->is_touched = false;
    shoal__replicas_ask(replicas, now_us);
    if (replicas->takes_near_primary)
        shoal__role_watch_ask_zone(&replicas->primary_watch, now_us);
    tell_of_zone(replicas, &replicas->primary_watch);
    for (shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next)
        look_at(replicas, replica, now_us);
    turn_pen(replicas, now_us);
}

uint64_t shoal__replicas_next_wake_us(const shoal__replicas_t *replicas,
                                      uint64_t now_us)
{
    uint64_t wake_us = shoal__pipe_next_wake_us(&replicas->pen);

    if (replicas->is_touched)
        return now_us;
    if (shoal__replicas_may_ask(replicas))
        wake_us = shoal__time_min(wake_us, replicas->ask_us);
    for (size_t i = 0; i < replicas->count; i++) {
        const shoal__replica_t *replica = replicas->listed[i];
        if (replica->watch.is_heard)
            return now_us;
        wake_us = shoal__time_min(wake_us, shoal__replica_wake_us(replica));
        /* It is usable again then. */
        if (replica->watch.refused_us > 0 &&
            replica->watch.refused_us + SHOAL__REPLICA_REFUSED_US > now_us)
            wake_us = shoal__time_min(wake_us, replica->watch.refused_us +
                                                   SHOAL__REPLICA_REFUSED_US);
    }
    return wake_us;
}

/* ---- what others ask for ---- */

void shoal__replicas_read_ahead(shoal__replicas_t *replicas)
{
    for (size_t i = 0; i < replicas->count; i++)
        shoal__conn_read_ahead(&replicas->listed[i]->conn);
}

bool shoal__replicas_cancel(shoal__replicas_t *replicas, uint64_t ticket,
                            uint64_t now_us)
{
    for (shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next) {
        shoal__conn_touch(&replica->conn);
        if (shoal__pipe_cancel(&replica->conn.pipe, ticket, now_us))
            return true;
    }
    return shoal__pipe_cancel(&replicas->pen, ticket, now_us);
}

void shoal__replicas_authenticate(shoal__replicas_t *replicas, uint64_t now_us)
{
    for (shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next)
        if (shoal__replica_is_open(replica))
            shoal__conn_authenticate(&replica->conn, now_us);
}

void shoal__replicas_reconnect(shoal__replicas_t *replicas, uint64_t now_us)
{
    for (size_t i = 0; i < replicas->count; i++)
        shoal__conn_reconnect(&replicas->listed[i]->conn, SHOAL__CONN_ASKED_FOR,
                              now_us);
}

void shoal__replicas_publish(shoal__replicas_t *replicas)
{
    shoal__conn_set_count(replicas->primary->set, &replicas->pen);
}

/* Is it at rest, or waiting for another attempt? */
static bool is_idle(const shoal__replica_t *replica)
{
    return shoal__replica_is_empty(replica) &&
           replica->conn.state != SHOAL__CONN_DIALING &&
           replica->conn.state != SHOAL__CONN_GREETING &&
           !shoal__renewal_is_under_way(&replica->conn.pipe.renewal);
}

void shoal__replicas_view(const shoal__replicas_t *replicas, shoal__route_view_t *view)
{
    view->is_idle = view->is_idle && replicas->pen.ring.head == replicas->pen.ring.tail;
    for (const shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next) {
        const shoal__pipe_t *pipe = &replica->conn.pipe;
        view->is_idle = view->is_idle && is_idle(replica);
        if (shoal__home_is_ready(&replica->conn))
            view->wake_after =
                shoal__time_min(view->wake_after, shoal__pipe_wake_after(pipe));
        view->rtt_us = shoal__time_max(view->rtt_us, pipe->flush.learned.tempo.rtt_us);
    }
}

void shoal__replicas_each(const shoal__replicas_t *replicas,
                          shoal__route_visit_fn visit, void *data)
{
    shoal__route_member_t member;

    for (const shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next) {
        shoal__figures_read(&replica->conn, &member);
        visit(data, &member);
    }
}

int shoal__replicas_describe(const shoal__replicas_t *replicas,
                             shoal_topology_snapshot_t *snapshot)
{
    int rc = 0;

    for (const shoal__replica_t *replica = shoal__replicas_newest(replicas);
         replica && rc == 0; replica = replica->next) {
        shoal__snapshot_node_t node = shoal__figures_server(&replica->conn);
        node.role = SHOAL_NODE_REPLICA;
        node.primary = 0;
        if (replica->is_listed)
            rc = shoal__snapshot_add(snapshot, &node);
    }
    return rc;
}

void shoal__replicas_read(const shoal__replicas_t *replicas, shoal_stats_t *to)
{
    shoal__figures_add_waiting(&replicas->pen, to);
    to->replica_reads = shoal__counter_get(&replicas->taken);
}

/* ---- the beginning, and the end ---- */

int shoal__replicas_new(const shoal__replicas_plan_t *plan, shoal__replicas_t **ret)
{
    shoal__replicas_t *replicas = shoal__calloc(1, sizeof *replicas);
    const shoal__pipe_hooks_t pen_hooks = {.on_result = plan->hooks->on_result};
    shoal__pipe_parts_t parts;

    if (!replicas)
        return SHOAL_ENOMEM;
    replicas->primary = plan->primary;
    replicas->hooks = *plan->hooks;
    replicas->owner = plan->owner;
    replicas->options = plan->options;
    replicas->primary_watch = (shoal__role_watch_t){
        .conn = plan->primary, .zone = shoal__options_zone(plan->options)};
    replicas->takes_near_primary =
        plan->options->read_from == SHOAL_READ_ZONE_OR_PRIMARY;
    replicas->may_use_primary = plan->options->read_from != SHOAL_READ_REPLICA;
    replicas->is_named = plan->options->replicas_count > 0;
    replicas->config = *plan->primary->config;
    replicas->pen_config = replicas->config.pipe;
    replicas->config.pipe.is_ordinary = false;
    replicas->config.pipe.greeting.needs_primary = false;
    replicas->config.pipe.queue_offline = true; /* another server takes over */
    replicas->config.pipe.learns = false; /* large replies do not make a bulk lane */
    replicas->nowhere = (shoal__target_t){.name = "any replica"};
    parts = (shoal__pipe_parts_t){&replicas->pen_config, &replicas->nowhere,
                                  &plan->primary->set->shared};
    if (shoal__pipe_init(&replicas->pen, &parts, &pen_hooks, plan->owner) < 0) {
        shoal__free(replicas);
        return SHOAL_ENOMEM;
    }
    replicas->pen.is_pen = true;
    *ret = replicas;
    return 0;
}

void shoal__replicas_free(shoal__replicas_t *replicas)
{
    shoal__replica_t *replica, *next;

    if (!replicas)
        return;
    for (replica = shoal__replicas_newest(replicas); replica; replica = next) {
        next = replica->next;
        shoal__replica_free(replica);
    }
    shoal__pipe_release(&replicas->pen);
    shoal__free(replicas);
}

void shoal__replicas_shut(shoal__replicas_t *replicas, uint64_t now_us)
{
    shoal__pipe_abandon(&replicas->pen, now_us);
    for (shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next)
        shoal__conn_close(&replica->conn, now_us);
}

void shoal__replicas_forget(shoal__replicas_t *replicas)
{
    for (shoal__replica_t *replica = shoal__replicas_newest(replicas); replica;
         replica = replica->next)
        shoal__conn_forget(&replica->conn);
}
