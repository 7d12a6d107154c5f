/* SPDX-License-Identifier: MIT */
/* Commands wait for a cluster in which nobody takes them: what their callers are told. */
#include "fault/shard_scene.h"

/* The call ends by its deadline, and its text is this one; NODE stands for the name of the
 * first node. */
static void check_text(scene_t *scene, shoal_command_t command, const char *text)
{
    outcome_t outcome;
    shoal_call_t call = SHOAL_CALL_INIT;
    char expected[256], name[64];
    const char *at = strstr(text, "NODE");

    call.timeout_us = 300000;
    outcome = scene_call(scene, command, &call);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    snprintf(name, sizeof name, "127.0.0.1:%d", view[0].port);
    if (at)
        snprintf(expected, sizeof expected, "%.*s%s%s", (int)(at - text), text, name,
                 at + 4);
    else
        snprintf(expected, sizeof expected, "%s", text);
    assert_string_equal(outcome.detail, expected);
}

/* The view has a gap. */
static void a_slot_without_an_owner_is_named(void **state)
{
    scene_t *scene = *state;

    view[0].is_myself = true;
    script_say(nodes[0], view, 1);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", "bar", "1"));
    check_text(scene, WORDS("SET", KEY, "1"),
               "no owner of slot 12182 is known; NODE was asked last; the command was "
               "never sent");
}

/* MULTI has no key; what stands behind it has. */
static void the_slot_of_a_unit_is_named(void **state)
{
    enum { PARTS = 4 };
    scene_t *scene = *state;
    const shoal_command_t unit[PARTS] = {WORDS("MULTI"), WORDS("PING"),
                                         WORDS("SET", KEY, "1"), WORDS("EXEC")};
    outcome_t *outcomes = scene_outcomes(scene, PARTS);
    shoal_call_t call = SHOAL_CALL_INIT;

    view[0].is_myself = true;
    script_say(nodes[0], view, 1);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", "bar", "1"));
    call.timeout_us = 300000;
    call.flags = SHOAL_CALL_CONTIGUOUS;
    scene_call_many(scene, unit, PARTS, &call, outcomes);
    for (size_t i = 0; i < PARTS; i++) {
        scene_check(&outcomes[i], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
        assert_non_null(strstr(outcomes[i].detail, "no owner of slot 12182 is known"));
    }
}

/* It was asked, and says nothing. */
static void a_cluster_that_is_not_known_yet(void **state)
{
    scene_t *scene = *state;

    fake_server_hold(nodes[0], "CLUSTER");
    open_cluster(scene, 0);
    WAIT_FOR(fake_server_received(nodes[0], 0, "CLUSTER", NULL) > 0);
    check_text(scene, WORDS("SET", KEY, "1"),
               "no owner of slot 12182 is known; NODE was asked and has not answered; "
               "the command was never sent");
    check_text(
        scene, WORDS("PING"),
        "no owner of any slot is known; NODE was asked and has not answered; the "
        "command was never sent");
    fake_server_release(nodes[0]);
}

/* The cluster was no cluster at first; since then the text is another one. */
static void the_first_answer_is_forgotten(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(
        nodes[0], &(fake_rule_t){.command = "CLUSTER", .reply = "-ERR no cluster\r\n"});
    open_cluster(scene, 0);
    WAIT_FOR(scene_stats(scene).views_refused > 0);
    view[0].is_myself = true;
    script_say(nodes[0], view, 1);
    check_ok(scene, WORDS("SET", "bar", "1"));
    check_text(scene, WORDS("SET", KEY, "1"),
               "no owner of slot 12182 is known; NODE was asked last; the command was "
               "never sent");
}

/* A replica is connected, as the program named it; the owners are gone. */
static void a_command_without_a_key_waits_for_an_owner(void **state)
{
    scene_t *scene = *state;
    outcome_t outcome;
    shoal_call_t call = SHOAL_CALL_INIT;
    char name[64];

    agree();
    open_cluster(scene, 2);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", "bar", "1"));
    for (size_t i = 0; i < 2; i++) {
        fake_server_refuse(nodes[i], true);
        fake_server_cut(nodes[i], FAKE_CUT_RESET);
    }
    WAIT_FOR(is_down(scene, 0) && is_down(scene, 1));
    call.timeout_us = 300000;
    outcome = scene_call(scene, WORDS("PING"), &call);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    snprintf(name, sizeof name, "no connection to 127.0.0.1:%d for ", view[0].port);
    assert_int_equal(strncmp(outcome.detail, name, strlen(name)), 0);
    assert_non_null(strstr(outcome.detail, "Connection refused"));
}

/* One node alone has named it: it is not dialed yet, and that is what the text says. */
static void a_node_that_nobody_knows_is_not_dialed(void **state)
{
    scene_t *scene = *state;
    outcome_t outcome;
    shoal_call_t call = SHOAL_CALL_INIT;
    char text[256];

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    for (size_t i = 0; i < 2; i++) { /* nobody can be asked */
        fake_server_prepare_rules(nodes[i]);
        fake_server_hold(nodes[i], "CLUSTER");
        fake_server_forget_rules(nodes[i]);
    }
    fake_server_rule(
        nodes[1], &(fake_rule_t){.command = "SET",
                                 .reply = script_redirect(
                                     "MOVED", SLOT, fake_server_port(scene->server))});
    call.timeout_us = 300000;
    do { /* until it passes behind the redirect */
        assert_true(call.timeout_us < WAITING_US_MAX);
        outcome = scene_call(scene, WORDS("SET", KEY, "2"), &call);
        call.timeout_us *= 2;
    } while (!strstr(outcome.detail, "names it"));
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    snprintf(text, sizeof text, "no connection to 127.0.0.1:%d for ",
             fake_server_port(scene->server));
    if (strncmp(outcome.detail, text, strlen(text)) != 0)
        fail_msg("%s", outcome.detail);
    snprintf(
        text, sizeof text,
        " ms: 127.0.0.1:%d names it, which no other node knows yet; the command was "
        "never sent",
        view[1].port);
    if (!strstr(outcome.detail, text))
        fail_msg("%s", outcome.detail);
}

/* A redirect named a node without slots, which is not there for a moment: what was given to it
 * waits for it.  At the first failure it would go back, behind later commands for its key. */
static void commands_wait_for_the_node_that_was_named(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    size_t asks;

    agree();
    asks = fake_server_rule(
        nodes[1], &(fake_rule_t){.command = "GET",
                                 .reply = script_redirect("ASK", SLOT, view[2].port)});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    fake_server_refuse(nodes[2], true);
    scene_submit(scene, WORDS("GET", KEY), NULL, outcome);
    WAIT_FOR(scene_events(scene).attempts_failed > 3 ||
             fake_server_hits(nodes[1], asks) > 1);
    fake_server_refuse(nodes[2], false);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(nodes[2], 0, "GET", NULL), 1);
    assert_int_equal(fake_server_hits(nodes[1], asks), 1);
}

/* All nodes are asked, one of them says nothing, and it leaves the cluster. */
static void what_was_for_a_silent_node_that_left_ends(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    outcome_t *outcome = scene_outcomes(scene, 1);
    char text[128];

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    fake_server_hold(nodes[3], "PING");
    call.route = SHOAL_ROUTE_NODES;
    call.timeout_us = SHOAL_TIMEOUT_NEVER;
    scene_submit(scene, WORDS("PING"), &call, outcome);
    WAIT_FOR(fake_server_received(nodes[3], 0, "PING", NULL) == 1);
    agree_without(3);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SET",
                                              .reply = "-CLUSTERDOWN it is\r\n",
                                              .times = 1}); /* a view is wanted */
    check_ok(scene, WORDS("SET", KEY, "2"));
    scene_await(outcome);
    snprintf(text, sizeof text, "127.0.0.1:%d: ", view[3].port);
    assert_int_equal(strncmp(outcome->detail, text, strlen(text)), 0);
    assert_int_equal(outcome->status, SHOAL_ENOENT);
    assert_int_equal(outcome->fate, SHOAL_FATE_UNKNOWN);
    fake_server_release(nodes[3]);
}

/* Node 0 owns everything, and node 2 is its replica. */
static void agree_on_one_shard(void)
{
    view[0].last = 16383;
    view[1] = view[2];
    for (size_t by = 0; by < NODES; by += 2) {
        view[0].is_myself = by == 0;
        view[1].is_myself = by == 2;
        script_say(nodes[by], view, 2);
    }
}

static bool owns(const scene_t *scene, size_t node)
{
    shoal_topology_snapshot_t *topology = look(scene);
    const shoal_node_info_t *found = find(topology, node);
    bool is_owner = found && shoal_topology_owner(topology, SLOT) == found;

    shoal_topology_release(topology);
    return is_owner;
}

/* Nobody else is connected, and it says nothing: its replica is asked. */
static void the_replica_of_a_silent_primary_is_asked(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    agree_on_one_shard();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    WAIT_FOR(scene_stats(scene).views_asked > 0 && owns(scene, 0));
    assert_int_equal(fake_server_accepted(nodes[2]), 0);
    fake_server_freeze(nodes[0]);
    scene_submit(scene, WORDS("GET", KEY), NULL, outcome);
    WAIT_FOR(fake_server_accepted(nodes[2]) == 1);
    view[0].primary = view[1].id;
    view[1].primary = NULL;
    view[1].epoch = 6;
    view[0].is_myself = false;
    view[1].is_myself = true;
    script_say(nodes[2], view, 2);
    WAIT_FOR(owns(scene, 2));
    fake_server_release(nodes[0]);
    scene_await(outcome);
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(fake_server_executed(nodes[2], 0, "SET", NULL), 1);
}

/* Its node left, is silent, and is given up before the next owner can be reached: the command
 * that blocks there is given up as soon as that one can be. */
static void what_blocks_on_a_node_that_left_waits_for_the_next_owner(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    size_t asked;

    agree();
    fake_server_rule(nodes[1],
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    scene_submit(scene, WORDS("BLPOP", KEY, "0"), NULL, &outcomes[0]);
    WAIT_FOR(fake_server_received(nodes[1], 0, "BLPOP", KEY) == 1);
    fake_server_refuse(nodes[3], true);
    view[1].last = 0; /* it owns nothing */
    view[3].primary = NULL;
    view[3].first = 8192;
    view[3].epoch = 6;
    fake_server_freeze(nodes[1]);
    scene_submit(scene, WORDS("SET", KEY, "2"), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_holds(nodes[1], "SET")); /* before it is known to have left */
    agree_without(1);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(owns(scene, 3));
    /* Counted before the hold: a node that owes an answer is not asked again. */
    asked = fake_server_received(nodes[0], 0, "CLUSTER", NULL);
    for (size_t i = 0; i < NODES; i++) { /* no view comes any more */
        fake_server_prepare_rules(nodes[i]);
        fake_server_hold(nodes[i], "CLUSTER");
        fake_server_forget_rules(nodes[i]);
    }
    WAIT_FOR(fake_server_received(nodes[0], 0, "CLUSTER", NULL) > asked);
    assert_false(outcome_is_done(&outcomes[0]));
    fake_server_refuse(nodes[3], false);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_slot_without_an_owner_is_named),
        TEST(the_slot_of_a_unit_is_named),
        TEST(a_cluster_that_is_not_known_yet),
        TEST(the_first_answer_is_forgotten),
        TEST(a_command_without_a_key_waits_for_an_owner),
        TEST(a_node_that_nobody_knows_is_not_dialed),
        TEST(commands_wait_for_the_node_that_was_named),
        TEST(what_was_for_a_silent_node_that_left_ends),
        TEST(the_replica_of_a_silent_primary_is_asked),
        TEST(what_blocks_on_a_node_that_left_waits_for_the_next_owner),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_waiting", tests, NULL, NULL);
}
