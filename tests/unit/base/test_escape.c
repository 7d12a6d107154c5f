/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/escape.h"
#include <string.h>

/* clang-format off */
static const struct escape_case {
    const char *name, *text;
    size_t bytes, room;
    const char *escaped;
} cases[] = {
    {"plain",                  "ERR no", 6, 32, "ERR no"},
    {"nothing",                "",       0, 32, ""},
    {"line ends and NUL",      "a\r\n\0b", 5, 32, "a\\x0d\\x0a\\x00b"},
    {"a terminal's escape",    "\033[2J", 4, 32, "\\x1b[2J"},
    {"the edges of ASCII",     "\x1f ~\x7f\xff", 5, 32, "\\x1f ~\\x7f\\xff"},
    {"cut before it overruns", "abcdef", 6, 8, "abcd"},
    {"never half an escape",   "ab\n\n",  4, 10, "ab\\x0a"},
    {"no room at all",         "abc",    3, 1, ""},
};
/* clang-format on */

static void test_texts_are_escaped_and_cut_to_their_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct escape_case *c = &cases[i];
        char at[40];

        memset(at, '#', sizeof at);
        shoal__escape(at, c->room, (shoal__bytes_t){c->text, c->bytes});
        if (strcmp(at, c->escaped) != 0)
            fail_msg("%s: '%s'", c->name, at);
        assert_int_equal(at[c->room], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_escaped_and_cut_to_their_room),
    };
    return cmocka_run_group_tests_name("base/escape", tests, NULL, NULL);
}
