/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/thread_bars.h"

#include <math.h>
#include <stdbool.h>

/* 0: nothing is asked */
static const struct bar_case {
    uint64_t threads;
    double throughput, p50, p99, cpu, mutex;
} cases[] = {
    {1, 0, 1.02, 0, 0, 0},
    {2, 1, 0, 1, 1, 0},
    {4, 1, 0, 1, 1, 0},
    {7, 1, 0, 1, 1, 0},
    {8, 1, 0, 1, 0.7, 0},
    {15, 1, 0, 1, 0.7, 0},
    {16, 1.5, 0, 1, 0.5, 0},
    {32, 2, 0, 1, 1.0 / 3, 0},
    {127, 2, 0, 1, 1.0 / 3, 0},
    {128, 3, 0, 1, 1.0 / 3, 1.8},
    {100000, 3, 0, 1, 1.0 / 3, 1.8},
};

static void check(const struct bar_case *c, double bar, double wanted)
{
    bool is_right = wanted > 0 ? fabs(bar - wanted) < 0.001 : isnan(bar);
    if (!is_right)
        fail_msg("%llu threads: %g, not %g", (unsigned long long)c->threads, bar,
                 wanted);
}

static void test_every_count_has_the_bars_of_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bar_case *c = &cases[i];
        thread_bars_t bars = thread_bars(c->threads);
        check(c, bars.throughput_min, c->throughput);
        check(c, bars.p50_max, c->p50);
        check(c, bars.p99_max, c->p99);
        check(c, bars.cpu_max, c->cpu);
        check(c, bars.mutex_throughput_min, c->mutex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_count_has_the_bars_of_its_row),
    };
    return cmocka_run_group_tests_name("bench/thread_bars", tests, NULL, NULL);
}
