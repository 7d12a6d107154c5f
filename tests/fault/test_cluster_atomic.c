/* SPDX-License-Identifier: MIT */

/* Slots go to another node all at once, with their keys: near the end their owner says nothing to
 * anybody for a while, and then it redirects, or goes on because the move was given up. */

#include "fault/shard_scene.h"
#include "resp/key_slot.h"

#define EACH 300        /* commands of each kind */
#define LAST_MOVED SLOT /* the slots of node 1 up to this one go to node 0 */

static char stays[16]; /* a key of another slot of node 1 */

static void find_key(void)
{
    unsigned number = 0;

    do
        snprintf(stays, sizeof stays, "key%u", number++);
    while (shoal__key_slot((shoal__bytes_t){stays, strlen(stays)}) <= LAST_MOVED);
}

static outcome_t *submit_in_pause(scene_t *scene)
{
    outcome_t *outcomes = scene_outcomes(scene, 2 * (size_t)EACH);

    agree();
    find_key();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "0"));
    check_ok(scene, WORDS("SET", "bar", "0"));
    fake_server_freeze(nodes[1]);
    for (size_t i = 0; i < 2 * (size_t)EACH; i++)
        scene_submit(scene, WORDS("INCR", i % 2 ? stays : KEY), NULL, &outcomes[i]);
    WAIT_FOR(scene_stats(scene).inflight_now >= 2 * (size_t)EACH);
    WAIT_FOR(is_down(scene, 1)); /* it is silent */
    for (size_t i = 0; i < EACH; i++)
        check_ok(scene, WORDS("INCR", "bar")); /* the other node's */
    return outcomes;
}

static void check_all(scene_t *scene, outcome_t *outcomes, int hops)
{
    for (int i = 0; i < 2 * EACH; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_false(outcomes[i].has_error);
        assert_int_equal(outcomes[i].integer, i / 2 + 1);
        assert_int_equal(outcomes[i].redirects, i % 2 ? 0 : hops);
    }
    WAIT_FOR(!is_down(scene, 1));
    assert_int_equal(scene_stats(scene).reordered, 0);
    assert_int_equal(scene_events(scene).lost, 0);
}

static void slots_move_at_once(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = submit_in_pause(scene);

    view[0].last = LAST_MOVED;
    view[1].first = LAST_MOVED + 1;
    view[0].epoch = 6;
    agree();
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "INCR",
                                              .argument = KEY,
                                              .reply = script_redirect("MOVED", SLOT,
                                                                       view[0].port)});
    fake_server_release(nodes[1]);
    check_all(scene, outcomes, 1);
    assert_int_equal(fake_server_executed(nodes[0], 0, "INCR", NULL), 2 * EACH);
    check_ok(scene, WORDS("INCR", KEY));
    assert_int_equal(fake_server_received(nodes[1], 0, "INCR", KEY), EACH);
}

static void a_move_is_given_up(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = submit_in_pause(scene);

    fake_server_release(nodes[1]);
    check_all(scene, outcomes, 0);
    assert_int_equal(fake_server_executed(nodes[1], 0, "INCR", NULL), 2 * EACH);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(slots_move_at_once),
        TEST(a_move_is_given_up),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_atomic", tests, NULL, NULL);
}
