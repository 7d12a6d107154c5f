/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/encoder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Encodes into memory of the exact size, so that a sanitizer sees every excess. */
static void check(const shoal_command_t *command, const char *wire, size_t wire_bytes)
{
    assert_int_equal(shoal__encoder_bytes(command), wire_bytes);
    char *memory = malloc(wire_bytes);
    assert_non_null(memory);
    assert_ptr_equal(shoal__encoder_write(command, memory), memory + wire_bytes);
    assert_memory_equal(memory, wire, wire_bytes);
    free(memory);
}

#define CHECK(argc, argv, argvlen, wire)                                               \
    check(&(shoal_command_t){argc, argv, argvlen}, wire, sizeof wire - 1)

static void test_commands_become_arrays_of_strings(void **state)
{
    (void)state;
    const char *const set[] = {"SET", "key", "0123456789"}, *const empty[] = {""},
                      *const views[] = {"SET", NULL, "v"};
    const size_t view_bytes[] = {3, 0, 1};

    CHECK(1, set, NULL, "*1\r\n$3\r\nSET\r\n");
    CHECK(3, set, NULL, "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$10\r\n0123456789\r\n");
    CHECK(1, empty, NULL, "*1\r\n$0\r\n\r\n");
    CHECK(3, views, view_bytes, "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$1\r\nv\r\n");
}

static void test_lengths_make_any_byte_safe(void **state)
{
    (void)state;
    const char *const argv[] = {"a\0b", "\r\n$1\r\n", "*1\r\n"};
    const size_t argvlen[] = {3, 6, 4}, shorter[] = {1, 0, 2};

    CHECK(3, argv, argvlen, "*3\r\n$3\r\na\0b\r\n$6\r\n\r\n$1\r\n\r\n$4\r\n*1\r\n\r\n");
    CHECK(3, argv, shorter, "*3\r\n$1\r\na\r\n$0\r\n\r\n$2\r\n*1\r\n");
}

static void test_numbers_of_every_width(void **state)
{
    (void)state;
    static const size_t widths[] = {
        1,     9,     10,    11,     99,     100,     999,     1000,     9999,
        10000, 10001, 99999, 100000, 999999, 1000000, 9999999, 10000000, 12345678};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char *value = malloc(widths[i]), *wire = malloc(widths[i] + 40);
        const char *const argv[] = {value};
        assert_non_null(value);
        assert_non_null(wire);
        memset(value, 'v', widths[i]);
        int head_bytes = sprintf(wire, "*1\r\n$%zu\r\n", widths[i]);
        memcpy(wire + head_bytes, value, widths[i]);
        memcpy(wire + head_bytes + widths[i], "\r\n", 2);
        check(&(shoal_command_t){1, argv, &widths[i]}, wire,
              (size_t)head_bytes + widths[i] + 2);
        free(value);
        free(wire);
    }
}

static void test_the_most_arguments(void **state)
{
    (void)state;
    const char **argv = calloc(SHOAL_ARGC_MAX + 1, sizeof *argv);
    assert_non_null(argv);
    for (size_t i = 0; i <= SHOAL_ARGC_MAX; i++)
        argv[i] = "x";

    shoal_command_t command = {SHOAL_ARGC_MAX, argv, NULL};
    size_t bytes = shoal__encoder_bytes(&command);
    assert_int_equal(bytes, strlen("*1048576\r\n") + 7 * (size_t)SHOAL_ARGC_MAX);
    char *wire = malloc(bytes);
    assert_non_null(wire);
    assert_ptr_equal(shoal__encoder_write(&command, wire), wire + bytes);
    assert_memory_equal(wire, "*1048576\r\n$1\r\nx\r\n", 17);

    command.argc++;
    assert_int_equal(shoal__encoder_bytes(&command), 0);
    free(wire);
    free(argv);
}

static void test_what_cannot_be_encoded(void **state)
{
    (void)state;
    const char *const argv[] = {"SET", "key"}, *const hole[] = {"SET", NULL};
    const size_t most[] = {3, SHOAL_ARG_BYTES_MAX},
                 more[] = {3, SHOAL_ARG_BYTES_MAX + 1}, all[] = {SIZE_MAX, SIZE_MAX},
                 wrap[] = {SIZE_MAX - 20, 40}, one[] = {3, 1};

    /* clang-format off */
    const struct refused_case {
        const char *name;
        shoal_command_t command;
    } cases[] = {
        {"no argument",                    {0, argv, NULL}},
        {"argc is beyond all bounds",      {SIZE_MAX, argv, NULL}},
        {"no argv",                        {2, NULL, NULL}},
        {"an argument is NULL",            {2, hole, NULL}},
        {"NULL and of a byte",             {2, hole, one}},
        {"one byte too many",              {2, argv, more}},
        {"the largest lengths",            {2, argv, all}},
        {"lengths that wrap around",       {2, argv, wrap}},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (shoal__encoder_bytes(&cases[i].command) != 0 ||
            shoal__encoder_bytes_max(&cases[i].command) != 0)
            fail_msg("%s: accepted", cases[i].name);

    assert_int_equal(shoal__encoder_bytes(&(shoal_command_t){2, argv, most}),
                     strlen("*2\r\n$3\r\nSET\r\n$536870912\r\n\r\n") +
                         SHOAL_ARG_BYTES_MAX);
    assert_in_range(shoal__encoder_bytes_max(&(shoal_command_t){2, argv, most}),
                    SHOAL_ARG_BYTES_MAX + 30, SHOAL_ARG_BYTES_MAX + 60);
}

/* The bytes of small arguments, and where the large ones belong: together the same. */
static void test_large_arguments_are_left_out(void **state)
{
    (void)state;
    static char large[2 * SHOAL_REFERENCE_BYTES_MIN];
    const char *const argv[] = {"SET", large, large, NULL, "v", large};
    const size_t argvlen[] = {
        3, SHOAL_REFERENCE_BYTES_MIN,    SHOAL_REFERENCE_BYTES_MIN - 1, 0,
        1, 2 * SHOAL_REFERENCE_BYTES_MIN};
    const size_t large_bytes = 3 * SHOAL_REFERENCE_BYTES_MIN;
    const shoal_command_t command = {6, argv, argvlen}, none = {1, argv, argvlen};
    shoal__reference_t references[3] = {{0}};
    size_t bytes = shoal__encoder_bytes(&command), found_bytes, at = 0;
    char *whole = malloc(bytes), *rest = malloc(bytes - large_bytes);

    assert_non_null(whole);
    assert_non_null(rest);
    memset(large, 'x', sizeof large);
    assert_int_equal(shoal__encoder_large(&none, &found_bytes), 0);
    assert_int_equal(found_bytes, 0);
    assert_int_equal(shoal__encoder_large(&command, &found_bytes), 2);
    assert_int_equal(found_bytes, large_bytes);
    shoal__encoder_write(&command, whole);
    assert_ptr_equal(shoal__encoder_write_small(&command, rest, references),
                     rest + bytes - large_bytes);
    assert_null(references[2].data);

    char *joined = malloc(bytes);
    size_t done = 0;
    assert_non_null(joined);
    for (size_t i = 0; i < 2; i++) {
        memcpy(joined + at, rest + done, references[i].at - done);
        at += references[i].at - done;
        memcpy(joined + at, references[i].data, references[i].bytes);
        at += references[i].bytes;
        done = references[i].at;
    }
    memcpy(joined + at, rest + done, bytes - at);
    assert_memory_equal(joined, whole, bytes);
    free(joined);
    free(whole);
    free(rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_become_arrays_of_strings),
        cmocka_unit_test(test_lengths_make_any_byte_safe),
        cmocka_unit_test(test_numbers_of_every_width),
        cmocka_unit_test(test_the_most_arguments),
        cmocka_unit_test(test_what_cannot_be_encoded),
        cmocka_unit_test(test_large_arguments_are_left_out),
    };
    return cmocka_run_group_tests_name("resp/encoder", tests, NULL, NULL);
}
