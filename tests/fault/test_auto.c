/* SPDX-License-Identifier: MIT */

/* A client finds out whether it has one server or a cluster (SHOAL_TOPOLOGY_AUTO): commands
 * wait until it knows. */

#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* Of two slots. */
#define LOW "bar"
#define HIGH "foo"

static void serve(scene_t *scene, bool is_cluster)
{
    scene_serve(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO),
                     0);
}

/* The server says what it is when it is released, and not before. */
static void open_in_doubt(scene_t *scene, bool is_cluster)
{
    serve(scene, is_cluster);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open(scene);
    WAIT_FOR(fake_server_received(scene->server, 0, "HELLO", NULL) == 1);
}

static void tell(scene_t *scene)
{
    fake_server_release(scene->server);
}

static shoal_topology_t kind_of(scene_t *scene)
{
    shoal_topology_snapshot_t *topology;
    shoal_topology_t kind;

    assert_int_equal(shoal_topology_get(scene->client, &topology), 0);
    kind = shoal_topology_kind(topology);
    shoal_topology_release(topology);
    return kind;
}

static void check_kind(scene_t *scene, bool is_cluster)
{
    assert_int_equal(kind_of(scene),
                     is_cluster ? SHOAL_TOPOLOGY_CLUSTER : SHOAL_TOPOLOGY_STANDALONE);
    /* One server is connected to again. */
    assert_int_equal(fake_server_accepted(scene->server), is_cluster ? 1 : 2);
    assert_int_equal(fake_server_open_now(scene->server), 1);
    assert_int_equal(fake_server_user_commands(scene->server, 1) > 0, is_cluster);
}

/* What was submitted has a result, and each was counted once. */
static void check_counts(scene_t *scene)
{
    shoal_stats_t stats = scene_idle_stats(scene);

    assert_int_equal(stats.commands, stats.completed);
    assert_int_equal(stats.queued_now, 0);
    assert_int_equal(stats.bytes_now, 0);
}

/* ---- what it finds ---- */

static void find(scene_t *scene, const fake_config_t *config)
{
    scene_serve(scene, config);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO),
                     0);
    scene_open_ready(scene);
    outcome_t outcome = scene_call(scene, WORDS("INCR", HIGH), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome.integer, 1);
    check_kind(scene, config->identity.is_cluster);
    check_counts(scene);
    scene_close(scene, 0);
}

/* What it said when it was ready. */
typedef struct said {
    char text[8][256];
    unsigned count;
} said_t;

static void note_ready(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    said_t *said = data;
    (void)client;

    if (shoal_event_kind(event) == SHOAL_EVENT_READY && said->count < 8)
        snprintf(said->text[said->count++], sizeof said->text[0], "%s",
                 shoal_event_detail(event));
}

/* Of two connections the first one tells why there are two. */
static void the_first_connection_says_that_it_is_over(void **state)
{
    scene_t *scene = *state;
    said_t *said = scene_alloc(scene, sizeof *said);
    char name[32];

    serve(scene, false);
    assert_int_equal(shoal_options_set_on_event(scene->options, note_ready, said), 0);
    scene_open_ready(scene);
    scene_close(scene, 0);
    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(scene->server));
    assert_int_equal(said->count, 2);
    assert_int_equal(strncmp(said->text[0], name, strlen(name)), 0);
    assert_non_null(strstr(said->text[0], "no cluster: it is connected to again"));
    assert_string_equal(said->text[1], name);
}

/* By HELLO, or by INFO. */
static void what_the_server_says_counts(void **state)
{
    scene_t *scene = *state;

    for (int is_settling = 0; is_settling <= 1; is_settling++) {
        assert_int_equal(shoal_options_set_settle(scene->options, is_settling), 0);
        for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
            find(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
            find(scene, &(fake_config_t){.identity = {.kind = FAKE_RESP2,
                                                      .is_cluster = is_cluster}});
        }
    }
}

/* A proxy, perhaps: it says nothing about itself. */
static void a_server_that_says_nothing_is_one_server(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.identity.kind = FAKE_BARE});
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO),
                     0);
    scene_open_ready(scene);
    scene_check_works(scene);
    assert_int_equal(kind_of(scene), SHOAL_TOPOLOGY_STANDALONE);
}

static void a_sentinel_is_not_taken(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    outcome_t outcome;

    for (int is_old = 0; is_old <= 1; is_old++) {
        scene_serve(scene, &(fake_config_t){.identity.kind =
                                                is_old ? FAKE_RESP2 : FAKE_MODERN});
        fake_server_rule(
            scene->server,
            &(fake_rule_t){.command = is_old ? "INFO" : "HELLO",
                           .reply = is_old ? "$21\r\nredis_mode:sentinel\r\n\r\n"
                                           : "%2\r\n$5\r\nproto\r\n:3\r\n"
                                             "$4\r\nmode\r\n$8\r\nsentinel\r\n"});
        assert_int_equal(
            shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO), 0);
        scene_open(scene);
        call.timeout_us = 200000;
        outcome = scene_call(scene, WORDS("PING"), &call);
        scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
        if (!strstr(outcome.detail, "a sentinel") ||
            !strstr(outcome.detail, "redis+sentinel://"))
            fail_msg("%s", outcome.detail);
        assert_int_equal(fake_server_received(scene->server, 0, "PING", NULL), 0);
        assert_int_equal(kind_of(scene), SHOAL_TOPOLOGY_AUTO);
        scene_close(scene, 0);
    }
}

/* The first address leads nowhere. */
static void any_of_the_addresses_can_say_it(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        fake_server_t *gone = fake_server_start(NULL);
        serve(scene, is_cluster);
        fake_server_refuse(gone, true);
        assert_int_equal(shoal_options_set_address(scene->options, "127.0.0.1",
                                                   fake_server_port(gone)),
                         0);
        assert_int_equal(shoal_options_add_address(scene->options, "127.0.0.1",
                                                   fake_server_port(scene->server)),
                         0);
        scene_open_ready(scene);
        scene_check_works(scene);
        check_kind(scene, is_cluster);
        scene_close(scene, 0);
        fake_server_stop(gone);
    }
}

/* It may turn out to be a cluster. */
static void what_a_cluster_cannot_have_is_refused(void **state)
{
    static const char *const urls[] = {"unix:///s?topology=auto",
                                       "redis://h?topology=auto&connections=2",
                                       "redis://h?topology=auto&read_from=replica",
                                       "redis+sentinel://h/name?topology=auto"};
    (void)state;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_client_t *client;
        assert_int_equal(shoal_client_open_url(urls[i], &client, &error), SHOAL_EINVAL);
        assert_null(client);
        assert_true(strlen(error.text) > 0);
    }
}

/* ---- what waits ---- */

#define MANY 200

/* In their order, and before what is submitted later. */
static void what_waits_keeps_its_order(void **state)
{
    scene_t *scene = *state;
    char number[12];

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcomes = scene_outcomes(scene, MANY);
        open_in_doubt(scene, is_cluster);
        assert_int_equal(kind_of(scene), SHOAL_TOPOLOGY_AUTO);
        for (unsigned i = 0; i < MANY; i++) {
            if (i == MANY / 2)
                tell(scene);
            snprintf(number, sizeof number, "%u", i);
            scene_submit(scene, WORDS("RPUSH", HIGH, number), NULL, &outcomes[i]);
        }
        for (unsigned i = 0; i < MANY; i++) {
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
            assert_int_equal(outcomes[i].integer, i + 1);
            assert_int_equal(outcomes[i].attempts, 1);
        }
        check_kind(scene, is_cluster);
        check_counts(scene);
        assert_int_equal(scene_stats(scene).commands, MANY);
        scene_close(scene, 0);
    }
}

/* A cluster refuses it, and says so in the result. */
static void check_refused(const outcome_t *outcome, bool is_refused, int status)
{
    if (!is_refused) {
        scene_check(outcome, 0, SHOAL_FATE_REPLIED);
        return;
    }
    scene_check(outcome, status, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(strncmp(outcome->detail, "the server is a cluster, ", 25), 0);
}

static void what_a_cluster_refuses_is_a_result(void **state)
{
    enum { UNIT = 4 };
    scene_t *scene = *state;
    const shoal_command_t unit[UNIT] = {WORDS("MULTI"), WORDS("INCR", LOW),
                                        WORDS("INCR", HIGH), WORDS("EXEC")};
    const shoal_call_t together = {.size = sizeof together,
                                   .flags = SHOAL_CALL_CONTIGUOUS};
    const shoal_call_t split = {.size = sizeof split, .flags = SHOAL_CALL_MAY_SPLIT};

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcomes = scene_outcomes(scene, 4 + UNIT);
        outcome_series_t series = {&outcomes[4], 0, UNIT};
        open_in_doubt(scene, is_cluster);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "MSET", .reply = "+OK\r\n"});
        fake_server_rule(
            scene->server,
            &(fake_rule_t){.command = "SCAN", .reply = "*2\r\n$1\r\n0\r\n*0\r\n"});
        scene_submit(scene, WORDS("MSET", LOW, "1", HIGH, "1"), NULL, &outcomes[0]);
        scene_submit(scene, WORDS("MSET", LOW, "1", HIGH, "1"), &split, &outcomes[1]);
        scene_submit(scene, WORDS("SCAN", "0"), NULL, &outcomes[2]);
        assert_int_equal(shoal_client_submit_many(scene->client, unit, UNIT, &together,
                                                  outcome_series_cb, &series, NULL),
                         0);
        scene_submit(scene, WORDS("INCR", HIGH), NULL, &outcomes[3]);
        tell(scene);
        check_refused(&outcomes[0], is_cluster, SHOAL_ECROSSSLOT);
        check_refused(&outcomes[1], false, 0);
        check_refused(&outcomes[2], is_cluster, SHOAL_EREFUSED);
        WAIT_FOR(outcome_series_count(&series) == UNIT);
        for (size_t i = 4; i < 4 + UNIT; i++)
            check_refused(&outcomes[i], is_cluster, SHOAL_ECROSSSLOT);
        scene_check(&outcomes[3], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[3].integer, is_cluster ? 1 : 2);
        assert_int_equal(fake_server_received(scene->server, 0, "MSET", NULL), 2);
        check_counts(scene);
        scene_close(scene, 0);
    }
}

/* What is known is refused as ever. */
static void what_is_submitted_later_is_refused_at_once(void **state)
{
    scene_t *scene = *state;
    shoal_command_t command = WORDS("MGET", LOW, HIGH);

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        serve(scene, is_cluster);
        scene_open_ready(scene);
        scene_check_works(scene);
        WAIT_FOR(kind_of(scene) != SHOAL_TOPOLOGY_AUTO);
        assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, NULL,
                                                  NULL, NULL, NULL),
                         is_cluster ? SHOAL_ECROSSSLOT : 0);
        scene_close(scene, 100000);
    }
}

/* A node that the program knows can be named. */
static void the_server_can_be_named(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_command_t command = WORDS("INCR", HIGH);
    char name[32];

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcome = scene_outcomes(scene, 1);
        open_in_doubt(scene, is_cluster);
        snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(scene->server));
        call.route = SHOAL_ROUTE_NODE;
        call.route_node = "127.0.0.1:1";
        assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, &call,
                                                  NULL, NULL, NULL),
                         SHOAL_ENOENT);
        call.route_node = name;
        scene_submit(scene, command, &call, outcome);
        tell(scene);
        scene_check(outcome, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcome->integer, 1);
        scene_close(scene, 0);
    }
}

/* ---- ends, while nothing is known ---- */

static void commands_end_as_ever(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);
    shoal_call_t hasty = SHOAL_CALL_INIT;
    uint64_t ticket;

    hasty.timeout_us = 50000;
    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 3, 16384, 1 << 20), 0);
    open_in_doubt(scene, false);
    ticket = scene_submit(scene, WORDS("INCR", "a"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("INCR", "b"), &hasty, &outcomes[1]);
    scene_submit(scene, WORDS("INCR", "c"), NULL, &outcomes[2]);
    shoal_command_t command = WORDS("INCR", "d");
    assert_int_equal(
        shoal_client_submit_many(scene->client, &command, 1, NULL, NULL, NULL, NULL),
        SHOAL_EFULL);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(&outcomes[0], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    scene_check(&outcomes[1], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(scene_stats(scene).timeouts, 1);
    scene_close(scene, 10000);
    scene_check(&outcomes[2], SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

/* That of what waited. */
static void the_room_is_free_again(void **state)
{
    enum { ROOM = 3 };
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, ROOM, 16384, 1 << 20), 0);
    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcomes = scene_outcomes(scene, (size_t)2 * ROOM);
        open_in_doubt(scene, is_cluster);
        for (size_t i = 0; i < ROOM; i++)
            scene_submit(scene, WORDS("INCR", HIGH), NULL, &outcomes[i]);
        WAIT_FOR(scene_stats(scene).queued_now == ROOM); /* a turn has counted them */
        tell(scene);
        for (size_t i = 0; i < ROOM; i++)
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        check_counts(scene);
        fake_server_freeze(scene->server);
        for (size_t i = ROOM; i < (size_t)2 * ROOM; i++)
            scene_submit(scene, WORDS("INCR", HIGH), NULL, &outcomes[i]);
        fake_server_release(scene->server);
        for (size_t i = ROOM; i < (size_t)2 * ROOM; i++)
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        scene_close(scene, 0);
    }
}

/* What ended before counts afterwards, too. */
static void what_was_counted_stays_counted(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    shoal_call_t hasty = SHOAL_CALL_INIT;

    hasty.timeout_us = 20000;
    open_in_doubt(scene, false);
    scene_submit(scene, WORDS("INCR", "a"), &hasty, &outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    tell(scene);
    scene_submit(scene, WORDS("INCR", "a"), NULL, &outcomes[1]);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    check_counts(scene);
    shoal_stats_t stats = scene_stats(scene);
    assert_int_equal(stats.commands, 2);
    assert_int_equal(stats.timeouts, 1);
    assert_int_equal(stats.connects, 2);
}

/* ---- connections of one's own ---- */

static void leases_wait_too(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcomes = scene_outcomes(scene, 4);
        shoal_lease_t *lease, *unused;
        shoal_call_t call = SHOAL_CALL_INIT;
        open_in_doubt(scene, is_cluster);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "BLPOP",
                                        .reply = "*2\r\n$3\r\nfoo\r\n$1\r\nv\r\n"});
        assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
        assert_int_equal(shoal_lease_open(scene->client, &unused), 0);
        call.lease = lease;
        scene_submit(scene, WORDS("INCR", HIGH), NULL, &outcomes[0]);
        scene_submit(scene, WORDS("INCR", HIGH), &call, &outcomes[1]);
        scene_submit(scene, WORDS("BLPOP", HIGH, "0"), NULL, &outcomes[2]);
        scene_submit(scene, WORDS("INCR", HIGH), &call, &outcomes[3]);
        shoal_lease_close(unused);
        tell(scene);
        for (size_t i = 0; i < 4; i++)
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        shoal_lease_close(lease);
        WAIT_FOR(scene_stats(scene).leases_now == 0);
        check_counts(scene);
        assert_int_equal(fake_server_number(scene->server, 0, HIGH), 3);
        scene_close(scene, 0);
    }
}

/* ---- scans ---- */

/* Begun when nothing is known. */
static void a_scan_waits_too(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        shoal_scan_t *scan;
        shoal_result_t *page;
        serve(scene, is_cluster);
        fake_server_rule(
            scene->server,
            &(fake_rule_t){.command = "HELLO", .times = 1, .delay_us = 50000});
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "SCAN",
                                        .reply = "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n"});
        scene_open(scene);
        assert_int_equal(shoal_scan_new(scene->client, NULL, &scan), 0);
        assert_int_equal(shoal_scan_next(scan, 0, &page), 0);
        if (shoal_result_error(page) || shoal_result_status(page) < 0)
            fail_msg("%s", shoal_result_error(page));
        assert_int_equal(shoal_reply_count(shoal_result_reply(page)), 1);
        shoal_result_release(page);
        assert_int_equal(shoal_scan_next(scan, 0, &page), 1);
        shoal_scan_free(scan);
        scene_close(scene, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_server_says_counts),
        TEST(the_first_connection_says_that_it_is_over),
        TEST(a_server_that_says_nothing_is_one_server),
        TEST(a_sentinel_is_not_taken),
        TEST(any_of_the_addresses_can_say_it),
        TEST(what_a_cluster_cannot_have_is_refused),
        TEST(what_waits_keeps_its_order),
        TEST(what_a_cluster_refuses_is_a_result),
        TEST(what_is_submitted_later_is_refused_at_once),
        TEST(the_server_can_be_named),
        TEST(commands_end_as_ever),
        TEST(the_room_is_free_again),
        TEST(what_was_counted_stays_counted),
        TEST(leases_wait_too),
        TEST(a_scan_waits_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
