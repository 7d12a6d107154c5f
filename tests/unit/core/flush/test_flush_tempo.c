/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/time_us.h"
#include "core/flush/flush_tempo.h"

#define NEVER SHOAL__NEVER_US
#define LATE_FAR (UINT64_C(1) << 63)

static uint64_t arrive(shoal__flush_tempo_t *tempo, unsigned commands, uint64_t gap_us,
                       uint64_t now_us)
{
    for (unsigned i = 0; i < commands; i++) {
        now_us += gap_us;
        shoal__flush_tempo_arrived(tempo, now_us);
        shoal__flush_tempo_look(tempo, now_us);
    }
    return now_us;
}

/* ---- the gap ---- */

static void test_the_gap_is_that_of_even_arrivals(void **state)
{
    (void)state;
    const uint64_t gaps_us[] = {0, 1, 3, 10, 1000, 1000000};
    const uint64_t starts_us[] = {0, 1000, LATE_FAR};

    for (size_t i = 0; i < sizeof gaps_us / sizeof *gaps_us; i++)
        for (size_t k = 0; k < sizeof starts_us / sizeof *starts_us; k++) {
            shoal__flush_tempo_t tempo;

            shoal__flush_tempo_init(&tempo);
            assert_true(tempo.gap_ns == NEVER);
            shoal__flush_tempo_arrived(&tempo, starts_us[k]);
            shoal__flush_tempo_forget(&tempo);
            arrive(&tempo, 1000, gaps_us[i], starts_us[k]);
            assert_int_equal(tempo.gap_ns, gaps_us[i] * 1000);
        }
}

static void test_a_single_arrival_says_nothing(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    arrive(&tempo, 1, 40, 1000);
    assert_true(tempo.gap_ns == NEVER);
    shoal__flush_tempo_look(&tempo, 90000);
    assert_true(tempo.gap_ns == NEVER);
}

/* clang-format off */
static const struct change_case {
    const char *name;
    uint64_t before_us, after_us;
} change_cases[] = {
    {"a load step up",                  1000,  10},
    {"a load step down",                  10, 1000},
    {"all at once from now on",           10,   0},
    {"a little slower",                   10,  11},
};
/* clang-format on */

static void test_the_gap_follows_a_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof change_cases / sizeof *change_cases; i++) {
        const struct change_case *c = &change_cases[i];
        uint64_t before_ns = c->before_us * 1000, after_ns = c->after_us * 1000;
        shoal__flush_tempo_t tempo;

        shoal__flush_tempo_init(&tempo);
        uint64_t now_us = arrive(&tempo, 1000, c->before_us, 0);
        now_us = arrive(&tempo, 1000, c->after_us, now_us);
        if (tempo.gap_ns < after_ns && after_ns - tempo.gap_ns > before_ns / 100)
            fail_msg("%s: %d ns", c->name, (int)tempo.gap_ns);
        if (tempo.gap_ns > after_ns && tempo.gap_ns - after_ns > before_ns / 100 + 9)
            fail_msg("%s: %d ns", c->name, (int)tempo.gap_ns);
    }
}

/* A pause of a second counts as much as any other few arrivals. */
static void test_one_pause_does_not_make_the_gap_long(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    uint64_t now_us = arrive(&tempo, 1000, 10, 0);
    now_us = arrive(&tempo, 1000, 10, now_us + 1000000);
    assert_in_range(tempo.gap_ns, 10000, 11000);

    /* One window of arrivals counts for less than all windows before it. */
    uint64_t most_ns = 0;
    now_us = arrive(&tempo, 1, 1600, now_us);
    for (int i = 0; i < 100; i++) {
        now_us = arrive(&tempo, 1, 10, now_us);
        most_ns = tempo.gap_ns > most_ns ? tempo.gap_ns : most_ns;
    }
    assert_in_range(most_ns, 10001, 60000);
}

static void test_what_is_known_of_arrivals_is_forgotten(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    uint64_t now_us = arrive(&tempo, 1005, 1000, 0);
    shoal__flush_tempo_written(&tempo, now_us);
    shoal__flush_tempo_answered(&tempo, now_us + 70);
    shoal__flush_tempo_woke(&tempo, now_us, now_us + 20);
    uint64_t late_us = tempo.late_us;

    now_us += 5000000; /* silence, which the next command ends */
    shoal__flush_tempo_arrived(&tempo, now_us);
    shoal__flush_tempo_forget(&tempo);
    assert_true(tempo.gap_ns == NEVER);
    assert_int_equal(tempo.rtt_us, 70); /* kept, because the network is the same */
    assert_int_equal(tempo.late_us, late_us);
    arrive(&tempo, 100, 10, now_us);
    assert_int_equal(tempo.gap_ns, 10000);
}

/* ---- the round trip ---- */

static void round_trip(shoal__flush_tempo_t *tempo, uint64_t from_us, uint64_t rtt_us)
{
    shoal__flush_tempo_written(tempo, from_us);
    shoal__flush_tempo_answered(tempo, from_us + rtt_us);
}

static void test_the_first_reply_after_a_batch_is_timed(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    shoal__flush_tempo_answered(&tempo,
                                900); /* the reply to a batch that was not timed */
    assert_int_equal(tempo.rtt_us, 0);
    round_trip(&tempo, LATE_FAR, 45);
    assert_int_equal(tempo.rtt_us, 45);
    shoal__flush_tempo_answered(&tempo, LATE_FAR + 80000); /* the rest of them */
    assert_int_equal(tempo.rtt_us, 45);
}

static void test_the_round_trip_is_smoothed(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    for (uint64_t i = 0; i < 100; i++)
        round_trip(&tempo, 1000 + i * 1000, 200);
    assert_int_equal(tempo.rtt_us, 200);
    round_trip(&tempo, 200000, 1000); /* a slow round trip */
    assert_in_range(tempo.rtt_us, 201, 500);
    for (uint64_t i = 0; i < 100; i++)
        round_trip(&tempo, 300000 + i * 10000, 5000);
    assert_in_range(tempo.rtt_us, 4900, 5000);
    for (uint64_t i = 0; i < 100; i++)
        round_trip(&tempo, 2000000 + i * 1000, 40);
    assert_in_range(tempo.rtt_us, 40, 60);
}

/* ---- lateness ---- */

static void wake(shoal__flush_tempo_t *tempo, unsigned times, uint64_t late_us)
{
    for (unsigned i = 0; i < times; i++)
        shoal__flush_tempo_woke(tempo, 1000, 1000 + late_us);
}

static void test_lateness_is_learned_and_unlearned(void **state)
{
    (void)state;
    const uint64_t late_us[] = {0, 1, 19, 60, 1100, 20, 0};
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    for (size_t i = 0; i < sizeof late_us / sizeof *late_us; i++) {
        wake(&tempo, 200, late_us[i]);
        uint64_t slack_us = 1 + late_us[i] / 4;
        assert_true(tempo.late_us + slack_us >= late_us[i]);
        assert_true(tempo.late_us <= late_us[i] + slack_us);
    }
}

/* One stall of a busy machine counts for no more than any other wake-up. */
static void test_one_stall_does_not_make_wakers_late(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    wake(&tempo, 100, 20);
    wake(&tempo, 1, 1000000);
    assert_in_range(tempo.late_us, 0, 30);
    wake(&tempo, 1, LATE_FAR);
    assert_in_range(tempo.late_us, 0, 40);
}

static void test_a_wake_up_before_its_time_is_not_late(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;

    shoal__flush_tempo_init(&tempo);
    for (int i = 0; i < 100; i++)
        shoal__flush_tempo_woke(&tempo, 5000, 4000);
    assert_int_equal(tempo.late_us, 0);
}

/* A policy that takes wake-ups for late asks for none, and so measures none.  Without
 * doubt it would never learn that they are on time again. */
static void test_lateness_is_doubted_when_it_is_not_tried(void **state)
{
    (void)state;
    shoal__flush_tempo_t tempo;
    unsigned doubts = 0;

    shoal__flush_tempo_init(&tempo);
    wake(&tempo, 400, 1000);
    uint64_t late_us = tempo.late_us;
    shoal__flush_tempo_doubt(&tempo);
    assert_int_equal(tempo.late_us, late_us);
    for (; tempo.late_us > 50 && doubts < 100000; doubts++)
        shoal__flush_tempo_doubt(&tempo);
    assert_in_range(doubts, 100, 10000);
    wake(&tempo, 400, 1000);
    assert_in_range(tempo.late_us, 750, 1250);
}

/* A smoothed value is never below or above all values that were measured. */
static void test_values_stay_within_what_was_seen(void **state)
{
    (void)state;
    shoal__random_t random;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        shoal__flush_tempo_t tempo;
        uint64_t now_us = LATE_FAR, rtt_most_us = 0, late_most_us = 0;

        shoal__flush_tempo_init(&tempo);
        shoal__random_init(&random, seed);
        for (int i = 0; i < 5000; i++) {
            uint64_t step_us = shoal__random_below(&random, 300);
            switch (shoal__random_below(&random, 3)) {
            case 0:
                now_us = arrive(&tempo, 16, step_us, now_us);
                break;
            case 1:
                rtt_most_us = step_us > rtt_most_us ? step_us : rtt_most_us;
                round_trip(&tempo, now_us, step_us);
                break;
            default:
                late_most_us = step_us > late_most_us ? step_us : late_most_us;
                wake(&tempo, 1, step_us);
                break;
            }
            assert_true(tempo.rtt_us <= rtt_most_us);
            assert_true(tempo.late_us <= late_most_us + late_most_us / 8 + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gap_is_that_of_even_arrivals),
        cmocka_unit_test(test_a_single_arrival_says_nothing),
        cmocka_unit_test(test_the_gap_follows_a_change),
        cmocka_unit_test(test_one_pause_does_not_make_the_gap_long),
        cmocka_unit_test(test_what_is_known_of_arrivals_is_forgotten),
        cmocka_unit_test(test_the_first_reply_after_a_batch_is_timed),
        cmocka_unit_test(test_the_round_trip_is_smoothed),
        cmocka_unit_test(test_lateness_is_learned_and_unlearned),
        cmocka_unit_test(test_one_stall_does_not_make_wakers_late),
        cmocka_unit_test(test_a_wake_up_before_its_time_is_not_late),
        cmocka_unit_test(test_lateness_is_doubted_when_it_is_not_tried),
        cmocka_unit_test(test_values_stay_within_what_was_seen),
    };
    return cmocka_run_group_tests_name("core/flush/flush_tempo", tests, NULL, NULL);
}
