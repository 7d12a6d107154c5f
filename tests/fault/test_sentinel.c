/* SPDX-License-Identifier: MIT */
/* Sentinels that the test plays: what the client believes. */
#include "fault/sentinel_scene.h"

/* ---- finding ---- */

static void test_nothing_is_inherited(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene,
                &(fake_config_t){.identity = {.user = "u", .password = "server's"}});
    assert_int_equal(shoal_options_set_auth(scene->options, "u", "server's"), 0);
    assert_int_equal(shoal_options_set_database(scene->options, 3), 0);
    start_sentinel(0, &(fake_config_t){.identity = {.password = "sentinel's"}},
                   (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    assert_int_equal(
        shoal_options_set_sentinel_auth(scene->options, NULL, "sentinel's"), 0);
    scene_open_ready(scene);
    scene_check_works(scene);
    for (size_t i = 0; i < fake_server_ledger_size(sentinels[0]); i++) {
        fake_entry_t entry = fake_server_ledger_at(sentinels[0], i);
        for (size_t j = 0; j < FAKE_ARGS_KEPT; j++)
            assert_null(strstr(entry.args[j], "server's"));
    }
    assert_int_equal(fake_server_received(sentinels[0], 0, "SELECT", NULL), 0);
    assert_int_equal(fake_server_received(sentinels[0], 0, FAKE_FENCE, NULL), 0);
    assert_int_equal(fake_server_received(sentinels[0], 0, "INFO", NULL), 0);
    assert_int_equal(fake_server_received(sentinels[0], 0, "ROLE", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "SELECT", "3"), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "ROLE", NULL), 1);
    assert_int_equal(scene_events(scene).changed, 1);
}

/* The scripts of a client are for its primary. */
static void test_a_sentinel_gets_no_scripts(void **state)
{
    static const char text[] = "return 1";
    scene_t *scene = *state;
    shoal_script_t *script;

    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    scene_open_ready(scene);
    assert_int_equal(shoal_script_new(scene->client, text, strlen(text), &script), 0);
    scene_check_works(scene);
    fake_server_cut(sentinels[0], FAKE_CUT_RESET);
    WAIT_FOR(fake_server_received(sentinels[0], 2, "SENTINEL", "MASTER") > 0);
    assert_int_equal(fake_server_received(sentinels[0], 0, "SCRIPT", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "SCRIPT", "LOAD"), 1);
    shoal_script_free(script);
}

static void test_a_sentinel_without_credentials(void **state)
{
    scene_t *scene = *state;

    start_sentinel(0, &(fake_config_t){.identity = {.password = "sentinel's"}},
                   (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    scene_open(scene);
    WAIT_FOR(scene_events(scene).silent > 0);
    WAIT_FOR(strstr(scene_events(scene).detail, "the server asks for credentials"));
    assert_int_equal(fake_server_accepted(scene->server), 0);
}

/* A cut-off sentinel has the old view, and its primary does not know better. */
static void test_the_highest_epoch_counts(void **state)
{
    scene_t *scene = *state;

    start_sentinel(0, NULL, (view_t){.port = other_port(0), .epoch = 4});
    start_sentinel(1, NULL, (view_t){.port = primary_port(scene), .epoch = 5});
    start_sentinel(2, NULL, (view_t){.port = primary_port(scene), .epoch = 5});
    for (size_t i = 0; i < 3; i++)
        know(scene, i);
    scene_open_ready(scene);
    /* The first answers may have come from the one that is cut off. */
    await_taken_by(scene, scene->server, "k");
    /* Now it is alone: what it says is older than what was proved. */
    WAIT_FOR(fake_server_received(sentinels[0], 0, "SENTINEL", "MASTER") > 0);
    for (size_t i = 1; i < 3; i++) {
        fake_server_refuse(sentinels[i], true);
        fake_server_cut(sentinels[i], FAKE_CUT_RESET);
    }
    size_t asked = fake_server_received(sentinels[0], 0, "SENTINEL", "MASTER");
    publish(0, NAME);
    WAIT_FOR(fake_server_received(sentinels[0], 0, "SENTINEL", "MASTER") > asked);
    unsigned taken = (unsigned)fake_server_user_commands(others[0], 0);
    check_taken_by(scene, scene->server, "last");
    assert_int_equal(fake_server_user_commands(others[0], 0), taken);
    for (size_t i = 1; i < 3; i++)
        fake_server_refuse(sentinels[i], false);
}

static void test_a_lie_about_the_epoch(void **state)
{
    scene_t *scene = *state;

    (void)other_port(0);
    fake_server_rule(others[0], &(fake_rule_t){.command = "ROLE", .reply = REPLICA});
    start_sentinel(0, NULL, (view_t){.port = other_port(0), .epoch = 99});
    start_sentinel(1, NULL, (view_t){.port = primary_port(scene), .epoch = 2});
    start_sentinel(2, NULL, (view_t){.port = primary_port(scene), .epoch = 2});
    for (size_t i = 0; i < 3; i++)
        know(scene, i);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "k");
    assert_int_equal(fake_server_received(others[0], 0, "INCR", NULL), 0);
}

/* ROLE is the proof; commands wait for it. */
static void test_a_replica_gets_no_command(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    (void)other_port(0);
    fake_server_rule(others[0], &(fake_rule_t){.command = "ROLE", .reply = REPLICA});
    start_sentinel(0, NULL, (view_t){.port = other_port(0), .epoch = 1});
    know(scene, 0);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_received(others[0], 0, "ROLE", NULL) >= 2);
    WAIT_FOR(strcmp(scene_events(scene).detail,
                    "ROLE: the server is a replica, no primary") == 0);
    assert_false(outcome_is_done(outcome));
    say(0, (view_t){.port = primary_port(scene), .epoch = 1});
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 1);
    assert_int_equal(fake_server_received(others[0], 0, "INCR", NULL), 0);
}

static void test_names_are_looked_up(void **state)
{
    scene_t *scene = *state;

    start_sentinel(
        0, NULL,
        (view_t){.host = "localhost", .port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "k");
}

static void test_a_primary_that_is_not_known(void **state)
{
    scene_t *scene = *state;

    start_sentinel(0, NULL, (view_t){.port = 0});
    know(scene, 0);
    scene_open(scene);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    assert_string_equal(scene_events(scene).detail,
                        "no sentinel names the present primary of " NAME);
    say(0, (view_t){.port = primary_port(scene), .epoch = 1});
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX), 0);
}

/* ---- sentinels come and go ---- */

static void lose_sentinel(size_t sentinel)
{
    fake_server_refuse(sentinels[sentinel], true);
    fake_server_cut(sentinels[sentinel], FAKE_CUT_RESET);
}

static void test_all_sentinels_are_gone(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_at_the_primary(scene, NULL, NULL);
    assert_true(scene_is_settled(scene));
    lose_sentinel(0);
    WAIT_FOR(scene_events(scene).silent == 1);
    check_taken_by(scene, scene->server, "alone");
    assert_true(scene_is_settled(scene)); /* its questions change nothing */
    assert_int_equal(scene_events(scene).lost, 0);

    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    scene_submit(scene, WORDS("INCR", "waits"), NULL, outcome);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    fake_server_refuse(sentinels[0], false);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_number(others[0], 0, "waits"), 1);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_sentinels_that_were_found(void **state)
{
    scene_t *scene = *state;

    start_sentinel(1, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    start_sentinel(0, NULL,
                   (view_t){.port = primary_port(scene),
                            .epoch = 1,
                            .peer_port = sentinel_port(1)});
    know(scene, 0);
    scene_open_ready(scene);
    WAIT_FOR(fake_server_received(sentinels[1], 0, "SENTINEL", "MASTER") > 0);
    lose_sentinel(0);
    say(1, (view_t){.port = other_port(0), .epoch = 2});
    publish(1, NAME);
    await_taken_by(scene, others[0], "k");
    /* Unless a machine that stood still cost this one its connection, too. */
    if (fake_server_accepted(sentinels[1]) == 1)
        assert_int_equal(scene_events(scene).silent, 0);
}

/* One that was found and is gone for good has no voice any more: most of those that are
 * left may begin anew. */
static void test_a_sentinel_that_was_found_and_is_gone(void **state)
{
    scene_t *scene = *state;

    start_sentinel(1, NULL, (view_t){.port = primary_port(scene), .epoch = 7});
    start_sentinel(0, NULL,
                   (view_t){.port = primary_port(scene),
                            .epoch = 7,
                            .peer_port = sentinel_port(1)});
    know(scene, 0);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
    WAIT_FOR(fake_server_received(sentinels[1], 0, "SENTINEL", "MASTER") > 0);
    lose_sentinel(1);
    say(0, (view_t){.port = other_port(0), .epoch = 0});
    await_taken_by(scene, others[0], "k");
}

/* One sentinel by two names has one voice, and one connection in the end. */
static void test_a_sentinel_with_two_names(void **state)
{
    scene_t *scene = *state;

    sentinels[0] = fake_server_start(NULL);
    say(0, (view_t){
               .port = primary_port(scene), .epoch = 1, .peer_port = sentinel_port(0)});
    assert_int_equal(shoal_options_set_sentinel(scene->options, NAME), 0);
    assert_int_equal(
        shoal_options_add_sentinel(scene->options, "localhost", sentinel_port(0)), 0);
    scene_open_ready(scene);
    WAIT_FOR(fake_server_accepted(sentinels[0]) >= 2);
    WAIT_FOR(fake_server_open_now(sentinels[0]) == 1);
    check_taken_by(scene, scene->server, "k");
}

static void test_a_sentinel_that_speaks_nonsense(void **state)
{
    scene_t *scene = *state;

    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    start_sentinel(1, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    fake_server_forget_rules(sentinels[0]);
    fake_server_rule(sentinels[0],
                     &(fake_rule_t){.command = "SENTINEL", .reply = "#what?\r\n"});
    know(scene, 0);
    know(scene, 1);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "k");
    WAIT_FOR(fake_server_accepted(sentinels[0]) >= 2);
    scene_events_t events = scene_events(scene);
    assert_int_equal(events.lost, events.attempts_failed);
}

/* One that does not answer is not waited for long. */
static void test_a_silent_sentinel(void **state)
{
    scene_t *scene = *state;

    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    start_sentinel(1, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    fake_server_freeze(sentinels[0]);
    know(scene, 0);
    know(scene, 1);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "k");
}

/* ---- beginning and ending ---- */

static void test_no_sentinel_is_named(void **state)
{
    scene_t *scene = *state;
    shoal_error_t error = SHOAL_ERROR_INIT;

    assert_int_equal(shoal_options_set_sentinel(scene->options, NAME), 0);
    assert_int_equal(shoal_client_open(scene->options, &scene->client, &error),
                     SHOAL_EINVAL);
    assert_non_null(strstr(error.text, "shoal_options_add_sentinel()"));
    assert_null(scene->client);
}

static void test_a_close_while_nobody_answers(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    fake_server_forget_rules(sentinels[0]);
    fake_server_hold(sentinels[0], "HELLO");
    know(scene, 0);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_received(sentinels[0], 0, "HELLO", NULL) > 0);
    scene_close(scene, 0);
    scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_inherited),
        TEST(test_a_sentinel_gets_no_scripts),
        TEST(test_a_sentinel_without_credentials),
        TEST(test_the_highest_epoch_counts),
        TEST(test_a_lie_about_the_epoch),
        TEST(test_a_replica_gets_no_command),
        TEST(test_names_are_looked_up),
        TEST(test_a_primary_that_is_not_known),
        TEST(test_all_sentinels_are_gone),
        TEST(test_sentinels_that_were_found),
        TEST(test_a_sentinel_that_was_found_and_is_gone),
        TEST(test_a_sentinel_with_two_names),
        TEST(test_a_sentinel_that_speaks_nonsense),
        TEST(test_a_silent_sentinel),
        TEST(test_no_sentinel_is_named),
        TEST(test_a_close_while_nobody_answers),
    };
    return cmocka_run_group_tests_name("fault/sentinel", tests, NULL, NULL);
}
