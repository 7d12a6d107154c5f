/* SPDX-License-Identifier: MIT */
#include "route/replica.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "route/errand.h"
#include "route/homes.h"
#include <stdio.h>
#include <string.h>

#define ASK_SOON_US 250000 /* a replica that is not in touch with its primary */

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
    return replica;
}

void shoal__replica_free(shoal__replica_t *replica)
{
    shoal__conn_release(&replica->conn);
    shoal__free(replica);
}

/* ---- what it says ---- */

static uint64_t epoch_of(const shoal__replica_t *replica)
{
    return shoal__counter_get(&replica->conn.stats.epoch);
}

shoal__replica_facts_t shoal__replica_facts(const shoal__replica_t *replica)
{
    const shoal__pipe_t *pipe = &replica->conn.pipe;

    return (shoal__replica_facts_t){
        .is_ready = shoal__home_is_ready(&replica->conn) && replica->is_listed &&
                    !shoal__renewal_is_draining(&pipe->renewal),
        .is_replica =
            replica->role == SHOAL__ROLE_REPLICA && replica->epoch == epoch_of(replica),
        .linked_us = replica->linked_us,
        .refused_us = replica->refused_us,
        .inflight = shoal__pipe_inflight(pipe) + shoal__pipe_queued(pipe),
        .rtt_us = pipe->flush.learned.tempo.rtt_us,
    };
}

static void on_role(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__replica_t *replica = data;
    shoal__role_reply_t role = shoal__role_reply_read(shoal_result_reply(result));

    (void)client;
    replica->is_asked = false;
    replica->is_heard = true;
    if (shoal_result_status(result) < 0)
        return; /* the connection is gone */
    replica->role = role.role;
    replica->epoch = epoch_of(replica);
    if (role.is_linked)
        replica->linked_us = shoal__clock_us();
    else
        replica->ask_us = shoal__clock_us() + ASK_SOON_US;
}

static bool may_ask(const shoal__replica_t *replica)
{
    return replica->is_listed && !replica->is_asked &&
           shoal__home_is_ready(&replica->conn);
}

/* Was it not asked since it was connected? */
static bool is_new(const shoal__replica_t *replica)
{
    return replica->epoch != epoch_of(replica);
}

void shoal__replica_ask(shoal__replica_t *replica, uint64_t now_us)
{
    static const char *const words[] = {"ROLE"};
    static const shoal_command_t role = {.argc = 1, .argv = words};
    const shoal__errand_t errand = {.on_answer = on_role, .data = replica};

    if (!may_ask(replica) || (!is_new(replica) && now_us < replica->ask_us))
        return;
    if (is_new(replica)) { /* another process, perhaps, that has no data yet */
        replica->role = SHOAL__ROLE_UNKNOWN;
        replica->linked_us = 0;
    }
    replica->ask_us = shoal__time_after(now_us, SHOAL__REPLICA_ASK_US);
    replica->is_asked = shoal__errand_send(&replica->conn, &role, &errand, now_us);
}

uint64_t shoal__replica_wake_us(const shoal__replica_t *replica)
{
    return may_ask(replica) ? replica->ask_us : SHOAL__NEVER_US;
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
    else if (is_new(replica))
        return;
    else if (!facts.is_replica)
        snprintf(text, text_bytes, "%.80s is %s", replica->name,
                 name_of(replica->role));
    else if (facts.refused_us > 0 &&
             shoal__time_since(facts.refused_us, now_us) < SHOAL__REPLICA_REFUSED_US)
        snprintf(text, text_bytes, "%.80s refuses commands for now", replica->name);
    else
        snprintf(text, text_bytes, "%.80s has lost its primary", replica->name);
}
