/* SPDX-License-Identifier: MIT */
#include "route/replica.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <stdio.h>
#include <string.h>

/* ---- its life ---- */

shoal__replica_t *shoal__replica_new(const shoal__replica_plan_t *plan)
{
    shoal__replica_t *replica = shoal__calloc(1, sizeof *replica);
    shoal__conn_plan_t conn_plan;

    if (!replica)
        return NULL;
    replica->all = plan->all;
    memcpy(replica->host, plan->host.data, plan->host.bytes);
    snprintf(replica->name, sizeof replica->name,
             strchr(replica->host, ':') ? "[%s]:%d" : "%s:%d", replica->host,
             plan->port);
    replica->endpoint = (shoal__endpoint_t){
        .name = replica->name, .host = replica->host, .port = plan->port};
    replica->target = (shoal__target_t){.name = replica->name,
                                        .endpoints = &replica->endpoint,
                                        .endpoints_count = 1,
                                        .secret = plan->primary->secret,
                                        .keeper = plan->primary->keeper,
                                        .is_replica = true};
    conn_plan = (shoal__conn_plan_t){.config = plan->config,
                                     .target = &replica->target,
                                     .set = plan->set,
                                     .id = plan->id,
                                     .hooks = plan->hooks,
                                     .owner = replica};
    if (shoal__conn_init(&replica->conn, &conn_plan) < 0) {
        shoal__free(replica);
        return NULL;
    }
    replica->watch = (shoal__role_watch_t){.conn = &replica->conn, .zone = plan->zone};
    return replica;
}

void shoal__replica_free(shoal__replica_t *replica)
{
    shoal__conn_release(&replica->conn);
    shoal__free(replica);
}

/* ---- what it says ---- */

shoal__replica_facts_t shoal__replica_facts(const shoal__replica_t *replica)
{
    shoal__replica_facts_t facts = shoal__role_watch_facts(&replica->watch);

    facts.is_ready = facts.is_ready && replica->is_listed;
    return facts;
}

void shoal__replica_ask(shoal__replica_t *replica, uint64_t now_us)
{
    if (replica->is_listed)
        shoal__role_watch_ask(&replica->watch, now_us);
}

uint64_t shoal__replica_wake_us(const shoal__replica_t *replica)
{
    return replica->is_listed ? shoal__role_watch_wake_us(&replica->watch)
                              : SHOAL__NEVER_US;
}

static const char *name_of(shoal__role_t kind)
{
    switch (kind) {
    case SHOAL__ROLE_PRIMARY:
        return "a primary";
    case SHOAL__ROLE_REPLICA:
    case SHOAL__ROLE_UNKNOWN:
        break;
    }
    return "a server that does not tell its role";
}

void shoal__replica_say(const shoal__replica_t *replica, uint64_t now_us, char *text,
                        size_t text_bytes)
{
    shoal__replica_facts_t facts = shoal__replica_facts(replica);

    text[0] = '\0';
    if (!facts.is_ready)
        snprintf(text, text_bytes, "%.120s", replica->conn.pipe.detail);
    else if (shoal__role_watch_is_new(&replica->watch))
        return;
    else if (!facts.is_replica)
        snprintf(text, text_bytes, "%.80s is %s", replica->name,
                 name_of(replica->watch.role));
    else if (facts.refused_us > 0 &&
             shoal__time_since(facts.refused_us, now_us) < SHOAL__REPLICA_REFUSED_US)
        snprintf(text, text_bytes, "%.80s refuses commands for now", replica->name);
    else
        snprintf(text, text_bytes, "%.80s has lost its primary", replica->name);
}
