/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

/* ---- deadlines ---- */

static void test_deadlines_are_met_in_every_phase(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    request.deadline_us = rig.now_us + 100;
    rig_push(&request);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 100);
    rig_tick(rig.now_us + 99);
    assert_heard("");
    rig_tick(rig.now_us + 1);
    assert_heard("a!ETIMEOUT/no ");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);

    request = rig_request('b', 0, WRITE);
    request.deadline_us = rig.now_us + 100;
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    rig_push(&request);
    rig_tick(shoal__pipe_next_wake_us(&rig.pipe));
    assert_heard("b!ETIMEOUT/no ");
}

/* Of many commands only those whose time has come expire, and none twice. */
static void test_each_has_its_own_deadline(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abcd"; *name; name++) {
        shoal__request_t request = rig_request(*name, 0, WRITE);
        request.deadline_us = rig.now_us + (*name == 'c' ? 1000 : 100);
        rig_push(&request);
    }
    rig_write(3 * COMMAND_BYTES);
    assert_true(rig_cancel('b')); /* a zombie */
    assert_true(rig_cancel('d')); /* gone */
    assert_heard("b!ECANCELLED/maybe d!ECANCELLED/no ");
    rig_tick(rig.now_us + 100);
    assert_heard("a!ETIMEOUT/maybe ");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 900);
    rig_tick(rig.now_us + 900);
    assert_heard("c!ETIMEOUT/maybe ");
    assert_int_equal(counter(&rig.pipe.stats.completed), 4);
}

/* ---- gone requests and a partly written one ---- */

static void test_a_sweep_leaves_the_partly_written_command_alone(void **state)
{
    (void)state;
    for (size_t part = 1; part < COMMAND_BYTES; part++) {
        rig_connect();
        for (const char *name = "abcde"; *name; name++)
            rig_submit(*name, 0, WRITE);
        rig_write(COMMAND_BYTES + part);
        assert_true(rig_cancel('c'));
        assert_true(rig_cancel('b')); /* the rest of it must follow */
        assert_true(rig_cancel('e'));
        rig_tick(rig.now_us); /* sweeps */
        assert_int_equal(rig.pipe.ring.gone, 0);
        assert_int_equal(rig_output().bytes, COMMAND_BYTES - part);
        assert_memory_equal(rig_output().data, &"*1\r\n$1\r\nb\r\n"[part],
                            COMMAND_BYTES - part);
        rig_write(COMMAND_BYTES - part);
        assert_string_equal(rig_write_all(), "d");
        rig_feed("+a\r\n+b\r\n+d\r\n");
        assert_heard("c!ECANCELLED/no b!ECANCELLED/maybe e!ECANCELLED/no a=+a d=+d ");
        rig_lose();
    }
}

static void test_cancel_of_what_is_over(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(COMMAND_BYTES);
    assert_true(rig_cancel('a'));
    assert_false(rig_cancel('a')); /* a zombie */
    assert_true(rig_cancel('b'));
    assert_false(rig_cancel('b')); /* gone */
    assert_false(rig_cancel('x'));
    assert_false(shoal__pipe_cancel(&rig.pipe, 0, rig.now_us));
    assert_true(pipe_is_idle(&rig.pipe));
    assert_heard("a!ECANCELLED/maybe b!ECANCELLED/no ");
}

/* Its caller found that its deadline had passed and took it back; a cancel tells the
 * loop. */
static void test_a_cancel_of_what_is_overdue(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    shoal__request_ring_at(&rig.pipe.ring, rig.pipe.ring.head)->flags |=
        SHOAL__REQUEST_OVERDUE;
    assert_true(rig_cancel('a'));
    assert_heard("a!ETIMEOUT/no ");
    assert_int_equal(counter(&rig.pipe.stats.timeouts), 1);
    assert_int_equal(counter(&rig.pipe.stats.cancels), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_deadlines_are_met_in_every_phase),
        TEST(test_each_has_its_own_deadline),
        TEST(test_a_sweep_leaves_the_partly_written_command_alone),
        TEST(test_cancel_of_what_is_over),
        TEST(test_a_cancel_of_what_is_overdue),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_give_up", tests, NULL, NULL);
}
