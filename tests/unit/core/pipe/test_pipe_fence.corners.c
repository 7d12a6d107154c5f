/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/reply_shape.h"
#include "unit/core/pipe/fence_rig.h"

/* Fences that meet something else: withdrawn batches, blocking commands, losses, the
 * greeting, rejected units. */

/* Greet again, up to the answer to ECHO. */
static void greet_again(void)
{
    shoal__pipe_lost(&rig.pipe, SHOAL_ECONN, "cut", rig.now_us);
    rig.heard[0] = '\0';
    fences_count = 0;
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us), 0);
    write_all();
    written[0] = '\0';
    assert_int_equal(answer("+OK\r\n+OK\r\n"), 0);
}

/* ---- STRICT ---- */

/* A batch that was cut when a command of it was withdrawn: what left has its fence at
 * once, for the room that others need comes from its replies. */
static void test_a_batch_that_was_cut_has_its_fence(void **state)
{
    (void)state;
    rig.config.inflight_max = 12;
    connect_with(STRICT, true);
    for (char name = 'a'; name <= 'z'; name++)
        rig_submit(name, 0, RO);
    assert_true(rig_output().bytes > 10 * COMMAND_BYTES);
    shoal__pipe_written(&rig.pipe, 9 * COMMAND_BYTES + 3, rig.now_us);
    assert_true(rig_cancel('k'));
    assert_written("jF"); /* the part of j that had not left, and the fence */
    for (int reply = 1; reply <= 10; reply++) {
        char wire[16];
        snprintf(wire, sizeof wire, ":%d\r\n", reply);
        assert_int_equal(answer(wire), 0);
    }
    assert_heard("k!ECANCELLED/no ");
    assert_int_equal(answer("F"), 0);
    assert_heard("a=:1 b=:2 c=:3 d=:4 e=:5 f=:6 g=:7 h=:8 i=:9 j=:10 ");
}

static void test_a_unit_that_was_cut_is_written_to_its_end(void **state)
{
    (void)state;
    rig.config.inflight_max = 3;
    connect_with(STRICT, true);
    rig_submit_unit("efghi", 0, SHOAL__NEVER_US);
    rig_submit('j', 0, RO);
    assert_true(rig_output().bytes > 0);
    shoal__pipe_written(&rig.pipe, 2 * COMMAND_BYTES + 3, rig.now_us);
    assert_true(rig_cancel('j'));
    assert_written("ghiF");
}

static void test_no_memory_for_the_fence_of_a_cut_batch(void **state)
{
    uint64_t wake_us;

    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    rig_submit('b', 0, RO);
    assert_true(rig_output().bytes > 0);
    shoal__pipe_written(&rig.pipe, COMMAND_BYTES, rig.now_us);
    assert_true(rig_cancel('b'));
    shoal__pipe_sweep(&rig.pipe);
    size_t kept = rig.pipe.log.capacity;
    rig.pipe.fences.queued = 0;
    while (shoal__request_ring_queued(&rig.pipe.ring) >
           0) /* its fence, never written */
        shoal__request_ring_remove(&rig.pipe.ring, rig.pipe.ring.sent),
            shoal__pipe_sweep(&rig.pipe);
    rig.pipe.log.capacity = rig.pipe.log.tail;
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us).bytes, 0);
    shoal__test_fail_alloc_never();
    assert_int_equal(wake_us, rig.now_us + 1000);
    rig.pipe.log.capacity = kept;
    assert_written("F");
}

/* The server has answered what is held; it is the blocking command that takes time. */
static void test_a_command_that_blocks_behind_held_replies(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    shoal__request_t request = rig_request('b', 0, SHOAL__CLASS_BLOCK);
    request.deadline_us = rig.now_us + 30000000;
    rig_push(&request);
    assert_written("abF");
    assert_int_equal(answer(":1\r\n"), 0);
    assert_int_equal(rig_tick(rig.now_us + 6000000), 0);
}

/* A part of a line shares the last read of the greeting. */
static void test_a_line_that_begins_in_the_greeting(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    greet_again();
    assert_int_equal(answer("F+x"), SHOAL_EDESYNC);
}

/* Many batches in one read are not one batch. */
static void test_the_bound_is_of_what_stays_held(void **state)
{
    char wire[128] = "";

    (void)state;
    rig.config.reply.bytes_max = 300;
    connect_with(STRICT, true);
    for (char name = 'a'; name <= 'l'; name++) {
        rig_submit(name, 0, RO);
        write_all();
        strcat(wire, ":1\r\nF");
    }
    assert_int_equal(answer(wire), 0);
}

static void test_want_of_memory_when_asking_again(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    assert_written("aF");
    fences_count = 0;
    assert_int_equal(answer("-BUSY x\r\n-BUSY x\r\n"), 0);
    size_t kept = rig.pipe.log.capacity;
    rig.pipe.log.capacity = rig.pipe.log.tail;
    shoal__test_fail_alloc_after(0);
    assert_int_equal(rig_tick(rig.now_us + 10000), 0);
    assert_true(shoal__pipe_next_wake_us(&rig.pipe) > rig.now_us);
    shoal__test_fail_alloc_never();
    rig.pipe.log.capacity = kept;
    assert_int_equal(rig_tick(shoal__pipe_next_wake_us(&rig.pipe)), 0);
    assert_written("F");
}

/* ---- DETECT ---- */

static uint64_t seen_queued;

static void look_at_queue(void)
{
    seen_queued = shoal__pipe_queued(&rig.pipe);
}

/* Callbacks of a loss see a queue in which the fence counts no more. */
static void test_the_queue_as_callbacks_of_a_loss_see_it(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_true(rig_output().bytes > 0); /* and the socket takes none of it */
    rig.acting = 'a';
    rig.act = look_at_queue;
    seen_queued = 99;
    rig_lose();
    rig.act = NULL;
    assert_int_equal(seen_queued, 0);
}

/* Out of step, a reply proves nothing: any command may still run. */
static void test_what_may_run_late(void **state)
{
    (void)state;
    for (int status = SHOAL_ECONN; status >= SHOAL_EDESYNC; status--) {
        connect_with(DETECT, true);
        rig_submit('a', 0, WRITE);
        assert_written("a");
        assert_int_equal(answer(":1\r\n"), 0);
        shoal__pipe_lost(&rig.pipe, status, "cut", rig.now_us);
        /* The identity of the connection is not known, so nothing can be proved. */
        assert_int_equal(rig.pipe.greeting.former.has_lost_track,
                         status == SHOAL_EDESYNC);
    }
    greet_again(); /* out of step before any command */
    fences_count = 0;
    assert_int_equal(answer(":1\r\n"), SHOAL_EDESYNC);
    rig.pipe.greeting.former.has_lost_track = false;
    shoal__pipe_lost(&rig.pipe, SHOAL_EDESYNC, "cut", rig.now_us);
    assert_false(rig.pipe.greeting.former.has_lost_track);
    rig.heard[0] = '\0';
}

/* Not now is not never. */
static void test_a_server_that_is_busy_in_the_greeting(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    greet_again();
    fences_count = 0;
    assert_int_equal(answer("-BUSY x\r\n"), 0);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_written("Fa");
}

/* A lost answer, and the next reply looks like a refusal of the fence. */
static void test_a_shift_that_looks_like_a_refusal(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('c', 0, RO);
    assert_written("Fc");
    fences_count = 0;
    assert_int_equal(answer("-NOPERM c's own\r\n"), 0);
    pass_us(100000);
    rig_submit('d', 0, RO);
    assert_written("Fd");
    assert_int_equal(answer("F:1\r\n"), SHOAL_EDESYNC);
}

/* MULTI is refused, and everybody has given up: the parts run by themselves. */
static void test_a_rejected_unit_that_was_given_up(void **state)
{
    static const uint8_t shapes[] = {SHOAL__SHAPE_QUEUED, SHOAL__SHAPE_QUEUED,
                                     SHOAL__SHAPE_EXEC};
    static const uint16_t flags[] = {SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST,
                                     SHOAL__REQUEST_UNIT,
                                     SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST};

    (void)state;
    connect_with(DETECT, true);
    for (size_t i = 0; i < 3; i++) {
        shoal__request_t request = rig_request((char)('a' + i), flags[i], WRITE);
        request.shape = shapes[i] & 63u;
        request.deadline_us = rig.now_us + 1000;
        rig_push(&request);
    }
    assert_written("abc");
    pass_us(50000);
    assert_int_equal(answer("-NOPERM no\r\n:1\r\n-ERR EXEC without MULTI\r\n"), 0);
}

/* ---- held commands ---- */

static void test_a_probe_that_is_cancelled_behind_its_fence(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    rig_submit('a', 0, WRITE);
    assert_written("a");
    assert_int_equal(answer("-LOADING x\r\n"), 0);
    pass_us(100000);
    assert_true(rig_output().bytes > COMMAND_BYTES); /* the socket takes none of it */
    assert_true(rig_cancel('a'));
    assert_written("F");
    assert_written("");
    assert_int_equal(answer("F"), 0);
    rig_submit('b', 0, WRITE);
    assert_written("b");
}

static void test_held_commands_go_back_behind_a_fence(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    rig_submit('a', 0, WRITE);
    assert_written("a");
    pass_us(100000);
    rig_submit('b', 0, WRITE);
    assert_true(rig_output().bytes > COMMAND_BYTES); /* the socket takes none of it */
    assert_int_equal(answer("-LOADING x\r\n"), 0);
    pass_us(10000);
    assert_written("Fa");
    assert_int_equal(answer("F+a\r\n"), 0);
    assert_written("b");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_batch_that_was_cut_has_its_fence),
        TEST(test_a_unit_that_was_cut_is_written_to_its_end),
        TEST(test_no_memory_for_the_fence_of_a_cut_batch),
        TEST(test_a_command_that_blocks_behind_held_replies),
        TEST(test_a_line_that_begins_in_the_greeting),
        TEST(test_the_bound_is_of_what_stays_held),
        TEST(test_want_of_memory_when_asking_again),
        TEST(test_the_queue_as_callbacks_of_a_loss_see_it),
        TEST(test_what_may_run_late),
        TEST(test_a_server_that_is_busy_in_the_greeting),
        TEST(test_a_shift_that_looks_like_a_refusal),
        TEST(test_a_rejected_unit_that_was_given_up),
        TEST(test_a_probe_that_is_cancelled_behind_its_fence),
        TEST(test_held_commands_go_back_behind_a_fence),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_fence.corners", tests, NULL,
                                       NULL);
}
