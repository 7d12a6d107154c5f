/* SPDX-License-Identifier: MIT */

/*
 * The exam of the flush policy: `auto` against flushing at once and fixed pauses, under
 * every load that callers can be, in a simulated world.  SHOAL_EXAM_VERBOSE=1 prints the
 * whole table.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/data/flush_arrivals.h"
#include "sim/flush_world.h"

#define BUDGET_US 100
#define MS 1000 /* in microseconds */
#define STARTS 3

typedef struct setting {
    const char *name;
    shoal_flush_mode_t mode;
    uint64_t pause_us;
} setting_t;

static const setting_t settings[] = {
    {"off", SHOAL_FLUSH_OFF, 0},           {"fixed 20", SHOAL_FLUSH_FIXED, 20},
    {"fixed 50", SHOAL_FLUSH_FIXED, 50},   {"fixed 100", SHOAL_FLUSH_FIXED, 100},
    {"fixed 150", SHOAL_FLUSH_FIXED, 150}, {"fixed 1000", SHOAL_FLUSH_FIXED, 1000},
    {"auto", SHOAL_FLUSH_AUTO, BUDGET_US},
};

enum { OFF = 0, FIXED_100 = 3, AUTO = 6, SETTINGS = 7 };

typedef struct point {
    const char *name;
    flush_load_t load;
    uint64_t rtt_us;
} point_t;

typedef struct figures {
    double rate, cpu_us, p50_us, p99_us, batch;
} figures_t;

static flush_world_t *world;
static unsigned misses;
static uint64_t seed = 1;

static const char *const kind_names[] = {"none",   "callbacks", "threads", "even",
                                         "random", "bursts",    "recorded"};

static void describe(const point_t *point, char *text, size_t bytes)
{
    const flush_load_t *load = &point->load;

    if (load->callers)
        snprintf(text, bytes, "%u %s, think %u us%s, RTT %u us", load->callers,
                 kind_names[load->kind], (unsigned)load->think_us,
                 load->is_think_random ? " or so" : "", (unsigned)point->rtt_us);
    else if (point->name)
        snprintf(text, bytes, "%s: %s, RTT %u us", kind_names[load->kind], point->name,
                 (unsigned)point->rtt_us);
    else
        snprintf(text, bytes, "%s %u/s, RTT %u us", kind_names[load->kind],
                 (unsigned)load->rate, (unsigned)point->rtt_us);
}

/* One wish that a point did not fulfil.  All of them are told before the test fails. */
static void expect(bool is_fulfilled, const point_t *point, const char *wish,
                   double value, double bound)
{
    char text[128];

    if (is_fulfilled)
        return;
    misses++;
    describe(point, text, sizeof text);
    print_error("%s: %s: %.3f, bound %.3f\n", text, wish, value, bound);
}

static figures_t read_figures(void)
{
    return (figures_t){flush_figures_rate(world), flush_figures_cpu_us(world),
                       flush_figures_latency_us(world, 500),
                       flush_figures_latency_us(world, 990),
                       flush_figures_batch(world)};
}

static figures_t measure(const setting_t *setting, const point_t *point,
                         uint64_t settle_us, uint64_t span_us)
{
    flush_world_begin(world, setting->mode, setting->pause_us, point->rtt_us, seed);
    flush_world_load(world, &point->load);
    flush_world_run(world, settle_us);
    flush_world_count(world);
    flush_world_run(world, span_us);
    return read_figures();
}

static void print_figures(const setting_t *setting, const figures_t *figures)
{
    if (getenv("SHOAL_EXAM_VERBOSE"))
        printf("  %-10s %9.0f/s  CPU %6.2f us  p50 %7.1f  p99 %7.1f us  %6.1f cmds\n",
               setting->name, figures->rate, figures->cpu_us, figures->p50_us,
               figures->p99_us, figures->batch);
}

static void measure_all(const point_t *point, uint64_t settle_us, uint64_t span_us,
                        figures_t *ret_figures)
{
    char text[128];

    describe(point, text, sizeof text);
    if (getenv("SHOAL_EXAM_VERBOSE"))
        printf("%s\n", text);
    for (size_t i = 0; i < SETTINGS; i++) {
        ret_figures[i] = measure(&settings[i], point, settle_us, span_us);
        print_figures(&settings[i], &ret_figures[i]);
    }
}

/* ---- closed loops ---- */

static void examine_closed_loop(flush_load_kind_t kind, unsigned callers,
                                uint64_t rtt_us)
{
    point_t point = {NULL, {.kind = kind, .callers = callers}, rtt_us};
    figures_t figures[SETTINGS];
    uint64_t span_us = rtt_us > MS ? 250 * MS : 100 * MS;
    double rates[SETTINGS] = {0}, best = 0;

    /* Threads fall in step, or do not, by chance. */
    for (seed = 1; seed <= (kind == FLUSH_LOAD_THREADS ? STARTS : 1); seed++) {
        measure_all(&point, 100 * MS, span_us, figures);
        for (size_t i = 0; i < SETTINGS; i++)
            rates[i] += figures[i].rate;
    }
    seed = 1;
    /* Threads that wake in a row form convoys, which a pause breaks up in this world; so
     * they are only compared with flushing at once. */
    for (size_t i = 0; i < (kind == FLUSH_LOAD_THREADS ? OFF + 1 : AUTO); i++)
        best = rates[i] > best ? rates[i] : best;
    expect(rates[AUTO] >= 0.95 * best, &point, "throughput, of the best",
           rates[AUTO] / best, 0.95);
    if (callers > 2)
        return;
    double bound_us = 1.05 * figures[OFF].p50_us;
    expect(figures[AUTO].p50_us <= bound_us, &point, "p50 of a few callers",
           figures[AUTO].p50_us, bound_us);
}

static const uint64_t rtts_us[] = {0, 200, 5000};

static void test_closed_loops_lose_no_throughput(void **state)
{
    (void)state;
    const unsigned callers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 1024};

    misses = 0;
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++)
        for (size_t k = 0; k < sizeof rtts_us / sizeof *rtts_us; k++) {
            examine_closed_loop(FLUSH_LOAD_CALLBACKS, callers[i], rtts_us[k]);
            examine_closed_loop(FLUSH_LOAD_THREADS, callers[i], rtts_us[k]);
        }
    assert_int_equal(misses, 0);
}

static void test_callers_who_think_are_hardly_slowed_down(void **state)
{
    (void)state;
    const struct {
        flush_load_t load;
        double bound;
    } cases[] = {
        {{FLUSH_LOAD_THREADS, 8, 100, false, 0, NULL, 0}, 0.94},
        {{FLUSH_LOAD_THREADS, 8, 100, true, 0, NULL, 0}, 0.94},
        {{FLUSH_LOAD_THREADS, 32, 500, false, 0, NULL, 0}, 0.95},
        {{FLUSH_LOAD_THREADS, 32, 500, true, 0, NULL, 0}, 0.95},
    };

    misses = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        point_t point = {NULL, cases[i].load, 0};
        figures_t figures[SETTINGS];

        measure_all(&point, 100 * MS, 2000 * MS, figures);
        double bound = cases[i].bound * figures[OFF].rate;
        expect(figures[AUTO].rate >= bound, &point, "throughput", figures[AUTO].rate,
               bound);
    }
    assert_int_equal(misses, 0);
}

/* ---- open loops ---- */

/* The least CPU of those whose pause is within the budget, and who are no slower than
 * it allows. */
static double best_cpu_us(const figures_t *figures, double p99_bound_us)
{
    double best_us = figures[OFF].cpu_us;

    for (size_t i = 0; i < AUTO; i++)
        if (settings[i].pause_us <= BUDGET_US && figures[i].p99_us <= p99_bound_us &&
            figures[i].cpu_us < best_us)
            best_us = figures[i].cpu_us;
    return best_us;
}

static void examine_open_loop(const point_t *point)
{
    figures_t figures[SETTINGS];
    uint64_t rate = point->load.rate ? point->load.rate : 50000;
    uint64_t span_us = rate < 20000 ? UINT64_C(8000000000) / rate : 400 * MS;

    measure_all(point, 500 * MS, span_us, figures);
    double p99_bound_us = figures[OFF].p99_us + BUDGET_US + 50;
    double cpu_bound_us = 1.10 * best_cpu_us(figures, p99_bound_us);
    /* At lower rates a budget brings one command or two, and latency goes first. */
    if (rate < 20000 && point->rtt_us)
        cpu_bound_us = 1.05 * figures[OFF].cpu_us;
    expect(figures[AUTO].cpu_us <= cpu_bound_us, point, "CPU of both ends, us",
           figures[AUTO].cpu_us, cpu_bound_us);
    expect(figures[AUTO].p99_us <= p99_bound_us, point, "p99, us", figures[AUTO].p99_us,
           p99_bound_us);
}

static void test_open_loops_cost_little_cpu(void **state)
{
    (void)state;
    const uint64_t rates[] = {1000,  2000,  5000,   10000,  15000, 20000,
                              30000, 50000, 100000, 200000, 300000};
    const flush_load_kind_t kinds[] = {FLUSH_LOAD_EVEN, FLUSH_LOAD_RANDOM};

    misses = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
            for (size_t j = 0; j < 2; j++) {
                point_t point = {
                    NULL, {.kind = kinds[i], .rate = rates[k]}, rtts_us[j]};
                examine_open_loop(&point);
            }
    assert_int_equal(misses, 0);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_recorded_arrivals_cost_little_cpu(void **state)
{
    (void)state;
    const point_t points[] = {
        {"random 50000/s",
         {.kind = FLUSH_LOAD_RECORDED,
          .gaps = flush_recorded_random,
          .gap_count = COUNT(flush_recorded_random)},
         0},
    };

    misses = 0;
    for (size_t i = 0; i < COUNT(points); i++)
        examine_open_loop(&points[i]);
    assert_int_equal(misses, 0);
}

/* Bursts of 0.2 ms every 2 ms: no dearer than flushing at once, and never beyond the
 * budget. */
static void test_bursts_are_gathered_within_the_budget(void **state)
{
    (void)state;
    const uint64_t rates[] = {5000, 10000, 20000, 50000, 100000};

    misses = 0;
    for (size_t i = 0; i < COUNT(rates); i++) {
        point_t point = {NULL, {.kind = FLUSH_LOAD_BURSTS, .rate = rates[i]}, 0};
        figures_t figures[SETTINGS];

        measure_all(&point, 500 * MS, 500 * MS, figures);
        double cpu_bound_us = 1.10 * figures[OFF].cpu_us;
        double p99_bound_us = figures[OFF].p99_us + BUDGET_US + 50;
        expect(figures[AUTO].cpu_us <= cpu_bound_us, &point, "CPU of both ends, us",
               figures[AUTO].cpu_us, cpu_bound_us);
        expect(figures[AUTO].p99_us <= p99_bound_us, &point, "p99, us",
               figures[AUTO].p99_us, p99_bound_us);
    }
    assert_int_equal(misses, 0);
}

/* ---- loads that change ---- */

typedef struct stage {
    point_t point;
    uint64_t settle_us; /* from then on its figures are the steady ones */
} stage_t;

static const stage_t up_and_down[] = {
    {{NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 1}, 0}, 100 * MS},
    {{NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 1024}, 0}, 100 * MS},
    {{NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 1}, 0}, 100 * MS},
};

static const stage_t many_kinds[] = {
    {{NULL, {.kind = FLUSH_LOAD_RANDOM, .rate = 1000}, 0}, 500 * MS},
    {{NULL, {.kind = FLUSH_LOAD_RANDOM, .rate = 100000}, 0}, 500 * MS},
    {{NULL, {.kind = FLUSH_LOAD_THREADS, .callers = 8}, 0}, 100 * MS},
    {{NULL, {.kind = FLUSH_LOAD_NONE}, 0}, 100 * MS},
    {{NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 1}, 0}, 100 * MS},
    {{NULL, {.kind = FLUSH_LOAD_RANDOM, .rate = 50000}, 0}, 500 * MS},
    {{NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 64}, 0}, 100 * MS},
    {{NULL, {.kind = FLUSH_LOAD_RANDOM, .rate = 1000}, 0}, 500 * MS},
};

static void examine_stage(const stage_t *stage)
{
    const point_t *point = &stage->point;
    uint64_t span_us = point->load.rate == 1000 ? 4000 * MS : 200 * MS;

    flush_world_load(world, &point->load);
    flush_world_run(world, stage->settle_us);
    if (point->load.kind == FLUSH_LOAD_NONE)
        return;
    flush_world_count(world);
    flush_world_run(world, span_us);
    figures_t now = read_figures();

    flush_world_t *changing = world;
    world = flush_world_new();
    assert_non_null(world);
    figures_t steady = measure(&settings[AUTO], point, 1000 * MS, span_us);
    free(world);
    world = changing;
    print_figures(&settings[AUTO], &now);
    expect(now.rate >= 0.95 * steady.rate || point->load.rate, point, "throughput",
           now.rate, 0.95 * steady.rate);
    expect(now.cpu_us <= 1.10 * steady.cpu_us, point, "CPU of both ends, us",
           now.cpu_us, 1.10 * steady.cpu_us);
    /* A trial, with less holds, may fall into one of the two. */
    expect(now.p50_us <= 1.20 * steady.p50_us, point, "p50, us", now.p50_us,
           1.20 * steady.p50_us);
    expect(now.p99_us <= 1.15 * steady.p99_us, point, "p99, us", now.p99_us,
           1.15 * steady.p99_us);
}

static void test_a_change_of_load_is_followed(void **state)
{
    (void)state;
    misses = 0;
    flush_world_begin(world, SHOAL_FLUSH_AUTO, BUDGET_US, 0, seed);
    for (size_t i = 0; i < COUNT(up_and_down); i++)
        examine_stage(&up_and_down[i]);
    flush_world_begin(world, SHOAL_FLUSH_AUTO, BUDGET_US, 0, seed);
    for (size_t i = 0; i < COUNT(many_kinds); i++)
        examine_stage(&many_kinds[i]);
    assert_int_equal(misses, 0);
}

/* The mean latency of the first command after an idle second that follows `before`. */
static double first_latency_us(const setting_t *setting, const flush_load_t *before)
{
    const flush_load_t none = {.kind = FLUSH_LOAD_NONE};
    const flush_load_t one = {.kind = FLUSH_LOAD_THREADS, .callers = 1};
    double sum_us = 0;

    flush_world_begin(world, setting->mode, setting->pause_us, 0, seed);
    for (int i = 0; i < 20; i++) {
        flush_world_load(world, before);
        flush_world_run(world, 300 * MS);
        flush_world_load(world, &none);
        flush_world_run(world, 1000 * MS);
        flush_world_count(world);
        flush_world_load(world, &one);
        flush_world_run(world, 10 * MS);
        assert_true(world->figures.first_latency_ns > 0);
        sum_us += (double)world->figures.first_latency_ns / 1000;
    }
    return sum_us / 20;
}

static void test_the_first_command_after_idle_is_immediate(void **state)
{
    (void)state;
    const flush_load_t before[] = {
        {.kind = FLUSH_LOAD_RANDOM, .rate = 100000},
        {.kind = FLUSH_LOAD_CALLBACKS, .callers = 1024},
        {.kind = FLUSH_LOAD_THREADS, .callers = 32, .think_us = 500},
    };

    for (size_t i = 0; i < COUNT(before); i++) {
        double off_us = first_latency_us(&settings[OFF], &before[i]);
        double auto_us = first_latency_us(&settings[AUTO], &before[i]);
        if (auto_us > 1.15 * off_us)
            fail_msg("after %s: %.1f us, immediately %.1f us",
                     kind_names[before[i].kind], auto_us, off_us);
    }
}

/* ---- the exam itself ---- */

static void test_a_budget_of_nothing_is_off(void **state)
{
    (void)state;
    const setting_t nothing = {"auto, no budget", SHOAL_FLUSH_AUTO, 0};
    const point_t points[] = {
        {NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 128}, 0},
        {NULL, {.kind = FLUSH_LOAD_THREADS, .callers = 8}, 200},
        {NULL, {.kind = FLUSH_LOAD_RANDOM, .rate = 50000}, 0},
        {NULL, {.kind = FLUSH_LOAD_BURSTS, .rate = 20000}, 5000},
    };

    for (size_t i = 0; i < COUNT(points); i++) {
        flush_figures_t off;

        measure(&settings[OFF], &points[i], 100 * MS, 100 * MS);
        off = world->figures;
        measure(&nothing, &points[i], 100 * MS, 100 * MS);
        assert_memory_equal(&world->figures, &off, sizeof off);
    }
}

/* The world has what makes the question hard: where fixed pauses fail on a real machine
 * they fail here. */
static void test_no_fixed_pause_passes(void **state)
{
    (void)state;
    const point_t lone = {NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 1}, 0};
    const point_t two = {NULL, {.kind = FLUSH_LOAD_CALLBACKS, .callers = 2}, 0};
    const point_t eight = {NULL, {.kind = FLUSH_LOAD_THREADS, .callers = 8}, 0};
    const point_t open = {NULL, {.kind = FLUSH_LOAD_RANDOM, .rate = 50000}, 0};
    figures_t figures[SETTINGS];

    measure_all(&lone, 50 * MS, 50 * MS, figures);
    assert_true(figures[OFF].p50_us > 35 && figures[OFF].p50_us < 55);
    measure_all(&two, 50 * MS, 50 * MS, figures);
    assert_true(figures[FIXED_100].rate < 0.75 * figures[OFF].rate);
    measure_all(&eight, 50 * MS, 50 * MS, figures);
    assert_true(figures[FIXED_100].rate < 0.75 * figures[OFF].rate);
    measure_all(&open, 50 * MS, 200 * MS, figures);
    assert_true(figures[FIXED_100].cpu_us < 0.75 * figures[OFF].cpu_us);
}

static int make_world(void **state)
{
    (void)state;
    world = flush_world_new();
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
        cmocka_unit_test(test_no_fixed_pause_passes),
        cmocka_unit_test(test_closed_loops_lose_no_throughput),
        cmocka_unit_test(test_callers_who_think_are_hardly_slowed_down),
        cmocka_unit_test(test_open_loops_cost_little_cpu),
        cmocka_unit_test(test_recorded_arrivals_cost_little_cpu),
        cmocka_unit_test(test_bursts_are_gathered_within_the_budget),
        cmocka_unit_test(test_a_change_of_load_is_followed),
        cmocka_unit_test(test_the_first_command_after_idle_is_immediate),
        cmocka_unit_test(test_a_budget_of_nothing_is_off),
    };
    return cmocka_run_group_tests_name("flush exam", tests, make_world, free_world);
}
