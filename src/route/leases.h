/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LEASES_H
#define SHOAL_ROUTE_LEASES_H

/*
 * The leased connections of one client: who has which, who waits for one, and the
 * commands that block on the server, each of which gets a connection of its own.
 *
 *     lease without a connection, with commands -> gated -> line -> a connection (a "link")
 *     link: closed -> busy, with a lease -> cleaned -> idle -> the next lease, or closed
 *
 * A lease is gated while no server for it can be used; a blocking command also until that
 * server has answered what its caller submitted before on the shared connection.  The route
 * says which server that is (link.h), each time that it is needed: in a cluster another one
 * may do.  What has not left then goes back to the gate.
 *
 * All of it happens in the turn.  Other calls only leave something to be done there.
 *
 * Threads: the loop thread, but for shoal__leases_each().
 */

#include "core/lease.h"
#include "core/lease_pool.h"
#include "route/link.h"

typedef struct shoal__leases {
    shoal__conn_config_t config; /* that of the shared connections, but for ... */
    shoal__links_t common;
    uint64_t first_id;         /* the number of the first link */
    _Atomic uint32_t *count;   /* borrowed: `leases` of the route */
    shoal__list_t gated, line; /* leases */
    shoal__list_t closed, busy,
        idle; /* links; the idle one that was used last is last */
    size_t busy_count, idle_count;
    _Atomic(shoal__link_t *) links[SHOAL__LEASE_CONNECTIONS_MAX];
    _Atomic uint32_t links_count;
    shoal__list_t staged_leases;  /* of blocking commands that are to be placed */
    shoal__request_list_t staged; /* commands for leases that are there */
    uint64_t wake_us;             /* when the turn must look again */
    shoal__counter_t waiting_now, idle_now; /* for other threads */
    bool is_shut; /* all leases are over, or their holders' alone */
} shoal__leases_t;

/* What the leases of a client are given; the sites, the hooks and the configuration are
 * copied, all else is borrowed. */
typedef struct shoal__leases_plan {
    const shoal__conn_config_t *config; /* of shared connections */
    shoal__lease_sites_t sites;
    shoal__conn_set_t *set;
    shoal__pipe_t *home; /* see link.h */
    uint64_t first_id;
    const shoal__route_hooks_t *hooks;
    void *owner; /* of the hooks */
    _Atomic uint32_t *count;
} shoal__leases_plan_t;

void shoal__leases_init(shoal__leases_t *leases, const shoal__leases_plan_t *plan);
/* After shut, or if nothing was ever opened. */
void shoal__leases_release(shoal__leases_t *leases);

/* Take commands in: stage each of them (false: no memory), then admit them all, or drop
 * them all.  `slot`: as resp/command_slot.h says. */
bool shoal__leases_stage(shoal__leases_t *leases, const shoal__request_t *request,
                         const char *bytes, unsigned slot);
void shoal__leases_admit(shoal__leases_t *leases);
void shoal__leases_drop_staged(shoal__leases_t *leases);

/* Those that have no connection, and wait for none yet, become another route's. */
void shoal__leases_bequeath(shoal__leases_t *leases, shoal__leases_t *heir);

/* The holder gave the lease back. */
void shoal__leases_end(shoal__leases_t *leases, shoal_lease_t *lease);

bool shoal__leases_cancel(shoal__leases_t *leases, uint64_t ticket, uint64_t now_us);
void shoal__leases_reconnect(shoal__leases_t *leases);
/* Leases may have other servers now, or places. */
void shoal__leases_rouse(shoal__leases_t *leases);
/* Has a lease a connection to this server, or was it told to wait for it? */
bool shoal__leases_use(const shoal__leases_t *leases, const shoal__conn_t *site,
                       const void *named);
/* The server is forgotten: connections that are closed lead nowhere. */
void shoal__leases_forget_site(shoal__leases_t *leases, const shoal__conn_t *site);
/* Nobody needs this server any more: close what is idle. */
void shoal__leases_forsake(shoal__leases_t *leases, const shoal__conn_t *site);
/* The credentials changed: those in use are closed when they are given back. */
void shoal__leases_authenticate(shoal__leases_t *leases, uint64_t now_us);

/* Places of idle ones may be wanted by others. */
void shoal__leases_heed_places(shoal__leases_t *leases);
void shoal__leases_turn(shoal__leases_t *leases, uint64_t now_us);
/* Has the turn something to do? */
static inline bool shoal__leases_are_due(const shoal__leases_t *leases, uint64_t now_us)
{
    return leases->common.is_touched || now_us >= leases->wake_us ||
           leases->gated.next != &leases->gated;
}
uint64_t shoal__leases_next_wake_us(const shoal__leases_t *leases);
void shoal__leases_read_ahead(shoal__leases_t *leases);

/* Is no command outstanding, and no connection on its way? */
bool shoal__leases_are_idle(const shoal__leases_t *leases);
/* Visit every link.  Any thread. */
void shoal__leases_each(const shoal__leases_t *leases, shoal__route_visit_fn visit,
                        void *data);

/* How many there are.  Any thread. */
void shoal__leases_read(const shoal__leases_t *leases, shoal_stats_t *to);

void shoal__leases_shut(shoal__leases_t *leases, uint64_t now_us);
void shoal__leases_forget(shoal__leases_t *leases);

/* ---- between leases.c and leases_links.c ---- */

/* The server for the lease; NULL: there is none now. */
static inline shoal__conn_t *shoal__leases_site(const shoal__leases_t *leases,
                                                shoal_lease_t *lease)
{
    return leases->common.sites.find(leases->common.sites.route, lease);
}
/* A lease that lost its connection, or gave it back: it waits for another one, or ends. */
void shoal__leases_settle(shoal__leases_t *leases, shoal_lease_t *lease);
/* Fail the commands of a lease that takes no more. */
void shoal__leases_fail_over(shoal__leases_t *leases, shoal_lease_t *lease);
/* A link with a connection, or one that dials, for this lease; it is busy.  NULL: no
 * memory. */
shoal__link_t *shoal__leases_find_link(shoal__leases_t *leases, shoal_lease_t *lease,
                                       shoal__conn_t *site, uint64_t now_us);
/* May a connection to this server be had now? */
shoal__lease_source_t shoal__leases_source(const shoal__leases_t *leases,
                                           const shoal__conn_t *site);
/* The link has a lease with commands to send. */
void shoal__leases_feed(shoal__link_t *link, uint64_t now_us);
/* A busy link: has it something to do, or has its lease ended?  It may change its list. */
void shoal__leases_look_at(shoal__link_t *link, uint64_t now_us);
/* A server that has lost the slot of a command that blocks on it says so, unless it is dead:
 * the connection is given up then. */
static inline uint64_t shoal__leases_strands_us(const shoal__link_t *link)
{
    return link->astray_us + 3000000;
}
/* Close the idle ones that were lost, or idle for too long, or whose places others need. */
void shoal__leases_close_idle(shoal__leases_t *leases, uint64_t now_us);

#endif
