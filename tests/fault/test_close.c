/* SPDX-License-Identifier: MIT */
/* Closing: in every state, from every callback, twice, hundreds of times.  (I9 I10) */
#include "support/process_state.h"
#include "support/scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

typedef struct ending {
    _Atomic int closed; /* times on_closed ran */
    const outcome_t *outcomes;
    size_t count;
    _Atomic size_t complete; /* outcomes that were complete by then */
} ending_t;

static void on_closed(void *data)
{
    ending_t *ending = data;

    for (size_t i = 0; i < ending->count; i++)
        ending->complete += outcome_is_done(&ending->outcomes[i]);
    ending->closed++;
}

static ending_t *ending_new(scene_t *scene, const outcome_t *outcomes, size_t count)
{
    ending_t *ending = scene_alloc(scene, sizeof *ending);
    ending->outcomes = outcomes;
    ending->count = count;
    return ending;
}

static void release(scene_t *scene)
{
    shoal_client_release(scene->client);
    scene->client = NULL;
}

/* Start to close; the client is the library's from now on. */
static int start_close(scene_t *scene, uint64_t drain_us, ending_t *ending)
{
    int rc = shoal_client_close(scene->client, drain_us, on_closed, ending);
    release(scene);
    return rc;
}

static void test_drain_lets_everything_finish(void **state)
{
    enum { COUNT = 2000 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COUNT);
    ending_t *ending = ending_new(scene, outcomes, COUNT);

    scene_open_ready(scene);
    for (size_t i = 0; i < COUNT; i++)
        scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
    assert_int_equal(start_close(scene, 20000000, ending), 0);
    WAIT_FOR(ending->closed);
    assert_int_equal(ending->complete, COUNT); /* before on_closed */
    for (size_t i = 0; i < COUNT; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 1);
    }
    assert_int_equal(ending->closed, 1);
}

static void test_drain_before_the_first_connection(void **state)
{
    enum { COUNT = 100 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COUNT);
    ending_t *ending = ending_new(scene, outcomes, COUNT);

    scene_open(scene);
    for (size_t i = 0; i < COUNT; i++)
        scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
    assert_int_equal(start_close(scene, 20000000, ending), 0);
    WAIT_FOR(ending->closed);
    for (size_t i = 0; i < COUNT; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
}

/* Nothing waits for a server that is not there, or hangs. */
static void test_close_in_every_phase_of_connecting(void **state)
{
    scene_t *scene = *state;

    for (int phase = 0; phase < 3; phase++) {
        outcome_t *outcome = scene_outcomes(scene, 1);
        ending_t *ending = ending_new(scene, outcome, 1);
        unsigned lost = scene_events(scene).lost;
        unsigned connected = scene_events(scene).connected;

        if (phase == 1)
            fake_server_freeze(scene->server); /* stays in the greeting */
        if (phase == 2)
            fake_server_refuse(scene->server, true); /* stays in the backoff */
        scene_open(scene);
        scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
        if (phase == 1)
            WAIT_FOR(scene_events(scene).connected > connected);
        if (phase == 2)
            WAIT_FOR(scene_events(scene).lost > lost);
        assert_int_equal(start_close(scene, 0, ending), 0);
        WAIT_FOR(ending->closed);
        scene_await(outcome);
        if (phase > 0)
            scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
        fake_server_release(scene->server);
    }
}

static void test_submit_after_close(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    ending_t *ending = ending_new(scene, outcomes, 1);

    fake_server_hold(scene->server, "INCR");
    scene_open_ready(scene);
    shoal_client_t *client = shoal_client_retain(scene->client);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) == 1);
    /* The held reply: it drains all the time. */
    assert_int_equal(start_close(scene, 20000000, ending), 0);
    shoal_command_t command = WORDS("INCR", "k");
    assert_int_equal(shoal_client_submit_many(client, &command, 1, NULL, outcome_cb,
                                              &outcomes[1], NULL),
                     SHOAL_ECLOSED);
    assert_int_equal(shoal_client_close(client, 0, on_closed, ending), SHOAL_ECLOSED);
    assert_int_equal(shoal_client_wait_ready(client, 1000), SHOAL_ECLOSED);
    assert_int_equal(shoal_client_cancel(client, 999), SHOAL_ENOENT);
    fake_server_release(scene->server);
    WAIT_FOR(ending->closed);
    assert_int_equal(shoal_client_cancel(client, 999), SHOAL_ECLOSED);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    assert_false(outcome_is_done(&outcomes[1]));
    assert_int_equal(ending->closed, 1);
    shoal_client_release(client);
}

/* ---- from callbacks ---- */

typedef struct closer {
    ending_t *ending;
    _Atomic int calls, rc, rc_and_wait, rc_again;
} closer_t;

static void close_here(closer_t *closer, shoal_client_t *client)
{
    if (closer->calls++ > 0)
        return;
    closer->rc_and_wait = shoal_client_close_and_wait(client, 0);
    closer->rc = shoal_client_close(client, 0, on_closed, closer->ending);
    closer->rc_again = shoal_client_close(client, 0, on_closed, closer->ending);
}

static void close_on_result(shoal_client_t *client, const shoal_result_t *result,
                            void *data)
{
    (void)result;
    close_here(data, client);
}

static void check_closer(const closer_t *closer)
{
    WAIT_FOR(closer->ending->closed);
    assert_int_equal(closer->rc, 0);
    assert_int_equal(closer->rc_and_wait, SHOAL_ELOOP);
    assert_int_equal(closer->rc_again, SHOAL_ECLOSED);
    assert_int_equal(closer->ending->closed, 1);
    assert_int_equal(closer->ending->complete, closer->ending->count);
}

/* Some results are there, others are not: all are delivered, then on_closed. */
static void test_close_from_a_result(void **state)
{
    enum { COUNT = 200 };
    scene_t *scene = *state;
    const char *const argv[] = {"ECHO", "x"};

    for (size_t round = 0; round < 20; round++) {
        outcome_t *outcomes = scene_outcomes(scene, COUNT);
        closer_t *closer = scene_alloc(scene, sizeof *closer);

        closer->ending = ending_new(scene, outcomes, COUNT);
        fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                       .argument = "head",
                                                       .times = 1,
                                                       .is_cut = true,
                                                       .then = FAKE_HOLD});
        scene_open_ready(scene);
        scene_submit(scene, WORDS("ECHO", "head"), NULL, scene_outcomes(scene, 1));
        for (size_t i = 0; i < COUNT; i++) {
            if (i == round * 10)
                assert_int_equal(shoal_client_submit(scene->client, 2, argv, NULL,
                                                     close_on_result, closer, NULL),
                                 0);
            scene_submit(scene, WORDS("ECHO", "x"), NULL, &outcomes[i]);
        }
        WAIT_FOR(fake_server_received(scene->server, 0, "ECHO", "head") == round + 1);
        fake_server_release(scene->server);
        check_closer(closer);
        release(scene);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(outcomes[i].calls, 1);
            assert_true(outcomes[i].status == 0 ||
                        outcomes[i].status == SHOAL_ESHUTDOWN);
            if (i < round * 10)
                assert_int_equal(outcomes[i].status, 0);
        }
    }
}

/* The callback is that of a command which close itself gave up. */
static void submit_on_result(shoal_client_t *client, const shoal_result_t *result,
                             void *data)
{
    closer_t *closer = data;
    const char *const argv[] = {"ECHO", "x"};
    (void)result;

    closer->calls++;
    closer->rc = shoal_client_submit(client, 2, argv, NULL, NULL, NULL, NULL);
    closer->rc_again = shoal_client_close(client, 0, on_closed, closer->ending);
    closer->rc_and_wait = shoal_client_close_and_wait(client, 0);
}

static void test_calls_from_the_last_results(void **state)
{
    scene_t *scene = *state;
    closer_t *closer = scene_alloc(scene, sizeof *closer);
    const char *const argv[] = {"INCR", "k"};

    closer->ending = ending_new(scene, NULL, 0);
    fake_server_freeze(scene->server);
    scene_open(scene);
    for (int i = 0; i < 10; i++)
        assert_int_equal(shoal_client_submit(scene->client, 2, argv, NULL,
                                             submit_on_result, closer, NULL),
                         0);
    assert_int_equal(start_close(scene, 0, closer->ending), 0);
    WAIT_FOR(closer->ending->closed);
    assert_int_equal(closer->calls, 10);
    assert_int_equal(closer->rc, SHOAL_ECLOSED);
    assert_int_equal(closer->rc_again, SHOAL_ECLOSED);
    assert_true(closer->rc_and_wait == SHOAL_ELOOP ||
                closer->rc_and_wait == SHOAL_ECLOSED);
    assert_int_equal(closer->ending->closed, 1);
}

typedef struct event_closer {
    closer_t closer;
    shoal_event_kind_t kind;
    outcome_t *outcome; /* of a command that is submitted just before */
    int rc_submit;
} event_closer_t;

static void close_on_event(shoal_client_t *client, const shoal_event_t *event,
                           void *data)
{
    event_closer_t *closer = data;
    const char *const argv[] = {"INCR", "k"};

    if (shoal_event_kind(event) != closer->kind || closer->closer.calls > 0)
        return;
    closer->rc_submit =
        shoal_client_submit(client, 2, argv, NULL, outcome_cb, closer->outcome, NULL);
    close_here(&closer->closer, client);
}

static void test_close_from_events(void **state)
{
    scene_t *scene = *state;

    for (int kind = SHOAL_EVENT_CONNECTED; kind <= SHOAL_EVENT_ATTEMPT_FAILED; kind++) {
        event_closer_t *closer = scene_alloc(scene, sizeof *closer);
        bool is_refusing =
            kind == SHOAL_EVENT_RETRYING || kind == SHOAL_EVENT_ATTEMPT_FAILED;

        closer->kind = (shoal_event_kind_t)kind;
        closer->outcome = scene_outcomes(scene, 1);
        closer->closer.ending = ending_new(scene, closer->outcome, 1);
        fake_server_refuse(scene->server, is_refusing);
        assert_int_equal(
            shoal_options_set_on_event(scene->options, close_on_event, closer), 0);
        scene_open(scene);
        if (kind == SHOAL_EVENT_LOST) {
            assert_int_equal(
                shoal_client_wait_ready(scene->client, SHOAL_TIMEOUT_NEVER), 0);
            fake_server_cut(scene->server, FAKE_CUT_RESET);
        }
        check_closer(&closer->closer);
        release(scene);
        assert_int_equal(closer->rc_submit, 0);
        /* Once ready it may have been written before the close was seen to. */
        if (kind != SHOAL_EVENT_READY || closer->outcome->attempts == 0) {
            scene_check(closer->outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
            assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
        } else {
            scene_check(closer->outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_UNKNOWN);
            scene_serve(scene, NULL);
        }
    }
}

/* on_closed may open the next client. */
typedef struct reopener {
    scene_t *scene;
    shoal_client_t *next;
    int rc;
    _Atomic bool is_done;
} reopener_t;

static void open_another(void *data)
{
    reopener_t *reopener = data;
    reopener->rc = shoal_client_open(reopener->scene->options, &reopener->next, NULL);
    reopener->is_done = true;
}

static void test_open_another_on_closed(void **state)
{
    scene_t *scene = *state;
    reopener_t *reopener = scene_alloc(scene, sizeof *reopener);

    reopener->scene = scene;
    scene_open_ready(scene);
    assert_int_equal(shoal_client_close(scene->client, 0, open_another, reopener), 0);
    release(scene);
    WAIT_FOR(reopener->is_done);
    assert_int_equal(reopener->rc, 0);
    scene->client = reopener->next;
    scene_check_works(scene);
}

/* ---- many times ---- */

static void test_cycles_with_traffic_leave_nothing_behind(void **state)
{
    enum { CYCLES = 200, COUNT = 20 };
    scene_t *scene = *state;
    size_t descriptors = 0, threads = 0;

    for (int cycle = 0; cycle < CYCLES; cycle++) {
        outcome_t outcomes[COUNT] = {{0}};
        outcome_series_t series = {outcomes, 0, COUNT};
        shoal_command_t commands[COUNT];

        for (size_t i = 0; i < COUNT; i++)
            commands[i] = WORDS("INCR", "k");
        scene_open(scene);
        if (cycle % 4 == 1)
            assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX), 0);
        assert_int_equal(shoal_client_submit_many(scene->client, commands, COUNT, NULL,
                                                  outcome_series_cb, &series, NULL),
                         0);
        if (cycle % 4 == 2)
            waiting_sleep_us((uint64_t)cycle * 3);
        shoal_client_t *client = scene->client;
        scene->client = NULL;
        assert_int_equal(
            shoal_client_close_and_wait(client, cycle % 4 == 3 ? 20000000 : 0), 0);
        shoal_client_release(client);
        assert_int_equal(series.count, COUNT); /* after the call no callback runs */
        if (cycle == 10) {                     /* whatever is made once has been made */
            WAIT_FOR(fake_server_open_now(scene->server) == 0);
            descriptors = process_descriptors();
            threads = process_threads();
        }
    }
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    WAIT_FOR(process_descriptors() <= descriptors);
    WAIT_FOR(process_threads() <= threads);
}

typedef struct rival {
    shoal_client_t *client;
    pthread_barrier_t *barrier;
    int rc;
} rival_t;

static void *close_at_once(void *data)
{
    rival_t *rival = data;
    pthread_barrier_wait(rival->barrier);
    rival->rc = shoal_client_close(rival->client, 100000, NULL, NULL);
    return NULL;
}

/* The held reply: the loser asks while the client drains. */
static void test_two_threads_close(void **state)
{
    scene_t *scene = *state;

    for (int round = 0; round < 20; round++) {
        pthread_barrier_t barrier;
        pthread_t threads[2];
        rival_t rivals[2];
        outcome_t *outcome = scene_outcomes(scene, 1);

        fake_server_forget_rules(scene->server);
        fake_server_hold(scene->server, "INCR");
        scene_open_ready(scene);
        scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
        WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) ==
                 (size_t)round + 1);
        pthread_barrier_init(&barrier, NULL, 2);
        for (int i = 0; i < 2; i++) {
            rivals[i] = (rival_t){scene->client, &barrier, 0};
            pthread_create(&threads[i], NULL, close_at_once, &rivals[i]);
        }
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        release(scene);
        pthread_barrier_destroy(&barrier);
        assert_int_equal(rivals[0].rc + rivals[1].rc, SHOAL_ECLOSED); /* and 0 */
        scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_UNKNOWN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_drain_lets_everything_finish),
        SCENE_TEST(test_drain_before_the_first_connection),
        SCENE_TEST(test_close_in_every_phase_of_connecting),
        SCENE_TEST(test_submit_after_close),
        SCENE_TEST(test_close_from_a_result),
        SCENE_TEST(test_calls_from_the_last_results),
        SCENE_TEST(test_close_from_events),
        SCENE_TEST(test_open_another_on_closed),
        SCENE_TEST(test_cycles_with_traffic_leave_nothing_behind),
        SCENE_TEST(test_two_threads_close),
    };
    return cmocka_run_group_tests_name("fault/close", tests, NULL, NULL);
}
