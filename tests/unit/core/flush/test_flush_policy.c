/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/time_us.h"
#include "core/flush/flush_policy.h"

#define IDLE SHOAL__FLUSH_IDLE
#define WAIT SHOAL__FLUSH_WAIT
#define NOW SHOAL__FLUSH_NOW
#define NEVER SHOAL__NEVER_US
#define PAUSE_US 150

static shoal__flush_config_t config_of(shoal_flush_mode_t mode)
{
    return (shoal__flush_config_t){.mode = mode,
                                   .pause_us = PAUSE_US,
                                   .bytes_max = 4096,
                                   .commands_max = 32,
                                   .has_fine_waker = true};
}

static void add(shoal__flush_policy_t *policy, uint64_t commands, uint64_t now_us)
{
    for (uint64_t i = 0; i < commands; i++)
        shoal__flush_policy_add(policy, 40, false, now_us);
}

static shoal__flush_answer_t ask(shoal__flush_policy_t *policy, uint64_t now_us)
{
    return shoal__flush_policy_ask(policy, NEVER, now_us);
}

/* clang-format off */
static const struct ask_case {
    const char *name;
    shoal_flush_mode_t mode;
    uint64_t inflight; /* commands that were flushed at 1000 */
    uint64_t queued; /* commands that came at arrival_us */
    size_t bytes_each;
    bool is_urgent;
    uint64_t arrival_us, now_us;
    shoal__flush_verdict_t verdict;
    shoal_flush_reason_t reason; /* if the verdict is NOW */
    uint64_t wake_us; /* if the verdict is WAIT */
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
    {"auto: two at once",              AUTO,   0,  2,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_COMPLETE, 0},
    {"auto: replies of others are due", AUTO,  5,  1,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_COMPLETE, 0},
    {"auto: enough bytes",             AUTO,   9,  2, 2048, false, 1001, 1001, NOW, SHOAL_FLUSHED_FULL, 0},
    {"auto: enough commands",          AUTO,   9, 32,   40, false, 1001, 1001, NOW, SHOAL_FLUSHED_FULL, 0},
    {"auto: urgent",                   AUTO,   9,  1,   40, true,  1001, 1001, NOW, SHOAL_FLUSHED_URGENT, 0},
};
/* clang-format on */

static void check(const struct ask_case *c)
{
    shoal__flush_config_t config = config_of(c->mode);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    if (c->inflight > 0) {
        add(&policy, c->inflight, 990);
        assert_int_equal(ask(&policy, 990).verdict, NOW);
        shoal__flush_policy_flushed(&policy, c->inflight, c->inflight * 40, 1000);
    }
    for (uint64_t i = 0; i < c->queued; i++)
        shoal__flush_policy_add(&policy, c->bytes_each, c->is_urgent && i == 0,
                                c->arrival_us);

    shoal__flush_answer_t answer = ask(&policy, c->now_us);
    if (answer.verdict != c->verdict)
        fail_msg("%s: verdict %u", c->name, answer.verdict);
    if (answer.verdict == NOW && answer.reason != c->reason)
        fail_msg("%s: reason %u", c->name, answer.reason);
    if (answer.verdict == WAIT && answer.wake_us != c->wake_us)
        fail_msg("%s: wake at %d", c->name, (int)answer.wake_us);
    if (answer.verdict != NOW && answer.wake_after == 0)
        fail_msg("%s: nobody will wake it", c->name);
    if (answer.verdict == NOW && answer.commands > c->queued)
        fail_msg("%s: more than are queued", c->name);
}

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ask_cases / sizeof *ask_cases; i++)
        check(&ask_cases[i]);
}

/* ---- deadlines ---- */

/* clang-format off */
static const struct deadline_case {
    const char *name;
    uint64_t rtt_us, deadline_us;
    shoal__flush_verdict_t verdict;
} deadline_cases[] = {
    /* Queued at 2100, held until 2250 at the latest. */
    {"no deadline",                           40, NEVER, WAIT},
    {"far away",                              40, 90000, WAIT},
    {"time for the pause and a round trip",   40,  2400, WAIT},
    {"not for both",                          40,  2270, NOW},
    {"not for the pause",                     40,  2200, NOW},
    {"not even for the round trip",           40,  2110, NOW},
    {"over already",                          40,  2000, NOW},
    {"a long round trip counts",            5000,  5000, NOW},
    {"and is enough",                       5000,  9000, WAIT},
};
/* clang-format on */

static void test_no_command_misses_its_deadline_by_waiting(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deadline_cases / sizeof *deadline_cases; i++) {
        const struct deadline_case *c = &deadline_cases[i];
        shoal__flush_config_t config = config_of(FIXED);
        shoal__flush_policy_t policy;

        shoal__flush_policy_init(&policy, &config);
        add(&policy, 1, 100);
        ask(&policy, 100);
        shoal__flush_policy_flushed(&policy, 1, 40, 100);
        shoal__flush_policy_completed(&policy, 1, 100 + c->rtt_us);

        /* The last flush is as recent as the command. */
        add(&policy, 1, 2100);
        shoal__flush_policy_flushed(&policy, 1, 40, 2100);
        policy.decided_us = 2100;
        add(&policy, 1, 2100);
        shoal__flush_answer_t answer =
            shoal__flush_policy_ask(&policy, c->deadline_us, 2100);
        if (answer.verdict != c->verdict)
            fail_msg("%s: verdict %u", c->name, answer.verdict);
        if (answer.verdict == NOW)
            assert_int_equal(answer.reason, SHOAL_FLUSHED_DEADLINE);
    }
}

/* ---- the life of commands ---- */

static void test_counts_follow_the_life_of_commands(void **state)
{
    (void)state;
    shoal__flush_config_t config = config_of(OFF);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    for (int i = 0; i < 5; i++)
        shoal__flush_policy_add(&policy, 10, i == 4, 100);
    shoal__flush_policy_removed(&policy, 1, 10, 100);
    assert_int_equal(policy.queued, 4);
    assert_int_equal(policy.queued_bytes, 40);

    assert_int_equal(ask(&policy, 100).verdict, NOW);
    shoal__flush_policy_flushed(&policy, 0, 0, 104); /* half of a command */
    shoal__flush_policy_flushed(&policy, 3, 30, 105);
    assert_int_equal(policy.queued, 1);
    assert_int_equal(policy.inflight, 3);
    assert_true(policy.is_urgent);

    shoal__flush_policy_flushed(&policy, 1, 10, 110);
    assert_false(policy.is_urgent);
    shoal__flush_policy_completed(&policy, 4, 150);
    assert_int_equal(policy.inflight, 0);
    assert_int_equal(ask(&policy, 150).verdict, IDLE);
}

static void test_urgency_ends_with_the_last_command(void **state)
{
    (void)state;
    shoal__flush_config_t config = config_of(FIXED);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    shoal__flush_policy_add(&policy, 10, true, 100);
    shoal__flush_policy_removed(&policy, 1, 10, 100);
    assert_int_equal(ask(&policy, 100).verdict, IDLE);
    assert_false(policy.is_urgent);
}

/* Commands that arrive while a long flush is being written are younger than it. */
static void test_what_a_flush_leaves_behind_is_held_from_its_arrival_on(void **state)
{
    (void)state;
    shoal__flush_config_t config = config_of(FIXED);
    shoal__flush_policy_t policy;

    shoal__flush_policy_init(&policy, &config);
    add(&policy, 2, 1000);
    assert_int_equal(ask(&policy, 1000).verdict, NOW);
    add(&policy, 1, 1040);
    shoal__flush_policy_flushed(&policy, 2, 80, 1060);

    shoal__flush_answer_t answer = ask(&policy, 1060);
    assert_int_equal(answer.verdict, WAIT);
    assert_in_range(answer.wake_us, 1000 + PAUSE_US, 1040 + PAUSE_US);

    /* The same holds if each flush leaves commands behind. */
    assert_int_equal(ask(&policy, 1200).verdict, NOW);
    add(&policy, 1, 1210);
    shoal__flush_policy_flushed(&policy, 1, 40, 1220);
    answer = ask(&policy, 1220);
    assert_int_equal(answer.verdict, WAIT);
    assert_in_range(answer.wake_us, 1200 + PAUSE_US, 1210 + PAUSE_US);
}

static void test_a_lost_connection_starts_over(void **state)
{
    (void)state;
    const shoal_flush_mode_t modes[] = {OFF, FIXED, AUTO};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        shoal__flush_config_t config = config_of(modes[i]);
        shoal__flush_policy_t policy;

        shoal__flush_policy_init(&policy, &config);
        add(&policy, 9, 1000);
        assert_int_equal(ask(&policy, 1000).verdict, NOW);
        shoal__flush_policy_flushed(&policy, 9, 360, 1000);
        shoal__flush_policy_lost(&policy, 4, 160, 1020);
        assert_int_equal(policy.inflight, 0);
        assert_int_equal(policy.queued, 4);
        assert_int_equal(policy.queued_bytes, 160);
        assert_int_equal(ask(&policy, 90000).verdict, NOW);
        shoal__flush_policy_flushed(&policy, 4, 160, 90000);
        shoal__flush_policy_completed(&policy, 4, 90050);
        assert_int_equal(ask(&policy, 90050).verdict, IDLE);
    }
}

/* ---- the guarantees of the header under any history ---- */

#define QUEUED_MAX 400

typedef struct walk {
    shoal__flush_policy_t policy;
    shoal__random_t random;
    uint64_t now_us, pause_us;
    uint64_t taken_us; /* all commands submitted before this time have come */
    uint64_t submitted_us[QUEUED_MAX]; /* one for each queued command, oldest first */
    size_t queued;
    uint64_t inflight;
    size_t authorised;    /* how many of them the last NOW allowed to leave */
    uint64_t deadline_us; /* their earliest deadline */
    bool is_urgent;
    uint64_t asked_us;
    bool is_split; /* the allowed commands are the first half of a batch */
    bool is_half;  /* they are written; the second half waits for their first reply */
    bool is_due;   /* that reply has come */
} walk_t;

static uint64_t draw(walk_t *walk, uint64_t bound)
{
    return shoal__random_below(&walk->random, bound);
}

/* Mostly some microseconds pass; sometimes none, or all until the wake-up, or many. */
static void let_time_pass(walk_t *walk)
{
    uint64_t kind = draw(walk, 20);

    if (kind == 0)
        walk->now_us += 1000000;
    else if (kind < 3)
        walk->now_us += draw(walk, 6000);
    else if (kind < 7 && walk->asked_us != NEVER && walk->asked_us > walk->now_us)
        walk->now_us = walk->asked_us + draw(walk, 60);
    else if (kind < 16)
        walk->now_us += draw(walk, 40);
}

static void submit(walk_t *walk, uint64_t submitted_us)
{
    if (walk->queued == QUEUED_MAX)
        return;
    /* Commands come in the order of submission, and all have come before a decision. */
    if (submitted_us < walk->taken_us)
        submitted_us = walk->taken_us;
    walk->taken_us = submitted_us;
    bool is_urgent = draw(walk, 200) == 0;
    walk->submitted_us[walk->queued++] = submitted_us;
    walk->is_urgent |= is_urgent;
    if (draw(walk, 100) == 0)
        walk->deadline_us =
            shoal__time_min(walk->deadline_us, submitted_us + draw(walk, 2000));
    shoal__flush_policy_add(&walk->policy, 40, is_urgent, submitted_us);
}

/* Replies come, and some of their callbacks submit again. */
static void receive(walk_t *walk)
{
    uint64_t replies = draw(walk, 3) ? walk->inflight : draw(walk, walk->inflight + 1);
    uint64_t again = draw(walk, 3);

    shoal__flush_policy_read_begin(&walk->policy, walk->now_us);
    for (uint64_t i = 0; i < replies; i++) {
        shoal__flush_policy_answered(&walk->policy);
        walk->inflight--;
        if (again == 0 || draw(walk, 2) == 0)
            submit(walk, walk->now_us);
    }
    shoal__flush_policy_read_end(&walk->policy, walk->now_us);
    walk->is_due = walk->is_half && (walk->is_due || replies > 0);
}

static void take_from_queue(walk_t *walk, size_t from, size_t commands)
{
    memmove(walk->submitted_us + from, walk->submitted_us + from + commands,
            (walk->queued - from - commands) * sizeof *walk->submitted_us);
    walk->queued -= commands;
    if (walk->queued == 0) {
        walk->is_urgent = false;
        walk->deadline_us = NEVER;
    }
}

static void cancel_some(walk_t *walk)
{
    size_t commands = (size_t)draw(walk, walk->queued + 1);

    take_from_queue(walk, (size_t)draw(walk, walk->queued - commands + 1), commands);
    shoal__flush_policy_removed(&walk->policy, commands, commands * 40, walk->now_us);
    walk->authorised = 0;
}

static void lose(walk_t *walk)
{
    size_t again = (size_t)draw(walk, walk->inflight + 1);

    if (again > QUEUED_MAX - walk->queued)
        again = QUEUED_MAX - walk->queued;
    /* Commands that return to the queue wait there from now on. */
    memmove(walk->submitted_us + again, walk->submitted_us,
            walk->queued * sizeof *walk->submitted_us);
    for (size_t i = 0; i < again; i++)
        walk->submitted_us[i] = walk->queued ? walk->submitted_us[again] : walk->now_us;
    walk->queued += again;
    walk->inflight = 0;
    walk->authorised = 0;
    walk->is_half = walk->is_due = false;
    shoal__flush_policy_lost(&walk->policy, walk->queued, walk->queued * 40,
                             walk->now_us);
    if (walk->queued == 0)
        take_from_queue(walk, 0, 0);
}

static void write_some(walk_t *walk)
{
    size_t commands = walk->authorised;

    if (draw(walk, 8) == 0)
        commands = (size_t)draw(walk, walk->authorised + 1); /* the socket is full */
    walk->now_us += draw(walk, 15);
    walk->is_half = walk->is_split && commands == walk->authorised;
    walk->is_split = walk->is_due = false;
    walk->authorised -= commands;
    take_from_queue(walk, 0, commands);
    walk->inflight += commands;
    shoal__flush_policy_flushed(&walk->policy, commands, commands * 40, walk->now_us);
}

static void check_wait(const walk_t *walk, const shoal__flush_answer_t *answer)
{
    uint64_t latest_us = walk->submitted_us[0] + walk->pause_us;

    assert_false(walk->is_urgent);
    assert_false(walk->is_due); /* the reply to the first half releases the second */
    assert_true(answer->wake_after >= 1);
    assert_true(answer->wake_us > walk->now_us);
    assert_true(answer->wake_us <= latest_us);
    assert_true(walk->deadline_us == NEVER ||
                answer->wake_us + walk->policy.learned.tempo.rtt_us <
                    walk->deadline_us);
    /* P1 */
    if (walk->policy.config.mode == AUTO)
        assert_true(shoal__flush_census_callers(&walk->policy.learned.census) > 1);
    else
        assert_true(walk->queued + walk->inflight > 1);
}

static void check_idle(const walk_t *walk, const shoal__flush_answer_t *answer)
{
    assert_int_equal(walk->queued, 0);
    assert_true(answer->wake_after >= 1);
    if (answer->wake_after > 1) /* the next command does not wake the loop */
        assert_true(answer->wake_us <= walk->now_us + walk->pause_us);
}

static void ask_and_check(walk_t *walk)
{
    shoal__flush_answer_t answer =
        shoal__flush_policy_ask(&walk->policy, walk->deadline_us, walk->now_us);

    walk->taken_us = walk->now_us;
    walk->asked_us = answer.verdict == NOW ? NEVER : answer.wake_us;
    if (answer.verdict == IDLE)
        check_idle(walk, &answer);
    if (answer.verdict == WAIT)
        check_wait(walk, &answer);
    if (answer.verdict != NOW)
        return;
    assert_true(walk->queued > 0);
    assert_true(answer.reason < SHOAL_FLUSH_REASONS);
    assert_true(answer.commands <= walk->queued);
    walk->authorised = answer.commands ? (size_t)answer.commands : walk->queued;
    walk->is_split = walk->authorised < walk->queued;
    walk->is_half = walk->is_due = false;
}

static void step(walk_t *walk)
{
    let_time_pass(walk);
    if (walk->inflight > 0 && draw(walk, 2))
        receive(walk);
    for (uint64_t n = draw(walk, 30) ? draw(walk, 4) : draw(walk, 150); n > 0; n--)
        submit(walk, walk->now_us - draw(walk, 60));
    if (walk->queued > 0 && draw(walk, 50) == 0)
        cancel_some(walk);
    if (draw(walk, 200) == 0)
        lose(walk);
    for (int writes = 0; walk->authorised == 0 || writes == 0; writes++) {
        assert_in_range(writes, 0, 8); /* each NOW lets something leave */
        if (walk->authorised == 0)
            ask_and_check(walk);
        if (walk->authorised == 0)
            break;
        write_some(walk);
    }
    assert_int_equal(walk->policy.queued, walk->queued);
    assert_int_equal(walk->policy.queued_bytes, walk->queued * 40);
    assert_int_equal(walk->policy.inflight, walk->inflight);
}

static void test_guarantees_hold_under_any_history(void **state)
{
    (void)state;
    const shoal_flush_mode_t modes[] = {OFF, FIXED, AUTO};
    const uint64_t pauses_us[] = {0, 1, 20, 100, 150, 1000};
    static walk_t walk;

    for (uint64_t seed = 1; seed <= 180; seed++) {
        shoal__flush_config_t config = config_of(modes[seed % 3]);

        memset(&walk, 0, sizeof walk);
        shoal__random_init(&walk.random, seed);
        config.pause_us = walk.pause_us = pauses_us[seed % 6];
        config.has_fine_waker = seed % 5 > 0;
        config.commands_max = seed % 7 ? QUEUED_MAX : 32;
        config.bytes_max = 65536;
        shoal__flush_policy_init(&walk.policy, &config);
        walk.deadline_us = walk.asked_us = NEVER;
        walk.now_us = seed % 4 ? 1000 : UINT64_C(1) << 63;
        for (int i = 0; i < 3000; i++)
            step(&walk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_no_command_misses_its_deadline_by_waiting),
        cmocka_unit_test(test_counts_follow_the_life_of_commands),
        cmocka_unit_test(test_urgency_ends_with_the_last_command),
        cmocka_unit_test(test_what_a_flush_leaves_behind_is_held_from_its_arrival_on),
        cmocka_unit_test(test_a_lost_connection_starts_over),
        cmocka_unit_test(test_guarantees_hold_under_any_history),
    };
    return cmocka_run_group_tests_name("core/flush/flush_policy", tests, NULL, NULL);
}
