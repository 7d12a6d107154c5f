/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/pipe_move.h"
#include "unit/core/pipe/hold_rig.h"

/* ---- the order ---- */

static void test_refused_commands_go_again_in_their_order(void **state)
{
    (void)state;
    rig_connect();
    refuse("abc", WRITE, LOADING);
    rig_submit('d', 0, WRITE);
    rig_submit('e', 0, RO);
    assert_string_equal(rig_write_all(), "");
    assert_in_range(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 5000,
                    rig.now_us + 10000);
    assert_int_equal(shoal__pipe_held(&rig.pipe), 3);
    pass_pause();
    assert_string_equal(rig_write_all(), "a"); /* the probe, alone */
    assert_string_equal(rig_write_all(), "");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "bcde");
    rig_feed("+b\r\n+c\r\n+d\r\n+e\r\n");
    assert_heard("a=+a b=+b c=+c d=+d e=+e ");
    assert_int_equal(counter(&rig.pipe.stats.retries), 3);
    assert_int_equal(counter(&rig.pipe.stats.reordered), 0);
    assert_int_equal(rig.pipe.ring.retried, 0); /* tickets still ascend */
}

static void test_nothing_leaves_before_all_is_answered(void **state)
{
    (void)state;
    rig_connect();
    for (const char *at = "abc"; *at; at++)
        rig_submit(*at, 0, WRITE);
    rig_write_all();
    rig_feed(LOADING);
    rig_submit('d', 0, WRITE);
    assert_int_equal(rig_tick(rig.now_us + 1000000), 0);
    assert_string_equal(rig_write_all(), "");
    rig_feed("+b\r\n"); /* the server executed it although it had refused a */
    rig_feed(LOADING);
    rig_tick(rig.now_us);
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_true(rig.was_reordered);
    assert_string_equal(rig_write_all(), "cd");
    rig_feed("+c\r\n");
    assert_false(rig.was_reordered); /* b is older */
    assert_int_equal(counter(&rig.pipe.stats.reordered), 1);
}

/* ---- commands of the library's own ---- */

static void push_own(char name)
{
    shoal__request_t request =
        rig_request(name, SHOAL__REQUEST_INTERNAL, SHOAL__CLASS_WRITE);
    char wire[COMMAND_BYTES + 1];
    char *at = shoal__pipe_push_own(&rig.pipe, &request);

    assert_non_null(at);
    snprintf(wire, sizeof wire, "*1\r\n$1\r\n%c\r\n", name);
    memcpy(at, wire, COMMAND_BYTES);
}

static void test_own_commands_leave_while_others_are_held(void **state)
{
    (void)state;
    rig_connect();
    refuse("ab", WRITE, LOADING);
    rig_submit('c', 0, WRITE);
    push_own('x');
    push_own('y');
    assert_string_equal(rig_write_all(), "xy");
    rig_feed("+x\r\n+y\r\n");
    assert_int_equal(shoal__pipe_held(&rig.pipe), 2);
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    push_own('z'); /* it does not part the probe from its answer */
    assert_string_equal(rig_write_all(), "");
    rig_feed(LOADING);
    assert_string_equal(rig_write_all(), "z");
    rig_feed("+z\r\n");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "bc");
    rig_feed("+b\r\n+c\r\n");
    assert_heard("a=+a b=+b c=+c ");
    assert_int_equal(counter(&rig.pipe.stats.reordered), 0);
}

static void test_own_commands_wait_their_turn_while_nothing_is_held(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    push_own('x');
    rig_submit('b', 0, WRITE);
    assert_string_equal(rig_write_all(), "axb");
}

/* What is in flight may be refused as well; but they need not wait for that. */
static void test_own_commands_leave_behind_what_is_in_flight(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    assert_string_equal(rig_write_all(), "ab");
    rig_feed(LOADING);
    rig_submit('c', 0, WRITE);
    push_own('x');
    assert_string_equal(rig_write_all(), "x");
    rig_feed(LOADING "+x\r\n");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "bc");
}

static void test_a_probe_that_fails_waits_again(void **state)
{
    (void)state;
    rig_connect();
    refuse("ab", WRITE, LOADING);
    for (int probe = 0; probe < 20; probe++) {
        pass_pause();
        assert_string_equal(rig_write_all(), "a");
        rig_feed(LOADING);
        assert_string_equal(rig_write_all(), "");
    }
    assert_int_equal(rig.pipe.hold.refusals, 22);
    assert_int_equal(rig.pipe.hold.doublings, 5);
    pass_pause();
    rig_write_all();
    rig_feed("-WRONGTYPE x\r\n"); /* an answer as good as any */
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+b\r\n");
    assert_heard("a=-WRONGTYPE x b=+b ");
    assert_int_equal(rig.attempts, 1); /* refusals are no attempts */
}

/* The rest of what was begun must go: the server waits for it. */
static void test_what_was_begun_is_finished(void **state)
{
    (void)state;
    rig.config.inflight_max = 2;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_submit('b', 0, WRITE);
    rig_write(2 * COMMAND_BYTES);
    rig_feed(LOADING);
    assert_string_equal(rig_write_all(), "x");
    rig_feed("+OK\r\n+QUEUED\r\n");
    assert_string_equal(rig_write_all(), "e");
    pass_pause();
    assert_string_equal(rig_write_all(), "");
    rig_feed("*1\r\n+x\r\n");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "b");
}

/* The one that was refused was given up: what comes first is the probe. */
static void test_a_unit_is_probed_whole(void **state)
{
    (void)state;
    rig_connect();
    refuse("a", WRITE, LOADING);
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_submit('b', 0, WRITE);
    assert_true(rig_cancel('a'));
    pass_pause();
    assert_string_equal(rig_write_all(), "mxe");
    rig_feed("+OK\r\n");
    assert_string_equal(rig_write_all(), "b");
}

/* The library's own commands say nothing of the server's state. */
static void test_the_answer_to_a_command_of_the_library(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', SHOAL__REQUEST_INTERNAL, RO);
    rig_write_all();
    rig_feed(LOADING "+b\r\n");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_false(rig.was_reordered);
}

/* ---- scopes ---- */

static void test_reads_pass_writes_that_wait_for_a_role(void **state)
{
    (void)state;
    rig_connect();
    rig.pipe.renewal.begun_us = rig.now_us; /* none begins now */
    rig.pipe.renewal.asked_us = rig.now_us;
    rig.pipe.renewal.spacing_us = 30000000;
    refuse("a", WRITE, READONLY);
    rig_submit('b', 0, RO);
    rig_submit('c', 0, WRITE);
    rig_submit('d', 0, RO);
    rig_submit('e', 0, SHOAL__CLASS_SCRIPT);
    assert_string_equal(rig_write_all(), "bd");
    assert_int_equal(shoal__pipe_held(&rig.pipe), 3);
    pass_pause(); /* b and d are in flight */
    rig_submit('f', 0, RO);
    assert_string_equal(rig_write_all(), "");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe) > rig.now_us, 1);
    rig_feed("+b\r\n+d\r\n");
    assert_string_equal(rig_write_all(), "a");
    rig_feed(READONLY);
    assert_string_equal(rig_write_all(), "f");
    rig_feed("+f\r\n");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "ce");
    rig_feed("+c\r\n+e\r\n");
    assert_heard("b=+b d=+d f=+f a=+a c=+c e=+e ");
    /* Reads have overtaken a, and c and e, which waited although nobody refused them. */
    assert_int_equal(counter(&rig.pipe.stats.reordered), 3);
}

static void test_no_memory_to_part_reads_and_writes(void **state)
{
    (void)state;
    rig_connect();
    rig.pipe.renewal.begun_us = rig.pipe.renewal.asked_us = rig.now_us;
    rig.pipe.renewal.spacing_us = 30000000;
    refuse("a", WRITE, READONLY);
    for (const char *at = "bcdefghijklmnopqrstuvwx"; *at; at++)
        rig_submit(*at, 0, WRITE);
    rig_submit('y', 0, RO);
    shoal__test_fail_alloc_after(0);
    assert_string_equal(rig_write_all(), "");
    shoal__test_fail_alloc_never();
    assert_string_equal(rig_write_all(), "y");
    assert_int_equal(shoal__pipe_held(&rig.pipe), 24);
    assert_true(rig_cancel('x'));
    assert_heard("x!ECANCELLED/no ");
}

/* TRYAGAIN is about some keys; it holds nobody else up. */
static void test_some_are_refused_alone(void **state)
{
    (void)state;
    rig_connect();
    refuse("ab", WRITE, "-TRYAGAIN x\r\n");
    rig_submit('c', 0, WRITE);
    assert_string_equal(rig_write_all(), "c");
    rig_submit('d', 0, WRITE);
    pass_pause();
    assert_string_equal(rig_write_all(), "abd"); /* though c is in flight */
    assert_true(rig_cancel('d'));
    rig_feed("+c\r\n-TRYAGAIN x\r\n+b\r\n");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    assert_heard("d!ECANCELLED/maybe c=+c b=+b ");
}

/* One holder has the connection: what it reads may rely on what it wrote. */
static void test_on_a_bound_connection_all_wait(void **state)
{
    static const char *const errors[] = {READONLY, "-TRYAGAIN x\r\n"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig_tear_down(state);
        rig_set_up(state);
        rig_connect();
        rig.pipe.renewal.begun_us = rig.pipe.renewal.asked_us = rig.now_us;
        rig.pipe.renewal.spacing_us = 30000000;
        shoal__pipe_bind(&rig.pipe, true);
        refuse("a", WRITE, errors[i]);
        rig_submit('b', SHOAL__REQUEST_STATE, WRITE);
        rig_submit('c', 0, RO);
        assert_string_equal(rig_write_all(), "");
        pass_pause();
        assert_string_equal(rig_write_all(), "a");
        rig_feed("+a\r\n");
        assert_string_equal(rig_write_all(), "bc");
        rig_feed(LOADING "+c\r\n"); /* b: c has run without it */
        assert_heard("a=+a b=-LOADING x c=+c ");
    }
}

/* ---- bounds ---- */

static void test_attempts_are_those_of_losses(void **state)
{
    (void)state;
    rig.config.attempts_max = 2;
    rig_connect();
    refuse("a", RO, "-MASTERDOWN x\r\n");
    for (int probe = 0; probe < 5; probe++) {
        pass_pause();
        assert_string_equal(rig_write_all(), "a");
        rig_feed("-MASTERDOWN x\r\n");
    }
    pass_pause();
    rig_write_all();
    rig_lose();
    assert_heard(""); /* the first loss: it goes again */
    rig_connect();
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_lose();
    assert_heard("a!ECONN/maybe ");
    assert_int_equal(rig.attempts, 2);
}

static void test_however_many_the_budget_is_not_touched(void **state)
{
    (void)state;
    rig_connect();
    refuse("abcdefghijklmnopqrst", WRITE, LOADING);
    assert_heard("");
    assert_int_equal(rig.pipe.budget.tokens_10, SHOAL__RETRY_TOKENS_10_FULL);
    assert_int_equal(counter(&rig.pipe.stats.retries), 20);
}

/* A server that asks for credentials anew costs a connection: that is an attempt. */
static void test_credentials_that_are_asked_for(void **state)
{
    char sesame[] = "sesame";

    (void)state;
    rig_connect();
    for (int attempt = 1; attempt < 3; attempt++) {
        rig.secret.password = sesame;
        rig_submit('a', 0, WRITE);
        rig.pipe.ring.slots[rig.pipe.ring.head & rig.pipe.ring.mask].attempts =
            (unsigned)attempt & 127u;
        rig_write_all();
        rig_feed("-NOAUTH x\r\n");
        if (attempt == 1) {
            assert_true(rig_cancel('a'));
            assert_int_equal(rig.attempts, 2);
            rig.secret.password = NULL;
            renew_if_wanted();
            rig_tick(rig.now_us);
            assert_string_equal(rig.pipe.renewal.reason,
                                "renewed, because the server asked for credentials");
        }
    }
    assert_heard("a!ECANCELLED/no a=-NOAUTH x ");
}

static void test_one_attempt_waits_for_nothing(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', SHOAL__REQUEST_ONCE, WRITE);
    rig_submit('b', 0, SHOAL__CLASS_SCRIPT);
    rig_write_all();
    rig_feed("-READONLY x\r\n-READONLY x\r\n");
    rig.config.attempts_max = 1;
    rig_submit('c', 0, WRITE);
    rig_write_all();
    rig_feed(READONLY);
    assert_heard("a=-READONLY x b=-READONLY x c=-READONLY x ");
    assert_int_equal(rig.pipe.hold.state, SHOAL__HOLD_OPEN);
}

/* The last answer before the deadline is the result; the next command asks at once. */
static void test_a_refusal_that_does_not_end(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    rig_connect();
    request.deadline_us = rig.now_us + 15000;
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_feed(LOADING LOADING);
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed(LOADING); /* the next pause may be longer than what is left */
    assert_heard("a=-LOADING x ");
    assert_string_equal(rig_write_all(), "b");
    rig_feed(LOADING);
    rig.now_us += SHOAL__HOLD_US_MAX;
    pass_pause();
    assert_string_equal(rig_write_all(), "b");
    rig_feed(LOADING);
    assert_heard("b=-LOADING x ");
}

/* ---- the server's role ---- */

/* Let so much time pass, with a server that turns everything away.  Returns how often it
 * was asked. */
static unsigned stay_readonly(uint64_t us)
{
    uint64_t end_us = rig.now_us + us;
    unsigned asked = 0;

    while (rig.now_us < end_us) {
        renew_if_wanted();
        rig_tick(rig.now_us);
        for (const char *letters = rig_write_all(); *letters; letters++, asked++)
            assert_int_equal(rig_feed(READONLY), 0);
        uint64_t wake_us = shoal__pipe_next_wake_us(&rig.pipe);
        assert_true(wake_us > rig.now_us ||
                    rig.pipe.renewal.state == SHOAL__RENEWAL_WANTED);
        rig.now_us = wake_us;
    }
    rig.now_us = end_us;
    return asked;
}

/* However many wait, one of them asks.  (I13) */
static void test_a_switch_of_roles_is_waited_for(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abcdefghijklmnopqrst"; *name; name++)
        rig_submit(*name, 0, *name < 'k' ? WRITE : RO);
    rig_write_all();
    for (int i = 0; i < 20; i++)
        rig_feed(i < 10 ? READONLY : "-MASTERDOWN x\r\n");
    assert_in_range(stay_readonly(500000), 3, 10);
    assert_heard("");
    rig_tick(rig.now_us + 250000);
    if (rig.pipe.phase != SHOAL__PIPE_READY)
        rig_connect();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+x\r\n");
    const char *letters = rig_write_all();
    assert_string_equal(letters, "bcdefghijklmnopqrst"); /* in their order */
    for (int i = 1; i < 20; i++)
        rig_feed("+x\r\n");
    assert_heard(
        "a=+x b=+x c=+x d=+x e=+x f=+x g=+x h=+x i=+x j=+x k=+x l=+x m=+x n=+x "
        "o=+x p=+x q=+x r=+x s=+x t=+x ");
}

/* The server closes the connection soon, and what is sent over it until then is lost: also
 * if the loop comes late. */
static void test_nothing_is_sent_to_a_connection_that_ends(void **state)
{
    static const char unblocked[] =
        "-UNBLOCKED force unblock from blocking operation\r\n";
    shoal__pipe_t *greeter;

    (void)state;
    rig_connect();
    refuse("a", SHOAL__CLASS_BLOCK, unblocked);
    rig_submit('b', 0, RO);
    assert_true(rig.pipe.is_demoted);
    pass_pause();
    assert_string_equal(rig_write_all(), "");
    assert_true(shoal__renewal_begins(&rig.pipe.renewal, rig.now_us));
    rig_tick(rig.now_us + 1000000);
    assert_string_equal(rig_write_all(), "");
    greeter = greet_successor();
    shoal__pipe_drain(&rig.pipe, rig.now_us);
    assert_true(shoal__pipe_makes_way(&rig.pipe, rig.now_us));
    assert_int_equal(shoal__pipe_succeed(&rig.pipe, greeter, rig.now_us), 0);
    shoal__pipe_free_greeter(&rig.pipe, greeter);
    rig_tick(rig.now_us);
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+x\r\n");
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+x\r\n");
    assert_heard("a=+x b=+x ");
}

/* Each renewal costs every caller something: there are fewer and fewer, until a write that
 * was held has worked. */
static void test_renewals_for_a_role_are_spaced_out(void **state)
{
    (void)state;
    rig_connect();
    refuse("a", WRITE, READONLY);
    stay_readonly(10000000);
    assert_int_equal(rig.pipe.renewal.spacing_us, 8000000); /* 0, 1, 3 and 7 s */
    assert_true(rig_cancel('a'));
    rig_tick(rig.now_us);
    refuse("b", RO, LOADING);
    pass_pause();
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+x\r\n"); /* replicas read as well */
    assert_int_equal(rig.pipe.renewal.spacing_us, 8000000);
    refuse("c", WRITE, LOADING);
    pass_pause();
    assert_string_equal(rig_write_all(), "c");
    rig_feed("+x\r\n");
    assert_int_equal(rig.pipe.renewal.spacing_us, 1000000);
    assert_heard("a!ECANCELLED/no b=+x c=+x ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_refused_commands_go_again_in_their_order),
        TEST(test_nothing_leaves_before_all_is_answered),
        TEST(test_own_commands_leave_while_others_are_held),
        TEST(test_own_commands_wait_their_turn_while_nothing_is_held),
        TEST(test_own_commands_leave_behind_what_is_in_flight),
        TEST(test_a_probe_that_fails_waits_again),
        TEST(test_what_was_begun_is_finished),
        TEST(test_a_unit_is_probed_whole),
        TEST(test_the_answer_to_a_command_of_the_library),
        TEST(test_reads_pass_writes_that_wait_for_a_role),
        TEST(test_no_memory_to_part_reads_and_writes),
        TEST(test_some_are_refused_alone),
        TEST(test_on_a_bound_connection_all_wait),
        TEST(test_attempts_are_those_of_losses),
        TEST(test_however_many_the_budget_is_not_touched),
        TEST(test_credentials_that_are_asked_for),
        TEST(test_one_attempt_waits_for_nothing),
        TEST(test_a_refusal_that_does_not_end),
        TEST(test_a_switch_of_roles_is_waited_for),
        TEST(test_renewals_for_a_role_are_spaced_out),
        TEST(test_nothing_is_sent_to_a_connection_that_ends),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_hold", tests, NULL, NULL);
}
