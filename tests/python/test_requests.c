/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pickle_reader.h"
#include "requests.h"
#include "scarce_memory.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICKLE(text) ("\x80\x05" text), (sizeof(text) - 1 + 2)
#define REFUSED NULL

typedef struct row {
    const char *stream;
    size_t bytes;
    const char *commands; /* REFUSED; or each in brackets */
    size_t count;         /* of those before the refused one */
} row_t;

/* From memory of the exact size, so that a sanitizer sees every look beyond. */
static int read_copy(shoalpy_requests_t *requests, const char *stream, size_t bytes,
                     char **ret_copy)
{
    *ret_copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(*ret_copy);
    memcpy(*ret_copy, stream, bytes);
    return shoalpy_requests_read(requests, *ret_copy, bytes);
}

static void print(const shoalpy_requests_t *requests, pickle_text_t *text)
{
    pickle_text_add(text, "", 0);
    for (size_t i = 0; i < requests->count; i++) {
        const shoal_command_t *command = &requests->commands[i];
        pickle_text_print(text, "[");
        for (size_t k = 0; k < command->argc; k++)
            pickle_text_quote(text, k ? " " : "", command->argv[k], command->argvlen[k],
                              false);
        pickle_text_print(text, "]");
    }
}

static void check_row(shoalpy_requests_t *requests, const row_t *row, size_t number)
{
    pickle_text_t text = {0};
    char *copy;
    int rc = read_copy(requests, row->stream, row->bytes, &copy);

    if (rc != (row->commands ? 0 : SHOAL_EINVAL))
        fail_msg("row %zu: %d", number, rc);
    if (row->commands) {
        print(requests, &text);
        assert_string_equal(text.data, row->commands);
        pickle_text_release(&text);
    } else if (requests->count != row->count) {
        fail_msg("row %zu: command %zu is refused", number, requests->count);
    }
    free(copy);
}

static void check_rows(const row_t *rows, size_t count)
{
    shoalpy_requests_t requests = {0};

    for (size_t i = 0; i < count; i++)
        check_row(&requests, &rows[i], i);
    shoalpy_requests_release(&requests);
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

/* ---- what is accepted ---- */

static void test_every_kind_of_argument(void **state)
{
    static const row_t rows[] = {
        {PICKLE("\x8c\x04PING\x85."), "['PING']", 0},
        {PICKLE("\x8c\0\x85."), "['']", 0},
        {PICKLE("X\2\0\0\0\xc3\xa9\x85."), "['\\xc3\\xa9']", 0},
        {PICKLE("\x8d\1\0\0\0\0\0\0\0a\x85."), "['a']", 0},
        {PICKLE("C\2\xff\0\x85."), "['\\xff\\x00']", 0},
        {PICKLE("B\1\0\0\0a\x85."), "['a']", 0},
        {PICKLE("\x8e\1\0\0\0\0\0\0\0a\x85."), "['a']", 0},
        {PICKLE("\x96\1\0\0\0\0\0\0\0a\x85."), "['a']", 0},
        {PICKLE("K\0K\xff\x86."), "['0' '255']", 0},
        {PICKLE("M\0\1M\xff\xff\x86."), "['256' '65535']", 0},
        {PICKLE("J\xff\xff\xff\xffJ\0\0\0\x80J\xff\xff\xff\x7f\x87."),
         "['-1' '-2147483648' '2147483647']", 0},
        {PICKLE("\x8a\0\x8a\1\xff\x8a\2\0\x80\x87."), "['0' '-1' '-32768']", 0},
        {PICKLE("\x8a\x05\0\0\0\0\1\x8a\x05\0\0\0\0\x80\x86."),
         "['4294967296' '-549755813888']", 0},
        {PICKLE(
             "\x8a\x08\0\0\0\0\0\0\0\x80\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x86."),
         "['-9223372036854775808' '9223372036854775807']", 0},
        {PICKLE("G\x3f\xf8\0\0\0\0\0\0G\x80\0\0\0\0\0\0\0\x86."), "['1.5' '-0.0']", 0},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_commands_and_lists_of_commands(void **state)
{
    static const row_t rows[] = {
        {PICKLE("C\1aC\1b\x86."), "['a' 'b']", 0},
        {PICKLE("C\1aC\1bC\1c\x87."), "['a' 'b' 'c']", 0},
        {PICKLE("(C\1aC\1bC\1cC\1dt."), "['a' 'b' 'c' 'd']", 0},
        {PICKLE("(C\1at."), "['a']", 0},
        {PICKLE("\x95\x09\0\0\0\0\0\0\0C\1a\x85."), "['a']", 0},
        {PICKLE("]."), "", 0},
        {PICKLE("](e."), "", 0},
        {PICKLE("]C\1a\x85"
                "a."),
         "['a']", 0},
        {PICKLE("](C\1aC\1bC\1cC\1dta."), "['a' 'b' 'c' 'd']", 0},
        {PICKLE("](C\1a\x85"
                "C\1bC\1c\x86"
                "e."),
         "['a']['b' 'c']", 0},
        {PICKLE("]((C\1aC\1bC\1cC\1dt(C\1eC\1fC\1gC\1hte."),
         "['a' 'b' 'c' 'd']['e' 'f' 'g' 'h']", 0},
        /* The pickler ends a list's part after so many, and begins another. */
        {PICKLE("](C\1a\x85"
                "C\1b\x85"
                "e(C\1c\x85"
                "C\1d\x85"
                "e."),
         "['a']['b']['c']['d']", 0},
        {PICKLE("](C\1a\x85"
                "C\1b\x85"
                "eC\1c\x85"
                "a."),
         "['a']['b']['c']", 0},
        {PICKLE("]C\1a\x85"
                "aC\1b\x85"
                "a."),
         "['a']['b']", 0},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* ---- what is not ---- */

static void test_what_is_no_command(void **state)
{
    static const row_t rows[] = {
        {PICKLE("."), REFUSED, 0},
        {PICKLE("C\1a."), REFUSED, 0},   /* no tuple */
        {PICKLE("]C\1aa."), REFUSED, 0}, /* no tuple in the list */
        {PICKLE("](C\1ae."), REFUSED, 0},
        {PICKLE(")."), REFUSED, 0}, /* nothing in the tuple */
        {PICKLE("(t."), REFUSED, 0},
        {PICKLE("])a."), REFUSED, 0},
        {PICKLE("C\1a\x86."), REFUSED, 0}, /* too few for it */
        {PICKLE("C\1aC\1b\x85."), REFUSED, 0},
        {PICKLE("(C\1aC\1b\x85."), REFUSED, 0},
        {PICKLE("C\1aC\1b\x85\x86."), REFUSED, 0}, /* ('a', ('b',)) */
        {PICKLE("C\1a\x85"
                "C\1b\x86."),
         REFUSED, 1}, /* (('a',), 'b') */
        {PICKLE("C\1a\x85"
                "C\1b\x85\x86."),
         REFUSED, 1},
        {PICKLE("C\1a\x85\x85."), REFUSED, 1},
        {PICKLE("(C\1a\x85"
                "C\1b\x85"
                "C\1c\x85"
                "C\1dt."),
         REFUSED, 3},
        {PICKLE("(C\1a\x85"
                "C\1b\x85"
                "C\1c\x85"
                "C\1d\x85t."),
         REFUSED, 4},
        {PICKLE("](C\1a\x85"
                "C\1b\x85"
                "C\1c\x85"
                "C\1dta."),
         REFUSED, 3},
        {PICKLE("]((C\1a\x85"
                "C\1bC\1cC\1dt(C\1eC\1fC\1gC\1hte."),
         REFUSED, 1},
        {PICKLE("(C\1aC\1b(C\1ctt."), REFUSED, 0},
        {PICKLE("(C\1aC\1bC\1c]t."), REFUSED, 0}, /* a list as an argument */
        {PICKLE("]C\1a\x86."), REFUSED, 0},
        {PICKLE("]]a."), REFUSED, 0}, /* a list in the list */
        {PICKLE("](]e."), REFUSED, 0},
        {PICKLE("]]C\1a\x85"
                "aa."),
         REFUSED, 0},
        {PICKLE("C\1a\x85]."), REFUSED, 1},
    };

    (void)state;
    CHECK_ROWS(rows);
}

static void test_what_is_no_pickle(void **state)
{
    static const row_t rows[] = {
        {PICKLE("a."), REFUSED, 0},
        {PICKLE("e."), REFUSED, 0},
        {PICKLE("t."), REFUSED, 0},
        {PICKLE("(e."), REFUSED, 0},
        {PICKLE("]a."), REFUSED, 0},
        {PICKLE("](."), REFUSED, 0},
        {PICKLE("]((C\1a\x85"
                "e."),
         REFUSED, 1},
        {PICKLE("(((C\1at."), REFUSED, 0},
        {PICKLE("]((t."), REFUSED, 0},
        {PICKLE("(C\1a\x85"
                "e."),
         REFUSED, 1}, /* items for no list */
        {PICKLE("C\1a\x85"
                "a."),
         REFUSED, 1},
        {PICKLE("]C\1a\x85."), REFUSED, 1}, /* left beside the list */
        {PICKLE("]C\1a\x85"
                "C\1b\x85"
                "aa."),
         REFUSED, 1},
        {PICKLE("]C\1a\x85(C\1b\x85"
                "e."),
         REFUSED, 1},
        {PICKLE("](C\1a\x85"
                "a."),
         REFUSED, 1},
        {PICKLE("C\1a\x85"
                "C\1b\x85."),
         REFUSED, 1},
        {PICKLE("C\1a\x85(."), REFUSED, 1},
        {PICKLE("\x8a\x09\0\0\0\0\0\0\0\0\0\x85."), REFUSED, 0}, /* 9 bytes */
        {PICKLE("C\1a\x85.."), REFUSED, 1}, /* something behind the end */
        {PICKLE("C\1a\x85.\x80\x05"
                "C\1b\x85."),
         REFUSED, 1},
        {PICKLE("\x8c\1\xed"), REFUSED, 0},
        {PICKLE("\x8a\xff\x85."), REFUSED, 0},
        {PICKLE("C\xff"
                "a\x85."),
         REFUSED, 0},
        {PICKLE("B\xff\xff\xff\xff"
                "a\x85."),
         REFUSED, 0},
        {PICKLE("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"
                "a\x85."),
         REFUSED, 0},
        {PICKLE("\x8e\0\0\0\0\0\0\0\x80"
                "a\x85."),
         REFUSED, 0},
        {PICKLE("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
                "a\x85."),
         REFUSED, 0},
        {PICKLE("\x96\x03\0\0\0\0\0\0\0a\x85."), REFUSED, 0},
        {PICKLE("X\0\0\0\x80"
                "a\x85."),
         REFUSED, 0},
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* As the pickler writes what is no character. */
static void test_surrogates(void **state)
{
    static const row_t rows[] = {
        {PICKLE("\x8c\x03\xed\x9f\xbf\x85."), "['\\xed\\x9f\\xbf']", 0}, /* U+D7FF */
        {PICKLE("\x8c\x03\xee\x80\x80\x85."), "['\\xee\\x80\\x80']", 0}, /* U+E000 */
        {PICKLE("\x8c\x03\xed\xa0\x80\x85."), REFUSED, 0},               /* U+D800 */
        {PICKLE("\x8c\x05"
                "ab\xed\xbf\xbf\x85."),
         REFUSED, 0}, /* U+DFFF */
        {PICKLE("X\6\0\0\0\xed\x9f\xbf\xed\xb0\x80\x85."), REFUSED, 0},
        {PICKLE("\x8d\3\0\0\0\0\0\0\0\xed\xa0\x80\x85."), REFUSED, 0},
        {PICKLE("C\3\xed\xa0\x80\x85."), "['\\xed\\xa0\\x80']", 0}, /* bytes may */
        {PICKLE("\x8c\1\xed\x85."), "['\\xed']", 0}, /* the pickler does not do this */
    };

    (void)state;
    CHECK_ROWS(rows);
}

/* None, True, objects, memo, frames of another protocol ...: all the opcodes that are not
 * listed, where an argument may stand. */
static void test_every_other_opcode_is_refused(void **state)
{
    static const unsigned char known[] = {
        '(', '.',  'B',  'C',  'G',  'J',  'K',  'M',  'X',  ']',  'a', 'e',
        't', 0x80, 0x85, 0x86, 0x87, 0x8a, 0x8c, 0x8d, 0x8e, 0x95, 0x96};
    shoalpy_requests_t requests = {0};

    (void)state;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        char stream[] = "\x80\x05(C\1a?\0\0\0\0\0\0\0\0t.";
        stream[6] = (char)opcode;
        int rc = shoalpy_requests_read(&requests, stream, sizeof stream - 1);
        if (!memchr(known, (int)opcode, sizeof known) && rc != SHOAL_EINVAL)
            fail_msg("opcode %02x: %d", opcode, rc);
    }
    shoalpy_requests_release(&requests);
}

static const char everything[] =
    "\x80\x05\x95\x42\0\0\0\0\0\0\0]((\x8c\x03SETC\1kG\x3f\xf8\0\0\0\0\0\0K\1t"
    "X\4\0\0\0PINGJ\xff\xff\xff\xff\x86\x8d\1\0\0\0\0\0\0\0a\x8e\1\0\0\0\0\0\0\0b"
    "\x96\1\0\0\0\0\0\0\0c\x87"
    "eB\1\0\0\0aM\1\1\x8a\5\0\0\0\0\1\x87"
    "a.";

static void test_a_stream_cut_anywhere_is_refused(void **state)
{
    shoalpy_requests_t requests = {0};
    char *copy;

    (void)state;
    assert_int_equal(read_copy(&requests, everything, sizeof everything - 1, &copy), 0);
    assert_int_equal(requests.count, 4);
    free(copy);
    for (size_t bytes = 0; bytes < sizeof everything - 1; bytes++) {
        if (read_copy(&requests, everything, bytes, &copy) != SHOAL_EINVAL)
            fail_msg("%zu bytes are enough", bytes);
        free(copy);
    }
    shoalpy_requests_release(&requests);
}

/* ---- beside the stream ---- */

static const shoalpy_buffer_t buffers[] = {{"one", 3}, {"two", 3}};

static void test_buffers_beside_the_stream(void **state)
{
    static const row_t both = {PICKLE("](C\1a\x97\x86\x97\x85"
                                      "e."),
                               "['a' 'one']['two']", 0};
    static const row_t three = {PICKLE("\x97\x97\x97\x87."), REFUSED, 0};
    static const row_t one = {PICKLE("\x97\x85."), REFUSED, 0};
    static const row_t none = {PICKLE("C\1a\x85."), "['a']", 0};
    static const row_t cut = {PICKLE("\x97"), REFUSED, 0};
    shoalpy_requests_t requests = {0};

    (void)state;
    assert_int_equal(shoalpy_requests_lend(&requests, buffers, 2), 0);
    check_row(&requests, &both, 0);
    assert_ptr_equal(requests.commands[1].argv[0], buffers[1].data);
    check_row(&requests, &one, 1); /* they were for the stream before */
    assert_int_equal(shoalpy_requests_lend(&requests, buffers, 2), 0);
    check_row(&requests, &three, 2);
    const row_t *wasteful[] = {&none, &cut};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shoalpy_requests_lend(&requests, buffers, 2), 0);
        check_row(&requests, wasteful[i], 3);
        check_row(&requests, &one, 4);
    }
    shoalpy_requests_release(&requests);
}

static void test_large_arguments_are_noted(void **state)
{
    static char large[SHOAL_REFERENCE_BYTES_MIN];
    shoalpy_buffer_t lent = {large, sizeof large};
    shoalpy_requests_t requests = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        lent.bytes = sizeof large - (size_t)i;
        assert_int_equal(shoalpy_requests_lend(&requests, &lent, 1), 0);
        assert_int_equal(shoalpy_requests_read(&requests, PICKLE("\x97\x85.")), 0);
        assert_int_equal(requests.has_large, i == 0);
    }
    scarce_memory_allow(0);
    int rc = shoalpy_requests_lend(&requests, &lent, 1);
    scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
    assert_int_equal(rc, SHOAL_ENOMEM);
    shoalpy_requests_release(&requests);
}

/* ---- many, and memory ---- */

/* A list of commands of two arguments, a word and a number. */
static void write_many(pickle_text_t *stream, size_t count)
{
    pickle_text_add(stream, "\x80\x05](", 4);
    for (size_t i = 0; i < count; i++) {
        char number[] = {'J', (char)i, (char)(i >> 8), (char)(i >> 16), 0, (char)0x86};
        pickle_text_add(stream, "C\1w", 3);
        pickle_text_add(stream, number, sizeof number);
    }
    pickle_text_add(stream, "e.", 2);
}

static void check_many(const shoalpy_requests_t *requests, size_t count)
{
    assert_int_equal(requests->count, count);
    for (size_t i = 0; i < count; i++) {
        const shoal_command_t *command = &requests->commands[i];
        char number[24];
        int digits = snprintf(number, sizeof number, "%zu", i);
        if (command->argc != 2 || command->argvlen[0] != 1 ||
            command->argv[0][0] != 'w' || command->argvlen[1] != (size_t)digits ||
            memcmp(command->argv[1], number, (size_t)digits) != 0)
            fail_msg("command %zu of %zu", i, count);
    }
}

/* The numbers' texts stand in blocks; what many took is given back later. */
static void test_many_commands(void **state)
{
    static const size_t counts[] = {1, 126, 127, 1000, 1001, 8192, 100000, 3};
    shoalpy_requests_t requests = {0};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        pickle_text_t stream = {0};
        write_many(&stream, counts[i]);
        assert_int_equal(shoalpy_requests_read(&requests, stream.data, stream.bytes),
                         0);
        check_many(&requests, counts[i]);
        pickle_text_release(&stream);
        /* Memory that is given back takes no buffer with it. */
        assert_int_equal(shoalpy_requests_lend(&requests, buffers, 2), 0);
        assert_int_equal(shoalpy_requests_read(&requests, PICKLE("\x97\x97\x86.")), 0);
    }
    assert_true(requests.arguments_capacity < 100);
    assert_true(requests.commands_capacity < 100);
    shoalpy_requests_release(&requests);
}

static void test_memory_that_runs_out(void **state)
{
    pickle_text_t stream = {0};
    size_t allowed = 0;
    int rc;

    (void)state;
    write_many(&stream, 300);
    do {
        shoalpy_requests_t requests = {0};
        scarce_memory_allow(allowed++);
        rc = shoalpy_requests_read(&requests, stream.data, stream.bytes);
        scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
        assert_true(rc == 0 || rc == SHOAL_ENOMEM);
        /* It is as good as new. */
        assert_int_equal(shoalpy_requests_read(&requests, stream.data, stream.bytes),
                         0);
        assert_int_equal(requests.count, 300);
        shoalpy_requests_release(&requests);
    } while (rc == SHOAL_ENOMEM);
    assert_in_range(allowed, 10, 40);
    pickle_text_release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_argument),
        cmocka_unit_test(test_commands_and_lists_of_commands),
        cmocka_unit_test(test_what_is_no_command),
        cmocka_unit_test(test_what_is_no_pickle),
        cmocka_unit_test(test_surrogates),
        cmocka_unit_test(test_every_other_opcode_is_refused),
        cmocka_unit_test(test_a_stream_cut_anywhere_is_refused),
        cmocka_unit_test(test_buffers_beside_the_stream),
        cmocka_unit_test(test_large_arguments_are_noted),
        cmocka_unit_test(test_many_commands),
        cmocka_unit_test(test_memory_that_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
