/* SPDX-License-Identifier: MIT */
/* Leases, against a real server: a holder has its connection alone, and loses it for good when
 * it is lost. */
#include "support/live_lease.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_a_lease_has_a_connection_of_its_own(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    shoal_lease_t *lease = live_lease_open(client), *other = live_lease_open(client);
    int64_t id = live_lease_ask(client, lease, "CLIENT ID").integer;

    assert_int_not_equal(id, 0);
    assert_int_not_equal(id, live_lease_ask(client, NULL, "CLIENT ID").integer);
    assert_int_not_equal(id, live_lease_ask(client, other, "CLIENT ID").integer);
    assert_int_equal(id, live_lease_ask(client, lease, "CLIENT ID").integer);
    shoal_lease_close(other);

    /* Optimistic locking, the reason for most leases. */
    assert_string_equal(live_lease_ask(client, lease, "WATCH k").text, "OK");
    assert_string_equal(live_lease_ask(client, NULL, "SET k foreign").text, "OK");
    assert_string_equal(live_lease_ask(client, lease, "MULTI").text, "OK");
    assert_string_equal(live_lease_ask(client, lease, "SET k own").text, "QUEUED");
    assert_int_equal(live_lease_ask(client, lease, "EXEC").type, SHOAL_REPLY_NIL);
    assert_string_equal(live_lease_ask(client, NULL, "GET k").text, "foreign");
    shoal_lease_close(lease);
    live_lease_end(client);
}

/* ---- the end of a connection, of a client ---- */

static void test_a_lost_lease_is_broken(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    shoal_lease_t *lease = live_lease_open(client);
    char text[64];
    outcome_t outcome;

    assert_string_equal(live_lease_ask(client, lease, "WATCH k").text, "OK");
    snprintf(text, sizeof text, "CLIENT KILL ID %d",
             (int)live_lease_ask(client, lease, "CLIENT ID").integer);
    assert_int_equal(live_lease_ask(client, NULL, text).integer, 1);
    WAIT_FOR(live_stats(client).losses == 1);
    for (int i = 0; i < 3; i++) {
        outcome = live_lease_ask(client, lease, "SET k v");
        assert_int_equal(outcome.status, SHOAL_ECONN);
        assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
        assert_non_null(strstr(outcome.detail, "the lease is broken"));
    }
    assert_int_equal(live_lease_ask(client, NULL, "EXISTS k").integer, 0);
    shoal_lease_close(lease);
    lease = live_lease_open(client);
    assert_string_equal(live_lease_ask(client, lease, "SET k v").text, "OK");
    shoal_lease_close(lease);
    live_lease_end(client);
}

static void test_a_client_closes_under_its_leases(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    shoal_lease_t *used = live_lease_open(client), *unused = live_lease_open(client);
    shoal_lease_t *late = NULL;
    outcome_t outcome = {0};

    assert_string_equal(live_lease_ask(client, used, "PING").text, "PONG");
    live_lease_submit(client, used, "BLPOP nothing 0", outcome_cb, &outcome, NULL);
    assert_int_equal(shoal_client_close_and_wait(client, 1000), 0);
    assert_int_equal(outcome.calls, 1);
    assert_int_equal(outcome.status, SHOAL_ESHUTDOWN);
    assert_int_equal(shoal_lease_open(client, &late), SHOAL_ECLOSED);
    shoal_client_release(client); /* the leases keep its memory */
    const char *argv[] = {"PING"};
    const shoal_command_t ping = {1, argv, NULL};
    assert_int_equal(shoal_lease_submit(used, &ping, 1, NULL, NULL, NULL, NULL),
                     SHOAL_ECLOSED);
    shoal_lease_close(used);
    shoal_lease_close(unused);
}

static void test_a_child_leaves_leases_alone(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    shoal_lease_t *lease = live_lease_open(client);
    int status;

    assert_string_equal(live_lease_ask(client, lease, "WATCH k").text, "OK");
    pid_t child = fork();
    if (child == 0) {
        const char *argv[] = {"PING"};
        const shoal_command_t ping = {1, argv, NULL};
        shoal_lease_t *another;
        int rc = shoal_lease_submit(lease, &ping, 1, NULL, NULL, NULL, NULL);
        shoal_lease_close(lease);
        _exit(rc == SHOAL_EFORK && shoal_lease_open(client, &another) == SHOAL_EFORK
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(live_lease_ask(client, lease, "UNWATCH").text, "OK");
    shoal_lease_close(lease);
    live_lease_end(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_has_a_connection_of_its_own),
        cmocka_unit_test(test_a_lost_lease_is_broken),
        cmocka_unit_test(test_a_client_closes_under_its_leases),
        cmocka_unit_test(test_a_child_leaves_leases_alone),
    };
    return cmocka_run_group_tests_name("integration/leases", tests, NULL, NULL);
}
