/* SPDX-License-Identifier: MIT */

/*
 * The exam of the flush policy for threads in blocking calls that stay awake: `auto`
 * against flushing at once and against a pool, a connection for each thread, in a
 * simulated world.  SHOAL_EXAM_VERBOSE=1 prints the whole table.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/awake_world.h"

#define BUDGET_US 100
#define SETTLE_US 20000
#define SPAN_US 100000
#define STARTS 3

static awake_world_t *world;

/* Means of a few worlds: cores fall in step, or do not, by chance. */
static awake_figures_t measure(const char *name, const awake_load_t *load,
                               shoal_flush_mode_t mode)
{
    awake_figures_t mean = {0};

    for (uint64_t seed = 1; seed <= STARTS; seed++) {
        awake_world_begin(world, load, mode, mode == SHOAL_FLUSH_AUTO ? BUDGET_US : 0,
                          seed);
        awake_world_run(world, SETTLE_US);
        awake_figures_t figures = awake_world_run(world, SPAN_US);
        mean.rate += figures.rate / STARTS;
        mean.cpu_us += figures.cpu_us / STARTS;
        mean.p50_us += figures.p50_us / STARTS;
        mean.p99_us += figures.p99_us / STARTS;
        mean.batch += figures.batch / STARTS;
    }
    if (getenv("SHOAL_EXAM_VERBOSE"))
        printf("%3u threads, %s, %-5s %7.0f/s  CPU %5.2f us  p50 %6.1f  p99 %6.1f us"
               "  %5.1f cmds\n",
               load->threads, load->is_tcp ? "TCP " : "Unix", name, mean.rate,
               mean.cpu_us, mean.p50_us, mean.p99_us, mean.batch);
    return mean;
}

/* One wish that a point did not fulfil.  All of them are told before the test fails. */
static unsigned expect(bool is_fulfilled, const awake_load_t *load, const char *wish,
                       double value, double bound)
{
    if (is_fulfilled)
        return 0;
    print_error("%u threads, %s: %s: %.3f, bound %.3f\n", load->threads,
                load->is_tcp ? "TCP" : "Unix", wish, value, bound);
    return 1;
}

/* A little less than this world gives.  8 and 16 threads over a Unix socket would be faster
 * one by one here, where the server just finds no time to sleep; but dearer. */
static const struct point {
    unsigned threads;
    bool is_tcp;
    double rate_min, p99_max, cpu_max; /* to the pool's */
    double off_min;                    /* calls/s to those of `off` */
} points[] = {
    {2, false, 1.5, 0.9, 0.85, 0.95},   {2, true, 1.3, 1.0, 0.9, 0.95},
    {4, false, 1.2, 0.9, 0.8, 0.95},    {4, true, 1.0, 1.15, 0.95, 0.95},
    {8, false, 0.92, 1.2, 0.8, 0.8},    {8, true, 1.2, 1.05, 0.6, 1.1},
    {16, false, 1.1, 0.9, 0.61, 0.93},  {16, true, 2.0, 0.7, 0.35, 1.8},
    {32, false, 1.35, 0.8, 0.48, 1.05}, {32, true, 2.4, 0.5, 0.3, 2.1},
    {128, false, 1.6, 0.7, 0.38, 1.2},  {128, true, 3.0, 0.4, 0.22, 2.5},
};

static unsigned examine(const struct point *point)
{
    const awake_load_t load = {.threads = point->threads, .is_tcp = point->is_tcp};
    awake_load_t pooled = load;

    pooled.is_pool = true;
    awake_figures_t pool = measure("pool", &pooled, SHOAL_FLUSH_OFF);
    awake_figures_t off = measure("off", &load, SHOAL_FLUSH_OFF);
    awake_figures_t ours = measure("auto", &load, SHOAL_FLUSH_AUTO);
    double to_pool = ours.rate / pool.rate, to_off = ours.rate / off.rate;
    double p99 = ours.p99_us / pool.p99_us, cpu = ours.cpu_us / pool.cpu_us;

    if (getenv("SHOAL_EXAM_VERBOSE"))
        printf("    to the pool %.2f, p99 %.2f, CPU %.2f; to off %.2f\n", to_pool, p99,
               cpu, to_off);
    return expect(to_pool >= point->rate_min, &load, "calls/s to the pool's", to_pool,
                  point->rate_min) +
           expect(p99 <= point->p99_max, &load, "p99 to the pool's", p99,
                  point->p99_max) +
           expect(cpu <= point->cpu_max, &load, "CPU to the pool's", cpu,
                  point->cpu_max) +
           expect(to_off >= point->off_min, &load, "calls/s to those of off", to_off,
                  point->off_min);
}

static void test_threads_beat_a_pool(void **state)
{
    (void)state;
    unsigned misses = 0;

    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        misses += examine(&points[i]);
    assert_int_equal(misses, 0);
}

/* Most threads do not get a CPU although their results are there.  The others must not
 * wait for them. */
static void test_nobody_waits_for_those_who_are_held_up(void **state)
{
    (void)state;
    const unsigned threads[] = {8, 16, 32};
    unsigned misses = 0;

    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        const awake_load_t load = {.threads = threads[i],
                                   .held = threads[i] - threads[i] / 8,
                                   .held_us = 1000};
        double p50_us = measure("auto", &load, SHOAL_FLUSH_AUTO).p50_us;
        misses += expect(p50_us <= 0.6 * BUDGET_US, &load, "p50, us", p50_us,
                         0.6 * BUDGET_US);
    }
    assert_int_equal(misses, 0);
}

static int make_world(void **state)
{
    (void)state;
    world = malloc(sizeof *world);
    return world ? 0 : -1;
}

static int free_world(void **state)
{
    (void)state;
    free(world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_beat_a_pool),
        cmocka_unit_test(test_nobody_waits_for_those_who_are_held_up),
    };
    return cmocka_run_group_tests_name("awake exam", tests, make_world, free_world);
}
