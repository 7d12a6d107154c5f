/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opcodes.h"
#include "pickle_reader.h"
#include "scarce_memory.h"
#include "stream.h"
#include <stdlib.h>
#include <string.h>

/* End the stream, and read it. */
static void check_value(shoalpy_stream_t *stream, const char *expected)
{
    pickle_text_t text = {0};
    size_t offset;

    assert_true(shoalpy_stream_end(stream));
    const char *problem = pickle_read(stream->data, stream->bytes, &text, &offset);
    if (problem)
        fail_msg("%s: %s at %zu", expected, problem, offset);
    assert_string_equal(text.data, expected);
    pickle_text_release(&text);
}

static void test_integers_where_the_opcode_changes(void **state)
{
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     127,
                                     128,
                                     255,
                                     256,
                                     -128,
                                     65535,
                                     65536,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     -70000,
                                     INT64_C(1) << 31,
                                     INT64_C(1) << 32,
                                     -(INT64_C(1) << 31) - 1,
                                     -(INT64_C(1) << 32)};
    shoalpy_stream_t stream = {0};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        pickle_text_t expected = {0};
        pickle_text_print(&expected, "%lld", (long long)values[i]);
        shoalpy_stream_begin(&stream);
        shoalpy_stream_integer(&stream, values[i]);
        check_value(&stream, expected.data);
        pickle_text_release(&expected);
    }
    shoalpy_stream_release(&stream);
}

static void test_floats(void **state)
{
    static const double values[] = {0, -0.0, 1.5, -1e300, 5e-324, 0.1};
    static const char *const texts[] = {"0.0",
                                        "-0.0",
                                        "1.5",
                                        "-1.0000000000000001e+300",
                                        "4.9406564584124654e-324",
                                        "0.10000000000000001"};
    shoalpy_stream_t stream = {0};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        shoalpy_stream_begin(&stream);
        shoalpy_stream_float(&stream, values[i]);
        check_value(&stream, texts[i]);
    }
    shoalpy_stream_release(&stream);
}

/* Where the length takes more bytes, and where the memory has to grow. */
static void test_strings_of_all_lengths(void **state)
{
    static const size_t lengths[] = {0,    1,    254,  255,  256,   257,    4000,
                                     4084, 4085, 4086, 4087, 4088,  4089,   4090,
                                     4091, 4092, 4096, 8192, 65536, 5000000};
    shoalpy_stream_t stream = {0};
    char *data = malloc(5000000);

    (void)state;
    assert_non_null(data);
    memset(data, 'x', 5000000);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int is_str = 0; is_str < 2; is_str++) {
            pickle_text_t expected = {0};
            shoalpy_stream_release(&stream);
            pickle_text_quote(&expected, is_str ? "" : "b", data, lengths[i], is_str);
            shoalpy_stream_begin(&stream);
            if (is_str)
                shoalpy_stream_text(&stream, data, lengths[i]);
            else
                shoalpy_stream_bytes(&stream, data, lengths[i]);
            check_value(&stream, expected.data);
            pickle_text_release(&expected);
        }
    }
    /* The next one gives back what the large one took. */
    assert_true(stream.capacity > 4 << 20);
    shoalpy_stream_begin(&stream);
    assert_true(stream.capacity < 1 << 20);
    shoalpy_stream_release(&stream);
    free(data);
}

/* With room for them, and without: the way differs, the bytes do not. */
static void test_short_strings_are_as_all_others(void **state)
{
    char data[UINT8_MAX + 2];
    shoalpy_stream_t expected = {0}, stream = {0};

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i + 1);
    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        shoalpy_stream_begin(&expected);
        shoalpy_stream_begin(&stream);
        for (int i = 0; i < 5; i++) {
            shoalpy_stream_bytes(&expected, data, bytes);
            shoalpy_stream_short_bytes(&stream, data, bytes);
        }
        assert_int_equal(stream.bytes, expected.bytes);
        assert_memory_equal(stream.data, expected.data, expected.bytes);
    }
    shoalpy_stream_release(&expected);
    shoalpy_stream_release(&stream);
}

static void test_without_data_there_is_nothing_to_copy(void **state)
{
    shoalpy_stream_t stream = {0};

    (void)state;
    shoalpy_stream_begin(&stream);
    shoalpy_stream_bytearray(&stream, NULL, 0);
    shoalpy_stream_opcode(&stream, OP_TUPLE1);
    check_value(&stream, "(bytearray(b''),)");
    shoalpy_stream_release(&stream);
}

static void test_without_memory_it_stays_broken(void **state)
{
    shoalpy_stream_t stream = {0};

    (void)state;
    scarce_memory_allow(0);
    shoalpy_stream_begin(&stream);
    scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
    shoalpy_stream_opcode(&stream, OP_NONE);
    shoalpy_stream_integer(&stream, 1);
    shoalpy_stream_float(&stream, 1);
    shoalpy_stream_bytes(&stream, "a", 1);
    shoalpy_stream_bytearray(&stream, "a", 1);
    assert_false(shoalpy_stream_end(&stream));

    /* Also in the middle; and a new beginning is a new beginning. */
    shoalpy_stream_begin(&stream);
    scarce_memory_allow(0);
    for (int i = 0; i < 5000; i++)
        shoalpy_stream_opcode(&stream, OP_NONE);
    scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
    shoalpy_stream_opcode(&stream, OP_NONE);
    assert_false(shoalpy_stream_end(&stream));

    shoalpy_stream_begin(&stream);
    shoalpy_stream_opcode(&stream, OP_NONE);
    check_value(&stream, "None");
    shoalpy_stream_release(&stream);
}

/* ---- UTF-8 ---- */

/* At the beginning and at the end of a word, and alone, among ASCII. */
static void check_text(const unsigned char *sequence, size_t bytes)
{
    char padded[24];
    bool is_text = pickle_is_utf8((const char *)sequence, bytes);

    for (size_t before = 0; before < 8; before += 7 - bytes / 2) {
        memset(padded, 'a', sizeof padded);
        memcpy(padded + before, sequence, bytes);
        if (shoalpy_is_text(padded, before + bytes) != is_text ||
            shoalpy_is_text(padded, sizeof padded) != is_text)
            fail_msg("%02x %02x %02x %02x (%zu) is %stext", sequence[0], sequence[1],
                     sequence[2], sequence[3], bytes, is_text ? "" : "no ");
    }
}

static void test_all_sequences_of_up_to_three_bytes(void **state)
{
    unsigned char sequence[4] = {0};

    (void)state;
    for (unsigned one = 0x80; one < 0x100; one++) {
        sequence[0] = (unsigned char)one;
        check_text(sequence, 1);
        for (unsigned two = 0; two < 0x100; two++) {
            sequence[1] = (unsigned char)two;
            check_text(sequence, 2);
            for (unsigned three = 0; three < 0x100; three++) {
                sequence[2] = (unsigned char)three;
                check_text(sequence, 3);
            }
        }
    }
}

static void test_sequences_of_four_bytes(void **state)
{
    static const unsigned char last[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90,
                                         0x9f, 0xa0, 0xbf, 0xc0, 0xe0, 0xff};
    unsigned char sequence[4];

    (void)state;
    for (unsigned one = 0xe0; one < 0x100; one++)
        for (unsigned two = 0x70; two < 0xd0; two++)
            for (size_t i = 0; i < sizeof last; i++)
                for (size_t k = 0; k < sizeof last; k++) {
                    sequence[0] = (unsigned char)one;
                    sequence[1] = (unsigned char)two;
                    sequence[2] = last[i];
                    sequence[3] = last[k];
                    check_text(sequence, 4);
                }
}

/* What stands behind the end would make it whole. */
static void test_a_character_that_is_cut(void **state)
{
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac",
                                             "\xf0\x9f\x90\x9f"};

    (void)state;
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        size_t whole = strlen(characters[i]);
        for (size_t bytes = 1; bytes < whole; bytes++) {
            char *exact = malloc(bytes); /* so that a sanitizer sees a look beyond */
            assert_non_null(exact);
            memcpy(exact, characters[i], bytes);
            assert_false(shoalpy_is_text(exact, bytes));
            assert_false(shoalpy_is_text(characters[i], bytes));
            free(exact);
        }
        assert_true(shoalpy_is_text(characters[i], whole));
    }
}

static void test_nothing_is_text(void **state)
{
    (void)state;
    assert_true(shoalpy_is_text("", 0));
    assert_true(shoalpy_is_text("\0", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_where_the_opcode_changes),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_strings_of_all_lengths),
        cmocka_unit_test(test_short_strings_are_as_all_others),
        cmocka_unit_test(test_without_data_there_is_nothing_to_copy),
        cmocka_unit_test(test_without_memory_it_stays_broken),
        cmocka_unit_test(test_all_sequences_of_up_to_three_bytes),
        cmocka_unit_test(test_sequences_of_four_bytes),
        cmocka_unit_test(test_a_character_that_is_cut),
        cmocka_unit_test(test_nothing_is_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
