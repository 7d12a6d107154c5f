/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_KEEPER_H
#define SHOAL_ROUTE_KEEPER_H

/*
 * Keeps the credentials of a client: the secret to which its targets point.  If the program
 * has a provider, the keeper asks it; core/credentials_rule.h says when.  Whoever dials waits
 * for the first answer (it is the targets' `keeper`).
 *
 * What is new is given to the route (`authenticate`), which moves it in and renews its
 * connections.
 *
 * Loop thread.
 */

#include "core/credentials_rule.h"
#include "net/finder.h"
#include "net/provider.h"
#include "route/route.h"

typedef struct shoal__keeper_plan {
    const shoal_options_t *options;    /* borrowed */
    shoal__route_t *route;             /* borrowed */
    shoal__target_t *target;           /* borrowed: it gets secret and keeper */
    const shoal__route_hooks_t *hooks; /* copied */
    void *owner;                       /* of the hooks */
} shoal__keeper_plan_t;

typedef struct shoal__keeper {
    shoal__finder_t finder; /* first */
    shoal__keeper_plan_t plan;
    shoal__route_hooks_t hooks;
    shoal__secret_t secret;
    shoal__credentials_rule_t rule;
    uv_loop_t *loop;                           /* NULL: not open */
    shoal__question_t *question;               /* NULL: none is under way */
    shoal__provider_answer_t answer;           /* for the next turn */
    bool is_answered;                          /* there is one */
    shoal__list_t searches;                    /* attempts to connect that wait */
    char why[SHOAL__PROVIDER_TEXT_BYTES + 64]; /* why there are no credentials */
} shoal__keeper_t;

/* 0 or SHOAL_ENOMEM. */
int shoal__keeper_init(shoal__keeper_t *keeper, const shoal__keeper_plan_t *plan);
/* After _shut, or before _open. */
void shoal__keeper_release(shoal__keeper_t *keeper);

void shoal__keeper_open(shoal__keeper_t *keeper, uv_loop_t *loop);
void shoal__keeper_turn(shoal__keeper_t *keeper, uint64_t now_us);
/* When a turn is due if nothing but time passes. */
uint64_t shoal__keeper_next_wake_us(const shoal__keeper_t *keeper);
/* No answer is awaited: nobody needs to poll for one. */
bool shoal__keeper_is_calm(const shoal__keeper_t *keeper);

/* Others take the place of the secret, which is wiped; whoever waits goes on.  The route renews
 * its connections at once. */
void shoal__keeper_take(shoal__keeper_t *keeper, shoal__secret_t *secret);

/* Take the place of another one: of its secret, and of what it knows of the provider. */
void shoal__keeper_inherit(shoal__keeper_t *keeper, shoal__keeper_t *from);

void shoal__keeper_shut(shoal__keeper_t *keeper);
/* In the child of a fork. */
void shoal__keeper_forget(shoal__keeper_t *keeper);

#endif
