/* SPDX-License-Identifier: MIT */
/* What a holder leaves behind in its connection, against a real server: the next holder sees
 * nothing of it. */
#include "support/live_lease.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- what a holder leaves behind ---- */

/* clang-format off */
static const struct dirt {
    const char *commands[3];
    bool is_undone; /* the connection is used again; so it is if the last one was refused */
} dirts[] = {
    {{"GET k"}, true},
    {{"MULTI"}, true},
    {{"MULTI", "SET k dirty"}, true},
    {{"MULTI", "SET k", "EXEC"}, true}, /* EXECABORT */
    {{"MULTI", "DISCARD"}, true},
    {{"WATCH k"}, true},
    {{"WATCH k", "UNWATCH"}, true},
    {{"WATCH k", "MULTI"}, true},
    {{"WATCH k", "MULTI", "UNWATCH"}, true},
    {{"SELECT 5"}, true},
    {{"MULTI", "SELECT 5", "EXEC"}, true},
    {{"SELECT 5", "WATCH k", "MULTI"}, true},
    {{"SELECT 5", "SELECT 0"}, true},
    {{"SELECT 99999"}, true},
    {{"CLIENT SETNAME dirty"}, false},
    {{"CLIENT SETINFO LIB-NAME dirty"}, false},
    {{"CLIENT TRACKING ON"}, false},
    {{"CLIENT TRACKING ON BCAST"}, false},
    {{"CLIENT TRACKING ON OPTIN", "CLIENT CACHING YES"}, false},
    {{"CLIENT NO-EVICT ON"}, false},
    {{"CLIENT NO-TOUCH ON"}, false},
    {{"CLIENT NO.SUCH.THING"}, true},
    {{"READONLY"}, false},
    {{"READWRITE"}, false},
    {{"ASKING"}, false},
    {{"NO.SUCH.COMMAND"}, true},
};

/* The library lets none of them through. */
static const char *const refused[] = {
    "CLIENT REPLY OFF", "CLIENT REPLY SKIP", "SUBSCRIBE c", "PSUBSCRIBE c", "SSUBSCRIBE c",
    "UNSUBSCRIBE", "HELLO 2", "AUTH p", "RESET", "QUIT", "MONITOR", "SYNC", "PSYNC ? -1",
    "REPLCONF ACK 0", "SCRIPT DEBUG YES",
};
/* clang-format on */

#define STATE_ROOM 512

/* What the server says of the connection that a holder can change. */
static void read_state(shoal_client_t *client, shoal_lease_t *lease,
                       char state[STATE_ROOM])
{
    static const char *const fields[] = {
        " name=",  " flags=", " db=",   " sub=",   " psub=", " ssub=",
        " multi=", " watch=", " user=", " redir=", " resp=", " lib-name="};
    const char *const argv[] = {"CLIENT", "INFO"};
    const shoal_command_t command = {2, argv, NULL};
    shoal_result_t *result;
    size_t bytes, used = 0;
    (void)client;

    assert_int_equal(shoal_lease_call(lease, &command, NULL, &result), 0);
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    assert_non_null(text);
    state[0] = '\0';
    for (size_t i = 0; i < COUNT(fields); i++) {
        const char *at = strstr(text, fields[i]); /* not every server has each */
        if (!at)
            continue;
        int length = (int)(1 + strcspn(at + 1, " \n"));
        used += (size_t)snprintf(state + used, STATE_ROOM - used, "%.*s", length, at);
        assert_true(used < STATE_ROOM);
    }
    shoal_result_release(result);
}

static void check_clean(shoal_client_t *client, shoal_lease_t *lease,
                        const char *clean_state, const char *what)
{
    char now[STATE_ROOM];
    outcome_t got;

    read_state(client, lease, now);
    if (strcmp(now, clean_state) != 0)
        fail_msg("%s: the connection is%s, and was%s", what, now, clean_state);
    got = live_lease_ask(client, lease, "GET k");
    if (strcmp(got.text, "v") != 0)
        fail_msg("%s: GET says %s", what, got.text);
    /* A foreign write between would end an old WATCH. */
    assert_string_equal(live_lease_ask(client, NULL, "SET k v").text, "OK");
    got = live_lease_ask(client, lease, "MULTI");
    if (strcmp(got.text, "OK") != 0)
        fail_msg("%s: MULTI says %s", what, got.text);
    assert_string_equal(live_lease_ask(client, lease, "PING").text, "QUEUED");
    got = live_lease_ask(client, lease, "EXEC");
    if (got.type != SHOAL_REPLY_ARRAY)
        fail_msg("%s: EXEC was ended by an old WATCH", what);
}

/* Returns whether the last command was refused. */
static bool make_dirty(shoal_client_t *client, shoal_lease_t *lease,
                       const struct dirt *dirt)
{
    outcome_t outcome = {0};

    for (size_t i = 0; i < COUNT(dirt->commands) && dirt->commands[i]; i++) {
        outcome = live_lease_ask(client, lease, dirt->commands[i]);
        assert_int_equal(outcome.status, 0);
    }
    return outcome.type == SHOAL_REPLY_ERROR;
}

static void test_the_next_holder_sees_nothing(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    char clean_state[STATE_ROOM];

    for (size_t i = 0; i < COUNT(dirts); i++) {
        const struct dirt *dirt = &dirts[i];
        shoal_lease_t *lease = live_lease_open(client);
        assert_string_equal(live_lease_ask(client, NULL, "SET k v").text, "OK");
        int64_t id = live_lease_ask(client, lease, "CLIENT ID").integer;
        if (i == 0)
            read_state(client, lease, clean_state);
        bool is_undone = make_dirty(client, lease, dirt) || dirt->is_undone;
        shoal_lease_close(lease);
        WAIT_FOR(live_stats(client).leases_now == 0);
        if (is_undone)
            WAIT_FOR(live_stats(client).leases_idle_now == 1);

        lease = live_lease_open(client);
        int64_t next_id = live_lease_ask(client, lease, "CLIENT ID").integer;
        if ((id == next_id) != is_undone)
            fail_msg("%s: the connection was %s", dirt->commands[0],
                     id == next_id ? "used again" : "closed");
        check_clean(client, lease, clean_state, dirt->commands[0]);
        shoal_lease_close(lease);
        WAIT_FOR(live_stats(client).leases_idle_now == 1);
    }
    live_lease_end(client);
}

static void test_what_is_refused_leaves_nothing(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    shoal_lease_t *lease = live_lease_open(client);
    char before[STATE_ROOM], behind[STATE_ROOM];

    read_state(client, lease, before);
    for (size_t i = 0; i < COUNT(refused); i++)
        live_lease_refuses(client, lease, refused[i]);
    read_state(client, lease, behind);
    assert_string_equal(before, behind);
    shoal_lease_close(lease);
    WAIT_FOR(live_stats(client).leases_idle_now == 1);
    live_lease_end(client);
}

static void on_line(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    _Atomic int *results = data;
    (void)client;
    (void)result;
    (*results)++;
}

/* A monitor, and a command that blocks, when the lease is closed. */
static void test_what_is_under_way(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    _Atomic int lines = 0;
    outcome_t outcome = {0};
    char clean_state[STATE_ROOM];
    uint64_t ticket;

    shoal_lease_t *lease = live_lease_open(client);
    assert_string_equal(live_lease_ask(client, NULL, "SET k v").text, "OK");
    read_state(client, lease, clean_state);
    int64_t id = live_lease_ask(client, lease, "CLIENT ID").integer;
    assert_int_equal(shoal_lease_monitor(lease, NULL, on_line, (void *)&lines), 0);
    WAIT_FOR(lines > 0);
    shoal_lease_close(lease);
    WAIT_FOR(live_stats(client).leases_now == 0);
    lease = live_lease_open(client);
    assert_int_not_equal(live_lease_ask(client, lease, "CLIENT ID").integer, id);
    check_clean(client, lease, clean_state, "MONITOR");

    live_lease_submit(client, lease, "BLPOP none 0", outcome_cb, &outcome, &ticket);
    shoal_lease_close(lease);
    assert_int_equal(shoal_client_cancel(client, ticket), 0);
    WAIT_FOR(outcome_is_done(&outcome));
    assert_int_equal(outcome.status, SHOAL_ECANCELLED);
    WAIT_FOR(live_stats(client).leases_now == 0);
    lease = live_lease_open(client);
    check_clean(client, lease, clean_state, "BLPOP");
    assert_int_equal(live_lease_ask(client, NULL, "RPUSH none v").integer, 1);
    assert_int_equal(live_lease_ask(client, NULL, "LLEN none").integer, 1);
    shoal_lease_close(lease);
    live_lease_end(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_holder_sees_nothing),
        cmocka_unit_test(test_what_is_refused_leaves_nothing),
        cmocka_unit_test(test_what_is_under_way),
    };
    return cmocka_run_group_tests_name("integration/leases_returned", tests, NULL,
                                       NULL);
}
