/* SPDX-License-Identifier: MIT */

/* The explorer itself: it counts what can be counted by hand, and finds the mistakes
 * that it is there to find. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "base/alloc.h"
#include "interleave/shim.h"
#include <string.h>

static int cells[2];
static uv_mutex_t locks[2];
static uv_cond_t changed;
static bool is_set;
static int sum;
static uint64_t sums_seen; /* bits */

static void nothing(void)
{
}

/* ---- how many schedules ---- */

typedef struct walk {
    int cell;
    bool is_write;
} walk_t;

static void walk(void *data)
{
    const walk_t *how = data;

    for (int i = 0; i < 3; i++)
        explore_touch("step", &cells[how->cell], how->is_write);
}

static void begin_walks(const void *data)
{
    static walk_t walks[2];

    for (int i = 0; i < 2; i++) {
        walks[i] = ((const walk_t *)data)[i];
        explore_start(i ? "second" : "first", walk, &walks[i]);
    }
}

static uint64_t count(const walk_t *walks, explore_scenario_t how)
{
    how.name = "two threads of three steps";
    how.begin = begin_walks;
    how.end = nothing;
    how.data = walks;
    explore_report_t report = explore(&how);
    assert_false(report.has_failed);
    assert_true(report.is_complete);
    return report.schedules;
}

static void test_counts(void **state)
{
    static const walk_t apart[2] = {{0, true}, {1, true}};
    static const walk_t together[2] = {{0, true}, {0, true}};
    static const walk_t looking[2] = {{0, false}, {0, false}};

    (void)state;
    assert_int_equal(count(apart, (explore_scenario_t){.is_raw = true}), 20);
    assert_int_equal(count(apart, (explore_scenario_t){0}), 1);
    assert_int_equal(count(looking, (explore_scenario_t){0}), 1);
    assert_int_equal(count(together, (explore_scenario_t){0}), 20);
    /* One after the other; and one of them in the middle of the other. */
    for (unsigned bound = 0; bound < 2; bound++)
        assert_int_equal(count(apart, (explore_scenario_t){.is_bounded = true,
                                                           .preemptions_max = bound}),
                         bound == 0 ? 2 : 6);
}

/* ---- yields ---- */

#define YIELD_US 10

static void yield_twice(void *data)
{
    (void)data;
    for (int i = 0; i < 2; i++)
        explore_yield();
}

static void yield_until_late(void *data)
{
    (void)data;
    while (explore_now_us() < EXPLORE_START_US + (uint64_t)4 * YIELD_US)
        explore_yield();
}

static void begin_yields(const void *data)
{
    for (int i = 0; i < 2; i++)
        explore_start("yielder", *(void (*const *)(void *))data, NULL);
}

/* Each of them took its time. */
static void end_yields(void)
{
    explore_check(explore_peek_us() >= EXPLORE_START_US + (uint64_t)4 * YIELD_US);
}

static uint64_t count_yields(explore_scenario_t how, void (*yields)(void *))
{
    how.name = "two threads that yield";
    how.begin = begin_yields;
    how.end = end_yields;
    how.data = &yields;
    how.yield_us = YIELD_US;
    explore_report_t report = explore(&how);
    assert_false(report.has_failed);
    assert_true(report.is_complete);
    return report.schedules;
}

static void test_who_yields_lets_others_go_first(void **state)
{
    (void)state;
    /* In turns.  Who goes on at once preempts the other. */
    for (unsigned bound = 0; bound < 2; bound++)
        assert_int_equal(count_yields((explore_scenario_t){.is_bounded = true,
                                                           .preemptions_max = bound},
                                      yield_twice),
                         bound == 0 ? 2 : 6);
    assert_int_equal(count_yields((explore_scenario_t){0}, yield_twice), 6);
    /* Time passes, and so it ends. */
    assert_true(count_yields((explore_scenario_t){0}, yield_until_late) > 6);
}

/* ---- pruning loses nothing ---- */

static void add_twice(void *data)
{
    for (int i = 0; i < 2; i++) {
        explore_touch("look", &sum, false);
        int seen = sum;
        explore_touch("else", data, true);
        explore_touch("set", &sum, true);
        sum = seen + 1;
    }
}

static void begin_sums(const void *data)
{
    (void)data;
    sum = 0;
    for (int i = 0; i < 2; i++)
        explore_start("adder", add_twice, &cells[i]);
}

static void end_sums(void)
{
    sums_seen |= UINT64_C(1) << sum;
}

static void test_pruning_keeps_every_outcome(void **state)
{
    explore_scenario_t scenario = {
        .name = "careless sums", .begin = begin_sums, .end = end_sums};
    uint64_t pruned;

    (void)state;
    sums_seen = 0;
    uint64_t schedules = explore(&scenario).schedules;
    pruned = sums_seen;
    sums_seen = 0;
    scenario.is_raw = true;
    assert_true(explore(&scenario).schedules > schedules * 5);
    /* Two at least: each can overwrite what the other did. */
    assert_int_equal(sums_seen, 0x1c);
    assert_int_equal(pruned, sums_seen);
}

/* ---- mistakes ---- */

static void lock_both(void *data)
{
    uv_mutex_t *first = data;

    shim_mutex_lock(first);
    shim_mutex_lock(first == locks ? locks + 1 : locks);
    shim_mutex_unlock(locks);
    shim_mutex_unlock(locks + 1);
}

static void begin_crosswise(const void *data)
{
    (void)data;
    shim_begin();
    for (int i = 0; i < 2; i++) {
        shim_mutex_init(&locks[i]);
        explore_start("locker", lock_both, &locks[i]);
    }
}

static void wait_carelessly(void *data)
{
    bool is_early;

    (void)data;
    shim_mutex_lock(locks);
    is_early = !is_set;
    shim_mutex_unlock(locks);
    shim_mutex_lock(locks);
    if (is_early)
        shim_cond_wait(&changed, locks);
    shim_mutex_unlock(locks);
}

static void wait_carefully(void *data)
{
    (void)data;
    shim_mutex_lock(locks);
    while (!is_set)
        shim_cond_wait(&changed, locks);
    shim_mutex_unlock(locks);
}

static void wait_a_while(void *data)
{
    (void)data;
    shim_mutex_lock(locks);
    while (!is_set) {
        if (shim_cond_timedwait(&changed, locks, 5000) == UV_ETIMEDOUT)
            break;
    }
    explore_check(is_set || explore_now_us() == EXPLORE_START_US + 5);
    shim_mutex_unlock(locks);
}

static void set(void *data)
{
    (void)data;
    shim_mutex_lock(locks);
    is_set = true;
    shim_cond_signal(&changed);
    shim_mutex_unlock(locks);
}

static void begin_waiting(const void *data)
{
    void (*body)(void *);

    memcpy(&body, data, sizeof body);
    shim_begin();
    is_set = false;
    shim_mutex_init(locks);
    shim_cond_init(&changed);
    explore_start("waiter", body, NULL);
    explore_start("setter", set, NULL);
}

static void spin(void *data)
{
    for (;;)
        explore_touch("spin", data, false);
}

static void begin_spinning(const void *data)
{
    (void)data;
    explore_start("spinner", spin, cells);
}

static void touch_shared(void *data)
{
    shim_touch("touch", data, true);
}

static void free_shared(void *data)
{
    shim_touch("free", data, true);
    shoal__free(data);
}

static void begin_freeing(const void *data)
{
    void *memory;

    (void)data;
    shim_begin();
    memory = shoal__malloc(8);
    explore_start("user", touch_shared, memory);
    explore_start("owner", free_shared, memory);
}

static void expect_failure(const explore_scenario_t *scenario, const char *text)
{
    explore_report_t report = explore(scenario);

    assert_true(report.has_failed);
    assert_non_null(strstr(report.failure, text));
}

static void test_mistakes_are_found(void **state)
{
    void (*const careless)(void *) = wait_carelessly;

    (void)state;
    expect_failure(&(explore_scenario_t){.name = "crosswise locks",
                                         .begin = begin_crosswise,
                                         .end = nothing,
                                         .is_to_fail = true},
                   "nobody can go on: locker (lock) locker (lock)");
    expect_failure(&(explore_scenario_t){.name = "a lost wake-up",
                                         .begin = begin_waiting,
                                         .end = nothing,
                                         .data = &careless,
                                         .is_to_fail = true},
                   "nobody can go on: waiter (asleep)");
    expect_failure(&(explore_scenario_t){.name = "an endless loop",
                                         .begin = begin_spinning,
                                         .end = nothing,
                                         .is_to_fail = true},
                   "it does not end");
    expect_failure(&(explore_scenario_t){.name = "use after free",
                                         .begin = begin_freeing,
                                         .end = nothing,
                                         .is_to_fail = true},
                   "in memory that was freed");
}

static void test_what_is_right_passes(void **state)
{
    void (*const waits[])(void *) = {wait_carefully, wait_a_while};
    explore_scenario_t scenario = {.name = "a wait",
                                   .begin = begin_waiting,
                                   .end = nothing,
                                   .spurious = 2,
                                   .may_rest = true};

    (void)state;
    for (int i = 0; i < 2; i++) {
        scenario.data = &waits[i];
        assert_false(explore(&scenario).has_failed);
    }
    scenario.ticks = 2;
    scenario.tick_us = 5;
    scenario.data = &waits[0];
    assert_false(explore(&scenario).has_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_who_yields_lets_others_go_first),
        cmocka_unit_test(test_pruning_keeps_every_outcome),
        cmocka_unit_test(test_mistakes_are_found),
        cmocka_unit_test(test_what_is_right_passes),
    };
    return cmocka_run_group_tests_name("interleave/explorer", tests, NULL, NULL);
}
