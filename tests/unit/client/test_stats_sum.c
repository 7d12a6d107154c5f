/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/stats_sum.h"

#define OF(field) (offsetof(shoal_stats_t, field) / sizeof(uint64_t))

/* clang-format off */
static const struct sum_case {
    const char *name;
    size_t field;
    uint64_t one, other, sum;
} sum_cases[] = {
    {"the size stays",                OF(size),              3,    4,   3},
    {"replies are added",             OF(replies),           3,    4,   7},
    {"so is what is queued now",      OF(queued_now),        3,    4,   7},
    {"and a histogram's bucket",      OF(batch_histogram[5]), 3,   4,   7},
    {"and the last of the latencies",
     OF(latency[SHOAL_STAGES - 1][SHOAL_STATS_LATENCY_BUCKETS - 1]), 3, 4, 7},
    {"and a reason of the future",
     OF(flush_reasons[SHOAL_STATS_REASONS_ROOM - 1]),        3,    4,   7},
    {"and the last field",            OF(reordered),         3,    4,   7},
    {"callers of both are there",     OF(callers_now),       3,    4,   7},
    {"one open loop is one",          OF(is_open_now),       1,    1,   1},
    {"no open loop is none",          OF(is_open_now),       0,    0,   0},
    {"the slower round trip",         OF(rtt_us_now),      200,  900, 900},
    {"the later wake-up",             OF(late_us_now),      20,   10,  20},
    {"two streams of 1000 ns",        OF(gap_ns_now),     1000, 1000, 500},
    {"a stream beside none",          OF(gap_ns_now),        0, 1000, 1000},
    {"a fast stream beside a slow",   OF(gap_ns_now),      100,  900,  90},
};
/* clang-format on */

static void check(const struct sum_case *c, uint64_t one, uint64_t other)
{
    uint64_t left[sizeof(shoal_stats_t) / sizeof(uint64_t)] = {0};
    uint64_t right[sizeof(shoal_stats_t) / sizeof(uint64_t)] = {0};
    shoal_stats_t sum, stats;

    left[c->field] = one;
    right[c->field] = other;
    memcpy(&sum, left, sizeof sum);
    memcpy(&stats, right, sizeof stats);
    shoal__stats_sum_add(&sum, &stats);
    memcpy(left, &sum, sizeof left);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] != (i == c->field ? c->sum : 0))
            fail_msg("%s: field %zu is %llu", c->name, i, (unsigned long long)left[i]);
    }
}

static void test_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sum_cases / sizeof *sum_cases; i++) {
        check(&sum_cases[i], sum_cases[i].one, sum_cases[i].other);
        if (sum_cases[i].field != OF(size))
            check(&sum_cases[i], sum_cases[i].other, sum_cases[i].one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};

    return cmocka_run_group_tests_name("client/stats_sum", tests, NULL, NULL);
}
