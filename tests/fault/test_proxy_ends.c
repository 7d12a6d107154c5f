/* SPDX-License-Identifier: MIT */
/* How the fault proxy ends connections, seen by both peers. */
#include "support/fault/fault_rig.h"
#include "support/waiting.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const fault_way_t ways[] = {FAULT_TO_SERVER, FAULT_TO_CLIENT};
static const fault_end_t hows[] = {FAULT_END_FIN, FAULT_END_RESET, FAULT_END_HALF};

static void drop_connection(fault_rig_t *rig)
{
    close(rig->client);
    close(rig->server);
    rig->client = rig->server = -1;
}

static void test_a_cut_looks_as_it_was_asked_for(void **state)
{
    fault_rig_t *rig = *state;

    fault_rig_start(rig, NULL);
    for (size_t i = 0; i < 6; i++) {
        fault_way_t way = ways[i % 2];
        fault_end_t how = hows[i / 2];
        fault_rig_connect(rig);
        fault_rig_send_text(rig->client, "question");
        fault_rig_expect_text(rig->server, "question");
        fault_rig_send_text(rig->server, "answer");
        fault_rig_expect_text(rig->client, "answer");
        assert_int_equal(fault_proxy_counts(rig->proxy).open_now, 1);
        fault_proxy_cut(rig->proxy, way, how);

        int told = way == FAULT_TO_SERVER ? rig->server : rig->client;
        int other = way == FAULT_TO_SERVER ? rig->client : rig->server;
        fault_sight_t sight =
            how == FAULT_END_RESET ? FAULT_SIGHT_RESET : FAULT_SIGHT_FIN;
        assert_int_equal(fault_rig_sight(told), sight);
        if (how != FAULT_END_HALF) {
            assert_int_equal(fault_rig_sight(other), sight);
        } else {
            fault_rig_send_text(told, "still there");
            fault_rig_expect_text(other, "still there");
            fault_rig_send_text(other, "goes nowhere");
        }
        assert_int_equal(fault_proxy_counts(rig->proxy).open_now,
                         how == FAULT_END_HALF);
        drop_connection(rig);
        WAIT_FOR(fault_proxy_counts(rig->proxy).open_now == 0);
    }
    assert_int_equal(fault_proxy_counts(rig->proxy).accepted, 6);
}

/* By a Unix socket there is no reset; the end of the stream is what both see. */
static void test_a_cut_unix_socket_ends(void **state)
{
    fault_rig_t *rig = *state;

    fault_rig_start(rig, &(fault_proxy_config_t){.is_unix = true});
    for (size_t i = 0; i < 2; i++) {
        fault_rig_connect(rig);
        fault_rig_send_text(rig->client, "question");
        fault_rig_expect_text(rig->server, "question");
        fault_proxy_cut(rig->proxy, FAULT_TO_CLIENT, hows[i]);
        assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_FIN);
        assert_int_equal(fault_rig_sight(rig->server), FAULT_SIGHT_FIN);
        drop_connection(rig);
    }
}

/* One exchange over a connection that is cut after `bytes` this way.  What is to come
 * after the cut is sent all the same, for nobody. */
static void exchange(fault_rig_t *rig, fault_way_t way, size_t bytes, fault_end_t how)
{
    static const char question[] = "PING first\r\nPING second\r\n";
    static const char answer[] = "$5\r\nfirst\r\n$6\r\nsecond\r\n";
    const char *cut = way == FAULT_TO_SERVER ? question : answer;
    int to = way == FAULT_TO_SERVER ? rig->server : rig->client;
    int other = way == FAULT_TO_SERVER ? rig->client : rig->server;
    fault_sight_t sight = how == FAULT_END_RESET ? FAULT_SIGHT_RESET : FAULT_SIGHT_FIN;

    if (way == FAULT_TO_CLIENT && bytes > 0) {
        fault_rig_send_text(rig->client, question);
        fault_rig_expect_text(rig->server, question);
        fault_rig_send_text(rig->server, answer);
    } else if (way == FAULT_TO_SERVER && bytes > 0) {
        fault_rig_send_text(rig->client, question);
    }
    fault_rig_expect(to, cut, bytes);
    assert_int_equal(fault_rig_sight(to), sight);
    if (how == FAULT_END_FIN)
        fault_rig_send_text(other, "this must not turn the end into a reset");
    if (how != FAULT_END_HALF)
        assert_int_equal(fault_rig_sight(other), sight);
}

static void test_cut_after_every_byte_of_an_exchange(void **state)
{
    fault_rig_t *rig = *state;

    fault_rig_start(rig, NULL);
    for (size_t i = 0; i < 6; i++) {
        fault_way_t way = ways[i % 2];
        fault_end_t how = hows[i / 2];
        for (size_t bytes = 0; bytes <= 23; bytes++) {
            uint64_t before = fault_proxy_counts(rig->proxy).bytes[way];
            fault_proxy_cut_after(rig->proxy, 0, way, bytes, how);
            fault_rig_connect(rig);
            exchange(rig, way, bytes, how);
            assert_int_equal(fault_proxy_counts(rig->proxy).bytes[way] - before, bytes);
            drop_connection(rig);
        }
        fault_proxy_cut_after(rig->proxy, 0, way, UINT64_MAX, how);
    }
    fault_rig_connect(rig);
    fault_rig_send_text(rig->client, "no end is set any more, however long this is");
    fault_rig_expect_text(rig->server, "no end is set any more, however long this is");
}

/* Only on one connection, and also where it is open already. */
static void test_a_cut_of_one_connection(void **state)
{
    fault_rig_t *rig = *state;

    fault_rig_start(rig, NULL);
    fault_proxy_cut_after(rig->proxy, 2, FAULT_TO_SERVER, 3, FAULT_END_FIN);
    for (int i = 1; i <= 3; i++) {
        fault_rig_connect(rig);
        fault_rig_send_text(rig->client, "abcd");
        fault_rig_expect_text(rig->server, "abc");
        assert_int_equal(fault_rig_sight(rig->server),
                         i == 2 ? FAULT_SIGHT_FIN : FAULT_SIGHT_BYTES);
        if (i < 3)
            drop_connection(rig);
    }
    fault_proxy_cut_after(rig->proxy, 3, FAULT_TO_SERVER, 6, FAULT_END_FIN);
    fault_rig_send_text(rig->client, "efg");
    fault_rig_expect_text(rig->server, "ef");
    assert_int_equal(fault_rig_sight(rig->server), FAULT_SIGHT_FIN);
    drop_connection(rig);

    fault_rig_connect(rig);
    fault_rig_send_text(rig->client, "abcd");
    fault_rig_expect_text(rig->server, "abcd");
    fault_proxy_cut_after(rig->proxy, 4, FAULT_TO_SERVER, 2, FAULT_END_RESET);
    assert_int_equal(fault_rig_sight(rig->server), FAULT_SIGHT_RESET);
}

/* What was read and not carried yet never arrives. */
static void test_a_cut_loses_what_is_held(void **state)
{
    const fault_carriage_t held = {.delay_us = 3600000000u};
    fault_rig_t *rig = *state;

    fault_rig_start(rig, &(fault_proxy_config_t){.is_unix = true});
    fault_rig_connect(rig);
    fault_rig_send_text(rig->server, "carried");
    fault_rig_expect_text(rig->client, "carried");
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &held);
    fault_rig_send_text(rig->server, "held");
    WAIT_FOR(fault_rig_is_read(rig->server));
    fault_proxy_cut(rig->proxy, FAULT_TO_CLIENT, FAULT_END_FIN);
    assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_FIN);
    assert_int_equal(fault_proxy_counts(rig->proxy).bytes[FAULT_TO_CLIENT], 7);
}

/* The peers' own ends are carried as they are. */
static void test_ends_of_the_peers_are_passed_on(void **state)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    fault_rig_t *rig = *state;
    fault_carriage_t held = {.delay_us = 20000};

    fault_rig_start(rig, NULL);
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &held);
    fault_rig_connect(rig);
    fault_rig_send_text(rig->client, "last words");
    shutdown(rig->client, SHUT_WR);
    fault_rig_expect_text(rig->server, "last words");
    assert_int_equal(fault_rig_sight(rig->server), FAULT_SIGHT_FIN);
    fault_rig_send_text(rig->server, "farewell");
    close(rig->server);
    rig->server = -1;
    fault_rig_expect_text(rig->client, "farewell");
    assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_FIN);
    WAIT_FOR(fault_proxy_counts(rig->proxy).open_now == 0);
    close(rig->client);

    fault_rig_connect(rig);
    fault_rig_send_text(rig->server, "farewell");
    setsockopt(rig->server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fault_rig_expect_text(rig->client, "farewell");
    close(rig->server);
    rig->server = -1;
    assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_RESET);
}

static void test_turned_away(void **state)
{
    fault_rig_t *rig = *state;

    fault_rig_start(rig, NULL);
    fault_proxy_turn_away(rig->proxy, true);
    fault_rig_connect_client(rig);
    assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_FIN);
    close(rig->client);
    assert_int_equal(fault_proxy_counts(rig->proxy).accepted, 1);
    WAIT_FOR(fault_proxy_counts(rig->proxy).open_now == 0);
    assert_false(fault_rig_has_come(rig->listener));

    fault_proxy_turn_away(rig->proxy, false);
    fault_rig_connect(rig);
    fault_rig_send_text(rig->client, "welcome");
    fault_rig_expect_text(rig->server, "welcome");
}

static void test_a_server_that_is_not_there(void **state)
{
    fault_rig_t *rig = *state;

    for (int i = 0; i < 2; i++) {
        fault_rig_start(rig, &(fault_proxy_config_t){.is_unix = i == 1});
        close(rig->listener);
        rig->listener = -1;
        fault_rig_connect_client(rig);
        assert_int_not_equal(fault_rig_sight(rig->client), FAULT_SIGHT_BYTES);
        WAIT_FOR(fault_proxy_counts(rig->proxy).open_now == 0);
        fault_rig_stop(rig);
    }
}

/* With connections open and bytes held; tear_down() looks at what is left. */
static void test_stopped_in_the_middle(void **state)
{
    fault_rig_t *rig = *state;
    fault_carriage_t slow = {.delay_us = 3600000000u};

    fault_rig_start(rig, &(fault_proxy_config_t){.ways = {slow, slow}});
    for (int i = 0; i < 3; i++) {
        fault_rig_connect(rig);
        fault_rig_send_text(rig->client, "held for an hour");
        if (i < 2)
            drop_connection(rig);
    }
    fault_proxy_stop(rig->proxy);
    rig->proxy = NULL;
    assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_RESET);
    assert_int_equal(fault_rig_sight(rig->server), FAULT_SIGHT_RESET);
    fault_proxy_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_RIG_TEST(test_a_cut_looks_as_it_was_asked_for),
        FAULT_RIG_TEST(test_a_cut_unix_socket_ends),
        FAULT_RIG_TEST(test_cut_after_every_byte_of_an_exchange),
        FAULT_RIG_TEST(test_a_cut_of_one_connection),
        FAULT_RIG_TEST(test_a_cut_loses_what_is_held),
        FAULT_RIG_TEST(test_ends_of_the_peers_are_passed_on),
        FAULT_RIG_TEST(test_turned_away),
        FAULT_RIG_TEST(test_a_server_that_is_not_there),
        FAULT_RIG_TEST(test_stopped_in_the_middle),
    };
    return cmocka_run_group_tests_name("fault/proxy_ends", tests, NULL, NULL);
}
