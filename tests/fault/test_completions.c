/* SPDX-License-Identifier: MIT */
/* Results in a queue with a descriptor instead of callbacks. */
#include "support/lone_fork.h"
#include "support/result_queue.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

static void test_batches_of_each_size(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 64, RESULT_BATCH_MAX};
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);
    uint64_t tag = 1000, taken_tag = 1000;

    scene_open_ready(scene);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int round = 0; round < 10; round++) {
            result_queue_submit_numbers(queue, tag, 200);
            tag += 200;
            while (taken_tag < tag) {
                result_queue_wait(queue);
                size_t taken = result_queue_take(queue, sizes[s]);
                assert_true(taken >= 1 && taken <= sizes[s]);
                for (size_t i = 0; i < taken; i++)
                    result_queue_check(queue, i, taken_tag++);
            }
        }
    }
    assert_int_equal(result_queue_take(queue, 1), 0);
    shoal_completions_free(queue->completions);
}

static void test_the_descriptor(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);

    scene_open_ready(scene);
    for (uint64_t round = 0; round < 50; round++) {
        assert_false(result_queue_is_readable(queue));
        result_queue_submit_numbers(queue, round * 3, 3);
        WAIT_FOR(result_queue_is_readable(queue));
        WAIT_FOR(scene_stats(scene).completed == 3 * (round + 1));
        assert_true(result_queue_is_readable(queue)); /* level-triggered: stays so */
        assert_int_equal(result_queue_take(queue, 2), 2);
        result_queue_check(queue, 0, 3 * round);
        result_queue_check(queue, 1, 3 * round + 1);
        assert_true(result_queue_is_readable(queue)); /* one is left */
        assert_int_equal(result_queue_take(queue, 2), 1);
        result_queue_check(queue, 0, 3 * round + 2);
        assert_false(result_queue_is_readable(queue));
        assert_int_equal(result_queue_take(queue, 2), 0);
    }
    shoal_completions_free(queue->completions);
}

/* How many times the descriptor was signalled and not yet quieted. */
static unsigned signals_pending(int fd)
{
    char path[64], line[128];
    unsigned count = 0;
    int bytes = 0;

    if (ioctl(fd, FIONREAD, &bytes) == 0) /* a pipe */
        return (unsigned)bytes;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "eventfd-count: %x", &count) == 1)
            break;
    fclose(file);
    return count;
}

/* However many results follow before the consumer looks. */
static void test_one_wake_up_for_many(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);
    int fd = shoal_completions_fd(queue->completions);

    scene_open_ready(scene);
    for (uint64_t round = 0; round < 10; round++) {
        assert_int_equal(signals_pending(fd), 0);
        for (uint64_t i = 0; i < 50; i++) {
            result_queue_submit_numbers(queue, i * 10, 10);
            if (i % 5 == 0)
                WAIT_FOR(scene_stats(scene).completed == 500 * round + 10 * i + 10);
        }
        WAIT_FOR(scene_stats(scene).completed == 500 * (round + 1));
        WAIT_FOR(signals_pending(fd) > 0);
        assert_int_equal(signals_pending(fd), 1);
        for (uint64_t tag = 0; tag < 500;) {
            result_queue_wait(queue);
            size_t taken = result_queue_take(queue, RESULT_BATCH_MAX);
            for (size_t i = 0; i < taken; i++)
                result_queue_check(queue, i, tag++);
        }
    }
    shoal_completions_free(queue->completions);
}

/* What a batch holds stays as it is until the next take, whatever arrives meanwhile. */
static void test_results_live_until_the_next_take(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);

    scene_open_ready(scene);
    result_queue_submit_numbers(queue, 0, 200);
    WAIT_FOR(scene_stats(scene).completed == 200);
    assert_int_equal(result_queue_take(queue, 100), 100);
    result_queue_submit_numbers(queue, 200, 200);
    result_queue_submit_numbers(queue, 400, 200);
    WAIT_FOR(scene_stats(scene).completed == 600);
    for (uint64_t i = 0; i < 100; i++)
        result_queue_check(queue, i, i);
    for (uint64_t tag = 100; tag < 600;) {
        size_t taken = result_queue_take(queue, RESULT_BATCH_MAX);
        assert_true(taken > 0);
        for (size_t i = 0; i < taken; i++)
            result_queue_check(queue, i, tag++);
    }
    shoal_completions_free(queue->completions);
}

/* A kept reply outlives even the queue. */
static void test_a_reply_that_is_kept(void **state)
{
    scene_t *scene = *state;
    result_queue_t *queue = result_queue_new(scene, 0);
    size_t bytes = 0;

    scene_open_ready(scene);
    result_queue_submit_numbers(queue, 77, 1);
    result_queue_wait(queue);
    assert_int_equal(result_queue_take(queue, 1), 1);
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
    result_queue_t *queue = result_queue_new(scene, 0);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .is_cut = true, .then = FAKE_RESET});
    scene_open_ready(scene);
    result_queue_submit(queue, WORDS("INCR", "k"), 5);
    result_queue_submit(queue, WORDS("GET", "k"), UINT64_MAX);
    for (size_t taken = 0; taken < 2;) {
        result_queue_wait(queue);
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
    result_queue_t *queue = result_queue_new(scene, 4);
    shoal_command_t two[2] = {WORDS("INCR", "k"), WORDS("INCR", "k")};

    scene_open_ready(scene);
    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 3; i++)
            result_queue_submit(queue, WORDS("INCR", "k"), i);
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  two, 2, NULL, 10, NULL),
                         SHOAL_EFULL); /* all or none */
        result_queue_submit(queue, WORDS("INCR", "k"), 3);
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  two, 1, NULL, 10, NULL),
                         SHOAL_EFULL);
        WAIT_FOR(scene_stats(scene).completed == 4 * (round + 1));
        /* Finished is not taken yet. */
        assert_int_equal(shoal_completions_submit(queue->completions, scene->client,
                                                  two, 1, NULL, 10, NULL),
                         SHOAL_EFULL);
        assert_int_equal(result_queue_take(queue, 10), 4);
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
    result_queue_submit(queue, WORDS("INCR", "k"), 9);
    result_queue_wait(queue);
    assert_int_equal(result_queue_take(queue, 10), 1);
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
    result_queue_t *queue = result_queue_new(scene, 0);
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
            result_queue_wait(queue);
            assert_int_equal(result_queue_take(queue, 1), 1);
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

/* ---- in the child of a fork ---- */

/* By a client of the child's. */
static int submit_in_child(shoal_completions_t *completions)
{
    static const char *const words[] = {"PING"};
    const shoal_command_t ping = {1, words, NULL};
    shoal_client_t *client;
    int rc = shoal_client_open_borrowed(NULL, &client, NULL);

    if (rc < 0)
        return rc;
    rc = shoal_completions_submit(completions, client, &ping, 1, NULL, 0, NULL);
    (void)shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
    return rc;
}

/* 0, or which call went wrong. */
static int use_in_child(shoal_completions_t *completions)
{
    shoal_completions_t *own;
    shoal_completion_t batch[1];

    if (shoal_completions_fd(completions) != -1)
        return 1;
    if (shoal_completions_take(completions, batch, 1) != 0)
        return 2;
    if (shoal_completions_wait(completions, 0) != SHOAL_EFORK)
        return 3;
    if (submit_in_child(completions) != SHOAL_EFORK)
        return 4;
    shoal_completions_free(completions);
    if (shoal_completions_wait(completions, 0) != SHOAL_EFORK)
        return 5;
    if (shoal_completions_new(0, &own) != 0 || submit_in_child(own) != 0 ||
        shoal_completions_fd(own) < 0)
        return 6;
    shoal_completions_free(own);
    return 0;
}

static void test_a_queue_belongs_to_its_process(void **state)
{
    shoal_completions_t *completions;
    int status;

    (void)state;
    assert_int_equal(shoal_completions_new(0, &completions), 0);
    pid_t child = lone_fork();
    if (child == 0)
        _exit(use_in_child(completions));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(shoal_completions_wait(completions, 0), SHOAL_ETIMEOUT);
    shoal_completions_free(completions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_queue_belongs_to_its_process), /* before any thread */
        SCENE_TEST(test_batches_of_each_size),
        SCENE_TEST(test_the_descriptor),
        SCENE_TEST(test_one_wake_up_for_many),
        SCENE_TEST(test_results_live_until_the_next_take),
        SCENE_TEST(test_a_reply_that_is_kept),
        SCENE_TEST(test_failures_come_with_their_tags),
        SCENE_TEST(test_full),
        SCENE_TEST(test_bounds_of_a_queue),
        SCENE_TEST(test_a_unit_stays_together),
    };
    return cmocka_run_group_tests_name("fault/completions", tests, NULL, NULL);
}
