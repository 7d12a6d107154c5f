/* SPDX-License-Identifier: MIT */

/* A server that says before it is maintained where its connections are to go, and when it will
 * be silent for longer. */

#include "support/lease_scene.h"
#include "support/scene.h"
#include <shoal/connection.h>
#include <stdio.h>
#include <string.h>

static fake_server_t *other;

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    if (other)
        fake_server_stop(other);
    other = NULL;
    return rc;
}

/* It says MOVING, on every connection; `host` NULL: null. */
static void say_moving(fake_server_t *server, int number, int seconds, const char *host,
                       int port)
{
    char endpoint[64] = "_\r\n", text[160], name[40];

    if (host) {
        snprintf(name, sizeof name, "%s:%d", host, port);
        snprintf(endpoint, sizeof endpoint, "$%zu\r\n%s\r\n", strlen(name), name);
    }
    snprintf(text, sizeof text, ">4\r\n$6\r\nMOVING\r\n:%d\r\n:%d\r\n%s", number,
             seconds, endpoint);
    fake_server_send(server, text);
}

static size_t increments(fake_server_t *server)
{
    return fake_server_executed(server, 0, "INCR", NULL);
}

/* Nothing fails, nothing is executed twice, and the order stays. */
static void test_it_names_another_server(void **state)
{
    enum { COMMANDS = 200 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS);

    other = fake_server_start(NULL);
    scene_open_ready(scene);
    assert_int_equal(
        fake_server_received(scene->server, 1, "CLIENT", "MAINT_NOTIFICATIONS"), 1);
    for (int i = 0; i < COMMANDS; i++) {
        if (i == COMMANDS / 2)
            say_moving(scene->server, 7, 30, "127.0.0.1", fake_server_port(other));
        scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
    }
    for (int i = 0; i < COMMANDS; i++) {
        scene_await(&outcomes[i]);
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    }
    WAIT_FOR(scene_events(scene).ready == 2);
    int64_t before = fake_server_number(scene->server, 0, "k");
    assert_int_equal(before + fake_server_number(other, 0, "k"), COMMANDS);
    for (int i = 0; i < COMMANDS; i++)
        assert_int_equal(outcomes[i].integer, i < before ? i + 1 : i + 1 - before);
    assert_int_equal(scene_events(scene).notices, 1);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_string_equal(scene_events(scene).renewed,
                        "renewed, because the server is maintained");
    WAIT_FOR(fake_server_open_now(scene->server) == 0);

    /* It comes again, over the new connection. */
    say_moving(other, 7, 30, "127.0.0.1", fake_server_port(scene->server));
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(scene_events(scene).notices, 1);
    assert_int_equal(increments(other), (size_t)fake_server_number(other, 0, "k"));
    assert_int_equal(fake_server_accepted(other), 1);
}

/* Without a name the same one is dialed: not before half of the time. */
static void test_it_names_nobody(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    say_moving(scene->server, 1, 3600, NULL, 0);
    WAIT_FOR(scene_events(scene).notices == 1);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(scene_events(scene).ready, 1);

    say_moving(scene->server, 2, 1, NULL, 0);
    WAIT_FOR(scene_events(scene).ready == 2);
    outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(scene->server, 2, "INCR", NULL), 1);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* No byte goes where a server must not send the client; commands stay where they are. */
static void test_it_names_a_forbidden_server(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    say_moving(scene->server, 1, 30, "169.254.169.254", 80);
    WAIT_FOR(scene_events(scene).ready == 2); /* back to the address of the program */
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(increments(scene->server), 1);
    assert_int_equal(fake_server_accepted(scene->server), 2);
}

/* What a holder relies on stays as long as the server lets it. */
static void test_a_lease_stays(void **state)
{
    scene_t *scene = *state;

    other = fake_server_start(NULL);
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("WATCH", "k"));
    assert_int_equal(outcome.status, 0);
    say_moving(scene->server, 1, 30, "127.0.0.1", fake_server_port(other));
    WAIT_FOR(scene_events(scene).ready >= 3);
    outcome = lease_scene_ask(scene, lease, WORDS("INCR", "k"));
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(scene->server, 2, "INCR", "k"), 1);
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* The end is told: then a server that is silent is given up after the ordinary time. */
static void test_it_is_silent_for_longer(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 2);

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 50000), 0);
    scene_open_ready(scene);
    fake_server_send(scene->server, ">3\r\n$9\r\nMIGRATING\r\n:1\r\n:10\r\n");
    WAIT_FOR(scene_events(scene).notices == 1);
    fake_server_hold(scene->server, "ECHO");
    scene_submit(scene, WORDS("ECHO", "k"), NULL, &outcome[0]);
    WAIT_FOR(fake_server_received(scene->server, 1, "ECHO", NULL) == 1);
    waiting_sleep_us(300000); /* many stalls, and far from 10 s */
    fake_server_release(scene->server);
    scene_await(&outcome[0]);
    scene_check(&outcome[0], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(scene_events(scene).lost, 0);

    fake_server_send(scene->server, ">2\r\n$8\r\nMIGRATED\r\n:2\r\n");
    WAIT_FOR(scene_events(scene).notices == 2);
    fake_server_hold(scene->server, "ECHO");
    scene_submit(scene, WORDS("ECHO", "k"), NULL, &outcome[1]);
    WAIT_FOR(scene_events(scene).lost >= 1); /* it is sent again, and held again */
    assert_non_null(strstr(scene_events(scene).detail, "stopped answering"));
    fake_server_forget_rules(scene->server);
    fake_server_release(scene->server);
    scene_await(&outcome[1]);
}

static void check_is_not_asked(scene_t *scene)
{
    outcome_t outcome;

    scene_open_ready(scene);
    outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(
        fake_server_received(scene->server, 0, "CLIENT", "MAINT_NOTIFICATIONS"), 0);
}

static void test_who_is_not_asked(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_maintenance(scene->options, false), 0);
    check_is_not_asked(scene);
    scene_close(scene, 0);
    assert_int_equal(shoal_options_set_maintenance(scene->options, true), 0);
    assert_int_equal(shoal_options_set_protocol(scene->options, 2), 0);
    check_is_not_asked(scene);
    scene_close(scene, 0);
    assert_int_equal(shoal_options_set_protocol(scene->options, 3), 0);
    scene_serve(scene, &(fake_config_t){.is_unix = true});
    check_is_not_asked(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, tear_down)
        TEST(test_it_names_another_server),     TEST(test_it_names_nobody),
        TEST(test_it_names_a_forbidden_server), TEST(test_a_lease_stays),
        TEST(test_it_is_silent_for_longer),     TEST(test_who_is_not_asked),
    };
    return cmocka_run_group_tests_name("maintenance", tests, NULL, NULL);
}
