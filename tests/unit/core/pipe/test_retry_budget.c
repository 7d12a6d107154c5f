/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/retry_budget.h"

static void earn(shoal__retry_budget_t *budget, int answers)
{
    for (int i = 0; i < answers; i++)
        shoal__retry_budget_earn(budget);
}

/* The upper half of ten tokens may be spent; an answer gives back a tenth.  (I13) */
static void test_a_tenth_more_load(void **state)
{
    shoal__retry_budget_t budget;
    int spent = 0;

    (void)state;
    shoal__retry_budget_init(&budget);
    for (; shoal__retry_budget_allows(&budget); spent++)
        shoal__retry_budget_spend(&budget);
    assert_int_equal(spent, 5);
    for (int answers = 0; answers < 1000; answers++) {
        earn(&budget, 1);
        if (shoal__retry_budget_allows(&budget)) {
            shoal__retry_budget_spend(&budget);
            spent++;
        }
    }
    assert_in_range(spent, 5 + 90, 5 + 101);
}

/* It never holds more than ten, and never less than none. */
static void test_bounds(void **state)
{
    shoal__retry_budget_t budget;

    (void)state;
    shoal__retry_budget_init(&budget);
    earn(&budget, 1000);
    for (int i = 0; i < 100; i++)
        shoal__retry_budget_spend(&budget);
    assert_int_equal(budget.tokens_10, 0);
    earn(&budget, 50);
    assert_false(shoal__retry_budget_allows(&budget));
    earn(&budget, 1);
    assert_true(shoal__retry_budget_allows(&budget));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tenth_more_load),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests_name("core/pipe/retry_budget", tests, NULL, NULL);
}
