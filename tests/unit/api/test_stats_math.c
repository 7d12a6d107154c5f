/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <shoal/stats.h>

#define LAST (SHOAL_STATS_LATENCY_BUCKETS - 1)

/* clang-format off */
static const struct edge_case {
    size_t bucket;
    uint64_t us;
} edges[] = {
    {0, 0}, {1, 1}, {7, 7}, {8, 8}, {9, 10}, {10, 12}, {11, 14}, {12, 16}, {13, 20},
    {16, 32}, {20, 64}, {36, 1024}, {39, 1792}, {76, 1048576}, {124, UINT64_C(1) << 32},
    {LAST, UINT64_C(7) << 30}, {SHOAL_STATS_LATENCY_BUCKETS, UINT64_C(7) << 30},
    {SIZE_MAX, UINT64_C(7) << 30},
};
/* clang-format on */

static void test_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        assert_true(shoal_stats_bucket_us(edges[i].bucket) == edges[i].us);
}

static void test_buckets_are_at_most_a_quarter_wide(void **state)
{
    (void)state;
    for (size_t i = 8; i < LAST; i++) {
        uint64_t from_us = shoal_stats_bucket_us(i),
                 to_us = shoal_stats_bucket_us(i + 1);
        assert_true(to_us > from_us);
        assert_true((to_us - from_us) * 4 <= from_us);
    }
}

/* clang-format off */
static const struct quantile_case {
    const char *name;
    struct { size_t bucket; uint64_t commands; } filled[3];
    unsigned permille;
    uint64_t us;
} quantiles[] = {
    {"no command",                {{0, 0}},                       500, 0},
    {"one command, the median",   {{5, 1}},                       500, 6},
    {"one command, the least",    {{5, 1}},                         0, 6},
    {"one command, the most",     {{5, 1}},                      1000, 6},
    {"the lower half",            {{2, 5}, {20, 5}},              500, 3},
    {"just above it",             {{2, 5}, {20, 5}},              501, 80},
    {"rounded up",                {{2, 2}, {20, 1}},              667, 80},
    {"99 of 100",                 {{2, 99}, {36, 1}},             990, 3},
    {"the hundredth",             {{2, 99}, {36, 1}},             991, 1280},
    {"three buckets",             {{0, 10}, {1, 10}, {2, 10}},    600, 2},
    {"beyond 1000 is 1000",       {{2, 99}, {36, 1}},            5000, 1280},
    {"the last bucket",           {{LAST, 3}},                    500, UINT64_C(1) << 33},
    {"numbers beyond 32 bits",
     {{2, UINT64_C(1) << 60}, {36, UINT64_C(1) << 60}},           501, 1280},
};
/* clang-format on */

static void test_quantiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        const struct quantile_case *c = &quantiles[i];
        for (int stage = 0; stage < SHOAL_STAGES; stage++) {
            shoal_stats_t stats = {0};
            for (size_t k = 0; k < 3; k++)
                stats.latency[stage][c->filled[k].bucket] += c->filled[k].commands;
            uint64_t us =
                shoal_stats_latency_us(&stats, (shoal_stage_t)stage, c->permille);
            if (us != c->us)
                fail_msg("%s: %llu us", c->name, (unsigned long long)us);
        }
    }
}

static void test_nonsense_gives_zero(void **state)
{
    (void)state;
    shoal_stats_t stats = {.latency = {{1}}};

    assert_int_equal(shoal_stats_latency_us(NULL, SHOAL_STAGE_WIRE, 500), 0);
    assert_int_equal(shoal_stats_latency_us(&stats, SHOAL_STAGES, 500), 0);
    assert_int_equal(shoal_stats_latency_us(&stats, (shoal_stage_t)-1, 500), 0);
}

static void test_reasons_have_distinct_names(void **state)
{
    (void)state;
    for (int a = 0; a <= SHOAL_FLUSH_REASONS; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(shoal_flush_reason_name((shoal_flush_reason_t)a),
                                    shoal_flush_reason_name((shoal_flush_reason_t)b));
    assert_string_equal(shoal_flush_reason_name(SHOAL_FLUSHED_LONE), "lone");
    assert_string_equal(shoal_flush_reason_name((shoal_flush_reason_t)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_buckets_are_at_most_a_quarter_wide),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_nonsense_gives_zero),
        cmocka_unit_test(test_reasons_have_distinct_names),
    };
    return cmocka_run_group_tests_name("api/stats_math", tests, NULL, NULL);
}
