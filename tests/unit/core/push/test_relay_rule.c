/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/push/relay_rule.h"

enum { DONE = 1, ALONE = 2, THWARTED = 4, LATE = 8, GONE = 16, ALL = 32 };

static shoal__relay_verdict_t ask(int stage, int facts)
{
    const shoal__relay_facts_t what = {.is_done = facts & DONE,
                                       .is_alone = facts & ALONE,
                                       .is_thwarted = facts & THWARTED,
                                       .is_late = facts & LATE,
                                       .is_gone = facts & GONE};

    return shoal__relay_rule((shoal__relay_stage_t)stage, &what);
}

/* Every stage with every set of facts: the first line that fits says it. */
static void test_the_table(void **state)
{
    static const struct {
        int first, last;   /* stages */
        int with, without; /* facts */
        shoal__relay_verdict_t verdict;
    } lines[] = {
        {SHOAL__RELAY_NONE, SHOAL__RELAY_NONE, 0, 0, SHOAL__RELAY_STAY},
        /* messages were dropped, or are: there is no way back */
        {SHOAL__RELAY_MARKING, SHOAL__RELAY_MARKING, DONE | GONE, 0, SHOAL__RELAY_LOSE},
        {SHOAL__RELAY_MARKING, SHOAL__RELAY_SKIPPING, DONE, 0, SHOAL__RELAY_GO_ON},
        {SHOAL__RELAY_TAKING, SHOAL__RELAY_SKIPPING, GONE, DONE, SHOAL__RELAY_LOSE},
        {SHOAL__RELAY_TAKING, SHOAL__RELAY_SKIPPING, LATE, DONE, SHOAL__RELAY_LOSE},
        {SHOAL__RELAY_TAKING, SHOAL__RELAY_SKIPPING, THWARTED, DONE, SHOAL__RELAY_LOSE},
        {SHOAL__RELAY_TAKING, SHOAL__RELAY_SKIPPING, 0, DONE, SHOAL__RELAY_STAY},
        {SHOAL__RELAY_PARTING, SHOAL__RELAY_PARTING, DONE, 0, SHOAL__RELAY_GO_ON},
        {SHOAL__RELAY_PARTING, SHOAL__RELAY_PARTING, THWARTED, 0, SHOAL__RELAY_GO_ON},
        {SHOAL__RELAY_PARTING, SHOAL__RELAY_PARTING, 0, DONE | THWARTED,
         SHOAL__RELAY_STAY},
        /* nothing was */
        {SHOAL__RELAY_WAITING, SHOAL__RELAY_MARKING, GONE, 0, SHOAL__RELAY_PART},
        {SHOAL__RELAY_COPYING, SHOAL__RELAY_MARKING, LATE, 0, SHOAL__RELAY_ANEW},
        {SHOAL__RELAY_COPYING, SHOAL__RELAY_MARKING, THWARTED, 0, SHOAL__RELAY_ANEW},
        {SHOAL__RELAY_JOINING, SHOAL__RELAY_JOINING, LATE, DONE, SHOAL__RELAY_ANEW},
        {SHOAL__RELAY_JOINING, SHOAL__RELAY_JOINING, 0, DONE, SHOAL__RELAY_STAY},
        {SHOAL__RELAY_WAITING, SHOAL__RELAY_COUNTING, LATE, 0, SHOAL__RELAY_GIVE_UP},
        {SHOAL__RELAY_WAITING, SHOAL__RELAY_COUNTING, THWARTED, 0,
         SHOAL__RELAY_GIVE_UP},
        {SHOAL__RELAY_COUNTING, SHOAL__RELAY_COUNTING, ALONE, 0, SHOAL__RELAY_GIVE_UP},
        {SHOAL__RELAY_WAITING, SHOAL__RELAY_COPYING, DONE, ALONE, SHOAL__RELAY_GO_ON},
        {SHOAL__RELAY_WAITING, SHOAL__RELAY_MARKING, 0, DONE | ALONE,
         SHOAL__RELAY_STAY},
        {SHOAL__RELAY_STAGE_COUNT, SHOAL__RELAY_STAGE_COUNT, 0, 0, SHOAL__RELAY_STAY},
    };

    (void)state;
    for (int stage = 0; stage <= SHOAL__RELAY_STAGE_COUNT; stage++)
        for (int facts = 0; facts < ALL; facts++) {
            size_t i = 0;
            if ((facts & ALONE) && stage != SHOAL__RELAY_COUNTING)
                continue; /* only there it is known */
            while (stage < lines[i].first || stage > lines[i].last ||
                   (facts & lines[i].with) != lines[i].with ||
                   (facts & lines[i].without))
                i++;
            if (ask(stage, facts) != lines[i].verdict)
                fail_msg("stage %d, facts %d: line %zu", stage, facts, i);
        }
}

static void test_when_requests_wait(void **state)
{
    (void)state;
    assert_false(shoal__relay_holds(SHOAL__RELAY_NONE));
    for (int stage = SHOAL__RELAY_WAITING; stage < SHOAL__RELAY_PARTING; stage++)
        assert_true(shoal__relay_holds((shoal__relay_stage_t)stage));
    assert_false(shoal__relay_holds(SHOAL__RELAY_PARTING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_table),
                                       cmocka_unit_test(test_when_requests_wait)};

    return cmocka_run_group_tests_name("core/push/relay_rule", tests, NULL, NULL);
}
