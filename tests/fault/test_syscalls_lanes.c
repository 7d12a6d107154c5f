/* SPDX-License-Identifier: MIT */

/* The bulk lane when time passes: the clock jumps.  A client whose lane was closed, and that
 * knows of no command with a large reply, is as if it had never had one. */

#include "client/client.h"
#include "support/failing/failing_calls.h"
#include "support/scene.h"

#include <stdatomic.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define MINUTE_US 60000000
#define LARGE_BYTES 300000 /* SHOAL__HEAVY_REPLY_BYTES, and more */

static const shoal_call_t bulk = {.size = sizeof bulk, .flags = SHOAL_CALL_BULK};

/* The fields are the loop thread's. */
typedef struct sight {
    bool may_share, must_place;
    _Atomic bool is_over;
} sight_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    const shoal__route_t *route = shoal__client_route(client);
    sight_t *sight = data;

    assert_int_equal(shoal_result_status(result), 0);
    sight->may_share = route->ops->may_share(route);
    sight->must_place = route->must_place;
    sight->is_over = true;
}

static sight_t look(scene_t *scene)
{
    const shoal_command_t command = WORDS("ECHO", "look");
    sight_t sight = {0};

    assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, NULL,
                                              on_result, &sight, NULL),
                     0);
    WAIT_FOR(sight.is_over);
    return sight;
}

/* Nobody looks at commands for the lane's sake, and callers may run the loop. */
static bool is_as_new(scene_t *scene)
{
    sight_t sight = look(scene);

    return sight.may_share && !sight.must_place;
}

static int setup(void **state)
{
    failing_calls_reset();
    if (scene_setup(state) != 0)
        return -1;
    scene_serve(*state, &(fake_config_t){.is_unix = true});
    return 0;
}

static void open_client(scene_t *scene)
{
    scene_open_ready(scene);
    assert_true(is_as_new(scene));
}

/* Connection 1 is the ordinary one; the lane is the newest one. */
static void use_lane(scene_t *scene)
{
    uint64_t taken = scene_stats(scene).bulk;

    WAIT_FOR((scene_call(scene, WORDS("SET", "k", "v"), &bulk),
              scene_stats(scene).bulk > taken));
    assert_false(look(scene).may_share);
}

static void pass(scene_t *scene, uint64_t time_us)
{
    failing_calls_jump(time_us);
    scene_check_works(scene); /* a turn, in which the loop sees the time */
}

static void test_a_closed_lane_leaves_nothing_behind(void **state)
{
    scene_t *scene = *state;

    open_client(scene);
    for (unsigned lanes = 1; lanes <= 3; lanes++) {
        use_lane(scene);
        assert_int_equal(fake_server_accepted(scene->server), 1 + lanes);
        pass(scene, MINUTE_US / 2);
        assert_false(is_as_new(scene));
        pass(scene, MINUTE_US);
        WAIT_FOR(is_as_new(scene));
        WAIT_FOR(fake_server_open_now(scene->server) == 1);
    }
}

/* The lane is lost, cannot be had again, and is given up; a command waits for it. */
static void lose_lane(scene_t *scene, const char *key)
{
    outcome_t *outcomes = scene_outcomes(scene, 2);
    size_t held = fake_server_rule(scene->server, &(fake_rule_t){.command = "SET",
                                                                 .argument = key,
                                                                 .is_cut = true,
                                                                 .then = FAKE_HOLD});

    scene_submit(scene, WORDS("SET", key, "v"), &bulk, &outcomes[0]);
    scene_submit(scene, WORDS("GET", key), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_hits(scene->server, held) > 0);
    fake_server_refuse(scene->server, true);
    fake_server_cut_one(scene->server, 2, FAKE_CUT_RESET);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    fake_server_refuse(scene->server, false);
}

static void test_nor_does_one_that_was_given_up(void **state)
{
    scene_t *scene = *state;

    open_client(scene);
    use_lane(scene);
    lose_lane(scene, "k");
    WAIT_FOR(is_as_new(scene));
}

/* A command is remembered for longer than its lane lives. */
static void test_but_what_is_known_of_large_replies(void **state)
{
    static char value[LARGE_BYTES + 1];
    scene_t *scene = *state;

    memset(value, 'x', LARGE_BYTES);
    open_client(scene);
    use_lane(scene);
    assert_int_equal(scene_call(scene, WORDS("SET", "large", value), NULL).status, 0);
    lose_lane(scene, "k");
    scene_check_works(scene);
    assert_true(look(scene).must_place);
    assert_false(look(scene).may_share);
    pass(scene, MINUTE_US + 4000000);
    WAIT_FOR(is_as_new(scene));
}

/* ---- attempts to open it ---- */

static _Atomic uint64_t delay_us; /* before the next attempt; 0: none failed */

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)data;
    if (shoal_event_kind(event) == SHOAL_EVENT_RETRYING)
        delay_us = shoal_event_delay_us(event);
}

/* The lane is lost in its greeting as often as the rule says.  Large commands then take the
 * ordinary connection, which is connection 1. */
static void open_with_failures(scene_t *scene, unsigned times)
{
    delay_us = 0;
    assert_int_equal(shoal_options_set_on_event(scene->options, on_event, NULL), 0);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                   .argument = "INFO",
                                                   .skip = 1,
                                                   .times = times,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    open_client(scene);
}

static void ask_for_lane(scene_t *scene)
{
    assert_int_equal(scene_call(scene, WORDS("SET", "k", "v"), &bulk).status, 0);
}

/* One failure is no reason to keep large commands before small ones for long. */
static void test_is_tried_again_soon(void **state)
{
    scene_t *scene = *state;

    open_with_failures(scene, 1);
    ask_for_lane(scene);
    WAIT_FOR(delay_us > 0);
    pass(scene, delay_us);
    ask_for_lane(scene);
    WAIT_FOR(fake_server_accepted(scene->server) == 3);
}

/* As other connections, it is not dialed before the time that the event told. */
static void test_is_not_tried_all_the_time(void **state)
{
    const uint64_t backoff_us = MINUTE_US;
    scene_t *scene = *state;
    unsigned accepted = 1;

    assert_int_equal(
        shoal_options_set_backoff_us(scene->options, backoff_us, backoff_us), 0);
    open_with_failures(scene, 0);
    do {
        delay_us = 0;
        pass(scene, backoff_us);
        ask_for_lane(scene);
        WAIT_FOR(delay_us > 0);
        accepted++;
    } while (delay_us < backoff_us / 2);
    pass(scene, backoff_us / 4);
    for (int i = 0; i < 3; i++)
        ask_for_lane(scene);
    assert_int_equal(fake_server_accepted(scene->server), accepted);
    pass(scene, delay_us);
    ask_for_lane(scene);
    WAIT_FOR(fake_server_accepted(scene->server) == accepted + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_closed_lane_leaves_nothing_behind),
        TEST(test_nor_does_one_that_was_given_up),
        TEST(test_but_what_is_known_of_large_replies),
        TEST(test_is_tried_again_soon),
        TEST(test_is_not_tried_all_the_time),
    };
    return cmocka_run_group_tests_name("fault/syscalls_lanes", tests, NULL, NULL);
}
