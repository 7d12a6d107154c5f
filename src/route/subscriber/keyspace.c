/* SPDX-License-Identifier: MIT */
#include "route/subscriber/keyspace.h"

#include "route/errand.h"
#include <stdio.h>
#include <string.h>

static void tell(shoal__keyspace_t *keyspace)
{
    const shoal__conn_t *conn = keyspace->conn;
    char detail[SHOAL__KEYSPACE_TEXT_BYTES];
    const shoal_event_t event = {.kind = SHOAL_EVENT_KEYSPACE_OFF,
                                 .detail = detail,
                                 .epoch = shoal__counter_get(&conn->stats.epoch),
                                 .connection = conn->id,
                                 .server = keyspace->server};

    if (shoal__keyspace_rule_tell(&keyspace->rule, detail))
        conn->hooks->on_event(conn->owner, &event);
}

/* The setting's name and its value. */
static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__keyspace_t *keyspace = data;
    shoal__bytes_t setting;
    (void)client;

    if (result->status < 0 || shoal_reply_count(result->reply) != 2)
        return;
    setting.data = shoal_reply_string(shoal_reply_at(result->reply, 1), &setting.bytes);
    if (!setting.data)
        return;
    shoal__keyspace_rule_hear(&keyspace->rule, setting);
    tell(keyspace);
}

/* Does the connection take other commands? */
static bool may_ask(const shoal__keyspace_t *keyspace,
                    const shoal__subscriptions_t *subscriptions, bool is_probed)
{
    return subscriptions->is_up &&
           (keyspace->conn->pipe.is_resp3 ||
            (subscriptions->count == 0 && !is_probed &&
             shoal__counter_get(&subscriptions->confirmed) == 0));
}

/* Nothing is known of another server. */
static void heed_server(shoal__keyspace_t *keyspace)
{
    const size_t bytes = sizeof keyspace->server;
    const char *server = keyspace->conn->line->server;

    if (strncmp(keyspace->server, server, bytes - 1) == 0)
        return;
    shoal__keyspace_rule_reset(&keyspace->rule);
    snprintf(keyspace->server, bytes, "%s", server);
}

void shoal__keyspace_turn(shoal__keyspace_t *keyspace,
                          const shoal__subscriptions_t *subscriptions, bool is_probed,
                          uint64_t now_us)
{
    static const char *const argv[] = {"CONFIG", "GET", "notify-keyspace-events"};
    static const size_t argvlen[] = {6, 3, 22};
    static const shoal_command_t command = {3, argv, argvlen};
    const shoal__errand_t errand = {.on_answer = on_answer, .data = keyspace};

    if (keyspace->rule.needs == 0 || !may_ask(keyspace, subscriptions, is_probed))
        return;
    heed_server(keyspace);
    if (shoal__keyspace_rule_must_ask(&keyspace->rule))
        keyspace->rule.is_asked =
            shoal__errand_send(keyspace->conn, &command, &errand, now_us);
    tell(keyspace);
}
