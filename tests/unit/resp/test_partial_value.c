/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/partial_value.h"

#define ARRIVED(text)                                                                  \
    {                                                                                  \
        text, sizeof text - 1                                                          \
    }
#define STRING SHOAL__PARTIAL_STRING
#define TEXT SHOAL__PARTIAL_TEXT
#define LINE SHOAL__PARTIAL_LINE

#define NINES UINT64_C(9999999999999999999)
#define NINES_MISSING (SIZE_MAX > UINT32_MAX ? (size_t)(NINES + 2) : 0)

/* clang-format off */
static const struct note_case {
    const char *name;
    shoal__partial_kind_t kind;
    shoal__bytes_t arrived; /* from behind the byte of the type on */
    uint64_t bytes;         /* of the whole value, at least */
    size_t missing_bytes;
    bool awaits_line;
} note_cases[] = {
    {"nothing",                 STRING, ARRIVED(""),              0,   0, false},
    {"nothing of a line",       LINE,   ARRIVED(""),              0,   0, false},
    {"half a length",           STRING, ARRIVED("12"),            2,   0, true},
    {"a length and CR",         STRING, ARRIVED("5\r"),           2,   0, true},
    {"a length",                STRING, ARRIVED("5\r\n"),        10,   7, false},
    {"all but its line end",    STRING, ARRIVED("5\r\nhello"),   10,   2, false},
    {"all but its LF",          STRING, ARRIVED("5\r\nhello\r"), 10,   1, false},
    {"an empty string",         STRING, ARRIVED("0\r\n"),         5,   2, false},
    {"CR and no LF",            STRING, ARRIVED("5\rx"),          3,   0, true},
    {"no digits",               STRING, ARRIVED("x\r\nab"),       5,   0, true},
    {"a null string's half",    STRING, ARRIVED("-1\r"),          3,   0, true},
    {"below the digits",        STRING, ARRIVED("1/\r\n"),        4,   0, true},
    {"19 digits",               STRING, ARRIVED("9999999999999999999\r\n"),
                                NINES + 23, NINES_MISSING, false},
    {"20 digits",               STRING, ARRIVED("10000000000000000000\r\n"),
                                22, 0, true},
    {"a line looks like one",   TEXT,   ARRIVED("5\r"),           2,   0, true},
    {"a line",                  TEXT,   ARRIVED("OK"),            2,   0, true},
    {"a number",                LINE,   ARRIVED("12"),            2,   0, true},
};
/* clang-format on */

static void test_what_is_known_of_a_part(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof note_cases / sizeof *note_cases; i++) {
        const struct note_case *c = &note_cases[i];
        shoal__partial_value_t partial = {.missing_bytes = 7, .awaits_line = true};
        uint64_t bytes = shoal__partial_value_note(&partial, c->kind, c->arrived);

        if (bytes != c->bytes || partial.missing_bytes != c->missing_bytes ||
            partial.awaits_line != c->awaits_line || partial.is_too_long)
            fail_msg("%s: %llu bytes, %zu missing, line %d", c->name,
                     (unsigned long long)bytes, partial.missing_bytes,
                     partial.awaits_line);
    }
}

/* clang-format off */
static const struct more_case {
    const char *name;
    shoal__partial_kind_t kind;
    shoal__bytes_t arrived;
    size_t noted_bytes; /* of them: they were there when the value was noted */
    bool may_be_whole;
} more_cases[] = {
    {"a string, a byte short",   STRING, ARRIVED("5\r\nhello\r"),   3, false},
    {"a string",                 STRING, ARRIVED("5\r\nhello\r\n"), 3, true},
    {"a string and more",        STRING, ARRIVED("5\r\nhello\r\n+OK\r\n"), 3, true},
    {"line ends in a string",    STRING, ARRIVED("5\r\n\r\n\r\n"),  3, false},
    {"more of its length",       STRING, ARRIVED("123"),            1, false},
    {"the end of its length",    STRING, ARRIVED("5\r\n"),          1, true},
    {"more of a line",           TEXT,   ARRIVED("OKOK"),           1, false},
    {"a line",                   TEXT,   ARRIVED("OK\r\n"),         1, true},
    {"LF comes by itself",       TEXT,   ARRIVED("OK\r\n"),         3, true},
    {"CR and no LF",             TEXT,   ARRIVED("OK\rOK"),         2, false},
    {"LF without CR",            TEXT,   ARRIVED("OK\nOK\n"),       2, false},
    {"LF, then a line end",      TEXT,   ARRIVED("O\nK\n\r\n"),     1, true},
    {"nothing was there",        LINE,   ARRIVED("12"),             0, true},
};
/* clang-format on */

static void test_when_more_of_it_comes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof more_cases / sizeof *more_cases; i++) {
        const struct more_case *c = &more_cases[i];
        shoal__bytes_t noted = {.data = c->arrived.data, .bytes = c->noted_bytes};
        shoal__partial_value_t partial;

        shoal__partial_value_note(&partial, c->kind, noted);
        bool may_be_whole = shoal__partial_value_grow(
            &partial, c->arrived, c->arrived.bytes - c->noted_bytes);
        if (may_be_whole != c->may_be_whole)
            fail_msg("%s: %d", c->name, may_be_whole);
    }
}

/* A string comes in pieces, and is noted once. */
static void test_a_string_grows(void **state)
{
    (void)state;
    const shoal__bytes_t wire = {"5\r\nhello\r\n", 10};
    shoal__partial_value_t partial;

    shoal__partial_value_note(&partial, STRING, (shoal__bytes_t){wire.data, 3});
    for (size_t bytes = 4; bytes < wire.bytes; bytes++) {
        assert_false(
            shoal__partial_value_grow(&partial, (shoal__bytes_t){wire.data, bytes}, 1));
        assert_int_equal(partial.missing_bytes, wire.bytes - bytes);
    }
    assert_true(shoal__partial_value_grow(&partial, wire, 1));
    assert_int_equal(partial.missing_bytes, 0);

    /* Then nothing is awaited: a beginning, whatever it is. */
    assert_true(shoal__partial_value_grow(&partial, (shoal__bytes_t){"+", 1}, 1));

    shoal__partial_value_note(&partial, LINE, (shoal__bytes_t){"1", 1});
    assert_true(shoal__partial_value_grow(&partial, (shoal__bytes_t){"1\r\n", 3}, 2));
    assert_false(partial.awaits_line);
}

static bool is_too_long(shoal__partial_kind_t kind, const char *bytes, size_t count)
{
    shoal__partial_value_t partial;

    shoal__partial_value_note(&partial, kind,
                              (shoal__bytes_t){.data = bytes, .bytes = count});
    return partial.is_too_long;
}

/* The line, and one byte of its end: a second one would be LF, or the line is longer. */
static void test_only_text_makes_long_lines(void **state)
{
    (void)state;
    static char line[65536 + 2];
    const size_t text_bytes_max = (size_t)512 * 1024 * 1024;

    assert_false(is_too_long(LINE, line, sizeof line - 1));
    assert_true(is_too_long(LINE, line, sizeof line));
    assert_true(is_too_long(STRING, line, sizeof line)); /* its length is a line, too */
    assert_false(is_too_long(TEXT, line, sizeof line));
    /* Of text no byte is looked at. */
    assert_false(is_too_long(TEXT, line, text_bytes_max + 1));
    assert_true(is_too_long(TEXT, line, text_bytes_max + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known_of_a_part),
        cmocka_unit_test(test_when_more_of_it_comes),
        cmocka_unit_test(test_a_string_grows),
        cmocka_unit_test(test_only_text_makes_long_lines),
    };
    return cmocka_run_group_tests_name("resp/partial_value", tests, NULL, NULL);
}
