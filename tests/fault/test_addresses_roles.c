/* SPDX-License-Identifier: MIT */

/* Servers at several addresses say that they are no primary: which of them is used. */

#include "fault/addresses_scene.h"

#include <shoal/events.h>

/* ---- roles ---- */

#define PRIMARY "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA                                                                        \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
#define READONLY "-READONLY You can't write against a read only replica.\r\n"

/* From now on it is one, or a primary again. */
static void become(fake_server_t *server, const char *role)
{
    fake_server_prepare_rules(server);
    fake_server_rule(server, &(fake_rule_t){.command = "ROLE", .reply = role});
    if (strcmp(role, REPLICA) == 0)
        fake_server_rule(server, &(fake_rule_t){.command = "INCR", .reply = READONLY});
    fake_server_forget_rules(server);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests_name("addresses_roles", tests, NULL, NULL);
}
