/* SPDX-License-Identifier: MIT */
#include "route/leases.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "route/figures.h"
#include <shoal/errors.h>
#include <string.h>

#define LEASE_AT(at) SHOAL__LIST_ENTRY(at, shoal_lease_t, node)
#define LINK_AT(at) SHOAL__LIST_ENTRY(at, shoal__link_t, node)

static const char closed[] = "the client was closed";

static shoal__leases_t *leases_of(const shoal__link_t *link)
{
    return SHOAL__LIST_ENTRY(link->links, shoal__leases_t, common);
}

void shoal__leases_init(shoal__leases_t *leases, shoal__conn_t *shared,
                        const shoal__route_hooks_t *hooks, void *owner,
                        _Atomic uint32_t *count)
{
    *leases =
        (shoal__leases_t){.config = *shared->config,
                          .common = {.shared = shared, .hooks = *hooks, .owner = owner},
                          .count = count,
                          .wake_us = SHOAL__NEVER_US};
    /* What stands between MULTI and EXEC becomes part of it: no fence, no PING. */
    leases->config.pipe.greeting.integrity = SHOAL_INTEGRITY_SHAPES;
    leases->config.pipe.ping_idle_us = 0;
    leases->config.pipe.flush.mode = SHOAL_FLUSH_OFF;
    shoal__list_init(&leases->gated);
    shoal__list_init(&leases->line);
    shoal__list_init(&leases->closed);
    shoal__list_init(&leases->busy);
    shoal__list_init(&leases->idle);
    shoal__list_init(&leases->staged_leases);
    shoal__retries_init(&leases->staged);
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

/* ---- commands without a connection ---- */

/* They are part of the route's account, beside those of the connections. */
static void count_waiting(const shoal__leases_t *leases,
                          const shoal__request_t *request, uint64_t commands)
{
    shoal__conn_set_t *set = leases->common.shared->set;

    set->queued += commands;
    set->bytes += commands * request->bytes;
}

/* Fail a command that no connection had.  The shared connection's statistics count it. */
static void finish(shoal__leases_t *leases, shoal__retry_t *waiting, int status,
                   const char *detail)
{
    shoal__request_t request = waiting->request;

    shoal__free(waiting);
    count_waiting(leases, &request, (uint64_t)-1);
    shoal__extra_drop(request.extra);
    shoal__pipe_deliver(&leases->common.shared->pipe, &request, status,
                        SHOAL_FATE_NOT_EXECUTED, NULL, request.attempts, detail);
}

static void fail_queue(shoal__leases_t *leases, shoal_lease_t *lease, int status,
                       const char *detail)
{
    shoal__retry_t *waiting;

    /* Not those that callbacks add. */
    for (size_t left = lease->queue.count;
         left > 0 && (waiting = shoal__retries_take_any(&lease->queue)) != NULL; left--)
        finish(leases, waiting, status, detail);
}

static void expire(shoal__leases_t *leases, shoal_lease_t *lease, uint64_t now_us,
                   const char *detail)
{
    shoal__retry_t *waiting;

    while ((waiting = shoal__retries_take_expired(&lease->queue, now_us)) != NULL)
        finish(leases, waiting, SHOAL_ETIMEOUT, detail);
}

/* The rest of a unit of which a command was given up: it goes as a whole. */
static shoal__retry_t *take_of_unit(shoal__retries_t *queue,
                                    const shoal__extra_t *extra)
{
    const shoal__list_t *at = queue->waiting.next;

    for (; at != &queue->waiting; at = at->next) {
        const shoal__request_t *request =
            &SHOAL__LIST_ENTRY(at, const shoal__retry_t, node)->request;
        if (request->extra == extra && (request->flags & SHOAL__REQUEST_UNIT))
            return shoal__retries_take_ticket(queue, request->ticket);
    }
    return NULL;
}

static bool cancel_queued(shoal__leases_t *leases, shoal_lease_t *lease,
                          uint64_t ticket)
{
    shoal__retry_t *waiting = shoal__retries_take_ticket(&lease->queue, ticket);
    bool is_unit = waiting && (waiting->request.flags & SHOAL__REQUEST_UNIT);
    const shoal__extra_t *extra = waiting ? waiting->request.extra : NULL;
    bool is_found = waiting != NULL;

    leases->common.is_touched |= is_found;
    while (waiting) {
        bool is_overdue = (waiting->request.flags & SHOAL__REQUEST_OVERDUE) != 0;
        finish(leases, waiting, is_overdue ? SHOAL_ETIMEOUT : SHOAL_ECANCELLED,
               "cancelled");
        waiting = is_unit ? take_of_unit(&lease->queue, extra) : NULL;
    }
    return is_found;
}

/* ---- leases ---- */

static void join(shoal__list_t *list, shoal_lease_t *lease)
{
    if (shoal__list_is_empty(&lease->node))
        shoal__list_append(list, &lease->node);
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

/* A lease that lost its connection, or gave it back. */
static void settle_lease(shoal__leases_t *leases, shoal_lease_t *lease)
{
    lease->link = NULL;
    if (lease->queue.count > 0)
        join(&leases->line, lease);
    else
        end_if_over(leases, lease);
}

void shoal__leases_end(shoal__leases_t *leases, shoal_lease_t *lease)
{
    lease->is_closed = true;
    leases->common.is_touched = true;
    if (leases->is_shut)
        end_if_over(leases, lease);
    else if (!lease->link)
        join(&leases->line, lease); /* the turn ends it */
}

/* ---- commands in ---- */

static shoal_lease_t *new_lease(void)
{
    shoal_lease_t *lease = shoal__calloc(1, sizeof *lease);

    if (!lease)
        return NULL;
    shoal__list_init(&lease->node);
    shoal__retries_init(&lease->queue);
    lease->is_closed = true;
    return lease;
}

bool shoal__leases_stage(shoal__leases_t *leases, const shoal__request_t *request,
                         const char *bytes)
{
    shoal_lease_t *lease;

    if (SHOAL__REQUEST_LEASE(request))
        return shoal__retries_add(&leases->staged, request, bytes, 0) == 0;
    lease = new_lease();
    if (!lease || shoal__retries_add(&lease->queue, request, bytes, 0) < 0) {
        shoal__free(lease);
        return false;
    }
    shoal__list_append(&leases->staged_leases, &lease->node);
    return true;
}

void shoal__leases_admit(shoal__leases_t *leases)
{
    shoal__retry_t *waiting;

    leases->common.is_touched = true;
    while (!shoal__list_is_empty(&leases->staged_leases)) {
        shoal_lease_t *lease = LEASE_AT(leases->staged_leases.next);
        const shoal__list_t *first = lease->queue.waiting.next;
        shoal__list_remove(&lease->node);
        count_waiting(
            leases, &SHOAL__LIST_ENTRY(first, const shoal__retry_t, node)->request, 1);
        shoal__list_append(&leases->gated, &lease->node);
    }
    while ((waiting = shoal__retries_take_any(&leases->staged)) != NULL) {
        shoal_lease_t *lease = waiting->request.extra->lease;
        count_waiting(leases, &waiting->request, 1);
        shoal__retries_put(&lease->queue, waiting);
        if (!lease->link)
            join(&leases->line, lease);
    }
}

void shoal__leases_drop_staged(shoal__leases_t *leases)
{
    shoal__retry_t *waiting;

    while (!shoal__list_is_empty(&leases->staged_leases)) {
        shoal_lease_t *lease = LEASE_AT(leases->staged_leases.next);
        shoal__list_remove(&lease->node);
        shoal__free(shoal__retries_take_any(&lease->queue));
        shoal__free(lease);
    }
    while ((waiting = shoal__retries_take_any(&leases->staged)) != NULL)
        shoal__free(waiting);
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

/* ---- links ---- */

static shoal__link_t *new_link(shoal__leases_t *leases)
{
    uint32_t at = leases->links_count;
    shoal__link_t *link = shoal__calloc(1, sizeof *link);
    const shoal__conn_plan_t plan = {.config = &leases->config,
                                     .target = leases->common.shared->target,
                                     .set = leases->common.shared->set,
                                     .id = leases->common.shared->id + 1 + at,
                                     .hooks = &shoal__link_hooks,
                                     .owner = link};

    if (!link || shoal__conn_init(&link->conn, &plan) < 0) {
        shoal__free(link);
        return NULL;
    }
    link->links = &leases->common;
    shoal__list_init(&link->node);
    leases->links[at] = link;
    leases->links_count = at + 1;
    return link;
}

/* A link with a connection, or one that dials.  NULL: no memory. */
static shoal__link_t *find_link(shoal__leases_t *leases, shoal__lease_source_t source)
{
    shoal__link_t *link;

    if (source == SHOAL__LEASE_FROM_POOL) {
        link = LINK_AT(leases->idle.previous);
        leases->idle_count--;
    } else if (!shoal__list_is_empty(&leases->closed)) {
        link = LINK_AT(leases->closed.next);
    } else {
        link = new_link(leases);
    }
    if (!link)
        return NULL;
    shoal__list_remove(&link->node);
    shoal__list_append(&leases->busy, &link->node);
    leases->busy_count++;
    if (source != SHOAL__LEASE_FROM_POOL)
        shoal__conn_open(&link->conn);
    return link;
}

/* Nothing of it is in a list of links. */
static void close_link(shoal__link_t *link, uint64_t now_us)
{
    shoal__leases_t *leases = leases_of(link);
    shoal_lease_t *lease = link->lease;

    if (link->why) /* something may be outstanding */
        shoal__conn_drop(&link->conn, link->why);
    shoal__conn_close(&link->conn, now_us);
    link->lease = NULL;
    link->bits = 0;
    link->notes_count = 0;
    link->cleaning = 0;
    link->asked.is_due = link->must_close = false;
    link->why = NULL;
    shoal__list_append(&leases->closed, &link->node);
    if (!lease)
        return;
    lease->is_broken = lease->is_broken || link->conn.pipe.is_broken;
    settle_lease(leases, lease);
}

static void close_busy(shoal__link_t *link, uint64_t now_us)
{
    shoal__list_remove(&link->node);
    leases_of(link)->busy_count--;
    close_link(link, now_us);
}

static void rest(shoal__link_t *link, uint64_t now_us)
{
    shoal__leases_t *leases = leases_of(link);

    shoal__list_remove(&link->node);
    leases->busy_count--;
    link->idle_since_us = now_us;
    shoal__list_append(&leases->idle, &link->node);
    leases->idle_count++;
}

static void give_back(shoal__link_t *link, uint64_t now_us)
{
    shoal__pipe_t *pipe = &link->conn.pipe;
    shoal_lease_t *lease = link->lease;

    link->lease = NULL;
    if (pipe->ring.head != pipe->ring.tail)
        link->why = "its holder left before every reply came";
    settle_lease(leases_of(link), lease);
    shoal__pipe_bind(pipe, false);
    if (!shoal__link_clean(link, now_us))
        close_busy(link, now_us);
    else if (link->cleaning == 0)
        rest(link, now_us);
}

/* The link has a lease with commands to send. */
static void feed(shoal__link_t *link, uint64_t now_us)
{
    shoal__leases_t *leases = leases_of(link);

    /* What was asked for one blocking command must not hit the next. */
    if (link->asked.is_due)
        expire(leases, link->lease, now_us,
               "the deadline passed while another command was being given up");
    else if (!shoal__link_take(link, now_us))
        fail_queue(leases, link->lease, SHOAL_ENOMEM, "no memory to queue the command");
}

static void look_at(shoal__link_t *link, uint64_t now_us)
{
    shoal_lease_t *lease = link->lease;
    const shoal__link_asked_t *asked = &link->asked;

    if (asked->is_due && asked->ticket == 0 && now_us >= asked->until_us) {
        link->must_close = true;
        link->why = "the answer to CLIENT UNBLOCK did not come";
    }
    if (link->must_close)
        close_busy(link, now_us);
    else if (!lease && link->cleaning == 0)
        rest(link, now_us);
    else if (!lease)
        return;
    else if (lease->queue.count > 0)
        feed(link, now_us);
    else if (lease->outstanding == 0 && lease->is_closed && !asked->is_due)
        give_back(link, now_us);
    else if (lease->outstanding == 0 && link->conn.state == SHOAL__CONN_BACKOFF)
        close_busy(link, now_us); /* it carried nothing: the next command dials */
}

/* ---- the turn ---- */

/* Callbacks append leases, and change their queues; they remove none. */
static void sweep(shoal__leases_t *leases, shoal__list_t *list, uint64_t now_us,
                  const char *detail)
{
    shoal__list_t *next;

    for (shoal__list_t *at = list->next; at != list; at = next) {
        shoal_lease_t *lease = LEASE_AT(at);
        expire(leases, lease, now_us, detail);
        next = at->next;
        if (lease->queue.count > 0)
            continue;
        shoal__list_remove(&lease->node);
        end_if_over(leases, lease);
    }
}

static bool is_gate_shut(const shoal__leases_t *leases)
{
    const shoal_lease_t *lease = LEASE_AT(leases->gated.next);
    const shoal__list_t *first = lease->queue.waiting.next;

    return first != &lease->queue.waiting &&
           shoal__pipe_has_since(&leases->common.shared->pipe,
                                 SHOAL__LIST_ENTRY(first, const shoal__retry_t, node)
                                     ->request.submitted_us);
}

static void open_gates(shoal__leases_t *leases)
{
    while (!shoal__list_is_empty(&leases->gated) && !is_gate_shut(leases)) {
        shoal__list_t *first = leases->gated.next;
        shoal__list_remove(first);
        shoal__list_append(&leases->line, first);
    }
}

static void serve(shoal__leases_t *leases, shoal_lease_t *lease,
                  shoal__lease_source_t source, uint64_t now_us)
{
    bool is_served = !lease->is_broken && lease->queue.count > 0;
    shoal__link_t *link = is_served ? find_link(leases, source) : NULL;

    shoal__list_remove(&lease->node);
    if (lease->queue.count == 0) {
        settle_lease(leases, lease); /* callbacks cancelled its commands */
    } else if (lease->is_broken) {
        fail_queue(leases, lease, SHOAL_ECONN,
                   "the lease is broken: its connection was lost, and what the server "
                   "knew of it");
        settle_lease(leases, lease);
    } else if (!link) {
        fail_queue(leases, lease, SHOAL_ENOMEM, "no memory for a leased connection");
        settle_lease(leases, lease);
    } else {
        link->lease = lease;
        lease->link = link;
        shoal__pipe_bind(&link->conn.pipe, lease->client != NULL);
        feed(link, now_us);
    }
}

static void serve_line(shoal__leases_t *leases, uint64_t now_us)
{
    shoal__list_t served;

    /* Those that callbacks add are for the next turn. */
    shoal__list_move(&leases->line, &served);
    while (!shoal__list_is_empty(&served)) {
        shoal_lease_t *lease = LEASE_AT(served.next);
        shoal__lease_source_t source =
            shoal__lease_pool_source(leases->idle_count, leases->busy_count);
        if (source == SHOAL__LEASE_WAIT && !lease->is_broken)
            break;
        serve(leases, lease, source, now_us);
    }
    /* In front of them. */
    while (!shoal__list_is_empty(&served)) {
        shoal__list_t *last = served.previous;
        shoal__list_remove(last);
        shoal__list_append(leases->line.next, last);
    }
}

static void close_idle(shoal__leases_t *leases, uint64_t now_us)
{
    size_t younger = leases->idle_count;
    shoal__list_t *next;

    for (shoal__list_t *at = leases->idle.next; at != &leases->idle; at = next) {
        shoal__link_t *link = LINK_AT(at);
        uint64_t until_us = shoal__lease_pool_until_us(--younger, link->idle_since_us);
        next = at->next;
        if (!link->must_close && now_us < until_us) {
            leases->wake_us = shoal__time_min(leases->wake_us, until_us);
            continue;
        }
        shoal__list_remove(&link->node);
        leases->idle_count--;
        close_link(link, now_us);
    }
}

/* Returns how many they are. */
static uint64_t wake_for(shoal__leases_t *leases, const shoal__list_t *list)
{
    uint64_t count = 0;

    for (const shoal__list_t *at = list->next; at != list; at = at->next, count++)
        leases->wake_us = shoal__time_min(
            leases->wake_us,
            shoal__retries_next_us(
                &SHOAL__LIST_ENTRY(at, const shoal_lease_t, node)->queue, false));
    return count;
}

static void wake_for_links(shoal__leases_t *leases)
{
    for (shoal__list_t *at = leases->busy.next; at != &leases->busy; at = at->next) {
        const shoal__link_t *link = LINK_AT(at);
        if (link->asked.is_due && link->asked.ticket == 0)
            leases->wake_us = shoal__time_min(leases->wake_us, link->asked.until_us);
        if (link->lease)
            leases->wake_us = shoal__time_min(
                leases->wake_us, shoal__retries_next_us(&link->lease->queue, false));
    }
}

void shoal__leases_turn(shoal__leases_t *leases, uint64_t now_us)
{
    shoal__list_t *next;

    if (!leases->common.is_touched && now_us < leases->wake_us && is_gate_shut(leases))
        return;
    leases->common.is_touched = false;
    leases->wake_us = SHOAL__NEVER_US;
    for (shoal__list_t *at = leases->busy.next; at != &leases->busy; at = next) {
        next = at->next;
        look_at(LINK_AT(at), now_us);
    }
    sweep(
        leases, &leases->gated, now_us,
        "the deadline passed while the command waited for the replies to its caller's "
        "earlier commands");
    sweep(leases, &leases->line, now_us,
          "the deadline passed while the command waited for a connection of its own: "
          "all leased connections are taken");
    open_gates(leases);
    close_idle(leases, now_us); /* first: what was lost serves nobody */
    serve_line(leases, now_us);
    shoal__counter_set(&leases->waiting_now, wake_for(leases, &leases->gated) +
                                                 wake_for(leases, &leases->line));
    shoal__counter_set(&leases->idle_now, leases->idle_count);
    wake_for_links(leases);
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
            link->lease->outstanding > 0 || link->asked.is_due)
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

void shoal__leases_on_own(void *owner, const shoal__request_t *request,
                          const shoal_result_t *result)
{
    (void)owner;
    (void)result;
    if (request->data)
        shoal__link_was_answered(request->data, request->tag);
}

/* ---- the end ---- */

static void shut_line(shoal__leases_t *leases, shoal__list_t *list)
{
    while (!shoal__list_is_empty(list)) {
        shoal_lease_t *lease = LEASE_AT(list->next);
        shoal__list_remove(&lease->node);
        fail_queue(leases, lease, SHOAL_ESHUTDOWN, closed);
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
        link->lease = NULL;
        if (!lease)
            continue;
        fail_queue(leases, lease, SHOAL_ESHUTDOWN, closed);
        settle_lease(leases, lease);
    }
    leases->is_shut = true;
}

void shoal__leases_forget(shoal__leases_t *leases)
{
    for (uint32_t i = 0; i < leases->links_count; i++)
        shoal__conn_forget(&leases->links[i]->conn);
}
