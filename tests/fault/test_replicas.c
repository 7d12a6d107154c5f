/* SPDX-License-Identifier: MIT */
/* Reads at replicas: which commands go there, and where they go when a replica fails. */
#include "support/scene.h"

#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define REPLICAS 2
#define LINKED                                                                         \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$9\r\nconnected\r\n:0\r\n"
#define UNLINKED                                                                       \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$7\r\nconnect\r\n:-1\r\n"
#define PRIMARY "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define LOADING "-LOADING Redis is loading the dataset in memory\r\n"
#define MASTERDOWN "-MASTERDOWN Link with MASTER is down\r\n"

static fake_server_t *replicas[REPLICAS];

static int setup(void **state)
{
    for (unsigned i = 0; i < REPLICAS; i++)
        replicas[i] = fake_server_start(NULL);
    return scene_setup(state);
}

static int teardown(void **state)
{
    int rc = scene_teardown(state);

    for (unsigned i = 0; i < REPLICAS; i++) {
        rc = fake_server_broken(replicas[i]) ? -1 : rc;
        fake_server_stop(replicas[i]);
    }
    return rc;
}

static void say_role(unsigned replica, const char *role)
{
    fake_server_rule(replicas[replica],
                     &(fake_rule_t){.command = "ROLE", .reply = role});
}

static void add_replica(scene_t *scene, unsigned replica)
{
    assert_int_equal(shoal_options_add_replica(scene->options, "127.0.0.1",
                                               fake_server_port(replicas[replica])),
                     0);
}

static void read_from(scene_t *scene, shoal_read_from_t from)
{
    assert_int_equal(shoal_options_set_read_from(scene->options, from), 0);
}

static size_t reads_at(unsigned replica)
{
    return fake_server_received(replicas[replica], 0, "GET", NULL);
}

static size_t reads_at_primary(const scene_t *scene)
{
    return fake_server_received(scene->server, 0, "GET", NULL);
}

static bool try_read(scene_t *scene)
{
    return scene_call(scene, WORDS("GET", "probe"), NULL).status == 0;
}

static void await_reads(scene_t *scene, unsigned replica)
{
    size_t before = reads_at(replica);

    WAIT_FOR(try_read(scene) && reads_at(replica) > before);
}

/* With so many replicas, all of which work. */
static void open_with(scene_t *scene, unsigned count, shoal_read_from_t from)
{
    for (unsigned i = 0; i < count; i++) {
        say_role(i, LINKED);
        add_replica(scene, i);
    }
    read_from(scene, from);
    scene_open_ready(scene);
    for (unsigned i = 0; i < count; i++)
        await_reads(scene, i);
}

static void answer(unsigned replica, const char *command, const char *reply)
{
    fake_server_rule(replicas[replica],
                     &(fake_rule_t){.command = command, .reply = reply});
}

/* Commands that a replica must never see. */
static void check_no_write(unsigned replica)
{
    size_t count = fake_server_ledger_size(replicas[replica]);

    for (size_t i = 0; i < count; i++) {
        fake_entry_t entry = fake_server_ledger_at(replicas[replica], i);
        const char *name = entry.args[0];
        assert_true(strcmp(name, "GET") == 0 || strcmp(name, "HELLO") == 0 ||
                    strcmp(name, "CLIENT") == 0 || strcmp(name, "INFO") == 0 ||
                    strcmp(name, "ECHO") == 0 || strcmp(name, "ROLE") == 0 ||
                    strcmp(name, "EVALSHA_RO") == 0 || strcmp(name, "PING") == 0);
    }
}

/* ---- which commands ---- */

static void test_only_reads_go_there(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t primary = {.size = sizeof primary, .flags = SHOAL_CALL_PRIMARY};
    const shoal_call_t once = {.size = sizeof once, .flags = SHOAL_CALL_ONCE};
    const shoal_call_t together = {.size = sizeof together,
                                   .flags = SHOAL_CALL_CONTIGUOUS};
    const shoal_command_t unit[] = {WORDS("MULTI"), WORDS("GET", "u"), WORDS("EXEC")};
    const shoal_command_t pair[] = {WORDS("GET", "c"), WORDS("GET", "c")};
    outcome_t outcomes[3] = {0};
    size_t there;

    open_with(scene, 1, SHOAL_READ_REPLICA_PREFERRED);
    there = fake_server_user_commands(replicas[0], 0);
    scene_call(scene, WORDS("SET", "k", "1"), NULL);
    scene_call(scene, WORDS("PING"), NULL);
    scene_call(scene, WORDS("EVAL", "return 1", "0"), NULL);
    scene_call(scene, WORDS("SCAN", "0"), NULL);
    scene_call(scene, WORDS("GET", "p"), &primary);
    scene_call(scene, WORDS("GET", "o"), &once);
    scene_call_many(scene, unit, 3, &together, outcomes);
    memset(outcomes, 0, sizeof outcomes);
    scene_call_many(scene, pair, 2, &together, outcomes);
    assert_int_equal(fake_server_user_commands(replicas[0], 0), there);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", "p"), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", "c"), 2);
    check_no_write(0);
}

static void test_commands_of_one_call_part(void **state)
{
    scene_t *scene = *state;
    const shoal_command_t commands[] = {WORDS("SET", "k", "1"), WORDS("GET", "r"),
                                        WORDS("SET", "k", "2"), WORDS("GET", "s")};
    outcome_t outcomes[4] = {0};

    open_with(scene, 1, SHOAL_READ_REPLICA_PREFERRED);
    scene_call_many(scene, commands, 4, NULL, outcomes);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(outcomes[i].status, 0);
    assert_int_equal(fake_server_received(scene->server, 0, "SET", "k"), 2);
    assert_int_equal(fake_server_received(replicas[0], 0, "GET", "r"), 1);
    assert_int_equal(fake_server_received(replicas[0], 0, "GET", "s"), 1);
    check_no_write(0);
}

static void test_a_call_asks_for_a_replica(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t replica = {.size = sizeof replica, .flags = SHOAL_CALL_REPLICA};

    say_role(0, LINKED);
    add_replica(scene, 0);
    scene_open_ready(scene);
    WAIT_FOR(scene_call(scene, WORDS("GET", "a"), &replica).status == 0 &&
             reads_at(0) > 0);
    assert_int_equal(scene_call(scene, WORDS("GET", "b"), NULL).status, 0);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", "b"), 1);
    assert_int_equal(fake_server_received(replicas[0], 0, "GET", "b"), 0);
    assert_true(scene_stats(scene).replica_reads >= 1);
}

static void test_reads_keep_their_order(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 100);

    open_with(scene, 1, SHOAL_READ_REPLICA);
    for (unsigned i = 0; i < 100; i++)
        scene_submit(scene, WORDS("GET", "k"), NULL, &outcomes[i]);
    for (unsigned i = 0; i < 100; i++)
        scene_await(&outcomes[i]);
    for (unsigned i = 1; i < 100; i++)
        assert_true(outcomes[i - 1].order < outcomes[i].order);
}

/* ---- which replicas ---- */

static void check_the_primary_names_them(scene_t *scene)
{
    char role[200], port[8];

    snprintf(port, sizeof port, "%d", fake_server_port(replicas[0]));
    snprintf(role, sizeof role,
             "*3\r\n$6\r\nmaster\r\n:0\r\n*2\r\n"
             "*3\r\n$1\r\n?\r\n$1\r\n0\r\n$1\r\n0\r\n"
             "*3\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
             strlen(port), port);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ROLE", .reply = role});
    say_role(0, LINKED);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    scene_open_ready(scene);
    await_reads(scene, 0);
    /* It names none any more. */
    fake_server_forget_rules(scene->server);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "ROLE", .reply = PRIMARY});
    assert_int_equal(shoal_client_reconnect(scene->client), 0);
    WAIT_FOR(fake_server_open_now(replicas[0]) == 0);
    scene_check_works(scene);
    assert_int_equal(scene_call(scene, WORDS("GET", "k"), NULL).status, 0);
}

static void test_the_primary_names_them(void **state)
{
    check_the_primary_names_them(*state);
}

/* It is found out that there is no cluster. */
static void test_the_topology_is_found_out(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO),
                     0);
    check_the_primary_names_them(scene);
}

static void check_never_read(scene_t *scene, const char *role)
{
    say_role(0, role);
    say_role(1, LINKED);
    add_replica(scene, 0);
    add_replica(scene, 1);
    read_from(scene, SHOAL_READ_REPLICA);
    scene_open_ready(scene);
    await_reads(scene, 1);
    WAIT_FOR(fake_server_received(replicas[0], 0, "ROLE", NULL) > 0);
    for (unsigned i = 0; i < 50; i++)
        assert_true(try_read(scene));
    assert_int_equal(reads_at(0), 0);
}

static void test_a_primary_is_no_replica(void **state)
{
    check_never_read(*state, PRIMARY);
}

static void test_a_replica_without_its_primary(void **state)
{
    check_never_read(*state, UNLINKED);
}

static void test_a_role_that_is_refused(void **state)
{
    check_never_read(*state, "-NOPERM User default has no permissions\r\n");
}

/* ---- what if they fail ---- */

static void check_refusal(scene_t *scene, const char *error)
{
    open_with(scene, 2, SHOAL_READ_REPLICA_PREFERRED);
    answer(0, "GET", error);
    for (unsigned i = 0; i < 50; i++)
        assert_true(try_read(scene));
    size_t before = reads_at_primary(scene);
    assert_true(reads_at(1) > 0);
    answer(1, "GET", error);
    WAIT_FOR(try_read(scene) && reads_at_primary(scene) > before);
    assert_int_equal(scene_stats(scene).error_replies, 0);
}

static void test_one_that_loads(void **state)
{
    check_refusal(*state, LOADING);
}

/* To ask another server is no second attempt. */
static void test_one_that_loads_and_one_attempt(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_attempts_max(scene->options, 1), 0);
    check_refusal(scene, LOADING);
}

static void test_one_whose_primary_is_down(void **state)
{
    check_refusal(*state, MASTERDOWN);
}

static void test_all_load_and_the_primary_is_no_choice(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 10);
    size_t at_primary;

    open_with(scene, 2, SHOAL_READ_REPLICA);
    at_primary = reads_at_primary(scene);
    answer(0, "GET", LOADING);
    answer(1, "GET", LOADING);
    for (unsigned i = 0; i < 10; i++)
        scene_submit(scene, WORDS("GET", "late"), NULL, &outcomes[i]);
    WAIT_FOR(fake_server_received(replicas[0], 0, "GET", "late") > 0 &&
             fake_server_received(replicas[1], 0, "GET", "late") > 0);
    assert_int_equal(outcomes[9].calls, 0);
    fake_server_prepare_rules(replicas[1]);
    say_role(1, LINKED);
    fake_server_forget_rules(replicas[1]);
    for (unsigned i = 0; i < 10; i++) {
        scene_await(&outcomes[i]);
        assert_int_equal(outcomes[i].status, 0);
    }
    assert_int_equal(reads_at_primary(scene), at_primary);
}

static void test_one_that_is_lost(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 200);

    open_with(scene, 2, SHOAL_READ_REPLICA);
    for (unsigned i = 0; i < REPLICAS; i++)
        fake_server_hold(replicas[i], "GET");
    for (unsigned i = 0; i < 200; i++)
        scene_submit(scene, WORDS("GET", "k"), NULL, &outcomes[i]);
    WAIT_FOR(fake_server_received(replicas[0], 0, "GET", "k") +
                 fake_server_received(replicas[1], 0, "GET", "k") >
             0);
    unsigned one = fake_server_received(replicas[0], 0, "GET", "k") > 0 ? 0 : 1;
    fake_server_prepare_rules(replicas[1 - one]);
    say_role(1 - one, LINKED);
    fake_server_forget_rules(replicas[1 - one]);
    fake_server_release(replicas[1 - one]);
    fake_server_refuse(replicas[one], true);
    fake_server_cut(replicas[one], FAKE_CUT_RESET);
    for (unsigned i = 0; i < 200; i++) {
        scene_await(&outcomes[i]);
        assert_int_equal(outcomes[i].status, 0);
    }
    assert_true(fake_server_received(replicas[1 - one], 0, "GET", "k") >= 1);
    fake_server_refuse(replicas[one], false);
    fake_server_prepare_rules(replicas[one]);
    say_role(one, LINKED);
    fake_server_forget_rules(replicas[one]);
    await_reads(scene, one);
}

/* It may be another process, which has no data yet. */
static void test_one_that_comes_back_empty(void **state)
{
    scene_t *scene = *state;
    size_t reads, roles;

    open_with(scene, 1, SHOAL_READ_REPLICA_PREFERRED);
    fake_server_prepare_rules(replicas[0]);
    say_role(0, UNLINKED);
    fake_server_forget_rules(replicas[0]);
    reads = reads_at(0);
    roles = fake_server_received(replicas[0], 0, "ROLE", NULL);
    fake_server_cut(replicas[0], FAKE_CUT_RESET);
    /* It has answered, because it is asked again. */
    WAIT_FOR(fake_server_received(replicas[0], 0, "ROLE", NULL) >= roles + 2);
    for (unsigned i = 0; i < 5; i++)
        assert_true(try_read(scene));
    assert_int_equal(reads_at(0), reads);
    /* Its link is there again. */
    fake_server_prepare_rules(replicas[0]);
    say_role(0, LINKED);
    fake_server_forget_rules(replicas[0]);
    await_reads(scene, 0);
}

static void test_all_are_lost(void **state)
{
    scene_t *scene = *state;

    open_with(scene, 2, SHOAL_READ_REPLICA_PREFERRED);
    for (unsigned i = 0; i < REPLICAS; i++) {
        fake_server_refuse(replicas[i], true);
        fake_server_cut(replicas[i], FAKE_CUT_RESET);
    }
    size_t before = reads_at_primary(scene);
    WAIT_FOR(try_read(scene) && reads_at_primary(scene) > before);
}

static void test_reads_go_on_without_the_primary(void **state)
{
    scene_t *scene = *state;

    open_with(scene, 2, SHOAL_READ_REPLICA_PREFERRED);
    fake_server_refuse(scene->server, true);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > 0);
    for (unsigned i = 0; i < 50; i++)
        assert_true(try_read(scene));
}

static void test_a_script_that_the_replica_lacks(void **state)
{
    scene_t *scene = *state;

    open_with(scene, 1, SHOAL_READ_REPLICA_PREFERRED);
    answer(0, "EVALSHA_RO", "-NOSCRIPT No matching script.\r\n");
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "EVALSHA_RO", .reply = "+here\r\n"});
    outcome_t outcome = scene_call(scene, WORDS("EVALSHA_RO", "abc", "0"), NULL);
    scene_check_text(&outcome, "here");
    assert_int_equal(fake_server_received(replicas[0], 0, "EVALSHA_RO", NULL), 1);
}

/* ---- zones ---- */

#define ZONE_A "$21\r\navailability_zone:a\r\n\r\n"
#define ZONE_B "$21\r\navailability_zone:b\r\n\r\n"
#define NO_ZONE "$8\r\nport:1\r\n\r\n"

/* The client, which is in zone a. */
static void open_in_zone(scene_t *scene, shoal_read_from_t from, const char *primary,
                         const char *first, const char *second)
{
    const char *const zones[REPLICAS] = {first, second};

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INFO", .reply = primary});
    for (unsigned i = 0; i < REPLICAS; i++) {
        say_role(i, LINKED);
        answer(i, "INFO", zones[i]);
        add_replica(scene, i);
    }
    read_from(scene, from);
    assert_int_equal(shoal_options_set_zone(scene->options, "a"), 0);
    scene_open_ready(scene);
}

/* Nobody else reads any more. */
static void await_quiet(scene_t *scene, unsigned replica)
{
    for (unsigned quiet = 0; quiet < 200; waiting_sleep_us(1000)) {
        size_t before = reads_at(replica);
        assert_true(try_read(scene));
        quiet = reads_at(replica) > before ? quiet + 1 : 0;
    }
}

static void test_one_in_the_zone_comes_first(void **state)
{
    scene_t *scene = *state;
    size_t before;

    open_in_zone(scene, SHOAL_READ_ZONE, ZONE_A, ZONE_B, ZONE_A);
    await_quiet(scene, 1);
    answer(1, "GET", LOADING);
    await_reads(scene, 0); /* it may be known later than the other one */
    before = reads_at_primary(scene);
    for (unsigned i = 0; i < 50; i++)
        assert_true(try_read(scene));
    assert_int_equal(reads_at_primary(scene), before);
    assert_int_equal(scene_events(scene).zones_unknown, 0);
}

static void test_the_primary_in_the_zone_comes_second(void **state)
{
    scene_t *scene = *state;
    size_t before;

    open_in_zone(scene, SHOAL_READ_ZONE_OR_PRIMARY, ZONE_A, ZONE_B, ZONE_A);
    await_quiet(scene, 1);
    answer(1, "GET", LOADING);
    before = reads_at_primary(scene);
    WAIT_FOR(try_read(scene) && reads_at_primary(scene) > before);
}

static void test_servers_without_zones(void **state)
{
    scene_t *scene = *state;

    open_in_zone(scene, SHOAL_READ_ZONE_OR_PRIMARY, NO_ZONE, NO_ZONE, NO_ZONE);
    await_reads(scene, 0);
    await_reads(scene, 1);
    WAIT_FOR(scene_events(scene).zones_unknown > 0);
    for (unsigned i = 0; i < 20; i++)
        assert_true(try_read(scene));
    assert_int_equal(scene_events(scene).zones_unknown, 1);
}

/* ---- none ---- */

static void check_deadline(scene_t *scene, const char *words)
{
    const shoal_call_t call = {.size = sizeof call, .timeout_us = 200000};
    outcome_t outcome = {0};

    /* The reason is known a short time after the client is ready. */
    WAIT_FOR((outcome = scene_call(scene, WORDS("GET", "k"), &call),
              strstr(outcome.detail, words) != NULL));
    assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
    assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    assert_true(outcome.is_offline);
    assert_non_null(strstr(outcome.detail, "no connection to any replica"));
    assert_int_equal(reads_at_primary(scene), 0);
}

static void test_there_is_none(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "ROLE", .reply = PRIMARY});
    read_from(scene, SHOAL_READ_REPLICA);
    scene_open_ready(scene);
    check_deadline(scene, "the primary names none");
}

static void test_the_client_has_a_replica(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "ROLE", .reply = LINKED});
    read_from(scene, SHOAL_READ_REPLICA);
    scene_open_ready(scene);
    check_deadline(scene, "is no primary");
}

static void test_none_can_be_reached(void **state)
{
    scene_t *scene = *state;

    fake_server_refuse(replicas[0], true);
    add_replica(scene, 0);
    read_from(scene, SHOAL_READ_REPLICA);
    scene_open_ready(scene);
    check_deadline(scene, "refused");
}

static void test_the_only_one_is_a_primary(void **state)
{
    scene_t *scene = *state;

    say_role(0, PRIMARY);
    add_replica(scene, 0);
    read_from(scene, SHOAL_READ_REPLICA);
    scene_open_ready(scene);
    check_deadline(scene, "is a primary");
}

static void test_none_and_commands_do_not_wait(void **state)
{
    scene_t *scene = *state;
    outcome_t outcome = {0};
    uint64_t since_us = waiting_now_us();

    say_role(0, PRIMARY);
    add_replica(scene, 0);
    read_from(scene, SHOAL_READ_REPLICA);
    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    scene_open_ready(scene);
    /* The reason is known a short time after the client is ready. */
    do {
        outcome = scene_call(scene, WORDS("GET", "k"), NULL);
        assert_int_equal(outcome.status, SHOAL_ECONN);
        assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
        waiting_pause(since_us, "the reason is told", __FILE__, __LINE__);
    } while (!strstr(outcome.detail, "is a primary"));
}

static void test_what_waits_is_cancelled_or_ends(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    uint64_t ticket;

    say_role(0, PRIMARY);
    add_replica(scene, 0);
    read_from(scene, SHOAL_READ_REPLICA);
    scene_open_ready(scene);
    ticket = scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("GET", "b"), NULL, &outcomes[1]);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(&outcomes[0], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(scene_stats(scene).queued_now == 1);
    scene_close(scene, 0);
    scene_check(&outcomes[1], SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_reads_go_there),
        TEST(test_commands_of_one_call_part),
        TEST(test_a_call_asks_for_a_replica),
        TEST(test_reads_keep_their_order),
        TEST(test_the_primary_names_them),
        TEST(test_the_topology_is_found_out),
        TEST(test_a_primary_is_no_replica),
        TEST(test_a_replica_without_its_primary),
        TEST(test_a_role_that_is_refused),
        TEST(test_one_that_loads),
        TEST(test_one_that_loads_and_one_attempt),
        TEST(test_one_whose_primary_is_down),
        TEST(test_all_load_and_the_primary_is_no_choice),
        TEST(test_one_that_is_lost),
        TEST(test_one_that_comes_back_empty),
        TEST(test_all_are_lost),
        TEST(test_reads_go_on_without_the_primary),
        TEST(test_a_script_that_the_replica_lacks),
        TEST(test_one_in_the_zone_comes_first),
        TEST(test_the_primary_in_the_zone_comes_second),
        TEST(test_servers_without_zones),
        TEST(test_there_is_none),
        TEST(test_the_client_has_a_replica),
        TEST(test_none_can_be_reached),
        TEST(test_the_only_one_is_a_primary),
        TEST(test_none_and_commands_do_not_wait),
        TEST(test_what_waits_is_cancelled_or_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
