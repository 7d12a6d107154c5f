/* SPDX-License-Identifier: MIT */
/* What results say of the way of their commands: redirects, node, slot, and that a server has
 * changed their order.  The test plays the nodes. */
#include "fault/cluster_scene.h"

#define OTHER_KEY "{" KEY "}2" /* of the same slot */

static void check_node(const outcome_t *outcome, const fake_server_t *server)
{
    char name[64];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(server));
    assert_string_equal(outcome->node, name);
}

/* Two commands leave together, and the first one gets this error from the first node. */
static void refuse_first(scene_t *scene, const char *error, const char *second_key,
                         outcome_t outcomes[2])
{
    agree();
    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "RPUSH", .reply = error, .times = 1});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    fake_server_freeze(nodes[0]);
    scene_submit(scene, WORDS("RPUSH", KEY, "1"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("RPUSH", second_key, "2"), NULL, &outcomes[1]);
    WAIT_FOR(scene_stats(scene).inflight_now == 2);
    fake_server_release(nodes[0]);
    for (size_t i = 0; i < 2; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
}

/* The node does not own the slot, and a moment later it does again. */
static void a_redirected_command_is_overtaken(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    refuse_first(scene, redirect_to("MOVED", SLOT, 1), KEY, outcomes);
    assert_true(outcomes[0].was_reordered);
    assert_int_equal(outcomes[0].redirects, 1);
    assert_int_equal(outcomes[0].attempts, 1);
    assert_int_equal(outcomes[0].slot, atoi(SLOT));
    check_node(&outcomes[0], nodes[1]);
    assert_false(outcomes[1].was_reordered);
    assert_int_equal(outcomes[1].redirects, 0);
    check_node(&outcomes[1], nodes[0]);
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.reordered, 1);
    assert_int_equal(stats.moved, 1);
    assert_int_equal(stats.asked, 0);
}

static void keys_of_a_slot_do_not_overtake_each_other(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    refuse_first(scene, redirect_to("ASK", SLOT, 1), OTHER_KEY, outcomes);
    assert_false(outcomes[0].was_reordered);
    assert_int_equal(outcomes[0].redirects, 1);
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.reordered, 0);
    assert_int_equal(stats.asked, 1);
}

static void a_command_that_waits_is_overtaken(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    refuse_first(scene, "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
                 KEY, outcomes);
    assert_true(outcomes[0].was_reordered);
    assert_int_equal(outcomes[0].redirects, 0);
    assert_int_equal(outcomes[0].slot, atoi(SLOT));
    assert_int_equal(outcomes[0].integer, 2); /* the length: its place */
    assert_false(outcomes[1].was_reordered);
    assert_int_equal(scene_idle_stats(scene).reordered, 1);
}

/* What comes back in order keeps it, and has no mark. */
static void what_keeps_its_place_has_no_mark(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    for (size_t i = 0; i < 3; i++)
        scene_submit(scene, WORDS("RPUSH", KEY, "x"), NULL, &outcomes[i]);
    for (size_t i = 0; i < 3; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_false(outcomes[i].was_reordered);
        check_node(&outcomes[i], nodes[1]);
    }
    assert_int_equal(scene_idle_stats(scene).reordered, 0);
}

/* A part of a unit was overtaken, and so was the unit. */
static void a_unit_is_overtaken(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3), *later = scene_outcomes(scene, 1);
    outcome_series_t *series = scene_alloc(scene, sizeof *series);
    const shoal_command_t unit[3] = {WORDS("MULTI"), WORDS("SET", KEY, "1"),
                                     WORDS("EXEC")};
    shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS};

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 1),
                                              .times = 1});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    fake_server_freeze(nodes[0]);
    *series = (outcome_series_t){outcomes, 0, 3};
    assert_int_equal(shoal_client_submit_many(scene->client, unit, 3, &call,
                                              outcome_series_cb, series, NULL),
                     0);
    scene_submit(scene, WORDS("SET", KEY, "2"), NULL, later);
    WAIT_FOR(scene_stats(scene).inflight_now == 4);
    fake_server_release(nodes[0]);
    WAIT_FOR(outcome_series_count(series) == 3);
    scene_check(later, 0, SHOAL_FATE_REPLIED);
    assert_false(later->was_reordered);
    assert_true(outcomes[1].was_reordered);
    assert_true(outcomes[2].was_reordered);
    assert_int_equal(outcomes[2].redirects, 1);
}

/* ---- strict order ---- */

static void check_strict(scene_t *scene, const char *error)
{
    outcome_t *outcomes = scene_outcomes(scene, 2);

    assert_int_equal(shoal_options_set_order(scene->options, SHOAL_ORDER_STRICT), 0);
    agree();
    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "RPUSH", .reply = error, .times = 1});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    fake_server_freeze(nodes[0]);
    scene_submit(scene, WORDS("RPUSH", KEY, "1"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("RPUSH", KEY, "2"), NULL, &outcomes[1]);
    WAIT_FOR(scene_stats(scene).inflight_now == 2);
    fake_server_release(nodes[0]);
    scene_check(&outcomes[0], SHOAL_EREFUSED, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcomes[0].detail, "order=strict"));
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(executed(0, "RPUSH") + executed(1, "RPUSH"), 1);
    assert_int_equal(scene_idle_stats(scene).reordered, 1);
}

static void a_redirected_command_that_was_overtaken_fails(void **state)
{
    check_strict(*state, redirect_to("MOVED", SLOT, 1));
}

static void a_command_that_waits_and_was_overtaken_fails(void **state)
{
    check_strict(*state,
                 "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
}

static void strict_order_is_kept_by_redirects(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 20);

    assert_int_equal(shoal_options_set_order(scene->options, SHOAL_ORDER_STRICT), 0);
    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .skip = 3,
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    for (size_t i = 0; i < 20; i++)
        scene_submit(scene, WORDS("RPUSH", KEY, "x"), NULL, &outcomes[i]);
    for (size_t i = 0; i < 20; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[i].integer, i < 3 ? i + 1 : i - 2);
    }
    assert_int_equal(executed(1, "RPUSH"), 17);
}

/* A node that has no port for clients like this one is named: the command waits. */
static void a_redirect_without_a_port_is_no_result(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "SET",
                                    .reply = "-MOVED " SLOT " 127.0.0.1:0\r\n",
                                    .times = 2});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
    assert_int_equal(fake_server_received(nodes[0], 0, "SET", NULL), 3);
}

/* The first argument of an unknown command may be no key: the node says which slot it has. */
static void an_unknown_command_follows_to_any_slot(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "MODULE.SET",
                                              .reply = redirect_to("MOVED", "7", 1)});
    fake_server_rule(nodes[1],
                     &(fake_rule_t){.command = "MODULE.SET", .reply = "+OK\r\n"});
    open_cluster(scene, 0);
    for (unsigned i = 0; i < 2; i++) { /* nothing is remembered */
        outcome_t outcome = scene_call(scene, WORDS("MODULE.SET", "2", KEY), NULL);
        scene_check_text(&outcome, "OK");
        assert_int_equal(outcome.redirects, 1);
    }
    assert_int_equal(fake_server_received(nodes[0], 0, "MODULE.SET", NULL), 2);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
}

static void results_of_a_single_server_name_it(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t call = {.size = sizeof call, .timeout_us = 1};

    scene_open(scene);
    outcome_t outcome = scene_call(scene, WORDS("SET", KEY, "1"), NULL);
    check_node(&outcome, scene->server);
    assert_int_equal(outcome.slot, -1);
    assert_int_equal(outcome.redirects, 0);
    fake_server_freeze(scene->server);
    outcome = scene_call(scene, WORDS("SET", KEY, "1"), &call);
    assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
    assert_string_equal(outcome.node, "");
    fake_server_release(scene->server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_redirected_command_is_overtaken),
        TEST(keys_of_a_slot_do_not_overtake_each_other),
        TEST(a_command_that_waits_is_overtaken),
        TEST(what_keeps_its_place_has_no_mark),
        TEST(a_unit_is_overtaken),
        TEST(a_redirected_command_that_was_overtaken_fails),
        TEST(a_command_that_waits_and_was_overtaken_fails),
        TEST(strict_order_is_kept_by_redirects),
        TEST(a_redirect_without_a_port_is_no_result),
        TEST(an_unknown_command_follows_to_any_slot),
        TEST(results_of_a_single_server_name_it),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_marks", tests, NULL, NULL);
}
