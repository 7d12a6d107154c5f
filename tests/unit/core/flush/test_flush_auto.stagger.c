/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/flush/flush_rig.h"

/* When the batches of many callers leave in parts. */

/* All `callers` submit at from_us, so all of them wait.  Asks the policy at 5000. */
static shoal__flush_answer_t all_wait(shoal__flush_policy_t *policy, uint64_t callers,
                                      uint64_t from_us)
{
    prepare(policy, callers, 0);
    policy->learned.tempo.rtt_us = 60;
    shoal__flush_auto_note(policy, from_us - 1000);
    add(policy, callers, from_us);
    policy->learned.census.seen_us = from_us; /* there was no silence before */
    return ask(policy, 5000);
}

static void begin_stagger(shoal__flush_policy_t *policy)
{
    shoal__flush_answer_t answer = all_wait(policy, 512, 5000);

    assert_int_equal(answer.verdict, NOW);
    assert_in_range(answer.commands, 128, 384);
    write_out(policy, answer.commands, 5004);
}

static void test_many_who_wait_leave_in_two_parts(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    begin_stagger(&policy);
    shoal__flush_answer_t answer = ask(&policy, 5004);
    assert_int_equal(answer.verdict, WAIT);
    assert_true(answer.wake_us > 5004 && answer.wake_us <= 5000 + BUDGET_US);

    /* The second part leaves when its time has come. */
    answer = ask(&policy, answer.wake_us);
    assert_int_equal(answer.reason, SHOAL_FLUSHED_STAGGER);
    assert_int_equal(answer.commands, 0);

    /* It leaves earlier when a reply comes. */
    begin_stagger(&policy);
    assert_int_equal(ask(&policy, 5004).verdict, WAIT);
    shoal__flush_policy_completed(&policy, 1, 5006);
    answer = ask(&policy, 5006);
    assert_int_equal(answer.reason, SHOAL_FLUSHED_STAGGER);
    assert_int_equal(answer.commands, 0);
}

/* clang-format off */
static const struct whole_case {
    const char *name;
    uint64_t callers, budget_us, late_us;
    bool has_fine_waker;
} whole_cases[] = {
    {"two are too few",              2,  100,    0, true},
    {"eight, too",                   8,  100,    0, true},
    {"the waker is coarse",       512,  100,    0, false},
    {"it comes too late",         512,  100, 2000, true},
    {"there is no budget",        512,    0,    0, true},
};
/* clang-format on */

static void test_what_is_not_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole_cases / sizeof *whole_cases; i++) {
        const struct whole_case *c = &whole_cases[i];
        shoal__flush_policy_t policy;

        all_wait(&policy, c->callers, 5000);
        policy.config.pause_us = c->budget_us;
        policy.config.has_fine_waker = c->has_fine_waker;
        policy.learned.tempo.late_us = c->late_us;
        shoal__flush_answer_t answer = ask(&policy, 5000);
        if (c->budget_us == 0)
            assert_int_equal(answer.reason, SHOAL_FLUSHED_TURN);
        if (answer.verdict != NOW || answer.commands != 0)
            fail_msg("%s: %d commands leave", c->name, (int)answer.commands);
    }
}

static void test_the_second_half_waits_no_longer_than_the_budget(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;
    shoal__flush_answer_t answer = all_wait(&policy, 512, 4910);

    assert_int_equal(answer.verdict, NOW);
    if (answer.commands)
        write_out(&policy, answer.commands, 5004);
    answer = ask(&policy, 5004);
    if (answer.verdict == WAIT)
        assert_in_range(answer.wake_us, 5004, 4910 + BUDGET_US);
    assert_int_equal(ask(&policy, 4910 + BUDGET_US).verdict, NOW);
}

/* The second half is cancelled, or lost with the connection. */
static void test_a_half_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        shoal__flush_policy_t policy;

        begin_stagger(&policy);
        ask(&policy, 5004);
        if (lost) {
            shoal__flush_policy_lost(&policy, 0, 0, 5010);
        } else {
            shoal__flush_policy_removed(&policy, policy.queued,
                                        (size_t)policy.queued_bytes, 5010);
            shoal__flush_policy_completed(&policy, policy.inflight, 5060);
        }
        ask(&policy, 5060);
        add(&policy, 8, 5070);
        shoal__flush_answer_t answer = ask(&policy, 5070);
        assert_int_equal(answer.verdict, NOW);
        assert_int_not_equal(answer.reason, SHOAL_FLUSHED_STAGGER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_who_wait_leave_in_two_parts),
        cmocka_unit_test(test_what_is_not_split),
        cmocka_unit_test(test_the_second_half_waits_no_longer_than_the_budget),
        cmocka_unit_test(test_a_half_that_is_gone_is_forgotten),
    };
    return cmocka_run_group_tests_name("core/flush/flush_auto.stagger", tests, NULL,
                                       NULL);
}
