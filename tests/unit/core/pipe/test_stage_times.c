/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <shoal/stats.h>

#include "base/alloc.h"
#include "base/random.h"
#include "core/pipe/stage_times.h"

#define LAST (SHOAL_STATS_LATENCY_BUCKETS - 1)

static shoal__latencies_t latencies;

static int setup(void **state)
{
    (void)state;
    latencies = (shoal__latencies_t){0};
    return 0;
}

static uint64_t in_stage(shoal_stage_t stage)
{
    uint64_t commands = 0;
    for (size_t i = 0; i < SHOAL_STATS_LATENCY_BUCKETS; i++)
        commands += latencies.of[stage][i];
    return commands;
}

/* The public function names lower edges; this unit must be its inverse. */
static void test_buckets_match_the_public_edges(void **state)
{
    (void)state;
    for (unsigned bucket = 0; bucket < LAST; bucket++) {
        uint64_t from_us = shoal_stats_bucket_us(bucket);
        uint64_t to_us = shoal_stats_bucket_us(bucket + 1);

        assert_true(from_us < to_us);
        assert_int_equal(shoal__stage_bucket(from_us), bucket);
        assert_int_equal(shoal__stage_bucket(to_us - 1), bucket);
        assert_int_equal(shoal__stage_bucket(to_us), bucket + 1);
    }
    assert_int_equal(shoal__stage_bucket(0), 0);
    assert_int_equal(shoal__stage_bucket(UINT64_C(1) << 40), LAST);
    assert_int_equal(shoal__stage_bucket(UINT64_MAX), LAST);
}

static void test_one_command_passes_both_stages(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    shoal__stage_times_taken(&times, 1, 1000);
    shoal__stage_times_written(&times, 1, 1007);
    shoal__stage_times_answered(&times, 1, 1047);

    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][7], 1);
    assert_int_equal(latencies.of[SHOAL_STAGE_WIRE][shoal__stage_bucket(40)], 1);
    assert_int_equal(in_stage(SHOAL_STAGE_BATCHED), 1);
    assert_int_equal(in_stage(SHOAL_STAGE_WIRE), 1);
    assert_int_equal(in_stage(SHOAL_STAGE_QUEUED), 0);
    assert_int_equal(in_stage(SHOAL_STAGE_TOTAL), 0);
    shoal__stage_times_rest(&times);
}

static void test_a_batch_keeps_the_arrival_of_each_turn(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    shoal__stage_times_taken(&times, 10, 1000);
    shoal__stage_times_taken(&times, 5, 1002);
    shoal__stage_times_taken(&times, 1, 1004);
    shoal__stage_times_written(&times, 12, 1005); /* a partial write */
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][5], 10);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][3], 2);

    shoal__stage_times_written(&times, 4, 1006);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][4], 3);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][2], 1);

    shoal__stage_times_answered(&times, 13, 1007);
    assert_int_equal(latencies.of[SHOAL_STAGE_WIRE][2], 12);
    assert_int_equal(latencies.of[SHOAL_STAGE_WIRE][1], 1);
    shoal__stage_times_rest(&times);
}

static void test_turns_of_one_stamp_share_a_group(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    for (int i = 0; i < 1000; i++)
        shoal__stage_times_taken(&times, 1, 500);
    assert_int_equal(times.queues->batching.count, 1);
    shoal__stage_times_taken(&times, 0, 501);
    assert_int_equal(times.queues->batching.count, 1);
    shoal__stage_times_written(&times, 1000, 503);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][3], 1000);
    assert_int_equal(times.queues->batching.count, 0);
    shoal__stage_times_rest(&times);
}

/* When groups run out, the youngest are merged under the older stamp. */
static void test_a_full_queue_overestimates(void **state)
{
    (void)state;
    shoal__stage_times_t times;
    const uint64_t turns = 3 * SHOAL__STAGE_GROUPS;

    shoal__stage_times_init(&times, &latencies);
    for (uint64_t i = 0; i < turns; i++)
        shoal__stage_times_taken(&times, 1, 1000 + i);
    assert_int_equal(times.queues->batching.count, SHOAL__STAGE_GROUPS);

    uint64_t now_us = 1000 + turns;
    shoal__stage_times_written(&times, turns, now_us);
    assert_int_equal(in_stage(SHOAL_STAGE_BATCHED), turns);
    /* True latencies are 1 .. turns; the sum of lower edges is not below by more than
     * the width of the buckets, a quarter. */
    uint64_t sum_us = 0;
    for (size_t i = 0; i < SHOAL_STATS_LATENCY_BUCKETS; i++)
        sum_us += latencies.of[SHOAL_STAGE_BATCHED][i] * shoal_stats_bucket_us(i);
    assert_true(sum_us >= turns * (turns + 1) / 2 * 3 / 4);
    shoal__stage_times_rest(&times);
}

static void test_a_clock_that_stands_still_is_harmless(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    shoal__stage_times_taken(&times, 1, 1000);
    shoal__stage_times_written(&times, 1, 900);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][0], 1);
    shoal__stage_times_rest(&times);
}

static void test_unknown_commands_are_not_counted(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    shoal__stage_times_answered(&times, 5, 1000);
    shoal__stage_times_taken(&times, 1, 1000);
    shoal__stage_times_written(&times, 3, 1001);
    assert_int_equal(in_stage(SHOAL_STAGE_WIRE), 0);
    assert_int_equal(in_stage(SHOAL_STAGE_BATCHED), 1);
    assert_int_equal(times.queues->wire.groups[times.queues->wire.head].commands, 3);
    shoal__stage_times_rest(&times);
}

static void test_resync_drops_the_oldest_and_adds_the_new(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    shoal__stage_times_taken(&times, 4, 1000);
    shoal__stage_times_taken(&times, 4, 1003);
    shoal__stage_times_resync(&times, 5, 0, 1004); /* three expired */
    shoal__stage_times_written(&times, 5, 1005);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][5], 1);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][2], 4);

    /* The connection is lost: three of five come back to the queue. */
    shoal__stage_times_resync(&times, 3, 0, 1010);
    shoal__stage_times_answered(&times, 1, 1011);
    assert_int_equal(in_stage(SHOAL_STAGE_WIRE), 0);
    shoal__stage_times_written(&times, 3, 1011);
    assert_int_equal(latencies.of[SHOAL_STAGE_BATCHED][1], 3);
    shoal__stage_times_rest(&times);
}

/* Counts never drift, whatever happens in whatever order. */
static void test_counts_balance_under_a_random_load(void **state)
{
    (void)state;
    shoal__stage_times_t times;
    shoal__random_t random;
    uint64_t now_us = 1, batching = 0, wire = 0, written = 0, answered = 0;

    shoal__stage_times_init(&times, &latencies);
    shoal__random_init(&random, 99);
    for (int i = 0; i < 200000; i++) {
        uint64_t commands = shoal__random_below(&random, 20);
        now_us += shoal__random_below(&random, 30);
        switch (shoal__random_below(&random, 3)) {
        case 0:
            shoal__stage_times_taken(&times, commands, now_us);
            batching += commands;
            break;
        case 1:
            commands = commands < batching ? commands : batching;
            shoal__stage_times_written(&times, commands, now_us);
            batching -= commands;
            wire += commands;
            written += commands;
            break;
        default:
            commands = commands < wire ? commands : wire;
            shoal__stage_times_answered(&times, commands, now_us);
            wire -= commands;
            answered += commands;
        }
        if (shoal__random_below(&random, 1000) == 0) {
            batching = shoal__random_below(&random, 2 * batching + 1);
            wire = shoal__random_below(&random, wire + 1);
            shoal__stage_times_resync(&times, batching, wire, now_us);
        }
    }
    assert_int_equal(in_stage(SHOAL_STAGE_BATCHED), written);
    assert_int_equal(in_stage(SHOAL_STAGE_WIRE), answered);
    shoal__stage_times_rest(&times);
}

/* At rest there are no queues; the next command is measured again. */
static void test_resting_gives_memory_back(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    assert_null(times.queues);
    for (uint64_t now_us = 1000; now_us < 3000; now_us += 1000) {
        shoal__stage_times_taken(&times, 1, now_us);
        shoal__stage_times_written(&times, 1, now_us + 2);
        shoal__stage_times_answered(&times, 1, now_us + 5);
        shoal__stage_times_rest(&times);
        assert_null(times.queues);
    }
    assert_int_equal(latencies.of[SHOAL_STAGE_WIRE][3], 2);
}

static void test_without_memory_nothing_is_measured(void **state)
{
    (void)state;
    shoal__stage_times_t times;

    shoal__stage_times_init(&times, &latencies);
    shoal__test_fail_alloc_after(0);
    shoal__stage_times_taken(&times, 1, 1000);
    shoal__stage_times_written(&times, 1, 1002);
    shoal__stage_times_resync(&times, 1, 1, 1003);
    shoal__stage_times_answered(&times, 1, 1005);
    shoal__test_fail_alloc_never();
    assert_null(times.queues);
    assert_int_equal(in_stage(SHOAL_STAGE_WIRE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_buckets_match_the_public_edges, setup),
        cmocka_unit_test_setup(test_one_command_passes_both_stages, setup),
        cmocka_unit_test_setup(test_a_batch_keeps_the_arrival_of_each_turn, setup),
        cmocka_unit_test_setup(test_turns_of_one_stamp_share_a_group, setup),
        cmocka_unit_test_setup(test_a_full_queue_overestimates, setup),
        cmocka_unit_test_setup(test_a_clock_that_stands_still_is_harmless, setup),
        cmocka_unit_test_setup(test_unknown_commands_are_not_counted, setup),
        cmocka_unit_test_setup(test_resync_drops_the_oldest_and_adds_the_new, setup),
        cmocka_unit_test_setup(test_counts_balance_under_a_random_load, setup),
        cmocka_unit_test_setup(test_resting_gives_memory_back, setup),
        cmocka_unit_test_setup(test_without_memory_nothing_is_measured, setup),
    };
    return cmocka_run_group_tests_name("core/pipe/stage_times", tests, NULL, NULL);
}
