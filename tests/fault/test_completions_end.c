/* SPDX-License-Identifier: MIT */
/* Waiting for a queue of results, and the ends of queues and clients. */
#include "support/result_queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* ---- waiting ---- */

static void do_nothing(int signal)
{
    (void)signal;
}

typedef struct interrupter {
    pthread_t target;
    _Atomic bool is_over;
} interrupter_t;

static void *interrupt(void *data)
{
    interrupter_t *interrupter = data;

    while (!interrupter->is_over) {
        waiting_sleep_us(5000);
        pthread_kill(interrupter->target, SIGUSR1);
    }
    return NULL;
}

static void test_waiting(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);
    struct sigaction action = {.sa_handler = do_nothing}, before;
    interrupter_t interrupter = {.target = pthread_self()};
    pthread_t thread;

    scene_open_ready(scene);
    assert_int_equal(shoal_completions_wait(queue->completions, 0), SHOAL_ETIMEOUT);
    assert_int_equal(shoal_completions_wait(queue->completions, 20000), SHOAL_ETIMEOUT);
    sigaction(SIGUSR1, &action, &before);
    pthread_create(&thread, NULL, interrupt, &interrupter);
    int rc = shoal_completions_wait(queue->completions, WAITING_US_MAX);
    interrupter.is_over = true;
    pthread_join(thread, NULL);
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(rc, SHOAL_EINTR);
    result_queue_submit_numbers(queue, 1, 1);
    result_queue_wait(queue);
    assert_int_equal(shoal_completions_wait(queue->completions, 0),
                     0); /* still there */
    assert_int_equal(result_queue_take(queue, 1), 1);
    result_queue_check(queue, 0, 1);
    shoal_completions_free(queue->completions);
}

/* ---- the ends ---- */

static void test_free_with_results_due(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .argument = "held",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    for (size_t round = 0; round < 20; round++) {
        result_queue_t *queue = result_queue_new(scene, 0);
        result_queue_submit_numbers(queue, 0, 100); /* some are there, none is taken */
        result_queue_submit(queue, WORDS("INCR", "held"), 100);
        result_queue_submit_numbers(queue, 101, 100);
        WAIT_FOR(fake_server_received(scene->server, 0, "INCR", "held") == round + 1);
        shoal_completions_free(queue->completions);
        fake_server_release(scene->server);
        scene_check_works(scene);
    }
}

static void test_close_with_results_due(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);
    size_t taken = 0;

    fake_server_freeze(scene->server);
    scene_open(scene);
    result_queue_submit_numbers(queue, 0, 200);
    scene_close(scene, 0);
    while (taken < 200) { /* all are there: closing delivers */
        size_t now = result_queue_take(queue, 50);
        assert_true(now > 0);
        for (size_t i = 0; i < now; i++) {
            assert_int_equal(queue->batch[i].tag, taken++);
            assert_int_equal(shoal_result_status(queue->batch[i].result),
                             SHOAL_ESHUTDOWN);
            assert_int_equal(shoal_result_fate(queue->batch[i].result),
                             SHOAL_FATE_NOT_EXECUTED);
        }
    }
    assert_false(result_queue_is_readable(queue));
    shoal_completions_free(queue->completions);
}

static void test_two_clients_share_a_queue(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);
    shoal_client_t *other = NULL;
    bool seen[200] = {false};

    scene_open_ready(scene);
    assert_int_equal(shoal_client_open(scene->options, &other, NULL), 0);
    result_queue_submit_numbers(queue, 0, 100);
    for (uint64_t tag = 100; tag < 200; tag++) {
        shoal_command_t command = WORDS("INCR", "k");
        assert_int_equal(shoal_completions_submit(queue->completions, other, &command,
                                                  1, NULL, tag, NULL),
                         0);
    }
    for (size_t left = 200; left > 0;) {
        result_queue_wait(queue);
        size_t taken = result_queue_take(queue, RESULT_BATCH_MAX);
        for (size_t i = 0; i < taken; i++) {
            assert_true(queue->batch[i].tag < 200 && !seen[queue->batch[i].tag]);
            seen[queue->batch[i].tag] = true;
        }
        left -= taken;
    }
    assert_int_equal(shoal_client_close_and_wait(other, 0), 0);
    shoal_client_release(other);
    shoal_completions_free(queue->completions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_waiting),
        SCENE_TEST(test_free_with_results_due),
        SCENE_TEST(test_close_with_results_due),
        SCENE_TEST(test_two_clients_share_a_queue),
    };
    return cmocka_run_group_tests_name("fault/completions_end", tests, NULL, NULL);
}
