/* SPDX-License-Identifier: MIT */
/* Units, and commands of one call, that nodes of a cluster refuse: the test plays the nodes. */
#include "fault/cluster_scene.h"

#define PARTS 4
#define ABORTED "EXECABORT"

static const shoal_call_t unit_call = {.size = sizeof unit_call,
                                       .flags = SHOAL_CALL_CONTIGUOUS};

/* MULTI, SET, RPUSH, EXEC. */
static void call_unit(scene_t *scene, outcome_t outcomes[PARTS])
{
    const shoal_command_t commands[PARTS] = {WORDS("MULTI"), WORDS("SET", KEY, "1"),
                                             WORDS("RPUSH", "{" KEY "}l", "x"),
                                             WORDS("EXEC")};

    scene_call_many(scene, commands, PARTS, &unit_call, outcomes);
}

static void check_unit(const outcome_t outcomes[PARTS])
{
    for (size_t i = 0; i < PARTS; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        if (outcomes[i].has_error)
            fail_msg("part %zu: %s", i, outcomes[i].error);
    }
    assert_string_equal(outcomes[0].text, "OK");
    assert_string_equal(outcomes[1].text, "QUEUED");
    assert_string_equal(outcomes[2].text, "QUEUED");
    assert_int_equal(outcomes[3].type, SHOAL_REPLY_ARRAY);
}

/* It ran once, whole, at this node, which was told that it is one. */
static void check_ran_at(size_t node)
{
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(executed(i, "SET"), i == node);
        assert_int_equal(executed(i, "RPUSH"), i == node);
    }
    assert_int_equal(executed(node, "MULTI"), 1);
}

static void refuse_once(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node],
                     &(fake_rule_t){.command = command, .reply = reply, .times = 1});
}

static void a_unit_follows_moved(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    refuse_once(0, "SET", redirect_to("MOVED", SLOT, 1));
    refuse_once(0, "RPUSH", redirect_to("MOVED", SLOT, 1));
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    check_unit(outcomes);
    check_ran_at(1);
    assert_int_equal(fake_server_received(nodes[1], 0, "ASKING", NULL), 0);
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(executed(1, "SET"), 2); /* it is remembered */
}

/* The slot goes between the last part and EXEC. */
static void a_unit_follows_moved_of_exec(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    refuse_once(0, "EXEC", redirect_to("MOVED", SLOT, 1));
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    check_unit(outcomes);
    check_ran_at(1);
}

static void a_unit_follows_ask(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    refuse_once(0, "SET", redirect_to("ASK", SLOT, 1));
    refuse_once(0, "RPUSH", redirect_to("ASK", SLOT, 1));
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    check_unit(outcomes);
    check_ran_at(1);
    assert_int_equal(fake_server_received(nodes[1], 0, "ASKING", NULL), 1);
    assert_int_equal(scene_idle_stats(scene).completed, PARTS); /* ASKING is ours */
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(executed(0, "SET"), 1); /* and is not remembered */
}

/* Some of its keys are there, others not yet: it waits. */
static void a_unit_that_is_torn_waits(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    refuse_once(0, "SET", redirect_to("ASK", SLOT, 1));
    refuse_once(0, "RPUSH",
                "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    refuse_once(0, "EXEC",
                "-EXECABORT Transaction discarded because of previous "
                "errors.\r\n");
    refuse_once(0, "EXEC", "-CLUSTERDOWN Hash slot not served\r\n");
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    check_unit(outcomes);
    assert_int_equal(fake_server_received(nodes[0], 0, "EXEC", NULL), 3);
    assert_int_equal(executed(0, "SET"), 1);
    assert_int_equal(fake_server_accepted(nodes[1]), 0);
}

static void a_unit_that_is_wrong_is_not_sent_again(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    refuse_once(0, "SET", "-ERR wrong number of arguments\r\n");
    refuse_once(0, "RPUSH", redirect_to("MOVED", SLOT, 1));
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    scene_check_error(&outcomes[1], "ERR wrong");
    scene_check_error(&outcomes[3], ABORTED);
    assert_int_equal(fake_server_received(nodes[0], 0, "EXEC", NULL), 1);
    assert_int_equal(fake_server_accepted(nodes[1]), 0);
}

static void the_redirects_of_a_unit_are_bounded(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    for (size_t i = 0; i < 2; i++)
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "SET",
                                        .reply = redirect_to("MOVED", SLOT, 1 - i)});
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    scene_check_error(&outcomes[1], "MOVED");
    scene_check_error(&outcomes[3], ABORTED);
    assert_true(fake_server_received(nodes[0], 0, "EXEC", NULL) +
                    fake_server_received(nodes[1], 0, "EXEC", NULL) <=
                24);
}

/* The node goes when it has refused a part: nothing of the unit ran, but EXEC had left. */
static void a_unit_is_lost_with_its_node(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, PARTS);

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "EXEC",
                                              .is_swallowed = true,
                                              .times = 1,
                                              .then = FAKE_RESET});
    open_cluster(scene, 0);
    call_unit(scene, outcomes);
    for (size_t i = 0; i < PARTS; i++)
        scene_check(&outcomes[i], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    check_ok(scene, WORDS("SET", KEY, "2"));
}

/* Commands before and behind the unit, of one thread, keep their order. */
static void units_and_commands_keep_their_order(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3), *unit = scene_outcomes(scene, 3);
    outcome_series_t *series = scene_alloc(scene, sizeof *series);
    const shoal_command_t commands[3] = {WORDS("MULTI"), WORDS("RPUSH", KEY, "unit"),
                                         WORDS("EXEC")};

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .skip = 1,
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    fake_server_freeze(nodes[0]);
    *series = (outcome_series_t){unit, 0, 3};
    scene_submit(scene, WORDS("RPUSH", KEY, "a"), NULL, &outcomes[0]);
    assert_int_equal(shoal_client_submit_many(scene->client, commands, 3, &unit_call,
                                              outcome_series_cb, series, NULL),
                     0);
    scene_submit(scene, WORDS("RPUSH", KEY, "b"), NULL, &outcomes[1]);
    scene_submit(scene, WORDS("RPUSH", KEY, "c"), NULL, &outcomes[2]);
    fake_server_release(nodes[0]);
    WAIT_FOR(outcome_series_count(series) == 3);
    for (size_t i = 0; i < 3; i++)
        scene_await(&outcomes[i]);
    assert_int_equal(outcomes[0].integer, 1); /* lengths: at the first node ... */
    assert_int_equal(outcomes[1].integer, 2); /* ... and at the second */
    assert_int_equal(outcomes[2].integer, 3);
    assert_int_equal(executed(1, "RPUSH"), 3);
    assert_true(unit[2].order < outcomes[1].order);
}

/* Commands of one call that are no unit follow one by one, in their order. */
static void commands_of_one_call_follow_one_by_one(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);
    const shoal_command_t commands[3] = {
        WORDS("RPUSH", KEY, "a"), WORDS("RPUSH", KEY, "b"), WORDS("RPUSH", KEY, "c")};

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .skip = 1,
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    scene_call_many(scene, commands, 3, &unit_call, outcomes);
    for (size_t i = 0; i < 3; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcomes[0].integer, 1);
    assert_int_equal(outcomes[1].integer, 1); /* the first at the second node */
    assert_int_equal(outcomes[2].integer, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_unit_follows_moved),
        TEST(a_unit_follows_moved_of_exec),
        TEST(a_unit_follows_ask),
        TEST(a_unit_that_is_torn_waits),
        TEST(a_unit_that_is_wrong_is_not_sent_again),
        TEST(the_redirects_of_a_unit_are_bounded),
        TEST(a_unit_is_lost_with_its_node),
        TEST(units_and_commands_keep_their_order),
        TEST(commands_of_one_call_follow_one_by_one),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_units", tests, NULL, NULL);
}
