/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/flush/flush_guard.h"

#define CLOSED SHOAL__GUARD_CLOSED
#define TRIAL SHOAL__GUARD_TRIAL
#define OPEN SHOAL__GUARD_OPEN
#define DRY SHOAL__HOLD_DRIED_UP
#define FLOWED SHOAL__HOLD_FLOWED
#define FLOODED SHOAL__HOLD_FLOODED
#define SECOND_US 1000000
#define RTT_US 45
#define GAP_NS 10000
#define START_US 5000

/* ---- ways into the states ---- */

/* Complete commands, each after ns_each, until the epoch is over. */
static uint64_t live_epoch(shoal__flush_guard_t *guard, uint64_t ns_each,
                           uint64_t rtt_us, uint64_t now_us)
{
    unsigned epoch = guard->epoch;
    uint64_t since_us = now_us, commands = 0;

    while (guard->state == TRIAL && guard->epoch == epoch) {
        assert_true(++commands < 10000000); /* an epoch must end */
        now_us = since_us + commands * ns_each / 1000;
        shoal__flush_guard_completed(guard, 1, rtt_us, now_us);
    }
    return now_us;
}

/* Probe until the trial begins. */
static uint64_t enter_trial(shoal__flush_guard_t *guard, uint64_t now_us)
{
    for (int probes = 0; guard->state == CLOSED; probes++) {
        assert_in_range(probes, 0, 10);
        now_us += SECOND_US;
        assert_true(shoal__flush_guard_may_hold(guard, now_us));
        shoal__flush_guard_held(guard, FLOWED, now_us);
    }
    assert_int_equal(guard->state, TRIAL);
    return now_us;
}

/* How many ns one command takes in this epoch, with holds or without. */
typedef uint64_t (*pace_fn)(unsigned epoch, bool holds);

static uint64_t live_trial(shoal__flush_guard_t *guard, pace_fn pace, uint64_t now_us)
{
    for (unsigned i = 0; i < SHOAL__GUARD_EPOCHS; i++) {
        assert_int_equal(guard->state, TRIAL);
        bool holds = shoal__flush_guard_may_hold(guard, now_us);
        now_us = live_epoch(guard, pace(i, holds), RTT_US, now_us);
    }
    assert_int_not_equal(guard->state, TRIAL);
    return now_us;
}

static uint64_t steady(unsigned epoch, bool holds)
{
    (void)epoch;
    (void)holds;
    return GAP_NS;
}

static uint64_t enter(shoal__flush_guard_t *guard, shoal__guard_state_t wanted)
{
    uint64_t now_us = START_US;

    shoal__flush_guard_init(guard, now_us);
    if (wanted != CLOSED)
        now_us = enter_trial(guard, now_us);
    if (wanted == OPEN)
        now_us = live_trial(guard, steady, now_us);
    assert_int_equal(guard->state, wanted);
    return now_us;
}

/* ---- every state, every event ---- */

/* clang-format off */
static const struct state_case {
    const char *name;
    shoal__guard_state_t state;
    shoal__hold_outcome_t outcome;
    unsigned times;
    shoal__guard_state_t next;
} state_cases[] = {
    {"a dry probe",                         CLOSED, DRY,      1, CLOSED},
    {"dry probes for ever",                 CLOSED, DRY,   1000, CLOSED},
    {"one probe that flowed may be chance", CLOSED, FLOWED,   1, CLOSED},
    {"several are evidence",                CLOSED, FLOWED,   4, TRIAL},
    {"a flood is enough",                   CLOSED, FLOODED,  1, TRIAL},
    {"a trial minds the throughput alone",  TRIAL,  DRY,   1000, TRIAL},
    {"whatever its holds bring",            TRIAL,  FLOWED, 1000, TRIAL},
    {"open, and one hold dries up",         OPEN,   DRY,      1, OPEN},
    {"open, and all of them do",            OPEN,   DRY,    100, TRIAL},
    {"open, and none of them do",           OPEN,   FLOWED, 1000, OPEN},
};
/* clang-format on */

static void test_outcomes_of_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof state_cases / sizeof *state_cases; i++) {
        const struct state_case *c = &state_cases[i];
        shoal__flush_guard_t guard;
        uint64_t now_us = enter(&guard, c->state);

        for (unsigned k = 0; k < c->times; k++) {
            if (guard.state == c->next && c->next != c->state)
                break;
            now_us += SECOND_US;
            shoal__flush_guard_held(&guard, c->outcome, now_us);
        }
        if (guard.state != c->next)
            fail_msg("%s: state %u", c->name, guard.state);
    }
}

static void test_what_each_state_allows(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, CLOSED);

    assert_true(shoal__flush_guard_may_hold(&guard, now_us)); /* the first probe */
    shoal__flush_guard_held(&guard, DRY, now_us);
    assert_false(shoal__flush_guard_may_hold(&guard, now_us)); /* no time has passed */
    assert_true(shoal__flush_guard_may_hold(&guard, now_us + SECOND_US));

    now_us = enter(&guard, TRIAL);
    assert_false(
        shoal__flush_guard_may_hold(&guard, now_us)); /* the first epoch has no holds */

    now_us = enter(&guard, OPEN);
    assert_true(shoal__flush_guard_may_hold(&guard, now_us));
    assert_true(shoal__flush_guard_may_hold(&guard, now_us + 100 * SECOND_US));
}

/* ---- probes ---- */

static void test_probes_that_dry_up_become_rare_and_never_end(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t start_us = UINT64_C(1) << 63, probes[10] = {0}, held_us = start_us;
    uint64_t interval_us = 0;

    shoal__flush_guard_init(&guard, start_us);
    for (uint64_t now_us = start_us; now_us < start_us + 10 * SECOND_US; now_us += 100)
        if (shoal__flush_guard_may_hold(&guard, now_us)) {
            assert_true(now_us - held_us >=
                        interval_us); /* intervals never get shorter */
            interval_us = now_us - held_us;
            held_us = now_us;
            probes[(now_us - start_us) / SECOND_US]++;
            shoal__flush_guard_held(&guard, DRY, now_us);
        }
    assert_in_range(probes[0] + probes[1], 4, 20);
    for (int second = 2; second < 10; second++)
        assert_in_range(probes[second], 0, 2);
    assert_true(probes[8] + probes[9] > 0);
}

/* With random arrivals most holds dry up; in a closed loop all do.  So one hold in many
 * that gathered commands proves nothing, and one in two proves much. */
static void test_evidence_is_weighed(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, CLOSED);

    for (int i = 0; i < 100; i++) {
        now_us += SECOND_US;
        shoal__flush_guard_held(&guard, i % 10 == 9 ? FLOWED : DRY, now_us);
    }
    assert_int_equal(guard.state, CLOSED);
    for (int i = 0; i < 20 && guard.state == CLOSED; i++) {
        now_us += SECOND_US;
        shoal__flush_guard_held(&guard, i % 2 ? FLOWED : DRY, now_us);
    }
    assert_int_equal(guard.state, TRIAL);
}

/* ---- the trial ---- */

static uint64_t slower_by_a_fifth(unsigned epoch, bool holds)
{
    (void)epoch;
    return holds ? GAP_NS * 12 / 10 : GAP_NS;
}

static uint64_t slower_by_a_hundredth(unsigned epoch, bool holds)
{
    (void)epoch;
    return holds ? GAP_NS * 101 / 100 : GAP_NS;
}

static uint64_t faster(unsigned epoch, bool holds)
{
    (void)epoch;
    return holds ? GAP_NS / 2 : GAP_NS;
}

static uint64_t load_grows(unsigned epoch, bool holds)
{
    (void)holds;
    return GAP_NS - GAP_NS / 20 * epoch;
}

static uint64_t load_shrinks(unsigned epoch, bool holds)
{
    (void)holds;
    return GAP_NS + GAP_NS / 20 * epoch;
}

static uint64_t load_peaks(unsigned epoch, bool holds)
{
    uint64_t away = epoch < 4 ? 4 - epoch : epoch - 3;

    (void)holds;
    return GAP_NS + GAP_NS / 80 * away * away;
}

static uint64_t grows_and_holds_cost(unsigned epoch, bool holds)
{
    return load_grows(epoch, holds) * (holds ? 13 : 10) / 10;
}

/* One epoch in which the machine ran something else. */
static uint64_t stall_with_holds(unsigned epoch, bool holds)
{
    (void)holds;
    return epoch == 2 ? GAP_NS * 40 : GAP_NS;
}

static uint64_t stall_without(unsigned epoch, bool holds)
{
    return epoch == 3 ? GAP_NS * 40 : slower_by_a_fifth(epoch, holds);
}

/* clang-format off */
static const struct trial_case {
    const char *name;
    pace_fn pace;
    shoal__guard_state_t verdict;
} trial_cases[] = {
    {"holds cost nothing",                     steady,                OPEN},
    {"next to nothing",                        slower_by_a_hundredth, OPEN},
    {"they cost a fifth",                      slower_by_a_fifth,     CLOSED},
    {"they help",                              faster,                OPEN},
    {"the load grows meanwhile",               load_grows,            OPEN},
    {"it shrinks",                             load_shrinks,          OPEN},
    {"it has a peak",                          load_peaks,            OPEN},
    {"growth does not hide what holds cost",   grows_and_holds_cost,  CLOSED},
    {"one stalled epoch condemns nobody",      stall_with_holds,      OPEN},
    {"and acquits nobody",                     stall_without,         CLOSED},
};
/* clang-format on */

static void test_trials(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trial_cases / sizeof *trial_cases; i++) {
        shoal__flush_guard_t guard;
        uint64_t now_us = enter(&guard, TRIAL);

        now_us = live_trial(&guard, trial_cases[i].pace, now_us);
        if (guard.state != trial_cases[i].verdict)
            fail_msg("%s: state %u", trial_cases[i].name, guard.state);
        if (guard.state == CLOSED)
            assert_false(shoal__flush_guard_may_hold(&guard, now_us));
    }
}

/* An epoch lasts for many commands and for several round trips. */
static void test_epochs_are_long_enough(void **state)
{
    (void)state;
    const uint64_t rtts_us[] = {0, 45, 5000, 200000};

    for (size_t i = 0; i < sizeof rtts_us / sizeof *rtts_us; i++) {
        shoal__flush_guard_t guard;
        uint64_t now_us = enter(&guard, TRIAL), since_us = now_us;

        now_us = live_epoch(&guard, 1000, rtts_us[i], now_us);
        assert_true(now_us - since_us >= 2 * rtts_us[i]);
        assert_true(now_us - since_us >= 1000);

        /* While the clock stands still, commands alone do not end an epoch. */
        for (int k = 0; k < 100; k++)
            shoal__flush_guard_completed(&guard, 100000, rtts_us[i], now_us);
        assert_int_equal(guard.epoch, 1);
    }
}

static void test_time_alone_ends_no_epoch(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, TRIAL);

    for (int i = 0; i < 30; i++)
        shoal__flush_guard_completed(&guard, 1, RTT_US, now_us += SECOND_US);
    assert_int_equal(guard.epoch, 0);
}

/* A completion may carry a time that is a little older than the last one. */
static void test_a_step_back_ends_no_epoch(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, TRIAL);

    shoal__flush_guard_completed(&guard, 100000, RTT_US, now_us - 10);
    assert_int_equal(guard.epoch, 0);
    assert_int_equal(guard.state, TRIAL);
}

/* Half of the epochs have holds, and on average neither kind comes earlier. */
static void test_epochs_are_balanced(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, TRIAL);
    int holds = 0, moment = 0, square = 0;

    for (int i = 0; i < SHOAL__GUARD_EPOCHS; i++) {
        int sign = shoal__flush_guard_may_hold(&guard, now_us) ? 1 : -1;
        holds += sign;
        moment += sign * i;
        square += sign * i * i;
        now_us = live_epoch(&guard, GAP_NS, RTT_US, now_us);
    }
    assert_int_equal(holds, 0);
    assert_int_equal(moment, 0);
    assert_int_equal(square, 0);
}

/* ---- open ---- */

static uint64_t complete(shoal__flush_guard_t *guard, uint64_t commands,
                         uint64_t gap_ns, uint64_t now_us)
{
    uint64_t since_us = now_us;

    for (uint64_t i = 1; i <= commands && guard->state == OPEN; i++) {
        now_us = since_us + i * gap_ns / 1000;
        shoal__flush_guard_completed(guard, 1, RTT_US, now_us);
    }
    return now_us;
}

static void test_another_pace_is_tried_anew(void **state)
{
    (void)state;
    const struct {
        uint64_t gap_ns;
        shoal__guard_state_t next;
    } cases[] = {
        {GAP_NS, OPEN},      {GAP_NS * 5 / 4, OPEN}, {GAP_NS * 4 / 5, OPEN},
        {GAP_NS * 5, TRIAL}, {GAP_NS / 5, TRIAL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__flush_guard_t guard;
        uint64_t now_us = enter(&guard, OPEN);

        complete(&guard, 20000, cases[i].gap_ns, now_us);
        assert_int_equal(guard.state, cases[i].next);
    }
}

/* The machine ran something else for a while.  The pace of the load did not change. */
static void test_one_strange_epoch_is_no_other_pace(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, OPEN);

    now_us = complete(&guard, 5000, GAP_NS, now_us);
    now_us = complete(&guard, 5000, GAP_NS, now_us + 40000);
    assert_int_equal(guard.state, OPEN);
}

/* Holds that gather nothing, and cost nothing, are allowed for a while. */
static void test_holds_that_dry_up_are_tried_once(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, OPEN);

    for (int i = 0; i < 1000 && guard.state == OPEN; i++)
        shoal__flush_guard_held(&guard, DRY, now_us += 100);
    assert_int_equal(guard.state, TRIAL);
    now_us = live_trial(&guard, steady, now_us);
    assert_int_equal(guard.state, OPEN);
    for (int i = 0; i < 1000; i++)
        shoal__flush_guard_held(&guard, DRY, now_us += 100);
    assert_int_equal(guard.state, OPEN);
}

static void test_trust_wears_off(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, OPEN);

    complete(&guard, 20000, GAP_NS, now_us);
    assert_int_equal(guard.state, OPEN);
    complete(&guard, 10000000, GAP_NS, now_us);
    assert_int_equal(guard.state, TRIAL);
    assert_int_equal(guard.trials, 2);
}

static void test_dry_holds_among_others_do_not_close(void **state)
{
    (void)state;
    shoal__flush_guard_t guard;
    uint64_t now_us = enter(&guard, OPEN);

    for (int i = 0; i < 1000; i++)
        shoal__flush_guard_held(&guard, i % 2 ? DRY : FLOWED, now_us += 100);
    assert_int_equal(guard.state, OPEN);
}

static void test_other_callers_start_over(void **state)
{
    (void)state;
    const shoal__guard_state_t states[] = {CLOSED, TRIAL, OPEN};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        shoal__flush_guard_t guard;
        uint64_t now_us = enter(&guard, states[i]);
        uint64_t probes = guard.probes, trials = guard.trials;

        shoal__flush_guard_forget(&guard, now_us + SECOND_US);
        assert_int_equal(guard.state, CLOSED);
        assert_int_equal(guard.probes, probes); /* the user's figures stay */
        assert_int_equal(guard.trials, trials);
        shoal__flush_guard_held(&guard, FLOWED, now_us + SECOND_US);
        assert_int_equal(guard.state, CLOSED); /* the old evidence is forgotten */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes_of_holds),
        cmocka_unit_test(test_what_each_state_allows),
        cmocka_unit_test(test_probes_that_dry_up_become_rare_and_never_end),
        cmocka_unit_test(test_evidence_is_weighed),
        cmocka_unit_test(test_trials),
        cmocka_unit_test(test_epochs_are_long_enough),
        cmocka_unit_test(test_time_alone_ends_no_epoch),
        cmocka_unit_test(test_a_step_back_ends_no_epoch),
        cmocka_unit_test(test_epochs_are_balanced),
        cmocka_unit_test(test_another_pace_is_tried_anew),
        cmocka_unit_test(test_one_strange_epoch_is_no_other_pace),
        cmocka_unit_test(test_holds_that_dry_up_are_tried_once),
        cmocka_unit_test(test_trust_wears_off),
        cmocka_unit_test(test_dry_holds_among_others_do_not_close),
        cmocka_unit_test(test_other_callers_start_over),
    };
    return cmocka_run_group_tests_name("core/flush/flush_guard", tests, NULL, NULL);
}
