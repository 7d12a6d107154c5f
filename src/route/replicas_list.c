/* SPDX-License-Identifier: MIT */

/* Which replicas there are: the program's list, or the primary's answer to ROLE; and why
 * none of them can be used. */

#include "base/time_us.h"
#include "core/lease_pool.h"
#include "route/errand.h"
#include "route/homes.h"
#include "route/replicas.h"
#include <stdio.h>
#include <string.h>

/* Behind those of the other homes. */
#define REPLICA_ID (SHOAL__LEASE_CONNECTIONS_MAX + 3 + SHOAL__LANE_HOMES_MAX)
/* Addresses that one client gets to know.  Their figures stay until its end. */
#define ADDRESSES_MAX 1024

/* NULL: no memory, or too many. */
static shoal__replica_t *replica_at(shoal__replicas_t *replicas,
                                    const shoal__replica_name_t *name)
{
    const shoal__replica_plan_t plan = {.config = &replicas->config,
                                        .hooks = &shoal__replicas_conn_hooks,
                                        .all = replicas,
                                        .primary = replicas->primary->target,
                                        .set = replicas->primary->set,
                                        .id = REPLICA_ID + replicas->made,
                                        .zone = shoal__options_zone(replicas->options),
                                        .host = name->host,
                                        .port = name->port};
    shoal__replica_t *replica = shoal__replicas_newest(replicas);

    while (replica && !shoal__replica_is_at(replica, name->host, name->port))
        replica = replica->next;
    if (replica || replicas->made == ADDRESSES_MAX)
        return replica;
    replica = shoal__replica_new(&plan);
    if (!replica)
        return NULL;
    replica->next = shoal__replicas_newest(replicas);
    atomic_store_explicit(&replicas->newest, replica, memory_order_release);
    replicas->made++;
    return replica;
}

void shoal__replicas_list(shoal__replicas_t *replicas,
                          const shoal__replica_name_t *names, size_t count)
{
    replicas->none = "the primary names none";
    replicas->is_touched = true;
    for (size_t i = 0; i < replicas->count; i++)
        replicas->listed[i]->is_listed = false;
    replicas->count = 0;
    replicas->choice = (shoal__replica_choice_t){0};
    for (size_t i = 0; i < count && replicas->count < SHOAL_REPLICAS_MAX; i++) {
        shoal__replica_t *replica = replica_at(replicas, &names[i]);
        if (!replica || replica->is_listed)
            continue;
        replica->is_listed = true;
        replicas->listed[replicas->count++] = replica;
    }
}

static void on_told(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__replicas_t *replicas = data;
    shoal__role_reply_t role = shoal__role_reply_read(shoal_result_reply(result));
    shoal__replica_name_t names[SHOAL_REPLICAS_MAX];
    size_t count = 0;

    (void)client;
    replicas->is_asked = false;
    if (shoal_result_status(result) < 0)
        return; /* the connection is gone */
    if (role.role != SHOAL__ROLE_PRIMARY) {
        replicas->none = "the server of the client is no primary, or does not tell";
        return;
    }
    for (size_t i = 0;
         i < shoal_reply_count(role.replicas) && count < SHOAL_REPLICAS_MAX; i++)
        count +=
            shoal__role_reply_replica(&role, i, &names[count].host, &names[count].port);
    shoal__replicas_list(replicas, names, count);
}

bool shoal__replicas_may_ask(const shoal__replicas_t *replicas)
{
    return !replicas->is_named && !replicas->is_asked &&
           shoal__home_is_ready(replicas->primary);
}

void shoal__replicas_ask(shoal__replicas_t *replicas, uint64_t now_us)
{
    static const char *const words[] = {"ROLE"};
    static const shoal_command_t role = {.argc = 1, .argv = words};
    const shoal__errand_t errand = {.on_answer = on_told, .data = replicas};
    uint64_t epoch = shoal__counter_get(&replicas->primary->stats.epoch);

    if (!shoal__replicas_may_ask(replicas) ||
        (epoch == replicas->primary_epoch && now_us < replicas->ask_us))
        return;
    replicas->primary_epoch = epoch;
    replicas->ask_us = shoal__time_after(now_us, SHOAL__ROLE_ASK_US);
    replicas->is_asked = shoal__errand_send(replicas->primary, &role, &errand, now_us);
}

void shoal__replicas_open(shoal__replicas_t *replicas)
{
    const shoal_options_t *options = replicas->options;
    shoal__replica_name_t names[SHOAL_REPLICAS_MAX];

    for (unsigned i = 0; i < options->replicas_count; i++) {
        const char *host = options->replicas[i].host;
        names[i] =
            (shoal__replica_name_t){{host, strlen(host)}, options->replicas[i].port};
    }
    if (replicas->is_named)
        shoal__replicas_list(replicas, names, options->replicas_count);
}

void shoal__replicas_explain(shoal__replicas_t *replicas, uint64_t now_us)
{
    shoal__pipe_t *pen = &replicas->pen;
    bool is_new = !replicas->none;

    snprintf(pen->detail, sizeof pen->detail, "%s",
             replicas->none ? replicas->none : replicas->primary->pipe.detail);
    pen->attempts_failed = 0;
    for (size_t i = 0; i < replicas->count; i++) {
        const shoal__replica_t *replica = replicas->listed[i];
        shoal__replica_say(replica, now_us, pen->detail, sizeof pen->detail);
        pen->attempts_failed += replica->conn.pipe.attempts_failed;
        is_new = is_new || pen->detail[0] == '\0';
    }
    pen->offline_since_us = replicas->none_since_us;
    /* With offline=fail commands wait for the first attempts alone. */
    pen->is_offline = replicas->pen_config.queue_offline || !is_new;
}
