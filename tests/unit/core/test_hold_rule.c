/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/hold_rule.h"

#define NOW 5000000

static shoal__random_t chance;
static shoal__hold_t hold;

static int set_up(void **state)
{
    (void)state;
    shoal__random_init(&chance, 1);
    hold = (shoal__hold_t){0};
    return 0;
}

/* ---- states ---- */

typedef enum step {
    REFUSED, /* scope */
    ANSWERED_RO,
    ANSWERED_WRITE,
    LOOKED_BUSY, /* something is in flight; before the time */
    LOOKED_IDLE, /* nothing is; before the time */
    DUE_BUSY,
    DUE_IDLE,
    LOST
} step_t;

#define ALONE SHOAL__HOLD_ALONE
#define WRITES SHOAL__HOLD_WRITES
#define ALL SHOAL__HOLD_ALL
#define OPEN SHOAL__HOLD_OPEN
#define GATHERING SHOAL__HOLD_GATHERING
#define WAITING SHOAL__HOLD_WAITING
#define PROBING SHOAL__HOLD_PROBING
#define ANY SHOAL__HOLD_LEAVE_ANY
#define READS SHOAL__HOLD_LEAVE_READS
#define PROBE SHOAL__HOLD_LEAVE_PROBE
#define NONE SHOAL__HOLD_LEAVE_NONE

/* clang-format off */
static const struct row {
    shoal__hold_state_t from;
    shoal__hold_scope_t scope;
    step_t step;
    int argument;  /* REFUSED: the new scope; looks: is it due? */
    shoal__hold_state_t to;
    shoal__hold_leave_t leave; /* then, before the time */
} rows[] = {
    {OPEN,      ALL,    REFUSED,        ALL,    GATHERING, NONE},
    {OPEN,      ALL,    REFUSED,        WRITES, GATHERING, NONE},
    {OPEN,      ALL,    REFUSED,        ALONE,  GATHERING, ANY},
    {GATHERING, WRITES, REFUSED,        ALL,    GATHERING, NONE},
    {GATHERING, ALL,    REFUSED,        ALONE,  GATHERING, NONE},
    {WAITING,   WRITES, REFUSED,        ALONE,  WAITING,   READS},
    {WAITING,   WRITES, REFUSED,        ALL,    GATHERING, NONE},
    {WAITING,   ALONE,  REFUSED,        WRITES, GATHERING, NONE},
    {WAITING,   ALONE,  REFUSED,        ALONE,  WAITING,   ANY},
    {PROBING,   ALL,    REFUSED,        ALL,    GATHERING, NONE},
    {PROBING,   ALL,    REFUSED,        WRITES, GATHERING, NONE},

    {OPEN,      ALL,    ANSWERED_WRITE, 0,      OPEN,      ANY},
    {GATHERING, ALL,    ANSWERED_WRITE, 0,      GATHERING, NONE},
    {GATHERING, ALL,    ANSWERED_RO,    0,      GATHERING, NONE},
    {GATHERING, WRITES, ANSWERED_RO,    0,      GATHERING, NONE},
    {GATHERING, WRITES, ANSWERED_WRITE, 0,      GATHERING, NONE},
    {GATHERING, ALONE,  ANSWERED_WRITE, 0,      GATHERING, ANY},
    {WAITING,   ALONE,  ANSWERED_RO,    0,      WAITING,   ANY},
    {OPEN,      ALONE,  ANSWERED_WRITE, 0,      OPEN,      ANY},
    {WAITING,   WRITES, ANSWERED_RO,    0,      WAITING,   READS},
    {PROBING,   ALL,    ANSWERED_RO,    0,      OPEN,      ANY},
    {PROBING,   WRITES, ANSWERED_RO,    0,      PROBING,   PROBE},
    {PROBING,   WRITES, ANSWERED_WRITE, 0,      OPEN,      ANY},

    {OPEN,      ALL,    DUE_IDLE,       0,      OPEN,      ANY},
    {GATHERING, ALL,    LOOKED_BUSY,    0,      GATHERING, NONE},
    {GATHERING, ALL,    LOOKED_IDLE,    0,      WAITING,   NONE},
    {GATHERING, ALL,    DUE_BUSY,       0,      GATHERING, NONE},
    {GATHERING, ALL,    DUE_IDLE,       1,      WAITING,   NONE},
    {GATHERING, WRITES, LOOKED_IDLE,    0,      WAITING,   READS},
    {GATHERING, ALONE,  LOOKED_BUSY,    0,      WAITING,   ANY},
    {GATHERING, ALONE,  DUE_BUSY,       1,      WAITING,   ANY},
    {WAITING,   WRITES, DUE_BUSY,       0,      WAITING,   READS},
    {WAITING,   WRITES, DUE_IDLE,       1,      WAITING,   READS},
    {WAITING,   ALL,    LOOKED_IDLE,    0,      WAITING,   NONE},
    {PROBING,   ALL,    DUE_IDLE,       0,      PROBING,   PROBE},

    {OPEN,      ALL,    LOST,           0,      OPEN,      ANY},
    {GATHERING, ALL,    LOST,           0,      WAITING,   NONE},
    {PROBING,   ALL,    LOST,           0,      WAITING,   NONE},
    {WAITING,   WRITES, LOST,           0,      WAITING,   READS},
};
/* clang-format on */

static bool do_step(step_t step, int argument)
{
    switch (step) {
    case REFUSED:
        shoal__hold_refused(&hold, (shoal__hold_scope_t)argument, NOW, &chance);
        return argument != 0;
    case ANSWERED_RO:
        shoal__hold_answered(&hold, SHOAL__CLASS_RO);
        return false;
    case ANSWERED_WRITE:
        shoal__hold_answered(&hold, SHOAL__CLASS_WRITE);
        return false;
    case LOOKED_BUSY:
        return shoal__hold_is_due(&hold, false, hold.due_us - 1);
    case LOOKED_IDLE:
        return shoal__hold_is_due(&hold, true, hold.due_us - 1);
    case DUE_BUSY:
        return shoal__hold_is_due(&hold, false, hold.due_us);
    case DUE_IDLE:
        return shoal__hold_is_due(&hold, true, hold.due_us);
    case LOST:
        shoal__hold_lost(&hold);
        return argument != 0;
    }
    return false;
}

static void test_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];

        hold = (shoal__hold_t){
            .state = row->from, .scope = row->scope, .due_us = NOW + 10000};
        if (do_step(row->step, row->argument) != (row->argument != 0) ||
            hold.state != row->to)
            fail_msg("row %zu: state %d", i, (int)hold.state);
        if (shoal__hold_leave(&hold, NOW) != row->leave)
            fail_msg("row %zu: leave %d", i, (int)shoal__hold_leave(&hold, NOW));
    }
}

static void test_what_was_put_back_is_probed_or_free(void **state)
{
    (void)state;
    hold = (shoal__hold_t){.state = WAITING, .scope = ALL};
    shoal__hold_put_back(&hold);
    assert_int_equal(hold.state, PROBING);
    hold = (shoal__hold_t){.state = WAITING, .scope = ALONE};
    shoal__hold_put_back(&hold);
    assert_int_equal(hold.state, OPEN);
}

/* ---- times ---- */

static void test_reads_stop_for_the_probe(void **state)
{
    (void)state;
    hold = (shoal__hold_t){.state = WAITING, .scope = WRITES, .due_us = NOW};
    assert_int_equal(shoal__hold_leave(&hold, NOW - 1), READS);
    assert_int_equal(shoal__hold_leave(&hold, NOW), NONE);
}

/* The second half of each pause is random. */
static void test_pauses_double(void **state)
{
    static const uint64_t most_us[] = {10000,  20000,  40000,  80000,
                                       160000, 250000, 250000, 250000};
    (void)state;

    for (int run = 0; run < 1000; run++) {
        uint64_t now_us = NOW;

        hold = (shoal__hold_t){0};
        for (size_t i = 0; i < sizeof most_us / sizeof *most_us; i++) {
            assert_int_equal(shoal__hold_next_us(&hold, now_us), now_us + most_us[i]);
            shoal__hold_refused(&hold, ALL, now_us, &chance);
            assert_in_range(hold.due_us - now_us, most_us[i] / 2, most_us[i]);
            assert_int_equal(hold.refusals, i + 1);
            assert_int_equal(hold.since_us, NOW);
            now_us = hold.due_us;
            assert_true(shoal__hold_is_due(&hold, true, now_us));
            shoal__hold_put_back(&hold);
        }
    }
}

/* Those that are refused before the time share it. */
static void test_all_share_a_pause(void **state)
{
    (void)state;
    shoal__hold_refused(&hold, ALL, NOW, &chance);
    uint64_t due_us = hold.due_us;
    for (uint64_t now_us = NOW + 1; now_us < due_us; now_us += 100) {
        assert_int_equal(shoal__hold_next_us(&hold, now_us), due_us);
        shoal__hold_refused(&hold, ALL, now_us, &chance);
        assert_int_equal(hold.due_us, due_us);
    }
    assert_int_equal(shoal__hold_next_us(&hold, due_us + 5), due_us + 5);
}

static void test_a_later_hold_begins_anew(void **state)
{
    (void)state;
    hold = (shoal__hold_t){.due_us = NOW, .doublings = 5};
    shoal__hold_refused(&hold, ALL, NOW + 999999, &chance);
    assert_true(hold.due_us - NOW >= 999999 + 125000);
    hold = (shoal__hold_t){.due_us = NOW, .doublings = 5};
    shoal__hold_refused(&hold, ALL, NOW + 1000000, &chance);
    assert_true(hold.due_us - NOW <= 1000000 + 10000);
}

static void test_when_to_look_again(void **state)
{
    (void)state;
    assert_int_equal(shoal__hold_wake_us(&hold, true), SHOAL__NEVER_US);
    hold = (shoal__hold_t){.state = GATHERING, .scope = ALL, .due_us = NOW};
    assert_int_equal(shoal__hold_wake_us(&hold, true), NOW);
    assert_int_equal(shoal__hold_wake_us(&hold, false), SHOAL__NEVER_US);
    hold.scope = ALONE;
    assert_int_equal(shoal__hold_wake_us(&hold, false), NOW);
    hold.state = PROBING;
    assert_int_equal(shoal__hold_wake_us(&hold, true), SHOAL__NEVER_US);
    shoal__hold_put_off(&hold, NOW + 7);
    assert_int_equal(hold.due_us, NOW + 7);
    shoal__hold_end(&hold);
    assert_int_equal(hold.state, OPEN);
}

static void test_the_end_of_waiting(void **state)
{
    (void)state;
    assert_int_equal(shoal__hold_end_us(1000, 5001000), 5001000);
    assert_int_equal(shoal__hold_end_us(1000, 60001000), 30001000);
    assert_int_equal(shoal__hold_end_us(1000, SHOAL__NEVER_US), 30001000);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_states),
        TEST(test_what_was_put_back_is_probed_or_free),
        TEST(test_reads_stop_for_the_probe),
        TEST(test_pauses_double),
        TEST(test_all_share_a_pause),
        TEST(test_a_later_hold_begins_anew),
        TEST(test_when_to_look_again),
        TEST(test_the_end_of_waiting),
    };
    return cmocka_run_group_tests_name("core/hold_rule", tests, NULL, NULL);
}
