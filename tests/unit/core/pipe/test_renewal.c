/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/renewal.h"

#define SECOND_US 1000000

/* What happens at which time, and how it stands behind. */
typedef enum event { ASK, LOOK, LOOK_DRAINED, OVER } event_t;

/* clang-format off */
static const struct row {
    uint64_t now_us;
    event_t event;
    bool is_under_way, is_due;
    uint64_t end_us;
} rows[] = {
    /* now       event         under way  due    end */
    {5,          LOOK,         false,     false, SHOAL__NEVER_US},
    {5,          LOOK_DRAINED, false,     false, SHOAL__NEVER_US},
    {10,         ASK,          true,      false, 1000010},
    {500000,     ASK,          true,      false, 1000010}, /* its end is not put off */
    {1000009,    LOOK,         true,      false, 1000010},
    {1000009,    LOOK_DRAINED, true,      true,  1000010},
    {1000010,    LOOK,         true,      true,  1000010},
    {1000011,    OVER,         false,     false, SHOAL__NEVER_US},
    {1000011,    ASK,          true,      false, 2000011}, /* a second behind the first */
    {1000012,    OVER,         false,     false, SHOAL__NEVER_US},
    {2000010,    ASK,          false,     false, SHOAL__NEVER_US}, /* too soon */
    {2000010,    LOOK_DRAINED, false,     false, SHOAL__NEVER_US},
    {2000011,    ASK,          true,      false, 3000011},
};
/* clang-format on */

static void test_every_row(void **state)
{
    shoal__renewal_t renewal;

    (void)state;
    shoal__renewal_init(&renewal);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];

        if (row->event == ASK)
            shoal__renewal_ask(&renewal, "a reason", row->now_us);
        if (row->event == OVER)
            shoal__renewal_over(&renewal);
        bool is_due =
            shoal__renewal_is_due(&renewal, row->event == LOOK_DRAINED, row->now_us);
        if (shoal__renewal_is_under_way(&renewal) != row->is_under_way ||
            is_due != row->is_due || renewal.end_us != row->end_us)
            fail_msg("row %zu: under way %d, due %d, end %llu", i,
                     shoal__renewal_is_under_way(&renewal), is_due,
                     (unsigned long long)renewal.end_us);
    }
}

/* A server that asks for it all the time gets one a second. */
static void test_renewals_are_spaced(void **state)
{
    shoal__renewal_t renewal;
    unsigned begun = 0;

    (void)state;
    shoal__renewal_init(&renewal);
    for (uint64_t now_us = 1; now_us < 10 * (uint64_t)SECOND_US; now_us += 1000) {
        shoal__renewal_ask(&renewal, "again", now_us);
        begun += shoal__renewal_is_under_way(&renewal);
        if (shoal__renewal_is_due(&renewal, true, now_us))
            shoal__renewal_over(&renewal);
    }
    assert_int_equal(begun, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_renewals_are_spaced),
    };
    return cmocka_run_group_tests_name("core/pipe/renewal", tests, NULL, NULL);
}
