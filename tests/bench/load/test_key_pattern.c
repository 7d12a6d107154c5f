/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/key_pattern.h"

#include <string.h>

#define KEYS 1000u
#define DRAWS 100000u

static uint32_t counts[KEYS];

static void draw_all(key_pattern_kind_t kind, uint64_t limit, uint64_t seed)
{
    key_pattern_t pattern;
    uint64_t state = seed;

    memset(counts, 0, sizeof counts);
    key_pattern_init(&pattern, kind, limit);
    for (uint32_t i = 0; i < DRAWS; i++) {
        uint64_t number = key_pattern_draw(&pattern, &state);
        assert_true(number < limit);
        if (number < KEYS)
            counts[number]++;
    }
}

static uint32_t sum_of(size_t first, size_t last)
{
    uint32_t sum = 0;
    for (size_t i = first; i < last; i++)
        sum += counts[i];
    return sum;
}

/* The seeds are fixed, so these are the same numbers every time. */
static void test_uniform_is_level(void **state)
{
    (void)state;
    draw_all(KEY_UNIFORM, KEYS, 1);
    for (size_t i = 0; i < KEYS; i += 100)
        assert_in_range(sum_of(i, i + 100), 9500, 10500);
}

static void test_sequential_takes_each_in_turn(void **state)
{
    (void)state;
    draw_all(KEY_SEQUENTIAL, KEYS, 123456789);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(counts[i], DRAWS / KEYS);
}

static void test_gaussian_is_around_the_middle(void **state)
{
    (void)state;
    draw_all(KEY_GAUSSIAN, KEYS, 1);
    /* 68.3 % within one deviation, a sixth of the limit; 95.4 % within two */
    assert_in_range(sum_of(333, 667), 67000, 69500);
    assert_in_range(sum_of(167, 833), 94500, 96500);
    assert_in_range(sum_of(0, 500), 49000, 51000);
}

static void test_zipf_follows_its_law(void **state)
{
    (void)state;
    draw_all(KEY_ZIPF, KEYS, 1);
    /* With exponent 0.99 the sum of 1 / k^0.99 up to 1000 is 7.73. */
    assert_in_range(counts[0], 12500, 13400);
    assert_in_range(counts[1], 6200, 6900);
    assert_in_range(sum_of(0, 10), 37000, 39500);
    assert_in_range(sum_of(500, 1000), 8500, 10500);
}

static void test_zipf_has_no_bound_that_hurts(void **state)
{
    (void)state;
    draw_all(KEY_ZIPF, 1000000000000u, 5);
    assert_true(counts[0] > counts[9]);
    assert_true(counts[9] > 0);
}

static void test_one_key_is_always_that(void **state)
{
    (void)state;
    for (int kind = KEY_UNIFORM; kind <= KEY_ZIPF; kind++) {
        draw_all((key_pattern_kind_t)kind, 1, 3);
        assert_int_equal(counts[0], DRAWS);
    }
}

static void test_a_seed_decides_everything(void **state)
{
    (void)state;
    for (int kind = KEY_UNIFORM; kind <= KEY_ZIPF; kind++) {
        key_pattern_t pattern;
        uint64_t first = 42;
        uint64_t second = 42;

        key_pattern_init(&pattern, (key_pattern_kind_t)kind, 1000000);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(key_pattern_draw(&pattern, &first),
                             key_pattern_draw(&pattern, &second));
    }
}

static void test_names_are_understood(void **state)
{
    (void)state;
    key_pattern_kind_t kind;

    for (int i = KEY_UNIFORM; i <= KEY_ZIPF; i++) {
        assert_int_equal(
            key_pattern_parse(key_pattern_name((key_pattern_kind_t)i), &kind), 0);
        assert_int_equal(kind, i);
    }
    assert_int_equal(key_pattern_parse("zip", &kind), -1);
    assert_int_equal(key_pattern_parse("", &kind), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform_is_level),
        cmocka_unit_test(test_sequential_takes_each_in_turn),
        cmocka_unit_test(test_gaussian_is_around_the_middle),
        cmocka_unit_test(test_zipf_follows_its_law),
        cmocka_unit_test(test_zipf_has_no_bound_that_hurts),
        cmocka_unit_test(test_one_key_is_always_that),
        cmocka_unit_test(test_a_seed_decides_everything),
        cmocka_unit_test(test_names_are_understood),
    };
    return cmocka_run_group_tests_name("bench/key_pattern", tests, NULL, NULL);
}
