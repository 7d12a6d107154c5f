/* SPDX-License-Identifier: MIT */
/* F36: the client is closed from every place and at every time: with full queues, while it
 * connects, from callbacks, by two threads, and when nobody runs its loop any more.  Each
 * time it is gone soon, every command has one result, and nothing is left.  (I2 I9 I10)
 *
 * Full size, 10^5 cycles in the first column, with SHOAL_TEST_SCALE=3000. */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <pthread.h>

#define CYCLES 8 /* of each kind */
#define COMMANDS 50
#define DRAIN_US 5000
#define HANDSHAKE_US 5000    /* within which one begins, as a rule */
#define CLOSE_US_MAX 1000000 /* beyond the time to drain */

static void close_in_time(matrix_t *m, uint64_t drain_us)
{
    uint64_t begun_us = waiting_now_us();

    matrix_close(m, drain_us);
    assert_true(
        matrix_is_prompt(m, begun_us + drain_us, waiting_now_us(), CLOSE_US_MAX));
    for (uint64_t i = 0; i < matrix_count(m); i++)
        assert_true(matrix_at(m, i)->is_done);
}

/* The queues are full of commands that nobody answers. */
static void with_full_queues(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    assert_int_equal(shoal_options_set_outstanding_max(m->options, 30, 3, 4096), 0);
    matrix_open_ready(m);
    fake_server_freeze(server);
    (void)matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_WRITE}, COMMANDS);
    if (mode->caller != MATRIX_BY_BLOCKING)
        assert_true(m->refused > 0);
    matrix_idle(m);
    close_in_time(m, DRAIN_US);
    fake_server_release(server);
    MATRIX_WAIT_FOR(m, fake_server_open_now(server) == 0);
    matrix_check_fake(m, server);
    matrix_end(m);
}

/* In every phase of connecting: looking, refused, accepted and silent. */
static void while_connecting(const matrix_mode_t *mode, unsigned phase)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    if (phase == 1)
        fake_server_refuse(server, true);
    if (phase >= 2)
        fake_server_freeze(server);
    matrix_open(m);
    (void)matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_WRITE}, 5);
    if (phase == 1)
        MATRIX_WAIT_FOR(m, m->events.lost > 0);
    if (phase == 2 && mode->is_tls) /* the handshake goes on: nothing is told yet */
        matrix_pause(m, HANDSHAKE_US);
    else if (phase == 2)
        MATRIX_WAIT_FOR(m, m->events.connected > 0);
    close_in_time(m, 0);
    for (uint64_t i = 0; phase > 0 && i < matrix_count(m); i++)
        assert_true(matrix_at(m, i)->rc == SHOAL_ECLOSED ||
                    matrix_at(m, i)->fate == SHOAL_FATE_NOT_EXECUTED);
    fake_server_release(server);
    matrix_check_fake(m, server);
    matrix_end(m);
}

/* ---- from callbacks ---- */

typedef struct ending {
    _Atomic unsigned closed, results;
    _Atomic int rc, rc_again, rc_and_wait;
    shoal_event_kind_t kind;
    _Atomic bool is_begun;
    size_t memory; /* of the library, before the client was opened */
} ending_t;

static void on_closed(void *data)
{
    ending_t *ending = data;
    ending->closed++;
}

static void close_here(shoal_client_t *client, ending_t *ending)
{
    if (ending->is_begun)
        return;
    ending->is_begun = true;
    ending->rc_and_wait = shoal_client_close_and_wait(client, 0);
    ending->rc = shoal_client_close(client, 0, on_closed, ending);
    ending->rc_again = shoal_client_close(client, 0, on_closed, ending);
}

static void count_result(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    ending_t *ending = data;
    (void)client;
    (void)result;
    ending->results++;
}

static void close_on_result(shoal_client_t *client, const shoal_result_t *result,
                            void *data)
{
    count_result(client, result, data);
    close_here(client, data);
}

static void close_on_event(shoal_client_t *client, const shoal_event_t *event,
                           void *data)
{
    ending_t *ending = data;
    if (shoal_event_kind(event) == ending->kind)
        close_here(client, ending);
}

/* The client is closed: give it back, unless the rig did when its last step was over. */
static void release(matrix_t *m)
{
    if (m->mode->caller == MATRIX_BY_STEPPING)
        MATRIX_WAIT_FOR(m, !m->client);
    shoal_client_release(m->client);
    m->client = NULL;
}

/* The rig's client closes itself: the rig's own calls on it are over. */
static void await_end(matrix_t *m, const ending_t *ending, unsigned results)
{
    size_t memory = ending->memory;

    MATRIX_WAIT_FOR(m, ending->closed > 0);
    release(m);
    /* The client's memory goes after on_closed. */
    MATRIX_WAIT_FOR(m, matrix_memory_now() <= memory);
    assert_int_equal(ending->closed, 1);
    assert_int_equal(ending->rc, 0);
    assert_int_equal(ending->rc_again, SHOAL_ECLOSED);
    assert_int_equal(ending->rc_and_wait, SHOAL_ELOOP);
    assert_int_equal(ending->results, results);
}

static void from_a_result(const matrix_mode_t *mode)
{
    static const char *const multi[] = {"MULTI"}, *const incr[] = {"INCR", "k"},
                             *const exec[] = {"EXEC"};
    const shoal_command_t unit[] = {{1, multi, NULL}, {2, incr, NULL}, {1, exec, NULL}};
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS};
    static ending_t ending; /* outlives a test that fails */
    matrix_t *m = matrix_begin(mode);

    matrix_to_fake(m, matrix_fake(m, NULL));
    ending = (ending_t){.memory = matrix_memory_now()};
    matrix_open_ready(m);
    shoal_client_t *client = m->client;
    /* All at once: none of them comes back before the last was handed over. */
    const shoal_command_t *commands = mode->is_unit ? unit : &unit[1];
    assert_int_equal(shoal_client_submit_many(client, commands, mode->is_unit ? 3 : 1,
                                              &call, close_on_result, &ending, NULL),
                     0);
    await_end(m, &ending, mode->is_unit ? 3 : 1);
    matrix_end(m);
}

static void from_an_event(const matrix_mode_t *mode, shoal_event_kind_t kind)
{
    static ending_t ending;
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    fake_server_refuse(server, kind == SHOAL_EVENT_ATTEMPT_FAILED ||
                                   kind == SHOAL_EVENT_RETRYING);
    ending = (ending_t){.kind = kind, .memory = matrix_memory_now()};
    assert_int_equal(shoal_options_set_on_event(m->options, close_on_event, &ending),
                     0);
    matrix_open(m);
    await_end(m, &ending, 0);
    matrix_end(m);
}

/* ---- by two threads ---- */

typedef struct rival {
    shoal_client_t *client;
    pthread_barrier_t *barrier;
    int rc;
} rival_t;

static void *close_at_once(void *data)
{
    rival_t *rival = data;

    pthread_barrier_wait(rival->barrier);
    rival->rc = shoal_client_close(rival->client, 50000, NULL, NULL);
    return NULL;
}

/* One command is never answered: the loser asks while the client drains. */
static void by_two_threads(const matrix_mode_t *mode)
{
    static const char *const echo[] = {"ECHO", "x"};
    static ending_t ending;
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);
    pthread_barrier_t barrier;
    pthread_t threads[2];
    rival_t rivals[2];

    matrix_to_fake(m, server);
    ending = (ending_t){.memory = matrix_memory_now()};
    matrix_open_ready(m);
    fake_server_freeze(server);
    assert_int_equal(
        shoal_client_submit(m->client, 2, echo, NULL, count_result, &ending, NULL), 0);
    MATRIX_WAIT_FOR(m, matrix_stats(m).inflight_now > 0);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        rivals[i] = (rival_t){m->client, &barrier, 0};
        pthread_create(&threads[i], NULL, close_at_once, &rivals[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(rivals[0].rc + rivals[1].rc, SHOAL_ECLOSED); /* and 0 */
    release(m);
    MATRIX_WAIT_FOR(m, ending.results > 0);
    MATRIX_WAIT_FOR(m, matrix_memory_now() <= ending.memory);
    matrix_end(m);
}

/* No thread has run the loop for a while, or the library's thread has not begun. */
static void with_a_loop_at_rest(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    matrix_open_ready(m);
    (void)matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_WRITE}, 5);
    fake_server_cut(server, FAKE_CUT_RESET);
    close_in_time(m, DRAIN_US);
    matrix_check_fake(m, server);
    matrix_end(m);
}

static void f36(const matrix_mode_t *mode)
{
    size_t share = mode->column == MATRIX_RESP3_CALLBACK ? 1 : 10;
    static const shoal_event_kind_t kinds[] = {SHOAL_EVENT_CONNECTED, SHOAL_EVENT_READY,
                                               SHOAL_EVENT_ATTEMPT_FAILED,
                                               SHOAL_EVENT_RETRYING};
    size_t cycles = matrix_scaled(CYCLES) / share;

    for (size_t i = 0; i < (cycles > 3 ? cycles : 4); i++) {
        with_full_queues(mode);
        while_connecting(mode, (unsigned)i % 4);
        from_a_result(mode);
        from_an_event(mode, kinds[i % 4]);
        if (i < 4) /* each keeps a client for 50 ms */
            by_two_threads(mode);
        with_a_loop_at_rest(mode);
    }
}

MATRIX_ROW(36){
    MATRIX_CELLS_EVERYWHERE(f36),
    MATRIX_ROW_END,
};
