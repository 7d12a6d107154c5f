/* SPDX-License-Identifier: MIT */

/* Several addresses of one server: which of them is tried, and when the client leaves it. */

#include "fault/addresses_scene.h"

#include <pthread.h>
#include <shoal/events.h>
#include <stdatomic.h>

/* ---- connecting ---- */

/* Those that refuse cost no attempt. */
static void test_the_next_one_is_tried(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL), *third = add_server(scene, NULL);

    fake_server_refuse(scene->server, true);
    fake_server_refuse(second, true);
    scene_open_ready(scene);
    check_leads_to(scene, third);
    assert_int_equal(scene_events(scene).lost, 0);
}

static void test_the_first_one_is_preferred(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    scene_open_ready(scene);
    check_leads_to(scene, scene->server);
    assert_int_equal(fake_server_accepted(second), 0);
}

static void test_sockets_of_both_kinds(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, &(fake_config_t){.is_unix = true});

    fake_server_refuse(scene->server, true);
    scene_open_ready(scene);
    check_leads_to(scene, second);
    fake_server_refuse(scene->server, false);
    fake_server_refuse(second, true);
    fake_server_cut(second, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 2);
    check_leads_to(scene, scene->server);
}

static void test_each_failure_is_named(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);
    char text[160], first_name[32];

    snprintf(first_name, sizeof first_name, "%s", name_of(scene->server));
    snprintf(text, sizeof text,
             "connect %s: Connection refused; connect %s: Connection refused",
             first_name, name_of(second));
    fake_server_refuse(scene->server, true);
    fake_server_refuse(second, true);
    scene_open(scene);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    assert_string_equal(scene_events(scene).detail, text);
    fake_server_refuse(second, false);
    scene_check_works(scene);
}

/* ---- leaving ---- */

/* A server that hangs up may be back at once: it is tried first, and stays the one. */
static void test_a_server_that_hangs_up_is_tried_again(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    fake_server_refuse(scene->server, true);
    scene_open_ready(scene);
    fake_server_refuse(scene->server, false);
    for (unsigned i = 2; i < 5; i++) {
        fake_server_cut(second, i % 2 ? FAKE_CUT_RESET : FAKE_CUT_FIN);
        WAIT_FOR(scene_events(scene).ready == i);
        check_leads_to(scene, second);
    }
    assert_int_equal(fake_server_accepted(scene->server), 0);
}

/* It is gone: one attempt leads to the other. */
static void test_a_server_that_is_gone_is_left(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    scene_open_ready(scene);
    fake_server_refuse(scene->server, true);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 2);
    check_leads_to(scene, second);
    assert_int_equal(scene_events(scene).lost, 1);
    assert_int_equal(scene_events(scene).attempts_failed, 0);

    /* ... and back. */
    fake_server_refuse(scene->server, false);
    fake_server_refuse(second, true);
    fake_server_cut(second, FAKE_CUT_FIN);
    WAIT_FOR(scene_events(scene).ready == 3);
    check_leads_to(scene, scene->server);
}

/* A stopped server accepts connections, and never says a word. */
static void test_a_server_that_does_not_greet_is_left(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    assert_int_equal(
        shoal_options_set_connect_timeout_us(scene->options, WAITING_US_MAX, 300000),
        0);
    fake_server_freeze(scene->server);
    scene_open_ready(scene);
    check_leads_to(scene, second);
    assert_true(scene_events(scene).lost_timeout > 0);
}

static void test_a_server_that_refuses_the_greeting_is_left(void **state)
{
    static const fake_rule_t refusals[] = {
        {.command = "HELLO", .reply = "-NOAUTH HELLO must be called\r\n"},
        {.command = FAKE_ON_ACCEPT,
         .before = "-ERR max number of clients reached\r\n",
         .then = FAKE_FIN},
        {.command = "HELLO", .reply = ":1\r\n"},
        {.command = "SELECT", .reply = "-ERR DB index is out of range\r\n"},
    };
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_database(scene->options, 1), 0);
    fake_server_t *second = add_server(scene, NULL);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        fake_server_forget_rules(scene->server);
        fake_server_rule(scene->server, &refusals[i]);
        scene_open(scene);
        WAIT_FOR(scene_events(scene).ready == i + 1);
        check_leads_to(scene, second);
        scene_close(scene, 0);
    }
}

/* A server that hangs up on HELLO is asked again, in another way; it is not left. */
static void test_an_old_server_is_no_reason_to_leave(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO", .then = FAKE_FIN, .is_cut = true});
    scene_open_ready(scene);
    check_leads_to(scene, scene->server);
    assert_int_equal(fake_server_accepted(second), 0);
}

/* It was ready, and then fell silent. */
static void test_a_server_that_falls_silent_is_left(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);
    const shoal_call_t again = {.size = sizeof again, .flags = SHOAL_CALL_IDEMPOTENT};
    outcome_t *outcome = scene_outcomes(scene, 1);

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 2000000), 0);
    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    scene_submit(scene, WORDS("SET", "k", "v"), &again, outcome);
    scene_await(outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    check_leads_to(scene, second);
    assert_int_equal(fake_server_executed(second, 0, "SET", "k"), 1);
    fake_server_release(scene->server);
}

/* ---- several connections ---- */

/* A lease goes where the client's connection works, or nowhere. */
static void test_a_lease_goes_to_the_same_server(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    scene_open_ready(scene);
    fake_server_refuse(scene->server, true);
    shoal_lease_t *lease = lease_scene_open(scene);
    outcome_t *outcome = scene_outcomes(scene, 1);
    lease_scene_submit(scene, lease, WORDS("ECHO", "leased"), WAITING_US_MAX, outcome,
                       NULL);
    WAIT_FOR(scene_events(scene).attempts_failed > 2);
    assert_int_equal(fake_server_accepted(second), 0);
    fake_server_refuse(scene->server, false);
    scene_check_text(outcome, "leased");
    check_leads_to(scene, scene->server);
    shoal_lease_close(lease);
}

static void test_all_connections_move_together(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    assert_int_equal(shoal_options_set_connections(scene->options, 4), 0);
    scene_open_ready(scene);
    assert_int_equal(fake_server_open_now(scene->server), 4);
    fake_server_refuse(scene->server, true);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(fake_server_open_now(second) == 4);
    scene_check_works(scene);
    assert_int_equal(fake_server_open_now(scene->server), 0);
}

/* ---- threads ---- */

typedef struct reader {
    scene_t *scene;
    const char *names[2];
    atomic_bool is_over;
    unsigned strange;
} reader_t;

static void *read_names(void *data)
{
    reader_t *reader = data;
    char names[2][32];

    snprintf(names[0], sizeof names[0], "%s", reader->names[0]);
    snprintf(names[1], sizeof names[1], "%s", reader->names[1]);
    while (!atomic_load(&reader->is_over)) {
        shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
        if (shoal_connection_get(reader->scene->client, 1, &info) != 0 ||
            (strcmp(info.server, names[0]) != 0 && strcmp(info.server, names[1]) != 0))
            reader->strange++;
    }
    return NULL;
}

static void test_other_threads_see_the_name(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);
    char first_name[32];
    reader_t *reader = scene_alloc(scene, sizeof *reader);
    pthread_t thread;

    snprintf(first_name, sizeof first_name, "%s", name_of(scene->server));
    scene_open_ready(scene);
    *reader = (reader_t){.scene = scene, .names = {first_name, name_of(second)}};
    assert_int_equal(pthread_create(&thread, NULL, read_names, reader), 0);
    for (unsigned i = 0; i < 6; i++) {
        fake_server_t *left = i % 2 ? second : scene->server;
        fake_server_t *next = i % 2 ? scene->server : second;
        fake_server_refuse(next, false);
        fake_server_refuse(left, true);
        fake_server_cut(left, FAKE_CUT_RESET);
        WAIT_FOR(scene_events(scene).ready == i + 2);
        fake_server_refuse(left, false);
    }
    atomic_store(&reader->is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(reader->strange, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_next_one_is_tried),
        TEST(test_the_first_one_is_preferred),
        TEST(test_sockets_of_both_kinds),
        TEST(test_each_failure_is_named),
        TEST(test_a_server_that_hangs_up_is_tried_again),
        TEST(test_a_server_that_is_gone_is_left),
        TEST(test_a_server_that_does_not_greet_is_left),
        TEST(test_a_server_that_refuses_the_greeting_is_left),
        TEST(test_an_old_server_is_no_reason_to_leave),
        TEST(test_a_server_that_falls_silent_is_left),
        TEST(test_a_lease_goes_to_the_same_server),
        TEST(test_all_connections_move_together),
        TEST(test_other_threads_see_the_name),
    };
    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
