/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SENTINEL_H
#define SHOAL_ROUTE_SENTINEL_H

/*
 * Finds the primary by asking sentinels: a finder (net/finder.h) for the target of a
 * route.  core/sentinel/sentinel_rule.h decides.
 *
 * It has a connection to each sentinel, and asks all of them, in a round:
 *
 *   - when a connection to the primary is to be dialed;
 *   - when a sentinel says that the primary was exchanged;
 *   - every 5 s.
 *
 * If they name another server than before, the target changes; the route then connects
 * anew.  A dial begins with a search, so no address is dialed that the sentinels do not
 * name; and a server is only used once it answered ROLE with "master", in the greeting.
 *
 * Loop thread.
 */

#include "core/options.h"
#include "net/conn.h"
#include "net/finder.h"
#include "route/route.h"

typedef struct shoal__sentinel shoal__sentinel_t;

typedef struct shoal__sentinel_plan {
    const shoal_options_t *options;     /* borrowed: has sentinels */
    const shoal__conn_config_t *config; /* of the connections to the primary; copied */
    shoal__conn_set_t *set;             /* borrowed */
    shoal__target_t *target;            /* borrowed: its server is found by this */
    const shoal__conn_t *first; /* borrowed: a connection to the target, whose attempts
                                   tell whether an address leads to the primary */
    const shoal__route_hooks_t *hooks; /* copied */
    void *owner;                       /* of the hooks */
} shoal__sentinel_plan_t;

/* 0 or SHOAL_ENOMEM.  The target has a finder from then on. */
int shoal__sentinel_new(const shoal__sentinel_plan_t *plan,
                        shoal__sentinel_t **ret_sentinel);
/* Begin, before the first dial. */
void shoal__sentinel_open(shoal__sentinel_t *sentinel);

/* Ask, listen, decide.  Before the connections work. */
void shoal__sentinel_turn(shoal__sentinel_t *sentinel, uint64_t now_us);
/* When a turn is due if nothing but time passes. */
uint64_t shoal__sentinel_next_wake_us(const shoal__sentinel_t *sentinel,
                                      uint64_t now_us);
/* Is no connection to a sentinel being made?  Then it is enough to read ahead. */
bool shoal__sentinel_is_calm(const shoal__sentinel_t *sentinel);
/* Take in what has arrived, but no more often than is useful. */
void shoal__sentinel_read_ahead(shoal__sentinel_t *sentinel, uint64_t now_us);

void shoal__sentinel_shut(shoal__sentinel_t *sentinel, uint64_t now_us);
void shoal__sentinel_forget(shoal__sentinel_t *sentinel);
/* After shut, or before open; NULL is allowed. */
void shoal__sentinel_free(shoal__sentinel_t *sentinel);

#endif
