/* SPDX-License-Identifier: MIT */

/* A borrowed client, in every schedule: one thread steps it while others close it or give
 * their references back.  One thread at a time is in the loop, each command gets its result,
 * and the memory is freed, whichever thread is the last. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "client/client.h"
#include "interleave/rig.h"
#include "interleave/shim.h"
#include <shoal/errors.h>
#include <shoal/result.h>

typedef struct steps_case {
    const char *name;
    unsigned releasers; /* threads with a reference, which they give back */
    bool is_hasty;      /* they do not wait until the stepper is in a step */
    bool has_reference; /* the stepper has one, too */
    bool closes;        /* a releaser steps, and closes the client, before */
} steps_case_t;

static const steps_case_t *now;
static shoal_client_t *client;
static bool is_inside; /* the stepper is in a step, or was */
static unsigned results;
static bool was_refused; /* in some schedule: a close that could not step */

static void on_result(shoal_client_t *whose, const shoal_result_t *result, void *data)
{
    (void)data;
    explore_check(whose == client);
    explore_check(shoal_result_status(result) == 0 ||
                  shoal_result_status(result) == SHOAL_ESHUTDOWN);
    results++;
    explore_touch("is inside", &is_inside, true);
    is_inside = true;
}

/* Without a reference of its own it may only begin a step before the others know. */
static void step(void *data)
{
    int rc;

    (void)data;
    do {
        rc = shoal_client_step(client, SHOAL_TIMEOUT_NEVER);
    } while (rc == 0 && !is_inside);
    explore_check(rc == 0 || rc == 1 || now->closes);
    if (now->has_reference)
        shoal_client_release(client);
}

static unsigned ways_when_inside(const explore_step_t *step)
{
    (void)step;
    return is_inside ? 1U << EXPLORE_DONE : 0;
}

/* The step makes this thread the loop thread, unless the stepper comes between. */
static void close_client(void)
{
    int rc = shoal_client_step(client, 0);

    explore_check(rc == 0 || rc == SHOAL_EINVAL);
    rc = shoal_client_close_and_wait(client, SHOAL_TIMEOUT_NEVER);
    explore_check(rc == SHOAL_ELOOP || rc == SHOAL_EINVAL ||
                  (rc == 0 && client->is_gone));
    was_refused |= rc == SHOAL_EINVAL;
    if (rc == SHOAL_ELOOP) /* the stepper was the last to step */
        explore_check(shoal_client_close(client, 0, NULL, NULL) == 0);
}

static void release(void *data)
{
    (void)data;
    if (!now->is_hasty)
        explore_point(&(explore_step_t){.what = "wait for the step",
                                        .objects = {&is_inside},
                                        .ways = ways_when_inside});
    if (now->closes)
        close_client();
    shoal_client_release(client);
}

static void begin(const void *data)
{
    static const char *const words[] = {"GET", "k"};
    static const char *const releasers[] = {"releaser 1", "releaser 2"};

    const rig_options_t options = {.is_stepped = true};

    now = data;
    is_inside = false;
    results = 0;
    client = rig_begin(&options);
    explore_check(shoal_client_submit(client, 2, words, NULL, on_result, NULL, NULL) ==
                  0);
    explore_start("stepper", step, NULL);
    for (unsigned i = 0; i < now->releasers; i++)
        explore_start(releasers[i], release, NULL);
    for (unsigned i = 1; i < now->releasers + now->has_reference; i++)
        shoal_client_retain(client);
}

static void end(void)
{
    explore_check(results == 1);
    rig_end();
}

/* clang-format off */
static const steps_case_t cases[] = {
    {.name = "the last release while a step runs",
     .releasers = 1},
    {.name = "the last two releases while a step runs",
     .releasers = 2},
    {.name = "the last release beside a step, which ends with a release",
     .releasers = 1, .is_hasty = true, .has_reference = true},
};

static const steps_case_t closing_case = {
    .name = "a close beside a step",
    .releasers = 1, .is_hasty = true, .has_reference = true, .closes = true};
/* clang-format on */

static void run(const steps_case_t *c)
{
    const explore_scenario_t scenario = {
        .name = c->name, .begin = begin, .end = end, .data = c};

    shim_expect(&scenario);
}

static void test_the_last_one_ends_the_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i]);
}

static void test_a_close_that_could_not_wait_says_so(void **state)
{
    (void)state;
    was_refused = false;
    run(&closing_case);
    assert_true(was_refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_one_ends_the_work),
        cmocka_unit_test(test_a_close_that_could_not_wait_says_so),
    };
    return cmocka_run_group_tests_name("interleave/steps", tests, NULL, NULL);
}
