/* SPDX-License-Identifier: MIT */
/* Losses, deadlines, closes and forks while threads in blocking calls run the loop for one
 * another.  (I2 I3 I5) */
#include "support/counting.h"
#include "support/lone_fork.h"
#include "support/redis_process.h"

#include <sys/wait.h>
#include <unistd.h>

#define CALLERS 8

/* ---- losses and deadlines ---- */

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no",
                                      NULL};

static shoal_client_t *open_to(const redis_process_t *redis)
{
    shoal_options_t *options = live_options_of_port(redis_process_port(redis));

    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    return counting_open(options);
}

static size_t losses_of(const counting_t *callers)
{
    size_t losses = 0;

    for (unsigned i = 0; i < CALLERS; i++)
        losses += callers[i].losses;
    return losses;
}

static void test_losses(void **state)
{
    enum { ROUNDS = 10, PROGRESS = 100 };
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    (void)state;

    redis_process_t *redis = redis_process_start(durable);
    if (!redis)
        skip();
    shoal_client_t *client = open_to(redis);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = COUNTING_NO_END, .is_over = &is_over};
    counting_start(callers, CALLERS, client);
    for (unsigned i = 0; i < ROUNDS || losses_of(callers) == 0; i++) {
        counting_wait_for_replies(callers, CALLERS, PROGRESS);
        counting_wait_for_drives(client);
        if (i % 2) {
            redis_process_kill(redis);
            assert_true(redis_process_restart(redis));
        } else {
            assert_true(redis_ask(redis_process_port(redis),
                                  "CLIENT KILL TYPE normal SKIPME yes", NULL, 0));
        }
    }
    counting_wait_for_replies(callers, CALLERS, PROGRESS);
    is_over = true;
    counting_join(callers, CALLERS);
    assert_true(counting_losses_told() >= ROUNDS);
    counting_close(client);
    redis_process_stop(redis);
}

static bool have_all_timed_out(const counting_t *callers)
{
    for (unsigned i = 0; i < CALLERS; i++)
        if (callers[i].timeouts == 0)
            return false;
    return true;
}

static void test_deadlines_of_a_server_that_stands_still(void **state)
{
    enum { ROUNDS = 3, PROGRESS = 100 };
    counting_t callers[CALLERS];
    (void)state;

    redis_process_t *redis = redis_process_start(NULL);
    if (!redis)
        skip();
    for (unsigned round = 0; round < ROUNDS; round++) {
        _Atomic bool is_over = false;
        shoal_client_t *client = open_to(redis);
        for (unsigned i = 0; i < CALLERS; i++)
            callers[i] = (counting_t){.calls = COUNTING_NO_END,
                                      .is_over = &is_over,
                                      .timeout_us = 50000 * (i + 1)};
        counting_start(callers, CALLERS, client);
        counting_wait_for_replies(callers, CALLERS, PROGRESS);
        counting_wait_for_drives(client);
        redis_process_pause(redis);
        WAIT_FOR(have_all_timed_out(callers));
        redis_process_resume(redis);
        counting_wait_for_replies(callers, CALLERS, PROGRESS);
        is_over = true;
        counting_join(callers, CALLERS);
        assert_int_equal(counting_losses_told(), 0);
        counting_close(client);
    }
    redis_process_stop(redis);
}

/* Does each caller wait for a reply? */
static bool do_all_wait(shoal_client_t *client)
{
    shoal_stats_t stats = live_stats(client);

    return stats.commands == stats.completed + CALLERS;
}

static void test_callers_of_a_server_that_stands_still_sleep(void **state)
{
    enum {
        FEW_TURNS = 2000
    }; /* a caller that does not sleep runs many times as many */
    counting_t callers[CALLERS];
    _Atomic bool is_over = false;
    (void)state;

    redis_process_t *redis = redis_process_start(NULL);
    if (!redis)
        skip();
    shoal_client_t *client = open_to(redis);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = COUNTING_NO_END, .is_over = &is_over};
    counting_start(callers, CALLERS, client);
    counting_wait_for_drives(client);
    redis_process_pause(redis);
    WAIT_FOR(do_all_wait(client));
    uint64_t turns = live_stats(client).turns;
    waiting_sleep_us(300000);
    turns = live_stats(client).turns - turns;
    is_over = true;
    redis_process_resume(redis);
    counting_join(callers, CALLERS);
    assert_true(turns < FEW_TURNS);
    counting_close(client);
    redis_process_stop(redis);
}

/* ---- the end, and a copy ---- */

static void test_close_under_awake_callers(void **state)
{
    enum { ROUNDS = 20 };
    (void)state;

    for (unsigned round = 0; round < ROUNDS; round++) {
        counting_t callers[CALLERS] = {0};
        shoal_client_t *client = counting_open(live_options());
        for (unsigned i = 0; i < CALLERS; i++)
            callers[i].calls = COUNTING_NO_END;
        counting_start(callers, CALLERS, client);
        counting_wait_for_replies(callers, CALLERS, 1);
        counting_wait_for_drives(client);
        assert_int_equal(
            shoal_client_close_and_wait(client, round % 2 ? WAITING_US_MAX : 0), 0);
        shoal_client_release(client);
        counting_join(callers, CALLERS);
        for (unsigned i = 0; i < CALLERS; i++)
            assert_int_equal(callers[i].end, SHOAL_ECLOSED);
    }
}

static int run_child(shoal_client_t *client)
{
    const char *const argv[] = {"INCR", "awake:0"};
    shoal_result_t *result = NULL;

    return shoal_client_call(client, 2, argv, NULL, &result) == SHOAL_EFORK ? 0 : 1;
}

static void test_forks_under_awake_callers(void **state)
{
    enum { ROUNDS = 10 };
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    (void)state;

    shoal_client_t *client = counting_open(live_options());
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = COUNTING_NO_END, .is_over = &is_over};
    counting_start(callers, CALLERS, client);
    for (unsigned round = 0; round < ROUNDS; round++) {
        int status = -1;
        counting_wait_for_drives(client);
        pid_t child = fork();
        if (child == 0)
            busy_fork_exit(run_child(client));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    counting_wait_for_replies(callers, CALLERS, 20);
    is_over = true;
    counting_join(callers, CALLERS);
    counting_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_deadlines_of_a_server_that_stands_still),
        cmocka_unit_test(test_callers_of_a_server_that_stands_still_sleep),
        cmocka_unit_test(test_close_under_awake_callers),
        cmocka_unit_test(test_forks_under_awake_callers),
    };
    return cmocka_run_group_tests_name("integration/awake_ends", tests, NULL, NULL);
}
