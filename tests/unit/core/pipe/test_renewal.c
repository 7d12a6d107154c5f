/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/renewal.h"

#define SECOND_US 1000000

/* What happens at which time, and how it stands behind. */
typedef enum event { ASK, LOOK, LOOK_DRAINED, OVER, ANEW } event_t;

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
    {3000010,    ASK,          false,     false, SHOAL__NEVER_US}, /* too soon */
    {3000010,    LOOK_DRAINED, false,     false, SHOAL__NEVER_US},
    {3000011,    ASK,          true,      false, 4000011}, /* two behind the second */
    {3000012,    OVER,         false,     false, SHOAL__NEVER_US},
    {3000013,    ANEW,         false,     false, SHOAL__NEVER_US},
    {4000010,    ASK,          false,     false, SHOAL__NEVER_US},
    {4000011,    ASK,          true,      false, 5000011}, /* one again */
    {4000012,    OVER,         false,     false, SHOAL__NEVER_US},
    {6000010,    ASK,          false,     false, SHOAL__NEVER_US}, /* and two */
    {6000011,    ASK,          true,      false, 7000011},
    {6000012,    OVER,         false,     false, SHOAL__NEVER_US},
    {36000010,   ASK,          true,      false, 37000010}, /* four are over */
    {36000012,   OVER,         false,     false, SHOAL__NEVER_US},
    {37000011,   ASK,          false,     false, SHOAL__NEVER_US}, /* now it is eight */
    {67000011,   ASK,          true,      false, 68000011}, /* nobody asked for long */
    {67000012,   OVER,         false,     false, SHOAL__NEVER_US},
    {68000011,   ASK,          true,      false, 69000011},
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
        if (row->event == ANEW)
            shoal__renewal_anew(&renewal);
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

/* A server that gives cause all the time gets fewer and fewer. */
static void test_renewals_are_spaced(void **state)
{
    static const unsigned seconds[] = {0, 1, 3, 7, 15, 31, 61, 91, 121};
    shoal__renewal_t renewal;
    unsigned begun = 0;

    (void)state;
    shoal__renewal_init(&renewal);
    for (uint64_t now_us = 0; now_us <= 130 * (uint64_t)SECOND_US; now_us += 250000) {
        shoal__renewal_ask(&renewal, "again", now_us);
        if (!shoal__renewal_is_under_way(&renewal))
            continue;
        assert_true(begun < sizeof seconds / sizeof *seconds);
        assert_int_equal(now_us, seconds[begun++] * (uint64_t)SECOND_US);
        assert_true(shoal__renewal_is_due(&renewal, true, now_us));
        shoal__renewal_over(&renewal);
    }
    assert_int_equal(begun, sizeof seconds / sizeof *seconds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_renewals_are_spaced),
    };
    return cmocka_run_group_tests_name("core/pipe/renewal", tests, NULL, NULL);
}
