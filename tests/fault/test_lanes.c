/* SPDX-License-Identifier: MIT */
/* The bulk lane beside a server that loses connections, and that is another one afterwards. */
#include "support/process_state.h"
#include "support/scene.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

static const shoal_call_t *bulk(void)
{
    static shoal_call_t call;

    call = (shoal_call_t)SHOAL_CALL_INIT;
    call.flags = SHOAL_CALL_BULK;
    return &call;
}

/* Connection 1 is the ordinary one, 2 the lane. */
static void open_lane(scene_t *scene)
{
    assert_int_equal(shoal_options_set_bulk_lane(scene->options, true), 0);
    scene_open_ready(scene);
    outcome_t first = scene_call(scene, WORDS("SET", "first", "v"), bulk());
    assert_int_equal(first.status, 0);
    WAIT_FOR(scene_events(scene).ready == 2);
    WAIT_FOR((scene_call(scene, WORDS("SET", "first", "v"), bulk()),
              scene_stats(scene).bulk > 0));
    assert_int_equal(fake_server_accepted(scene->server), 2);
}

/* From now on connections lead to another process. */
static void be_another_process(scene_t *scene)
{
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INFO", .reply = "$13\r\nrun_id:beef\r\n\r\n"});
}

/* The server executes commands with this argument on the connection, and nothing more
 * leaves it.  Returns the number of the rule. */
static size_t hold_answers(scene_t *scene, unsigned connection, const char *command,
                           const char *argument)
{
    return fake_server_rule(scene->server, &(fake_rule_t){.command = command,
                                                          .argument = argument,
                                                          .connection = connection,
                                                          .is_cut = true,
                                                          .then = FAKE_HOLD});
}

static void test_the_pen_follows_to_another_server(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    open_lane(scene);
    be_another_process(scene);
    hold_answers(scene, 1, "GET", "end");
    uint64_t before = scene_stats(scene).bulk;
    scene_submit(scene, WORDS("GET", "end"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("SET", "k", "v"), bulk(), &outcomes[1]);
    WAIT_FOR(scene_stats(scene).bulk == before + 1);
    fake_server_cut_one(scene->server, 1, FAKE_CUT_RESET);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(scene->server, 3, "GET", "end"), 1);
    assert_int_equal(fake_server_executed(scene->server, 2, "SET", "k"), 0);
    assert_int_equal(fake_server_executed(scene->server, 3, "SET", "k"), 1);
}

/* What the lane's server refuses for now goes where the client is now. */
static void test_refused_commands_follow_to_another_server(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_lane(scene);
    size_t refusals = fake_server_rule(
        scene->server, &(fake_rule_t){.command = "SET",
                                      .argument = "k",
                                      .connection = 2,
                                      .reply = "-LOADING the data\r\n"});
    scene_submit(scene, WORDS("SET", "k", "v"), bulk(), outcome);
    WAIT_FOR(fake_server_hits(scene->server, refusals) > 0);
    be_another_process(scene);
    fake_server_cut_one(scene->server, 1, FAKE_CUT_RESET);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(scene->server, 3, "SET", "k"), 1);
}

static void test_a_lane_of_a_former_server_is_given_up(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);

    open_lane(scene);
    size_t held = hold_answers(scene, 2, "SET", "a");
    size_t end = hold_answers(scene, 1, "GET", "end");
    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[1]);
    scene_submit(scene, WORDS("GET", "end"), NULL, &outcomes[2]);
    WAIT_FOR(fake_server_hits(scene->server, held) > 0);
    WAIT_FOR(fake_server_hits(scene->server, end) > 0);
    be_another_process(scene);
    fake_server_cut_one(scene->server, 1, FAKE_CUT_RESET);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(scene->server, 3, "GET", "end"), 1);
    fake_server_refuse(scene->server, true);
    fake_server_cut_one(scene->server, 2, FAKE_CUT_RESET);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 3, "GET", "a"), 1);
    fake_server_refuse(scene->server, false);
}

/* ---- a lane that is lost, and cannot be had again ---- */

/* The lane is lost with SET a unanswered; GET a waits for it. */
static void lose_lane(scene_t *scene, outcome_t *outcomes)
{
    size_t held = hold_answers(scene, 2, "SET", "a");

    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_hits(scene->server, held) > 0);
    fake_server_refuse(scene->server, true);
    fake_server_cut_one(scene->server, 2, FAKE_CUT_RESET);
}

static void test_the_ordinary_connection_ends_a_lost_lane(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    open_lane(scene);
    lose_lane(scene, outcomes);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 1, "CLIENT", "KILL"), 1);
    assert_int_equal(fake_server_executed(scene->server, 1, "GET", "a"), 1);
    assert_true(scene_is_settled(scene));
    fake_server_refuse(scene->server, false);
}

/* Nothing proves that SET a does not run any more, and nothing will. */
static void test_a_lost_lane_that_must_not_be_ended(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    open_lane(scene);
    assert_true(scene_is_settled(scene));
    fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                   .argument = "KILL",
                                                   .reply = "-NOPERM no\r\n"});
    lose_lane(scene, outcomes);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    assert_false(scene_is_settled(scene));
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(scene->server, 1, "GET", "a"), 1);
    assert_false(scene_is_settled(scene));
    fake_server_refuse(scene->server, false);
}

/* The server does not say which connection the lane is.  What it carried may run as long as
 * that server process lives. */
static void test_a_lost_lane_that_cannot_be_named(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                   .argument = "INFO",
                                                   .connection = 2,
                                                   .reply = "-NOPERM no\r\n"});
    open_lane(scene);
    lose_lane(scene, outcomes);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 1, "CLIENT", "KILL"), 0);
    assert_false(scene_is_settled(scene));
    fake_server_refuse(scene->server, false);
    fake_server_cut_one(scene->server, 1, FAKE_CUT_RESET);
    scene_check_works(scene);
    assert_false(scene_is_settled(scene));
    be_another_process(scene);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_is_settled(scene));
}

/* The command before it is given up, and nothing else happens. */
static void test_the_pen_does_not_oversleep(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);
    shoal_call_t call = SHOAL_CALL_INIT;

    open_lane(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "SET",
                                                   .argument = "a",
                                                   .connection = 1,
                                                   .reply = "-LOADING the data\r\n"});
    hold_answers(scene, 1, "GET", "hold");
    call.timeout_us = 3000000; /* other alarms of the loop have rung by then */
    uint64_t before = scene_stats(scene).bulk;
    fake_server_freeze(scene->server);
    scene_submit(scene, WORDS("SET", "a", "v"), &call, &outcomes[0]);
    scene_submit(scene, WORDS("SET", "k", "v"), bulk(), &outcomes[1]);
    WAIT_FOR(scene_stats(scene).bulk == before + 1);
    scene_submit(scene, WORDS("GET", "hold"), NULL, &outcomes[2]);
    WAIT_FOR(fake_server_holds(scene->server, "hold"));
    fake_server_release(scene->server);
    scene_check(&outcomes[0], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_false(outcome_is_done(&outcomes[2]));
    fake_server_release(scene->server);
    scene_await(&outcomes[2]);
}

static void on_released(void *data)
{
    (void)data;
}

/* A key that the library sends from its caller's memory is not among the encoded bytes.
 * Here what follows it is as long as the key. */
static void test_a_key_in_the_callers_memory(void **state)
{
    enum { KEY_BYTES = SHOAL_REFERENCE_BYTES_MIN, FIELD_BYTES = KEY_BYTES - 17 };
    static char key[KEY_BYTES + 1], field[FIELD_BYTES + 1];
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t call = *bulk();

    memset(key, 'k', KEY_BYTES);
    memset(field, 'f', FIELD_BYTES);
    open_lane(scene);
    call.on_release = on_released;
    scene_submit(scene, WORDS("HSET", key, "n", field), &call, outcome);
    scene_await(outcome);
    assert_int_equal(fake_server_received(scene->server, 1, "HSET", NULL), 1);
}

/* Bytes that malloc() gave out; 0: not known. */
static size_t memory_in_use(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();

    return process_is_sanitized() ? 0 : info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* The memory of large commands that were given up before they left. */
static void test_gives_memory_back(void **state)
{
    enum { COMMANDS = 40, BYTES = 1000000 };
    static char value[BYTES + 1];
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS + 1);
    uint64_t tickets[COMMANDS], taken;

    if (memory_in_use() == 0)
        skip();
    memset(value, 'x', BYTES);
    shoal_command_t set = WORDS("SET", "k", value);
    open_lane(scene);
    size_t before = memory_in_use();
    hold_answers(scene, 1, "GET", "hold");
    taken = scene_stats(scene).bulk;
    scene_submit(scene, WORDS("GET", "hold"), NULL, &outcomes[COMMANDS]);
    for (size_t i = 0; i < COMMANDS; i++)
        tickets[i] = scene_submit(scene, set, NULL, &outcomes[i]);
    WAIT_FOR(scene_stats(scene).bulk == taken + COMMANDS);
    assert_true(memory_in_use() > before + COMMANDS * (size_t)BYTES / 2);
    for (size_t i = 0; i < COMMANDS; i++) {
        assert_int_equal(shoal_client_cancel(scene->client, tickets[i]), 0);
        scene_check(&outcomes[i], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    }
    fake_server_release(scene->server);
    scene_await(&outcomes[COMMANDS]);
    WAIT_FOR(memory_in_use() < before + COMMANDS * (size_t)BYTES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_the_pen_follows_to_another_server),
        SCENE_TEST(test_refused_commands_follow_to_another_server),
        SCENE_TEST(test_a_lane_of_a_former_server_is_given_up),
        SCENE_TEST(test_the_ordinary_connection_ends_a_lost_lane),
        SCENE_TEST(test_a_lost_lane_that_must_not_be_ended),
        SCENE_TEST(test_a_lost_lane_that_cannot_be_named),
        SCENE_TEST(test_the_pen_does_not_oversleep),
        SCENE_TEST(test_a_key_in_the_callers_memory),
        SCENE_TEST(test_gives_memory_back),
    };
    return cmocka_run_group_tests_name("fault/lanes", tests, NULL, NULL);
}
