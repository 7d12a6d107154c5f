/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/push/probe_rule.h"
#include <stdio.h>

#define NEVER SHOAL__NEVER_US

/* The interval is 100. */
static const struct {
    const char *what;
    uint64_t heard_us, sent_us, taken_us;
    unsigned restarts;
    shoal__probe_said_t said;
    uint64_t now_us;
    shoal__probe_act_t act;
    uint64_t wake_us;
} rows[] = {
    /* clang-format off */
    {"silence has just begun",  1000, NEVER, 0, 0, SHOAL__PROBE_UNSAID,    1000, SHOAL__PROBE_WAIT,    1100},
    {"one moment is missing",   1000, NEVER, 0, 0, SHOAL__PROBE_UNSAID,    1099, SHOAL__PROBE_WAIT,    1100},
    {"an interval is silent",   1000, NEVER, 0, 0, SHOAL__PROBE_UNSAID,    1100, SHOAL__PROBE_PUBLISH, 1100},
    {"more than one is",        1000, NEVER, 0, 9, SHOAL__PROBE_UNSAID,    1500, SHOAL__PROBE_PUBLISH, 1500},
    {"no answer yet",           1000, 1100, 0, 0, SHOAL__PROBE_UNSAID,     1101, SHOAL__PROBE_WAIT,    1201},
    {"no answer for long",      1000, 1100, 0, 0, SHOAL__PROBE_UNSAID,     9000, SHOAL__PROBE_WAIT,    9100},
    {"it is forbidden",         1000, 1100, 0, 0, SHOAL__PROBE_FORBIDDEN,  1101, SHOAL__PROBE_STOP,    1101},
    {"forbidden, and heard",    1200, 1100, 0, 0, SHOAL__PROBE_FORBIDDEN,  1201, SHOAL__PROBE_STOP,    1201},
    {"it failed",               1000, 1100, 0, 0, SHOAL__PROBE_FAILED,     1101, SHOAL__PROBE_FORGET,  1101},
    {"it failed long ago",      1000, 1100, 0, 0, SHOAL__PROBE_FAILED,     9000, SHOAL__PROBE_FORGET,  9000},
    {"the message came first",  1101, 1100, 0, 0, SHOAL__PROBE_UNSAID,     1102, SHOAL__PROBE_FORGET,  1102},
    {"it came in that moment",  1100, 1100, 1100, 0, SHOAL__PROBE_TAKEN,   1300, SHOAL__PROBE_FORGET,  1300},
    {"it came late",            1290, 1100, 1110, 0, SHOAL__PROBE_TAKEN,   1300, SHOAL__PROBE_FORGET,  1300},
    {"taken just now",          1000, 1100, 1110, 0, SHOAL__PROBE_TAKEN,   1110, SHOAL__PROBE_WAIT,    1210},
    {"one moment is left",      1000, 1100, 1110, 0, SHOAL__PROBE_TAKEN,   1209, SHOAL__PROBE_WAIT,    1210},
    {"nothing came",            1000, 1100, 1110, 0, SHOAL__PROBE_TAKEN,   1210, SHOAL__PROBE_RESTART, 1210},
    {"taken late",              1000, 1100, 1900, 0, SHOAL__PROBE_TAKEN,   1950, SHOAL__PROBE_WAIT,    2000},
    {"the second in a row",     1000, 1100, 1110, 1, SHOAL__PROBE_TAKEN,   1309, SHOAL__PROBE_WAIT,    1310},
    {"... is due",              1000, 1100, 1110, 1, SHOAL__PROBE_TAKEN,   1310, SHOAL__PROBE_RESTART, 1310},
    {"the third",               1000, 1100, 1110, 2, SHOAL__PROBE_TAKEN,   1409, SHOAL__PROBE_WAIT,    1410},
    {"the fourth",              1000, 1100, 1110, 3, SHOAL__PROBE_TAKEN,   1609, SHOAL__PROBE_WAIT,    1610},
    {"the fifth",               1000, 1100, 1110, 4, SHOAL__PROBE_TAKEN,   2009, SHOAL__PROBE_WAIT,    2010},
    {"the sixth",               1000, 1100, 1110, 5, SHOAL__PROBE_TAKEN,   2209, SHOAL__PROBE_WAIT,    2210},
    {"the hundredth",           1000, 1100, 1110, 99, SHOAL__PROBE_TAKEN,  2209, SHOAL__PROBE_WAIT,    2210},
    {"... is due",              1000, 1100, 1110, 99, SHOAL__PROBE_TAKEN,  2210, SHOAL__PROBE_RESTART, 2210},
    /* clang-format on */
};

static void test_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const shoal__probe_facts_t facts = {.interval_us = 100,
                                            .heard_us = rows[i].heard_us,
                                            .sent_us = rows[i].sent_us,
                                            .taken_us = rows[i].taken_us,
                                            .restarts = rows[i].restarts,
                                            .said = rows[i].said};
        uint64_t wake_us = 0;
        shoal__probe_act_t act = shoal__probe_rule(&facts, rows[i].now_us, &wake_us);

        if (act != rows[i].act || wake_us != rows[i].wake_us)
            fail_msg("%s: %d until %llu", rows[i].what, (int)act,
                     (unsigned long long)wake_us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
