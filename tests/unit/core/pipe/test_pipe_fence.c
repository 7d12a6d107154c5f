/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resp/reply_shape.h"
#include "unit/core/pipe/fence_rig.h"

/* ---- DETECT ---- */

static void test_a_fence_every_100_ms_of_activity(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    rig_submit('a', 0, RO);
    assert_written("a"); /* the greeting was a fence */
    assert_int_equal(answer(":1\r\n"), 0);
    pass_us(99999);
    rig_submit('b', 0, RO);
    assert_written("b");
    assert_int_equal(answer(":2\r\n"), 0);
    pass_us(1);
    assert_written(""); /* nothing to go along with */
    rig_submit('c', 0, RO);
    rig_submit('d', 0, RO);
    assert_written("Fcd");
    assert_int_equal(answer("F:3\r\n:4\r\n"), 0);
    rig_submit('e', 0, RO);
    assert_written("e");
    assert_heard("a=:1 b=:2 c=:3 d=:4 ");
    assert_int_equal(counter(&rig.pipe.stats.fences), 1);
}

/* A reply was lost: what follows would meet the wrong commands. */
static void test_a_wrong_answer_ends_the_connection(void **state)
{
    static const char *const answers[] = {":3\r\n",
                                          "$16\r\n0123456789abcdef\r\n",
                                          "$3\r\nabc\r\n",
                                          "+OK\r\n",
                                          "_\r\n",
                                          "*1\r\n:1\r\n",
                                          "-ERR no such key\r\n",
                                          "-WRONGTYPE no\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        connect_with(DETECT, true);
        pass_us(100000);
        rig_submit('c', 0, RO);
        rig_submit('d', 0, WRITE);
        assert_written("Fcd");
        assert_int_equal(answer(answers[i]), SHOAL_EDESYNC);
        assert_heard("");
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
        assert_heard("d!EDESYNC/maybe ");
        shoal__pipe_abandon(&rig.pipe, rig.now_us);
        rig.heard[0] = '\0';
    }
}

static void test_a_given_up_command_is_followed_by_a_fence(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    rig_submit('a', 0, WRITE);
    assert_written("a");
    assert_true(rig_cancel('a'));
    rig_submit('b', 0, RO);
    assert_written("Fb");
    assert_true(rig_cancel('b')); /* behind the fence: the next one waits for it */
    rig_submit('c', 0, RO);
    assert_written("c");
    assert_int_equal(answer(":1\r\nF:2\r\n"), 0);
    rig_submit('d', 0, RO);
    assert_written("Fd");
    assert_int_equal(answer(":3\r\nF:4\r\n"), 0);
    assert_heard("a!ECANCELLED/maybe b!ECANCELLED/maybe c=:3 d=:4 ");
}

static void test_an_error_that_all_get_proves_nothing(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_written("Fa");
    fences_count = 0;
    assert_int_equal(answer("-BUSY script\r\n-BUSY script\r\n"), 0);
    assert_int_equal(counter(&rig.pipe.stats.fences_unclear), 1);
    rig_submit('b', 0, RO);
    assert_written("Fb"); /* another one at once */
    assert_int_equal(answer("F:2\r\n"), 0);
    assert_heard("a=-BUSY script b=:2 ");
}

static void test_a_server_that_does_not_echo(void **state)
{
    (void)state;
    connect_with(DETECT, false);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_written("a");

    /* ... or not any more: one refusal may be the answer to something else. */
    connect_with(DETECT, true);
    for (unsigned refused = 0; refused < 5; refused++) {
        rig_tick(rig.now_us + 100000);
        rig_submit('a', 0, RO);
        assert_written("Fa");
        if (refused == 1) {
            assert_int_equal(answer("F:1\r\n"), 0);
            continue;
        }
        fences_count = 0;
        assert_int_equal(answer("-NOPERM no\r\n:1\r\n"), 0);
    }
    pass_us(100000);
    rig_submit('b', 0, RO);
    assert_written("b");
}

/* No fence between the commands of a unit, also when it is written in parts. */
static void test_units_are_not_parted(void **state)
{
    (void)state;
    rig.config.inflight_max = 2;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit_unit("abc", 0, SHOAL__NEVER_US);
    assert_written("Fab");
    assert_int_equal(answer("F+OK\r\n+QUEUED\r\n"), 0);
    pass_us(100000);
    rig_submit('d', 0, RO);
    assert_written("cd");
    assert_int_equal(answer("*1\r\n:1\r\n:4\r\n"), 0);
    rig_submit('e', 0, RO);
    assert_written("Fe");
}

/* What leaves no command to go along is sent all the same. */
static void test_a_fence_whose_commands_were_withdrawn(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_true(rig_output().bytes > 0);
    assert_true(rig_cancel('a'));
    assert_written("F");
    assert_int_equal(answer("F"), 0);
    assert_heard("a!ECANCELLED/no ");
    assert_int_equal(rig.pipe.fences.queued + rig.pipe.fences.inflight, 0);
}

static void test_fences_do_not_cross_connections(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_written("Fa");
    rig_lose();
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 1);
    rig_connect(); /* bare: no ECHO */
    fences_count = 0;
    written[0] = '\0';
    assert_written("a");
    assert_int_equal(answer(":1\r\n"), 0);
    assert_heard("a=:1 ");
}

static void test_no_fences_when_only_shapes_are_asked_for(void **state)
{
    (void)state;
    rig_connect();
    pass_us(1000000);
    rig_submit('a', 0, WRITE);
    assert_string_equal(rig_write_all(), "a");
    assert_true(rig_cancel('a'));
    rig_submit('b', 0, WRITE);
    assert_string_equal(rig_write_all(), "b");
}

/* Without memory for a fence the commands leave all the same, and it comes later. */
static void test_no_memory_for_a_fence(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('a', 0, RO);
    size_t kept = starve_log();
    write_all();
    feed_log(kept);
    assert_written("a");
    rig_submit('b', 0, RO);
    assert_written("Fb");
    assert_int_equal(answer(":1\r\nF:2\r\n"), 0);
    assert_heard("a=:1 b=:2 ");
}

/* ---- shapes ---- */

static void test_a_reply_of_the_wrong_type(void **state)
{
    (void)state;
    connect_with(SHOAL_INTEGRITY_SHAPES, true);
    shoal__request_t request = rig_request('a', 0, WRITE);
    request.shape = SHOAL__SHAPE_QUEUED;
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("*1\r\n"), 0);
    assert_int_equal(rig_feed(":1\r\n:2\r\n"), SHOAL_EDESYNC);
    assert_heard("");
}

#define REJECTED "-NOPERM no\r\n:1\r\n-ERR EXEC without MULTI\r\n"

/* Behind a MULTI that was rejected, the commands run by themselves; not so the next
 * unit. */
static void test_the_shapes_of_units(void **state)
{
    static const struct {
        const char *answers;
        int rc;
    } cases[] = {{"+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", 0},
                 {"+OK\r\n:1\r\n", SHOAL_EDESYNC},
                 {REJECTED, 0},
                 {REJECTED "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", 0},
                 {REJECTED "+OK\r\n:1\r\n", SHOAL_EDESYNC},
                 {REJECTED ":1\r\n", SHOAL_EDESYNC}};
    static const uint8_t shapes[] = {SHOAL__SHAPE_QUEUED, SHOAL__SHAPE_QUEUED,
                                     SHOAL__SHAPE_EXEC};
    static const uint16_t flags[] = {SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST,
                                     SHOAL__REQUEST_UNIT,
                                     SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        connect_with(SHOAL_INTEGRITY_SHAPES, true);
        for (size_t j = 0; j < 6; j++) {
            shoal__request_t request =
                rig_request((char)('a' + j), flags[j % 3], WRITE);
            request.shape = shapes[j % 3] & 63u;
            rig_push(&request);
        }
        rig_write_all();
        assert_int_equal(rig_feed(cases[i].answers), cases[i].rc);
        shoal__pipe_abandon(&rig.pipe, rig.now_us);
    }
}

#define RIG_TEST(function)                                                             \
    cmocka_unit_test_setup_teardown(function, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_a_fence_every_100_ms_of_activity),
        RIG_TEST(test_a_wrong_answer_ends_the_connection),
        RIG_TEST(test_a_given_up_command_is_followed_by_a_fence),
        RIG_TEST(test_an_error_that_all_get_proves_nothing),
        RIG_TEST(test_a_server_that_does_not_echo),
        RIG_TEST(test_units_are_not_parted),
        RIG_TEST(test_a_fence_whose_commands_were_withdrawn),
        RIG_TEST(test_fences_do_not_cross_connections),
        RIG_TEST(test_no_fences_when_only_shapes_are_asked_for),
        RIG_TEST(test_no_memory_for_a_fence),
        RIG_TEST(test_a_reply_of_the_wrong_type),
        RIG_TEST(test_the_shapes_of_units),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_fence", tests, NULL, NULL);
}
