/* SPDX-License-Identifier: MIT */
#include "route/leases.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "resp/command_slot.h"
#include "route/figures.h"
#include "route/lease_queue.h"
#include <shoal/errors.h>
#include <string.h>

#define LEASE_AT(at) SHOAL__LIST_ENTRY(at, shoal_lease_t, node)
#define LINK_AT(at) SHOAL__LIST_ENTRY(at, shoal__link_t, node)

static const char closed[] = "the client was closed";

void shoal__leases_init(shoal__leases_t *leases, const shoal__leases_plan_t *plan)
{
    *leases = (shoal__leases_t){.config = *plan->config,
                                .common = {.sites = plan->sites,
                                           .set = plan->set,
                                           .home = plan->home,
                                           .hooks = *plan->hooks,
                                           .owner = plan->owner},
                                .first_id = plan->first_id,
                                .count = plan->count,
                                .wake_us = SHOAL__NEVER_US};
    /* What stands between MULTI and EXEC becomes part of it: no fence, no PING. */
    leases->config.pipe.greeting.integrity = SHOAL_INTEGRITY_SHAPES;
    leases->config.pipe.ping_idle_us = 0;
    leases->config.pipe.flush.mode = SHOAL_FLUSH_OFF;
    leases->config.pipe.is_ordinary = false;
    leases->config.pipe.keeps_units = false;
    leases->config.pipe.loads_scripts = false;
    shoal__list_init(&leases->gated);
    shoal__list_init(&leases->line);
    shoal__list_init(&leases->common.touched);
    shoal__list_init(&leases->closed);
    shoal__list_init(&leases->busy);
    shoal__list_init(&leases->idle);
    shoal__list_init(&leases->staged_leases);
    shoal__request_list_init(&leases->staged);
}

void shoal__leases_release(shoal__leases_t *leases)
{
    for (uint32_t i = 0; i < leases->links_count; i++) {
        shoal__link_t *link = leases->links[i];
        shoal__conn_release(&link->conn);
        shoal__free(link->notes);
        shoal__free(link);
    }
}

/* ---- leases ---- */

/* It waits for a server, and then for a connection. */
static void wait(shoal__leases_t *leases, shoal_lease_t *lease)
{
    if (shoal__list_is_empty(&lease->node))
        shoal__list_append(&leases->gated, &lease->node);
    leases->common.is_touched = true;
}

/* The next turn is to look at the lease. */
static void call_turn(shoal__leases_t *leases, shoal_lease_t *lease)
{
    if (lease->link)
        shoal__link_touch(lease->link);
    else
        wait(leases, lease);
}

/* The lease has nothing to do with connections any more. */
static void end_if_over(shoal__leases_t *leases, shoal_lease_t *lease)
{
    if (!lease->is_closed || lease->queue.count > 0)
        return;
    shoal__list_remove(&lease->node);
    atomic_fetch_sub(leases->count, 1);
    if (lease->client)
        leases->common.hooks.on_lease_over(leases->common.owner, lease);
    else
        shoal__free(lease);
}

void shoal__leases_settle(shoal__leases_t *leases, shoal_lease_t *lease)
{
    lease->link = NULL;
    lease->is_leaving = false;
    if (lease->queue.count > 0)
        wait(leases, lease);
    else
        end_if_over(leases, lease);
}

void shoal__leases_end(shoal__leases_t *leases, shoal_lease_t *lease)
{
    lease->is_closed = true;
    leases->common.is_touched = true;
    if (leases->is_shut)
        end_if_over(leases, lease);
    else
        call_turn(leases, lease); /* it ends the lease */
}

/* ---- commands in ---- */

static shoal_lease_t *new_lease(void)
{
    shoal_lease_t *lease = shoal__calloc(1, sizeof *lease);

    if (!lease)
        return NULL;
    shoal__list_init(&lease->node);
    shoal__request_list_init(&lease->queue);
    lease->slot = SHOAL__SLOT_NONE;
    lease->is_closed = true;
    return lease;
}

/* The first key that a lease names says which server it gets. */
static void note_slot(shoal_lease_t *lease, unsigned slot)
{
    if (lease->slot == SHOAL__SLOT_NONE && slot < SHOAL__SLOTS)
        lease->slot = slot;
}

bool shoal__leases_stage(shoal__leases_t *leases, const shoal__request_t *request,
                         const char *bytes, unsigned slot)
{
    shoal_lease_t *lease = SHOAL__REQUEST_LEASE(request);

    if (lease) {
        note_slot(lease, slot);
        return shoal__request_list_add(&leases->staged, request, bytes) == 0;
    }
    lease = new_lease();
    if (!lease || shoal__request_list_add(&lease->queue, request, bytes) < 0) {
        shoal__free(lease);
        return false;
    }
    note_slot(lease, slot);
    shoal__list_append(&leases->staged_leases, &lease->node);
    return true;
}

void shoal__leases_admit(shoal__leases_t *leases)
{
    shoal__listed_request_t *waiting;

    leases->common.is_touched = true;
    while (!shoal__list_is_empty(&leases->staged_leases)) {
        shoal_lease_t *lease = LEASE_AT(leases->staged_leases.next);
        shoal__list_remove(&lease->node);
        /* Counted from now on. */
        waiting = shoal__request_list_take_first(&lease->queue);
        shoal__lease_queue_add(&leases->common, lease, waiting);
        shoal__list_append(&leases->gated, &lease->node);
    }
    while ((waiting = shoal__request_list_take_first(&leases->staged)) != NULL) {
        shoal_lease_t *lease = waiting->request.extra->lease;
        shoal__lease_queue_add(&leases->common, lease, waiting);
        call_turn(leases, lease);
    }
}

void shoal__leases_bequeath(shoal__leases_t *leases, shoal__leases_t *heir)
{
    while (!shoal__list_is_empty(&leases->gated)) {
        shoal_lease_t *lease = LEASE_AT(leases->gated.next);
        shoal__list_remove(&lease->node);
        shoal__lease_queue_move(&leases->common, &heir->common, lease);
        shoal__list_append(&heir->gated, &lease->node);
    }
    heir->common.is_touched = true;
}

void shoal__leases_drop_staged(shoal__leases_t *leases)
{
    shoal__listed_request_t *waiting;

    while (!shoal__list_is_empty(&leases->staged_leases)) {
        shoal_lease_t *lease = LEASE_AT(leases->staged_leases.next);
        shoal__list_remove(&lease->node);
        shoal__free(shoal__request_list_take_first(&lease->queue));
        shoal__free(lease);
    }
    while ((waiting = shoal__request_list_take_first(&leases->staged)) != NULL)
        shoal__free(waiting);
}

static bool cancel_queued(shoal__leases_t *leases, shoal_lease_t *lease,
                          uint64_t ticket)
{
    if (!shoal__lease_queue_cancel(&leases->common, lease, ticket))
        return false;
    leases->common.is_touched = true;
    if (lease->link)
        shoal__link_touch(lease->link);
    return true;
}

bool shoal__leases_cancel(shoal__leases_t *leases, uint64_t ticket, uint64_t now_us)
{
    shoal__list_t *lines[] = {&leases->gated, &leases->line};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (shoal__list_t *at = lines[i]->next; at != lines[i]; at = at->next)
            if (cancel_queued(leases, LEASE_AT(at), ticket))
                return true;
    for (shoal__list_t *at = leases->busy.next; at != &leases->busy; at = at->next) {
        shoal__link_t *link = LINK_AT(at);
        if (link->lease && (cancel_queued(leases, link->lease, ticket) ||
                            shoal__link_cancel(link, ticket, now_us)))
            return true;
    }
    return false;
}

/* ---- the turn ---- */

void shoal__leases_fail_over(shoal__leases_t *leases, shoal_lease_t *lease)
{
    shoal__links_t *links = &leases->common;

    switch (lease->end) {
    case SHOAL__LEASE_GOES_ON:
        break;
    case SHOAL__LEASE_LOST:
        shoal__lease_queue_fail(links, lease, SHOAL_ECONN,
                                "the lease is broken: its connection was lost, and "
                                "what the server knew of it");
        break;
    case SHOAL__LEASE_SPENT:
        shoal__lease_queue_fail(links, lease, SHOAL_EREFUSED,
                                "MONITOR is the last command of a lease");
        break;
    case SHOAL__LEASE_GAP:
        shoal__lease_queue_fail_behind(links, lease);
        break;
    }
}

/* Callbacks append leases, and change their queues; they remove none. */
static void sweep(shoal__leases_t *leases, shoal__list_t *list, uint64_t now_us,
                  const char *detail)
{
    shoal__list_t *next;

    for (shoal__list_t *at = list->next; at != list; at = next) {
        shoal_lease_t *lease = LEASE_AT(at);
        shoal__lease_queue_expire(&leases->common, lease, now_us, detail);
        shoal__leases_fail_over(leases, lease);
        next = at->next;
        if (lease->queue.count > 0)
            continue;
        shoal__list_remove(&lease->node);
        end_if_over(leases, lease);
    }
}

/* One that takes no more, or whose commands are over, need not wait. */
static bool is_gate_shut(const shoal__leases_t *leases, shoal_lease_t *lease,
                         uint64_t now_us)
{
    const shoal__lease_sites_t *sites = &leases->common.sites;
    const shoal__list_t *first = lease->queue.waiting.next;
    shoal__conn_t *site;
    uint64_t since_us;

    if (!shoal__lease_queue_may_leave(lease))
        return false;
    if (now_us < lease->again_us)
        return true;
    site = shoal__leases_site(leases, lease);
    if (!site || lease->client)
        return !site;
    since_us = SHOAL__LIST_ENTRY(first, const shoal__listed_request_t, node)
                   ->request.submitted_us;
    return sites->has_since(sites->route, lease, site, since_us);
}

/* Has one been opened? */
static bool open_gates(shoal__leases_t *leases, uint64_t now_us)
{
    bool is_any = false;
    shoal__list_t *next;

    for (shoal__list_t *at = leases->gated.next; at != &leases->gated; at = next) {
        next = at->next;
        if (is_gate_shut(leases, LEASE_AT(at), now_us))
            continue;
        shoal__list_remove(at);
        shoal__list_append(&leases->line, at);
        is_any = true;
    }
    return is_any;
}

static void wake_for_link(shoal__leases_t *leases, const shoal__link_t *link)
{
    const shoal__link_asked_t *asked = &link->asked;
    uint64_t wake_us = leases->wake_us;

    if (asked->is_due && asked->ticket == 0)
        wake_us = shoal__time_min(wake_us, asked->until_us);
    if (asked->ticket != 0)
        wake_us = shoal__time_min(wake_us, asked->again_us);
    if (link->astray_us > 0)
        wake_us = shoal__time_min(wake_us, shoal__leases_strands_us(link));
    if (link->lease)
        wake_us =
            shoal__time_min(wake_us, shoal__request_list_next_us(&link->lease->queue));
    leases->wake_us = wake_us;
}

/* False: it waits in line. */
static bool serve(shoal__leases_t *leases, shoal_lease_t *lease, uint64_t now_us)
{
    bool is_served = shoal__lease_queue_may_leave(lease);
    shoal__conn_t *site = is_served ? shoal__leases_site(leases, lease) : NULL;
    shoal__link_t *link = NULL;

    if (site && shoal__leases_source(leases, site) == SHOAL__LEASE_WAIT)
        return false;
    shoal__list_remove(&lease->node);
    if (is_served && !site) { /* it was there when the gate was opened */
        wait(leases, lease);
        return true;
    }
    if (site)
        link = shoal__leases_find_link(leases, lease, site, now_us);
    lease->link = link;
    if (link) {
        if (lease->queue.count > 0) /* not if callbacks cancelled them */
            shoal__leases_feed(link, now_us);
        wake_for_link(leases, link);
        return true;
    }
    if (!is_served)
        shoal__leases_fail_over(leases, lease);
    else
        shoal__lease_queue_fail(&leases->common, lease, SHOAL_ENOMEM,
                                "no memory for a leased connection");
    shoal__leases_settle(leases, lease);
    return true;
}

static void serve_line(shoal__leases_t *leases, uint64_t now_us)
{
    shoal__list_t served;

    /* Those that callbacks add are for the next turn. */
    shoal__list_move(&leases->line, &served);
    while (!shoal__list_is_empty(&served) &&
           serve(leases, LEASE_AT(served.next), now_us))
        continue;
    /* In front of them. */
    while (!shoal__list_is_empty(&served)) {
        shoal__list_t *last = served.previous;
        shoal__list_remove(last);
        shoal__list_append(leases->line.next, last);
    }
}

/* Returns how many they are. */
static uint64_t wake_for(shoal__leases_t *leases, const shoal__list_t *list,
                         uint64_t now_us)
{
    uint64_t count = 0, wake_us = leases->wake_us;

    for (const shoal__list_t *at = list->next; at != list; at = at->next, count++) {
        const shoal_lease_t *lease = SHOAL__LIST_ENTRY(at, const shoal_lease_t, node);
        wake_us = shoal__time_min(wake_us, shoal__request_list_next_us(&lease->queue));
        if (lease->again_us > now_us)
            wake_us = shoal__time_min(wake_us, lease->again_us);
        if (lease->named && lease->named_until_us > now_us)
            wake_us = shoal__time_min(wake_us, lease->named_until_us);
    }
    leases->wake_us = wake_us;
    return count;
}

/* wake_us has come: which link asked for it is not known. */
static void touch_busy(shoal__leases_t *leases)
{
    leases->wake_us = SHOAL__NEVER_US;
    for (shoal__list_t *at = leases->busy.next; at != &leases->busy; at = at->next)
        shoal__link_touch(LINK_AT(at));
}

static void look_at_touched(shoal__leases_t *leases, uint64_t now_us)
{
    shoal__list_t touched;

    shoal__list_move(&leases->common.touched, &touched);
    while (!shoal__list_is_empty(&touched)) {
        shoal__link_t *link = SHOAL__LIST_ENTRY(touched.next, shoal__link_t, touched);
        shoal__list_remove(&link->touched);
        shoal__leases_look_at(link, now_us);
        if (link->is_busy)
            wake_for_link(leases, link);
    }
}

void shoal__leases_heed_places(shoal__leases_t *leases)
{
    if (leases->idle_count > 0 && shoal__places_are_short(&leases->common.set->places))
        leases->common.is_touched = true;
}

void shoal__leases_turn(shoal__leases_t *leases, uint64_t now_us)
{
    if (!open_gates(leases, now_us) && !leases->common.is_touched &&
        now_us < leases->wake_us)
        return;
    if (now_us >= leases->wake_us)
        touch_busy(leases);
    leases->common.is_touched = false;
    look_at_touched(leases, now_us);
    sweep(
        leases, &leases->gated, now_us,
        "the deadline passed while the command waited for the replies to its caller's "
        "earlier commands, or for a server that executes it");
    sweep(leases, &leases->line, now_us,
          "the deadline passed while the command waited for a connection of its own: "
          "all leased connections are taken, or as many are open as connections_max "
          "allows");
    shoal__leases_close_idle(leases, now_us); /* first: what was lost serves nobody */
    serve_line(leases, now_us);
    shoal__counter_set(&leases->waiting_now,
                       wake_for(leases, &leases->gated, now_us) +
                           wake_for(leases, &leases->line, now_us));
    shoal__counter_set(&leases->idle_now, leases->idle_count);
}

uint64_t shoal__leases_next_wake_us(const shoal__leases_t *leases)
{
    uint64_t wake_us = leases->wake_us;

    for (uint32_t i = 0; i < leases->links_count; i++)
        wake_us = shoal__time_min(
            wake_us, shoal__pipe_next_wake_us(&leases->links[i]->conn.pipe));
    return leases->common.is_touched ? 0 : wake_us;
}

/* ---- what others ask for ---- */

void shoal__leases_reconnect(shoal__leases_t *leases)
{
    for (shoal__list_t *at = leases->idle.next; at != &leases->idle; at = at->next)
        LINK_AT(at)->must_close = true;
    leases->common.is_touched = true;
}

void shoal__leases_rouse(shoal__leases_t *leases)
{
    leases->wake_us = 0;
}

void shoal__leases_forsake(shoal__leases_t *leases, const shoal__conn_t *site)
{
    for (shoal__list_t *at = leases->idle.next; at != &leases->idle; at = at->next)
        LINK_AT(at)->must_close |= LINK_AT(at)->site == site;
    leases->common.is_touched = true;
}

void shoal__leases_authenticate(shoal__leases_t *leases, uint64_t now_us)
{
    shoal__leases_reconnect(leases);
    for (shoal__list_t *at = leases->busy.next; at != &leases->busy; at = at->next) {
        shoal__link_t *link = LINK_AT(at);
        if (link->conn.state == SHOAL__CONN_READY)
            link->is_outdated = true;
        else
            shoal__conn_authenticate(&link->conn, now_us);
    }
}

void shoal__leases_read_ahead(shoal__leases_t *leases)
{
    for (uint32_t i = 0; i < leases->links_count; i++)
        shoal__conn_read_ahead(&leases->links[i]->conn);
}

bool shoal__leases_are_idle(const shoal__leases_t *leases)
{
    const shoal__list_t *at = leases->busy.next;

    if (leases->common.is_touched || !shoal__list_is_empty(&leases->gated) ||
        !shoal__list_is_empty(&leases->line))
        return false;
    for (; at != &leases->busy; at = at->next) {
        const shoal__link_t *link = SHOAL__LIST_ENTRY(at, const shoal__link_t, node);
        if (link->conn.state != SHOAL__CONN_READY || !link->lease ||
            link->lease->outstanding > 0 || link->asked.is_due ||
            link->lease->monitor.on_result)
            return false;
    }
    return true;
}

void shoal__leases_each(const shoal__leases_t *leases, shoal__route_visit_fn visit,
                        void *data)
{
    uint32_t count = leases->links_count;

    for (uint32_t i = 0; i < count; i++) {
        shoal__route_member_t member;
        shoal__figures_read(&leases->links[i]->conn, &member);
        visit(data, &member);
    }
}

void shoal__leases_read(const shoal__leases_t *leases, shoal_stats_t *to)
{
    to->leases_now = *leases->count;
    to->leases_waiting_now = shoal__counter_get(&leases->waiting_now);
    to->leases_idle_now = shoal__counter_get(&leases->idle_now);
}

/* ---- the end ---- */

static void shut_line(shoal__leases_t *leases, shoal__list_t *list)
{
    while (!shoal__list_is_empty(list)) {
        shoal_lease_t *lease = LEASE_AT(list->next);
        shoal__list_remove(&lease->node);
        shoal__lease_queue_fail(&leases->common, lease, SHOAL_ESHUTDOWN, closed);
        end_if_over(leases, lease);
    }
}

void shoal__leases_shut(shoal__leases_t *leases, uint64_t now_us)
{
    shut_line(leases, &leases->gated);
    shut_line(leases, &leases->line);
    for (uint32_t i = 0; i < leases->links_count; i++) {
        shoal__link_t *link = leases->links[i];
        shoal_lease_t *lease = link->lease;
        shoal__conn_close(&link->conn, now_us);
        shoal__link_end_monitor(link, SHOAL_ESHUTDOWN, closed);
        link->lease = NULL;
        if (!lease)
            continue;
        shoal__lease_queue_fail(&leases->common, lease, SHOAL_ESHUTDOWN, closed);
        shoal__leases_settle(leases, lease);
    }
    leases->is_shut = true;
}

void shoal__leases_forget(shoal__leases_t *leases)
{
    for (uint32_t i = 0; i < leases->links_count; i++)
        shoal__conn_forget(&leases->links[i]->conn);
}
