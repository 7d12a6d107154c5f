/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/figures.h"

#include <math.h>

#define ROUNDS 4u

typedef struct rounds {
    figures_t figures[ROUNDS];
    series_t series;
} rounds_t;

/* A series with these throughputs. */
static const series_t *fill(rounds_t *rounds, const double *ops, size_t count)
{
    rounds->series = (series_t){.rounds = rounds->figures, .rounds_count = count};
    for (size_t i = 0; i < count; i++) {
        figures_clear(&rounds->figures[i]);
        rounds->figures[i].value[FIGURE_OPS_PER_S] = ops[i];
        rounds->figures[i].value[FIGURE_ERRORS] = 1;
    }
    return &rounds->series;
}

static double ratio(const double *ops, size_t count, const double *others,
                    size_t others_count)
{
    static rounds_t rounds[2];
    const series_t *series = fill(&rounds[0], ops, count);
    return series_ratio(series, fill(&rounds[1], others, others_count),
                        FIGURE_OPS_PER_S);
}

static void test_a_ratio_is_the_median_of_neighbours(void **state)
{
    (void)state;
    /* The machine was slow in the second round: for both. */
    const double ops[ROUNDS] = {200, 20, 220, 999}, others[ROUNDS] = {100, 10, 100, 9};

    assert_true(fabs(ratio(ops, 3, others, 3) - 2) < 0.001);
    assert_true(fabs(ratio(ops, 4, others, 4) - 2.1) < 0.001);
    /* A round that only one of them has counts for nothing. */
    assert_true(fabs(ratio(ops, 4, others, 3) - 2) < 0.001);
    assert_true(fabs(ratio(ops, 2, others, 4) - 2) < 0.001);
}

static void test_what_was_not_measured_has_no_ratio(void **state)
{
    (void)state;
    const double ops[] = {200, (double)NAN, 300}, none[] = {0, 1, (double)NAN};

    assert_true(isnan(ratio(ops, 0, ops, 3)));
    assert_true(isnan(ratio(ops, 3, none, 3)));
    assert_true(fabs(ratio(ops, 3, ops, 3) - 1) < 0.001);
}

static void test_the_highest_round_is_found(void **state)
{
    (void)state;
    static rounds_t rounds;
    const double ops[] = {30, (double)NAN, 40, 20}, late[] = {30, INFINITY, 40};

    assert_true(fabs(series_highest(fill(&rounds, ops, 4), FIGURE_OPS_PER_S) - 40) <
                0.001);
    assert_true(isinf(series_highest(fill(&rounds, late, 3), FIGURE_OPS_PER_S)));
    assert_true(isnan(series_highest(fill(&rounds, ops, 0), FIGURE_OPS_PER_S)));
}

static void test_medians_leave_out_what_is_not_known(void **state)
{
    (void)state;
    static rounds_t rounds;
    const double ops[] = {30, (double)NAN, 10, 20};

    fill(&rounds, ops, 4);
    series_summarise(&rounds.series);
    assert_true(fabs(rounds.series.median.value[FIGURE_OPS_PER_S] - 20) < 0.001);
    assert_true(isnan(rounds.series.median.value[FIGURE_SECONDS]));
    assert_true(fabs(rounds.series.median.value[FIGURE_ERRORS] - 4) < 0.001);
    fill(&rounds, ops, 3);
    series_summarise(&rounds.series);
    assert_true(fabs(rounds.series.median.value[FIGURE_OPS_PER_S] - 20) < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ratio_is_the_median_of_neighbours),
        cmocka_unit_test(test_what_was_not_measured_has_no_ratio),
        cmocka_unit_test(test_the_highest_round_is_found),
        cmocka_unit_test(test_medians_leave_out_what_is_not_known),
    };
    return cmocka_run_group_tests_name("bench/figures", tests, NULL, NULL);
}
