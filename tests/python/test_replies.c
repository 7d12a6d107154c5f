/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pickle_reader.h"
#include "replies.h"
#include "reply_rig.h"
#include "scarce_memory.h"
#include <stdio.h>

#define TEXT SHOALPY_AS_TEXT
#define CLASSIC SHOALPY_CLASSIC
#define WIRE(text) text, sizeof(text) - 1

typedef struct row {
    const char *wire;
    size_t bytes;
    unsigned flags;
    const char *value;
    bool needs_help;
} row_t;

static void check_row(shoalpy_writer_t *writer, shoalpy_stream_t *stream,
                      const row_t *row)
{
    reply_rig_t rig = {.count = 0};

    rig_decode(&rig, row->wire, row->bytes);
    assert_int_equal(rig.count, 1);
    shoalpy_stream_begin(stream);
    bool needs_help = shoalpy_reply_write(writer, rig.replies[0], row->flags, stream);
    assert_true(shoalpy_stream_end(stream));
    rig_check(stream, row->value);
    if (needs_help != row->needs_help)
        fail_msg("%s: help %d", row->value, needs_help);
    rig_release(&rig);
}

static void check_rows(const row_t *rows, size_t count)
{
    shoalpy_writer_t writer = {0};
    shoalpy_stream_t stream = {0};

    for (size_t i = 0; i < count; i++)
        check_row(&writer, &stream, &rows[i]);
    shoalpy_writer_release(&writer);
    shoalpy_stream_release(&stream);
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

static void test_values_without_children(void **state)
{
    static const row_t rows[] = {
        {WIRE("_\r\n"), 0, "None", false},
        {WIRE("$-1\r\n"), 0, "None", false},
        {WIRE("*-1\r\n"), 0, "None", false},
        {WIRE("+OK\r\n"), 0, "b'OK'", false},
        {WIRE("+\r\n"), 0, "b''", false},
        {WIRE("$0\r\n\r\n"), 0, "b''", false},
        {WIRE("$3\r\n\0\xff\n\r\n"), 0, "b'\\x00\\xff\\x0a'", false},
        {WIRE(":-5\r\n"), 0, "-5", false},
        {WIRE(":9223372036854775807\r\n"), 0, "9223372036854775807", false},
        {WIRE("#t\r\n"), 0, "True", false},
        {WIRE("#f\r\n"), 0, "False", false},
        {WIRE(",1.5\r\n"), 0, "1.5", false},
        {WIRE(",-0\r\n"), 0, "-0.0", false},
        {WIRE(",inf\r\n"), 0, "inf", false},
        {WIRE(",-inf\r\n"), 0, "-inf", false},
        {WIRE(",nan\r\n"), 0, "nan", false},
        {WIRE("=6\r\ntxt:hi\r\n"), 0, "b'hi'", false},
        {WIRE("-ERR no\r\n"), 0, "(bytearray(b'ERR no'),)", true},
        {WIRE("-\r\n"), 0, "(bytearray(b''),)", true},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_big_numbers(void **state)
{
    static const row_t rows[] = {
        {WIRE("(0\r\n"), 0, "0", false},
        {WIRE("(-12345678901234567\r\n"), 0, "-12345678901234567", false},
        {WIRE("(999999999999999999\r\n"), 0, "999999999999999999", false},
        {WIRE("(1000000000000000000\r\n"), 0,
         "(bytearray(b'1000000000000000000'), None)", true},
        {WIRE("(-999999999999999999999\r\n"), TEXT,
         "(bytearray(b'-999999999999999999999'), None)", true},
        {WIRE("(12\r\n"), CLASSIC, "b'12'", false},
        {WIRE("(12345678901234567890\r\n"), CLASSIC | TEXT, "'12345678901234567890'",
         false},
        {WIRE("%1\r\n(12\r\n(13\r\n"), 0, "{b'12': 13}", false},
        {WIRE("~1\r\n(12345678901234567890\r\n"), TEXT, "{'12345678901234567890'}",
         false},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_as_text(void **state)
{
    static const row_t rows[] = {
        {WIRE("+OK\r\n"), TEXT, "'OK'", false},
        {WIRE("$2\r\n\xc3\xa9\r\n"), TEXT, "'\xc3\xa9'", false},
        {WIRE("=6\r\ntxt:\xc3\xa9\r\n"), TEXT, "'\xc3\xa9'", false},
        {WIRE("$1\r\n\xff\r\n"), TEXT, "b'\\xff'", true},
        {WIRE("$3\r\n\xed\xa0\x80\r\n"), TEXT, "b'\\xed\\xa0\\x80'", true},
        {WIRE("*3\r\n$1\r\na\r\n$1\r\n\xc3\r\n$1\r\nb\r\n"), TEXT,
         "['a', b'\\xc3', 'b']", true},
        {WIRE("%1\r\n$1\r\n\xc3\r\n$1\r\nb\r\n"), TEXT, "{b'\\xc3': 'b'}", true},
        {WIRE("%1\r\n-\xc3\r\n*0\r\n"), TEXT, "{b'\\xc3': []}", true},
        {WIRE("*1\r\n-\xc3\r\n"), TEXT, "[(bytearray(b'\\xc3'),)]", true},
        {WIRE("*1\r\n$1\r\n\xc3\r\n"), 0, "[b'\\xc3']", false},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_aggregates(void **state)
{
    static const row_t rows[] = {
        {WIRE("*0\r\n"), 0, "[]", false},
        {WIRE("%0\r\n"), 0, "{}", false},
        {WIRE("~0\r\n"), 0, "set()", false},
        {WIRE(">1\r\n:1\r\n"), 0, "[1]", false},
        {WIRE("*3\r\n:1\r\n*1\r\n:2\r\n%1\r\n+a\r\n:3\r\n"), 0, "[1, [2], {b'a': 3}]",
         false},
        {WIRE("*4\r\n*0\r\n%0\r\n~0\r\n_\r\n"), 0, "[[], {}, set(), None]", false},
        {WIRE("~2\r\n:1\r\n+a\r\n"), 0, "{1, b'a'}", false},
        {WIRE("%2\r\n+a\r\n-ERR x\r\n#t\r\n~1\r\n,2\r\n"), 0,
         "{b'a': (bytearray(b'ERR x'),), True: {2.0}}", true},
        {WIRE("*2\r\n-ERR x\r\n:1\r\n"), 0, "[(bytearray(b'ERR x'),), 1]", true},
        /* A value of a map may be what a key may not. */
        {WIRE("%1\r\n:1\r\n%1\r\n:2\r\n*1\r\n:3\r\n"), 0, "{1: {2: [3]}}", false},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_keys_and_members_are_hashable(void **state)
{
    static const row_t rows[] = {
        {WIRE("%1\r\n*2\r\n:1\r\n*0\r\n:3\r\n"), 0, "{(1, ()): 3}", false},
        {WIRE("%1\r\n*1\r\n:1\r\n*1\r\n:3\r\n"), 0, "{(1,): [3]}", false},
        {WIRE("%1\r\n%1\r\n:1\r\n*1\r\n:2\r\n:3\r\n"), 0, "{(1, (2,)): 3}", false},
        {WIRE("%1\r\n%0\r\n:3\r\n"), 0, "{(): 3}", false},
        {WIRE("%1\r\n~1\r\n*1\r\n:1\r\n:3\r\n"), 0, "{frozenset({(1,)}): 3}", false},
        {WIRE("~3\r\n~0\r\n*0\r\n_\r\n"), 0, "{frozenset(), (), None}", false},
        {WIRE("~1\r\n%1\r\n*1\r\n:1\r\n~1\r\n:2\r\n"), 0, "{((1,), frozenset({2}))}",
         false},
        /* Help would come too late for these. */
        {WIRE("%1\r\n-ERR x\r\n:3\r\n"), 0, "{b'ERR x': 3}", false},
        {WIRE("~1\r\n-ERR x\r\n"), TEXT, "{'ERR x'}", false},
        {WIRE("%1\r\n*1\r\n-ERR x\r\n-ERR y\r\n"), 0,
         "{(b'ERR x',): (bytearray(b'ERR y'),)}", true},
        {WIRE("~1\r\n*1\r\n(12345678901234567890\r\n"), 0,
         "{(b'12345678901234567890',)}", false},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_classic_has_no_sets(void **state)
{
    static const row_t rows[] = {
        {WIRE("~0\r\n"), CLASSIC, "[]", false},
        {WIRE("~2\r\n:1\r\n*1\r\n:2\r\n"), CLASSIC, "[1, [2]]", false},
        {WIRE("~1\r\n-ERR x\r\n"), CLASSIC, "[(bytearray(b'ERR x'),)]", true},
        {WIRE("~1\r\n~1\r\n%1\r\n:1\r\n~0\r\n"), CLASSIC, "[[{1: []}]]", false},
        {WIRE("%1\r\n~1\r\n~0\r\n:1\r\n"), CLASSIC, "{((),): 1}", false},
        {WIRE("#t\r\n"), CLASSIC, "True", false},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* ---- depth ---- */

#define DEPTH 1024

/* `head`, so many times, then `leaf`. */
static void check_deep(const char *head, const char *leaf, const char *opening,
                       const char *value, const char *closing, bool needs_help)
{
    pickle_text_t wire = {0}, expected = {0};
    shoalpy_writer_t writer = {0};
    shoalpy_stream_t stream = {0};

    for (int i = 0; i < DEPTH; i++) {
        pickle_text_add(&wire, head, strlen(head));
        pickle_text_add(&expected, opening, strlen(opening));
    }
    pickle_text_add(&wire, leaf, strlen(leaf));
    pickle_text_add(&expected, value, strlen(value));
    for (int i = 0; i < DEPTH; i++)
        pickle_text_add(&expected, closing, strlen(closing));
    const row_t row = {wire.data, wire.bytes, 0, expected.data, needs_help};
    check_row(&writer, &stream, &row);

    shoalpy_writer_release(&writer);
    shoalpy_stream_release(&stream);
    pickle_text_release(&wire);
    pickle_text_release(&expected);
}

static void test_as_deep_as_the_decoder_goes(void **state)
{
    (void)state;
    check_deep("*1\r\n", ":1\r\n", "[", "1", "]", false);
    check_deep("*1\r\n", "-E\r\n", "[", "(bytearray(b'E'),)", "]", true);
    check_deep("%1\r\n:7\r\n", "#f\r\n", "{7: ", "False", "}", false);
}

/* Keys in keys, members in members: the first is a set or a map, the others are not. */
static void test_as_deep_in_keys(void **state)
{
    pickle_text_t wire = {0}, expected = {0};
    shoalpy_writer_t writer = {0};
    shoalpy_stream_t stream = {0};

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        pickle_text_print(&wire, "~1\r\n");
        pickle_text_print(&expected, i ? "frozenset({" : "{");
    }
    pickle_text_print(&wire, "+a\r\n");
    pickle_text_print(&expected, "b'a'");
    for (int i = 0; i < DEPTH; i++)
        pickle_text_print(&expected, i < DEPTH - 1 ? "})" : "}");
    const row_t row = {wire.data, wire.bytes, 0, expected.data, false};
    check_row(&writer, &stream, &row);

    shoalpy_writer_release(&writer);
    shoalpy_stream_release(&stream);
    pickle_text_release(&wire);
    pickle_text_release(&expected);
}

/* ---- memory ---- */

static void write_whole(const shoal_reply_t *reply, shoalpy_writer_t *writer,
                        shoalpy_stream_t *stream)
{
    shoalpy_stream_begin(stream);
    assert_false(shoalpy_reply_write(writer, reply, 0, stream));
    assert_true(shoalpy_stream_end(stream));
}

/* What is not told to be broken is whole; and the next one is as good as new. */
static void check_scarce(const char *item)
{
    pickle_text_t wire = {0};
    reply_rig_t rig = {.count = 0};
    shoalpy_stream_t expected = {0};
    shoalpy_writer_t first = {0};
    size_t allowed = 0;
    bool is_whole;

    for (int i = 0; i < 100; i++)
        pickle_text_print(&wire, "*2\r\n$%zu\r\n%s\r\n", strlen(item), item);
    pickle_text_print(&wire, ":1\r\n");
    rig_decode(&rig, wire.data, wire.bytes);
    write_whole(rig.replies[0], &first, &expected);
    do {
        shoalpy_writer_t writer = {0};
        shoalpy_stream_t stream = {0};
        scarce_memory_allow(allowed++);
        shoalpy_stream_begin(&stream);
        shoalpy_reply_write(&writer, rig.replies[0], 0, &stream);
        is_whole = shoalpy_stream_end(&stream);
        scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
        if (!is_whole)
            write_whole(rig.replies[0], &writer, &stream);
        assert_int_equal(stream.bytes, expected.bytes);
        assert_memory_equal(stream.data, expected.data, stream.bytes);
        shoalpy_writer_release(&writer);
        shoalpy_stream_release(&stream);
    } while (!is_whole);
    assert_in_range(allowed, 4, 16);
    shoalpy_writer_release(&first);
    shoalpy_stream_release(&expected);
    rig_release(&rig);
    pickle_text_release(&wire);
}

/* Of the levels only; and of the stream, too. */
static void test_memory_that_runs_out(void **state)
{
    char item[101] = "x";

    (void)state;
    check_scarce(item);
    memset(item, 'x', 100);
    check_scarce(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_without_children),
        cmocka_unit_test(test_big_numbers),
        cmocka_unit_test(test_as_text),
        cmocka_unit_test(test_aggregates),
        cmocka_unit_test(test_keys_and_members_are_hashable),
        cmocka_unit_test(test_classic_has_no_sets),
        cmocka_unit_test(test_as_deep_as_the_decoder_goes),
        cmocka_unit_test(test_as_deep_in_keys),
        cmocka_unit_test(test_memory_that_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
