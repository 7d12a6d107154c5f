/* SPDX-License-Identifier: MIT */
/* Nodes of a cluster that the test plays: whom the client believes, and whom it sends
 * commands. */
#include "fault/cluster_scene.h"

/* ---- redirects ---- */

static void the_owner_of_the_slot_gets_the_command(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < NODES; i++)
        say(i, (view_t){.owner = 1, .epoch = 5});
    open_cluster(scene, 2);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("PING"));
    assert_int_equal(executed(1, "SET"), 1);
    assert_int_equal(executed(1, "PING"), 1);
    assert_int_equal(fake_server_accepted(nodes[0]), 0);
}

/* The owner says MOVED once; the next command goes to the new owner at once. */
static void moved_is_followed_and_remembered(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", KEY, "2"));
    check_ok(scene, WORDS("SET", KEY, "3"));
    assert_int_equal(executed(0, "SET"), 0);
    assert_int_equal(executed(1, "SET"), 3);
    assert_int_equal(fake_server_received(nodes[0], 0, "SET", NULL), 1);
}

static void ask_is_followed_and_not_remembered(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("ASK", SLOT, 1),
                                              .times = 2});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", KEY, "2"));
    check_ok(scene, WORDS("SET", KEY, "3"));
    assert_int_equal(executed(1, "SET"), 2);
    assert_int_equal(fake_server_received(nodes[1], 0, "ASKING", NULL), 2);
    assert_int_equal(executed(0, "SET"), 1);
}

/* A text that a script can write. */
static void moved_for_another_slot_is_a_result(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", "1", 1)});
    open_cluster(scene, 0);
    outcome_t outcome = scene_call(scene, WORDS("SET", KEY, "1"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_true(outcome.has_error);
    assert_int_equal(strncmp(outcome.error, "MOVED 1 ", 8), 0);
    assert_int_equal(fake_server_accepted(nodes[1]), 0);
}

#define STORM 2000

/* ... also for the right one: it directs its own command, and nothing else. */
static void moved_of_a_script_is_not_remembered(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "EVAL",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    outcome_t outcome = scene_call(scene, WORDS("EVAL", "s", "1", KEY), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(nodes[1], 0, "EVAL", NULL), 1);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
}

/* Thousands in flight are answered with MOVED: one hop each, in their order, and few
 * questions. */
static void a_storm_of_redirects_keeps_the_order(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, STORM);
    char number[12];

    agree();
    size_t asked = say(0, (view_t){.owner = 0, .epoch = 5});
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    fake_server_freeze(nodes[0]);
    for (unsigned i = 0; i < STORM; i++) {
        snprintf(number, sizeof number, "%u", i);
        scene_submit(scene, WORDS("RPUSH", KEY, number), NULL, &outcomes[i]);
    }
    fake_server_release(nodes[0]);
    for (unsigned i = 0; i < STORM; i++) {
        scene_await(&outcomes[i]);
        assert_int_equal(outcomes[i].status, 0);
        assert_int_equal(outcomes[i].integer, i + 1); /* the length: its place */
    }
    assert_true(fake_server_received(nodes[0], 0, "RPUSH", NULL) <= STORM);
    assert_int_equal(fake_server_received(nodes[1], 0, "RPUSH", NULL), STORM);
    (void)asked;
}

#define IN_FLIGHT 3
#define NEW 4 /* three of a callback, one of the test's thread */

typedef struct first {
    outcome_t *outcomes;    /* of all commands */
    outcome_series_t later; /* of the last two of the callback */
} first_t;

/* The callback of the first command submits others, alone and together. */
static void on_first(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    static const char *const words[] = {"RPUSH", KEY, "new"};
    static const shoal_command_t pair[] = {{3, words, NULL}, {3, words, NULL}};
    first_t *first = data;

    outcome_cb(client, result, first->outcomes);
    if (shoal_client_submit(client, 3, words, NULL, outcome_cb,
                            &first->outcomes[IN_FLIGHT], NULL) < 0 ||
        shoal_client_submit_many(client, pair, 2, NULL, outcome_series_cb,
                                 &first->later, NULL) < 0)
        abort();
}

/* The owner has said MOVED to the first of some commands that are in flight.  Commands that
 * are submitted then wait until the owner has answered the others, which come back, too. */
static void new_commands_wait_for_those_in_flight(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, IN_FLIGHT + NEW);
    first_t *first = scene_alloc(scene, sizeof *first);
    shoal_command_t push = WORDS("RPUSH", KEY, "x");

    *first = (first_t){outcomes, {&outcomes[IN_FLIGHT + 1], 0, 2}};
    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .reply = redirect_to("MOVED", SLOT, 1),
                                              .times = 1,
                                              .then = FAKE_HOLD});
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "RPUSH",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    fake_server_freeze(nodes[0]);
    assert_int_equal(
        shoal_client_submit_many(scene->client, &push, 1, NULL, on_first, first, NULL),
        0);
    for (unsigned i = 1; i < IN_FLIGHT; i++)
        scene_submit(scene, push, NULL, &outcomes[i]);
    /* They have left when this one has. */
    WAIT_FOR(scene_stats(scene).inflight_now >= IN_FLIGHT);
    fake_server_release(nodes[0]);
    WAIT_FOR(scene_stats(scene).queued_now == NEW - 1); /* in the pen */
    scene_submit(scene, push, NULL, &outcomes[IN_FLIGHT + NEW - 1]);
    WAIT_FOR(scene_stats(scene).queued_now == NEW);
    assert_int_equal(executed(1, "RPUSH"), 1);
    fake_server_release(nodes[0]);
    for (unsigned i = 0; i < IN_FLIGHT + NEW; i++) {
        scene_await(&outcomes[i]);
        assert_int_equal(outcomes[i].integer, i + 1); /* the length: its place */
    }
}

/* Nodes name each other: the command waits between the hops, until one of them gives in. */
static void nodes_that_name_each_other_are_asked_again(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 1),
                                              .times = 4});
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 0)});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
}

/* A slot is moved, and its next owner hears of it last. */
static void the_next_owner_is_waited_for(void **state)
{
    scene_t *scene = *state;
    uint64_t until_us;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    size_t refusals = fake_server_rule(
        nodes[1], &(fake_rule_t){.command = "SET",
                                 .reply = redirect_to("MOVED", SLOT, 0),
                                 .times = 3});
    open_cluster(scene, 0);
    until_us = waiting_now_us() + 100000;
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(fake_server_hits(nodes[1], refusals), 3);
    assert_int_equal(executed(1, "SET"), 1);
    /* It waited there, and did not go back and forth. */
    if (waiting_now_us() < until_us)
        assert_int_equal(fake_server_received(nodes[0], 0, "SET", NULL), 1);
}

/* ... and never does: then the redirect is the result. */
static void redirects_are_bounded(void **state)
{
    scene_t *scene = *state;

    agree();
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 0)});
    open_cluster(scene, 0);
    outcome_t outcome = scene_call(scene, WORDS("SET", KEY, "1"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_true(outcome.has_error);
    assert_true(fake_server_received(nodes[0], 0, "SET", NULL) +
                    fake_server_received(nodes[1], 0, "SET", NULL) <=
                24);
}

/* ---- whom to believe ---- */

/* A node that only one other node names gets not a byte. */
static void a_stranger_is_not_connected_to(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < 2; i++)
        say(i, (view_t){.owner = i, .epoch = 5, .knows_one = true});
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 2),
                                              .times = 1});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
    assert_int_equal(fake_server_accepted(nodes[2]), 0);
}

/* A node that knows less than the others says that it owns everything. */
static void a_view_of_a_lower_epoch_is_not_believed(void **state)
{
    scene_t *scene = *state;

    say(0, (view_t){.owner = 0, .epoch = 5});
    say(1, (view_t){.owner = 1, .epoch = 4});
    say(2, (view_t){.owner = 0, .epoch = 5});
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("ASK", SLOT, 1),
                                              .times = 1});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    for (unsigned i = 0; i < 20; i++)
        check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(executed(1, "SET"), 1);
    assert_int_equal(executed(0, "SET"), 20);
}

/* The owner is gone, which was the only one, and the only node that the program named; its
 * replicas are asked, and have a view with a higher epoch. */
static void commands_follow_a_view_of_a_higher_epoch(void **state)
{
    scene_t *scene = *state;

    say(0, (view_t){.owner = 0, .epoch = 5});
    for (size_t i = 1; i < NODES; i++)
        say(i, (view_t){.owner = 1, .epoch = 6});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
    fake_server_refuse(nodes[0], true);
    fake_server_cut(nodes[0], FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > 0);
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(executed(1, "SET"), 1);
}

/* The node's address leads to a node of another cluster now. */
static void a_view_of_another_cluster_is_not_believed(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    fake_server_prepare_rules(nodes[0]);
    size_t asked = say(0, (view_t){.owner = 1, .epoch = 9, .is_foreign = true});
    fake_server_forget_rules(nodes[0]);
    for (size_t i = 0; i < NODES; i++) /* nobody else can be asked */
        fake_server_refuse(nodes[i], true);
    fake_server_cut(nodes[0], FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    fake_server_refuse(nodes[0], false);
    WAIT_FOR(fake_server_hits(nodes[0], asked) > 0);
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(executed(0, "SET"), 2);
    assert_int_equal(executed(1, "SET"), 0);
}

/* Hosts of null: that of the node that was asked. */
static void a_host_of_null_is_the_one_that_was_asked(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < NODES; i++)
        say(i, (view_t){.owner = 1, .epoch = 5, .host = ""});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(1, "SET"), 1);
}

/* ---- no cluster ---- */

static void commands_wait_for_a_node_until_their_deadline(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t call = {.size = sizeof call, .timeout_us = 300000};

    agree();
    fake_server_refuse(nodes[0], true);
    open_cluster(scene, 0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    outcome_t outcome = scene_call(scene, WORDS("SET", KEY, "1"), &call);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcome.detail, "127.0.0.1"));
    outcome = scene_call(scene, WORDS("PING"), &call);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    fake_server_refuse(nodes[0], false);
    check_ok(scene, WORDS("SET", KEY, "1"));
}

static void a_server_without_a_cluster_says_so(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t call = {.size = sizeof call, .timeout_us = 300000};

    fake_server_rule(
        nodes[0],
        &(fake_rule_t){.command = "CLUSTER",
                       .reply = "-ERR This instance has cluster support disabled\r\n"});
    open_cluster(scene, 0);
    WAIT_FOR(scene_stats(scene).views_refused > 0);
    outcome_t outcome = scene_call(scene, WORDS("SET", KEY, "1"), &call);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcome.detail, "cluster support disabled"));
}

static void some_commands_are_not_for_clusters(void **state)
{
    scene_t *scene = *state;
    static const struct {
        const char *words[5];
        int code;
        const char *why;
    } cases[] = {
        {{"MSET", "a", "1", "b", "2"}, SHOAL_ECROSSSLOT, "MSET"},
        {{"SCAN", "0"}, SHOAL_EREFUSED, "each node"},
        {{"BLPOP", "a", "b", "1"}, SHOAL_ECROSSSLOT, "BLPOP"},
    };

    agree();
    open_cluster(scene, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *words = cases[i].words;
        shoal_command_t command =
            WORDS(words[0], words[1], words[2], words[3], words[4]);
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_call_t call = SHOAL_CALL_INIT;
        call.error = &error;
        assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, &call,
                                                  outcome_cb, scene_outcomes(scene, 1),
                                                  NULL),
                         cases[i].code);
        assert_int_equal(error.code, cases[i].code);
        if (!strstr(error.text, cases[i].why))
            fail_msg("%s", error.text);
    }
    outcome_t outcome =
        scene_call(scene, WORDS("MSET", "{a}1", "1", "{a}2", "2"), NULL);
    scene_check(&outcome, 0,
                SHOAL_FATE_REPLIED); /* the server that is played knows none */
}

static void some_options_are_not_for_clusters(void **state)
{
    scene_t *scene = *state;
    shoal_client_t *client;
    shoal_error_t error = SHOAL_ERROR_INIT;
    static const char *const urls[] = {
        "redis+cluster://127.0.0.1:1/?connections=2",
        "redis+cluster://127.0.0.1:1/?read_from=replica",
    };
    (void)scene;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_int_equal(shoal_client_open_url(urls[i], &client, &error), SHOAL_EINVAL);
        assert_non_null(strstr(error.text, "cluster"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(the_owner_of_the_slot_gets_the_command),
        TEST(moved_is_followed_and_remembered),
        TEST(ask_is_followed_and_not_remembered),
        TEST(moved_for_another_slot_is_a_result),
        TEST(moved_of_a_script_is_not_remembered),
        TEST(a_storm_of_redirects_keeps_the_order),
        TEST(new_commands_wait_for_those_in_flight),
        TEST(nodes_that_name_each_other_are_asked_again),
        TEST(the_next_owner_is_waited_for),
        TEST(redirects_are_bounded),
        TEST(a_stranger_is_not_connected_to),
        TEST(a_view_of_a_lower_epoch_is_not_believed),
        TEST(commands_follow_a_view_of_a_higher_epoch),
        TEST(a_view_of_another_cluster_is_not_believed),
        TEST(a_host_of_null_is_the_one_that_was_asked),
        TEST(commands_wait_for_a_node_until_their_deadline),
        TEST(a_server_without_a_cluster_says_so),
        TEST(some_commands_are_not_for_clusters),
        TEST(some_options_are_not_for_clusters),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
