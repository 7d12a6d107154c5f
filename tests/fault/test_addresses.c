/* SPDX-License-Identifier: MIT */

/* Several addresses of one server: which of them is tried, and when the client leaves it. */

#include "support/lease_scene.h"
#include "support/scene.h"
#include <pthread.h>
#include <shoal/connection.h>
#include <shoal/events.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define OTHERS_MAX 3

/* The scene's server is the first address; these are the others. */
static fake_server_t *others[OTHERS_MAX];
static unsigned others_count;

static fake_server_t *add_server(scene_t *scene, const fake_config_t *config)
{
    fake_server_t *server = fake_server_start(config);
    const char *path = fake_server_path(server);

    others[others_count++] = server;
    assert_int_equal(path ? shoal_options_add_unix_path(scene->options, path)
                          : shoal_options_add_address(scene->options, "127.0.0.1",
                                                      fake_server_port(server)),
                     0);
    return server;
}

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    while (others_count > 0)
        fake_server_stop(others[--others_count]);
    return rc;
}

static const char *name_of(const fake_server_t *server)
{
    static char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(server));
    return name;
}

static const char *server_of(scene_t *scene)
{
    static shoal_connection_info_t info;

    info.size = sizeof info;
    assert_int_equal(shoal_connection_get(scene->client, 1, &info), 0);
    return info.server;
}

/* A command of the client comes here. */
static void check_leads_to(scene_t *scene, fake_server_t *server)
{
    const char *path = fake_server_path(server);
    size_t before = fake_server_executed(server, 0, "INCR", NULL);

    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(server, 0, "INCR", NULL), before + 1);
    assert_string_equal(server_of(scene), path ? path : name_of(server));
}

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

/* ---- roles ---- */

#define PRIMARY "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA                                                                        \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
#define READONLY "-READONLY You can't write against a read only replica.\r\n"

/* From now on it is one, or a primary again. */
static void become(fake_server_t *server, const char *role)
{
    fake_server_forget_rules(server);
    fake_server_rule(server, &(fake_rule_t){.command = "ROLE", .reply = role});
    if (strcmp(role, REPLICA) == 0)
        fake_server_rule(server, &(fake_rule_t){.command = "INCR", .reply = READONLY});
}

static void test_the_primary_is_preferred(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL), *third = add_server(scene, NULL);

    become(scene->server, REPLICA);
    become(second, REPLICA);
    become(third, PRIMARY);
    scene_open_ready(scene);
    check_leads_to(scene, third);
    assert_string_equal(scene_events(scene).detail,
                        "ROLE: a replica, and the primary may have another of the "
                        "addresses");
}

/* There is none: reads are better than nothing.  Writes wait for one. */
static void test_a_replica_will_do(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);
    outcome_t *outcome = scene_outcomes(scene, 1);

    become(scene->server, REPLICA);
    fake_server_refuse(second, true);
    scene_open_ready(scene);
    outcome_t read = scene_call(scene, WORDS("GET", "k"), NULL);
    scene_check(&read, 0, SHOAL_FATE_REPLIED);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) > 0);
    become(scene->server, PRIMARY);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 1);
}

static void test_a_single_replica_is_not_asked(void **state)
{
    scene_t *scene = *state;

    become(scene->server, REPLICA);
    scene_open_ready(scene);
    outcome_t read = scene_call(scene, WORDS("GET", "k"), NULL);
    scene_check(&read, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 0, "ROLE", NULL), 0);
}

/* A proxy, or a user without the right. */
static void test_a_server_without_a_role_is_taken(void **state)
{
    static const char *const answers[] = {"-NOPERM no\r\n", "-ERR unknown command\r\n",
                                          "+OK\r\n", ":7\r\n", "*0\r\n"};
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        become(scene->server, answers[i]);
        scene_open_ready(scene);
        check_leads_to(scene, scene->server);
        scene_close(scene, 0);
    }
    assert_int_equal(fake_server_accepted(second), 0);
}

/* Commands in their order, none twice, none lost: what the old primary refused, the new one
 * executes. */
static void test_a_demoted_primary_is_left(void **state)
{
    enum { COMMANDS = 100 };
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS);

    become(scene->server, PRIMARY);
    become(second, REPLICA);
    scene_open_ready(scene);
    check_leads_to(scene, scene->server);
    become(scene->server, REPLICA);
    become(second, PRIMARY);
    for (int i = 0; i < COMMANDS; i++)
        scene_submit(scene, WORDS("INCR", "moved"), NULL, &outcomes[i]);
    for (int i = 0; i < COMMANDS; i++) {
        scene_await(&outcomes[i]);
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 1);
    }
    assert_int_equal(fake_server_number(second, 0, "moved"), COMMANDS);
    assert_int_equal(fake_server_number(scene->server, 0, "moved"), 0);
    check_leads_to(scene, second);
}

/* Without the right to ask for roles: the refusal alone says enough. */
static void test_a_server_that_refuses_to_write_is_left(void **state)
{
    static const fake_rule_t no_role = {.command = "ROLE", .reply = "-NOPERM no\r\n"};
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    fake_server_rule(scene->server, &no_role);
    fake_server_rule(second, &no_role);
    scene_open_ready(scene);
    check_leads_to(scene, scene->server);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .reply = READONLY});
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    check_leads_to(scene, second);
}

/* The server that demotes itself ends its connections. */
static void test_a_primary_that_hangs_up_and_returns_as_a_replica(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);

    become(scene->server, PRIMARY);
    become(second, PRIMARY);
    scene_open_ready(scene);
    become(scene->server, REPLICA);
    fake_server_cut(scene->server, FAKE_CUT_FIN);
    WAIT_FOR(scene_events(scene).ready == 2);
    check_leads_to(scene, second);
}

static void test_several_connections_leave_a_demoted_primary(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = add_server(scene, NULL);
    outcome_t *outcomes = scene_outcomes(scene, 16);
    char key[16];

    assert_int_equal(shoal_options_set_connections(scene->options, 4), 0);
    become(scene->server, PRIMARY);
    become(second, PRIMARY);
    scene_open_ready(scene);
    become(scene->server, REPLICA);
    for (int i = 0; i < 16; i++) {
        snprintf(key, sizeof key, "k%d", i);
        scene_submit(scene, WORDS("INCR", key), NULL, &outcomes[i]);
    }
    for (int i = 0; i < 16; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(fake_server_open_now(second) == 4 &&
             fake_server_open_now(scene->server) == 0);
    assert_int_equal(fake_server_executed(second, 0, "INCR", NULL), 16);
}

/* ---- redirects ---- */

#define VALKEY                                                                         \
    "%3\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n8.0.1\r\n$5\r\n"     \
    "proto\r\n:3\r\n"

/* A Valkey server, which answers CLIENT CAPA with this. */
static void be_valkey(fake_server_t *server, const char *capa)
{
    fake_server_rule(
        server,
        &(fake_rule_t){.command = "HELLO", .reply = VALKEY, .is_executed = true});
    fake_server_rule(
        server, &(fake_rule_t){.command = "CLIENT", .argument = "CAPA", .reply = capa});
}

/* From now on it answers INCR with "REDIRECT <host>:<port of `to`>". */
static void redirect(fake_server_t *server, const char *host, const fake_server_t *to)
{
    static char texts[8][64];
    static unsigned next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof texts[0], "-REDIRECT %s:%d\r\n", host, fake_server_port(to));
    fake_server_rule(server, &(fake_rule_t){.command = "INCR", .reply = text});
}

/* A planned failover: the client knows one address only, and follows.  Nothing fails,
 * nothing is executed twice, and the order stays. */
static void test_a_redirect_is_followed(void **state)
{
    enum { COMMANDS = 200 };
    scene_t *scene = *state;
    fake_server_t *named = others[others_count++] = fake_server_start(NULL);
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS);

    be_valkey(scene->server, "+OK\r\n");
    scene_open_ready(scene);
    for (int i = 0; i < COMMANDS; i++) {
        if (i == COMMANDS / 2)
            redirect(scene->server, "127.0.0.1", named);
        scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
    }
    for (int i = 0; i < COMMANDS; i++) {
        scene_await(&outcomes[i]);
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    }
    int64_t before = fake_server_number(scene->server, 0, "k");
    assert_int_equal(before + fake_server_number(named, 0, "k"), COMMANDS);
    for (int i = 0; i < COMMANDS; i++)
        assert_int_equal(outcomes[i].integer, i < before ? i + 1 : i + 1 - before);
    check_leads_to(scene, named);

    /* It is gone: back to the address that the program gave. */
    fake_server_forget_rules(scene->server);
    fake_server_refuse(named, true);
    fake_server_cut(named, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 3);
    check_leads_to(scene, scene->server);
}

/* The one that was named hands its role over, too: every server is asked for redirects. */
static void test_redirects_follow_each_other(void **state)
{
    scene_t *scene = *state;
    fake_server_t *second = others[others_count++] = fake_server_start(NULL);
    fake_server_t *third = others[others_count++] = fake_server_start(NULL);

    be_valkey(scene->server, "+OK\r\n");
    be_valkey(second, "+OK\r\n");
    redirect(scene->server, "127.0.0.1", second);
    redirect(second, "127.0.0.1", third);
    scene_open_ready(scene);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    check_leads_to(scene, third);
    assert_int_equal(fake_server_number(third, 0, "k"), 2);
}

/* A client that did not ask for redirects follows none.  A redirect that is damaged is an
 * error like any other. */
static void test_what_is_no_redirect_surfaces(void **state)
{
    scene_t *scene = *state;
    fake_server_t *named = others[others_count++] = fake_server_start(NULL);

    be_valkey(scene->server, "-ERR unknown subcommand\r\n");
    redirect(scene->server, "127.0.0.1", named);
    scene_open_ready(scene);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check_error(&outcome, "REDIRECT 127.0.0.1:");
    scene_close(scene, 0);

    fake_server_forget_rules(scene->server);
    be_valkey(scene->server, "+OK\r\n");
    redirect(scene->server, "user:pw@127.0.0.1", named);
    scene_open_ready(scene);
    outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check_error(&outcome, "REDIRECT user:pw@127.0.0.1:");
    assert_int_equal(fake_server_accepted(named), 0);
}

/* No byte goes where a server must not send the client: here to the cloud's metadata. */
static void test_a_redirect_to_a_forbidden_address(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    be_valkey(scene->server, "+OK\r\n");
    redirect(scene->server, "169.254.169.254", scene->server);
    scene_open_ready(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(scene_events(scene).ready >= 2); /* the same server again */
    assert_int_equal(scene_events(scene).attempts_failed, 0);
    fake_server_forget_rules(scene->server);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, tear_down)
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
        TEST(test_the_primary_is_preferred),
        TEST(test_a_replica_will_do),
        TEST(test_a_single_replica_is_not_asked),
        TEST(test_a_server_without_a_role_is_taken),
        TEST(test_a_demoted_primary_is_left),
        TEST(test_a_server_that_refuses_to_write_is_left),
        TEST(test_a_primary_that_hangs_up_and_returns_as_a_replica),
        TEST(test_several_connections_leave_a_demoted_primary),
        TEST(test_a_redirect_is_followed),
        TEST(test_redirects_follow_each_other),
        TEST(test_what_is_no_redirect_surfaces),
        TEST(test_a_redirect_to_a_forbidden_address),
        TEST(test_a_lease_goes_to_the_same_server),
        TEST(test_all_connections_move_together),
        TEST(test_other_threads_see_the_name),
    };
    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
