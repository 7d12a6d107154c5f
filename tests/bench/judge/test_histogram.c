/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static histogram_t histogram;

static void fill(uint64_t first_ns, uint64_t step_ns, uint64_t count)
{
    histogram_clear(&histogram);
    for (uint64_t i = 0; i < count; i++)
        histogram_record(&histogram, first_ns + i * step_ns);
}

static void assert_near(double value, double wanted)
{
    if (fabs(value - wanted) > wanted * 0.001)
        fail_msg("%f, want %f", value, wanted);
}

static double quantile(double share)
{
    double us;
    histogram_quantiles_us(&histogram, &share, 1, &us);
    return us;
}

static void test_quantiles_are_those_of_the_values(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        double share, us;
    } cases[] = {
        {0, 10}, {0.5, 5000}, {0.9, 9000}, {0.99, 9900}, {0.999, 9990}, {1, 10000},
    };
    /* clang-format on */

    fill(10000, 10000, 1000); /* 10 us, 20 us ... 10 000 us */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(quantile(cases[i].share), cases[i].us);
    assert_near(histogram_mean_us(&histogram), 5005);
    assert_near(histogram_deviation_us(&histogram), 2886.75);
}

static void test_every_value_is_kept_to_a_thousandth(void **state)
{
    (void)state;
    for (uint64_t ns = 1; ns < 1ull << 40; ns += 1 + ns / 7) {
        histogram_clear(&histogram);
        histogram_record(&histogram, ns);
        assert_near(quantile(1), (double)ns / 1e3);
    }
}

static void test_an_empty_one_has_no_quantile(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    assert_true(isnan(quantile(0.5)));
    assert_true(isnan(histogram_mean_us(&histogram)));
}

static void test_counts_add_up(void **state)
{
    (void)state;
    histogram_t *sum = calloc(1, sizeof *sum);

    fill(1000, 1, 700);
    histogram_add(sum, &histogram);
    histogram_add(sum, &histogram);
    assert_int_equal(histogram_total(sum), 1400);
    free(sum);
}

/* Each line's share is reached by its count, values and counts grow, and the tail has
 * the totals. */
static void test_hgrm_is_a_distribution(void **state)
{
    (void)state;
    char line[160];
    double last_us = 0;
    unsigned long long last_count = 0;
    size_t lines = 0;
    FILE *file = tmpfile();

    assert_non_null(file);
    fill(1000, 1000, 20000);
    histogram_write_hgrm(&histogram, file);
    rewind(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, "Value     Percentile TotalCount 1/(1-Percentile)"));
    while (fgets(line, sizeof line, file) && line[0] != '#') {
        double us;
        double share;
        unsigned long long count;
        if (sscanf(line, "%lf %lf %llu", &us, &share, &count) != 3)
            continue;
        assert_true(us >= last_us && count >= last_count);
        assert_true((double)count >= share * 20000 - 0.001);
        last_us = us;
        last_count = count;
        lines++;
    }
    assert_int_equal(last_count, 20000);
    assert_near(last_us, 20000);
    assert_true(lines > 50 && lines < 200);
    assert_non_null(strstr(line, "#[Mean    =    10000"));
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(strstr(line, "Total count    =        20000]"));
    fclose(file);
}

static void test_hgrm_of_nothing_ends(void **state)
{
    (void)state;
    char text[400] = "";
    FILE *file = tmpfile();

    assert_non_null(file);
    histogram_clear(&histogram);
    histogram_write_hgrm(&histogram, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_non_null(strstr(text, "Total count    =            0]"));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_are_those_of_the_values),
        cmocka_unit_test(test_every_value_is_kept_to_a_thousandth),
        cmocka_unit_test(test_an_empty_one_has_no_quantile),
        cmocka_unit_test(test_counts_add_up),
        cmocka_unit_test(test_hgrm_is_a_distribution),
        cmocka_unit_test(test_hgrm_of_nothing_ends),
    };
    return cmocka_run_group_tests_name("bench/histogram", tests, NULL, NULL);
}
