/* SPDX-License-Identifier: MIT */
/* Sentinels that the test plays: what the client believes, and whom it sends commands. */
#include "support/scene.h"
#include "support/sleeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define NAME "mymaster"
#define SENTINELS_MAX 4
#define SERVERS_MAX 2
#define TEXT_BYTES 600

#define REPLICA "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
#define SUBSCRIBED ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"

/* Texts of rules outlive the servers. */
typedef struct texts {
    char primary[TEXT_BYTES], peers[TEXT_BYTES], id[64];
} texts_t;

static fake_server_t *sentinels[SENTINELS_MAX], *others[SERVERS_MAX];
static texts_t texts[64];
static size_t texts_count;

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < SENTINELS_MAX; i++) {
        fake_server_stop(sentinels[i]);
        sentinels[i] = NULL;
    }
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        fake_server_stop(others[i]);
        others[i] = NULL;
    }
    texts_count = 0;
    return rc;
}

/* ---- sentinels ---- */

typedef struct view {
    const char *host; /* NULL: 127.0.0.1 */
    int port;         /* of the primary; 0: it does not know it */
    unsigned epoch;
    int peer_port;          /* of another sentinel, that this one names; 0: none */
    const char *subscribed; /* NULL: the usual answer to SUBSCRIBE */
    uint64_t delay_us;      /* before it names the primary */
} view_t;

static texts_t *write_texts(size_t sentinel, const view_t *view)
{
    texts_t *to = &texts[texts_count++];
    const char *host = view->host ? view->host : "127.0.0.1";
    char port[12], epoch[12];

    assert_true(texts_count < sizeof texts / sizeof *texts);
    snprintf(port, sizeof port, "%d", view->port);
    snprintf(epoch, sizeof epoch, "%u", view->epoch);
    if (view->port)
        snprintf(to->primary, sizeof to->primary,
                 "*6\r\n$2\r\nip\r\n$%zu\r\n%s\r\n$4\r\nport\r\n$%zu\r\n%s\r\n"
                 "$12\r\nconfig-epoch\r\n$%zu\r\n%s\r\n",
                 strlen(host), host, strlen(port), port, strlen(epoch), epoch);
    else
        snprintf(to->primary, sizeof to->primary,
                 "-ERR No such master with that name\r\n");
    snprintf(port, sizeof port, "%d", view->peer_port);
    if (view->peer_port)
        snprintf(
            to->peers, sizeof to->peers,
            "*1\r\n*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$%zu\r\n%s\r\n",
            strlen(port), port);
    else
        snprintf(to->peers, sizeof to->peers, "*0\r\n");
    snprintf(to->id, sizeof to->id, "$2\r\ns%zu\r\n", sentinel);
    return to;
}

/* From now on the sentinel says this. */
static void say(size_t sentinel, view_t view)
{
    fake_server_t *server = sentinels[sentinel];
    const texts_t *to = write_texts(sentinel, &view);

    fake_server_forget_rules(server);
    fake_server_rule(server, &(fake_rule_t){.command = "SENTINEL",
                                            .argument = "MASTER",
                                            .reply = to->primary,
                                            .delay_us = view.delay_us});
    fake_server_rule(server, &(fake_rule_t){.command = "SENTINEL",
                                            .argument = "SENTINELS",
                                            .reply = to->peers});
    fake_server_rule(
        server,
        &(fake_rule_t){.command = "SENTINEL", .argument = "MYID", .reply = to->id});
    fake_server_rule(server, &(fake_rule_t){.command = "SUBSCRIBE",
                                            .reply = view.subscribed ? view.subscribed
                                                                     : SUBSCRIBED});
}

static void start_sentinel(size_t sentinel, const fake_config_t *config, view_t view)
{
    sentinels[sentinel] = fake_server_start(config);
    say(sentinel, view);
}

static int sentinel_port(size_t sentinel)
{
    return fake_server_port(sentinels[sentinel]);
}

/* The client knows this one. */
static void know(scene_t *scene, size_t sentinel)
{
    assert_int_equal(shoal_options_set_sentinel(scene->options, NAME), 0);
    assert_int_equal(shoal_options_add_sentinel(scene->options, "127.0.0.1",
                                                sentinel_port(sentinel)),
                     0);
}

static int primary_port(const scene_t *scene)
{
    return fake_server_port(scene->server);
}

static int other_port(size_t other)
{
    if (!others[other])
        others[other] = fake_server_start(NULL);
    return fake_server_port(others[other]);
}

/* The sentinel publishes that the primary of this name was exchanged. */
static void publish(size_t sentinel, const char *name)
{
    char text[200];

    snprintf(text, sizeof text,
             ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s 1.2.3.4 1 "
             "1.2.3.4 2\r\n",
             strlen(name) + 20, name);
    fake_server_send(sentinels[sentinel], text);
}

static void check_taken_by(scene_t *scene, fake_server_t *server, const char *key)
{
    outcome_t outcome = scene_call(scene, WORDS("INCR", key), NULL);

    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_number(server, 0, key), 1);
}

/* Commands go to this server as soon as the client has noticed. */
static void await_taken_by(scene_t *scene, fake_server_t *server, const char *key)
{
    WAIT_FOR((scene_call(scene, WORDS("INCR", key), NULL),
              fake_server_number(server, 0, key) > 0));
}

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

/* ---- following ---- */

static void open_at_the_primary(scene_t *scene, const fake_config_t *config,
                                const char *subscribed)
{
    start_sentinel(
        0, config,
        (view_t){.port = primary_port(scene), .epoch = 1, .subscribed = subscribed});
    know(scene, 0);
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
}

static void test_an_event(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    WAIT_FOR(fake_server_received(sentinels[0], 0, "SUBSCRIBE", "+switch-master") == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, "mymaster2");
    publish(0, NAME);
    await_taken_by(scene, others[0], "k");
    assert_int_equal(scene_events(scene).changed, 2);
}

/* Without events, whatever the reason, the poll suffices. */
static void test_no_events(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, &(fake_config_t){.identity = {.kind = FAKE_RESP2}},
                        NULL);
    assert_int_equal(fake_server_received(sentinels[0], 0, "SUBSCRIBE", NULL), 0);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    await_taken_by(scene, others[0], "k");
}

static void test_events_are_forbidden(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, "-NOPERM no\r\n");
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    await_taken_by(scene, others[0], "k");
}

/* It would hang for minutes, and what comes of it says nothing of the new primary. */
static void test_an_attempt_at_the_former_primary(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_connect_timeout_us(scene->options, 600000000, 600000000), 0);
    fake_server_hold(scene->server, "HELLO");
    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    scene_open(scene);
    WAIT_FOR(fake_server_received(scene->server, 0, "HELLO", NULL) > 0);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    check_taken_by(scene, others[0], "k");
    fake_server_release(scene->server);
}

/* The primary is lost: nobody dials it again unasked. */
static void test_a_lost_primary(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > 0);
    check_taken_by(scene, others[0], "k");
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_a_primary_that_becomes_a_replica(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_at_the_primary(scene, NULL, NULL);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .reply = "-READONLY no\r\n"});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "ROLE", .reply = REPLICA});
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->type, SHOAL_REPLY_INTEGER);
    assert_int_equal(fake_server_number(others[0], 0, "k"), 1);
}

/* An operator removes the primary everywhere, and names another one: its epoch is 0. */
static void test_a_new_beginning(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < 3; i++) {
        start_sentinel(i, NULL, (view_t){.port = primary_port(scene), .epoch = 7});
        know(scene, i);
    }
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
    for (size_t i = 0; i < 3; i++)
        say(i, (view_t){.port = other_port(0), .epoch = 0});
    await_taken_by(scene, others[0], "k");
}

/* A new client leaves a former primary that says nothing.  True: soon after the new one has
 * said what it is. */
static bool leaves_promptly(scene_t *scene)
{
    outcome_t *outcome = scene_outcomes(scene, 1);
    size_t asked = fake_server_received(others[0], 0, "ROLE", NULL);
    outcome_t next;
    uint64_t greeted_us;
    bool is_prompt;

    say(0, (view_t){.port = primary_port(scene), .epoch = 1});
    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_holds(scene->server, "INCR"));
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(fake_server_received(others[0], 0, "ROLE", NULL) > asked);
    greeted_us = waiting_now_us();
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    is_prompt = sleeper_is_prompt(greeted_us + 100000, waiting_now_us(),
                                  400000 + 2 * sleeper_late_us_max());
    next = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&next, 0, SHOAL_FATE_REPLIED);
    scene_close(scene, 0);
    fake_server_release(scene->server);
    return is_prompt;
}

/* It is not waited for as long as one that answers.  One thread alone may be late for a
 * while, which the sleeper does not see; a client that waits is late in every round. */
static void test_a_silent_former_primary(void **state)
{
    enum { ROUNDS = 5 };
    scene_t *scene = *state;
    int rounds = 1;

    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    (void)other_port(0);
    sleeper_start();
    while (!leaves_promptly(scene) && rounds <= ROUNDS)
        rounds++;
    sleeper_stop();
    assert_in_range(rounds, 1, ROUNDS);
    assert_int_equal(fake_server_number(others[0], 0, "k"), rounds);
}

/* What the server is to write is in the socket.  Any thread may wait for it. */
static void await_written(fake_server_t *server)
{
    uint64_t since_us = waiting_now_us();

    while (!fake_server_is_done(server) && waiting_now_us() - since_us < WAITING_US_MAX)
        waiting_sleep_us(200);
}

/* The former primary answers its next command, and the new one: the client finds both. */
static void answer_while_busy(shoal_client_t *client, const shoal_result_t *result,
                              void *data)
{
    scene_t *scene = data;

    (void)client, (void)result;
    fake_server_send(scene->server, ":2\r\n");
    await_written(scene->server);
    fake_server_release(others[0]);
    await_written(others[0]);
}

/* The former primary is not silent: the program is. */
static void answer_and_be_busy(shoal_client_t *client, const shoal_result_t *result,
                               void *data)
{
    scene_t *scene = data;

    (void)client, (void)result;
    fake_server_send(scene->server, ":3\r\n");
    await_written(scene->server);
    waiting_sleep_us(150000);
}

static void incr(scene_t *scene, const char *key, shoal_result_cb on_result, void *data)
{
    const char *words[] = {"INCR", key};

    assert_int_equal(
        shoal_client_submit(scene->client, 2, words, NULL, on_result, data, NULL), 0);
}

static void test_a_former_primary_that_answers_a_busy_program(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_SHAPES), 0);
    open_at_the_primary(scene, NULL, NULL);
    assert_int_equal(fake_server_open_now(scene->server), 1);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .is_swallowed = true});
    (void)other_port(0);
    fake_server_hold(others[0], "ROLE");
    incr(scene, "a", answer_while_busy, scene);
    incr(scene, "b", answer_and_be_busy, scene);
    incr(scene, "c", outcome_cb, outcome);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", "c") == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(fake_server_received(others[0], 0, "ROLE", NULL) > 0);
    fake_server_send(scene->server, ":1\r\n");
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->integer, 3);
    check_taken_by(scene, others[0], "k");
}

/* They name another primary, and take it back before that one has answered. */
static void test_there_and_back(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    (void)other_port(0);
    fake_server_hold(others[0], "HELLO");
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(fake_server_received(others[0], 0, "HELLO", NULL) == 1);
    say(0, (view_t){.port = primary_port(scene), .epoch = 3});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 3);
    check_taken_by(scene, scene->server, "k");
    assert_int_equal(scene_events(scene).ready, 1);
    /* The only renewal there is is the program's. */
    WAIT_FOR((assert_int_equal(shoal_client_reconnect(scene->client), 0),
              scene_events(scene).ready >= 2));
    assert_string_equal(scene_events(scene).renewed,
                        "renewed, because the program asked for it");
    fake_server_release(others[0]);
}

/* The answers of most are there before that of one which knew what was proved. */
static void test_a_new_beginning_that_one_tells_later(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < 3; i++) {
        start_sentinel(i, NULL, (view_t){.port = primary_port(scene), .epoch = 0});
        know(scene, i);
    }
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
    for (size_t i = 0; i < 3; i++)
        WAIT_FOR(fake_server_received(sentinels[i], 0, "SENTINEL", "MASTER") > 0);
    for (size_t i = 0; i < 3; i++)
        say(i, (view_t){.port = other_port(0), .epoch = 0, .delay_us = i * 50000});
    await_taken_by(scene, others[0], "k");
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

/* Every way to use the connections of a client leads to the primary. */
static void test_all_connections_follow(void **state)
{
    scene_t *scene = *state;
    shoal_call_t bulk = SHOAL_CALL_INIT, leased = SHOAL_CALL_INIT;
    shoal_lease_t *lease = NULL;

    bulk.flags = SHOAL_CALL_BULK;
    assert_int_equal(shoal_options_set_connections(scene->options, 3), 0);
    open_at_the_primary(scene, NULL, NULL);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    for (int i = 0; i < 40; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        check_taken_by(scene, others[0], key);
    }
    outcome_t outcome = scene_call(scene, WORDS("INCR", "bulk"), &bulk);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    leased.lease = lease;
    outcome = scene_call(scene, WORDS("INCR", "leased"), &leased);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    shoal_lease_close(lease);
    assert_int_equal(fake_server_number(others[0], 0, "bulk"), 1);
    assert_int_equal(fake_server_number(others[0], 0, "leased"), 1);
}

static outcome_t ask_on(scene_t *scene, shoal_lease_t *lease, shoal_command_t command)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    call.lease = lease;
    return scene_call(scene, command, &call);
}

/* A lease that has carried a command. */
static shoal_lease_t *open_lease(scene_t *scene, shoal_command_t command)
{
    shoal_lease_t *lease = NULL;
    outcome_t outcome;

    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    outcome = ask_on(scene, lease, command);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    return lease;
}

static void check_leases_lead_to(scene_t *scene, fake_server_t *server)
{
    shoal_lease_t *lease = open_lease(scene, WORDS("INCR", "leased"));

    shoal_lease_close(lease);
    assert_int_equal(fake_server_number(server, 0, "leased"), 1);
}

/* Leased connections that are idle when the primary is exchanged, ... */
static void test_pooled_leases_follow(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    shoal_lease_close(open_lease(scene, WORDS("PING")));
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    check_leases_lead_to(scene, others[0]);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* ... that somebody holds, ... */
static void test_held_leases_are_not_pooled(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;

    open_at_the_primary(scene, NULL, NULL);
    lease = open_lease(scene, WORDS("PING"));
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    check_leases_lead_to(scene, others[0]);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* ... and that are being cleaned for the next one. */
static void test_leases_under_way_are_not_pooled(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "+OK\r\n"});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "UNWATCH",
                                                   .reply = "+OK\r\n",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    shoal_lease_close(open_lease(scene, WORDS("WATCH", "k")));
    WAIT_FOR(fake_server_received(scene->server, 0, "UNWATCH", NULL) == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    check_leases_lead_to(scene, others[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, scene_setup, tear_down)
        TEST(test_nothing_is_inherited),
        TEST(test_a_sentinel_without_credentials),
        TEST(test_the_highest_epoch_counts),
        TEST(test_a_lie_about_the_epoch),
        TEST(test_a_replica_gets_no_command),
        TEST(test_names_are_looked_up),
        TEST(test_a_primary_that_is_not_known),
        TEST(test_an_event),
        TEST(test_no_events),
        TEST(test_events_are_forbidden),
        TEST(test_an_attempt_at_the_former_primary),
        TEST(test_a_lost_primary),
        TEST(test_a_primary_that_becomes_a_replica),
        TEST(test_a_new_beginning),
        TEST(test_a_new_beginning_that_one_tells_later),
        TEST(test_a_silent_former_primary),
        TEST(test_a_former_primary_that_answers_a_busy_program),
        TEST(test_there_and_back),
        TEST(test_all_sentinels_are_gone),
        TEST(test_sentinels_that_were_found),
        TEST(test_a_sentinel_that_was_found_and_is_gone),
        TEST(test_a_sentinel_with_two_names),
        TEST(test_a_sentinel_that_speaks_nonsense),
        TEST(test_a_silent_sentinel),
        TEST(test_no_sentinel_is_named),
        TEST(test_a_close_while_nobody_answers),
        TEST(test_all_connections_follow),
        TEST(test_pooled_leases_follow),
        TEST(test_held_leases_are_not_pooled),
        TEST(test_leases_under_way_are_not_pooled),
    };
    return cmocka_run_group_tests_name("fault/sentinel", tests, NULL, NULL);
}
