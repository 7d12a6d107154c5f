/* SPDX-License-Identifier: MIT */
/* Commands that block, against a real server: without a word they get a lease that nobody
 * sees. */
#include "support/live_lease.h"

#include <stdio.h>
#include <string.h>

#define GRACE_US 1000000 /* for the word that a command was let go */

/* ---- commands that block ---- */

static void test_a_blocking_command_holds_nobody_up(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    outcome_t outcome = {0};

    live_lease_submit(client, NULL, "BLPOP k 0", outcome_cb, &outcome, NULL);
    for (int i = 0; i < 100; i++)
        assert_string_equal(live_lease_ask(client, NULL, "PING").text, "PONG");
    assert_false(outcome_is_done(&outcome));
    assert_int_equal(live_lease_ask(client, NULL, "RPUSH k v").integer, 1);
    WAIT_FOR(outcome_is_done(&outcome));
    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.type, SHOAL_REPLY_ARRAY);
    /* Its own timeout is the server's to keep: nil, and no error of ours. */
    outcome_t nothing = live_lease_ask(client, NULL, "BLPOP k 0.05");
    assert_int_equal(nothing.status, 0);
    assert_int_equal(nothing.type, SHOAL_REPLY_NIL);
    WAIT_FOR(live_stats(client).leases_idle_now >= 1);
    assert_int_equal(live_stats(client).leases_now, 0);
    live_lease_end(client);
}

static void test_a_blocking_command_comes_after_its_callers_earlier_ones(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();

    for (int i = 0; i < 200; i++) {
        char add[64], read[80];
        outcome_t added = {0}, got = {0};
        snprintf(add, sizeof add, "XADD s%d %d-1 f v", i, i + 1);
        /* Only what is there: it would block for ever if it came first. */
        snprintf(read, sizeof read, "XREAD BLOCK 0 STREAMS s%d 0", i);
        live_lease_submit(client, NULL, add, outcome_cb, &added, NULL);
        live_lease_submit(client, NULL, read, outcome_cb, &got, NULL);
        WAIT_FOR(outcome_is_done(&got));
        assert_true(outcome_is_done(&added));
        assert_int_equal(got.status, 0);

        if (i % 20 != 0) /* an idle server looks for timeouts ten times a second */
            continue;
        /* $: what is added later.  If it came before the XADD, it would not block. */
        snprintf(add, sizeof add, "XADD t%d 1-1 f v", i);
        snprintf(read, sizeof read, "XREAD BLOCK 1 STREAMS t%d $", i);
        memset(&added, 0, sizeof added);
        live_lease_submit(client, NULL, add, outcome_cb, &added, NULL);
        assert_int_equal(live_lease_ask(client, NULL, read).type, SHOAL_REPLY_NIL);
        assert_true(outcome_is_done(&added));
    }
    live_lease_end(client);
}

static bool is_blocked(shoal_client_t *client)
{
    shoal_result_t *result;
    size_t bytes;
    bool is_there;

    assert_int_equal(shoal_client_callf(client, &result, "INFO clients"), 0);
    is_there = strstr(shoal_reply_string(shoal_result_reply(result), &bytes),
                      "blocked_clients:1\r\n") != NULL;
    shoal_result_release(result);
    return is_there;
}

static outcome_t cancel_pop(shoal_client_t *client)
{
    outcome_t outcome = {0};
    uint64_t ticket;

    live_lease_submit(client, NULL, "BLPOP k 0", outcome_cb, &outcome, &ticket);
    WAIT_FOR(is_blocked(client));
    assert_int_equal(shoal_client_cancel(client, ticket), 0);
    WAIT_FOR(outcome_is_done(&outcome));
    return outcome;
}

static outcome_t hurry_pop(shoal_client_t *client)
{
    return live_lease_ask_for(client, NULL, "BLPOP k 0", 50000);
}

/* Let go, and nothing was popped; only of a server that stood still for as long as the library
 * waits for its word is that not known, and the connection is lost.  Returns how often. */
static unsigned check_let_go(shoal_client_t *client, outcome_t (*pop)(shoal_client_t *),
                             int status)
{
    uint64_t begun_us;
    outcome_t outcome;
    unsigned rounds = 0;

    do {
        begun_us = waiting_now_us();
        outcome = pop(client);
        assert_int_equal(outcome.status, status);
    } while (outcome.fate == SHOAL_FATE_UNKNOWN &&
             waiting_now_us() - begun_us >= GRACE_US && ++rounds < 5);
    assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    return rounds;
}

static void test_a_blocking_command_is_let_go(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();

    unsigned unknown = check_let_go(client, cancel_pop, SHOAL_ECANCELLED);
    unknown += check_let_go(client, hurry_pop, SHOAL_ETIMEOUT);
    assert_int_equal(live_lease_ask(client, NULL, "RPUSH k v").integer, 1);
    assert_int_equal(live_lease_ask(client, NULL, "LLEN k").integer,
                     1); /* nobody waits for it */
    /* The connection that it had is of use. */
    WAIT_FOR(live_stats(client).leases_idle_now >= 1);
    assert_int_equal(live_lease_ask(client, NULL, "BLPOP k 0").type, SHOAL_REPLY_ARRAY);
    assert_in_range(live_stats(client).losses, 0, unknown);
    live_lease_end(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_blocking_command_holds_nobody_up),
        cmocka_unit_test(test_a_blocking_command_comes_after_its_callers_earlier_ones),
        cmocka_unit_test(test_a_blocking_command_is_let_go),
    };
    return cmocka_run_group_tests_name("integration/leases_blocking", tests, NULL,
                                       NULL);
}
