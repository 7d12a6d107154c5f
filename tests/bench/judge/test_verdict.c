/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/verdict.h"

#include <math.h>

#define NONE VERDICT_NONE

/* clang-format off */
static const struct throughput_case {
    const char *name;
    double ops[4];
    size_t subject;
    bool is_known, holds;
    size_t best;
} throughput_cases[] = {
    {"the best of all",        {90, 80, 100, 110}, 3, true,  true,  2},
    {"exactly 0.95",           {100, 80, 90,  95}, 3, true,  true,  0},
    {"just below",             {100, 80, 90,  94}, 3, true,  false, 0},
    {"not the last one",       {100, 99, 98,  97}, 0, true,  true,  1},
    {"one is missing",         {NAN, 80, 90,  88}, 3, true,  true,  2},
    {"it is missing itself",   {100, 80, 90, NAN}, 3, false, false, NONE},
    {"all others are missing", {NAN, NAN, NAN, 9}, 3, false, false, NONE},
    {"it was not measured",    {100, 80, 90,  95}, NONE, false, false, NONE},
};

static const struct cpu_case {
    const char *name;
    verdict_row_t rows[3]; /* off, fixed, auto: ops, p99, CPU */
    bool is_known, holds;
    size_t best;
} cpu_cases[] = {
    {"cheapest wins",      {{1000, 100, 30}, {1000, 200, 20}, {1000, 150, 21}}, true, true, 1},
    {"exactly 1.10",       {{1000, 100, 30}, {1000, 200, 20}, {1000, 150, 22}}, true, true, 1},
    {"too dear",           {{1000, 100, 30}, {1000, 200, 20}, {1000, 150, 23}}, true, false, 1},
    {"fixed is too late",  {{1000, 100, 30}, {1000, 251, 10}, {1000, 150, 23}}, true, true, 0},
    {"fixed is just early",{{1000, 100, 30}, {1000, 250, 10}, {1000, 150, 23}}, true, false, 1},
    {"fixed is too slow",  {{1000, 100, 30}, { 970, 200, 10}, {1000, 150, 23}}, true, true, 0},
    {"auto is too slow",   {{1000, 100, 30}, {1000, 200, 20}, { 970, 150, 20}}, true, false, 1},
    {"no server CPU",      {{1000, 100, NAN}, {1000, 200, NAN}, {1000, 150, NAN}}, false, false, NONE},
    {"nobody keeps up",    {{ 900, 100, 30}, { 900, 200, 20}, { 900, 150, 20}}, false, false, NONE},
};
/* clang-format on */

static void check(const char *name, const verdict_t *verdict, bool is_known, bool holds,
                  size_t best)
{
    if (verdict->is_known != is_known || verdict->holds != holds ||
        verdict->best != best)
        fail_msg("%s: known %d, holds %d, best %zu", name, verdict->is_known,
                 verdict->holds, verdict->best);
}

static void test_throughput(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof throughput_cases / sizeof *throughput_cases; i++) {
        const struct throughput_case *c = &throughput_cases[i];
        verdict_t verdict = verdict_throughput(c->ops, 4, c->subject);
        check(c->name, &verdict, c->is_known, c->holds, c->best);
    }
}

static void test_cpu(void **state)
{
    (void)state;
    double limit_us = verdict_tail_limit(100, 100);

    assert_true(fabs(limit_us - 250) < 0.001);
    for (size_t i = 0; i < sizeof cpu_cases / sizeof *cpu_cases; i++) {
        const struct cpu_case *c = &cpu_cases[i];
        verdict_t verdict = verdict_cpu(c->rows, 3, 2, 1000, limit_us);
        check(c->name, &verdict, c->is_known, c->holds, c->best);
    }
}

static void test_lone_latency(void **state)
{
    (void)state;
    const double us[] = {100, 105, 106, (double)NAN};
    verdict_t verdict = verdict_latency(us, 1, 0);

    check("5 % more", &verdict, true, true, 0);
    verdict = verdict_latency(us, 2, 0);
    check("6 % more", &verdict, true, false, 0);
    verdict = verdict_latency(us, 3, 0);
    check("missing", &verdict, false, false, NONE);
    verdict = verdict_latency(us, NONE, 0);
    check("not measured", &verdict, false, false, NONE);
}

static void test_settled_and_tail(void **state)
{
    (void)state;
    verdict_t verdict = verdict_settled(100);

    check("in time", &verdict, true, true, NONE);
    verdict = verdict_settled(110);
    check("late", &verdict, true, false, NONE);
    verdict = verdict_settled(INFINITY);
    check("never", &verdict, true, false, NONE);
    verdict = verdict_settled((double)NAN);
    check("not measured", &verdict, false, false, NONE);
    verdict = verdict_tail(250, 250);
    check("at the limit", &verdict, true, true, NONE);
    verdict = verdict_tail(251, 250);
    check("over it", &verdict, true, false, NONE);
}

static void test_bars(void **state)
{
    (void)state;
    verdict_t verdict = verdict_at_least(1.5, 1.5);

    check("as much as the floor", &verdict, true, true, NONE);
    verdict = verdict_at_least(1.49, 1.5);
    check("below the floor", &verdict, true, false, NONE);
    verdict = verdict_at_most(0.7, 0.7);
    check("as much as the ceiling", &verdict, true, true, NONE);
    verdict = verdict_at_most(0.71, 0.7);
    check("above the ceiling", &verdict, true, false, NONE);
    verdict = verdict_at_most(0.71, (double)NAN);
    check("nothing is asked", &verdict, false, false, NONE);
    verdict = verdict_at_least((double)NAN, 1);
    check("not measured", &verdict, false, false, NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_throughput),   cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_lone_latency), cmocka_unit_test(test_settled_and_tail),
        cmocka_unit_test(test_bars),
    };
    return cmocka_run_group_tests_name("bench/verdict", tests, NULL, NULL);
}
