/* SPDX-License-Identifier: MIT */
/* Opening fails at each call that asks the system for something: one clear code, and
 * nothing is left behind.  (F33) */
#include "support/failing/failing_trial.h"

#include <errno.h>
#include <shoal/uv.h>

static const struct want {
    failing_call_t call;
    int error;
} wants[] = {
    {FAILING_NOTIFIER, EMFILE}, {FAILING_TIMER, EMFILE},   {FAILING_TIMER, ENOMEM},
    {FAILING_WATCH, UV_EMFILE}, {FAILING_LOOP, UV_EMFILE}, {FAILING_LOOP, UV_ENOMEM},
    {FAILING_THREAD, EAGAIN},   {FAILING_LOCK, UV_ENOMEM},
};
#define WANTS (sizeof wants / sizeof *wants)

/* Opens and closes; returns the code of the opening, and checks what is left. */
typedef int (*open_fn)(trial_t *trial);

static int open_stepped(trial_t *trial)
{
    return trial_open(trial, true);
}

static int open_with_a_thread(trial_t *trial)
{
    return trial_open(trial, false);
}

static int open_on_a_loop(trial_t *trial)
{
    uv_loop_t *loop = scene_alloc(trial->scene, sizeof *loop);
    shoal_client_t *client = NULL;

    if (uv_loop_init(loop) < 0) /* the test's own */
        return SHOAL_ESYSTEM;
    int rc = shoal_client_open_uv(loop, trial->scene->options, &client, NULL);
    if (rc == 0)
        assert_int_equal(shoal_client_close(client, 0, NULL, NULL), 0);
    else
        assert_null(client);
    shoal_client_release(client);
    uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(loop), 0);
    return rc;
}

static int open_a_queue(trial_t *trial)
{
    shoal_completions_t *queue = NULL;
    int rc = shoal_completions_new(0, &queue);
    (void)trial;

    assert_true((rc == 0) == (queue != NULL));
    shoal_completions_free(queue);
    return rc;
}

/* Returns how many calls of the kind there are. */
static unsigned sweep(trial_t *trial, open_fn open, const struct want *want)
{
    bool is_hit = true;
    unsigned skip = 0;

    for (; is_hit; skip++) {
        trial_begin(trial);
        failing_calls_plan(
            want->call,
            &(failing_plan_t){.skip = skip, .times = 1, .error = want->error});
        int rc = open(trial);
        is_hit = rc != 0;
        if (is_hit)
            assert_int_equal(rc, SHOAL_ESYSTEM);
        else if (want->call !=
                 FAILING_WATCH) /* the connection's is not the opening's */
            assert_int_equal(failing_calls_hits(want->call), 0);
        failing_calls_reset();
        if (is_hit)
            assert_int_equal(open(trial), 0);
        if (trial->scene->client)
            trial_check_works(trial);
        trial_end(trial);
    }
    return skip - 1;
}

static unsigned sweep_each(trial_t *trial, open_fn open)
{
    unsigned failures = 0;

    for (size_t i = 0; i < WANTS; i++)
        failures += sweep(trial, open, &wants[i]);
    return failures;
}

static void test_opening_a_stepped_client(void **state)
{
    assert_true(sweep_each(*state, open_stepped) >= 4);
}

static void test_opening_a_client_with_a_thread(void **state)
{
    assert_true(sweep_each(*state, open_with_a_thread) >= 5);
}

static void test_opening_on_a_loop(void **state)
{
    assert_true(sweep_each(*state, open_on_a_loop) >= 3);
}

static void test_making_a_queue(void **state)
{
    assert_true(sweep_each(*state, open_a_queue) >= 1);
}

/* A system without entropy is served all the same. */
static void test_no_entropy(void **state)
{
    trial_t *trial = *state;

    trial_begin(trial);
    failing_calls_plan(FAILING_ENTROPY,
                       &(failing_plan_t){.times = 1000, .error = UV_ENOSYS});
    trial_open_ready(trial, true);
    assert_true(failing_calls_hits(FAILING_ENTROPY) > 0);
    trial_check_works(trial);
    assert_int_equal(trial->lost, 0);
    trial_end(trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRIAL_TEST(test_opening_a_stepped_client),
        TRIAL_TEST(test_opening_a_client_with_a_thread),
        TRIAL_TEST(test_opening_on_a_loop),
        TRIAL_TEST(test_making_a_queue),
        TRIAL_TEST(test_no_entropy),
    };

    failing_memory_install();
    return cmocka_run_group_tests_name("fault/syscalls_open", tests, NULL, NULL);
}
