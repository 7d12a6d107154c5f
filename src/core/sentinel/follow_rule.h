/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FOLLOW_RULE_H
#define SHOAL_CORE_FOLLOW_RULE_H

/*
 * The sentinels have named a primary: what does a connection do that leads somewhere?
 *
 * One that leads elsewhere is renewed.  If it is on the way to yet another server, because
 * the sentinels named that one before, it begins anew.  One that is at the named server,
 * and was to be renewed only because the sentinels had named another one meanwhile, stays.
 * One that waits before its next attempt to connect waits no more: the attempts that failed
 * were at another server.
 */

#include <stdbool.h>

typedef struct shoal__follow_facts {
    bool is_elsewhere; /* it does not lead to the server that is named now */
    bool is_news;      /* they named another server than they did last */
    bool is_waiting;   /* it leads nowhere, and waits before it dials again */
    bool is_renewed;   /* a renewal is wanted, or under way ... */
    bool is_following; /* ... only because of what they said */
} shoal__follow_facts_t;

typedef enum shoal__follow {
    SHOAL__FOLLOW_NOTHING,
    SHOAL__FOLLOW_RENEW, /* begin a renewal, or begin it anew; dial now */
    SHOAL__FOLLOW_LEAVE, /* the same, and the present server is no primary any more */
    SHOAL__FOLLOW_STAY   /* the renewal is over */
} shoal__follow_t;

shoal__follow_t shoal__follow_rule(const shoal__follow_facts_t *facts);

#endif
