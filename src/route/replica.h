/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_REPLICA_H
#define SHOAL_ROUTE_REPLICA_H

/*
 * One replica: its connection, and what it says about itself.
 *
 * Loop thread, but for the figures of its connection, and whether it is listed.
 */

#include "net/conn.h"
#include "route/config.h"
#include "route/role_watch.h"
#include "route/route.h"

typedef struct shoal__replica {
    shoal__conn_t conn;
    struct shoal__replica *next; /* made before; NULL: none.  It never changes */
    shoal__target_t target;
    shoal__endpoint_t endpoint; /* of the target */
    char host[SHOAL__ROLE_REPLY_HOST_BYTES + 1];
    char name[SHOAL__TARGET_NAME_BYTES];
    struct shoal__replicas *all; /* borrowed: of route/replicas.c */
    _Atomic bool is_listed;      /* it is to be used; any thread reads */
    shoal__role_watch_t watch;
} shoal__replica_t;

typedef struct shoal__replica_plan {
    const shoal__conn_config_t *config; /* borrowed */
    const shoal__conn_hooks_t *hooks;   /* of its connection, whose owner it is */
    struct shoal__replicas *all;
    const shoal__target_t *primary; /* it has the same credentials */
    const char *zone;               /* whose replicas are preferred; NULL: any */
    shoal__conn_set_t *set;         /* borrowed */
    uint64_t id;
    shoal__bytes_t host; /* at most SHOAL__ROLE_REPLY_HOST_BYTES */
    int port;
} shoal__replica_plan_t;

/* NULL: no memory. */
shoal__replica_t *shoal__replica_new(const shoal__replica_plan_t *plan);
void shoal__replica_free(shoal__replica_t *replica);

static inline bool shoal__replica_is_at(const shoal__replica_t *replica,
                                        shoal__bytes_t host, int port)
{
    shoal__bytes_t own = {replica->host, strlen(replica->host)};

    return replica->endpoint.port == port && shoal__bytes_equal(own, host);
}

shoal__replica_facts_t shoal__replica_facts(const shoal__replica_t *replica);

/* Ask ROLE, if it is time. */
void shoal__replica_ask(shoal__replica_t *replica, uint64_t now_us);
/* When there is something to ask if nothing but time passes. */
uint64_t shoal__replica_wake_us(const shoal__replica_t *replica);

static inline bool shoal__replica_is_open(const shoal__replica_t *replica)
{
    return replica->conn.state != SHOAL__CONN_IDLE &&
           replica->conn.state != SHOAL__CONN_CLOSED;
}

/* Commands of which no byte has left, or that a loss put back. */
static inline uint64_t shoal__replica_waiting(const shoal__replica_t *replica)
{
    return shoal__pipe_held(&replica->conn.pipe) +
           shoal__pipe_queued(&replica->conn.pipe);
}

/* Is nothing outstanding? */
static inline bool shoal__replica_is_empty(const shoal__replica_t *replica)
{
    return replica->conn.pipe.ring.head == replica->conn.pipe.ring.tail &&
           shoal__pipe_held(&replica->conn.pipe) == 0;
}

/* Why it gets no commands: one line of text; "": nothing is known yet. */
void shoal__replica_say(const shoal__replica_t *replica, uint64_t now_us, char *text,
                        size_t text_bytes);

#endif
