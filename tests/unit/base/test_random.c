/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"

/* The published outputs of splitmix64 for seed 1234567. */
static void test_the_sequence_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821)};
    shoal__random_t random;

    shoal__random_init(&random, 1234567);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(shoal__random_next(&random) == expected[i]);
}

static void test_numbers_stay_below_the_bound(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {1, 2, 3, 1000, UINT64_C(1) << 63, UINT64_MAX};
    shoal__random_t random;

    shoal__random_init(&random, 1);
    assert_true(shoal__random_below(&random, 0) == 0);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        for (int round = 0; round < 1000; round++)
            assert_true(shoal__random_below(&random, bounds[i]) < bounds[i]);
}

static void test_every_number_comes_about_equally_often(void **state)
{
    (void)state;
    shoal__random_t random;
    int seen[6] = {0};

    shoal__random_init(&random, 99);
    for (int round = 0; round < 60000; round++)
        seen[shoal__random_below(&random, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(seen[i], 9500, 10500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sequence_is_splitmix64),
        cmocka_unit_test(test_numbers_stay_below_the_bound),
        cmocka_unit_test(test_every_number_comes_about_equally_often),
    };
    return cmocka_run_group_tests_name("base/random", tests, NULL, NULL);
}
