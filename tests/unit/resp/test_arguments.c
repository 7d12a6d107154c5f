/* SPDX-License-Identifier: MIT */
#include "resp/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct encoded_case {
    const char *text;
    int count; /* of the arguments; -1: it begins no command */
    int whole; /* so many are shown */
} encoded_case_t;

static const encoded_case_t cases[] = {
    {"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 2, 2},
    {"*1\r\n$0\r\n\r\n", 1, 1},
    {"*1\r\n$4\r\n\r\n\r\n\r\n", 1, 1}, /* an argument of two ends of lines */
    {"*0\r\n", 0, 0},
    {"*2\r\n$3\r\nGET\r\n", 2, 1}, /* the last arguments are not there */
    {"*2\r\n$3\r\nGET\r\n$1\r\n", 2, 1},
    {"*2\r\n$3\r\nGET\r\n$1\r\nk", 2, 1},
    {"*2\r\n$3\r\nGET\r\n$1\r\nk\r", 2, 1},
    {"*2\r\n$3\r\nGETx\n$1\r\nk\r\n", 2, 0}, /* its length is wrong */
    {"*2\r\n$3\r\nGET\rx$1\r\nk\r\n", 2, 0},
    {"*2\r\n+3\r\nGET\r\n", 2, 0},
    {"*2\r\n$", 2, 0},
    {"*2\r\n$99999999999\r\nGET\r\n", 2, 0},
    {"*2\r\n$3x\nGET\r\n", 2, 0},
    {"", -1, 0},
    {"*", -1, 0},
    {"*2", -1, 0},
    {"*2\r", -1, 0},
    {"*2\rx", -1, 0},
    {"$2\r\n", -1, 0},
    {"*99999999999\r\n", -1, 0},
};

static void arguments_of_encoded_commands(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const encoded_case_t *row = &cases[i];
        shoal__arguments_t arguments;
        shoal__bytes_t text = {row->text, strlen(row->text)}, argument;
        int shown = 0;

        if (shoal__arguments_of_encoded(&arguments, text) != (row->count >= 0))
            fail_msg("%s", row->text);
        if (row->count < 0)
            continue;
        assert_int_equal(arguments.count, row->count);
        while (shoal__arguments_next(&arguments, &argument))
            shown++;
        if (shown != row->whole)
            fail_msg("%s: %d", row->text, shown);
    }
}

static void arguments_of_callers(void **state)
{
    const char *const words[] = {"SET", "key", "value"};
    const size_t lengths[] = {3, 2, 0};
    shoal_command_t commands[] = {{3, words, NULL}, {3, words, lengths}};
    (void)state;

    for (size_t k = 0; k < 2; k++) {
        shoal__arguments_t arguments, copy;
        shoal__bytes_t argument;
        shoal__arguments_of(&arguments, &commands[k]);
        assert_int_equal(arguments.count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_true(shoal__arguments_next(&arguments, &argument));
            assert_ptr_equal(argument.data, words[i]);
            assert_int_equal(argument.bytes, k ? lengths[i] : strlen(words[i]));
            if (i == 0)
                copy = arguments;
        }
        assert_false(shoal__arguments_next(&arguments, &argument));
        assert_true(shoal__arguments_next(&copy, &argument)); /* it goes on by itself */
        assert_ptr_equal(argument.data, words[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_of_encoded_commands),
        cmocka_unit_test(arguments_of_callers),
    };
    return cmocka_run_group_tests_name("resp/arguments", tests, NULL, NULL);
}
