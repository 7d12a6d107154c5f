/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LINKS_H
#define SHOAL_ROUTE_LINKS_H

/*
 * What the leased connections of one client, its links, have together.
 *
 * Loop thread.
 */

#include "core/lease.h"
#include "net/conn.h"
#include "route/route.h"

struct shoal__link;

/* Which server a lease needs: the route says that. */
typedef struct shoal__lease_sites {
    /* The connection that callers share to the server for this lease.  NULL: there is none
     * now that could be used. */
    shoal__conn_t *(*find)(void *route, shoal_lease_t *lease);
    /* Is a command outstanding for this server, or for the keys of the lease, that was
     * submitted at until_us or before? */
    bool (*has_since)(const void *route, const shoal_lease_t *lease,
                      const shoal__conn_t *site, uint64_t until_us);
    /* A server refused the blocking command of the link, by this error.  True: the command
     * was not executed, and goes to where find() says; the lease has noted what it needs.
     * NULL: all leases have the same server. */
    bool (*on_refused)(void *route, struct shoal__link *link,
                       const shoal__request_t *request, shoal__bytes_t error);
    void *route;
} shoal__lease_sites_t;

/* What the links of one client have together. */
typedef struct shoal__links {
    shoal__lease_sites_t sites;
    shoal__conn_set_t *set;     /* borrowed; ... */
    shoal__pipe_t *home;        /* counts what no connection got */
    shoal__route_hooks_t hooks; /* of the client, and their owner */
    void *owner;
    bool is_touched;       /* there is something to do in the next turn */
    shoal__list_t touched; /* links that it looks at; busy ones only */
} shoal__links_t;

#endif
