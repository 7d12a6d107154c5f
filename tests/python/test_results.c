/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/result.h"
#include "pickle_reader.h"
#include "reply_rig.h"
#include "results.h"
#include "scarce_memory.h"
#include <shoal/errors.h>
#include <stdio.h>

/* What comes, in the order of the wires below. */
enum { NUMBER, STRING, ERROR, LIST, BAD_TEXT, NESTED_ERROR };

static reply_rig_t rig;

static int set_up(void **state)
{
    static const char wires[] = ":7\r\n$2\r\nhi\r\n-ERR no\r\n*2\r\n:1\r\n:2\r\n"
                                "$1\r\n\xff\r\n*1\r\n-ERR in\r\n";

    (void)state;
    rig_decode(&rig, wires, sizeof wires - 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rig_release(&rig);
    return 0;
}

static shoal_result_t replied(uint64_t ticket, int which)
{
    return (shoal_result_t){
        .reply = rig.replies[which], .detail = "", .attempts = 1, .ticket = ticket};
}

static shoal_result_t failed(uint64_t ticket, int status, shoal_fate_t fate)
{
    return (shoal_result_t){.status = status,
                            .fate = fate,
                            .detail = "why",
                            .attempts = 2,
                            .ticket = ticket};
}

static void add(shoalpy_results_t *results, shoal_result_t result, unsigned flags)
{
    shoalpy_results_add(results, &result, flags);
}

static void check_end(shoalpy_results_t *results, const char *expected)
{
    int64_t bytes = shoalpy_results_end(results);

    assert_true(bytes > 0);
    assert_int_equal(bytes, results->stream.bytes);
    rig_check(&results->stream, expected);
}

static void test_runs_of_numbers(void **state)
{
    shoalpy_results_t results = {0};

    (void)state;
    shoalpy_results_init(&results, false);
    assert_int_equal(shoalpy_results_end(&results), 0);
    add(&results, replied(5, NUMBER), 0);
    add(&results, replied(6, STRING), 0);
    add(&results, replied(7, LIST), SHOALPY_AS_TEXT);
    add(&results, replied(9, STRING), SHOALPY_AS_TEXT); /* 8 comes later */
    add(&results, replied(10, NUMBER), 0);
    add(&results, replied(8, NUMBER), 0);
    check_end(&results, "[5, [7, b'hi', [1, 2]], 9, ['hi', 7], 8, [7]]");

    /* It begins anew, also where the last one would go on. */
    assert_int_equal(shoalpy_results_end(&results), 0);
    add(&results, replied(9, NUMBER), 0);
    check_end(&results, "[9, [7]]");
    shoalpy_results_release(&results);
}

/* Those of the kind that a client has as a rule are small; no two are the same. */
static void test_numbers_of_tickets(void **state)
{
    static const uint64_t tickets[] = {0, 1, 4096, (UINT64_C(1) << 62) - 1};
    shoalpy_results_t results = {0};

    (void)state;
    for (size_t i = 0; i < sizeof tickets / sizeof *tickets; i++) {
        uint64_t ticket = tickets[i];
        assert_true(shoalpy_number(ticket, false) == ticket);
        assert_true(shoalpy_number(SHOAL_TICKET_OF_LOOP | ticket, true) == ticket);
        assert_true(shoalpy_number(ticket, true) != ticket);
        assert_true(shoalpy_number(SHOAL_TICKET_OF_LOOP | ticket, false) != ticket);
        for (int is_borrowed = 0; is_borrowed < 2; is_borrowed++) {
            uint64_t number = shoalpy_number(ticket, is_borrowed);
            assert_true(shoalpy_ticket(number, is_borrowed) == ticket);
            number = shoalpy_number(SHOAL_TICKET_OF_LOOP | ticket, is_borrowed);
            assert_true(shoalpy_ticket(number, is_borrowed) ==
                        (SHOAL_TICKET_OF_LOOP | ticket));
            assert_true(number <= INT64_MAX);
        }
    }
    shoalpy_results_init(&results, true);
    add(&results, replied(SHOAL_TICKET_OF_LOOP | 3, NUMBER), 0);
    add(&results, replied(SHOAL_TICKET_OF_LOOP | 4, NUMBER), 0);
    add(&results, replied(5, NUMBER), 0);
    check_end(&results, "[3, [7, 7], 4611686018427387909, [7]]");
    shoalpy_results_release(&results);
}

static void test_errors_and_failures_stand_alone(void **state)
{
    shoalpy_results_t results = {0};
    char expected[160];

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, ERROR), SHOALPY_AS_TEXT);
    add(&results, replied(2, NUMBER), 0);
    add(&results, failed(3, SHOAL_ECONN, SHOAL_FATE_UNKNOWN), 0);
    add(&results, replied(4, NUMBER), 0);
    add(&results, replied(5, NUMBER), 0);
    add(&results, failed(6, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED), 0);
    snprintf(expected, sizeof expected,
             "[1, (2, b'ERR no'), 2, [7], 3, (3, %d, 2, b'why', 2, 0), 4, [7, 7], "
             "6, (3, %d, 1, b'why', 2, 0)]",
             SHOAL_ECONN, SHOAL_ETIMEOUT);
    check_end(&results, expected);
    shoalpy_results_release(&results);
}

/* That it needs help shows when it is written already. */
static void test_what_needs_help_stands_alone(void **state)
{
    shoalpy_results_t results = {0};

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, NUMBER), 0);
    add(&results, replied(2, BAD_TEXT), SHOALPY_AS_TEXT);
    add(&results, replied(3, BAD_TEXT), 0);
    add(&results, replied(4, NESTED_ERROR), 0);
    check_end(&results, "[1, [7], 2, (1, b'\\xff'), 3, [b'\\xff'], "
                        "4, (1, [(bytearray(b'ERR in'),)])]");

    /* First of all: the list that was opened for it goes. */
    add(&results, replied(8, NESTED_ERROR), 0);
    add(&results, replied(9, NUMBER), 0);
    check_end(&results, "[8, (1, [(bytearray(b'ERR in'),)]), 9, [7]]");
    shoalpy_results_release(&results);
}

static void test_clearing_forgets(void **state)
{
    shoalpy_results_t results = {0};

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, NUMBER), 0);
    shoalpy_results_clear(&results);
    assert_int_equal(shoalpy_results_end(&results), 0);
    add(&results, replied(2, NUMBER), 0);
    check_end(&results, "[2, [7]]");
    shoalpy_results_release(&results);
}

/* A sink took the reply, unless it is an error. */
static void check_one(shoal_result_t result, unsigned flags, enum shoalpy_kind kind,
                      const char *expected)
{
    shoalpy_stream_t stream = {0};
    shoalpy_writer_t writer = {0};

    shoalpy_stream_begin(&stream);
    shoalpy_writer_begin(&writer, flags, &stream);
    if (result.reply && shoal_reply_type(result.reply) != SHOAL_REPLY_ERROR) {
        shoal_reply_visit(result.reply, &shoalpy_writer_sink, &writer);
        result.reply = NULL;
    }
    assert_int_equal(shoalpy_result_write(&result, &writer, &stream), kind);
    assert_true(shoalpy_stream_end(&stream));
    rig_check(&stream, expected);
    shoalpy_stream_release(&stream);
    shoalpy_writer_release(&writer);
}

/* ---- replies that the sink takes ---- */

static void begin_list(shoalpy_results_t *results, unsigned flags)
{
    shoalpy_results_sink.on_begin(SHOAL_REPLY_ARRAY, 2, &results->ways[flags]);
}

static void take(shoalpy_results_t *results, int which, unsigned flags)
{
    shoal_reply_visit(rig.replies[which], &shoalpy_results_sink, &results->ways[flags]);
}

static void end_list(shoalpy_results_t *results, unsigned flags)
{
    shoalpy_results_sink.on_end(&results->ways[flags]);
}

static shoal_result_t taken(uint64_t ticket)
{
    return (shoal_result_t){.detail = "", .attempts = 1, .ticket = ticket};
}

static void test_replies_of_the_sink(void **state)
{
    shoalpy_results_t results = {0};

    (void)state;
    shoalpy_results_init(&results, false);
    take(&results, LIST, 0); /* the first: it is not known whose it is */
    add(&results, taken(5), 0);
    take(&results, LIST, 0);
    add(&results, taken(6), 0);
    add(&results, replied(7, NUMBER), 0);
    take(&results, LIST, 0); /* not the next one's */
    add(&results, taken(9), 0);
    begin_list(&results, SHOALPY_AS_TEXT);
    take(&results, BAD_TEXT, SHOALPY_AS_TEXT);
    take(&results, STRING, SHOALPY_AS_TEXT);
    end_list(&results, SHOALPY_AS_TEXT);
    add(&results, taken(10), SHOALPY_AS_TEXT);
    take(&results, LIST, 0);
    add(&results, taken(11), 0);
    check_end(&results, "[5, [[1, 2], [1, 2], 7], 9, [[1, 2]], "
                        "10, (1, [b'\\xff', 'hi']), 11, [[1, 2]]]");
    shoalpy_results_release(&results);
}

/* Failures of others come between the pieces, and so does the end of a stream. */
static void test_replies_of_the_sink_in_pieces(void **state)
{
    shoalpy_results_t results = {0};

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, NUMBER), 0);
    begin_list(&results, 0);
    take(&results, STRING, 0);
    add(&results, replied(9, ERROR), 0);
    take(&results, NUMBER, 0);
    end_list(&results, 0);
    add(&results, taken(2), 0);
    begin_list(&results, 0);
    take(&results, NESTED_ERROR, 0);
    add(&results, replied(8, ERROR), 0);
    add(&results, replied(7, ERROR), 0);
    check_end(&results, "[1, [7], 9, (2, b'ERR no'), 2, [[b'hi', 7]], "
                        "8, (2, b'ERR no'), 7, (2, b'ERR no')]");
    assert_int_equal(shoalpy_results_end(&results), 0);
    take(&results, STRING, 0);
    assert_int_equal(shoalpy_results_end(&results), 0);
    end_list(&results, 0);
    add(&results, taken(3), 0);
    check_end(&results, "[3, (1, [[(bytearray(b'ERR in'),)], b'hi'])]");
    shoalpy_results_release(&results);
}

static void test_a_reply_of_the_sink_is_cut(void **state)
{
    shoalpy_results_t results = {0};
    char expected[160];

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, NUMBER), 0);
    begin_list(&results, 0);
    take(&results, NESTED_ERROR, 0);
    shoalpy_results_sink.on_reset(&results.ways[0]);
    take(&results, LIST, 0); /* the whole reply, anew */
    add(&results, taken(2), 0);
    begin_list(&results, 0);
    add(&results, replied(9, ERROR), 0);
    shoalpy_results_sink.on_reset(&results.ways[0]); /* while it is aside */
    add(&results, failed(3, SHOAL_ECONN, SHOAL_FATE_REPLY_LOST), 0);
    add(&results, replied(4, NUMBER), 0);
    begin_list(&results, 0);
    snprintf(expected, sizeof expected,
             "[1, [7, [1, 2]], 9, (2, b'ERR no'), 3, (3, %d, 3, b'why', 2, 0), 4, [7]]",
             SHOAL_ECONN);
    check_end(&results, expected);
    shoalpy_results_clear(&results);
    take(&results, LIST, 0);
    add(&results, taken(5), 0);
    check_end(&results, "[5, [[1, 2]]]");
    shoalpy_results_release(&results);
}

static void test_one_by_itself(void **state)
{
    char expected[80];

    (void)state;
    check_one(replied(1, STRING), 0, SHOALPY_PLAIN, "b'hi'");
    check_one(replied(1, STRING), SHOALPY_AS_TEXT, SHOALPY_PLAIN, "'hi'");
    check_one(replied(1, BAD_TEXT), SHOALPY_AS_TEXT, SHOALPY_HELP, "b'\\xff'");
    check_one(replied(1, NESTED_ERROR), 0, SHOALPY_HELP, "[(bytearray(b'ERR in'),)]");
    check_one(replied(1, ERROR), 0, SHOALPY_ERROR, "(2, b'ERR no')");
    snprintf(expected, sizeof expected, "(3, %d, 3, b'why', 2, 0)", SHOAL_EDESYNC);
    check_one(failed(1, SHOAL_EDESYNC, SHOAL_FATE_REPLY_LOST), 0, SHOALPY_FAILURE,
              expected);
}

/* Replies, some of them of the sink, with failures between the pieces. */
static int64_t add_many(shoalpy_results_t *results)
{
    for (uint64_t i = 0; i < 500; i += 2) {
        add(results, replied(i, i % 3 == 0 ? NESTED_ERROR : LIST), 0);
        begin_list(results, 0);
        take(results, i % 5 == 0 ? NESTED_ERROR : STRING, 0);
        if (i % 7 == 0)
            add(results, replied(1000 + i, ERROR), 0);
        take(results, LIST, 0);
        end_list(results, 0);
        add(results, taken(i + 1), 0);
    }
    return shoalpy_results_end(results);
}

/* Is it a stream, and are all replies in it? */
static bool has_all(const shoalpy_stream_t *stream)
{
    pickle_text_t text = {0};
    size_t offset;

    assert_null(pickle_read(stream->data, stream->bytes, &text, &offset));
    bool has_lost = strstr(text.data, "no memory") != NULL;
    pickle_text_release(&text);
    return !has_lost;
}

/* All results are lost then; or those replies fail that there was no room for. */
static void test_memory_that_runs_out(void **state)
{
    size_t allowed = 0;
    bool is_whole;

    (void)state;
    do {
        shoalpy_results_t results = {0};
        shoalpy_results_init(&results, false);
        scarce_memory_allow(allowed++);
        int64_t bytes = add_many(&results);
        scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
        assert_true(bytes > 0 || bytes == SHOAL_ENOMEM);
        is_whole = bytes > 0 && has_all(&results.stream);
        shoalpy_results_clear(&results);
        add(&results, replied(1, NUMBER), 0);
        check_end(&results, "[1, [7]]");
        shoalpy_results_release(&results);
    } while (!is_whole && allowed < 100);
    assert_in_range(allowed, 4, 20);
}

/* What broke before a reply is not made good by the reply. */
static void test_no_memory_before_a_reply(void **state)
{
    shoalpy_results_t results = {0};

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(0, NUMBER), 0);
    scarce_memory_allow(0);
    for (uint64_t i = 1; i < 1000; i++)
        add(&results, replied(i, ERROR), 0);
    scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
    take(&results, LIST, 0);
    add(&results, taken(1000), 0);
    add(&results, replied(1001, NUMBER), 0);
    assert_int_equal(shoalpy_results_end(&results), SHOAL_ENOMEM);
    shoalpy_results_release(&results);
}

/* What did not fit aside is lost to its own command, in the stream that it belongs to. */
static void test_no_memory_for_a_reply_put_aside(void **state)
{
    shoalpy_results_t results = {0};
    char expected[120];

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, NUMBER), 0);
    begin_list(&results, 0);
    take(&results, STRING, 0);
    scarce_memory_allow(0);
    int64_t bytes = shoalpy_results_end(&results);
    scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
    assert_int_equal(bytes, results.stream.bytes);
    rig_check(&results.stream, "[1, [7]]");
    take(&results, NUMBER, 0);
    end_list(&results, 0);
    add(&results, taken(2), 0);
    add(&results, replied(3, NUMBER), 0);
    snprintf(expected, sizeof expected,
             "[2, (3, %d, 3, b'no memory for the reply', 1, 0), 3, [7]]", SHOAL_ENOMEM);
    check_end(&results, expected);
    shoalpy_results_release(&results);
}

/* No reply is thought to be that of a command that has failed. */
static void test_after_a_failure_comes_the_next(void **state)
{
    shoalpy_results_t results = {0};
    char expected[80];

    (void)state;
    shoalpy_results_init(&results, false);
    add(&results, replied(1, NUMBER), 0);
    add(&results, failed(2, SHOAL_ECONN, SHOAL_FATE_UNKNOWN), 0);
    take(&results, LIST, 0);
    add(&results, taken(3), 0);
    snprintf(expected, sizeof expected,
             "[1, [7], 2, (3, %d, 2, b'why', 2, 0), 3, [[1, 2]]]", SHOAL_ECONN);
    check_end(&results, expected);
    shoalpy_results_release(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_numbers),
        cmocka_unit_test(test_numbers_of_tickets),
        cmocka_unit_test(test_errors_and_failures_stand_alone),
        cmocka_unit_test(test_what_needs_help_stands_alone),
        cmocka_unit_test(test_clearing_forgets),
        cmocka_unit_test(test_replies_of_the_sink),
        cmocka_unit_test(test_replies_of_the_sink_in_pieces),
        cmocka_unit_test(test_a_reply_of_the_sink_is_cut),
        cmocka_unit_test(test_one_by_itself),
        cmocka_unit_test(test_after_a_failure_comes_the_next),
        cmocka_unit_test(test_memory_that_runs_out),
        cmocka_unit_test(test_no_memory_before_a_reply),
        cmocka_unit_test(test_no_memory_for_a_reply_put_aside),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
