/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/flush/flush_rig.h"

/* ---- population and gate ---- */

/* clang-format off */
static const struct rule_case {
    const char *name;
    uint64_t callers, inflight, queued;
    uint64_t age_us;
    shoal__flush_verdict_t verdict;
    shoal_flush_reason_t reason;
} rule_cases[] = {
    /*                                    callers inflight queued age */
    {"one caller, always alone",               1,    0,   1,   0, NOW, SHOAL_FLUSHED_LONE},
    {"two callers, the other waits",           2,    1,   1,   0, NOW, SHOAL_FLUSHED_COMPLETE},
    {"nobody is left to wait for",            64,   60,   4,   0, NOW, SHOAL_FLUSHED_COMPLETE},
    {"more than ever",                        64,   60,   5,   0, NOW, SHOAL_FLUSHED_COMPLETE},
    {"no reply is due",                       64,    0,   1,   0, NOW, SHOAL_FLUSHED_COMPLETE},
    {"up to three in flight open the gate",   64,    3,   1,   0, NOW, SHOAL_FLUSHED_GATE},
    {"with four it takes two",                64,    4,   1,   0, WAIT, 0},
    {"which are there",                       64,    4,   2,   0, NOW, SHOAL_FLUSHED_GATE},
    {"with eight still two",                  64,    8,   2,   0, NOW, SHOAL_FLUSHED_GATE},
    {"with nine it takes three",              64,    9,   2,   0, WAIT, 0},
    {"the root is exact below a square",    1024,  899,  29,   0, NOW, SHOAL_FLUSHED_GATE},
    {"and at a square",                     1024,  900,  29,   0, WAIT, 0},
    {"the budget is nearly spent",            64,    9,   2,  99, WAIT, 0},
    {"the budget is spent",                   64,    9,   2, 100, NOW, SHOAL_FLUSHED_BUDGET},
    {"the clock jumped by a second",          64,    9,   2, 1000000, NOW, SHOAL_FLUSHED_BUDGET},
};
/* clang-format on */

static void test_verdicts_by_callers_and_replies_due(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
        const struct rule_case *c = &rule_cases[i];
        shoal__flush_policy_t policy;

        prepare(&policy, c->callers, c->inflight);
        add(&policy, c->queued, 1000);
        shoal__flush_answer_t answer = ask(&policy, 1000 + c->age_us);
        if (answer.verdict != c->verdict)
            fail_msg("%s: verdict %u", c->name, answer.verdict);
        if (answer.verdict == NOW && answer.reason != c->reason)
            fail_msg("%s: reason %u", c->name, answer.reason);
        if (answer.verdict == WAIT && answer.wake_us != 1000 + BUDGET_US)
            fail_msg("%s: wake at %d", c->name, (int)answer.wake_us);
    }
}

/* ---- callers that are awake ---- */

/* clang-format off */
static const struct awake_case {
    const char *name;
    uint64_t awake, inflight, queued;
    bool is_still;
    uint64_t age_us;
    shoal__flush_verdict_t verdict;
    shoal_flush_reason_t reason;
} awake_cases[] = {
    /*                               awake inflight queued still  age */
    {"a lone caller",                   1,   0,  1, false,  0, NOW,  SHOAL_FLUSHED_LONE},
    {"five leave one by one",           5,   4,  1, false,  0, NOW,  SHOAL_FLUSHED_GATE},
    {"six gather",                      6,   1,  2, false,  0, WAIT, 0},
    {"... half of them",                6,   1,  3, false,  0, NOW,  SHOAL_FLUSHED_GATE},
    {"replies are due, and come first", 6,   4,  2, true,   0, WAIT, 0},
    {"up to the budget",                6,   4,  2, true,  99, WAIT, 0},
    {"... which is over",               6,   4,  2, true, 100, NOW,  SHOAL_FLUSHED_BUDGET},
    {"the server has nothing to do",    8,   0,  1, false,  0, WAIT, 0},
    {"... and gets a quarter",          8,   0,  2, false,  0, NOW,  SHOAL_FLUSHED_COMPLETE},
    {"... of up to fifteen",           15,   0,  4, false,  0, NOW,  SHOAL_FLUSHED_COMPLETE},
    {"many gather a half all the same",16,   0,  7, false,  0, WAIT, 0},
    {"... unless nobody comes",        16,   0,  1, true,   0, NOW,  SHOAL_FLUSHED_COMPLETE},
};
/* clang-format on */

static void test_callers_that_are_awake(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof awake_cases / sizeof *awake_cases; i++) {
        const struct awake_case *c = &awake_cases[i];
        shoal__flush_policy_t policy;

        prepare(&policy, 1024, c->inflight); /* what it learned does not matter */
        policy.awake = c->awake;
        policy.is_still = c->is_still;
        add(&policy, c->queued, 1000);
        shoal__flush_answer_t answer = ask(&policy, 1000 + c->age_us);
        if (answer.verdict != c->verdict ||
            (answer.verdict == NOW && answer.reason != c->reason))
            fail_msg("%s: verdict %u, reason %u", c->name, answer.verdict,
                     answer.reason);
        if (answer.verdict == WAIT && answer.wake_us != 1000 + BUDGET_US)
            fail_msg("%s: wake at %d", c->name, (int)answer.wake_us);
    }
}

/* A WAIT names how many more commands end it: one less does not. */
static void test_a_wait_names_what_ends_it(void **state)
{
    (void)state;
    const uint64_t inflight[] = {4, 9, 20, 50, 300, 900};

    for (size_t i = 0; i < sizeof inflight / sizeof *inflight; i++) {
        shoal__flush_policy_t policy;

        prepare(&policy, 1024, inflight[i]);
        add(&policy, 1, 1000);
        shoal__flush_answer_t answer = ask(&policy, 1000);
        assert_int_equal(answer.verdict, WAIT);
        add(&policy, answer.wake_after - 1, 1001);
        if (answer.wake_after > 1)
            assert_int_equal(ask(&policy, 1001).verdict, WAIT);
        add(&policy, 1, 1002);
        assert_int_equal(ask(&policy, 1002).verdict, NOW);
    }
}

/* A coarse waker may come late.  So the policy asks to look at the next command. */
static void test_a_coarse_waker_holds_nobody_back(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 900);
    policy.config.has_fine_waker = false;
    add(&policy, 1, 1000);
    shoal__flush_answer_t answer = ask(&policy, 1000);
    assert_int_equal(answer.verdict, WAIT);
    assert_int_equal(answer.wake_after, 1);
}

/* The gate waits for no more commands than half of the budget brings. */
static void test_the_gate_knows_the_pace(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 900);
    add(&policy, 3, 1000);
    assert_int_equal(ask(&policy, 1000).verdict, WAIT);
    policy.learned.tempo.gap_ns = 40000;
    assert_int_equal(ask(&policy, 1000).reason, SHOAL_FLUSHED_GATE);
    policy.learned.tempo.gap_ns = 1000;
    assert_int_equal(ask(&policy, 1000).verdict, WAIT);
    policy.learned.tempo.gap_ns = 0;
    assert_int_equal(ask(&policy, 1000).verdict, WAIT);
}

static void test_what_a_server_reads_at_once_is_enough(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 900);
    shoal__flush_policy_add(&policy, 16383, false, 1000);
    assert_int_equal(ask(&policy, 1000).verdict, WAIT);
    shoal__flush_policy_add(&policy, 1, false, 1000);
    assert_int_equal(ask(&policy, 1000).reason, SHOAL_FLUSHED_FULL);
}

static void test_a_long_round_trip_is_no_silence(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 900);
    add(&policy, 1, 9000); /* 900 replies are still to come */
    assert_int_equal(ask(&policy, 9000).verdict, WAIT);
}

static void test_replies_and_what_their_callbacks_add_are_one_caller(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 8, 8);
    for (uint64_t now_us = 1050; now_us < 3000; now_us += 50) {
        shoal__flush_policy_read_begin(&policy, now_us);
        for (int i = 0; i < 8; i++) {
            shoal__flush_policy_answered(&policy);
            add(&policy, 1, now_us);
        }
        shoal__flush_policy_read_end(&policy, now_us);
        ask(&policy, now_us);
        write_out(&policy, 8, now_us);
        assert_int_equal(shoal__flush_census_callers(&policy.learned.census), 8);
    }
}

/* ---- holds ---- */

typedef struct open_case {
    const char *name;
    uint64_t budget_us, gap_ns, rtt_us, late_us, callers;
    bool has_fine_waker, holds;
} open_case_t;

/* Commands come at an even pace, whether replies come or not.  One batch left at
 * 5000. */
static void prepare_open(shoal__flush_policy_t *policy, const open_case_t *c)
{
    prepare(policy, c->callers, 0);
    policy->config.pause_us = c->budget_us;
    policy->config.has_fine_waker = c->has_fine_waker;
    policy->learned.tempo.rtt_us = c->rtt_us;
    policy->learned.tempo.late_us = c->late_us;
    policy->learned.tempo.gap_ns = c->gap_ns;
    policy->learned.guard.state = SHOAL__GUARD_OPEN;
    policy->learned.guard.judged_ns = c->gap_ns;
    policy->learned.guard.trust_end_us = UINT64_MAX;
    add(policy, 1, 5000);
    policy->learned.census.seen_us = 5000;
    policy->decided_us = 5000;
    write_out(policy, 1, 5000);
}

/* clang-format off */
static const open_case_t open_flow = {"", 100, 10000, 45, 19, 20, true, true};
static const open_case_t open_cases[] = {
    /*                                budget  gap   rtt  late callers fine */
    {"50 000 commands/s",                100, 20000,   45,  19, 20, true,  true},
    {"all at once",                      100,     0,   45,  19, 20, true,  true},
    {"none is expected meanwhile",       100, 900000,  45,  19, 20, true,  false},
    {"who knows how many are expected",  100, NEVER,   45,  19, 20, true,  false},
    {"the waker would come too late",    100, 20000,   45, 150, 20, true,  false},
    {"the waker is coarse",              100, 20000,   45,  19, 20, false, false},
    {"there is no budget",                 0, 20000,   45,  19, 20, true,  false},
    {"a budget below the lateness",       10,   100,   45,  19, 20, true,  false},
    {"long round trips: the gate does",  100, 20000, 5000,  19, 20, true,  false},
    {"but for a larger budget",         1000, 20000, 5000,  19, 20, true,  true},
    {"one caller is not held",           100, 20000,   45,  19,  1, true,  false},
};
/* clang-format on */

static void test_what_is_held(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof open_cases / sizeof *open_cases; i++) {
        const open_case_t *c = &open_cases[i];
        shoal__flush_policy_t policy;

        prepare_open(&policy, c);
        shoal__flush_policy_completed(&policy, 1, 5045);
        shoal__flush_answer_t answer = ask(&policy, 5045);
        assert_int_equal(answer.verdict, IDLE);
        bool lets_sleep = answer.wake_after > 1 && answer.wake_us != NEVER;
        if (lets_sleep != (c->holds && answer.wake_us > 5045))
            fail_msg("%s: nothing is queued, and it is wrong", c->name);
        add(&policy, 1, 5050);
        answer = ask(&policy, 5050);
        if ((answer.verdict == WAIT) != c->holds)
            fail_msg("%s: verdict %u", c->name, answer.verdict);
        if (answer.verdict == WAIT)
            assert_true(answer.wake_us <= 5050 + c->budget_us);
    }
}

static void test_a_hold_ends(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare_open(&policy, &open_flow);
    add(&policy, 1, 5020);
    shoal__flush_answer_t answer = ask(&policy, 5020);
    assert_int_equal(ask(&policy, answer.wake_us - 1).verdict, WAIT);
    answer = ask(&policy, answer.wake_us);
    assert_int_equal(answer.reason, SHOAL_FLUSHED_BUDGET);
    assert_int_equal(answer.commands, 0);
}

static void test_commands_go_away_during_a_hold(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare_open(&policy, &open_flow);
    add(&policy, 3, 5020);
    assert_int_equal(ask(&policy, 5020).verdict, WAIT);
    shoal__flush_policy_removed(&policy, 2, 40, 5030);
    assert_int_equal(ask(&policy, 5030).verdict, WAIT);
    shoal__flush_policy_removed(&policy, 1, 20, 5030);
    assert_int_equal(ask(&policy, 5030).verdict, IDLE);
    add(&policy, 1, 5040);
    shoal__flush_answer_t answer = ask(&policy, 5040);
    assert_true(answer.verdict == NOW || answer.wake_us <= 5040 + BUDGET_US);

    prepare_open(&policy, &open_flow);
    add(&policy, 3, 5020);
    assert_int_equal(ask(&policy, 5020).verdict, WAIT);
    shoal__flush_policy_lost(&policy, 4, 80, 5030);
    assert_int_equal(ask(&policy, 5030).verdict, NOW);
}

/* In a closed loop with large commands a probe ends early, because a batch is full.
 * The probe counts, so that the next one does not follow at once. */
static void test_a_probe_that_is_cut_short_counts(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;
    uint64_t now_us = 2000;

    prepare(&policy, 24, 0);
    policy.learned.guard.probe_us = 0;
    policy.learned.tempo.gap_ns = 4000;
    for (int round = 0; round < 100; round++, now_us += 60) {
        shoal__flush_answer_t answer;

        add(&policy, 8, now_us);
        answer = ask(&policy, now_us);
        if (answer.verdict == WAIT) /* this is the probe */
            shoal__flush_policy_add(&policy, 17000, false, now_us + 20);
        answer = ask(&policy, now_us + 20);
        assert_int_equal(answer.verdict, NOW);
        shoal__flush_policy_flushed(&policy, policy.queued, (size_t)policy.queued_bytes,
                                    now_us + 20);
        shoal__flush_policy_completed(&policy, policy.inflight, now_us + 50);
        if (policy.learned.guard.state != SHOAL__GUARD_CLOSED)
            return; /* a trial has begun, which ends the probes as well */
    }
    assert_in_range(policy.learned.guard.probes, 1, 4); /* the rounds took 6 ms */
}

/* A waker that was late may be on time later, so the policy relies on it again. */
static void test_a_late_waker_is_tried_again(void **state)
{
    (void)state;
    open_case_t late = open_flow;
    shoal__flush_policy_t policy;
    unsigned batches = 0;

    late.late_us = 300;
    prepare_open(&policy, &late);
    for (uint64_t now_us = 5050;; now_us += 50) {
        shoal__flush_policy_completed(&policy, policy.inflight, now_us);
        add(&policy, 5, now_us);
        policy.learned.guard.trust_end_us = UINT64_MAX;
        if (ask(&policy, now_us).verdict == WAIT)
            break;
        write_out(&policy, policy.queued, now_us);
        assert_in_range(++batches, 0, 100000); /* at most five seconds */
    }
}

static void test_silence_forgets_everything(void **state)
{
    (void)state;
    const uint64_t silence_us[] = {10000, 1000000, UINT64_C(1) << 62};

    for (size_t i = 0; i < sizeof silence_us / sizeof *silence_us; i++) {
        shoal__flush_policy_t policy;
        uint64_t now_us = 5050 + silence_us[i];

        prepare_open(&policy, &open_flow);
        shoal__flush_policy_completed(&policy, 1, 5045);
        ask(&policy, 5050);
        add(&policy, 1, now_us);
        shoal__flush_answer_t answer = ask(&policy, now_us);
        assert_int_equal(answer.reason, SHOAL_FLUSHED_LONE);
        assert_int_equal(shoal__flush_census_callers(&policy.learned.census), 1);
        assert_int_equal(policy.learned.guard.state, SHOAL__GUARD_CLOSED);
        assert_true(policy.learned.tempo.gap_ns == NEVER);
        write_out(&policy, 1, now_us);
        shoal__flush_policy_completed(&policy, 1, now_us + 45);
        answer = ask(&policy, now_us + 45);
        assert_int_equal(answer.verdict, IDLE);
        assert_int_equal(answer.wake_after, 1);
    }
}

/* 1023 of 1024 callers leave.  Soon the one that stays is no longer held.  (P1) */
static void test_the_last_caller_is_not_held(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;
    uint64_t now_us = 5000, held = 0;

    prepare_open(&policy, &open_flow);
    shoal__flush_policy_completed(&policy, 1, now_us);
    for (int i = 0; i < 200; i++) {
        shoal__flush_answer_t answer = ask(&policy, now_us);
        bool is_deaf = answer.wake_after > 1; /* its command would not wake the loop */
        add(&policy, 1, now_us);
        answer = ask(&policy, now_us);
        if (is_deaf || answer.verdict == WAIT) {
            held++;
            assert_in_range(i, 0, 2 * SHOAL__CENSUS_CYCLES);
            now_us += BUDGET_US;
            ask(&policy, now_us);
        }
        write_out(&policy, 1, now_us);
        shoal__flush_policy_completed(&policy, 1, now_us += 45);
    }
    assert_in_range(held, 0, 2 * SHOAL__CENSUS_CYCLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts_by_callers_and_replies_due),
        cmocka_unit_test(test_a_wait_names_what_ends_it),
        cmocka_unit_test(test_a_coarse_waker_holds_nobody_back),
        cmocka_unit_test(test_the_gate_knows_the_pace),
        cmocka_unit_test(test_what_a_server_reads_at_once_is_enough),
        cmocka_unit_test(test_a_long_round_trip_is_no_silence),
        cmocka_unit_test(test_replies_and_what_their_callbacks_add_are_one_caller),
        cmocka_unit_test(test_callers_that_are_awake),
        cmocka_unit_test(test_what_is_held),
        cmocka_unit_test(test_a_hold_ends),
        cmocka_unit_test(test_commands_go_away_during_a_hold),
        cmocka_unit_test(test_a_probe_that_is_cut_short_counts),
        cmocka_unit_test(test_a_late_waker_is_tried_again),
        cmocka_unit_test(test_silence_forgets_everything),
        cmocka_unit_test(test_the_last_caller_is_not_held),
    };
    return cmocka_run_group_tests_name("core/flush/flush_auto", tests, NULL, NULL);
}
