/* SPDX-License-Identifier: MIT */

/* Credentials that the program replaces: shoal_client_set_credentials(), and AUTH in
 * place. */

#include "support/lease_scene.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define REPLICA                                                                        \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$9\r\nconnected\r\n:0\r\n"
#define RENEWED "renewed, because the credentials changed"

static void serve(scene_t *scene, const char *user, const char *password)
{
    scene_serve(scene,
                &(fake_config_t){.identity = {.user = user, .password = password}});
    assert_int_equal(shoal_options_set_auth(scene->options, user, password), 0);
}

static void set(scene_t *scene, const char *user, const char *password)
{
    assert_int_equal(shoal_client_set_credentials(scene->client, user, password), 0);
}

static void incr(scene_t *scene)
{
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
}

/* How many greetings, on this connection, had this password; 0: on all. */
static unsigned greeted_with(scene_t *scene, unsigned connection, const char *password)
{
    unsigned count = 0;

    for (size_t i = 0; i < fake_server_ledger_size(scene->server); i++) {
        fake_entry_t entry = fake_server_ledger_at(scene->server, i);
        count += (connection == 0 || entry.connection == connection) &&
                 strcmp(entry.args[0], "HELLO") == 0 &&
                 strcmp(entry.args[4], password) == 0;
    }
    return count;
}

/* ---- a successor has the new ones ---- */

static void test_the_successor_has_the_new_ones(void **state)
{
    scene_t *scene = *state;

    serve(scene, "ann", "old");
    scene_open_ready(scene);
    incr(scene);
    fake_server_set_password(scene->server, "new");
    set(scene, "ann", "new");
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_string_equal(scene_events(scene).renewed, RENEWED);
    incr(scene);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(greeted_with(scene, 1, "old"), 1);
    assert_int_equal(greeted_with(scene, 2, "new"), 1);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 2);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
}

/* A connection goes on with what it has, and so does a client whose server knows the new
 * ones later. */
static void test_refused_ones_change_nothing(void **state)
{
    scene_t *scene = *state;

    serve(scene, NULL, "old");
    scene_open_ready(scene);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "HELLO",
                                    .reply = "-WRONGPASS it is not c4n4ry\r\n",
                                    .times = 1});
    set(scene, NULL, "c4n4ry");
    WAIT_FOR(scene_events(scene).lost_auth >= 1);
    incr(scene);
    scene_events_t events = scene_events(scene);
    assert_int_equal(events.attempts_failed, events.lost);
    assert_null(strstr(events.detail, "c4n4"));
    fake_server_set_password(scene->server, "c4n4ry");
    WAIT_FOR(scene_events(scene).ready == 2);
    incr(scene);
    assert_int_equal(fake_server_received(scene->server, 1, "INCR", NULL), 1);
}

/* A refusal of the former ones says nothing of the new ones. */
static void test_the_wait_for_readiness_begins_anew(void **state)
{
    scene_t *scene = *state;

    serve(scene, NULL, "right");
    assert_int_equal(shoal_options_set_auth(scene->options, NULL, "wrong"), 0);
    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX),
                     SHOAL_EAUTH);
    set(scene, NULL, "right");
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX), 0);
}

/* An attempt that is greeted with the former ones makes way at once. */
static void test_while_a_connection_is_greeted(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    serve(scene, NULL, "old");
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_received(scene->server, 1, "HELLO", NULL) == 1);
    fake_server_set_password(scene->server, "new");
    set(scene, NULL, "new");
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(greeted_with(scene, 2, "new"), 1);
    fake_server_release(scene->server);
}

static void test_none_any_more(void **state)
{
    scene_t *scene = *state;

    serve(scene, "ann", "old");
    scene_open_ready(scene);
    fake_server_set_password(scene->server, NULL);
    set(scene, NULL, NULL);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(fake_server_received(scene->server, 2, "HELLO", NULL), 1);
    assert_int_equal(greeted_with(scene, 2, ""), 1);
}

static void test_leases(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;
    outcome_t outcome;

    serve(scene, NULL, "old");
    lease = lease_scene_open_used(scene);
    fake_server_set_password(scene->server, "new");
    set(scene, NULL, "new");
    WAIT_FOR(scene_events(scene).renewed[0]);
    outcome = lease_scene_ask(scene, lease, WORDS("GET", "k")); /* it is in use */
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_open_now(scene->server), 2);
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    lease = lease_scene_open(scene);
    outcome = lease_scene_ask(scene, lease, WORDS("GET", "k"));
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    fake_server_set_password(scene->server, "newer");
    set(scene, NULL, "newer");
    WAIT_FOR(scene_stats(scene).leases_idle_now == 0);
}

/* Connections for everything: several for commands, one for large values, and a replica's. */
static void use_each(scene_t *scene, fake_server_t *replica)
{
    size_t reads = fake_server_received(replica, 0, "GET", NULL);
    uint64_t bulk = scene_stats(scene).bulk;
    shoal_call_t large = SHOAL_CALL_INIT;

    large.flags = SHOAL_CALL_BULK;
    for (char key[8] = "k0"; key[1] <= '9'; key[1]++)
        assert_int_equal(scene_call(scene, WORDS("SET", key, "v"), NULL).status, 0);
    WAIT_FOR(scene_call(scene, WORDS("GET", "k0"), NULL).status == 0 &&
             fake_server_received(replica, 0, "GET", NULL) > reads);
    WAIT_FOR(scene_call(scene, WORDS("SET", "k0", "v"), &large).status == 0 &&
             scene_stats(scene).bulk > bulk);
}

static void test_every_connection_has_the_new_ones(void **state)
{
    enum { CONNECTIONS = 2, AT_PRIMARY = CONNECTIONS + 1 };
    scene_t *scene = *state;
    fake_server_t *replica = fake_server_start(
        &(fake_config_t){.identity = {.user = "ann", .password = "old"}});

    serve(scene, "ann", "old");
    fake_server_rule(replica, &(fake_rule_t){.command = "ROLE", .reply = REPLICA});
    shoal_options_set_connections(scene->options, CONNECTIONS);
    shoal_options_set_bulk_lane(scene->options, true);
    shoal_options_set_read_from(scene->options, SHOAL_READ_REPLICA_PREFERRED);
    shoal_options_add_replica(scene->options, "127.0.0.1", fake_server_port(replica));
    scene_open_ready(scene);
    use_each(scene, replica);
    WAIT_FOR(fake_server_open_now(scene->server) == AT_PRIMARY);
    fake_server_set_password(scene->server, "new");
    fake_server_set_password(replica, "new");
    set(scene, "ann", "new");
    WAIT_FOR(fake_server_accepted(scene->server) == 2 * AT_PRIMARY &&
             fake_server_open_now(scene->server) == AT_PRIMARY);
    WAIT_FOR(fake_server_accepted(replica) == 2 && fake_server_open_now(replica) == 1);
    use_each(scene, replica);
    assert_int_equal(greeted_with(scene, 0, "new"), AT_PRIMARY);
    assert_int_equal(scene_events(scene).lost, 0);
    scene_close(scene, 0);
    fake_server_stop(replica);
}

/* ---- many at once ---- */

#define THREADS 4
#define CHANGES 100

static void *change(void *data)
{
    shoal_client_t *client = data;
    char password[16];

    for (int i = 0; i < CHANGES; i++) {
        snprintf(password, sizeof password, "%d", i);
        if (shoal_client_set_credentials(client, i % 2 ? NULL : "user", password) != 0)
            return data;
    }
    return NULL;
}

static void test_several_threads(void **state)
{
    scene_t *scene = *state;
    pthread_t threads[THREADS];
    void *failed;

    serve(scene, NULL, "old");
    scene_open_ready(scene);
    fake_server_set_password(scene->server, "last");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change, scene->client), 0);
    for (int i = 0; i < 200; i++)
        incr(scene);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    set(scene, NULL, "last");
    WAIT_FOR(scene_events(scene).ready == 2);
    incr(scene);
    scene_events_t events = scene_events(scene);
    assert_int_equal(events.attempts_failed, events.lost);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 201);
}

/* ---- in place ---- */

static void open_in_place(scene_t *scene)
{
    serve(scene, NULL, "old");
    assert_int_equal(shoal_options_set_rotation(scene->options, SHOAL_ROTATE_IN_PLACE),
                     0);
    scene_open_ready(scene);
}

/* The server may drop a refusal of AUTH while other replies are due: so none is. */
static void test_in_place_nothing_is_in_flight(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t late = {.size = sizeof late, .timeout_us = 1500000};
    outcome_t *outcomes = scene_outcomes(scene, 2), outcome;

    open_in_place(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .argument = "held",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("INCR", "held"), NULL, &outcomes[0]);
    WAIT_FOR(fake_server_received(scene->server, 1, "INCR", "held") == 1);
    fake_server_set_password(scene->server, "new");
    set(scene, NULL, "new");
    scene_submit(scene, WORDS("INCR", "behind"), NULL, &outcomes[1]);
    /* Longer than a successor would wait. */
    outcome = scene_call(scene, WORDS("PING"), &late);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 1, "AUTH", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 1, "INCR", "behind"), 0);
    fake_server_release(scene->server);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 1, "AUTH", "new"), 1);
    assert_int_equal(scene_events(scene).credentials, 1);
    assert_int_equal(scene_events(scene).credentials_status, 0);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_in_place_a_refusal_is_an_event(void **state)
{
    scene_t *scene = *state;

    open_in_place(scene);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "AUTH", .reply = "-WRONGPASS it is not c4n4ry\r\n"});
    set(scene, NULL, "c4n4ry");
    WAIT_FOR(scene_events(scene).credentials >= 1);
    assert_int_equal(scene_events(scene).credentials_status, SHOAL_EAUTH);
    assert_null(strstr(scene_events(scene).credentials_detail, "c4n4"));
    incr(scene);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* The server learns the password later. */
static void test_in_place_it_is_said_again(void **state)
{
    scene_t *scene = *state;

    open_in_place(scene);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "AUTH", .reply = "-WRONGPASS no\r\n", .times = 2});
    fake_server_set_password(scene->server, "new");
    set(scene, NULL, "new");
    WAIT_FOR(scene_events(scene).credentials == 3);
    assert_int_equal(scene_events(scene).credentials_status, 0);
    assert_int_equal(fake_server_received(scene->server, 1, "AUTH", "new"), 3);
    incr(scene);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* There is no command for that: a new connection does not authenticate. */
static void test_in_place_none_any_more(void **state)
{
    scene_t *scene = *state;

    open_in_place(scene);
    fake_server_set_password(scene->server, NULL);
    set(scene, NULL, NULL);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(greeted_with(scene, 2, ""), 1);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(scene_events(scene).credentials, 0);
}

/* What is set while AUTH is answered is said next. */
static void test_in_place_again(void **state)
{
    scene_t *scene = *state;
    size_t held;

    open_in_place(scene);
    held = fake_server_rule(scene->server, &(fake_rule_t){.command = "AUTH",
                                                          .argument = "new",
                                                          .is_cut = true,
                                                          .then = FAKE_HOLD});
    fake_server_set_password(scene->server, "new");
    set(scene, NULL, "new");
    WAIT_FOR(fake_server_hits(scene->server, held) == 1);
    set(scene, NULL, "newer");
    fake_server_set_password(scene->server, "newer");
    fake_server_release(scene->server);
    WAIT_FOR(scene_events(scene).credentials == 2);
    assert_int_equal(scene_events(scene).credentials_status, 0);
    assert_int_equal(fake_server_received(scene->server, 1, "AUTH", "newer"), 1);
    incr(scene);
    assert_int_equal(scene_events(scene).lost, 0);
}

static void test_in_place_a_server_that_says_nothing(void **state)
{
    scene_t *scene = *state;

    open_in_place(scene);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "AUTH", .then = FAKE_RESET, .is_cut = true});
    set(scene, NULL, "old");
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(scene_events(scene).lost, 1);
    assert_int_equal(scene_events(scene).attempts_failed, 0);
    incr(scene);
}

/* ---- no ---- */

static void test_what_is_refused(void **state)
{
    scene_t *scene = *state;
    shoal_client_t *client;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_set_credentials(scene->client, "user", NULL),
                     SHOAL_EINVAL);
    client = scene->client;
    shoal_client_retain(client);
    scene_close(scene, 0);
    assert_int_equal(shoal_client_set_credentials(client, NULL, "p"), SHOAL_ECLOSED);
    shoal_client_release(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_the_successor_has_the_new_ones),
        SCENE_TEST(test_refused_ones_change_nothing),
        SCENE_TEST(test_the_wait_for_readiness_begins_anew),
        SCENE_TEST(test_while_a_connection_is_greeted),
        SCENE_TEST(test_none_any_more),
        SCENE_TEST(test_leases),
        SCENE_TEST(test_every_connection_has_the_new_ones),
        SCENE_TEST(test_several_threads),
        SCENE_TEST(test_in_place_nothing_is_in_flight),
        SCENE_TEST(test_in_place_a_refusal_is_an_event),
        SCENE_TEST(test_in_place_it_is_said_again),
        SCENE_TEST(test_in_place_none_any_more),
        SCENE_TEST(test_in_place_again),
        SCENE_TEST(test_in_place_a_server_that_says_nothing),
        SCENE_TEST(test_what_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
