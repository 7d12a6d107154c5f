/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_ROLE_WATCH_H
#define SHOAL_ROUTE_ROLE_WATCH_H

/*
 * Is the server of a connection a replica that may be read from?  It is asked ROLE when it is
 * connected, and every 5 s.  A replica of a cluster redirects reads, unless the connection
 * said READONLY before: that goes ahead of the first question.  If zones matter, the server is
 * asked for its INFO, once for each connection.
 *
 * Loop thread.
 */

#include "core/replica_rule.h"
#include "core/role_reply.h"
#include "net/conn.h"

/* How often servers are asked for their role. */
#define SHOAL__ROLE_ASK_US 5000000

typedef struct shoal__role_watch {
    shoal__conn_t *conn;            /* borrowed */
    bool says_readonly;             /* the server is a node of a cluster */
    bool is_heard;                  /* it answered ROLE since the owner looked last */
    bool is_asked;                  /* an answer to ROLE is due */
    bool is_readonly;               /* READONLY holds for what is sent from now on */
    bool is_readonly_accepted;      /* ... and was answered with OK */
    uint64_t ask_us;                /* ask again then */
    uint64_t epoch;                 /* of the connection that the next ones are about */
    shoal__role_t role;             /* UNKNOWN: it was not asked, or did not tell */
    uint64_t linked_us, refused_us; /* as in shoal__replica_facts_t */

    const char *zone;    /* of the client, borrowed; NULL: zones do not matter */
    bool is_zone_asked;  /* an answer to INFO is due */
    bool is_near;        /* the server is in the client's zone, it says ... */
    bool lacks_zone;     /* ... or that it is in none, since the owner looked last */
    uint64_t zone_epoch; /* ... over this connection */
} shoal__role_watch_t;

/* What is known.  is_ready: the connection takes commands. */
shoal__replica_facts_t shoal__role_watch_facts(const shoal__role_watch_t *watch);

/* Was it not asked since it was connected? */
bool shoal__role_watch_is_new(const shoal__role_watch_t *watch);
/* Is the server in the client's zone, as far as is known? */
bool shoal__role_watch_is_near(const shoal__role_watch_t *watch);
/* Ask for the zone, if it matters and is not known. */
void shoal__role_watch_ask_zone(shoal__role_watch_t *watch, uint64_t now_us);

/* Ask all, if it is time and the connection is ready. */
void shoal__role_watch_ask(shoal__role_watch_t *watch, uint64_t now_us);
/* When there is something to ask if nothing but time passes; NEVER. */
uint64_t shoal__role_watch_wake_us(const shoal__role_watch_t *watch);

/* The connection has another line: nothing was said over it. */
void shoal__role_watch_forget(shoal__role_watch_t *watch);
/* READONLY holds no longer for what is sent from now on.  Without memory it holds: try
 * again. */
void shoal__role_watch_end_readonly(shoal__role_watch_t *watch, uint64_t now_us);

#endif
