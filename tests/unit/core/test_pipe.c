/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe_rig.h"
#include "unit/resp/scarce_hiredis.h"

/* ---- construction ---- */

/* Leaks on the way are for AddressSanitizer to find. */
static void test_init_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal__pipe_t pipe;

        shoal__test_fail_alloc_after(allowed);
        int rc = shoal__pipe_init(&pipe, &rig.config, NULL, &rig.random);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            shoal__pipe_release(&pipe);
            assert_true(allowed >= 3);
            return;
        }
        assert_int_equal(rc, SHOAL_ENOMEM);
    }
}

static void test_a_failed_reservation_changes_nothing(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__pipe_reserve(&rig.pipe, 1 << 20, 1));
    assert_null(shoal__pipe_reserve(&rig.pipe, 1, 1 << 20));
    shoal__test_fail_alloc_never();
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
}

/* The greeting's bytes, or the decoder's new reader: the next attempt has them. */
static void test_no_memory_to_begin(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    shoal__test_fail_alloc_after(0);
    int rc = shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_string_equal(rig.pipe.detail, "out of memory");
    shoal__pipe_lost(&rig.pipe, rc, rig.pipe.detail, rig.now_us);

    allow_hiredis(0);
    rc = shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    hiredisResetAllocators();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_int_equal(rig_output().bytes, 0);
    assert_non_null(strstr(rig.pipe.detail, "no memory"));
    shoal__pipe_lost(&rig.pipe, rc, rig.pipe.detail, rig.now_us);
    assert_heard("");

    rig_connect();
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
}

/* ---- the way of a command ---- */

static void test_commands_get_their_replies_in_order(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, RO);
    assert_string_equal(rig_write_all(), "ab");
    rig_submit('c', 0, RO);
    assert_string_equal(rig_write_all(), "c");
    assert_false(shoal__pipe_is_idle(&rig.pipe));
    assert_int_equal(rig_feed(":1\r\n$3\r\ntwo\r\n-ERR three\r\n"), 0);
    assert_heard("a=:1 b=$two c=-ERR three ");
    assert_int_equal(rig.attempts, 1);
    assert_true(shoal__pipe_is_idle(&rig.pipe));
    assert_int_equal(counter(&rig.pipe.stats.completed), 3);
    assert_int_equal(counter(&rig.pipe.stats.replies), 3);
    assert_int_equal(counter(&rig.pipe.stats.error_replies), 1);
    assert_int_equal(counter(&rig.pipe.stats.flushes), 2);
}

/* It has its slot, and counts. */
static void test_a_command_whose_result_nobody_wants(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    request.on_result = NULL;
    rig_connect();
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("+a\r\n+b\r\n"), 0);
    assert_heard("b=+b ");
    assert_int_equal(counter(&rig.pipe.stats.completed), 2);
    rig_push(&request);
    rig_write_all();
    rig_lose();
    assert_int_equal(counter(&rig.pipe.stats.failures), 1);
}

static void test_replies_byte_by_byte(void **state)
{
    (void)state;
    static const char replies[] = "$3\r\nx\r\n\r\n*2\r\n:1\r\n*1\r\n+x\r\n-ERR no\r\n";

    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, RO);
    rig_write_all();
    for (size_t i = 0; replies[i]; i++)
        assert_int_equal(shoal__pipe_feed(&rig.pipe, &replies[i], 1, rig.now_us), 0);
    assert_heard("a=$x\r\n b=*2 c=-ERR no ");
}

static void test_the_steady_state_allocates_nothing(void **state)
{
    (void)state;
    rig_connect();
    uint64_t before = 0;
    for (int round = 0; round < 1000; round++) {
        if (round == 10)
            before = shoal__alloc_count();
        for (const char *name = names; *name; name++)
            rig_submit(*name, 0, WRITE);
        rig_write_all();
        for (const char *name = names; *name; name++)
            rig_feed("*2\r\n:1\r\n$1\r\nx\r\n");
        rig.heard[0] = '\0';
    }
    assert_int_equal(shoal__alloc_count(), before);
}

/* ---- greeting, pushes, protocol ---- */

static void test_nothing_precedes_the_end_of_the_greeting(void **state)
{
    (void)state;
    rig_submit('a', 0, RO);
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    assert_memory_equal(rig_output().data, "*2\r\n$5\r\nHELLO\r\n", 15);
    rig_write(rig_output().bytes);
    assert_int_equal(rig_output().bytes, 0);
    assert_int_equal(rig_feed("%1\r\n+proto\r\n:3\r\n"), 0);
    rig_write(rig_output().bytes); /* CLIENT SETINFO, twice */
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_int_equal(rig_output().bytes, 0);
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_string_equal(rig_write_all(), "a");

    /* Pushes are allowed now, and take no slot. */
    assert_int_equal(rig_feed(">2\r\n+invalidate\r\n_\r\n+a\r\n>1\r\n+x\r\n"), 0);
    assert_heard("a=+a ");
    assert_int_equal(counter(&rig.pipe.stats.pushes), 2);
}

static void test_what_nobody_waits_for_is_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        const char *detail;
    } cases[] = {
        {"+OK\r\n", "nobody waits"},
        {"-ERR max number of clients reached\r\n", "max number of clients"},
        {">1\r\n+x\r\n", "nobody waits"}, /* RESP2 has no pushes */
        {"@\r\n", "Protocol error"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_connect();
        assert_int_equal(rig_feed(cases[i].wire), SHOAL_EDESYNC);
        assert_non_null(strstr(rig.pipe.detail, cases[i].detail));
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
}

/* What else arrives before the owner gives up adds nothing. */
static void test_the_first_reason_stays(void **state)
{
    static const char *const violations[] = {"@\r\n", "-ERR go away\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof violations / sizeof *violations; i++) {
        rig_connect();
        assert_int_equal(rig_feed(violations[i]), SHOAL_EDESYNC);
        char detail[sizeof rig.pipe.detail];
        memcpy(detail, rig.pipe.detail, sizeof detail);
        assert_true(detail[0] != '\0');
        assert_int_equal(rig_feed("+OK\r\n-ERR no\r\n"), SHOAL_EDESYNC);
        assert_string_equal(rig.pipe.detail, detail);
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
}

static void test_nothing_is_delivered_behind_a_violation(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(COMMAND_BYTES);
    assert_int_equal(rig_feed("+a\r\n+nobody's\r\n+b\r\n"), SHOAL_EDESYNC);
    assert_heard("a=+a ");
}

/* Its first byte is enough: a command that is written now is not what it answers. */
static void test_a_reply_that_begins_before_its_command(void **state)
{
    static const char *const beginnings[] = {"+", "*2\r\n:1\r\n", "$5\r\nhel", ":",
                                             "%1\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        rig_connect();
        rig_submit('a', 0, WRITE);
        rig_write_all();
        char wire[32];
        snprintf(wire, sizeof wire, "+a\r\n%s", beginnings[i]);
        assert_int_equal(rig_feed(wire), SHOAL_EDESYNC);
        assert_heard("a=+a ");
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
    /* A push may begin whenever it likes. */
    rig_connect();
    rig.pipe.is_resp3 = true;
    assert_int_equal(rig_feed(">1\r\n"), 0);
    assert_int_equal(rig_feed("+x\r\n"), 0);
}

static void test_an_error_with_the_password_is_not_repeated(void **state)
{
    (void)state;
    rig_connect();
    rig.config.greeting.password = "s3cret";
    assert_int_equal(rig_feed("-ERR no s3cret here\r\n"), SHOAL_EDESYNC);
    assert_null(strstr(rig.pipe.detail, "s3c"));
}

static void test_an_error_before_any_question_has_its_text(void **state)
{
    (void)state;
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    rig_write(rig_output().bytes);
    assert_int_equal(rig_feed("-ERR max number of clients reached\r\n"), SHOAL_ECONN);
    assert_non_null(strstr(rig.pipe.detail, "max number of clients"));
}

/* ---- sinks ---- */

static void test_sinks(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_with_sink('a', RO);
    rig_submit_with_sink('b', RO);
    rig_submit_with_sink('c', RO);
    rig_write_all();
    rig_feed("*2\r\n:1\r\n*0\r\n+leaf\r\n-ERR no\r\n");
    assert_heard("a(begin) a(leaf) a(begin) a(end) a(end) a=sink b(leaf) b=sink "
                 "c=-ERR no ");
}

static void test_a_sink_serves_many(void **state)
{
    (void)state;
    shoal__sink_ref_t *ref = shoal__malloc(sizeof *ref);

    *ref = (shoal__sink_ref_t){&rig_sink, rig_name('z'), 3};
    rig_connect();
    for (const char *name = "abc"; *name; name++) {
        shoal__request_t request = rig_request(*name, 0, WRITE);
        request.sink = ref;
        rig_push(&request);
    }
    rig_write(2 * COMMAND_BYTES);
    rig_feed("+a\r\n");
    rig_lose(); /* b fails, c is kept, with the sink */
    rig_connect();
    rig_write_all();
    rig_feed("+c\r\n");
    assert_heard("z(leaf) a=sink b!ECONN/maybe z(leaf) c=sink ");
}

/* ---- figures ---- */

static void test_published_figures(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, WRITE);
    rig_write(COMMAND_BYTES + 1);
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.queued_now), 2);
    assert_int_equal(counter(&rig.pipe.stats.inflight_now), 1);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), 3 * COMMAND_BYTES);
    rig_feed("-LOADING x\r\n");
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), 3 * COMMAND_BYTES);
    assert_int_equal(counter(&rig.pipe.stats.batch_histogram[1]), 1); /* 2 .. 3 */
    assert_int_equal(counter(&rig.pipe.stats.flush_reasons[SHOAL_FLUSHED_TURN]), 1);
}

static int tear_down_with_memory(void **state)
{
    hiredis_tear_down(state);
    return rig_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_init_survives_every_failed_allocation),
        TEST(test_a_failed_reservation_changes_nothing),
        cmocka_unit_test_setup_teardown(test_no_memory_to_begin, rig_set_up,
                                        tear_down_with_memory),
        TEST(test_commands_get_their_replies_in_order),
        TEST(test_a_command_whose_result_nobody_wants),
        TEST(test_replies_byte_by_byte),
        TEST(test_the_steady_state_allocates_nothing),
        TEST(test_nothing_precedes_the_end_of_the_greeting),
        TEST(test_what_nobody_waits_for_is_the_end),
        TEST(test_the_first_reason_stays),
        TEST(test_nothing_is_delivered_behind_a_violation),
        TEST(test_a_reply_that_begins_before_its_command),
        TEST(test_an_error_with_the_password_is_not_repeated),
        TEST(test_an_error_before_any_question_has_its_text),
        TEST(test_sinks),
        TEST(test_a_sink_serves_many),
        TEST(test_published_figures),
    };
    return cmocka_run_group_tests_name("core/pipe", tests, NULL, NULL);
}
