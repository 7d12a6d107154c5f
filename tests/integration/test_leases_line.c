/* SPDX-License-Identifier: MIT */
/* The line of those that wait for a lease, and its bounds, against a real server. */
#include "support/live_lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

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
    shoal_client_t *client = live_lease_begin();
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX];
    waiter_t *waiters = calloc(WAITERS, sizeof *waiters);
    _Atomic unsigned done = 0;

    assert_non_null(waiters);
    for (size_t i = 0; i < COUNT(holders); i++) {
        holders[i] = live_lease_open(client);
        assert_string_equal(live_lease_ask(client, holders[i], "PING").text, "PONG");
    }
    for (int i = 0; i < WAITERS; i++) {
        char text[64];
        snprintf(text, sizeof text, "RPUSH line %d", i);
        waiters[i] = (waiter_t){live_lease_open(client), &done, 0};
        live_lease_submit(client, waiters[i].lease, text, on_turn, &waiters[i], NULL);
    }
    WAIT_FOR(live_stats(client).leases_waiting_now == WAITERS);
    assert_int_equal(live_stats(client).leases_now, WAITERS + COUNT(holders));
    assert_int_equal(live_lease_ask_for(client, NULL, "LLEN line", 0).integer, 0);
    shoal_lease_close(holders[7]); /* one connection for all */
    for (unsigned served = 100; served <= WAITERS; served += 100)
        WAIT_FOR(done >= served);
    for (int i = 0; i < WAITERS; i++) {
        char text[64], number[16];
        assert_int_equal(waiters[i].status, 0);
        snprintf(text, sizeof text, "LINDEX line %d", i);
        snprintf(number, sizeof number, "%d", i);
        assert_string_equal(live_lease_ask(client, NULL, text).text, number);
    }
    for (size_t i = 0; i < COUNT(holders); i++)
        if (i != 7)
            shoal_lease_close(holders[i]);
    WAIT_FOR(live_stats(client).leases_now == 0);
    free(waiters);
    live_lease_end(client);
}

static void test_so_many_leases_and_no_more(void **state)
{
    (void)state;
    shoal_client_t *client = live_lease_begin();
    const size_t most = SHOAL_LEASE_CONNECTIONS_MAX + SHOAL_LEASE_WAITING_MAX;
    shoal_lease_t **leases = calloc(most, sizeof(shoal_lease_t *)), *one_more = NULL;
    uint64_t ticket;

    assert_non_null(leases);
    for (size_t i = 0; i < most; i++)
        leases[i] = live_lease_open(client);
    assert_int_equal(shoal_lease_open(client, &one_more), SHOAL_EFULL);
    assert_null(one_more);
    const char *argv[] = {"BLPOP", "k", "0"};
    assert_int_equal(shoal_client_submit(client, 3, argv, NULL, NULL, NULL, &ticket),
                     SHOAL_EFULL);
    shoal_lease_close(leases[most - 1]);
    leases[most - 1] = live_lease_open(client);
    for (size_t i = 0; i < most; i++)
        shoal_lease_close(leases[i]);
    assert_int_equal(live_stats(client).leases_now, 0);
    free(leases);
    live_lease_end(client);
}

/* ---- many at once ---- */

/* 18 432 acquisitions; SHOAL_TEST_SCALE=6 makes them more than 10^5. */
#define CROWD_THREADS 8
#define LEASES_AT_ONCE 24 /* of each thread: three times as many as can be served */
#define ROUNDS 96
#define COMMANDS 3 /* of each lease */

typedef struct crowd {
    shoal_client_t *client;
    size_t rounds; /* of each thread; 0: until the client is closed */
    _Atomic size_t accepted, results, increased, doubtful, given_up, broken, strange;
} crowd_t;

typedef struct visitor {
    crowd_t *crowd;
    pthread_t thread;
    unsigned random;
} visitor_t;

/* What became of INCR; and of WATCH and GET behind it. */
static void on_incr(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    crowd_t *crowd = data;
    int status = shoal_result_status(result);
    (void)client;

    if (status == 0)
        crowd->increased++;
    else if (shoal_result_fate(result) != SHOAL_FATE_NOT_EXECUTED)
        crowd->doubtful++;
    else
        crowd->given_up++;
    crowd->strange += status != 0 && status != SHOAL_ECANCELLED &&
                      status != SHOAL_ETIMEOUT && status != SHOAL_ESHUTDOWN;
    crowd->results++;
}

static void on_other(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    crowd_t *crowd = data;
    int status = shoal_result_status(result);
    (void)client;

    crowd->broken += status == SHOAL_ECONN;
    crowd->strange += status != 0 && status != SHOAL_ECANCELLED &&
                      status != SHOAL_ETIMEOUT && status != SHOAL_ECONN &&
                      status != SHOAL_ESHUTDOWN;
    crowd->results++;
}

/* Three commands, some with deadlines that pass in line.  False: the client is closed. */
static bool use(visitor_t *visitor, shoal_lease_t *lease, uint64_t tickets[COMMANDS])
{
    static const char *const incr[] = {"INCR", "held"}, *const watch[] = {"WATCH", "k"};
    static const char *const get[] = {"GET", "k"};
    const shoal_command_t commands[COMMANDS] = {
        {2, incr, NULL}, {2, watch, NULL}, {2, get, NULL}};

    for (size_t i = 0; i < COMMANDS; i++) {
        shoal_call_t call = SHOAL_CALL_INIT;
        call.timeout_us = live_roll(&visitor->random) % 4 == 0
                              ? 1 + live_roll(&visitor->random) % 5000
                              : SHOAL_TIMEOUT_NEVER;
        tickets[i] = 0;
        int rc = shoal_lease_submit(lease, &commands[i], 1, &call,
                                    i == 0 ? on_incr : on_other, visitor->crowd,
                                    &tickets[i]);
        if (rc == SHOAL_ECLOSED)
            return false;
        if (rc == 0)
            visitor->crowd->accepted++;
        else
            visitor->crowd->strange++;
    }
    return true;
}

/* One lease after the other, each closed at some moment.  False: the client is closed. */
static bool visit(visitor_t *visitor)
{
    crowd_t *crowd = visitor->crowd;
    shoal_lease_t *leases[LEASES_AT_ONCE] = {NULL};
    uint64_t tickets[LEASES_AT_ONCE][COMMANDS] = {{0}};
    bool is_open = true;

    for (size_t i = 0; i < LEASES_AT_ONCE && is_open; i++) {
        int rc;
        while ((rc = shoal_lease_open(crowd->client, &leases[i])) == SHOAL_EFULL)
            waiting_sleep_us(100);
        is_open = rc == 0 && use(visitor, leases[i], tickets[i]);
        if (live_roll(&visitor->random) % 8 == 0) {
            shoal_lease_close(leases[i]);
            leases[i] = NULL;
        }
    }
    for (size_t i = 0; i < LEASES_AT_ONCE; i++) {
        unsigned which = live_roll(&visitor->random) % (2 * COMMANDS);
        if (which < COMMANDS && tickets[i][which])
            (void)!shoal_client_cancel(crowd->client, tickets[i][which]);
        shoal_lease_close(leases[i]);
    }
    return is_open;
}

static void *come_and_go(void *data)
{
    visitor_t *visitor = data;
    crowd_t *crowd = visitor->crowd;

    for (size_t i = 0; crowd->rounds == 0 || i < crowd->rounds; i++)
        if (!visit(visitor))
            break;
    return NULL;
}

static void start_crowd(crowd_t *crowd, visitor_t visitors[CROWD_THREADS])
{
    for (unsigned i = 0; i < CROWD_THREADS; i++) {
        visitors[i] = (visitor_t){.crowd = crowd, .random = i + 1};
        assert_int_equal(
            pthread_create(&visitors[i].thread, NULL, come_and_go, &visitors[i]), 0);
    }
}

static void check_crowd(const crowd_t *crowd, int64_t value)
{
    print_message(
        "%zu commands: %zu increments, %zu in doubt, %zu given up; %zu behind "
        "a gap; the value is %d\n",
        crowd->accepted, crowd->increased, crowd->doubtful, crowd->given_up,
        crowd->broken, (int)value);
    assert_int_equal(crowd->results, crowd->accepted);
    assert_int_equal(crowd->strange, 0);
    assert_in_range((uint64_t)value, crowd->increased,
                    crowd->increased + crowd->doubtful);
}

/* The server's figure. */
static unsigned connected(shoal_client_t *judge)
{
    outcome_t outcome = live_lease_ask(judge, NULL, "INFO clients");
    const char *at = strstr(outcome.text, "connected_clients:");

    assert_non_null(at);
    return (unsigned)strtoul(at + sizeof "connected_clients:" - 1, NULL, 10);
}

static void test_the_bound_holds_in_a_crowd(void **state)
{
    (void)state;
    shoal_client_t *judge = live_lease_begin();
    shoal_client_t *client = live_open(live_options());
    crowd_t crowd = {.client = client, .rounds = live_scaled(ROUNDS)};
    size_t all = CROWD_THREADS * crowd.rounds * LEASES_AT_ONCE * COMMANDS;
    visitor_t visitors[CROWD_THREADS];

    start_crowd(&crowd, visitors);
    while (crowd.accepted < all) {
        /* The leased ones, the shared one, the judge's.  The server may notice late that
         * one was closed. */
        WAIT_FOR(connected(judge) <= SHOAL_LEASE_CONNECTIONS_MAX + 2);
        assert_true(live_stats(client).leases_now <=
                    SHOAL_LEASE_CONNECTIONS_MAX + SHOAL_LEASE_WAITING_MAX);
        waiting_sleep_us(1000);
    }
    for (size_t i = 0; i < CROWD_THREADS; i++)
        pthread_join(visitors[i].thread, NULL);
    WAIT_FOR(crowd.results == all);
    WAIT_FOR(live_stats(client).leases_now == 0);
    assert_true(live_stats(client).leases_idle_now <= SHOAL_LEASE_CONNECTIONS_MAX);
    /* Numbers 1 (shared) to 65. */
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
    assert_int_equal(
        shoal_connection_get(client, SHOAL_LEASE_CONNECTIONS_MAX + 2, &info),
        SHOAL_ENOENT);
    shoal_stats_t stats = live_stats(client);
    assert_int_equal(stats.commands, stats.completed);
    assert_int_equal(stats.losses, 0);
    live_lease_end(client);
    WAIT_FOR(connected(judge) == 1);
    check_crowd(&crowd, live_lease_ask(judge, NULL, "INCRBY held 0").integer);
    assert_true(crowd.given_up > 0 && crowd.broken > 0);
    live_lease_end(judge);
}

static void test_a_client_closes_under_a_crowd(void **state)
{
    (void)state;
    shoal_client_t *judge = live_lease_begin();
    size_t rounds = live_scaled(5);

    for (size_t i = 0; i < rounds; i++) {
        crowd_t crowd = {.client = live_open(live_options())};
        visitor_t visitors[CROWD_THREADS];
        assert_int_equal(live_lease_ask(judge, NULL, "SET held 0").status, 0);
        start_crowd(&crowd, visitors);
        WAIT_FOR(crowd.increased >= 300 * (i % 4));
        assert_int_equal(shoal_client_close_and_wait(crowd.client, i % 3 * 1000), 0);
        for (size_t j = 0; j < CROWD_THREADS; j++)
            pthread_join(visitors[j].thread, NULL);
        shoal_client_release(crowd.client);
        WAIT_FOR(connected(judge) == 1);
        check_crowd(&crowd, live_lease_ask(judge, NULL, "INCRBY held 0").integer);
    }
    live_lease_end(judge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_in_line_is_the_first_served),
        cmocka_unit_test(test_so_many_leases_and_no_more),
        cmocka_unit_test(test_the_bound_holds_in_a_crowd),
        cmocka_unit_test(test_a_client_closes_under_a_crowd),
    };
    return cmocka_run_group_tests_name("integration/leases_line", tests, NULL, NULL);
}
