/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_WATCHES_H
#define SHOAL_ROUTE_WATCHES_H

/*
 * The sentinels of a client: those that the program named, and those that these name.
 * core/sentinel/sentinel_rule.h says which of the latter are gone.
 *
 * Loop thread.
 */

#include "core/options.h"
#include "route/watch.h"

typedef struct shoal__watches {
    shoal__watch_plan_t plan;
    shoal__sentinel_rule_t *rule;             /* borrowed: whose voices they are */
    shoal__watch_t *at[SHOAL__SENTINELS_MAX]; /* one per voice; NULL: none yet */
    bool is_open;
    bool has_namesakes; /* two of them may lead to one sentinel */
} shoal__watches_t;

/* Those that the program named.  0 or SHOAL_ENOMEM. */
int shoal__watches_add_seeds(shoal__watches_t *watches,
                             const shoal__options_sentinels_t *from);
void shoal__watches_open(shoal__watches_t *watches);

/* Sentinels that one of them names. */
void shoal__watches_add(shoal__watches_t *watches, const shoal__sentinel_peer_t *peers,
                        size_t count);

/* Ask all of them. */
void shoal__watches_ask(const shoal__watches_t *watches, uint64_t now_us);

/* Put into the voices how the connections stand.  until_us: one that is made before then is
 * being made. */
void shoal__watches_look(const shoal__watches_t *watches, uint64_t until_us);

/* After a look: drop those that are gone; and those that are another one by another name,
 * which a look does not tell. */
void shoal__watches_drop_gone(const shoal__watches_t *watches, uint64_t now_us);
void shoal__watches_drop_namesakes(shoal__watches_t *watches, uint64_t now_us);

/* The reason that one of them gives for being out of reach. */
const char *shoal__watches_reason(const shoal__watches_t *watches);

void shoal__watches_read_ahead(const shoal__watches_t *watches);
void shoal__watches_shut(shoal__watches_t *watches, uint64_t now_us);
void shoal__watches_forget(const shoal__watches_t *watches);
void shoal__watches_free(const shoal__watches_t *watches);

#endif
