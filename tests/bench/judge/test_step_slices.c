/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/step_slices.h"

#include <math.h>

#define PER_SLICE 20u
#define SLICES 30u

static step_sample_t samples[PER_SLICE * SLICES];

/* Slow until a slice, then as fast as the base; every fifth one is an outlier. */
static size_t fill(size_t slow_slices)
{
    for (size_t i = 0; i < PER_SLICE * SLICES; i++) {
        size_t slice = i / PER_SLICE;
        samples[i].at_ns = i * (STEP_SLICE_NS / PER_SLICE);
        samples[i].latency_ns = slice < slow_slices ? 200000 : 51000;
        if (i % 5 == 0)
            samples[i].latency_ns = 9000000;
    }
    return PER_SLICE * SLICES;
}

static void test_the_first_slice_at_the_base_ends_the_search(void **state)
{
    (void)state;
    static const size_t slow[] = {0, 1, 2, 9, 10, 29};

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        double ms = step_settled_ms(samples, fill(slow[i]), 50000);
        assert_true(fabs(ms - (double)(slow[i] + 1) * 10) < 0.001);
    }
}

static void test_never_is_infinite(void **state)
{
    (void)state;
    assert_true(isinf(step_settled_ms(samples, fill(SLICES), 50000)));
    assert_true(isinf(step_settled_ms(samples, 0, 50000)));
    /* 51 us are more than 5 % above 48 us */
    assert_true(isinf(step_settled_ms(samples, fill(0), 48000)));
}

static void test_the_median_is_in_the_middle(void **state)
{
    (void)state;
    step_sample_t few[] = {{0, 5}, {1, 1}, {2, 3}, {3, 9}};

    assert_true(fabs(step_median_ns(few, 4) - 4) < 0.001);
    assert_true(fabs(step_median_ns(few, 3) - 3) < 0.001);
    assert_true(isnan(step_median_ns(few, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_slice_at_the_base_ends_the_search),
        cmocka_unit_test(test_never_is_infinite),
        cmocka_unit_test(test_the_median_is_in_the_middle),
    };
    return cmocka_run_group_tests_name("bench/step_slices", tests, NULL, NULL);
}
