/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/pipe/renewal.h"

#define SECOND_US 1000000
#define NEVER SHOAL__NEVER_US
#define SILENCE_ENDS_US 80100000 /* the server was silent for long enough then */

/* What happens at which time, and how it stands behind. */
typedef enum event {
    ASK,
    PRESS,
    WANT,
    WANT_IN_PLACE,
    BEGIN,
    FAIL,
    ELSEWHERE,
    DRAIN,
    DEPOSE,
    LOOK,
    OVER,
    ANEW
} event_t;

#define NONE SHOAL__RENEWAL_NONE
#define WANTED SHOAL__RENEWAL_WANTED
#define PREPARING SHOAL__RENEWAL_PREPARING
#define DRAINING SHOAL__RENEWAL_DRAINING

/* clang-format off */
static const struct row {
    uint64_t now_us;
    event_t event;
    shoal__renewal_state_t state;
    bool is_awaited, is_yes; /* the answer of BEGIN and LOOK */
    uint64_t wake_us;
} rows[] = {
    /* now       event         state      awaited yes    wake */
    {5,          BEGIN,        NONE,      false,  false, NEVER},
    {5,          LOOK,         NONE,      false,  false, NEVER},
    {10,         ASK,          WANTED,    false,  false, 10},
    {10,         LOOK,         WANTED,    false,  false, 10},
    {12,         BEGIN,        PREPARING, false,  true,  NEVER},
    {13,         BEGIN,        PREPARING, false,  false, NEVER},
    {500000,     ASK,          PREPARING, false,  false, NEVER},
    {500000,     PRESS,        PREPARING, true,   false, NEVER}, /* no use any more */
    {600000,     LOOK,         PREPARING, true,   false, NEVER},
    {600000,     DRAIN,        DRAINING,  true,   false, 1600000},
    {700000,     ASK,          DRAINING,  true,   false, 1600000}, /* its end is not put off */
    {1599999,    LOOK,         DRAINING,  true,   false, 1600000},
    {1600000,    LOOK,         DRAINING,  true,   true,  1600000},
    {1600001,    OVER,         NONE,      false,  false, NEVER},
    {1600001,    ASK,          WANTED,    false,  false, 1600001}, /* a second behind 12 */
    {1600002,    BEGIN,        PREPARING, false,  true,  NEVER},
    {1600003,    FAIL,         WANTED,    false,  false, 3600002}, /* and two behind that */
    {1600003,    PRESS,        WANTED,    false,  false, 3600002},
    {3600001,    BEGIN,        WANTED,    false,  false, 3600002},
    {3600002,    BEGIN,        PREPARING, true,   true,  NEVER},
    {3600003,    OVER,         NONE,      false,  false, NEVER},
    {7600001,    ASK,          NONE,      false,  false, NEVER}, /* too soon */
    {7600001,    BEGIN,        NONE,      false,  false, NEVER},
    {7600001,    WANT,         WANTED,    false,  false, 7600002}, /* it is put off */
    {7600002,    BEGIN,        PREPARING, false,  true,  NEVER},
    {7600003,    WANT,         WANTED,    false,  false, 15600002}, /* for another target */
    {7600003,    ANEW,         WANTED,    false,  false, 15600002},
    {7600003,    WANT,         WANTED,    false,  false, 8600002}, /* of the program */
    {8600002,    BEGIN,        PREPARING, false,  true,  NEVER},
    {8600003,    DRAIN,        DRAINING,  true,   false, 9600003},
    {8600004,    WANT,         WANTED,    false,  false, 10600002},
    {10600002,   BEGIN,        PREPARING, false,  true,  NEVER},
    {10600003,   OVER,         NONE,      false,  false, NEVER},
    {38600003,   ASK,          WANTED,    false,  false, 38600003}, /* four are over */
    {38600003,   BEGIN,        PREPARING, false,  true,  NEVER},
    {38600003,   OVER,         NONE,      false,  false, NEVER},
    {40600003,   ASK,          NONE,      false,  false, NEVER}, /* now it is eight */
    {70600003,   ASK,          WANTED,    false,  false, 70600003}, /* nobody asked for long */
    {70600003,   BEGIN,        PREPARING, false,  true,  NEVER},
    {70600003,   ELSEWHERE,    WANTED,    false,  false, 70700003}, /* another address */
    {70700003,   BEGIN,        PREPARING, false,  true,  NEVER},
    {70700003,   FAIL,         WANTED,    false,  false, 71700003},
    {72000000,   WANT,         WANTED,    false,  false, 72000000},
    {72000000,   DEPOSE,       WANTED,    false,  false, 72000000},
    {72000000,   BEGIN,        PREPARING, false,  true,  NEVER},
    {72000001,   FAIL,         WANTED,    false,  false, 74000000}, /* it stays deposed */
    {74000000,   BEGIN,        PREPARING, false,  true,  NEVER},
    {79950000,   DRAIN,        DRAINING,  true,   false, 80100000}, /* 100 ms of silence */
    {80099999,   LOOK,         DRAINING,  true,   false, 80100000},
    {80100000,   LOOK,         DRAINING,  true,   true,  80100000},
    {80100000,   WANT,         WANTED,    false,  false, 80100000}, /* for another reason */
    {80100000,   BEGIN,        PREPARING, false,  true,  NEVER},
    {80100000,   DRAIN,        DRAINING,  true,   false, 81100000},
    {81100000,   OVER,         NONE,      false,  false, NEVER},
    {81100000,   ANEW,         NONE,      false,  false, NEVER},
    {82100000,   WANT,         WANTED,    false,  false, 82100000},
    {82100000,   DEPOSE,       WANTED,    false,  false, 82100000},
    {82100000,   BEGIN,        PREPARING, false,  true,  NEVER},
    {82100000,   OVER,         NONE,      false,  false, NEVER},
    {90000000,   ANEW,         NONE,      false,  false, NEVER},
    {90000000,   ASK,          WANTED,    false,  false, 90000000},
    {90000000,   BEGIN,        PREPARING, false,  true,  NEVER},
    {90000000,   DRAIN,        DRAINING,  true,   false, 91000000},
    {91100000,   WANT_IN_PLACE,WANTED,    false,  false, 92000000},
    {92000000,   BEGIN,        PREPARING, false,  true,  NEVER},
    {92000000,   DRAIN,        DRAINING,  true,   false, NEVER}, /* for as long as it takes */
    {120000000,  LOOK,         DRAINING,  true,   false, NEVER},
    {120000000,  WANT,         WANTED,    false,  false, 120000000}, /* by a successor now */
    {120000000,  BEGIN,        PREPARING, false,  true,  NEVER},
    {120000000,  DRAIN,        DRAINING,  true,   false, 121000000},
    {160000000,  WANT_IN_PLACE,WANTED,    false,  false, 160000000},
    {160000000,  BEGIN,        PREPARING, false,  true,  NEVER},
    {160000000,  DRAIN,        DRAINING,  true,   false, NEVER},
    {160000001,  OVER,         NONE,      false,  false, NEVER},
    {160000001,  FAIL,         WANTED,    false,  false, 161000000}, /* AUTH was refused */
    {161000000,  BEGIN,        PREPARING, false,  true,  NEVER},
    {161000000,  DRAIN,        DRAINING,  true,   false, NEVER}, /* in place again */
    {162000000,  OVER,         NONE,      false,  false, NEVER},
    {200000000,  ASK,          WANTED,    false,  false, 200000000},
    {200000000,  PRESS,        WANTED,    true,   false, 200000000}, /* at once */
    {200000000,  BEGIN,        PREPARING, true,   true,  NEVER},
};
/* clang-format on */

static bool happen(shoal__renewal_t *renewal, const struct row *row)
{
    switch (row->event) {
    case ASK:
    case PRESS:
        shoal__renewal_ask(renewal, "a reason", row->event == PRESS, row->now_us);
        break;
    case WANT:
        shoal__renewal_want(renewal, "another", row->now_us);
        break;
    case WANT_IN_PLACE:
        shoal__renewal_want_in_place(renewal, "a third", row->now_us);
        break;
    case BEGIN:
        return shoal__renewal_begins(renewal, row->now_us);
    case FAIL:
        shoal__renewal_failed(renewal, row->now_us);
        break;
    case ELSEWHERE:
        shoal__renewal_elsewhere(renewal, row->now_us);
        break;
    case DRAIN:
        shoal__renewal_drain(renewal, row->now_us);
        break;
    case DEPOSE:
        shoal__renewal_depose(renewal);
        break;
    case LOOK:
        return row->now_us >= shoal__renewal_end_us(renewal, SILENCE_ENDS_US);
    case OVER:
        shoal__renewal_over(renewal);
        break;
    case ANEW:
        shoal__renewal_anew(renewal);
        break;
    }
    return false;
}

static void test_every_row(void **state)
{
    shoal__renewal_t renewal;

    (void)state;
    shoal__renewal_init(&renewal);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        bool is_yes = happen(&renewal, row);

        if (renewal.state != row->state || is_yes != row->is_yes ||
            shoal__renewal_is_awaited(&renewal, row->now_us) != row->is_awaited ||
            shoal__renewal_is_draining(&renewal) != (row->state == DRAINING) ||
            shoal__renewal_is_under_way(&renewal) != (row->state >= PREPARING) ||
            shoal__renewal_wake_us(&renewal, SILENCE_ENDS_US) != row->wake_us)
            fail_msg(
                "row %zu: state %d, yes %d, awaited %d, wake %llu", i,
                (int)renewal.state, is_yes,
                shoal__renewal_is_awaited(&renewal, row->now_us),
                (unsigned long long)shoal__renewal_wake_us(&renewal, SILENCE_ENDS_US));
    }
}

/* A server that is far away is not silent because of that. */
static void test_how_long_a_server_may_be_silent(void **state)
{
    (void)state;
    assert_int_equal(shoal__renewal_silence_us(0), 100000);
    assert_int_equal(shoal__renewal_silence_us(25000), 100000);
    assert_int_equal(shoal__renewal_silence_us(25001), 100004);
    assert_int_equal(shoal__renewal_silence_us(300000),
                     1200000); /* a drain is shorter */
}

/* The reason is that of the renewal that is under way. */
static void test_reasons(void **state)
{
    shoal__renewal_t renewal;

    (void)state;
    shoal__renewal_init(&renewal);
    shoal__renewal_ask(&renewal, "first", false, 1);
    shoal__renewal_ask(&renewal, "second", false, 2);
    assert_string_equal(renewal.reason, "first");
    shoal__renewal_want(&renewal, "third", 3);
    assert_string_equal(renewal.reason, "third");
    assert_true(shoal__renewal_begins(&renewal, 3));
    shoal__renewal_failed(&renewal, 4);
    assert_string_equal(renewal.reason, "third");
}

/* Against a server that gives cause all the time, and one that refuses every successor. */
static void test_renewals_are_spaced(void **state)
{
    static const unsigned seconds[] = {0, 1, 3, 7, 15, 31, 61, 91, 121};

    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        shoal__renewal_t renewal;
        unsigned begun = 0;

        shoal__renewal_init(&renewal);
        for (uint64_t now_us = 0; now_us <= 130 * (uint64_t)SECOND_US;
             now_us += 250000) {
            if (!fails || now_us == 0)
                shoal__renewal_ask(&renewal, "again", false, now_us);
            if (!shoal__renewal_begins(&renewal, now_us))
                continue;
            assert_true(begun < sizeof seconds / sizeof *seconds);
            assert_int_equal(now_us, seconds[begun++] * (uint64_t)SECOND_US);
            if (fails)
                shoal__renewal_failed(&renewal, now_us);
            else
                shoal__renewal_over(&renewal);
        }
        assert_int_equal(begun, sizeof seconds / sizeof *seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_how_long_a_server_may_be_silent),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_renewals_are_spaced),
    };
    return cmocka_run_group_tests_name("core/pipe/renewal", tests, NULL, NULL);
}
