/* SPDX-License-Identifier: MIT */
/* Scripts on connections of a server that the test plays: which of them load scripts. */
#include "support/lease_scene.h"

#include <string.h>

#define TEXT "return 1"

static shoal_script_t *new_script(const scene_t *scene, const char *text)
{
    shoal_script_t *script;

    assert_int_equal(shoal_script_new(scene->client, text, strlen(text), &script), 0);
    return script;
}

static void await_ok(scene_t *scene, const char *command, const char *sha1)
{
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_submit(scene, WORDS(command, sha1, "0"), NULL, outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
}

/* A script is loaded by the next command's write, and again by the next connection. */
static void each_connection_loads_them(void **state)
{
    scene_t *scene = *state;
    shoal_script_t *script;

    scene_open_ready(scene);
    script = new_script(scene, TEXT);
    assert_int_equal(fake_server_received(scene->server, 0, "SCRIPT", NULL), 0);
    await_ok(scene, "EVALSHA", shoal_script_sha1(script));
    await_ok(scene, "EVALSHA", shoal_script_sha1(script));
    assert_int_equal(fake_server_received(scene->server, 1, "SCRIPT", "LOAD"), 1);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 2);
    await_ok(scene, "EVALSHA", shoal_script_sha1(script));
    assert_int_equal(fake_server_received(scene->server, 2, "SCRIPT", "LOAD"), 1);
    shoal_script_free(script);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 3);
    await_ok(scene, "EVALSHA", "0");
    assert_int_equal(fake_server_received(scene->server, 3, "SCRIPT", "LOAD"), 0);
}

/* What blocks, and what belongs to a holder, has a connection that the next one gets as it was. */
static void leases_load_none(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_script_t *script;
    uint64_t ticket;

    scene_open_ready(scene);
    script = new_script(scene, TEXT);
    for (unsigned i = 0; i < 2; i++) {
        memset(outcome, 0, sizeof *outcome);
        lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
        scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    }
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", NULL), 2);
    assert_int_equal(fake_server_received(scene->server, 2, "SCRIPT", NULL), 0);
    await_ok(scene, "EVALSHA", shoal_script_sha1(script));
    assert_int_equal(fake_server_received(scene->server, 1, "SCRIPT", "LOAD"), 1);
    shoal_script_free(script);
}

/* Not executed, says a server that never has it: that is the result, after some attempts. */
static void a_server_that_takes_none(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_script_t *script;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "SCRIPT", .reply = "-NOPERM no\r\n"});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "EVALSHA",
                       .reply = "-NOSCRIPT No matching script. Please use EVAL.\r\n"});
    scene_open_ready(scene);
    script = new_script(scene, TEXT);
    scene_submit(scene, WORDS("EVALSHA", shoal_script_sha1(script), "0"), NULL,
                 outcome);
    scene_await(outcome);
    assert_non_null(strstr(outcome->text, "NOSCRIPT"));
    assert_int_equal(fake_server_received(scene->server, 0, "EVALSHA", NULL), 3);
    shoal_script_free(script);
}

/* The next command of a group runs at once: nothing of it goes again behind that. */
static void a_group_is_not_torn(void **state)
{
    scene_t *scene = *state;
    outcome_series_t series = {.outcomes = scene_outcomes(scene, 2), .room = 2};
    shoal_script_t *script;
    shoal_call_t call = SHOAL_CALL_INIT;

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "EVALSHA",
                       .times = 1,
                       .reply = "-NOSCRIPT No matching script. Please use EVAL.\r\n"});
    scene_open_ready(scene);
    script = new_script(scene, TEXT);
    const char *const words[] = {"EVALSHA", shoal_script_sha1(script), "0"};
    const shoal_command_t command = {3, words, NULL};
    call.flags = SHOAL_CALL_CONTIGUOUS;
    const shoal_command_t group[] = {command, command};
    assert_int_equal(shoal_client_submit_many(scene->client, group, 2, &call,
                                              outcome_series_cb, &series, NULL),
                     0);
    scene_await(&series.outcomes[1]);
    assert_non_null(strstr(series.outcomes[0].text, "NOSCRIPT"));
    assert_int_equal(fake_server_received(scene->server, 0, "EVALSHA", NULL), 2);
    shoal_script_free(script);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(each_connection_loads_them),
        SCENE_TEST(leases_load_none),
        SCENE_TEST(a_server_that_takes_none),
        SCENE_TEST(a_group_is_not_torn),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("scripts", tests, NULL, NULL);
}
