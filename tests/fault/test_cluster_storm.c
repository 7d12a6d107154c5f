/* SPDX-License-Identifier: MIT */
/* Slots go to another node while commands are in flight at the one that had them. */
#include "fault/cluster_scene.h"
#include "resp/key_slot.h"

#define KEYS 10
#define COMMANDS 10000
#define QUESTIONS_PER_S 10
#define GIVEN_UP_US 3000000 /* so long a node may be silent that has not failed */

static char keys[KEYS][8];

static size_t questions(void)
{
    size_t count = 0;

    for (size_t i = 0; i < NODES; i++)
        count += fake_server_received(nodes[i], 0, "CLUSTER", "SLOTS");
    return count;
}

/* From now on everything is the next node's, and all know it. */
static void rotate(void)
{
    char slot[8];

    for (size_t i = 0; i < NODES; i++) {
        fake_server_prepare_rules(nodes[i]);
        say(i, (view_t){.owner = 1, .epoch = 6});
    }
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(slot, sizeof slot, "%u",
                 shoal__key_slot((shoal__bytes_t){keys[i], strlen(keys[i])}));
        fake_server_rule(nodes[0],
                         &(fake_rule_t){.command = "INCR",
                                        .argument = keys[i],
                                        .reply = redirect_to("MOVED", slot, 1)});
    }
    for (size_t i = 0; i < NODES; i++)
        fake_server_forget_rules(nodes[i]);
}

/* Each makes one hop, in order; and the client asks once what has become of the map. */
static void a_storm_of_redirects(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS);

    for (size_t i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "key%zu", i);
    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    size_t asked = questions();
    uint64_t since_us = waiting_now_us();
    fake_server_freeze(nodes[0]);
    for (size_t i = 0; i < COMMANDS; i++)
        scene_submit(scene, WORDS("INCR", keys[i % KEYS]), NULL, &outcomes[i]);
    WAIT_FOR(scene_stats(scene).inflight_now >= COMMANDS);
    rotate();
    fake_server_release(nodes[0]);
    for (size_t i = 0; i < COMMANDS; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[i].integer, (int64_t)(i / KEYS + 1));
    }
    assert_int_equal(fake_server_received(nodes[0], 0, "INCR", NULL), COMMANDS);
    assert_int_equal(fake_server_received(nodes[1], 0, "INCR", NULL), COMMANDS);
    assert_int_equal(fake_server_received(nodes[2], 0, "INCR", NULL), 0);
    WAIT_FOR(questions() > asked);
    assert_in_range(questions() - asked, 1,
                    1 + (waiting_now_us() - since_us) * QUESTIONS_PER_S / 1000000);
}

/* The owner says nothing, with this command in flight; the others name another one. */
static void fall_silent_at(scene_t *scene, bool has_failed, shoal_command_t command,
                           outcome_t *outcome)
{
    agree();
    open_cluster(scene, 1); /* its connection stays open for a while */
    check_ok(scene, WORDS("SET", KEY, "1"));
    for (size_t i = 0; i < NODES; i++) {
        fake_server_prepare_rules(nodes[i]);
        say(i, (view_t){.owner = 1, .epoch = 6, .has_failed = has_failed});
    }
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    for (size_t i = 0; i < NODES; i++)
        fake_server_forget_rules(nodes[i]);
    fake_server_freeze(nodes[0]);
    scene_submit(scene, command, NULL, outcome);
    WAIT_FOR(scene_events(scene).notices > 1); /* the map has changed */
}

static void fall_silent(scene_t *scene, bool has_failed, outcome_t *outcome)
{
    fall_silent_at(scene, has_failed, WORDS("SET", KEY, "2"), outcome);
}

static void an_owner_that_failed_is_given_up(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    fall_silent(scene, true, outcome);
    check_ok(scene, WORDS("SET", KEY, "3"));
    assert_int_equal(executed(1, "SET"), 1);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
}

/* As while its replica takes its place as planned: then it says MOVED. */
static void an_owner_that_has_not_failed_is_waited_for(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t since_us = waiting_now_us();

    fall_silent(scene, false, outcome);
    waiting_sleep_us(1000000);
    fake_server_release(nodes[0]);
    scene_await(outcome);
    if (outcome->status != 0 && waiting_now_us() - since_us >= GIVEN_UP_US) {
        scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN); /* we stood still */
        return;
    }
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_false(outcome->has_error);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* It never comes back.  What may be repeated goes to the next owner, and what waits behind it
 * follows. */
static void an_owner_that_is_gone_is_not_waited_for(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    fall_silent_at(scene, false, WORDS("GET", KEY), &outcomes[0]);
    scene_submit(scene, WORDS("SET", KEY, "2"), NULL, &outcomes[1]);
    WAIT_FOR(scene_stats(scene).queued_now == 1); /* in the pen */
    fake_server_stop(nodes[0]);
    nodes[0] = NULL;
    for (size_t i = 0; i < 2; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_false(outcomes[i].has_error);
    }
    assert_int_equal(executed(1, "GET"), 1);
    assert_int_equal(executed(1, "SET"), 1);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_storm_of_redirects),
        TEST(an_owner_that_failed_is_given_up),
        TEST(an_owner_that_has_not_failed_is_waited_for),
        TEST(an_owner_that_is_gone_is_not_waited_for),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_storm", tests, NULL, NULL);
}
