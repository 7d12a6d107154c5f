/* SPDX-License-Identifier: MIT */

/* Bytes that a stream took and that have not left: it encrypts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/values_rig.h"

#define COMMANDS 4
#define ALL (COMMANDS * COMMAND_BYTES)

/* Four commands, of whose bytes `left` left and `committed` more were taken. */
static void begin(size_t left, size_t committed)
{
    rig_connect();
    for (const char *name = "abcd"; *name; name++)
        rig_submit(*name, 0, WRITE);
    assert_int_equal(rig_output().bytes, ALL);
    if (left > 0)
        shoal__pipe_written(&rig.pipe, left, rig.now_us);
    if (committed > 0)
        shoal__pipe_commit(&rig.pipe, committed, rig.now_us);
}

/* What became of a byte of each command. */
static bool is_written(unsigned i, size_t left)
{
    return (i + 1) * COMMAND_BYTES <= left;
}

static bool is_begun(unsigned i, size_t left, size_t committed)
{
    return i * COMMAND_BYTES < left + committed;
}

static void finish(void)
{
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    rig.heard[0] = '\0';
}

typedef void (*check_fn)(size_t left, size_t committed);

static void at_every_position(check_fn check)
{
    for (size_t left = 0; left <= ALL; left++)
        for (size_t committed = 0; left + committed <= ALL; committed++) {
            begin(left, committed);
            check(left, committed);
            finish();
        }
}

/* They leave in pieces, and count as written only then. */
static void check_leaving(size_t left, size_t committed)
{
    for (size_t done = left; done < left + committed; done++) {
        assert_int_equal(shoal__request_ring_inflight(&rig.pipe.ring),
                         done / COMMAND_BYTES);
        assert_int_equal(shoal__pipe_begun(&rig.pipe),
                         rig.pipe.ring.head +
                             (left + committed + COMMAND_BYTES - 1) / COMMAND_BYTES);
        shoal__pipe_left(&rig.pipe, 1, rig.now_us);
    }
    size_t done = left + committed;
    assert_int_equal(shoal__request_ring_inflight(&rig.pipe.ring),
                     done / COMMAND_BYTES);
    assert_int_equal(rig_output().bytes, ALL - done);
    if (done < ALL)
        rig_write(ALL - done);
    assert_int_equal(rig_feed("+a\r\n+b\r\n+c\r\n+d\r\n"), 0);
    assert_heard("a=+a b=+b c=+c d=+d ");
}

static void test_they_leave_in_pieces(void **state)
{
    (void)state;
    at_every_position(check_leaving);
}

/* Cannot have run: sent again, in order, and no attempt is charged. */
static void check_loss(size_t left, size_t committed)
{
    char expected[100] = "", letters[COMMANDS + 1] = "";

    (void)committed;
    rig_lose();
    for (unsigned i = 0; i < COMMANDS; i++) {
        char result[24];
        snprintf(result, sizeof result, "%c!ECONN/maybe ", 'a' + (int)i);
        strcat(is_written(i, left) ? expected : letters,
               is_written(i, left) ? result : (char[]){(char)('a' + i), '\0'});
    }
    assert_heard(expected);
    rig_connect();
    char again[100] = "";
    while (strlen(again) < strlen(letters)) {
        /* One that was cut travels alone. */
        const char *some = rig_write_all();
        assert_true(some[0] != '\0');
        strcat(again, some);
        for (; *some; some++)
            assert_int_equal(rig_feed("+1\r\n"), 0);
    }
    assert_string_equal(again, letters);
}

static void test_a_loss_proves_that_they_did_not_run(void **state)
{
    (void)state;
    at_every_position(check_loss);
}

/* Only a command of which a byte left can have ended the connection. */
static void check_blame(size_t left, size_t committed)
{
    size_t cut = left % COMMAND_BYTES > 0;

    (void)committed;
    rig_lose();
    uint64_t alone = 0;
    for (uint64_t at = rig.pipe.ring.head; at != rig.pipe.ring.tail; at++)
        alone += (shoal__request_ring_at(&rig.pipe.ring, at)->flags &
                  SHOAL__REQUEST_ALONE) != 0;
    assert_int_equal(alone, cut);
}

static void test_none_of_them_is_blamed(void **state)
{
    (void)state;
    at_every_position(check_blame);
}

/* They cannot be withdrawn: a cancel makes a zombie. */
static void check_cancel(size_t left, size_t committed)
{
    for (unsigned i = 0; i < COMMANDS; i++) {
        char name = (char)('a' + i), expected[40];
        assert_true(rig_cancel(name));
        snprintf(expected, sizeof expected, "%c!ECANCELLED/%s ", name,
                 is_begun(i, left, committed) ? "maybe" : "no");
        assert_heard(expected);
    }
    rig_tick(rig.now_us); /* sweeps */
    size_t begun =
        (left + committed + COMMAND_BYTES - 1) / COMMAND_BYTES * COMMAND_BYTES;
    if (committed > 0)
        shoal__pipe_left(&rig.pipe, committed, rig.now_us);
    assert_int_equal(rig_output().bytes, begun - left - committed);
    rig_write_all();
    for (size_t i = 0; i < begun / COMMAND_BYTES; i++)
        assert_int_equal(rig_feed("+1\r\n"), 0);
    assert_heard("");
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
}

static void test_they_cannot_be_withdrawn(void **state)
{
    (void)state;
    at_every_position(check_cancel);
}

/* A close gives up what was not written, and says so. */
static void check_close(size_t left, size_t committed)
{
    char expected[100] = "";

    (void)committed;
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    for (unsigned i = 0; i < COMMANDS; i++) {
        char result[24];
        snprintf(result, sizeof result, "%c!ESHUTDOWN/%s ", 'a' + (int)i,
                 is_written(i, left) ? "maybe" : "no");
        strcat(expected, result);
    }
    assert_heard(expected);
    assert_int_equal(rig.pipe.committed_bytes, 0);
}

static void test_a_close(void **state)
{
    (void)state;
    at_every_position(check_close);
}

/* A server that lets the socket fill up is silent, too. */
static void test_silence_while_nothing_leaves(void **state)
{
    (void)state;
    begin(0, 5);
    assert_int_equal(rig_tick(rig.now_us + rig.config.stall_us), SHOAL_ECONN);
}

/* The holder of a lease: a byte of it was on the way. */
static void test_a_bound_pipe_is_broken_by_them(void **state)
{
    (void)state;
    shoal__pipe_bind(&rig.pipe, true);
    begin(0, 1);
    rig_lose();
    assert_true(rig.pipe.is_broken);
    assert_heard("a!ECONN/no b!ECONN/no c!ECONN/no d!ECONN/no ");
}

/* A long silence before is not the server's: nothing was under way. */
static void test_silence_begins_with_them(void **state)
{
    (void)state;
    rig_connect();
    rig.now_us += 10 * rig.config.stall_us;
    rig_submit('a', 0, WRITE);
    rig_output();
    shoal__pipe_commit(&rig.pipe, 1, rig.now_us);
    assert_int_equal(rig_tick(rig.now_us), 0);
    shoal__pipe_left(&rig.pipe, 1, rig.now_us);
    finish();
}

/* Those of the greeting are nobody's command. */
static void test_the_greeting(void **state)
{
    (void)state;
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us), 0);
    size_t bytes = rig_output().bytes;
    assert_true(bytes > 3);
    shoal__pipe_written(&rig.pipe, 1, rig.now_us);
    shoal__pipe_commit(&rig.pipe, bytes - 1, rig.now_us);
    shoal__pipe_left(&rig.pipe, 2, rig.now_us);
    shoal__pipe_left(&rig.pipe, bytes - 3, rig.now_us);
    assert_int_equal(rig_output().bytes, 0);
    rig_lose();
}

/* Lent values: whatever became of their bytes, what follows is whole. */
static void test_lent_values(void **state)
{
    char wire[2 * LENT_BYTES + 1];

    (void)state;
    for (size_t left = 0; left < 2 * LENT_BYTES; left++)
        for (size_t committed = 1; left + committed <= 2 * LENT_BYTES; committed++) {
            written_bytes = 0;
            write_wire('a', wire);
            write_wire('b', wire + LENT_BYTES);
            rig_connect();
            submit_lent('a', 0, WRITE);
            submit_lent('b', 0, WRITE);
            if (left > 0)
                write_some(left);
            rig_output();
            shoal__pipe_commit(&rig.pipe, committed, rig.now_us);
            bool is_a_there = left < LENT_BYTES;
            if (is_a_there)
                assert_true(rig_cancel('a'));
            bool is_b_begun = left + committed > LENT_BYTES;
            assert_true(rig_cancel('b'));
            memcpy(written + written_bytes, wire + left, committed);
            written_bytes += committed;
            shoal__pipe_left(&rig.pipe, committed, rig.now_us);
            while (write_some(SIZE_MAX) > 0)
                continue;
            assert_int_equal(written_bytes, is_b_begun ? 2 * LENT_BYTES : LENT_BYTES);
            assert_memory_equal(written, wire, written_bytes);
            assert_int_equal(loan_of('a')->released, is_a_there);
            assert_int_equal(loan_of('b')->released, 1);
            assert_int_equal(rig_feed(is_b_begun ? "+1\r\n+2\r\n" : "+1\r\n"), 0);
            assert_int_equal(loan_of('a')->released, 1);
            assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
            finish();
        }
}

/* The values of a command that is given up cannot be copied.  The bytes before them are on
 * their way: what may have left counts as written. */
static void check_torn(size_t left, size_t committed)
{
    char expected[40] = "";

    written_bytes = 0;
    rig_connect();
    rig_submit('a', 0, WRITE);
    submit_lent('b', 0, WRITE);
    rig_submit('c', 0, WRITE);
    if (left > 0)
        write_some(left);
    rig_output();
    shoal__pipe_commit(&rig.pipe, committed, rig.now_us);
    rig.pipe.log.capacity = rig.pipe.log.tail; /* no room */
    shoal__test_fail_alloc_after(0);
    assert_true(rig_cancel('b'));
    shoal__test_fail_alloc_never();
    rig.pipe.log.capacity = 512;
    assert_heard("b!ECANCELLED/maybe ");
    assert_int_equal(loan_of('b')->released, 1);
    assert_int_equal(rig_output().bytes, 0);

    for (size_t i = 0; i < committed; i++)
        shoal__pipe_left(&rig.pipe, 1, rig.now_us);
    assert_int_equal(rig_output().bytes, 0);
    assert_int_equal(rig_tick(rig.now_us), SHOAL_ENOMEM);
    bool is_c_begun = left + committed > COMMAND_BYTES + LENT_BYTES;
    strcat(expected, "a!ECONN/maybe ");
    strcat(expected, is_c_begun ? "c!ECONN/maybe " : "");
    rig_lose();
    assert_heard(expected);
    rig_connect();
    write_rest();
    written_bytes = 0;
    rig_feed("+3\r\n");
    assert_heard(is_c_begun ? "" : "c=+3 ");
    assert_nothing_left();
    rig_lose();
}

static void test_lent_values_that_cannot_be_copied(void **state)
{
    const size_t rest = COMMAND_BYTES + LENT_BYTES - 2; /* values and what is before */

    (void)state;
    for (size_t left = 0; left < rest; left++)
        for (size_t committed = 1; left + committed <= THREE_BYTES; committed++)
            if (left + committed > COMMAND_BYTES)
                check_torn(left, committed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_they_leave_in_pieces),
        TEST(test_a_loss_proves_that_they_did_not_run),
        TEST(test_none_of_them_is_blamed),
        TEST(test_they_cannot_be_withdrawn),
        TEST(test_a_close),
        TEST(test_silence_while_nothing_leaves),
        TEST(test_a_bound_pipe_is_broken_by_them),
        TEST(test_silence_begins_with_them),
        TEST(test_the_greeting),
        TEST(test_lent_values),
        TEST(test_lent_values_that_cannot_be_copied),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_output.committed", tests, NULL,
                                       NULL);
}
