/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/fence_rig.h"

/* Where every batch must prove itself. */

static void test_each_batch_ends_with_a_fence(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    rig_submit('b', 0, RO);
    assert_written("abF");
    rig_submit('c', 0, RO);
    assert_written("cF");
    assert_int_equal(answer(":1\r\n:2\r\nF:3\r\nF"), 0);
    assert_heard("a=:1 b=:2 c=:3 ");
    assert_int_equal(shoal__buffer_bytes(&rig.pipe.held.bytes), 0);
}

/* Nothing is handed out before the fence, however the bytes come. */
static void test_replies_wait_for_their_fence(void **state)
{
    char wire[] = ":1\r\n$5\r\nhello\r\n$16\r\n0123456789abcdef\r\n";
    char *nonce = strstr(wire, "0123");

    (void)state;
    for (size_t piece = 1; piece < sizeof wire; piece++) {
        connect_with(STRICT, true);
        rig_submit('a', 0, RO);
        rig_submit('b', 0, RO);
        assert_written("abF");
        memcpy(nonce, fences[0], SHOAL__NONCE_BYTES);
        for (size_t at = 0; at < sizeof wire - 1; at += piece) {
            size_t left = sizeof wire - 1 - at;
            assert_heard("");
            assert_int_equal(shoal__pipe_feed(&rig.pipe, wire + at,
                                              left < piece ? left : piece, rig.now_us),
                             0);
        }
        assert_heard("a=:1 b=$hello ");
    }
}

static void test_a_shift_costs_errors_and_no_wrong_value(void **state)
{
    static const char *const answers[] = {
        ":2\r\nF",                                 /* one is missing */
        ":1\r\n:1\r\n:2\r\nF",                     /* one is doubled */
        ":1\r\n:2\r\n+OK\r\nF",                    /* one too many */
        ":1\r\n:2\r\n$16\r\n0123456789abcdef\r\n", /* not the number */
        ":1\r\n:2\r\n-ERR else's\r\n",
        "junk\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        connect_with(STRICT, true);
        rig_submit('a', 0, WRITE);
        rig_submit('b', 0, WRITE);
        assert_written("abF");
        int rc = answer(answers[i]);
        if (rc == 0) /* missing: the fence stands in the place of b's reply */
            rc = answer(":9\r\n");
        assert_int_equal(rc, SHOAL_EDESYNC);
        assert_heard("");
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
        assert_heard("a!EDESYNC/maybe b!EDESYNC/maybe ");
    }
}

static void test_held_replies_do_not_cross_connections(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    assert_written("aF");
    assert_int_equal(answer(":1\r\n$16\r\n01"), 0);
    rig_lose();
    assert_heard("");
    assert_int_equal(shoal__buffer_bytes(&rig.pipe.held.bytes), 0);
    assert_int_equal(rig.pipe.held.replies, 0);
    assert_int_equal(shoal__request_ring_queued(&rig.pipe.ring), 1);
}

/* The fence's own error proves nothing: it is asked again, and all is handed out then. */
static void test_unclear_fences_are_asked_again(void **state)
{
    (void)state;
    rig.config.inflight_max = 2;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    rig_submit('b', 0, RO);
    rig_submit('c', 0, RO);
    assert_written("abF");
    fences_count = 0;
    assert_int_equal(answer("-BUSY x\r\n-BUSY x\r\n-BUSY x\r\n"), 0);
    assert_heard("");
    assert_written("");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 10000);
    pass_us(9999);
    assert_written("");
    pass_us(1);
    assert_written("F"); /* although no more may be in flight */
    assert_int_equal(answer("F"), 0);
    assert_heard("a=-BUSY x b=-BUSY x ");
    assert_written("cF");
}

static void test_a_server_that_forbids_echo_is_left(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, WRITE);
    assert_written("aF");
    assert_int_equal(answer(":1\r\n-NOPERM no\r\n"), SHOAL_ECONN);
    assert_heard("");
}

/* Errors for ever: held replies must not wait for ever. */
static void test_a_server_that_never_proves_anything(void **state)
{
    uint64_t begun_us;
    unsigned asked = 0;

    (void)state;
    rig.config.stall_us = 100000;
    connect_with(STRICT, true);
    rig_submit('a', 0, WRITE);
    assert_written("aF");
    begun_us = rig.now_us;
    assert_int_equal(answer(":1\r\n-NOAUTH no\r\n"), 0);
    while (rig_tick(shoal__pipe_next_wake_us(&rig.pipe)) == 0) {
        assert_written("F");
        assert_int_equal(answer("-NOAUTH no\r\n"), 0);
        assert_true(++asked < 20);
    }
    assert_int_equal(rig.pipe.fault, SHOAL_ECONN);
    assert_int_equal(rig.now_us, begun_us + 100000);
    assert_heard("");
}

/* The last read of the greeting brings the beginning of a push. */
static void test_a_push_cut_by_the_end_of_the_greeting(void **state)
{
    (void)state;
    rig.entropy = next_number;
    rig.config.greeting.integrity = STRICT;
    shoal__pipe_release(&rig.pipe);
    fences_count = 0;
    written[0] = '\0';
    assert_int_equal(rig_init(&rig.pipe), 0);
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us), 0);
    write_all(); /* HELLO */
    assert_int_equal(answer("%1\r\n+proto\r\n:3\r\n"), 0);
    write_all();
    assert_int_equal(answer("+OK\r\n+OK\r\nF>2\r\n+invali"), 0);
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
    assert_int_equal(answer("date\r\n_\r\n"), 0);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 1);
    written[0] = '\0';
    rig_submit('a', 0, RO);
    assert_written("aF");
    assert_int_equal(answer(":1\r\nF"), 0);
    assert_heard("a=:1 ");
}

/* What is cut short while nothing is asked must not meet the next command's reply. */
static void test_a_reply_that_begins_before_its_command(void **state)
{
    static const char *const beginnings[] = {"+", "$5\r\nhel", "*2\r\n:1\r\n", "@"};

    (void)state;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        connect_with(STRICT, true);
        assert_int_equal(answer(beginnings[i]), SHOAL_EDESYNC);
    }
    connect_with(STRICT, true);
    rig_submit('a', 0, WRITE);
    assert_written("aF");
    assert_int_equal(answer(":1\r\nF:"), SHOAL_EDESYNC);
    connect_with(STRICT, true);
    rig.pipe.is_resp3 = true;
    assert_int_equal(answer(">1\r\n+"), 0);
    assert_int_equal(answer("x\r\n"), 0);
}

/* Pushes are not counted, and wait with the replies around them. */
static void test_pushes_among_held_replies(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig.pipe.is_resp3 = true;
    assert_int_equal(answer(">1\r\n+x\r\n"), 0);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 1);
    rig_submit('a', 0, RO);
    assert_written("aF");
    assert_int_equal(answer(">1\r\n+x\r\n:1\r\n>1\r\n+x\r\n"), 0);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 2);
    assert_heard("");
    assert_int_equal(answer("F"), 0);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 3);
    assert_heard("a=:1 ");
}

static void test_what_nobody_asked_for(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    assert_int_equal(answer("-ERR max number of clients reached\r\n"), SHOAL_EDESYNC);
    assert_non_null(strstr(rig.pipe.detail, "max number of clients"));
}

/* Batches end between units, even if that takes more, or fewer, than there is room for. */
static void test_batches_of_whole_units(void **state)
{
    (void)state;
    rig.config.inflight_max = 3;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    rig_submit_unit("bcd", 0, SHOAL__NEVER_US);
    assert_written("aF");
    assert_int_equal(answer(":1\r\nF"), 0);
    assert_written("bcdF");
    assert_int_equal(answer("+OK\r\n+QUEUED\r\n*1\r\n:1\r\nF"), 0);
    rig_submit_unit("efghi", 0, SHOAL__NEVER_US);
    rig_submit('j', 0, RO);
    assert_written("efghiF"); /* it never fits: alone, then */
    assert_heard("a=:1 b=+OK c=+QUEUED d=*1 ");
}

/* A fence behind a part of a long queue. */
static void test_batches_amid_a_queue(void **state)
{
    (void)state;
    rig.config.inflight_max = 4;
    connect_with(STRICT, true);
    for (char name = 'a'; name <= 'j'; name++)
        rig_submit(name, 0, RO);
    assert_written("abcdF");
    assert_int_equal(answer(":1\r\n:2\r\n:3\r\n:4\r\nF"), 0);
    assert_written("efghF");
    assert_true(rig_cancel('i'));
    assert_int_equal(answer(":5\r\n:6\r\n:7\r\n:8\r\nF"), 0);
    assert_written("jF");
    assert_int_equal(answer(":10\r\nF"), 0);
    assert_heard("a=:1 b=:2 c=:3 d=:4 i!ECANCELLED/no e=:5 f=:6 g=:7 h=:8 j=:10 ");
}

static void test_held_bytes_have_a_bound(void **state)
{
    char big[800];

    (void)state;
    rig.config.reply.bytes_max = 1000;
    connect_with(STRICT, true);
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    assert_written("abF");
    memset(big, 'x', sizeof big);
    memcpy(big, "$600\r\n", 6);
    memcpy(big + 606, "\r\n", 3);
    assert_int_equal(answer(big), 0);
    assert_int_equal(answer(big), SHOAL_ECONN); /* the server did nothing wrong */
}

static void test_want_of_memory(void **state)
{
    char long_answer[700];
    uint64_t wake_us;

    (void)state;
    memset(long_answer, 'x', sizeof long_answer - 1);
    memcpy(long_answer, "$900\r\n", 6);
    long_answer[sizeof long_answer - 1] = '\0';
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    size_t kept = starve_log();
    assert_int_equal(shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us).bytes, 0);
    assert_int_equal(wake_us, rig.now_us + 1000);
    feed_log(kept);
    assert_written("aF");
    shoal__test_fail_alloc_after(0);
    int rc = answer(long_answer);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, SHOAL_ENOMEM); /* it cannot be held */
    assert_heard("");
}

/* The registry is full when a fence has to be asked again: later, then. */
static void test_no_room_to_ask_again(void **state)
{
    char answers[512] = "";

    (void)state;
    connect_with(STRICT, true);
    assert_int_equal(shoal__request_ring_reserve(&rig.pipe.ring, 1), 0);
    for (size_t i = 0; i + 1 < rig.pipe.ring.room; i++) {
        rig_submit('a', 0, RO);
        memcpy(answers + 4 * i, ":1\r\n", 5);
    }
    write_all();
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), rig.pipe.ring.room);
    assert_int_equal(fences_count, 1);
    written[0] = '\0';
    fences_count = 0;
    assert_int_equal(answer(answers), 0);
    assert_int_equal(answer("-BUSY x\r\n"), 0);
    shoal__test_fail_alloc_after(0);
    int rc = rig_tick(rig.now_us + 10000);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, 0);
    assert_written("");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 10000);
    pass_us(10000);
    assert_written("F");
    assert_int_equal(answer("F"), 0);
    assert_int_equal(counter(&rig.pipe.stats.replies), strlen(answers) / 4);
    rig.heard[0] = '\0';
}

/* ---- when a fence is asked again, and when not ---- */

static void test_what_is_no_reason_to_ask_again(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    /* Only to rest. */
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.pipe.heard_us + 1000000);

    /* A command was given up, but its batch has a fence that is still to come. */
    rig_submit('a', 0, RO);
    assert_written("aF");
    assert_true(rig_cancel('a'));
    pass_us(50000);
    assert_written("");
    assert_int_equal(answer(":1\r\nF"), 0);
    pass_us(50000);
    assert_written("");

    /* One proved nothing, but another one is under way. */
    rig_submit('b', 0, RO);
    assert_written("bF");
    rig_submit('c', 0, RO);
    assert_written("cF");
    fences_count = 1;
    memmove(fences, fences + 1, sizeof *fences);
    assert_int_equal(answer(":2\r\n-BUSY x\r\n"), 0);
    pass_us(50000);
    assert_written("");
    assert_int_equal(answer(":3\r\nF"), 0);
    assert_heard("a!ECANCELLED/maybe b=:2 c=:3 ");

    /* There is no connection. */
    rig_submit('d', 0, RO);
    assert_written("dF");
    fences_count = 0;
    assert_int_equal(answer(":4\r\n-BUSY x\r\n"), 0);
    rig_lose();
    pass_us(50000);
    assert_int_equal(counter(&rig.pipe.stats.fences), 4);
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 1);
}

static void test_a_reply_too_many_behind_an_unclear_fence(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, WRITE);
    assert_written("aF");
    assert_int_equal(answer(":1\r\n-BUSY x\r\n:2\r\n"), SHOAL_EDESYNC);
    assert_non_null(strstr(rig.pipe.detail, "nobody waits"));
    assert_heard("");
}

/* It stands where the next fence's answer belongs, and proves as little as the first; but
 * then that answer is out of place. */
static void test_an_error_that_is_repeated(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, WRITE);
    assert_written("aF");
    fences_count = 0;
    assert_int_equal(answer(":1\r\n-BUSY x\r\n"), 0);
    pass_us(10000);
    assert_written("F");
    assert_int_equal(answer("-BUSY x\r\n"), 0);
    pass_us(20000);
    assert_written("F");
    assert_int_equal(answer("F"), SHOAL_EDESYNC); /* of the fence before */
    assert_heard("");
}

/* ---- batches ---- */

/* A fence amid a queue is not put for a few commands while many wait. */
static void test_a_batch_waits_for_room(void **state)
{
    (void)state;
    rig.config.inflight_max = 8;
    connect_with(STRICT, true);
    for (char name = 'a'; name <= 'g'; name++)
        rig_submit(name, 0, RO);
    assert_written("abcdefgF");
    for (char name = 'h'; name <= 'j'; name++)
        rig_submit(name, 0, RO);
    assert_written(""); /* there is room for h */
    assert_int_equal(answer(":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\nF"), 0);
    assert_written("hijF");
    rig.heard[0] = '\0';
}

/* The fence of a batch that was held back for another's sake stays where it is. */
static void test_a_batch_that_is_put_together_again(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    assert_true(rig_output().bytes > 0);
    rig_submit('b', 0, RO);
    assert_true(rig_cancel('b'));
    assert_written("aFF");
    assert_int_equal(answer(":1\r\nF"), 0);
    assert_heard("b!ECANCELLED/no a=:1 ");
    assert_int_equal(answer("F"), 0);
    assert_int_equal(rig.pipe.fences.queued + rig.pipe.fences.inflight, 0);
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
}

/* An attribute belongs to the reply behind it, and is none. */
static void test_attributes_among_held_replies(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig.pipe.is_resp3 = true;
    assert_int_equal(answer("|1\r\n+k\r\n"), 0); /* the half of one */
    rig_submit('a', 0, RO);
    assert_written("aF");
    assert_int_equal(answer("+v\r\n:1\r\n|1\r\n+k\r\n:1\r\n"), 0);
    assert_heard("");
    assert_int_equal(answer("F"), 0);
    assert_heard("a=:1 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_batch_ends_with_a_fence),
        TEST(test_replies_wait_for_their_fence),
        TEST(test_a_shift_costs_errors_and_no_wrong_value),
        TEST(test_held_replies_do_not_cross_connections),
        TEST(test_unclear_fences_are_asked_again),
        TEST(test_a_server_that_forbids_echo_is_left),
        TEST(test_a_server_that_never_proves_anything),
        TEST(test_a_push_cut_by_the_end_of_the_greeting),
        TEST(test_a_reply_that_begins_before_its_command),
        TEST(test_pushes_among_held_replies),
        TEST(test_what_nobody_asked_for),
        TEST(test_batches_of_whole_units),
        TEST(test_batches_amid_a_queue),
        TEST(test_held_bytes_have_a_bound),
        TEST(test_want_of_memory),
        TEST(test_no_room_to_ask_again),
        TEST(test_what_is_no_reason_to_ask_again),
        TEST(test_a_reply_too_many_behind_an_unclear_fence),
        TEST(test_an_error_that_is_repeated),
        TEST(test_a_batch_waits_for_room),
        TEST(test_a_batch_that_is_put_together_again),
        TEST(test_attributes_among_held_replies),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_fence.strict", tests, NULL,
                                       NULL);
}
