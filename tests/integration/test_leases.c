/* SPDX-License-Identifier: MIT */
/* Leases, against a real server: a holder has its connection alone, leaves nothing behind in
 * it, and loses it for good when it is lost. */
#include "support/live.h"
#include "support/outcome.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define WORDS_MAX 8

typedef struct line {
    char text[160];
    const char *argv[WORDS_MAX];
    shoal_command_t command;
} line_t;

static const shoal_command_t *parse(line_t *line, const char *text)
{
    size_t argc = 0;
    char *rest;

    snprintf(line->text, sizeof line->text, "%s", text);
    for (char *word = strtok_r(line->text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        line->argv[argc++] = word;
    line->command = (shoal_command_t){argc, line->argv, NULL};
    return &line->command;
}

static outcome_t ask_for(shoal_client_t *client, shoal_lease_t *lease, const char *text,
                         uint64_t timeout_us)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;
    outcome_t outcome = {0};
    line_t line;

    call.lease = lease;
    call.timeout_us = timeout_us;
    assert_int_equal(shoal_client_call_with(client, parse(&line, text), &call, &result),
                     0);
    outcome_read(&outcome, result);
    shoal_result_release(result);
    return outcome;
}

static outcome_t ask(shoal_client_t *client, shoal_lease_t *lease, const char *text)
{
    return ask_for(client, lease, text, 0);
}

static void submit(shoal_client_t *client, shoal_lease_t *lease, const char *text,
                   shoal_result_cb on_result, void *data, uint64_t *ret_ticket)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    line_t line;

    call.lease = lease;
    call.timeout_us = SHOAL_TIMEOUT_NEVER; /* a thousand may stand in line before it */
    assert_int_equal(shoal_client_submit_many(client, parse(&line, text), 1, &call,
                                              on_result, data, ret_ticket),
                     0);
}

static shoal_lease_t *lease_open(shoal_client_t *client)
{
    shoal_lease_t *lease = NULL;

    assert_int_equal(shoal_lease_open(client, &lease), 0);
    return lease;
}

static shoal_client_t *begin(void)
{
    shoal_client_t *client = live_open(live_options());

    assert_int_equal(ask(client, NULL, "FLUSHALL").status, 0);
    return client;
}

static void end(shoal_client_t *client)
{
    assert_int_equal(shoal_client_close_and_wait(client, SHOAL_TIMEOUT_NEVER), 0);
    shoal_client_release(client);
}

static void test_a_lease_has_a_connection_of_its_own(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    shoal_lease_t *lease = lease_open(client), *other = lease_open(client);
    int64_t id = ask(client, lease, "CLIENT ID").integer;

    assert_int_not_equal(id, 0);
    assert_int_not_equal(id, ask(client, NULL, "CLIENT ID").integer);
    assert_int_not_equal(id, ask(client, other, "CLIENT ID").integer);
    assert_int_equal(id, ask(client, lease, "CLIENT ID").integer);
    shoal_lease_close(other);

    /* Optimistic locking, the reason for most leases. */
    assert_string_equal(ask(client, lease, "WATCH k").text, "OK");
    assert_string_equal(ask(client, NULL, "SET k foreign").text, "OK");
    assert_string_equal(ask(client, lease, "MULTI").text, "OK");
    assert_string_equal(ask(client, lease, "SET k own").text, "QUEUED");
    assert_int_equal(ask(client, lease, "EXEC").type, SHOAL_REPLY_NIL);
    assert_string_equal(ask(client, NULL, "GET k").text, "foreign");
    shoal_lease_close(lease);
    end(client);
}

/* ---- what a holder leaves behind ---- */

/* clang-format off */
static const struct dirt {
    const char *commands[3];
    bool is_undone; /* the connection is used again */
} dirts[] = {
    {{"GET k"}, true},
    {{"MULTI"}, true},
    {{"MULTI", "SET k dirty"}, true},
    {{"WATCH k"}, true},
    {{"WATCH k", "MULTI"}, true},
    {{"SELECT 5"}, true},
    {{"MULTI", "SELECT 5", "EXEC"}, true},
    {{"SELECT 5", "WATCH k", "MULTI"}, true},
    {{"SELECT 5", "SELECT 0"}, true},
    {{"SELECT 99999"}, true}, /* refused: nothing happened */
    {{"CLIENT SETNAME dirty"}, false},
    {{"CLIENT TRACKING ON"}, false},
    {{"CLIENT NO-EVICT ON"}, false},
    {{"NO.SUCH.COMMAND"}, true},
};
/* clang-format on */

static void check_clean(shoal_client_t *client, shoal_lease_t *lease, const char *what)
{
    outcome_t got = ask(client, lease, "CLIENT TRACKINGINFO");

    assert_int_equal(got.status, 0);
    got = ask(client, lease, "GET k");
    if (strcmp(got.text, "v") != 0)
        fail_msg("%s: GET says %s", what, got.text);
    got = ask(client, lease, "CLIENT GETNAME");
    if (got.bytes != 0)
        fail_msg("%s: the name is %s", what, got.text);
    /* A foreign write between would end an old WATCH. */
    assert_string_equal(ask(client, NULL, "SET k v").text, "OK");
    got = ask(client, lease, "MULTI");
    if (strcmp(got.text, "OK") != 0)
        fail_msg("%s: MULTI says %s", what, got.text);
    assert_string_equal(ask(client, lease, "PING").text, "QUEUED");
    got = ask(client, lease, "EXEC");
    if (got.type != SHOAL_REPLY_ARRAY)
        fail_msg("%s: EXEC was ended by an old WATCH", what);
}

static void test_the_next_holder_sees_nothing(void **state)
{
    (void)state;
    shoal_client_t *client = begin();

    for (size_t i = 0; i < COUNT(dirts); i++) {
        const struct dirt *dirt = &dirts[i];
        shoal_lease_t *lease = lease_open(client);
        assert_string_equal(ask(client, NULL, "SET k v").text, "OK");
        int64_t id = ask(client, lease, "CLIENT ID").integer;
        for (size_t j = 0; j < COUNT(dirt->commands) && dirt->commands[j]; j++)
            assert_int_equal(ask(client, lease, dirt->commands[j]).status, 0);
        shoal_lease_close(lease);
        WAIT_FOR(live_stats(client).leases_now == 0);
        if (dirt->is_undone)
            WAIT_FOR(live_stats(client).leases_idle_now == 1);

        lease = lease_open(client);
        int64_t next_id = ask(client, lease, "CLIENT ID").integer;
        if ((id == next_id) != dirt->is_undone)
            fail_msg("%s: the connection was %s", dirt->commands[0],
                     id == next_id ? "used again" : "closed");
        check_clean(client, lease, dirt->commands[0]);
        shoal_lease_close(lease);
        WAIT_FOR(live_stats(client).leases_idle_now == 1);
    }
    end(client);
}

/* ---- the line ---- */

#define WAITERS 1000

typedef struct waiter {
    shoal_lease_t *lease;
    _Atomic unsigned *done;
    int status;
} waiter_t;

static void on_turn(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    waiter_t *waiter = data;
    (void)client;

    waiter->status = shoal_result_status(result);
    shoal_lease_close(waiter->lease);
    atomic_fetch_add(waiter->done, 1);
}

static void test_the_first_in_line_is_the_first_served(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX];
    waiter_t *waiters = calloc(WAITERS, sizeof *waiters);
    _Atomic unsigned done = 0;

    assert_non_null(waiters);
    for (size_t i = 0; i < COUNT(holders); i++) {
        holders[i] = lease_open(client);
        assert_string_equal(ask(client, holders[i], "PING").text, "PONG");
    }
    for (int i = 0; i < WAITERS; i++) {
        char text[64];
        snprintf(text, sizeof text, "RPUSH line %d", i);
        waiters[i] = (waiter_t){lease_open(client), &done, 0};
        submit(client, waiters[i].lease, text, on_turn, &waiters[i], NULL);
    }
    WAIT_FOR(live_stats(client).leases_waiting_now == WAITERS);
    assert_int_equal(live_stats(client).leases_now, WAITERS + COUNT(holders));
    assert_int_equal(ask_for(client, NULL, "LLEN line", 0).integer, 0);
    shoal_lease_close(holders[7]); /* one connection for all */
    for (unsigned served = 100; served <= WAITERS; served += 100)
        WAIT_FOR(done >= served);
    for (int i = 0; i < WAITERS; i++) {
        char text[64], number[16];
        assert_int_equal(waiters[i].status, 0);
        snprintf(text, sizeof text, "LINDEX line %d", i);
        snprintf(number, sizeof number, "%d", i);
        assert_string_equal(ask(client, NULL, text).text, number);
    }
    for (size_t i = 0; i < COUNT(holders); i++)
        if (i != 7)
            shoal_lease_close(holders[i]);
    WAIT_FOR(live_stats(client).leases_now == 0);
    free(waiters);
    end(client);
}

static void test_so_many_leases_and_no_more(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    const size_t most = SHOAL_LEASE_CONNECTIONS_MAX + SHOAL_LEASE_WAITING_MAX;
    shoal_lease_t **leases = calloc(most, sizeof(shoal_lease_t *)), *one_more = NULL;
    uint64_t ticket;

    assert_non_null(leases);
    for (size_t i = 0; i < most; i++)
        leases[i] = lease_open(client);
    assert_int_equal(shoal_lease_open(client, &one_more), SHOAL_EFULL);
    assert_null(one_more);
    const char *argv[] = {"BLPOP", "k", "0"};
    assert_int_equal(shoal_client_submit(client, 3, argv, NULL, NULL, NULL, &ticket),
                     SHOAL_EFULL);
    shoal_lease_close(leases[most - 1]);
    leases[most - 1] = lease_open(client);
    for (size_t i = 0; i < most; i++)
        shoal_lease_close(leases[i]);
    assert_int_equal(live_stats(client).leases_now, 0);
    free(leases);
    end(client);
}

/* ---- many at once ---- */

typedef struct crowd {
    shoal_client_t *client;
    _Atomic unsigned done, refused, failed;
} crowd_t;

static void on_any(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    crowd_t *crowd = data;
    (void)client;

    if (shoal_result_status(result) == SHOAL_ECANCELLED)
        crowd->refused++;
    else if (shoal_result_status(result) != 0)
        crowd->failed++;
    crowd->done++;
}

#define ROUNDS 60

static void *come_and_go(void *data)
{
    crowd_t *crowd = data;

    for (unsigned i = 0; i < ROUNDS; i++) {
        shoal_lease_t *leases[8];
        uint64_t tickets[8];
        for (size_t j = 0; j < COUNT(leases); j++) {
            while (shoal_lease_open(crowd->client, &leases[j]) == SHOAL_EFULL)
                waiting_sleep_us(100);
            submit(crowd->client, leases[j], "INCR held", on_any, crowd, NULL);
            submit(crowd->client, leases[j], "WATCH k", on_any, crowd, &tickets[j]);
        }
        for (size_t j = 0; j < COUNT(leases); j++) {
            if ((i + j) % 3 == 0)
                (void)!shoal_client_cancel(crowd->client, tickets[j]);
            shoal_lease_close(leases[j]);
        }
    }
    return NULL;
}

static void test_the_bound_holds_in_a_crowd(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    crowd_t crowd = {.client = client};
    pthread_t threads[8];

    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &crowd), 0);
    WAIT_FOR(crowd.done > 100);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    WAIT_FOR(crowd.done == COUNT(threads) * ROUNDS * 16);
    assert_int_equal(crowd.failed, 0);
    WAIT_FOR(live_stats(client).leases_now == 0);
    assert_true(live_stats(client).leases_idle_now <= SHOAL_LEASE_CONNECTIONS_MAX);
    /* Numbers 1 (shared) to 65. */
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
    assert_int_equal(
        shoal_connection_get(client, SHOAL_LEASE_CONNECTIONS_MAX + 2, &info),
        SHOAL_ENOENT);
    shoal_stats_t stats = live_stats(client);
    assert_int_equal(stats.commands, stats.completed);
    end(client);
}

/* ---- the end of a connection, of a client ---- */

static void test_a_lost_lease_is_broken(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    shoal_lease_t *lease = lease_open(client);
    char text[64];
    outcome_t outcome;

    assert_string_equal(ask(client, lease, "WATCH k").text, "OK");
    snprintf(text, sizeof text, "CLIENT KILL ID %d",
             (int)ask(client, lease, "CLIENT ID").integer);
    assert_int_equal(ask(client, NULL, text).integer, 1);
    WAIT_FOR(live_stats(client).losses == 1);
    for (int i = 0; i < 3; i++) {
        outcome = ask(client, lease, "SET k v");
        assert_int_equal(outcome.status, SHOAL_ECONN);
        assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
        assert_non_null(strstr(outcome.detail, "the lease is broken"));
    }
    assert_int_equal(ask(client, NULL, "EXISTS k").integer, 0);
    shoal_lease_close(lease);
    lease = lease_open(client);
    assert_string_equal(ask(client, lease, "SET k v").text, "OK");
    shoal_lease_close(lease);
    end(client);
}

static void test_a_client_closes_under_its_leases(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    shoal_lease_t *used = lease_open(client), *unused = lease_open(client);
    shoal_lease_t *late = NULL;
    outcome_t outcome = {0};

    assert_string_equal(ask(client, used, "PING").text, "PONG");
    submit(client, used, "BLPOP nothing 0", outcome_cb, &outcome, NULL);
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
    shoal_client_t *client = begin();
    shoal_lease_t *lease = lease_open(client);
    int status;

    assert_string_equal(ask(client, lease, "WATCH k").text, "OK");
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
    assert_string_equal(ask(client, lease, "UNWATCH").text, "OK");
    shoal_lease_close(lease);
    end(client);
}

/* ---- commands that block ---- */

static void test_a_blocking_command_holds_nobody_up(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    outcome_t outcome = {0};

    submit(client, NULL, "BLPOP k 0", outcome_cb, &outcome, NULL);
    for (int i = 0; i < 100; i++)
        assert_string_equal(ask(client, NULL, "PING").text, "PONG");
    assert_false(outcome_is_done(&outcome));
    assert_int_equal(ask(client, NULL, "RPUSH k v").integer, 1);
    WAIT_FOR(outcome_is_done(&outcome));
    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.type, SHOAL_REPLY_ARRAY);
    /* Its own timeout is the server's to keep: nil, and no error of ours. */
    outcome_t nothing = ask(client, NULL, "BLPOP k 0.05");
    assert_int_equal(nothing.status, 0);
    assert_int_equal(nothing.type, SHOAL_REPLY_NIL);
    WAIT_FOR(live_stats(client).leases_idle_now >= 1);
    assert_int_equal(live_stats(client).leases_now, 0);
    end(client);
}

static void test_a_blocking_command_comes_after_its_callers_earlier_ones(void **state)
{
    (void)state;
    shoal_client_t *client = begin();

    for (int i = 0; i < 200; i++) {
        char add[64], read[80];
        outcome_t added = {0}, got = {0};
        snprintf(add, sizeof add, "XADD s%d %d-1 f v", i, i + 1);
        /* Only what is there: it would block for ever if it came first. */
        snprintf(read, sizeof read, "XREAD BLOCK 0 STREAMS s%d 0", i);
        submit(client, NULL, add, outcome_cb, &added, NULL);
        submit(client, NULL, read, outcome_cb, &got, NULL);
        WAIT_FOR(outcome_is_done(&got));
        assert_true(outcome_is_done(&added));
        assert_int_equal(got.status, 0);

        if (i % 20 != 0) /* an idle server looks for timeouts ten times a second */
            continue;
        /* $: what is added later.  If it came before the XADD, it would not block. */
        snprintf(add, sizeof add, "XADD t%d 1-1 f v", i);
        snprintf(read, sizeof read, "XREAD BLOCK 1 STREAMS t%d $", i);
        memset(&added, 0, sizeof added);
        submit(client, NULL, add, outcome_cb, &added, NULL);
        assert_int_equal(ask(client, NULL, read).type, SHOAL_REPLY_NIL);
        assert_true(outcome_is_done(&added));
    }
    end(client);
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

static void test_a_blocking_command_is_let_go(void **state)
{
    (void)state;
    shoal_client_t *client = begin();
    outcome_t outcome = {0};
    uint64_t ticket;

    submit(client, NULL, "BLPOP k 0", outcome_cb, &outcome, &ticket);
    WAIT_FOR(is_blocked(client));
    assert_int_equal(shoal_client_cancel(client, ticket), 0);
    WAIT_FOR(outcome_is_done(&outcome));
    assert_int_equal(outcome.status, SHOAL_ECANCELLED);
    assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);

    outcome = ask_for(client, NULL, "BLPOP k 0", 50000);
    assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
    assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(ask(client, NULL, "RPUSH k v").integer, 1);
    assert_int_equal(ask(client, NULL, "LLEN k").integer, 1); /* nobody waits for it */
    /* The connection that it had is of use. */
    WAIT_FOR(live_stats(client).leases_idle_now >= 1);
    assert_int_equal(ask(client, NULL, "BLPOP k 0").type, SHOAL_REPLY_ARRAY);
    assert_int_equal(live_stats(client).losses, 0);
    end(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_has_a_connection_of_its_own),
        cmocka_unit_test(test_the_next_holder_sees_nothing),
        cmocka_unit_test(test_the_first_in_line_is_the_first_served),
        cmocka_unit_test(test_so_many_leases_and_no_more),
        cmocka_unit_test(test_the_bound_holds_in_a_crowd),
        cmocka_unit_test(test_a_lost_lease_is_broken),
        cmocka_unit_test(test_a_client_closes_under_its_leases),
        cmocka_unit_test(test_a_child_leaves_leases_alone),
        cmocka_unit_test(test_a_blocking_command_holds_nobody_up),
        cmocka_unit_test(test_a_blocking_command_comes_after_its_callers_earlier_ones),
        cmocka_unit_test(test_a_blocking_command_is_let_go),
    };
    return cmocka_run_group_tests_name("integration/leases", tests, NULL, NULL);
}
