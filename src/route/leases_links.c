/* SPDX-License-Identifier: MIT */

/* The links of a client's leases: where one comes from, who has it, when it is closed. */

#include "base/alloc.h"
#include "route/lease_queue.h"
#include "route/leases.h"
#include <shoal/errors.h>

#define LINK_AT(at) SHOAL__LIST_ENTRY(at, shoal__link_t, node)

static shoal__leases_t *leases_of(const shoal__link_t *link)
{
    return SHOAL__LIST_ENTRY(link->links, shoal__leases_t, common);
}

/* ---- taken ---- */

static shoal__link_t *new_link(shoal__leases_t *leases, const shoal__conn_t *site)
{
    uint32_t at = leases->links_count;
    shoal__link_t *link = shoal__calloc(1, sizeof *link);
    const shoal__conn_plan_t plan = {.config = &leases->config,
                                     .target = site->target,
                                     .set = leases->common.set,
                                     .id = leases->first_id + at,
                                     .hooks = &shoal__link_hooks,
                                     .owner = link};

    if (!link || shoal__conn_init(&link->conn, &plan) < 0) {
        shoal__free(link);
        return NULL;
    }
    link->links = &leases->common;
    shoal__list_init(&link->node);
    shoal__list_init(&link->touched);
    leases->links[at] = link;
    leases->links_count = at + 1;
    return link;
}

/* Nothing of it is in a list of links. */
static void close_link(shoal__link_t *link, uint64_t now_us)
{
    shoal__leases_t *leases = leases_of(link);
    shoal_lease_t *lease = link->lease;

    if (link->why) /* something may be outstanding */
        shoal__conn_give_up(&link->conn, link->why, now_us);
    else
        shoal__conn_close(&link->conn, now_us);
    shoal__link_end_monitor(link, SHOAL_ECONN,
                            link->why ? link->why : "the connection was closed");
    link->lease = NULL;
    link->bits = 0;
    link->notes_count = 0;
    link->cleaning = 0;
    link->blocking = 0;
    link->asked.is_due = link->must_close = link->is_outdated = false;
    link->why = NULL;
    link->astray_us = 0;
    shoal__list_append(&leases->closed, &link->node);
    if (!lease)
        return;
    if (lease->end != SHOAL__LEASE_SPENT && link->conn.pipe.is_broken)
        lease->end = SHOAL__LEASE_LOST;
    shoal__leases_settle(leases, lease);
}

/* The one that became idle last; NULL: there is none. */
static shoal__link_t *find_idle(const shoal__leases_t *leases,
                                const shoal__conn_t *site)
{
    for (shoal__list_t *at = leases->idle.previous; at != &leases->idle;
         at = at->previous)
        if (LINK_AT(at)->site == site)
            return LINK_AT(at);
    return NULL;
}

shoal__lease_source_t shoal__leases_source(const shoal__leases_t *leases,
                                           const shoal__conn_t *site)
{
    bool has_idle = find_idle(leases, site) != NULL;

    return shoal__lease_pool_source(has_idle, leases->idle_count - has_idle,
                                    leases->busy_count, &leases->common.set->places);
}

static void close_idle(shoal__link_t *link, uint64_t now_us)
{
    shoal__list_remove(&link->node);
    leases_of(link)->idle_count--;
    close_link(link, now_us);
}

/* One that is closed, or a new one; if there are as many as may be, or no place, the idle one of
 * another server that was used least lately.  NULL: no memory. */
static shoal__link_t *find_closed(shoal__leases_t *leases, shoal__conn_t *site,
                                  uint64_t now_us)
{
    shoal__link_t *link;

    if (!shoal__places_have_room(&leases->common.set->places, false))
        close_idle(LINK_AT(leases->idle.next), now_us);
    if (shoal__list_is_empty(&leases->closed) &&
        leases->links_count < SHOAL__LEASE_CONNECTIONS_MAX)
        return new_link(leases, site);
    if (shoal__list_is_empty(&leases->closed))
        close_idle(LINK_AT(leases->idle.next), now_us);
    link = LINK_AT(leases->closed.next);
    if (link->site != site)
        shoal__conn_lead(&link->conn, site->target);
    return link;
}

shoal__link_t *shoal__leases_find_link(shoal__leases_t *leases, shoal_lease_t *lease,
                                       shoal__conn_t *site, uint64_t now_us)
{
    shoal__link_t *link = find_idle(leases, site);
    bool is_open = link != NULL;

    if (is_open)
        leases->idle_count--;
    else
        link = find_closed(leases, site, now_us);
    if (!link)
        return NULL;
    link->site = site;
    shoal__list_remove(&link->node);
    shoal__list_append(&leases->busy, &link->node);
    leases->busy_count++;
    link->is_busy = true;
    link->lease = lease; /* the attempt may fail at once: it is its holder's */
    shoal__pipe_bind(&link->conn.pipe, lease->client != NULL);
    if (!is_open)
        shoal__conn_open(&link->conn);
    return link;
}

static void leave_busy(shoal__link_t *link)
{
    shoal__list_remove(&link->node);
    shoal__list_remove(&link->touched);
    link->is_busy = false;
    leases_of(link)->busy_count--;
}

static void close_busy(shoal__link_t *link, uint64_t now_us)
{
    leave_busy(link);
    close_link(link, now_us);
}

static void rest(shoal__link_t *link, uint64_t now_us)
{
    shoal__leases_t *leases = leases_of(link);

    leave_busy(link);
    link->idle_since_us = now_us;
    shoal__list_append(&leases->idle, &link->node);
    leases->idle_count++;
}

/* It may have a holder.  One that dials yet has none until it is ready. */
static bool is_clean(const shoal__link_t *link)
{
    return link->cleaning == 0 && link->conn.state == SHOAL__CONN_READY;
}

/* It would be exchanged under its next holder, leads to a server that is the primary no more,
 * or has former credentials. */
static bool is_outdated(const shoal__link_t *link)
{
    if (link->is_outdated)
        return true;
    return link->conn.pipe.renewal.state != SHOAL__RENEWAL_NONE ||
           shoal__conn_is_elsewhere(&link->conn);
}

static void give_back(shoal__link_t *link, uint64_t now_us)
{
    shoal__pipe_t *pipe = &link->conn.pipe;
    shoal_lease_t *lease = link->lease;

    shoal__link_end_monitor(link, SHOAL_ECANCELLED, "the lease was closed");
    link->lease = NULL;
    if (pipe->ring.tail - pipe->ring.head != pipe->ring.gone)
        link->why = "its holder left before every reply came";
    shoal__leases_settle(leases_of(link), lease);
    shoal__pipe_bind(pipe, false);
    if (is_outdated(link) || !shoal__link_clean(link, now_us))
        close_busy(link, now_us);
    else if (is_clean(link))
        rest(link, now_us);
}

void shoal__leases_feed(shoal__link_t *link, uint64_t now_us)
{
    shoal__leases_t *leases = leases_of(link);

    shoal__lease_queue_expire(&leases->common, link->lease, now_us,
                              "the deadline passed while another command of the lease "
                              "blocked");
    if (link->lease->end)
        shoal__leases_fail_over(leases, link->lease);
    if (shoal__lease_queue_may_leave(link->lease) && !shoal__link_take(link, now_us))
        shoal__lease_queue_fail(&leases->common, link->lease, SHOAL_ENOMEM,
                                "no memory to queue the command");
    /* What failed may have been the last of a closed lease; callbacks may have added. */
    if (link->lease->queue.count == 0 ? link->lease->outstanding == 0
                                      : !shoal__lease_queue_may_leave(link->lease))
        shoal__link_touch(link);
}

/* Another server takes what this one never got: it goes back to its lease.  What blocks on
 * this one is let go by it, unless it is dead. */
static void look_for_others(shoal__link_t *link, uint64_t now_us)
{
    shoal_lease_t *lease = link->lease;
    bool is_ready = link->conn.state == SHOAL__CONN_READY;
    const shoal__conn_t *site;

    if (!lease || link->must_close || link->conn.pipe.is_broken ||
        (is_ready && (lease->client || lease->outstanding == 0)))
        return;
    site = shoal__leases_site(leases_of(link), lease);
    if (site == link->site)
        link->astray_us = 0;
    else if (!is_ready)
        link->must_close = shoal__link_give_back(link, now_us);
    else if (link->astray_us == 0)
        link->astray_us = site ? now_us : 0;
    else if (now_us >= shoal__leases_strands_us(link)) {
        link->must_close = true;
        link->why = "the server is silent, and has lost the slot of the command";
    }
}

void shoal__leases_look_at(shoal__link_t *link, uint64_t now_us)
{
    look_for_others(link, now_us);

    shoal_lease_t *lease = link->lease;
    const shoal__link_asked_t *asked = &link->asked;
    bool is_done = lease && lease->queue.count == 0 && lease->outstanding == 0;
    bool is_returned =
        lease && !asked->is_due && ((is_done && lease->is_closed) || lease->is_leaving);
    /* It carried nothing: the next command dials. */
    bool is_vain = is_done && !is_returned && link->conn.state == SHOAL__CONN_BACKOFF;

    if (asked->is_due && asked->ticket == 0 && now_us >= asked->until_us) {
        link->must_close = true;
        link->why = "the answer to CLIENT UNBLOCK did not come";
    }
    shoal__link_ask_again(link, now_us);
    if (link->must_close || is_vain || (!lease && is_outdated(link)))
        close_busy(link, now_us);
    else if (!lease && is_clean(link))
        rest(link, now_us);
    else if (is_returned)
        give_back(link, now_us);
    else if (lease && lease->queue.count > 0)
        shoal__leases_feed(link, now_us);
}

/* Those that lead to the same server, and were used later. */
static size_t count_younger(const shoal__link_t *link)
{
    const shoal__list_t *end = &leases_of(link)->idle;
    size_t count = 0;

    for (const shoal__list_t *at = link->node.next; at != end; at = at->next)
        count += SHOAL__LIST_ENTRY(at, const shoal__link_t, node)->site == link->site;
    return count;
}

void shoal__leases_close_idle(shoal__leases_t *leases, uint64_t now_us)
{
    const shoal__places_t *places = &leases->common.set->places;
    shoal__list_t *next;

    for (shoal__list_t *at = leases->idle.next; at != &leases->idle; at = next) {
        shoal__link_t *link = LINK_AT(at);
        uint64_t until_us =
            shoal__lease_pool_until_us(count_younger(link), link->idle_since_us);
        next = at->next;
        if (!link->must_close && now_us < until_us && !shoal__places_are_short(places))
            leases->wake_us = shoal__time_min(leases->wake_us, until_us);
        else
            close_idle(link, now_us);
    }
}

/* ---- servers that are forgotten ---- */

static bool is_named(const shoal__list_t *list, const void *named)
{
    for (const shoal__list_t *at = list->next; at != list; at = at->next)
        if (SHOAL__LIST_ENTRY(at, const shoal_lease_t, node)->named == named)
            return true;
    return false;
}

static bool leads_to(const shoal__list_t *list, const shoal__conn_t *site,
                     const void *named)
{
    for (const shoal__list_t *at = list->next; at != list; at = at->next) {
        const shoal__link_t *link = SHOAL__LIST_ENTRY(at, const shoal__link_t, node);
        if (link->site == site || (link->lease && link->lease->named == named))
            return true;
    }
    return false;
}

bool shoal__leases_use(const shoal__leases_t *leases, const shoal__conn_t *site,
                       const void *named)
{
    return is_named(&leases->gated, named) || is_named(&leases->line, named) ||
           leads_to(&leases->busy, site, named) || leads_to(&leases->idle, site, named);
}

void shoal__leases_forget_site(shoal__leases_t *leases, const shoal__conn_t *site)
{
    for (shoal__list_t *at = leases->closed.next; at != &leases->closed; at = at->next)
        if (LINK_AT(at)->site == site)
            LINK_AT(at)->site = NULL;
}
