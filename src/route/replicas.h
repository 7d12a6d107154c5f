/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_REPLICAS_H
#define SHOAL_ROUTE_REPLICAS_H

/*
 * The replicas of a server, which execute reads: which of them exist, which one takes the
 * next commands, and where commands go that one of them cannot execute.
 *
 * The program names the replicas, or the primary does, or whoever found the primary
 * (shoal__replicas_list()).  core/replica_rule.h chooses.  Commands that a replica has not
 * executed move on, in their order: to another one, then to the primary, if that is
 * allowed; else they wait: where they are, for the replica, or in the pen, for any.
 *
 * Guarantee: a replica gets no command before it has said that it is one.
 *
 * Threads: the loop thread, but for shoal__replicas_each(), _describe() and _read().
 */

#include "core/options.h"
#include "net/conn.h"
#include "route/replica.h"
#include "route/route.h"

typedef struct shoal__replicas {
    shoal__conn_t *primary; /* borrowed */
    shoal__route_hooks_t hooks;
    void *owner;
    shoal__conn_config_t config; /* of the connections: the primary's, but for ... */
    shoal__pipe_config_t pen_config; /* the primary's */
    bool may_use_primary;
    bool
        takes_near_primary; /* if it is in the zone, it comes before replicas elsewhere */
    bool has_told_zone;     /* ... of a server that tells none */
    shoal__role_watch_t primary_watch;  /* of its zone */
    bool is_named;                      /* by the program */
    const shoal_options_t *options;     /* borrowed */
    _Atomic(shoal__replica_t *) newest; /* of all that ever were; any thread reads */
    size_t made;
    shoal__replica_t *listed[SHOAL_REPLICAS_MAX]; /* that may be used now */
    size_t count;
    shoal__replica_choice_t choice;
    shoal__pipe_t pen;       /* commands that wait for any of them */
    shoal__target_t nowhere; /* of the pen */
    uint64_t none_since_us;  /* none is usable since then; 0: one is */
    bool is_touched;         /* the next turn has something to do at once */
    bool is_asked;           /* the primary: which replicas has it? */
    const char *none;        /* why there is none; NULL: nothing is known yet */
    uint64_t ask_us;         /* ... or else not before */
    uint64_t primary_epoch;  /* of its connection that was asked */
    shoal__counter_t taken;
} shoal__replicas_t;

/* The one that was made last. */
static inline shoal__replica_t *
shoal__replicas_newest(const shoal__replicas_t *replicas)
{
    return atomic_load_explicit(&replicas->newest, memory_order_acquire);
}

typedef struct shoal__replicas_plan {
    const shoal_options_t *options;    /* borrowed */
    shoal__conn_t *primary;            /* borrowed: the ordinary connection */
    const shoal__route_hooks_t *hooks; /* copied */
    void *owner;                       /* of the hooks */
} shoal__replicas_plan_t;

/* 0 or SHOAL_ENOMEM. */
int shoal__replicas_new(const shoal__replicas_plan_t *plan, shoal__replicas_t **ret);
/* After shut, or before open; NULL is allowed. */
void shoal__replicas_free(shoal__replicas_t *replicas);

/* Begin: the set has its loop. */
void shoal__replicas_open(shoal__replicas_t *replicas);

typedef struct shoal__replica_name {
    shoal__bytes_t host;
    int port;
} shoal__replica_name_t;

/* These are all replicas now, up to SHOAL_REPLICAS_MAX of them. */
void shoal__replicas_list(shoal__replicas_t *replicas,
                          const shoal__replica_name_t *names, size_t count);

/* Where the next reads go; shoal__replicas_taken() when they were pushed there.  NULL: to
 * the primary. */
shoal__pipe_t *shoal__replicas_pipe(shoal__replicas_t *replicas, uint64_t now_us);
void shoal__replicas_taken(shoal__replicas_t *replicas, const shoal__pipe_t *pipe,
                           uint64_t commands);

/* Ask, open, move on, close; before the connections have their turn. */
void shoal__replicas_turn(shoal__replicas_t *replicas, uint64_t now_us);
/* When to be called again; also after the connections' turn. */
uint64_t shoal__replicas_next_wake_us(const shoal__replicas_t *replicas,
                                      uint64_t now_us);

void shoal__replicas_read_ahead(shoal__replicas_t *replicas);
bool shoal__replicas_cancel(shoal__replicas_t *replicas, uint64_t ticket,
                            uint64_t now_us);
/* The credentials, which are the primary's, changed. */
void shoal__replicas_authenticate(shoal__replicas_t *replicas, uint64_t now_us);
void shoal__replicas_reconnect(shoal__replicas_t *replicas, uint64_t now_us);
/* The commands in the pen count in the account. */
void shoal__replicas_publish(shoal__replicas_t *replicas);
/* Take account of them in what the client sees of its route. */
void shoal__replicas_view(const shoal__replicas_t *replicas, shoal__route_view_t *view);

/* Any thread. */
void shoal__replicas_each(const shoal__replicas_t *replicas,
                          shoal__route_visit_fn visit, void *data);
/* Add those that are listed to a snapshot whose first node is their primary.  0 or
 * SHOAL_ENOMEM. */
int shoal__replicas_describe(const shoal__replicas_t *replicas,
                             shoal_topology_snapshot_t *snapshot);
void shoal__replicas_read(const shoal__replicas_t *replicas, shoal_stats_t *to);

void shoal__replicas_shut(shoal__replicas_t *replicas, uint64_t now_us);
void shoal__replicas_forget(shoal__replicas_t *replicas);

/* ---- between replicas.c and replicas_list.c ---- */

/* Of each replica's connection, which is owned by the replica. */
extern const shoal__conn_hooks_t shoal__replicas_conn_hooks;

/* Ask the primary which replicas it has, if it is time; and is it to be asked? */
void shoal__replicas_ask(shoal__replicas_t *replicas, uint64_t now_us);
bool shoal__replicas_may_ask(const shoal__replicas_t *replicas);
/* Write into the pen why its commands wait. */
void shoal__replicas_explain(shoal__replicas_t *replicas, uint64_t now_us);

#endif
