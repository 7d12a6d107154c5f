/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resp/reply_shape.h"
#include "unit/core/pipe_rig.h"

#define DETECT SHOAL_INTEGRITY_DETECT
#define STRICT SHOAL_INTEGRITY_STRICT

/* ---- a server that echoes ---- */

static uint64_t numbers;

static void next_number(void *memory, size_t bytes)
{
    uint64_t *words = memory;

    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = ++numbers * UINT64_C(0x9E3779B97F4A7C15);
}

/* What was written: a letter for each command, F for a fence. */
static char written[256];
static char fences[16][SHOAL__NONCE_BYTES + 1]; /* unanswered */
static size_t fences_count;

static void note_output(shoal__bytes_t out)
{
    static const char echo[] = "*2\r\n$4\r\nECHO\r\n$16\r\n";
    size_t count = strlen(written);

    for (size_t i = 0; i + 1 < out.bytes; i++) {
        if (strncmp(out.data + i, echo, sizeof echo - 1) == 0) {
            memcpy(fences[fences_count], out.data + i + sizeof echo - 1,
                   SHOAL__NONCE_BYTES);
            fences[fences_count++][SHOAL__NONCE_BYTES] = '\0';
            written[count++] = 'F';
            i += SHOAL__FENCE_BYTES - 1;
        } else if (out.data[i] >= 'a' && out.data[i] <= 'z') {
            written[count++] = out.data[i];
        }
    }
    written[count] = '\0';
}

static void write_all(void)
{
    shoal__bytes_t out;

    while ((out = rig_output()).bytes > 0) {
        note_output(out);
        shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    }
}

#define assert_written(text)                                                           \
    do {                                                                               \
        write_all();                                                                   \
        assert_string_equal(written, text);                                            \
        written[0] = '\0';                                                             \
    } while (0)

/* Answer with a wire in which F stands for the right answer to the next fence. */
static int answer(const char *wire)
{
    char bytes[1024];
    size_t count = 0, used = 0;

    for (; *wire; wire++) {
        if (*wire != 'F') {
            bytes[count++] = *wire;
            continue;
        }
        assert_true(used < fences_count);
        count += (size_t)snprintf(bytes + count, sizeof bytes - count, "$16\r\n%s\r\n",
                                  fences[used++]);
    }
    fences_count -= used;
    memmove(fences, fences + used, fences_count * sizeof *fences);
    return shoal__pipe_feed(&rig.pipe, bytes, count, rig.now_us);
}

static void connect_with(shoal_integrity_t integrity, bool may_echo)
{
    rig.config.entropy = next_number;
    rig.config.greeting.integrity = integrity;
    rig.config.greeting.protocol = 2;
    fences_count = 0;
    written[0] = '\0';
    shoal__pipe_release(&rig.pipe);
    assert_int_equal(shoal__pipe_init(&rig.pipe, &rig.config, NULL, &rig.random), 0);
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us), 0);
    note_output(rig_output());
    shoal__pipe_written(&rig.pipe, rig_output().bytes, rig.now_us);
    assert_int_equal(fences_count, integrity == SHOAL_INTEGRITY_SHAPES ? 0 : 1);
    written[0] = '\0';
    if (!may_echo)
        fences_count = 0;
    assert_int_equal(answer("+OK\r\n+OK\r\n"), 0);
    if (integrity != SHOAL_INTEGRITY_SHAPES)
        assert_int_equal(answer(may_echo ? "F" : "-NOPERM no\r\n"), 0);
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
}

static void pass_us(uint64_t us)
{
    assert_int_equal(rig_tick(rig.now_us + us), 0);
}

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

    /* ... or not any more. */
    connect_with(DETECT, true);
    pass_us(100000);
    rig_submit('a', 0, RO);
    assert_written("Fa");
    assert_int_equal(answer("-NOPERM no\r\n:1\r\n"), 0);
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

/* ---- STRICT ---- */

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
    rig.config.entropy = next_number;
    rig.config.greeting.integrity = STRICT;
    shoal__pipe_release(&rig.pipe);
    fences_count = 0;
    written[0] = '\0';
    assert_int_equal(shoal__pipe_init(&rig.pipe, &rig.config, NULL, &rig.random), 0);
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
    assert_int_equal(answer(big), SHOAL_EDESYNC);
}

static void test_want_of_memory(void **state)
{
    uint64_t wake_us;

    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    size_t used = shoal__buffer_bytes(&rig.pipe.log);
    char *at = shoal__pipe_reserve(&rig.pipe, rig.pipe.log.capacity - used, 1);
    assert_non_null(at); /* the log is full now */
    size_t kept = rig.pipe.log.capacity;
    rig.pipe.log.capacity = rig.pipe.log.tail;
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us).bytes, 0);
    assert_int_equal(wake_us, rig.now_us + 1000);
    shoal__test_fail_alloc_never();
    rig.pipe.log.capacity = kept;
    assert_written("aF");
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

/* Behind a MULTI that was rejected, the commands run by themselves. */
static void test_the_shapes_of_a_unit(void **state)
{
    static const struct {
        const char *answers;
        int rc;
    } cases[] = {{"+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", 0},
                 {"+OK\r\n:1\r\n", SHOAL_EDESYNC},
                 {"-NOPERM no\r\n:1\r\n-ERR EXEC without MULTI\r\n", 0}};
    static const uint8_t shapes[] = {SHOAL__SHAPE_QUEUED, SHOAL__SHAPE_QUEUED,
                                     SHOAL__SHAPE_EXEC};
    static const uint16_t flags[] = {SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST,
                                     SHOAL__REQUEST_UNIT,
                                     SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        connect_with(SHOAL_INTEGRITY_SHAPES, true);
        for (size_t j = 0; j < 3; j++) {
            shoal__request_t request = rig_request((char)('a' + j), flags[j], WRITE);
            request.shape = shapes[j] & 63u;
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
        RIG_TEST(test_each_batch_ends_with_a_fence),
        RIG_TEST(test_replies_wait_for_their_fence),
        RIG_TEST(test_a_shift_costs_errors_and_no_wrong_value),
        RIG_TEST(test_held_replies_do_not_cross_connections),
        RIG_TEST(test_unclear_fences_are_asked_again),
        RIG_TEST(test_a_server_that_forbids_echo_is_left),
        RIG_TEST(test_a_server_that_never_proves_anything),
        RIG_TEST(test_a_push_cut_by_the_end_of_the_greeting),
        RIG_TEST(test_a_reply_that_begins_before_its_command),
        RIG_TEST(test_pushes_among_held_replies),
        RIG_TEST(test_what_nobody_asked_for),
        RIG_TEST(test_batches_of_whole_units),
        RIG_TEST(test_batches_amid_a_queue),
        RIG_TEST(test_held_bytes_have_a_bound),
        RIG_TEST(test_want_of_memory),
        RIG_TEST(test_a_reply_of_the_wrong_type),
        RIG_TEST(test_the_shapes_of_a_unit),
    };
    return cmocka_run_group_tests_name("core/pipe_fence", tests, NULL, NULL);
}
