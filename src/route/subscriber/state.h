/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_STATE_H
#define SHOAL_ROUTE_SUBSCRIBER_STATE_H

/* What the route of a pubsub consists of.  Loop thread, but for the post and the counters. */

#include "core/push/subscriptions.h"
#include "net/conn_set.h"
#include "route/config.h"
#include "route/keeper.h"
#include "route/sentinel.h"
#include "route/subscriber/keyspace.h"
#include "route/subscriber/probe.h"
#include "route/subscriber/reception.h"
#include "route/subscriber/relay.h"
#include "route/subscriber/requests.h"

typedef struct shoal__subscriber {
    shoal__route_t route; /* first: what the client holds */
    shoal__conn_config_t config;
    shoal__target_t target;
    shoal__endpoint_list_t endpoints;
    shoal__keeper_t keeper;
    shoal__conn_set_t set;
    shoal__conn_t conn;
    const char
        *followed; /* the name of the server that the connection was led to last */
    shoal__sentinel_t *sentinel; /* NULL: the address is known */
    bool is_watching;            /* the sentinels are asked */
    shoal__route_hooks_t hooks;
    void *owner; /* of the hooks */

    shoal__reception_t reception;
    shoal__subscriptions_t subscriptions;
    shoal__asker_t asker;
    shoal__relay_t relay;
    shoal__keyspace_t keyspace;
    shoal__probe_t probe;
    uint64_t epoch;         /* of marks: the connection's that was ready last */
    uint64_t idle_since_us; /* no name is wanted since then; NEVER: one is */
} shoal__subscriber_t;

#endif
