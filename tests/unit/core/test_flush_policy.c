/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/time_us.h"
#include "core/flush_policy.h"

#define IDLE SHOAL__FLUSH_IDLE
#define WAIT SHOAL__FLUSH_WAIT
#define NOW SHOAL__FLUSH_NOW
#define PAUSE_US 150

static shoal__flush_config_t config_of(shoal_flush_mode_t mode)
{
    return (shoal__flush_config_t){
        .mode = mode, .pause_us = PAUSE_US, .bytes_max = 4096, .commands_max = 32};
}

/* clang-format off */
static const struct ask_case {
    const char *name;
    shoal_flush_mode_t mode;
    uint64_t inflight; /* flushed at 1000 */
    uint64_t queued;   /* added at arrival_us */
    size_t bytes_each;
    bool is_urgent;
    uint64_t arrival_us, now_us;
    shoal__flush_verdict_t verdict;
    shoal_flush_reason_t reason; /* for NOW */
    uint64_t wake_us;            /* for WAIT */
} ask_cases[] = {
#define OFF SHOAL_FLUSH_OFF
#define FIXED SHOAL_FLUSH_FIXED
#define AUTO SHOAL_FLUSH_AUTO
    /*                                      inflight queued bytes urgent arrival now */
    {"off: nothing is queued",          OFF,   5,  0,   40, false, 1000, 1000, IDLE, 0, 0},
    {"off: one caller",                 OFF,   0,  1,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_LONE, 0},
    {"off: company in flight",          OFF,   1,  1,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_TURN, 0},
    {"off: a whole turn",               OFF,   0,  9,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_TURN, 0},
    {"off: full is said first",         OFF,   0, 32,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_FULL, 0},
    {"fixed: nothing is queued",      FIXED,   5,  0,   40, false, 1000, 1000, IDLE, 0, 0},
    {"fixed: a lone caller",          FIXED,   0,  1,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_LONE, 0},
    {"fixed: two, soon after",        FIXED,   1,  1,   40, false, 1001, 1001, WAIT, 0, 1150},
    {"fixed: one microsecond early",  FIXED,   1,  1,   40, false, 1001, 1149, WAIT, 0, 1150},
    {"fixed: the pause is over",      FIXED,   1,  1,   40, false, 1001, 1150, NOW, SHOAL_FLUSHED_BUDGET, 0},
    {"fixed: arrived after it",       FIXED,   1,  1,   40, false, 1200, 1200, NOW, SHOAL_FLUSHED_BUDGET, 0},
    {"fixed: no former flush",        FIXED,   0,  9,   40, false,   20,   20, NOW, SHOAL_FLUSHED_BUDGET, 0},
    {"fixed: enough bytes",           FIXED,   1,  2, 2048, false, 1001, 1001, NOW, SHOAL_FLUSHED_FULL, 0},
    {"fixed: one byte short of it",   FIXED,   1,  3, 1365, false, 1001, 1001, WAIT, 0, 1150},
    {"fixed: enough commands",        FIXED,   1, 32,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_FULL, 0},
    {"fixed: one command short",      FIXED,   1, 31,   40, false, 1001, 1001, WAIT, 0, 1150},
    {"fixed: urgent",                 FIXED,   1,  2,   40, true,  1001, 1001, NOW, SHOAL_FLUSHED_URGENT, 0},
    {"auto: nothing is queued",        AUTO,   5,  0,   40, false, 1000, 1000, IDLE, 0, 0},
    {"auto: a lone caller",            AUTO,   0,  1,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_LONE, 0},
    {"auto: enough bytes",             AUTO,   9,  2, 2048, false, 1001, 1001, NOW, SHOAL_FLUSHED_FULL, 0},
    {"auto: urgent",                   AUTO,   9,  1,   40, true,  1001, 1001, NOW, SHOAL_FLUSHED_URGENT, 0},
};
/* clang-format on */

static void check(const struct ask_case *c)
{
    shoal__flush_config_t config = config_of(c->mode);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    if (c->inflight > 0) {
        for (uint64_t i = 0; i < c->inflight; i++)
            shoal__flush_policy_add(&policy, 40, false, 990);
        assert_int_equal(shoal__flush_policy_ask(&policy, 990).verdict, NOW);
        shoal__flush_policy_flushed(&policy, c->inflight, c->inflight * 40, 9, 1000);
    }
    for (uint64_t i = 0; i < c->queued; i++)
        shoal__flush_policy_add(&policy, c->bytes_each, c->is_urgent && i == 0,
                                c->arrival_us);

    shoal__flush_answer_t answer = shoal__flush_policy_ask(&policy, c->now_us);
    if (answer.verdict != c->verdict)
        fail_msg("%s: verdict %u", c->name, answer.verdict);
    if (answer.verdict == NOW && answer.reason != c->reason)
        fail_msg("%s: reason %u", c->name, answer.reason);
    if (answer.verdict == WAIT && answer.wake_us != c->wake_us)
        fail_msg("%s: wake at %d", c->name, (int)answer.wake_us);
}

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ask_cases / sizeof *ask_cases; i++)
        check(&ask_cases[i]);
}

static void test_counts_follow_the_life_of_commands(void **state)
{
    (void)state;
    shoal__flush_config_t config = config_of(SHOAL_FLUSH_OFF);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    for (int i = 0; i < 5; i++)
        shoal__flush_policy_add(&policy, 10, i == 4, 100);
    shoal__flush_policy_removed(&policy, 1, 10);
    assert_int_equal(policy.queued, 4);
    assert_int_equal(policy.queued_bytes, 40);

    assert_int_equal(shoal__flush_policy_ask(&policy, 100).verdict, NOW);
    shoal__flush_policy_flushed(&policy, 3, 30, 5, 105);
    assert_int_equal(policy.queued, 1);
    assert_int_equal(policy.inflight, 3);
    assert_true(policy.is_urgent);

    shoal__flush_policy_flushed(&policy, 1, 10, 5, 110);
    assert_false(policy.is_urgent);
    shoal__flush_policy_completed(&policy, 4, 150);
    assert_int_equal(policy.inflight, 0);
    assert_int_equal(shoal__flush_policy_ask(&policy, 150).verdict, IDLE);
}

static void test_urgency_ends_with_the_last_command(void **state)
{
    (void)state;
    shoal__flush_config_t config = config_of(SHOAL_FLUSH_FIXED);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    shoal__flush_policy_add(&policy, 10, true, 100);
    shoal__flush_policy_removed(&policy, 1, 10);
    assert_int_equal(shoal__flush_policy_ask(&policy, 100).verdict, IDLE);
    assert_false(policy.is_urgent);
}

/* Commands that arrive while a long flush is being written are younger than it. */
static void test_what_a_flush_leaves_behind_is_held_from_its_arrival_on(void **state)
{
    (void)state;
    shoal__flush_config_t config = config_of(SHOAL_FLUSH_FIXED);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    shoal__flush_policy_add(&policy, 10, false, 1000);
    shoal__flush_policy_add(&policy, 10, false, 1000);
    assert_int_equal(shoal__flush_policy_ask(&policy, 1000).verdict, NOW);
    shoal__flush_policy_add(&policy, 10, false, 1040);
    shoal__flush_policy_flushed(&policy, 2, 20, 60, 1060);

    shoal__flush_answer_t answer = shoal__flush_policy_ask(&policy, 1060);
    assert_int_equal(answer.verdict, WAIT);
    assert_in_range(answer.wake_us, 1000 + PAUSE_US, 1040 + PAUSE_US);

    /* Also if commands are always left behind. */
    assert_int_equal(shoal__flush_policy_ask(&policy, 1200).verdict, NOW);
    shoal__flush_policy_add(&policy, 10, false, 1210);
    shoal__flush_policy_flushed(&policy, 1, 10, 20, 1220);
    answer = shoal__flush_policy_ask(&policy, 1220);
    assert_int_equal(answer.verdict, WAIT);
    assert_in_range(answer.wake_us, 1200 + PAUSE_US, 1210 + PAUSE_US);
}

static void test_a_lost_connection_starts_over(void **state)
{
    (void)state;
    const shoal_flush_mode_t modes[] = {SHOAL_FLUSH_OFF, SHOAL_FLUSH_FIXED,
                                        SHOAL_FLUSH_AUTO};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        shoal__flush_config_t config = config_of(modes[i]);
        shoal__flush_policy_t policy;

        shoal__flush_policy_init(&policy, &config);
        for (int k = 0; k < 9; k++)
            shoal__flush_policy_add(&policy, 10, false, 1000);
        assert_int_equal(shoal__flush_policy_ask(&policy, 1000).verdict, NOW);
        shoal__flush_policy_flushed(&policy, 9, 90, 5, 1000);
        shoal__flush_policy_lost(&policy, 4, 40, 1020);
        assert_int_equal(policy.inflight, 0);
        assert_int_equal(policy.queued, 4);
        assert_int_equal(policy.queued_bytes, 40);
        assert_int_equal(shoal__flush_policy_ask(&policy, 90000).verdict, NOW);
        shoal__flush_policy_flushed(&policy, 4, 40, 5, 90000);
        shoal__flush_policy_completed(&policy, 4, 90050);
        assert_int_equal(shoal__flush_policy_ask(&policy, 90050).verdict, IDLE);
    }
}

/* The three guarantees of the header, in every mode, under a random load. */
static void hold_guarantees(shoal_flush_mode_t mode, uint64_t seed)
{
    shoal__flush_config_t config = config_of(mode);
    shoal__flush_policy_t policy;
    shoal__random_t random;
    uint64_t now_us = 1000, first_us[64] = {0}; /* arrivals, oldest first */
    size_t queued = 0;

    shoal__flush_policy_init(&policy, &config);
    shoal__random_init(&random, seed);
    for (int turn = 0; turn < 20000; turn++) {
        now_us += shoal__random_below(&random, 10) ? shoal__random_below(&random, 40)
                                                   : shoal__random_below(&random, 6000);
        if (policy.inflight > 0 && shoal__random_below(&random, 2))
            shoal__flush_policy_completed(
                &policy, 1 + shoal__random_below(&random, policy.inflight), now_us);
        for (uint64_t n = shoal__random_below(&random, 6); n > 0 && queued < 64; n--) {
            first_us[queued++] = now_us;
            shoal__flush_policy_add(&policy, 40, false, now_us);
        }

        shoal__flush_answer_t answer = shoal__flush_policy_ask(&policy, now_us);
        if (queued == 0) {
            assert_int_equal(answer.verdict, IDLE);
            continue;
        }
        assert_int_not_equal(answer.verdict, IDLE);
        if (policy.queued + policy.inflight == 1)
            assert_int_equal(answer.verdict, NOW); /* P1 */
        if (answer.verdict == WAIT) {
            assert_true(answer.wake_us > now_us);
            assert_true(answer.wake_us <= first_us[0] + PAUSE_US);
            continue;
        }
        size_t written =
            shoal__random_below(&random, 4) ? queued : 1 + queued / 2; /* partial */
        shoal__flush_policy_flushed(&policy, written, written * 40, 5, now_us);
        /* The rest of a cut flush follows without being asked about. */
        if (written < queued)
            shoal__flush_policy_flushed(&policy, queued - written,
                                        (queued - written) * 40, 5, now_us);
        queued = 0;
    }
}

static void test_guarantees_hold_under_a_random_load(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        hold_guarantees(SHOAL_FLUSH_OFF, seed);
        hold_guarantees(SHOAL_FLUSH_FIXED, seed);
        hold_guarantees(SHOAL_FLUSH_AUTO, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_counts_follow_the_life_of_commands),
        cmocka_unit_test(test_urgency_ends_with_the_last_command),
        cmocka_unit_test(test_what_a_flush_leaves_behind_is_held_from_its_arrival_on),
        cmocka_unit_test(test_a_lost_connection_starts_over),
        cmocka_unit_test(test_guarantees_hold_under_a_random_load),
    };
    return cmocka_run_group_tests_name("core/flush_policy", tests, NULL, NULL);
}
