/* SPDX-License-Identifier: MIT */
/* A subscriber's connection is renewed without a gap, and the scripted server, which says at each
 * stage what a server would, is loading its data, owes an answer, or loses a further successor. */
#include "support/listener.h"
#include "support/scene.h"

#include "base/time_us.h"
#include "client/client.h"
#include "route/subscriber/state.h"
#include <stdio.h>
#include <string.h>

#define PUSH(kind, name, more) ">3\r\n+" kind "\r\n+" name "\r\n" more "\r\n"
#define MESSAGE(number) PUSH("message", "x", "+" #number)

typedef struct stage {
    scene_t *scene;
    shoal_pubsub_t *pubsub;
    listener_t a;
    shoal__relay_stage_t played; /* the server has said what belongs to it */
    char marker[128];            /* as it is published */
    size_t pings;                /* the rule that holds them */
} stage_t;

static shoal__subscriber_t *route_of(const stage_t *stage)
{
    /* A pubsub is a client with another route. */
    return (shoal__subscriber_t *)shoal__client_route((shoal_client_t *)stage->pubsub);
}

static shoal__relay_stage_t relay_stage(const stage_t *stage)
{
    return route_of(stage)->relay.stage;
}

static void step(stage_t *stage, uint64_t since_us, const char *condition)
{
    assert_int_equal(shoal_pubsub_step(stage->pubsub, 0), 0);
    waiting_pause(since_us, condition, __FILE__, __LINE__);
}

#define STEP_UNTIL(stage, condition)                                                   \
    for (uint64_t since_us_ = waiting_now_us(); !(condition);)                         \
    step(stage, since_us_, #condition)

static void answer(scene_t *scene, const char *command, const char *argument,
                   const char *reply)
{
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = command, .argument = argument, .reply = reply});
}

/* ---- what the server says ---- */

/* To both connections; it is known when they ask for the channel. */
static void say_of_channel(stage_t *stage, const char *kind)
{
    char text[128];

    snprintf(text, sizeof text, ">3\r\n+%s\r\n+%s\r\n:1\r\n", kind,
             route_of(stage)->relay.channel);
    fake_server_send(stage->scene->server, text);
}

/* The first connection has the marker before the answer to PUBLISH. */
static void prepare_marker(stage_t *stage)
{
    const shoal__relay_t *relay = &route_of(stage)->relay;

    snprintf(stage->marker, sizeof stage->marker, PUSH("message", "%s", "+%s"),
             relay->channel, relay->marker);
    fake_server_rule(stage->scene->server, &(fake_rule_t){.command = "PUBLISH",
                                                          .connection = 1,
                                                          .before = stage->marker,
                                                          .reply = ":2\r\n"});
}

/* Once at each stage.  What a PING waits for has been said when it is answered. */
static void play(stage_t *stage)
{
    shoal__relay_stage_t now = relay_stage(stage);

    if (now != stage->played && now == SHOAL__RELAY_JOINING) {
        prepare_marker(stage);
        say_of_channel(stage, "subscribe");
    } else if (now != stage->played && now == SHOAL__RELAY_SKIPPING) {
        fake_server_send(stage->scene->server, stage->marker);
    } else if (now != stage->played && now == SHOAL__RELAY_PARTING) {
        say_of_channel(stage, "unsubscribe");
    }
    stage->played = now;
    fake_server_release(stage->scene->server);
}

#define PLAY_UNTIL(stage, condition)                                                   \
    for (uint64_t since_us_ = waiting_now_us(); !(condition); play(stage))             \
    step(stage, since_us_, #condition)

static void ask_for_renewal(stage_t *stage)
{
    route_of(stage)->conn.pipe.renewal.spacing_us = 0; /* no second between two */
    assert_int_equal(shoal_pubsub_reconnect(stage->pubsub), 0);
}

/* The name x is confirmed; from now on PINGs are answered so, when the stage is played.  `more`:
 * NULL, or a name that is asked for when the renewal begins. */
static stage_t *open_stage_with(void **state, const char *pong, const char *more)
{
    scene_t *scene = *state;
    stage_t *stage = scene_alloc(scene, sizeof *stage);

    stage->scene = scene;
    answer(scene, "SUBSCRIBE", "x", PUSH("subscribe", "x", ":1"));
    answer(scene, "SUBSCRIBE", "y", PUSH("subscribe", "y", ":1"));
    answer(scene, "SUBSCRIBE", NULL, "");
    answer(scene, "UNSUBSCRIBE", NULL, "");
    answer(scene, "PUBSUB", NULL, "*2\r\n+any\r\n:2\r\n");
    assert_int_equal(shoal_options_set_on_event(scene->options, NULL, NULL), 0);
    assert_int_equal(shoal_pubsub_open_borrowed(scene->options, &stage->pubsub, NULL),
                     0);
    listener_begin(&stage->a, stage->pubsub, "x");
    STEP_UNTIL(stage, shoal_subscription_wait(stage->a.subscription, 0) == 0);
    stage->pings = fake_server_rule(scene->server, &(fake_rule_t){.command = "PING",
                                                                  .reply = pong,
                                                                  .is_cut = true,
                                                                  .then = FAKE_HOLD});
    if (more)
        listener_add(&stage->a, more);
    ask_for_renewal(stage);
    return stage;
}

static stage_t *open_stage(void **state, const char *pong)
{
    return open_stage_with(state, pong, NULL);
}

static void close_stage(stage_t *stage)
{
    assert_int_equal(listener_stats(stage->pubsub).desyncs, 0);
    fake_server_forget_rules(stage->scene->server);
    fake_server_release(stage->scene->server);
    listener_end(&stage->a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    shoal_pubsub_release(stage->pubsub);
}

/* ---- the tests ---- */

/* The successor alone is left, and nobody was told. */
static void check_renewed(stage_t *stage, const char *heard)
{
    PLAY_UNTIL(stage, listener_stats(stage->pubsub).connects == 2 &&
                          relay_stage(stage) == SHOAL__RELAY_NONE &&
                          shoal_subscription_wait(stage->a.subscription, 0) == 0);
    STEP_UNTIL(stage, fake_server_open_now(stage->scene->server) == 1);
    fake_server_send(stage->scene->server, MESSAGE(1));
    STEP_UNTIL(stage, listener_has(&stage->a, "x=1 "));
    LISTENER_HEARS(&stage->a, heard);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
}

static void test_a_server_that_is_up(void **state)
{
    stage_t *stage = open_stage(state, NULL);

    check_renewed(stage, "+x x=1 ");
    close_stage(stage);
}

/* It takes all commands of a renewal, and refuses PING. */
static void test_a_server_that_loads_its_data(void **state)
{
    stage_t *stage = open_stage(state, "-LOADING later\r\n");

    check_renewed(stage, "+x x=1 ");
    close_stage(stage);
}

/* ... also of a name that is asked for behind the channel that is given up. */
static void test_a_name_that_comes_meanwhile(void **state)
{
    stage_t *stage = open_stage(state, "-LOADING later\r\n");

    PLAY_UNTIL(stage, relay_stage(stage) == SHOAL__RELAY_SKIPPING);
    listener_add(&stage->a, "y");
    check_renewed(stage, "+x +y x=1 ");
    close_stage(stage);
}

/* The connection goes on alone, and owes no answer. */
static void check_stays(stage_t *stage, const char *heard)
{
    const shoal__request_ring_t *ring = &route_of(stage)->conn.pipe.ring;

    PLAY_UNTIL(stage,
               relay_stage(stage) == SHOAL__RELAY_NONE && ring->head == ring->tail);
    fake_server_send(stage->scene->server, MESSAGE(1));
    STEP_UNTIL(stage, listener_has(&stage->a, "x=1 "));
    LISTENER_HEARS(&stage->a, heard);
    assert_int_equal(listener_stats(stage->pubsub).connects, 1);
}

static void lose_the_successor(stage_t *stage, shoal__relay_stage_t at)
{
    STEP_UNTIL(stage, relay_stage(stage) == at);
    fake_server_refuse(stage->scene->server, true);
    fake_server_cut_one(stage->scene->server, 2, FAKE_CUT_RESET);
    STEP_UNTIL(stage, relay_stage(stage) != at);
}

/* The answers to SUBSCRIBE and PING come when the channel is given up already. */
static void test_a_successor_that_is_lost_at_once(void **state)
{
    stage_t *stage = open_stage(state, "-LOADING later\r\n");
    scene_t *scene = stage->scene;
    char *parted = scene_alloc(scene, 128);

    STEP_UNTIL(stage, fake_server_hits(scene->server, stage->pings) == 2);
    snprintf(parted, 128, PUSH("unsubscribe", "%s", ":0"),
             route_of(stage)->relay.channel);
    fake_server_forget_rules(scene->server);
    answer(scene, "PING", NULL, "-LOADING later\r\n");
    answer(scene, "UNSUBSCRIBE", NULL, parted);
    lose_the_successor(stage, SHOAL__RELAY_JOINING);
    assert_int_equal(relay_stage(stage), SHOAL__RELAY_PARTING);
    say_of_channel(stage, "subscribe");
    stage->played = SHOAL__RELAY_PARTING;
    check_stays(stage, "+x x=1 ");
    close_stage(stage);
}

/* ... and the registry owes the relay a name. */
static void test_a_successor_that_is_lost_before_it_joins(void **state)
{
    stage_t *stage = open_stage_with(state, "-LOADING later\r\n", "y");

    lose_the_successor(stage, SHOAL__RELAY_WAITING);
    assert_int_equal(relay_stage(stage), SHOAL__RELAY_NONE);
    check_stays(stage, "+x +y x=1 ");
    close_stage(stage);
}

/* PUBLISH is not answered.  The successor, which was not read since the stage MARKING, takes over
 * when the time is over, as after a loss. */
static void test_a_connection_that_owes_an_answer(void **state)
{
    stage_t *stage = open_stage(state, NULL);

    fake_server_rule(stage->scene->server,
                     &(fake_rule_t){.command = "PUBLISH", .reply = ""});
    PLAY_UNTIL(stage, relay_stage(stage) == SHOAL__RELAY_MARKING);
    fake_server_send(stage->scene->server, stage->marker);
    STEP_UNTIL(stage, relay_stage(stage) == SHOAL__RELAY_TAKING);
    route_of(stage)->conn.pipe.renewal.end_us = 0; /* a second is over */
    PLAY_UNTIL(stage, listener_has(&stage->a, "?x "));
    fake_server_send(stage->scene->server, MESSAGE(1));
    STEP_UNTIL(stage, listener_has(&stage->a, "x=1 "));
    LISTENER_HEARS(&stage->a, "+x ~ ?x x=1 ");
    assert_int_equal(listener_stats(stage->pubsub).connects, 2);
    assert_int_equal(listener_stats(stage->pubsub).losses, 1);
    close_stage(stage);
}

/* The successor carries, and skips what comes before the marker.  Another renewal begins, and
 * nobody answers there: the connection is none the worse for it. */
static void test_another_renewal_before_the_marker(void **state)
{
    stage_t *stage = open_stage(state, NULL);
    scene_t *scene = stage->scene;

    PLAY_UNTIL(stage, relay_stage(stage) == SHOAL__RELAY_MARKING);
    STEP_UNTIL(stage, relay_stage(stage) == SHOAL__RELAY_SKIPPING);
    route_of(stage)->relay.end_us = SHOAL__NEVER_US; /* however busy the machine is */
    fake_server_refuse(scene->server, true);
    ask_for_renewal(stage);
    STEP_UNTIL(stage, listener_stats(stage->pubsub).attempts_failed > 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(shoal_pubsub_step(stage->pubsub, 0), 0);
    assert_int_equal(relay_stage(stage), SHOAL__RELAY_SKIPPING);
    STEP_UNTIL(stage, fake_server_open_now(scene->server) == 1);
    fake_server_send(scene->server, MESSAGE(1));
    check_renewed(stage, "+x x=1 ");
    close_stage(stage);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_server_that_is_up),
        CASE(test_a_server_that_loads_its_data),
        CASE(test_a_name_that_comes_meanwhile),
        CASE(test_a_successor_that_is_lost_at_once),
        CASE(test_a_successor_that_is_lost_before_it_joins),
        CASE(test_a_connection_that_owes_an_answer),
        CASE(test_another_renewal_before_the_marker),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
