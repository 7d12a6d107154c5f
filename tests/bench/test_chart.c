/* SPDX-License-Identifier: MIT */
#include "chart_scale.h"
#include "svg.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPACE "\u00a0"
#define LABELS_MAX 8

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b)));
}

static void check_values(const char *name, const double *got, const double *want,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_near(got[i], want[i]))
            fail_msg("%s: value %zu is %g, want %g", name, i, got[i], want[i]);
    }
}

struct cover_case {
    const char *name;
    bool is_log;
    double low, high;
    double want_low, want_high;
};

/* clang-format off */
static const struct cover_case cover_cases[] = {
    {"linear begins at 0",              false,  40,   93,    0,  100},
    {"linear ends at a round value",    false,   0,  103,    0,  150},
    {"linear, exactly round",           false,   0,  100,    0,  100},
    {"linear, below 1",                 false,   0, 0.37,    0,  0.4},
    {"linear, nothing but zero",        false,   0,    0,    0,    1},
    {"log ends at 1, 2 or 5",            true,  13,  430,   10,  500},
    {"log, exactly at its ends",         true,  20, 1000,   20, 1000},
    {"log, below 1",                     true, 0.3,   30,  0.2,   50},
    {"log, a single value",              true,   5,    5,    2,   10},
    {"log, nothing",                     true, (double)NAN, (double)NAN, 1, 10},
};
/* clang-format on */

static void test_scales_cover_their_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cover_cases / sizeof *cover_cases; i++) {
        const struct cover_case *c = &cover_cases[i];
        chart_scale_t scale = {.is_log = c->is_log, .to = 100};
        chart_scale_cover(&scale, c->low, c->high);
        check_values(c->name, (const double[]){scale.low, scale.high},
                     (const double[]){c->want_low, c->want_high}, 2);
    }
}

static void test_values_have_their_place(void **state)
{
    (void)state;
    const chart_scale_t linear = {.low = 0, .high = 50, .from = 10, .to = 110};
    const chart_scale_t upward = {.is_log = true, .low = 1, .high = 1e4, .from = 200};

    assert_true(is_near(chart_scale_at(&linear, 0), 10));
    assert_true(is_near(chart_scale_at(&linear, 25), 60));
    assert_true(is_near(chart_scale_at(&upward, 1), 200));
    assert_true(is_near(chart_scale_at(&upward, 100), 100));
    assert_true(isnan(chart_scale_at(&linear, (double)NAN)));
    assert_true(isnan(chart_scale_at(&upward, 0)));
    assert_true(isnan(chart_scale_at(&upward, -3)));
}

struct ticks_case {
    const char *name;
    bool is_log;
    double low, high;
    size_t wanted, count;
    double ticks[CHART_TICKS_MAX];
};

/* clang-format off */
static const struct ticks_case ticks_cases[] = {
    {"linear",                    false,   0,  100,  6, 6, {0, 20, 40, 60, 80, 100}},
    {"linear, fewer",             false,   0,  100,  3, 3, {0, 50, 100}},
    {"linear, thousands",         false,   0, 3000,  4, 4, {0, 1000, 2000, 3000}},
    {"linear, fractions",         false,   0,  0.4,  5, 5, {0, 0.1, 0.2, 0.3, 0.4}},
    {"log, 1 2 5",                 true,  10,  200,  7, 5, {10, 20, 50, 100, 200}},
    {"log, 1 3 when 1 2 5 crowd",  true,  10, 1000,  5, 5, {10, 30, 100, 300, 1000}},
    {"log, powers of ten",         true,   1,  1e4,  5, 5, {1, 10, 100, 1000, 1e4}},
    {"log, every second power",    true,   1,  1e8,  5, 5, {1, 100, 1e4, 1e6, 1e8}},
    {"log, below 1",               true, 0.1,    1,  4, 4, {0.1, 0.2, 0.5, 1}},
    {"log, a short way",           true,  20,   50,  5, 4, {20, 30, 40, 50}},
    {"log, a shorter way",         true, 1e3,  2e3,  6, 6, {1000, 1200, 1400, 1600, 1800, 2000}},
    {"log, between the powers",    true,  20,  500,  5, 5, {20, 50, 100, 200, 500}},
};
/* clang-format on */

static void test_ticks_are_round_and_few(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ticks_cases / sizeof *ticks_cases; i++) {
        const struct ticks_case *c = &ticks_cases[i];
        const chart_scale_t scale = {
            .is_log = c->is_log, .low = c->low, .high = c->high};
        double ticks[CHART_TICKS_MAX];
        size_t count = chart_scale_ticks(&scale, c->wanted, ticks);
        if (count != c->count)
            fail_msg("%s: %zu ticks, want %zu", c->name, count, c->count);
        check_values(c->name, ticks, c->ticks, count);
    }
}

struct spread_case {
    const char *name;
    size_t count;
    double gap, low, high;
    double wishes[LABELS_MAX], want[LABELS_MAX];
};

/* clang-format off */
static const struct spread_case spread_cases[] = {
    {"none",                      0, 10,  0, 100, {0}, {0}},
    {"one stays",                 1, 10,  0, 100, {42}, {42}},
    {"one comes in",              1, 10,  0, 100, {130}, {100}},
    {"far apart, all stay",       3, 10,  0, 100, {90, 10, 50}, {90, 10, 50}},
    {"exactly the gap, all stay", 2, 10,  0, 100, {50, 60}, {50, 60}},
    {"two on one spot",           2, 10,  0, 100, {50, 50}, {45, 55}},
    {"their order stays",         2, 10,  0, 100, {52, 50}, {56, 46}},
    {"pushed off the lower end",  2, 10,  0, 100, {1, 2}, {0, 10}},
    {"pushed off the upper end",  2, 10,  0, 100, {99, 98}, {100, 90}},
    {"a push reaches the next",   3, 10,  0, 100, {50, 50, 58}, {42.6666666666667, 52.6666666666667, 62.6666666666667}},
    {"two crowds",                4, 10,  0, 100, {20, 20, 70, 70}, {15, 25, 65, 75}},
    {"no room: evenly",           5, 50,  0, 100, {9, 9, 9, 9, 9}, {0, 25, 50, 75, 100}},
};
/* clang-format on */

static void test_labels_do_not_cover_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spread_cases / sizeof *spread_cases; i++) {
        const struct spread_case *c = &spread_cases[i];
        double positions[LABELS_MAX];
        memcpy(positions, c->wishes, sizeof positions);
        chart_spread(positions, c->count, c->gap, c->low, c->high);
        check_values(c->name, positions, c->want, c->count);
    }
}

/* Whatever the wishes, neighbours end up a gap apart and inside. */
static void test_spreading_holds_for_random_wishes(void **state)
{
    (void)state;
    uint64_t random = 1;

    for (int i = 0; i < 2000; i++) {
        double positions[LABELS_MAX];
        for (size_t k = 0; k < LABELS_MAX; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            positions[k] = (double)(random >> 40) / (1 << 24) * 240 - 20;
        }
        chart_spread(positions, LABELS_MAX, 14, 0, 200);
        for (size_t k = 0; k < LABELS_MAX; k++) {
            assert_true(positions[k] >= -1e-6 && positions[k] <= 200 + 1e-6);
            for (size_t m = 0; m < k; m++)
                assert_true(fabs(positions[k] - positions[m]) >= 14 - 1e-6);
        }
    }
}

struct thin_case {
    const char *name;
    size_t count;
    double middles[LABELS_MAX], width;
    const char *kept; /* x: yes */
};

/* clang-format off */
static const struct thin_case thin_cases[] = {
    {"one",                       1, {50}, 20, "x"},
    {"all fit",                   3, {0, 50, 100}, 50, "xxx"},
    {"the middle does not",       3, {0, 30, 60}, 50, "x-x"},
    {"the last goes before",      4, {0, 40, 80, 100}, 40, "xx-x"},
    {"all on one spot",           3, {9, 9, 9}, 10, "--x"},
};
/* clang-format on */

static void test_axis_labels_are_thinned(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof thin_cases / sizeof *thin_cases; i++) {
        const struct thin_case *c = &thin_cases[i];
        double widths[LABELS_MAX];
        bool is_kept[LABELS_MAX];
        for (size_t k = 0; k < c->count; k++)
            widths[k] = c->width;
        chart_thin(c->middles, widths, c->count, is_kept);
        for (size_t k = 0; k < c->count; k++) {
            if (is_kept[k] != (c->kept[k] == 'x'))
                fail_msg("%s: label %zu", c->name, k);
        }
    }
}

struct number_case {
    double number;
    const char *number_text;
    const char *tick_text;
};

/* clang-format off */
static const struct number_case number_cases[] = {
    {0,         "0",              "0"},
    {0.035,     "0.035",          "0.035"},
    {0.2,       "0.20",           "0.2"},
    {1,         "1.00",           "1"},
    {9.994,     "9.99",           "9.99"},
    {9.996,     "10.0",           "10"},
    {99.96,     "100",            "100"},
    {142.4,     "142",            "142"},
    {999.4,     "999",            "999"},
    {999.6,     "1.00" SPACE "k", "1" SPACE "k"},
    {1500,      "1.50" SPACE "k", "1.5" SPACE "k"},
    {140000,    "140" SPACE "k",  "140" SPACE "k"},
    {999600,    "1.00" SPACE "M", "1" SPACE "M"},
    {1.2e6,     "1.20" SPACE "M", "1.2" SPACE "M"},
    {3e9,       "3.00" SPACE "G", "3" SPACE "G"},
    {5e12,      "5000" SPACE "G", "5e+03" SPACE "G"},
};
/* clang-format on */

static void test_numbers_have_three_digits_and_a_suffix(void **state)
{
    (void)state;
    char text[40];

    for (size_t i = 0; i < sizeof number_cases / sizeof *number_cases; i++) {
        const struct number_case *c = &number_cases[i];
        assert_string_equal(chart_number(c->number, text, sizeof text), c->number_text);
        assert_string_equal(chart_tick_text(c->number, text, sizeof text),
                            c->tick_text);
    }
    assert_string_equal(chart_number((double)NAN, text, sizeof text), "-");
    assert_string_equal(chart_number((double)INFINITY, text, sizeof text), "-");
}

static void test_text_from_outside_stays_text(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    svg_escape(out, "<script>\"&'\x01\u00b5");
    fclose(out);
    assert_string_equal(text, "&lt;script&gt;&quot;&amp;&#39;&#xFFFD;\u00b5");
    free(text);
}

static void test_what_is_not_known_breaks_a_line(void **state)
{
    (void)state;
    const double unknown = (double)NAN;
    const svg_point_t points[] = {{unknown, 1}, {1, 2}, {2, 3}, {3, unknown}, {4, 5}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    svg_path(out, "line", points, sizeof points / sizeof *points);
    fclose(out);
    assert_string_equal(text,
                        "<path class=\"line\" d=\"M1.0 2.0L2.0 3.0M4.0 5.0\"/>\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_cover_their_values),
        cmocka_unit_test(test_values_have_their_place),
        cmocka_unit_test(test_ticks_are_round_and_few),
        cmocka_unit_test(test_labels_do_not_cover_each_other),
        cmocka_unit_test(test_spreading_holds_for_random_wishes),
        cmocka_unit_test(test_axis_labels_are_thinned),
        cmocka_unit_test(test_numbers_have_three_digits_and_a_suffix),
        cmocka_unit_test(test_text_from_outside_stays_text),
        cmocka_unit_test(test_what_is_not_known_breaks_a_line),
    };
    return cmocka_run_group_tests_name("bench/chart", tests, NULL, NULL);
}
