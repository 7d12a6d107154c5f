/* SPDX-License-Identifier: MIT */

/* Hostile arguments of the public functions: refused with the promised error, nothing
 * executed, nothing changed.  (I2 S1) */

#include "support/scene.h"

#include <shoal/uv.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* Refused by everything that takes a call's extras, on every thread. */
static void check_call(scene_t *scene, const shoal_command_t *command,
                       const shoal_call_t *call, int rc)
{
    shoal_completions_t *queue;
    shoal_result_t *result = NULL;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket = 77;

    assert_int_equal(shoal_completions_new(0, &queue), 0);
    assert_int_equal(shoal_client_submit_many(scene->client, command, 1, call,
                                              outcome_cb, outcome, &ticket),
                     rc);
    assert_int_equal(
        shoal_completions_submit(queue, scene->client, command, 1, call, 1, &ticket),
        rc);
    assert_int_equal(shoal_client_call_with(scene->client, command, call, &result), rc);
    assert_int_equal(ticket, 0);
    assert_null(result);
    assert_int_equal(outcome->calls, 0);
    shoal_completions_free(queue);
}

static void test_extras_of_a_call(void **state)
{
    scene_t *scene = *state;
    const shoal_command_t incr = WORDS("INCR", "k");
    static const shoal_sink_t no_functions;
    static const shoal_chunk_sink_t no_chunk_functions;
    const shoal_call_t whole = SHOAL_CALL_INIT;
    shoal_call_t call = whole;

    scene_open_ready(scene);
    call.size = offsetof(shoal_call_t, error); /* less than the first version had */
    check_call(scene, &incr, &call, SHOAL_EINVAL);
    call.size = 0;
    check_call(scene, &incr, &call, SHOAL_EINVAL);
    call = whole;
    call.reserved = 1;
    check_call(scene, &incr, &call, SHOAL_EINVAL);
    call = whole;
    call.flags = SHOAL_CALL_MAY_SPLIT << 1;
    check_call(scene, &incr, &call, SHOAL_EINVAL);
    call = whole;
    call.sink = &no_functions;
    check_call(scene, &incr, &call, SHOAL_EINVAL);
    call = whole;
    call.chunks = &no_chunk_functions;
    check_call(scene, &incr, &call, SHOAL_EINVAL);
    check_call(scene, NULL, &whole, SHOAL_EINVAL);

    /* Of a newer version: fields that we do not know, in use and not. */
    struct {
        shoal_call_t known;
        char more[64];
    } larger = {.known = SHOAL_CALL_INIT};
    larger.known.size = sizeof larger;
    larger.more[63] = 1;
    check_call(scene, &incr, &larger.known, SHOAL_EINVAL);
    larger.more[63] = 0;
    outcome_t outcome = scene_call(scene, incr, &larger.known);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 1);
}

static void test_an_empty_argument_may_be_null(void **state)
{
    scene_t *scene = *state;
    const char *const words[] = {"ECHO", NULL};
    const size_t empty[] = {4, 0}, a_byte[] = {4, 1};
    outcome_t outcome;

    scene_open_ready(scene);
    outcome = scene_call(scene, (shoal_command_t){2, words, empty}, NULL);
    scene_check_text(&outcome, "");
    const shoal_command_t wrong[] = {{2, words, a_byte}, {2, words, NULL}};
    for (size_t i = 0; i < 2; i++)
        check_call(scene, &wrong[i], NULL, SHOAL_EINVAL);
}

static void test_a_submission_has_a_ticket(void **state)
{
    scene_t *scene = *state;
    const char *const wait[] = {"WAIT", "1", "0"}, *const words[] = {"ECHO", "x"};
    outcome_t *outcomes = scene_outcomes(scene, 2);
    uint64_t tickets[2] = {77, 77};

    scene_open_ready(scene);
    assert_int_equal(shoal_client_submit(scene->client, 3, wait, NULL, outcome_cb,
                                         &outcomes[0], &tickets[0]),
                     SHOAL_EREFUSED);
    assert_int_equal(tickets[0], 0);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(shoal_client_submit(scene->client, 2, words, NULL, outcome_cb,
                                             &outcomes[i], &tickets[i]),
                         0);
    assert_int_not_equal(tickets[0], 0);
    assert_int_not_equal(tickets[1], 0);
    assert_int_not_equal(tickets[0], tickets[1]);
    assert_false((tickets[0] | tickets[1]) & SHOAL_TICKET_OF_LOOP);
    assert_int_equal(shoal_client_cancel(scene->client, tickets[0]), 0);
    scene_await(&outcomes[0]);
    assert_int_equal(outcomes[0].status, SHOAL_ECANCELLED);
    WAIT_FOR(fake_server_hits(scene->server, 0) == 1);
    fake_server_release(scene->server);
    scene_await(&outcomes[1]);
    scene_check_text(&outcomes[1], "x");
}

static void test_out_parameters_are_needed(void **state)
{
    scene_t *scene = *state;
    const char *const ping[] = {"PING"};
    const shoal_command_t command = {1, ping, NULL};
    uv_loop_t loop;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_open(scene->options, NULL, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_client_open_borrowed(scene->options, NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_client_open_url("redis://127.0.0.1", NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(shoal_client_open_uv(&loop, scene->options, NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(uv_loop_close(&loop), 0);
    shoal_client_t *client = NULL;
    assert_int_equal(shoal_client_open_uv(NULL, scene->options, &client, NULL),
                     SHOAL_EINVAL);
    assert_null(client);
    assert_int_equal(shoal_completions_new(0, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_client_call(scene->client, 1, ping, NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_client_call_with(scene->client, &command, NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_stats_get(scene->client, NULL), SHOAL_EINVAL);
    shoal_result_release(NULL);
    assert_int_equal(fake_server_received(scene->server, 0, "PING", NULL), 0);
}

static void test_formats(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_result_t *result = NULL;

    scene_open_ready(scene);
    static const char *const bad[] = {"", "   ", "INCR %y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(
            shoal_client_submitf(scene->client, outcome_cb, outcome, bad[i], 1),
            SHOAL_EINVAL);
        assert_int_equal(shoal_client_callf(scene->client, &result, bad[i], 1),
                         SHOAL_EINVAL);
    }
    assert_int_equal(shoal_client_submitf(scene->client, outcome_cb, outcome, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_client_callf(scene->client, &result, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_client_callf(scene->client, NULL, "PING"), SHOAL_EINVAL);
    assert_null(result);
    assert_int_equal(outcome->calls, 0);

    /* A blank, a line end or a NUL in an argument begin no other argument. */
    assert_int_equal(shoal_client_submitf(scene->client, outcome_cb, outcome, "ECHO %b",
                                          "a b\r\n*1\0c", (size_t)9),
                     0);
    scene_await(outcome);
    assert_int_equal(outcome->bytes, 9);
    assert_memory_equal(outcome->text, "a b\r\n*1\0c", 9);
    assert_int_equal(shoal_client_callf(scene->client, &result, "ECHO key:%d", 7), 0);
    size_t bytes;
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    assert_int_equal(bytes, 5);
    assert_memory_equal(text, "key:7", 5);
    shoal_result_release(result);
    assert_int_equal(fake_server_received(scene->server, 0, "ECHO", NULL), 2);
}

static void test_formats_with_extras(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t once = SHOAL_CALL_INIT, may_block = SHOAL_CALL_INIT;
    shoal_result_t *result = NULL;
    uint64_t ticket = 0;

    once.flags = SHOAL_CALL_ONCE;
    may_block.flags = SHOAL_CALL_MAY_BLOCK;
    scene_open_ready(scene);
    assert_int_equal(shoal_client_callf(scene->client, &result, "WAIT 1 %s", "0"),
                     SHOAL_EREFUSED);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "-LOADING\r\n"});
    may_block.flags |= SHOAL_CALL_ONCE;
    assert_int_equal(
        shoal_client_callf_with(scene->client, &may_block, &result, "BLPOP %s 0", "k"),
        0);
    assert_string_equal(shoal_result_error(result), "LOADING");
    shoal_result_release(result);

    fake_server_hold(scene->server, "ECHO");
    assert_int_equal(shoal_client_submitf_with(scene->client, &once, outcome_cb,
                                               outcome, &ticket, "ECHO %d", 7),
                     0);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(outcome);
    assert_int_equal(outcome->status, SHOAL_ECANCELLED);
    fake_server_release(scene->server);
}

static void test_tickets_that_were_never_given(void **state)
{
    scene_t *scene = *state;
    outcome_t outcome;

    scene_open_ready(scene);
    outcome = scene_call(scene, WORDS("ECHO", "x"), NULL);
    scene_check_text(&outcome, "x");
    assert_int_equal(shoal_client_cancel(scene->client, 0), SHOAL_ENOENT);
    assert_int_equal(shoal_client_cancel(scene->client, SHOAL_TICKET_OF_LOOP),
                     SHOAL_ENOENT);
    assert_int_equal(shoal_client_cancel(scene->client, UINT64_MAX >> 1), SHOAL_ENOENT);
    scene_check_works(scene);
}

/* From its own thread: a command is gone before it was written, and then unknown. */
static void test_cancelling_on_the_loop_thread(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    const shoal_command_t incr = WORDS("INCR", "k");
    uint64_t ticket = 0;

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    assert_int_equal(shoal_client_submit_many(scene->client, &incr, 1, NULL, outcome_cb,
                                              outcome, &ticket),
                     0);
    assert_true(ticket & SHOAL_TICKET_OF_LOOP);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    while (!outcome_is_done(outcome))
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), SHOAL_ENOENT);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

static void test_what_only_a_stepped_client_has(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_fd(scene->client), -1);
    assert_int_equal(shoal_client_wait_us(scene->client), -1);
    assert_true(shoal_client_step(scene->client, 0) < 0);
    scene_check_works(scene);
}

static void test_every_fate_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(shoal_fate_name(SHOAL_FATE_REPLIED), "replied");
    assert_string_equal(shoal_fate_name(SHOAL_FATE_NOT_EXECUTED), "not executed");
    assert_string_equal(shoal_fate_name(SHOAL_FATE_UNKNOWN), "unknown");
    assert_string_equal(shoal_fate_name(SHOAL_FATE_REPLY_LOST), "reply lost");
    assert_string_equal(shoal_fate_name((shoal_fate_t)99), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_extras_of_a_call),
        SCENE_TEST(test_an_empty_argument_may_be_null),
        SCENE_TEST(test_a_submission_has_a_ticket),
        SCENE_TEST(test_out_parameters_are_needed),
        SCENE_TEST(test_formats),
        SCENE_TEST(test_formats_with_extras),
        SCENE_TEST(test_tickets_that_were_never_given),
        SCENE_TEST(test_cancelling_on_the_loop_thread),
        SCENE_TEST(test_what_only_a_stepped_client_has),
        cmocka_unit_test(test_every_fate_has_a_name),
    };
    return cmocka_run_group_tests_name("fault/arguments", tests, NULL, NULL);
}
