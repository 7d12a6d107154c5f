/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "unit/core/flush/flush_rig.h"

/* When commands leave whose callers use other connections, too. */

#define SERVERS 3

/* A first batch of ten was answered after rtt_us, from 1000 on; the second one is in flight
 * since 2000. */
static void begin(shoal__flush_policy_t *policy, bool has_company, bool is_near,
                  uint64_t rtt_us)
{
    shoal__flush_config_t config = config_auto;

    config.has_company = has_company;
    shoal__flush_policy_init(policy, &config);
    policy->is_near = is_near;
    add(policy, 10, 1000);
    write_out(policy, 10, 1000);
    shoal__flush_policy_completed(policy, 10, 1000 + rtt_us);
    add(policy, 10, 2000);
    assert_int_equal(ask(policy, 2000).verdict, NOW);
    write_out(policy, 10, 2000);
}

static void test_a_batch_waits_for_the_answer_to_the_one_before(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    begin(&policy, true, true, 50);
    add(&policy, 8, 2010); /* two more than the gate wants */
    assert_int_equal(ask(&policy, 2010).verdict, WAIT);
    shoal__flush_policy_completed(&policy, 9, 2200);
    add(&policy, 8, 2200); /* more than ever before */
    assert_int_equal(ask(&policy, 2200).verdict, WAIT);
    shoal__flush_policy_completed(&policy, 1, 2250);
    shoal__flush_answer_t answer = ask(&policy, 2250);
    assert_int_equal(answer.verdict, NOW);
    assert_int_equal(answer.reason, SHOAL_FLUSHED_COMPLETE);
    assert_int_equal(answer.commands, 0);
}

/* clang-format off */
static const struct leaves_case {
    const char *name;
    bool has_company, is_near;
    uint64_t rtt_us;
    bool leaves;
} leaves_cases[] = {
    {"company, close by",               true,  true,   50, false},
    {"as much to do as is believed",    true,  true,  200, false},
    {"behind a proxy",                  true,  true,  201, true},
    {"far away",                        true,  false,  50, true},
    {"the only connection",             false, true,   50, true},
};
/* clang-format on */

static void test_who_does_not_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof leaves_cases / sizeof *leaves_cases; i++) {
        const struct leaves_case *c = &leaves_cases[i];
        shoal__flush_policy_t policy;

        begin(&policy, c->has_company, c->is_near, c->rtt_us);
        policy.learned.guard.probe_us = NEVER;
        add(&policy, 8, 2010);
        if ((ask(&policy, 2010).verdict == NOW) != c->leaves)
            fail_msg("%s", c->name);
    }
}

static void test_a_server_was_quick_until_it_is_lost(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;

    begin(&policy, true, true, 50);
    shoal__flush_policy_completed(&policy, 10, 9000); /* the machine stood still */
    for (uint64_t at = 9000; at < 20000; at += 1000) {
        add(&policy, 10, at);
        write_out(&policy, 10, at);
        add(&policy, 10, at + 10);
        assert_int_equal(ask(&policy, at + 10).verdict, WAIT);
        shoal__flush_policy_removed(&policy, 10, 200, at + 20);
        shoal__flush_policy_completed(&policy, 10, at + 900);
    }

    shoal__flush_policy_lost(&policy, 0, 0, 20000);
    policy.learned.guard.probe_us = NEVER;
    add(&policy, 10, 20000);
    write_out(&policy, 10, 20000);
    add(&policy, 10, 20010);
    assert_int_equal(ask(&policy, 20010).verdict, NOW);
}

static void test_what_ends_the_wait(void **state)
{
    (void)state;
    shoal__flush_policy_t policy;
    shoal__flush_answer_t answer;

    begin(&policy, true, true, 50);
    add(&policy, 1, 2010);
    answer = ask(&policy, 2010);
    assert_int_equal(answer.verdict, WAIT);
    assert_int_equal(answer.wake_us, 2000 + 10000);
    assert_int_equal(ask(&policy, answer.wake_us).verdict, NOW);

    begin(&policy, true, true, 50);
    add(&policy, 900, 2010);
    assert_int_equal(ask(&policy, 2010).reason, SHOAL_FLUSHED_FULL);

    begin(&policy, true, true, 50);
    shoal__flush_policy_add(&policy, 20, true, 2010);
    assert_int_equal(ask(&policy, 2010).reason, SHOAL_FLUSHED_URGENT);

    begin(&policy, true, true, 50);
    add(&policy, 1, 2010);
    assert_int_equal(shoal__flush_policy_ask(&policy, 9000, 2010).reason,
                     SHOAL_FLUSHED_DEADLINE);
}

/* ---- a closed loop over three servers, which share a core ---- */

typedef struct loop {
    shoal__flush_policy_t policies[SERVERS];
    shoal__random_t random;
    uint64_t now_us, flushes, commands;
} loop_t;

/* Callers choose a server at random. */
static void submit(loop_t *loop, uint64_t commands)
{
    for (uint64_t i = 0; i < commands; i++)
        add(&loop->policies[shoal__random_below(&loop->random, SERVERS)], 1,
            loop->now_us);
}

static void flush(loop_t *loop)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        shoal__flush_policy_t *policy = &loop->policies[i];
        shoal__flush_answer_t answer = ask(policy, loop->now_us);
        uint64_t commands = answer.commands ? answer.commands : policy->queued;
        if (answer.verdict != NOW)
            continue;
        write_out(policy, commands, loop->now_us);
        loop->flushes++;
        loop->commands += commands;
    }
}

/* The server answers all that it has, 1 us each. */
static void answer(loop_t *loop, shoal__flush_policy_t *policy)
{
    uint64_t commands = policy->inflight;

    loop->now_us += 10 + commands;
    shoal__flush_policy_completed(policy, commands, loop->now_us);
    submit(loop, commands);
    flush(loop);
}

static double mean_batch(uint64_t callers)
{
    shoal__flush_config_t config = config_auto;
    loop_t loop = {.now_us = 1000};

    config.has_company = true;
    shoal__random_init(&loop.random, 1);
    for (unsigned i = 0; i < SERVERS; i++) {
        shoal__flush_policy_init(&loop.policies[i], &config);
        loop.policies[i].is_near = true;
    }
    submit(&loop, callers);
    flush(&loop);
    for (unsigned i = 0; i < 3000; i++) {
        if (i == 300)
            loop.flushes = loop.commands = 0;
        answer(&loop, &loop.policies[i % SERVERS]);
    }
    return (double)loop.commands / (double)loop.flushes;
}

/* Half of the commands are in flight at the others, and half of the rest is this one's. */
static void test_batches_are_not_split_further_and_further(void **state)
{
    (void)state;
    assert_true(mean_batch(128) > 128 * 0.24);
    assert_true(mean_batch(1024) > 1024 * 0.24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_waits_for_the_answer_to_the_one_before),
        cmocka_unit_test(test_who_does_not_wait),
        cmocka_unit_test(test_a_server_was_quick_until_it_is_lost),
        cmocka_unit_test(test_what_ends_the_wait),
        cmocka_unit_test(test_batches_are_not_split_further_and_further),
    };
    return cmocka_run_group_tests_name("core/flush/flush_auto.company", tests, NULL,
                                       NULL);
}
