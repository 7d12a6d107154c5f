/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/string_run.h"
#include <string.h>

#define ARRIVED(text)                                                                  \
    {                                                                                  \
        text, sizeof text - 1                                                          \
    }

/* clang-format off */
static const struct run_case {
    const char *name;
    shoal__bytes_t arrived;
    bool has_type;
    size_t bytes; /* 0: none */
    const char *text;
} run_cases[] = {
    {"nothing",               ARRIVED(""),                   false,  0, NULL},
    {"nothing of a length",   ARRIVED(""),                   true,   0, NULL},
    {"another type",          ARRIVED(":1\r\n:2\r\n"),       false,  0, NULL},
    {"a type alone",          ARRIVED("$"),                  false,  0, NULL},
    {"a string",              ARRIVED("$2\r\nab\r\n"),       false,  8, "ab"},
    {"a string and more",     ARRIVED("$2\r\nab\r\n$1"),     false,  8, "ab"},
    {"without its type",      ARRIVED("2\r\nab\r\n"),        true,   7, "ab"},
    {"a type is no length",   ARRIVED("$2\r\nab\r\n"),       true,   0, NULL},
    {"an empty one",          ARRIVED("$0\r\n\r\n"),         false,  6, ""},
    {"two digits",            ARRIVED("$10\r\n0123456789\r\n"), false, 17, "0123456789"},
    {"a null",                ARRIVED("$-1\r\n"),            false,  0, NULL},
    {"a zero before",         ARRIVED("$02\r\nab\r\n"),      false,  0, NULL},
    {"seven digits",          ARRIVED("$1000000\r\nab\r\n"), false,  0, NULL},
    {"no digit",              ARRIVED("$a\r\nab\r\n"),       false,  0, NULL},
    {"below the digits",      ARRIVED("$2/\r\nab\r\n"),      false,  0, NULL},
    {"a length alone",        ARRIVED("$2"),                 false,  0, NULL},
    {"a part",                ARRIVED("$2\r\nab"),           false,  0, NULL},
    {"half of its line end",  ARRIVED("$2\r\nab\r"),         false,  0, NULL},
    {"no CR in the header",   ARRIVED("$2x\nab\r\n"),        false,  0, NULL},
    {"no LF in the header",   ARRIVED("$2\rxab\r\n"),        false,  0, NULL},
    {"no CR at the end",      ARRIVED("$2\r\nabx\n"),        false,  0, NULL},
    {"no LF at the end",      ARRIVED("$2\r\nab\rx"),        false,  0, NULL},
};
/* clang-format on */

static void test_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof run_cases / sizeof *run_cases; i++) {
        const struct run_case *c = &run_cases[i];
        shoal__bytes_t text = {0};
        size_t bytes = shoal__string_run_next(c->arrived, c->has_type, &text);

        if (bytes != c->bytes)
            fail_msg("%s: %zu bytes", c->name, bytes);
        if (bytes == 0)
            continue;
        assert_int_equal(text.bytes, strlen(c->text));
        assert_memory_equal(text.data, c->text, text.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
