/* SPDX-License-Identifier: MIT */
/* Results in a queue with a descriptor instead of callbacks. */
#include "support/scene.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define BATCH_MAX 256

typedef struct queue {
    scene_t *scene;
    shoal_completions_t *completions;
    shoal_completion_t batch[BATCH_MAX];
} queue_t;

static queue_t *queue_new(scene_t *scene, size_t outstanding_max)
{
    queue_t *queue = scene_alloc(scene, sizeof *queue);
    queue->scene = scene;
    assert_int_equal(shoal_completions_new(outstanding_max, &queue->completions), 0);
    return queue;
}

static bool is_readable(const queue_t *queue)
{
    struct pollfd slot = {.fd = shoal_completions_fd(queue->completions),
                          .events = POLLIN};
    return poll(&slot, 1, 0) == 1;
}

static void submit(const queue_t *queue, shoal_command_t command, uint64_t tag)
{
    assert_int_equal(shoal_completions_submit(queue->completions, queue->scene->client,
                                              &command, 1, NULL, tag, NULL),
                     0);
}

/* Echoes of numbers: tag n has the text n. */
static void submit_numbers(const queue_t *queue, uint64_t first_tag, size_t count)
{
    shoal_command_t commands[BATCH_MAX];
    const char *argv[BATCH_MAX][2];
    char texts[BATCH_MAX][24];

    assert_true(count <= BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "%llu",
                 (unsigned long long)(first_tag + i));
        argv[i][0] = "ECHO";
        argv[i][1] = texts[i];
        commands[i] = (shoal_command_t){2, argv[i], NULL};
    }
    assert_int_equal(shoal_completions_submit(queue->completions, queue->scene->client,
                                              commands, count, NULL, first_tag, NULL),
                     0);
}

static void check_number(const shoal_completion_t *completion, uint64_t tag)
{
    outcome_t outcome = {0};
    char text[24];

    assert_int_equal(completion->tag, tag);
    outcome_read(&outcome, completion->result);
    outcome.calls = 1;
    snprintf(text, sizeof text, "%llu", (unsigned long long)tag);
    scene_check_text(&outcome, text);
}

static void wait_for_results(const queue_t *queue)
{
    int rc;
    do
        rc = shoal_completions_wait(queue->completions, WAITING_US_MAX);
    while (rc == SHOAL_EINTR);
    assert_int_equal(rc, 0);
}

static void test_batches_of_each_size(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 64, BATCH_MAX};
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);
    uint64_t tag = 1000, taken_tag = 1000;

    scene_open_ready(scene);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int round = 0; round < 10; round++) {
            submit_numbers(queue, tag, 200);
            tag += 200;
            while (taken_tag < tag) {
                wait_for_results(queue);
                size_t taken =
                    shoal_completions_take(queue->completions, queue->batch, sizes[s]);
                assert_true(taken >= 1 && taken <= sizes[s]);
                for (size_t i = 0; i < taken; i++)
                    check_number(&queue->batch[i], taken_tag++);
            }
        }
    }
    assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 1), 0);
    shoal_completions_free(queue->completions);
}

static void test_the_descriptor(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);

    scene_open_ready(scene);
    for (uint64_t round = 0; round < 50; round++) {
        assert_false(is_readable(queue));
        submit_numbers(queue, round * 3, 3);
        WAIT_FOR(is_readable(queue));
        WAIT_FOR(scene_stats(scene).completed == 3 * (round + 1));
        assert_true(is_readable(queue)); /* level-triggered: stays so */
        assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 2),
                         2);
        check_number(&queue->batch[0], 3 * round);
        check_number(&queue->batch[1], 3 * round + 1);
        assert_true(is_readable(queue)); /* one is left */
        assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 2),
                         1);
        check_number(&queue->batch[0], 3 * round + 2);
        assert_false(is_readable(queue));
        assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 2),
                         0);
    }
    shoal_completions_free(queue->completions);
}

/* What a batch holds stays as it is until the next take, whatever arrives meanwhile. */
static void test_results_live_until_the_next_take(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);

    scene_open_ready(scene);
    submit_numbers(queue, 0, 200);
    WAIT_FOR(scene_stats(scene).completed == 200);
    assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 100),
                     100);
    submit_numbers(queue, 200, 200);
    submit_numbers(queue, 400, 200);
    WAIT_FOR(scene_stats(scene).completed == 600);
    for (uint64_t i = 0; i < 100; i++)
        check_number(&queue->batch[i], i);
    for (uint64_t tag = 100; tag < 600;) {
        size_t taken =
            shoal_completions_take(queue->completions, queue->batch, BATCH_MAX);
        assert_true(taken > 0);
        for (size_t i = 0; i < taken; i++)
            check_number(&queue->batch[i], tag++);
    }
    shoal_completions_free(queue->completions);
}

/* A kept reply outlives even the queue. */
static void test_a_reply_that_is_kept(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);
    size_t bytes = 0;

    scene_open_ready(scene);
    submit_numbers(queue, 77, 1);
    wait_for_results(queue);
    assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 1), 1);
    const shoal_reply_t *reply =
        shoal_reply_retain(shoal_result_reply(queue->batch[0].result));
    assert_non_null(reply);
    shoal_completions_free(queue->completions);
    scene_close(scene, 0);
    assert_memory_equal(shoal_reply_string(reply, &bytes), "77", 2);
    assert_int_equal(bytes, 2);
    shoal_reply_release(reply);
}

static void test_failures_come_with_their_tags(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .is_cut = true, .then = FAKE_RESET});
    scene_open_ready(scene);
    submit(queue, WORDS("INCR", "k"), 5);
    submit(queue, WORDS("GET", "k"), UINT64_MAX);
    for (size_t taken = 0; taken < 2;) {
        wait_for_results(queue);
        size_t now =
            shoal_completions_take(queue->completions, queue->batch + taken, 1);
        if (now && taken == 0) {
            assert_int_equal(queue->batch[0].tag, 5);
            assert_int_equal(shoal_result_status(queue->batch[0].result), SHOAL_ECONN);
            assert_int_equal(shoal_result_fate(queue->batch[0].result),
                             SHOAL_FATE_UNKNOWN);
            assert_string_not_equal(shoal_result_detail(queue->batch[0].result), "");
        }
        taken += now;
    }
    assert_true(queue->batch[1].tag == UINT64_MAX);
    assert_int_equal(shoal_result_status(queue->batch[1].result), 0);
    shoal_completions_free(queue->completions);
}

static void test_full(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 4);
    shoal_command_t two[2] = {WORDS("INCR", "k"), WORDS("INCR", "k")};

    scene_open_ready(scene);
    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 3; i++)
            submit(queue, WORDS("INCR", "k"), i);
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  two, 2, NULL, 10, NULL),
                         SHOAL_EFULL); /* all or none */
        submit(queue, WORDS("INCR", "k"), 3);
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  two, 1, NULL, 10, NULL),
                         SHOAL_EFULL);
        WAIT_FOR(scene_stats(scene).completed == 4 * (round + 1));
        /* Finished is not taken yet. */
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  two, 1, NULL, 10, NULL),
                         SHOAL_EFULL);
        assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 10),
                         4);
        for (uint64_t i = 0; i < 4; i++)
            assert_int_equal(queue->batch[i].tag, i);
    }
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 80);
    /* A command that the client refuses takes no room. */
    shoal_command_t refused = WORDS("SUBSCRIBE", "c");
    for (int i = 0; i < 10; i++)
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  &refused, 1, NULL, 0, NULL),
                         SHOAL_EREFUSED);
    submit(queue, WORDS("INCR", "k"), 9);
    wait_for_results(queue);
    assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 10), 1);
    shoal_completions_free(queue->completions);
}

static void test_bounds_of_a_queue(void **state)
{
    shoal_completions_t *completions = NULL;
    (void)state;

    assert_int_equal(shoal_completions_new(16777217, &completions), SHOAL_EINVAL);
    assert_null(completions);
    assert_int_equal(shoal_completions_new(1, &completions), 0);
    assert_true(shoal_completions_fd(completions) >= 0);
    shoal_completions_free(completions);
    shoal_completions_free(NULL);
}

static void test_a_unit_stays_together(void **state)
{
    enum { UNIT = 5, OTHERS = 400 };
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);
    outcome_t *others = scene_outcomes(scene, OTHERS);
    static const char *const words[UNIT][3] = {
        {"MULTI"}, {"INCR", "a"}, {"SET", "b", "c"}, {"INCR", "a"}, {"EXEC"}};
    const shoal_command_t unit[UNIT] = {{1, words[0], NULL},
                                        {2, words[1], NULL},
                                        {3, words[2], NULL},
                                        {2, words[3], NULL},
                                        {1, words[4], NULL}};
    shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS};
    uint64_t units = 0;

    scene_open_ready(scene);
    for (size_t i = 0; i < OTHERS; i++) {
        scene_submit(scene, WORDS("GET", "x"), NULL, &others[i]);
        if (i % 20 == 0)
            assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                      unit, UNIT, &call, 100 * units++,
                                                      NULL),
                             0);
    }
    for (uint64_t i = 0; i < units; i++) {
        for (uint64_t j = 0; j < UNIT; j++) {
            wait_for_results(queue);
            assert_int_equal(
                shoal_completions_take(queue->completions, queue->batch, 1), 1);
            assert_int_equal(queue->batch[0].tag, 100 * i + j);
            const shoal_reply_t *reply = shoal_result_reply(queue->batch[0].result);
            assert_non_null(reply);
            assert_int_equal(shoal_reply_type(reply),
                             j == UNIT - 1 ? SHOAL_REPLY_ARRAY : SHOAL_REPLY_STATUS);
            if (j == UNIT - 1)
                assert_int_equal(shoal_reply_integer(shoal_reply_at(reply, 2)),
                                 2 * i + 2);
        }
    }
    size_t size = fake_server_ledger_size(scene->server);
    for (size_t at = 0; at < size; at++) {
        if (strcmp(fake_server_ledger_at(scene->server, at).args[0], "MULTI") != 0)
            continue;
        for (size_t j = 1; j < UNIT; j++)
            assert_string_equal(fake_server_ledger_at(scene->server, at + j).args[0],
                                unit[j].argv[0]);
    }
    for (size_t i = 0; i < OTHERS; i++)
        scene_await(&others[i]);
    shoal_completions_free(queue->completions);
}

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
    queue_t *queue = queue_new(scene, 0);
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
    submit_numbers(queue, 1, 1);
    wait_for_results(queue);
    assert_int_equal(shoal_completions_wait(queue->completions, 0),
                     0); /* still there */
    assert_int_equal(shoal_completions_take(queue->completions, queue->batch, 1), 1);
    check_number(&queue->batch[0], 1);
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
        queue_t *queue = queue_new(scene, 0);
        submit_numbers(queue, 0, 100); /* some are there, none is taken */
        submit(queue, WORDS("INCR", "held"), 100);
        submit_numbers(queue, 101, 100);
        WAIT_FOR(fake_server_received(scene->server, 0, "INCR", "held") == round + 1);
        shoal_completions_free(queue->completions);
        fake_server_release(scene->server);
        scene_check_works(scene);
    }
}

static void test_close_with_results_due(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);
    size_t taken = 0;

    fake_server_freeze(scene->server);
    scene_open(scene);
    submit_numbers(queue, 0, 200);
    scene_close(scene, 0);
    while (taken < 200) { /* all are there: closing delivers */
        size_t now = shoal_completions_take(queue->completions, queue->batch, 50);
        assert_true(now > 0);
        for (size_t i = 0; i < now; i++) {
            assert_int_equal(queue->batch[i].tag, taken++);
            assert_int_equal(shoal_result_status(queue->batch[i].result),
                             SHOAL_ESHUTDOWN);
            assert_int_equal(shoal_result_fate(queue->batch[i].result),
                             SHOAL_FATE_NOT_EXECUTED);
        }
    }
    assert_false(is_readable(queue));
    shoal_completions_free(queue->completions);
}

static void test_two_clients_share_a_queue(void **state)
{
    scene_t *scene = *state;
    queue_t *queue = queue_new(scene, 0);
    shoal_client_t *other = NULL;
    bool seen[200] = {false};

    scene_open_ready(scene);
    assert_int_equal(shoal_client_open(scene->options, &other), 0);
    submit_numbers(queue, 0, 100);
    for (uint64_t tag = 100; tag < 200; tag++) {
        shoal_command_t command = WORDS("INCR", "k");
        assert_int_equal(shoal_completions_submit(queue->completions, other, &command,
                                                  1, NULL, tag, NULL),
                         0);
    }
    for (size_t left = 200; left > 0;) {
        wait_for_results(queue);
        size_t taken =
            shoal_completions_take(queue->completions, queue->batch, BATCH_MAX);
        for (size_t i = 0; i < taken; i++) {
            assert_true(queue->batch[i].tag < 200 && !seen[queue->batch[i].tag]);
            seen[queue->batch[i].tag] = true;
        }
        left -= taken;
    }
    assert_int_equal(shoal_client_close_and_wait(other, 0), 0);
    shoal_completions_free(queue->completions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_batches_of_each_size),
        SCENE_TEST(test_the_descriptor),
        SCENE_TEST(test_results_live_until_the_next_take),
        SCENE_TEST(test_a_reply_that_is_kept),
        SCENE_TEST(test_failures_come_with_their_tags),
        SCENE_TEST(test_full),
        SCENE_TEST(test_bounds_of_a_queue),
        SCENE_TEST(test_a_unit_stays_together),
        SCENE_TEST(test_waiting),
        SCENE_TEST(test_free_with_results_due),
        SCENE_TEST(test_close_with_results_due),
        SCENE_TEST(test_two_clients_share_a_queue),
    };
    return cmocka_run_group_tests_name("fault/completions", tests, NULL, NULL);
}
