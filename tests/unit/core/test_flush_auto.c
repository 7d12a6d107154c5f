/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/time_us.h"
#include "core/flush_auto.h"

#define WAIT SHOAL__FLUSH_WAIT
#define NOW SHOAL__FLUSH_NOW
#define BUDGET_US 100

static const shoal__flush_config_t config_auto = {.mode = SHOAL_FLUSH_AUTO,
                                                  .pause_us = BUDGET_US,
                                                  .bytes_max = 262144,
                                                  .commands_max = 65536};

/* --- the rules, one by one --- */

static void add(shoal__flush_policy_t *policy, uint64_t commands, uint64_t now_us)
{
    for (uint64_t i = 0; i < commands; i++)
        shoal__flush_policy_add(policy, 40, false, now_us);
}

static void flush(shoal__flush_policy_t *policy, uint64_t now_us)
{
    shoal__flush_policy_flushed(policy, policy->queued, (size_t)policy->queued_bytes, 4,
                                now_us);
}

/* A policy that knows of `callers`, of whom `inflight` wait for a reply at 1000. */
static void prepare(shoal__flush_policy_t *policy, uint64_t callers, uint64_t inflight)
{
    shoal__flush_policy_init(policy, &config_auto);
    add(policy, callers, 990);
    shoal__flush_policy_ask(policy, 990);
    flush(policy, 990);
    shoal__flush_policy_completed(policy, callers - inflight, 1000);
    assert_int_equal(policy->inflight, inflight);
}

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
};
/* clang-format on */

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
        const struct rule_case *c = &rule_cases[i];
        shoal__flush_policy_t policy;

        prepare(&policy, c->callers, c->inflight);
        add(&policy, c->queued, 1000);
        shoal__flush_answer_t answer =
            shoal__flush_policy_ask(&policy, 1000 + c->age_us);
        if (answer.verdict != c->verdict)
            fail_msg("%s: verdict %u", c->name, answer.verdict);
        if (answer.verdict == NOW && answer.reason != c->reason)
            fail_msg("%s: reason %u", c->name, answer.reason);
        if (answer.verdict == WAIT && answer.wake_us != 1000 + BUDGET_US)
            fail_msg("%s: wake at %d", c->name, (int)answer.wake_us);
    }
}

static void test_what_a_server_reads_at_once_is_enough(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 900);
    shoal__flush_policy_add(&policy, 16383, false, 1000);
    assert_int_equal(shoal__flush_policy_ask(&policy, 1000).verdict, WAIT);
    shoal__flush_policy_add(&policy, 1, false, 1000);

    shoal__flush_answer_t answer = shoal__flush_policy_ask(&policy, 1000);
    assert_int_equal(answer.verdict, NOW);
    assert_int_equal(answer.reason, SHOAL_FLUSHED_FULL);
}

/* Twelve round trips without them, and callers that left are forgotten. */
static void test_callers_that_left_are_forgotten(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;
    uint64_t now_us = 1000, held = 0;

    prepare(&policy, 1024, 0);
    for (int round = 0; round < 40; round++) {
        /* 16 callers: 15 on the wire, one comes back alone. */
        add(&policy, 16, now_us);
        shoal__flush_policy_ask(&policy, now_us);
        flush(&policy, now_us);
        shoal__flush_policy_completed(&policy, 1, now_us += 50);
        add(&policy, 1, now_us);
        if (shoal__flush_policy_ask(&policy, now_us).verdict == WAIT) {
            assert_int_equal(held, round); /* not again once it has ended */
            held++;
        }
        flush(&policy, now_us);
        shoal__flush_policy_completed(&policy, 16, now_us += 50);
    }
    /* A round is a cycle or two. */
    assert_in_range(held, SHOAL__FLUSH_PEAKS / 2, SHOAL__FLUSH_PEAKS);
}

static void test_silence_forgets_everything(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 0); /* the last reply came at 1000 */
    add(&policy, 9, 3000);     /* 2 ms later: not yet silence */
    shoal__flush_policy_ask(&policy, 3000);
    assert_int_equal(policy.learned.peaks[0], 1024);
    flush(&policy, 3000);
    shoal__flush_policy_completed(&policy, 9, 3040);

    add(&policy, 9, 5041);
    assert_int_equal(shoal__flush_policy_ask(&policy, 5041).verdict, NOW);
    assert_int_equal(policy.learned.peaks[0], 0);
    assert_int_equal(policy.learned.peak, 9);
}

static void test_a_long_round_trip_is_no_silence(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 1024, 900);
    add(&policy, 1, 9000); /* 900 replies are still due */
    assert_int_equal(shoal__flush_policy_ask(&policy, 9000).verdict, WAIT);
}

/* --- a closed loop: callers that each wait for their reply --- */

#define CALLERS_MAX 1024

/* How soon a caller speaks again after its reply. */
typedef enum manner {
    AT_ONCE,  /* in the same turn, from the callback */
    IN_A_ROW, /* threads that wake one after the other, 3 us apart */
    AT_RANDOM /* threads that wake within 30 us */
} manner_t;

typedef struct world {
    shoal__flush_policy_t policy;
    shoal__random_t random;
    manner_t manner;
    size_t callers;
    uint64_t rtt_us;
    uint64_t speaks_us[CALLERS_MAX]; /* NEVER: waits for a reply */
    size_t queue[CALLERS_MAX];       /* callers in order of their commands */
    size_t head, written, tail;      /* ring indices: replied, written, queued */
    struct {
        size_t commands;
        uint64_t replied_us;
    } batches[CALLERS_MAX];
    size_t first_batch, next_batch;
    uint64_t server_free_us;
    uint64_t completed, flushes, held, held_alone;
} world_t;

static uint64_t next_event_us(const world_t *world, uint64_t wake_us)
{
    for (size_t i = 0; i < world->callers; i++)
        wake_us = shoal__time_min(wake_us, world->speaks_us[i]);
    if (world->first_batch != world->next_batch)
        wake_us = shoal__time_min(
            wake_us, world->batches[world->first_batch % CALLERS_MAX].replied_us);
    return wake_us;
}

static uint64_t delay_us(world_t *world, size_t position)
{
    switch (world->manner) {
    case IN_A_ROW:
        return 3 * (position + 1);
    case AT_RANDOM:
        return 1 + shoal__random_below(&world->random, 30);
    case AT_ONCE:
        break;
    }
    return 0;
}

/* Read every reply that is there. */
static void receive(world_t *world, uint64_t now_us)
{
    size_t replies = 0;

    while (world->first_batch != world->next_batch) {
        size_t at = world->first_batch % CALLERS_MAX;
        if (world->batches[at].replied_us > now_us)
            break;
        replies += world->batches[at].commands;
        world->first_batch++;
    }
    for (size_t i = 0; i < replies; i++) {
        size_t caller = world->queue[world->head++ % CALLERS_MAX];
        world->speaks_us[caller] =
            caller < world->callers ? now_us + delay_us(world, i) : SHOAL__NEVER_US;
    }
    world->completed += replies;
    shoal__flush_policy_completed(&world->policy, replies, now_us);
}

static void take_over(world_t *world, uint64_t now_us)
{
    for (size_t i = 0; i < world->callers; i++) {
        if (world->speaks_us[i] > now_us)
            continue;
        world->speaks_us[i] = SHOAL__NEVER_US;
        world->queue[world->tail++ % CALLERS_MAX] = i;
        shoal__flush_policy_add(&world->policy, 40, false, now_us);
    }
}

/* A write costs the loop 4 us; the server 10 us for a batch and 0.2 us for a command. */
static uint64_t send(world_t *world, uint64_t now_us)
{
    size_t commands = world->tail - world->written;
    uint64_t begin_us = now_us + 4 + world->rtt_us / 2;

    if (begin_us < world->server_free_us)
        begin_us = world->server_free_us;
    world->server_free_us = begin_us + 10 + commands / 5;
    world->batches[world->next_batch % CALLERS_MAX].commands = commands;
    world->batches[world->next_batch++ % CALLERS_MAX].replied_us =
        world->server_free_us + world->rtt_us - world->rtt_us / 2;
    world->written = world->tail;
    world->flushes++;
    shoal__flush_policy_flushed(&world->policy, commands, commands * 40, 4, now_us + 4);
    return now_us + 4;
}

static uint64_t run(world_t *world, uint64_t from_us, uint64_t until_us)
{
    uint64_t now_us = from_us, wake_us = SHOAL__NEVER_US;

    for (;;) {
        uint64_t event_us = next_event_us(world, wake_us);
        if (event_us > now_us)
            now_us = event_us;
        if (now_us >= until_us)
            return now_us;
        receive(world, now_us);
        take_over(world, now_us);

        shoal__flush_answer_t answer = shoal__flush_policy_ask(&world->policy, now_us);
        wake_us = SHOAL__NEVER_US;
        if (answer.verdict == NOW) {
            now_us = send(world, now_us);
        } else if (answer.verdict == WAIT) {
            wake_us = answer.wake_us;
            world->held++;
            world->held_alone += world->policy.queued + world->policy.inflight == 1;
        }
    }
}

static void begin(world_t *world, shoal_flush_mode_t mode, manner_t manner,
                  size_t callers, uint64_t rtt_us)
{
    shoal__flush_config_t config = config_auto;

    config.mode = mode;
    memset(world, 0, sizeof *world);
    shoal__flush_policy_init(&world->policy, &config);
    shoal__random_init(&world->random, 5);
    world->manner = manner;
    world->callers = callers;
    world->rtt_us = rtt_us;
    for (size_t i = 0; i < CALLERS_MAX; i++)
        world->speaks_us[i] = i < callers ? 1000 : SHOAL__NEVER_US;
}

static const size_t populations[] = {1, 2, 8, 16, 128, 1024};
static const uint64_t rtts_us[] = {40, 200, 5000};

static void compare(manner_t manner, size_t callers, uint64_t rtt_us)
{
    static world_t world;
    uint64_t completed[2], flushes[2];
    uint64_t until_us = 20000 + 25 * rtt_us;

    for (int is_auto = 0; is_auto < 2; is_auto++) {
        begin(&world, is_auto ? SHOAL_FLUSH_AUTO : SHOAL_FLUSH_OFF, manner, callers,
              rtt_us);
        run(&world, 1000, until_us);
        completed[is_auto] = world.completed;
        flushes[is_auto] = world.flushes;
    }
    if (callers <= 2)
        assert_int_equal(world.held, 0);
    if (completed[1] * 100 < completed[0] * 95 || flushes[1] > flushes[0] * 105 / 100)
        fail_msg("%d callers, rtt %d us, manner %u: %d commands in %d flushes, "
                 "without holding %d in %d",
                 (int)callers, (int)rtt_us, manner, (int)completed[1], (int)flushes[1],
                 (int)completed[0], (int)flushes[0]);
}

static void test_holding_never_costs_throughput(void **state)
{
    (void)state;
    for (manner_t manner = AT_ONCE; manner <= AT_RANDOM; manner++)
        for (size_t i = 0; i < sizeof populations / sizeof *populations; i++)
            for (size_t k = 0; k < sizeof rtts_us / sizeof *rtts_us; k++)
                compare(manner, populations[i], rtts_us[k]);
}

/* Callers that speak again at once travel in whole batches. */
static void test_callbacks_make_whole_batches(void **state)
{
    (void)state;
    static world_t world;

    for (size_t i = 0; i < sizeof populations / sizeof *populations; i++) {
        begin(&world, SHOAL_FLUSH_AUTO, AT_ONCE, populations[i], 40);
        run(&world, 1000, 20000);
        assert_int_equal(world.held, 0);
        assert_true(world.completed >= (world.flushes - 1) * populations[i]);
    }
}

/* 1023 of 1024 callers leave: the one that stays is never held.  (P1) */
static void test_the_last_caller_is_not_held(void **state)
{
    (void)state;
    static world_t world;

    for (manner_t manner = AT_ONCE; manner <= AT_RANDOM; manner++) {
        begin(&world, SHOAL_FLUSH_AUTO, manner, CALLERS_MAX, 200);
        uint64_t now_us = run(&world, 1000, 50000);
        world.callers = 1;
        for (size_t i = 1; i < CALLERS_MAX; i++)
            world.speaks_us[i] = SHOAL__NEVER_US;
        now_us = run(&world, now_us, now_us + 3000); /* their last replies */

        uint64_t held = world.held, completed = world.completed;
        run(&world, now_us, now_us + 50000);
        assert_int_equal(world.held, held);
        assert_int_equal(world.held_alone, 0);
        assert_true(world.completed - completed > 50000 / 300);
    }
}

/* A reply that does not come cannot hold a command back for longer than the budget. */
static void test_a_stuck_reply_holds_nobody_beyond_the_budget(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    prepare(&policy, 64, 20);
    add(&policy, 2, 1000);
    shoal__flush_answer_t answer = shoal__flush_policy_ask(&policy, 1000);
    assert_int_equal(answer.verdict, WAIT);
    assert_int_equal(answer.wake_us, 1000 + BUDGET_US);
    assert_int_equal(shoal__flush_policy_ask(&policy, answer.wake_us).verdict, NOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_what_a_server_reads_at_once_is_enough),
        cmocka_unit_test(test_callers_that_left_are_forgotten),
        cmocka_unit_test(test_silence_forgets_everything),
        cmocka_unit_test(test_a_long_round_trip_is_no_silence),
        cmocka_unit_test(test_holding_never_costs_throughput),
        cmocka_unit_test(test_callbacks_make_whole_batches),
        cmocka_unit_test(test_the_last_caller_is_not_held),
        cmocka_unit_test(test_a_stuck_reply_holds_nobody_beyond_the_budget),
    };
    return cmocka_run_group_tests_name("core/flush_auto", tests, NULL, NULL);
}
