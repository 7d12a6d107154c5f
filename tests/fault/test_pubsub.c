/* SPDX-License-Identifier: MIT */
/* Subscriptions to a server that misbehaves: the connection is lost at every byte, requests
 * are refused, names are dropped, confirmations are missing, pushes are odd. */
#include "support/listener.h"
#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#define CONFIRM "$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"
#define MESSAGE(n) "$7\r\nmessage\r\n$1\r\nx\r\n$1\r\n" #n "\r\n"
#define RESP3(mark)                                                                    \
    mark "3\r\n" CONFIRM mark "3\r\n" MESSAGE(1) mark "3\r\n" MESSAGE(2) mark          \
        "3\r\n" MESSAGE(3)

typedef struct stage {
    scene_t *scene;
    shoal_pubsub_t *pubsub;
    listener_t a;
} stage_t;

static stage_t *open_stage(void **state, const char *names)
{
    scene_t *scene = *state;
    stage_t *stage = scene_alloc(scene, sizeof *stage);

    stage->scene = scene;
    assert_int_equal(shoal_options_set_on_event(scene->options, NULL, NULL), 0);
    assert_int_equal(shoal_pubsub_open(scene->options, &stage->pubsub, NULL), 0);
    if (names)
        listener_begin(&stage->a, stage->pubsub, names);
    return stage;
}

static void close_stage(stage_t *stage)
{
    listener_end(&stage->a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    shoal_pubsub_release(stage->pubsub);
}

static void answer(scene_t *scene, const char *command, const char *reply,
                   unsigned times)
{
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = command, .reply = reply, .times = times});
}

/* ---- a loss at every byte of a confirmation and three messages ---- */

#define CUTS_MAX 200

typedef struct crowd {
    shoal_pubsub_t *pubsubs[CUTS_MAX];
    listener_t listeners[CUTS_MAX];
    char rests[2][256];
} crowd_t;

/* Each of them has its own cut.  All of them at once, because a connection is dialed ten times a
 * second at most. */
static void run_crowd(scene_t *scene, crowd_t *crowd, size_t count, const char *end)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(
            shoal_pubsub_open_borrowed(scene->options, &crowd->pubsubs[i], NULL), 0);
        listener_begin(&crowd->listeners[i], crowd->pubsubs[i], "x");
    }
    for (uint64_t since_us = waiting_now_us(); done < count;) {
        done = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(shoal_pubsub_step(crowd->pubsubs[i], 0), 0);
            done += listener_has(&crowd->listeners[i], end);
        }
        waiting_pause(since_us, end, __FILE__, __LINE__);
    }
}

static size_t count_heard(crowd_t *crowd, size_t count, const char *text)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += strcmp(crowd->listeners[i].heard, text) == 0;
    return found;
}

static void end_crowd(crowd_t *crowd, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(listener_stats(crowd->pubsubs[i]).desyncs, 0);
        listener_end(&crowd->listeners[i]);
        assert_int_equal(shoal_pubsub_close_and_wait(crowd->pubsubs[i]), 0);
        shoal_pubsub_release(crowd->pubsubs[i]);
    }
}

/* The first `losses` connections of each are lost, the last of them at every byte; the
 * earlier ones behind the first message. */
static void check_cuts(scene_t *scene, char mark, unsigned losses)
{
    static const char three[] = RESP3(">"), two[] = RESP3("*");
    const char *wire = mark == '>' ? three : two;
    const size_t bytes = sizeof three; /* a cut behind the last byte, too */
    const size_t confirm = 4 + sizeof CONFIRM - 1, message = 4 + sizeof MESSAGE(1) - 1;
    crowd_t *crowd = scene_alloc(scene, sizeof *crowd);
    char text[64];

    assert_true(bytes <= CUTS_MAX);
    assert_int_equal(shoal_options_set_on_event(scene->options, NULL, NULL), 0);
    assert_int_equal(shoal_options_set_protocol(scene->options, mark == '>' ? 3 : 2),
                     0);
    for (unsigned loss = 1; loss <= losses; loss++)
        for (size_t i = 0; i < bytes; i++) {
            fake_rule_t rule = {.command = "SUBSCRIBE",
                                .reply = wire,
                                .times = 1,
                                .is_cut = true,
                                .cut_bytes = confirm + message,
                                .then = FAKE_FIN};
            if (loss == losses)
                rule.cut_bytes = i;
            if (i % 2)
                rule.then = FAKE_RESET;
            fake_server_rule(scene->server, &rule);
        }
    snprintf(crowd->rests[0], sizeof crowd->rests[0], "%c3\r\n%s%c3\r\n%s", mark,
             CONFIRM, mark, MESSAGE(9));
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "SUBSCRIBE", .reply = crowd->rests[0]});
    run_crowd(scene, crowd, bytes, "x=9");
    if (losses == 1) {
        /* Bytes that a reset overtakes are lost: more gaps than the cuts demand, never less. */
        size_t heard = count_heard(crowd, bytes, "+x x=9 "), other = 0;
        assert_true(heard >= confirm);
        other = heard;
        other += count_heard(crowd, bytes, "+x ~ ?x x=9 ");
        other += count_heard(crowd, bytes, "+x x=1 ~ ?x x=9 ");
        other += count_heard(crowd, bytes, "+x x=1 x=2 ~ ?x x=9 ");
        snprintf(text, sizeof text, "+x x=1 x=2 x=3 ~ ?x x=9 ");
        other += count_heard(crowd, bytes, text);
        assert_int_equal(other, bytes);
        assert_true(count_heard(crowd, bytes, "+x x=1 ~ ?x x=9 ") <= message);
        assert_true(count_heard(crowd, bytes, "+x x=1 ~ ?x x=9 ") >= message / 2);
    } else {
        for (size_t i = 0; i < bytes; i++) {
            const char *heard = crowd->listeners[i].heard;
            /* Each loss of a confirmed name is told, and each new confirmation. */
            assert_true(strncmp(heard, "+x ", 3) == 0);
            assert_ptr_equal(strstr(heard + 1, "+"), NULL);
            for (const char *at = heard; (at = strstr(at, "~ ")); at++)
                assert_memory_equal(at, "~ ?x ", 5);
            assert_non_null(strstr(heard, "x=9 "));
        }
    }
    end_crowd(crowd, bytes);
}

static void test_a_loss_at_every_byte(void **state)
{
    check_cuts(*state, '>', 1);
}

static void test_a_loss_at_every_byte_in_resp2(void **state)
{
    check_cuts(*state, '*', 1);
}

static void test_a_second_loss_at_every_byte(void **state)
{
    check_cuts(*state, '>', 2);
}

/* ---- what the server says instead ---- */

#define YES(kind, name) ">3\r\n" kind "\r\n" name "\r\n:1\r\n"
#define SUBSCRIBED(name) YES("+subscribe", name)

static void test_a_server_that_cannot_now_is_asked_again(void **state)
{
    stage_t *stage;

    answer(*state, "SUBSCRIBE", "-LOADING later\r\n", 2);
    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 0);
    stage = open_stage(state, "x");
    listener_wait(&stage->a);
    LISTENER_HEARS(&stage->a, "+x ");
    assert_int_equal(listener_stats(stage->pubsub).requests, 3);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    close_stage(stage);
}

/* It takes SUBSCRIBE meanwhile, and refuses PING. */
static void test_a_server_that_loads_its_data(void **state)
{
    stage_t *stage;

    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 1);
    answer(*state, "SUBSCRIBE", SUBSCRIBED("+y"), 1);
    answer(*state, "SUBSCRIBE", "-LOADING later\r\n", 1);
    answer(*state, "SUBSCRIBE", SUBSCRIBED("+z"), 1);
    answer(*state, "PING", "-LOADING later\r\n", 3);
    stage = open_stage(state, "x");
    listener_wait(&stage->a);
    listener_add(&stage->a, "y");
    listener_wait(&stage->a);
    listener_add(&stage->a, "z"); /* both are refused; then neither is */
    LISTENER_HEARS(&stage->a, "+x +y +z ");
    fake_server_send(stage->scene->server, ">3\r\n+message\r\n+x\r\n+1\r\n");
    LISTENER_HEARS(&stage->a, "x=1 ");
    assert_int_equal(listener_stats(stage->pubsub).requests, 4);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    assert_int_equal(listener_stats(stage->pubsub).desyncs, 0);
    close_stage(stage);
}

static void test_a_name_that_is_refused(void **state)
{
    stage_t *stage;

    answer(*state, "SUBSCRIBE", "-NOPERM not this\r\n", 1);
    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 1);
    answer(*state, "SUBSCRIBE", "-NOPERM not this\r\n", 1);
    stage = open_stage(state, "x y");
    assert_int_equal(shoal_subscription_wait(stage->a.subscription, WAITING_US_MAX), 1);
    LISTENER_HEARS(&stage->a, "+x !y ");
    assert_string_equal(stage->a.detail, "NOPERM not this");
    close_stage(stage);
}

static void add_at_the_end(listener_t *listener, const shoal_item_t *item)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};

    if (shoal_item_kind(item) == SHOAL_ITEM_ENDED)
        shoal_subscription_add(listener->subscription, &name, 1);
}

/* The server has the name still, so it would be confirmed at once. */
static void test_nothing_follows_the_end(void **state)
{
    stage_t *stage;

    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 1);
    stage = open_stage(state, NULL);
    stage->a.act = add_at_the_end;
    listener_begin(&stage->a, stage->pubsub, "x");
    listener_wait(&stage->a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    LISTENER_HEARS(&stage->a, "+x . ");
    listener_end(&stage->a);
    shoal_pubsub_release(stage->pubsub);
}

/* valkey#1066: it looks like an answer to ours. */
static void test_names_that_the_server_drops(void **state)
{
    stage_t *stage;

    answer(*state, "SSUBSCRIBE", YES("+ssubscribe", "+s"), 1);
    answer(*state, "SSUBSCRIBE", "-MOVED 1 127.0.0.1:1\r\n", 1);
    answer(*state, "SSUBSCRIBE", YES("+ssubscribe", "+s"), 0);
    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 0);
    stage = open_stage(state, "s:s x");
    listener_wait(&stage->a);
    LISTENER_HEARS(&stage->a, "+x +s ");
    fake_server_send(stage->scene->server, YES("+sunsubscribe", "+s"));
    LISTENER_HEARS(&stage->a, "?s ");
    listener_wait(&stage->a);
    fake_server_send(stage->scene->server, YES("+unsubscribe", "+x"));
    LISTENER_HEARS(&stage->a, "?x ");
    /* Around a request of our own to give it up. */
    answer(*state, "SUNSUBSCRIBE",
           YES("+sunsubscribe", "+s") YES("+sunsubscribe", "+s"), 0);
    listener_remove(&stage->a, "s:s");
    listener_add(&stage->a, "s:s");
    listener_wait(&stage->a);
    fake_server_send(stage->scene->server, ">3\r\n+smessage\r\n+s\r\n+1\r\n");
    WAIT_FOR(listener_has(&stage->a, "s=1"));
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    close_stage(stage);
}

static void test_a_confirmation_that_is_missing(void **state)
{
    stage_t *stage;

    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 1); /* and nothing of y */
    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x") SUBSCRIBED("+y"), 0);
    stage = open_stage(state, "x y");
    WAIT_FOR(listener_has(&stage->a, "+y"));
    listener_wait(&stage->a);
    assert_true(listener_has(&stage->a, "+x ~ "));
    assert_true(listener_has(&stage->a, "?x"));
    assert_int_equal(listener_stats(stage->pubsub).desyncs, 1);
    close_stage(stage);
}

static void test_a_ping_that_is_answered_wrongly(void **state)
{
    static const char *const wrong[] = {"+PONG\r\n", "$16\r\n0123456789abcdef\r\n",
                                        "$16\r\n0123456789abcdeX\r\n", "*0\r\n"};

    enum { COUNT = sizeof wrong / sizeof *wrong };
    stage_t *stages[COUNT];
    uint64_t desyncs = 0;

    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x") ">0\r\n", 0);
    for (unsigned i = 0; i < COUNT; i++)
        answer(*state, "PING", wrong[i], 1);
    for (unsigned i = 0; i < COUNT; i++)
        stages[i] = open_stage(state, "x");
    for (uint64_t since_us = waiting_now_us(); desyncs < COUNT;) {
        desyncs = 0;
        for (unsigned i = 0; i < COUNT; i++)
            desyncs += listener_stats(stages[i]->pubsub).desyncs;
        waiting_pause(since_us, "each wrong answer is found", __FILE__, __LINE__);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        listener_wait(&stages[i]->a);
        close_stage(stages[i]);
    }
}

static void test_odd_pushes_are_counted(void **state)
{
    stage_t *stage;

    answer(*state, "SUBSCRIBE", SUBSCRIBED("+x"), 0);
    stage = open_stage(state, "x");
    listener_wait(&stage->a);
    LISTENER_HEARS(&stage->a, "+x ");
    fake_server_send(stage->scene->server,
                     ">0\r\n>1\r\n+message\r\n>2\r\n+message\r\n+x\r\n"
                     ">3\r\n+news\r\n+x\r\n+y\r\n>3\r\n+message\r\n:1\r\n*0\r\n"
                     ">3\r\n+message\r\n+foreign\r\n+1\r\n"
                     ">3\r\n+subscribe\r\n+foreign\r\n:1\r\n"
                     ">3\r\n+unsubscribe\r\n_\r\n:0\r\n"
                     ">3\r\n+message\r\n+x\r\n+1\r\n");
    LISTENER_HEARS(&stage->a, "x=1 ");
    assert_int_equal(listener_stats(stage->pubsub).unknown_pushes, 5);
    assert_int_equal(listener_stats(stage->pubsub).unwanted, 1);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    fake_server_send(stage->scene->server, "+unasked\r\n");
    LISTENER_HEARS(&stage->a, "~ ?x ");
    assert_int_equal(listener_stats(stage->pubsub).desyncs, 1);
    close_stage(stage);
}

/* ---- a server that is silent, or away ---- */

static void test_a_server_that_is_silent(void **state)
{
    scene_t *scene = *state;
    stage_t *stage;

    answer(scene, "SUBSCRIBE", SUBSCRIBED("+x"), 0);
    assert_int_equal(shoal_options_set_ping_idle_us(scene->options, 20000), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 200000), 0);
    stage = open_stage(state, "x");
    listener_wait(&stage->a);
    fake_server_freeze(scene->server);
    WAIT_FOR(listener_has(&stage->a, "+x ~ "));
    fake_server_release(scene->server);
    WAIT_FOR(listener_has(&stage->a, "?x "));
    assert_string_equal(stage->a.detail, "the server stopped answering");
    close_stage(stage);
}

static void test_a_server_that_is_away(void **state)
{
    scene_t *scene = *state;
    stage_t *stage;

    answer(scene, "SUBSCRIBE", SUBSCRIBED("+x"), 0);
    fake_server_refuse(scene->server, true);
    stage = open_stage(state, "x");
    assert_int_equal(shoal_subscription_wait(stage->a.subscription, 1000),
                     SHOAL_ETIMEOUT);
    WAIT_FOR(listener_stats(stage->pubsub).attempts_failed > 0);
    assert_int_equal(stage->a.items, 0);
    fake_server_refuse(scene->server, false);
    listener_wait(&stage->a);
    LISTENER_HEARS(&stage->a, "+x ");
    close_stage(stage);
    /* Closed while it is dialed. */
    fake_server_refuse(scene->server, true);
    stage = open_stage(state, "x");
    close_stage(stage);
}

static void note_epoch(listener_t *listener, const shoal_item_t *item)
{
    uint64_t *epochs = listener->act_data;

    epochs[shoal_item_kind(item)] = shoal_item_epoch(item);
}

/* Its server moves: the new connection knows no name. */
static void test_a_connection_that_is_renewed(void **state)
{
    scene_t *scene = *state;
    char moving[128], endpoint[40];
    uint64_t *epochs = scene_alloc(scene, (SHOAL_ITEM_ENDED + 1) * sizeof *epochs);
    stage_t *stage;

    answer(scene, "SUBSCRIBE", SUBSCRIBED("+x") SUBSCRIBED("+y"), 0);
    stage = open_stage(state, NULL);
    stage->a.act = note_epoch;
    stage->a.act_data = epochs;
    listener_begin(&stage->a, stage->pubsub, "x");
    listener_wait(&stage->a);
    snprintf(endpoint, sizeof endpoint, "127.0.0.1:%d",
             fake_server_port(scene->server));
    snprintf(moving, sizeof moving, ">4\r\n$6\r\nMOVING\r\n:7\r\n:30\r\n$%zu\r\n%s\r\n",
             strlen(endpoint), endpoint);
    fake_server_send(scene->server, moving);
    listener_add(&stage->a, "y"); /* meanwhile */
    /* Until the gap of x, every name is confirmed by the connection that is left. */
    WAIT_FOR(listener_has(&stage->a, "?x "));
    listener_wait(&stage->a);
    fake_server_send(scene->server, ">3\r\n+message\r\n+x\r\n+1\r\n");
    WAIT_FOR(listener_has(&stage->a, "x=1 "));
    assert_int_equal(listener_stats(stage->pubsub).connects, 2);
    assert_true(listener_has(&stage->a, "~ "));
    assert_true(listener_has(&stage->a, "+y "));
    assert_string_equal(stage->a.detail, "renewed, because the server is maintained");
    assert_int_equal(epochs[SHOAL_ITEM_SUSPENDED], 1);
    assert_int_equal(epochs[SHOAL_ITEM_GAP], 2);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    assert_int_equal(listener_stats(stage->pubsub).unknown_pushes, 0);
    close_stage(stage);
}

/* A loop that stood still looks what has come before it looks at the clock, but it does not read
 * for ever. */
static void test_a_late_step_reads_no_more_than_others(void **state)
{
    enum { MESSAGES = 3000, BYTES = 100, LATE_US = 10000 };
    static char wire[MESSAGES * 128 + 1];
    scene_t *scene = *state;
    stage_t *stage = scene_alloc(scene, sizeof *stage);
    size_t bytes = 0;

    answer(scene, "SUBSCRIBE", SUBSCRIBED("+x"), 1);
    assert_int_equal(shoal_options_set_on_event(scene->options, NULL, NULL), 0);
    assert_int_equal(shoal_pubsub_open_borrowed(scene->options, &stage->pubsub, NULL),
                     0);
    listener_begin(&stage->a, stage->pubsub, "x");
    while (shoal_subscription_wait(stage->a.subscription, 0) != 0)
        assert_int_equal(shoal_pubsub_step(stage->pubsub, 1000), 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "SUBSCRIBE", .is_swallowed = true});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "PING", .is_swallowed = true});
    listener_add(&stage->a, "y"); /* is not answered */
    WAIT_FOR(shoal_pubsub_step(stage->pubsub, 0) == 0 &&
             fake_server_received(scene->server, 0, "SUBSCRIBE", "y") == 1);
    for (unsigned i = 0; i < MESSAGES; i++)
        bytes += (size_t)snprintf(wire + bytes, sizeof wire - bytes,
                                  ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$%d\r\n%0*d\r\n",
                                  BYTES - 20, BYTES - 20, 7);
    fake_server_send(scene->server, wire);
    WAIT_FOR(fake_server_is_done(scene->server));
    waiting_sleep_us(15000);
    size_t before = stage->a.items;
    uint64_t since_us = waiting_now_us();
    assert_int_equal(shoal_pubsub_step(stage->pubsub, 0), 0);
    /* A turn reads and the poll reads; the turn behind it does if they took long. */
    size_t reads = waiting_now_us() - since_us < LATE_US ? 2 : 3;
    assert_true(stage->a.items > before);
    assert_true(stage->a.items - before <= reads * 65536 / BYTES + 1);
    listener_end(&stage->a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    shoal_pubsub_release(stage->pubsub);
}

static void test_what_is_refused_at_once(void **state)
{
    scene_t *scene = *state;
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *subscription;
    shoal_error_t error = SHOAL_ERROR_INIT;
    stage_t *stage = open_stage(state, "x");
    shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", SHOAL_NAME_BYTES_MAX + 1};
    shoal_pubsub_t *pubsub;

    receiver.on_item = listener_on_item;
    assert_int_equal(
        shoal_pubsub_subscribe(stage->pubsub, &name, 1, &receiver, &subscription),
        SHOAL_ETOOBIG);
    assert_int_equal(shoal_pubsub_subscribe(stage->pubsub, &name, SHOAL_NAMES_MAX + 1,
                                            &receiver, &subscription),
                     SHOAL_ETOOBIG);
    close_stage(stage);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    assert_int_equal(shoal_options_set_connections(scene->options, 2), 0);
    assert_int_equal(shoal_pubsub_open(scene->options, &pubsub, &error), SHOAL_EINVAL);
    assert_null(pubsub);
    assert_non_null(strstr(error.text, "cluster"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_loss_at_every_byte),
        CASE(test_a_loss_at_every_byte_in_resp2),
        CASE(test_a_second_loss_at_every_byte),
        CASE(test_a_server_that_cannot_now_is_asked_again),
        CASE(test_a_server_that_loads_its_data),
        CASE(test_a_name_that_is_refused),
        CASE(test_nothing_follows_the_end),
        CASE(test_names_that_the_server_drops),
        CASE(test_a_confirmation_that_is_missing),
        CASE(test_a_ping_that_is_answered_wrongly),
        CASE(test_odd_pushes_are_counted),
        CASE(test_a_server_that_is_silent),
        CASE(test_a_server_that_is_away),
        CASE(test_a_connection_that_is_renewed),
        CASE(test_a_late_step_reads_no_more_than_others),
        CASE(test_what_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
