/* SPDX-License-Identifier: MIT */

/* Eight threads use a client in every way until they are told that it is closed, while a
 * ninth closes it.  Each of them has a reference: nobody meets freed memory, nobody waits
 * for ever, and each command that was accepted gets one result.  (I9)
 *
 * SHOAL_TEST_SCALE=100 makes 10 000 rounds. */

#include "support/live.h"
#include "support/scene.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 100
#define THREADS 8
#define SLICE_US 200
#define WORDS(...) scene_words(__VA_ARGS__, NULL)

typedef struct stress stress_t;

/* One of the threads. */
typedef struct worker {
    pthread_t thread;
    stress_t *stress;
    shoal_client_t *client; /* its own reference */
    uint64_t random, ticket;
    uint64_t accepted;  /* by this thread; read when it ended */
    unsigned surprises; /* answers that nobody may get */
} worker_t;

/* One round. */
struct stress {
    worker_t workers[THREADS];
    _Atomic uint64_t results; /* of callbacks and of blocking calls */
    _Atomic unsigned begun;   /* threads that made their first call */
};

static uint64_t next_random(worker_t *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random;
}

/* Was the client closed?  Every other refusal must be one of these two. */
static bool is_end(worker_t *worker, int rc, int expected)
{
    worker->surprises += rc != 0 && rc != SHOAL_ECLOSED && rc != expected;
    return rc == SHOAL_ECLOSED;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    stress_t *stress = data;

    (void)client;
    (void)result;
    stress->results++;
}

static bool submit(worker_t *worker)
{
    shoal_command_t command = WORDS("INCR", "k");
    int rc = shoal_client_submit(worker->client, command.argc, command.argv, NULL,
                                 on_result, worker->stress, &worker->ticket);

    worker->accepted += rc == 0;
    return is_end(worker, rc, SHOAL_EFULL);
}

static bool submit_patiently(worker_t *worker)
{
    const shoal_command_t commands[] = {WORDS("INCR", "k"), WORDS("GET", "k")};
    shoal_call_t call = SHOAL_CALL_INIT;
    int rc;

    call.flags = SHOAL_CALL_WAIT_FOR_ROOM;
    rc = shoal_client_submit_many(worker->client, commands, 2, &call, on_result,
                                  worker->stress, NULL);
    worker->accepted += rc == 0 ? 2 : 0;
    return is_end(worker, rc, 0);
}

static void take(worker_t *worker, shoal_result_t *result)
{
    int status = shoal_result_status(result);

    worker->accepted++;
    worker->stress->results++;
    worker->surprises +=
        status != 0 && status != SHOAL_ESHUTDOWN && status != SHOAL_ECANCELLED;
    shoal_result_release(result);
}

static bool call(worker_t *worker)
{
    shoal_command_t command = WORDS("ECHO", "x");
    shoal_result_t *result = NULL;
    int rc =
        shoal_client_call(worker->client, command.argc, command.argv, NULL, &result);

    if (rc == 0)
        take(worker, result);
    return is_end(worker, rc, SHOAL_EFULL);
}

/* A call that comes back early, and is waited for or given up; also after the close. */
static bool call_in_slices(worker_t *worker)
{
    shoal_command_t command = WORDS("ECHO", "x");
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;
    int rc = shoal_client_call_begin(worker->client, &command, NULL, SLICE_US, &pending,
                                     &result);
    bool is_over = rc != SHOAL_EAGAIN && is_end(worker, rc, SHOAL_EFULL);

    while (rc == SHOAL_EAGAIN)
        rc = next_random(worker) % 4 == 0
                 ? shoal_pending_give_up(pending, &result)
                 : shoal_pending_wait(pending, SLICE_US, &result);
    if (rc == 0)
        take(worker, result);
    return is_over;
}

static bool cancel(worker_t *worker)
{
    return worker->ticket &&
           is_end(worker, shoal_client_cancel(worker->client, worker->ticket),
                  SHOAL_ENOENT);
}

static bool look(worker_t *worker)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    return is_end(worker, shoal_stats_get(worker->client, &stats), 0) ||
           is_end(worker, shoal_client_wait_ready(worker->client, SLICE_US),
                  SHOAL_ETIMEOUT);
}

static void *use(void *data)
{
    static bool (*const ways[])(worker_t *) = {submit,         submit_patiently, call,
                                               call_in_slices, cancel,           look};
    worker_t *worker = data;
    bool is_over;

    worker->stress->begun++;
    do
        is_over = ways[next_random(worker) % (sizeof ways / sizeof *ways)](worker);
    while (!is_over);
    /* What is closed stays closed. */
    worker->surprises += !submit(worker) || !call(worker) || !submit_patiently(worker);
    shoal_client_release(worker->client);
    return NULL;
}

static void start(scene_t *scene, stress_t *stress, uint64_t round)
{
    for (unsigned i = 0; i < THREADS; i++) {
        worker_t *worker = &stress->workers[i];
        *worker = (worker_t){.stress = stress,
                             .client = shoal_client_retain(scene->client),
                             .random = 88172645463325252u + round * THREADS + i};
        assert_int_equal(pthread_create(&worker->thread, NULL, use, worker), 0);
    }
}

static void end(const stress_t *stress)
{
    uint64_t accepted = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(stress->workers[i].thread, NULL);
        assert_int_equal(stress->workers[i].surprises, 0);
        accepted += stress->workers[i].accepted;
    }
    assert_int_equal(stress->results, accepted);
}

static void limit(scene_t *scene)
{
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 16, 8, 100000),
                     0);
}

static void test_a_client_with_a_thread(void **state)
{
    scene_t *scene = *state;
    stress_t *stress = scene_alloc(scene, sizeof *stress);

    limit(scene);
    for (uint64_t round = 0; round < live_scaled(ROUNDS); round++) {
        *stress = (stress_t){0};
        scene_open(scene);
        start(scene, stress, round);
        WAIT_FOR(stress->begun == THREADS);
        waiting_sleep_us(round * 61 % 2000);
        scene_close(scene, round % 3 * 1000);
        end(stress);
    }
}

/* The ninth is the loop thread. */
static void test_a_borrowed_client(void **state)
{
    scene_t *scene = *state;
    stress_t *stress = scene_alloc(scene, sizeof *stress);

    limit(scene);
    for (uint64_t round = 0; round < live_scaled(ROUNDS); round++) {
        *stress = (stress_t){0};
        assert_int_equal(
            shoal_client_open_borrowed(scene->options, &scene->client, NULL), 0);
        start(scene, stress, round);
        for (uint64_t i = 0; i < round % 50 || stress->begun < THREADS; i++)
            assert_int_equal(shoal_client_step(scene->client, 1000), 0);
        scene_close(scene, round % 3 * 1000);
        end(stress);
    }
}

static void *release_it(void *client)
{
    shoal_client_release(client);
    return NULL;
}

/* Nobody closes: the last of nine references does. */
static void test_the_last_reference_closes(void **state)
{
    scene_t *scene = *state;
    pthread_t threads[THREADS];

    /* No release waits for the thread of its client: the scene may be gone before. */
    assert_int_equal(shoal_options_set_on_event(scene->options, NULL, NULL), 0);
    for (uint64_t round = 0; round < live_scaled(ROUNDS); round++) {
        scene_open(scene);
        for (unsigned i = 0; i < THREADS; i++) {
            shoal_client_retain(scene->client);
            assert_int_equal(
                pthread_create(&threads[i], NULL, release_it, scene->client), 0);
        }
        shoal_client_release(scene->client);
        scene->client = NULL;
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_client_with_a_thread),
        SCENE_TEST(test_a_borrowed_client),
        SCENE_TEST(test_the_last_reference_closes),
    };
    return cmocka_run_group_tests_name("fault/close_stress", tests, NULL, NULL);
}
