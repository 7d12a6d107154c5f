/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/reply.h"
#include "resp/string_run.h"
#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX 8
#define ALL SIZE_MAX

/* clang-format off */
static const struct run_case {
    const char *name;
    const char *arrived;
    bool has_type;
    size_t count_max;
    const char *strings[STRINGS_MAX]; /* that the sink gets */
    size_t left;                      /* bytes that are not taken */
} run_cases[] = {
    {"nothing",               "",                      false, ALL, {0},                0},
    {"nothing of a length",   "",                      true,  ALL, {0},                0},
    {"another type",          ":1\r\n:2\r\n",          false, ALL, {0},                8},
    {"a type alone",          "$",                     false, ALL, {0},                1},
    {"a string",              "$2\r\nab\r\n",          false, ALL, {"ab"},             0},
    {"a string and more",     "$2\r\nab\r\n$1",        false, ALL, {"ab"},             2},
    {"without its type",      "2\r\nab\r\n",           true,  ALL, {"ab"},             0},
    {"a type is no length",   "$2\r\nab\r\n",          true,  ALL, {0},                8},
    {"an empty one",          "$0\r\n\r\n",            false, ALL, {""},               0},
    {"two digits",            "$10\r\n0123456789\r\n", false, ALL, {"0123456789"},     0},
    {"three",                 "$1\r\na\r\n$0\r\n\r\n$2\r\nbc\r\n",
                                                       false, ALL, {"a", "", "bc"},    0},
    {"the first has its type","1\r\na\r\n$1\r\nb\r\n", true, ALL, {"a", "b"},        0},
    {"only the first has it", "1\r\na\r\n1\r\nb\r\n",  true, ALL, {"a"},             6},
    {"no more than wanted",   "$1\r\na\r\n$1\r\nb\r\n", false, 1, {"a"},             7},
    {"none is wanted",        "$1\r\na\r\n",           false, 0,   {0},                7},
    {"another type between",  "$1\r\na\r\n:1\r\n$1\r\nb\r\n",
                                                       false, ALL, {"a"},             11},
    {"a part behind",         "$1\r\na\r\n$3\r\nb",    false, ALL, {"a"},              5},
    {"a null",                "$-1\r\n",               false, ALL, {0},                5},
    {"a null behind",         "$1\r\na\r\n$-1\r\n",    false, ALL, {"a"},              5},
    {"a zero before",         "$02\r\nab\r\n",         false, ALL, {0},                9},
    {"seven digits",          "$1000000\r\nab\r\n",    false, ALL, {0},               14},
    {"more than a size_t has","$99999999999999999999999999\r\nab\r\n",
                                                       false, ALL, {0},               33},
    {"2 and 2 to the 64th",   "$18446744073709551618\r\nab\r\n",
                                                       false, ALL, {0},               27},
    {"no digit",              "$a\r\nab\r\n",          false, ALL, {0},                8},
    {"below the digits",      "$2/\r\nab\r\n",         false, ALL, {0},                9},
    {"a length alone",        "$2",                    false, ALL, {0},                2},
    {"a part",                "$2\r\nab",              false, ALL, {0},                6},
    {"half of its line end",  "$2\r\nab\r",            false, ALL, {0},                7},
    {"no CR in the header",   "$2x\nab\r\n",           false, ALL, {0},                8},
    {"no LF in the header",   "$2\rxab\r\n",           false, ALL, {0},                8},
    {"no CR at the end",      "$2\r\nabx\n",           false, ALL, {0},                8},
    {"no LF at the end",      "$2\r\nab\rx",           false, ALL, {0},                8},
};
/* clang-format on */

typedef struct seen {
    char strings[STRINGS_MAX][32];
    size_t count;
} seen_t;

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    seen_t *seen = data;

    assert_int_equal(leaf->type, SHOAL_REPLY_STRING);
    assert_in_range(seen->count, 0, STRINGS_MAX - 1);
    assert_int_equal(leaf->as.text.data[leaf->as.text.bytes], '\0');
    assert_int_equal(strlen(leaf->as.text.data), leaf->as.text.bytes);
    strcpy(seen->strings[seen->count++], leaf->as.text.data);
}

/* In memory that ends behind the NUL, for AddressSanitizer. */
static void check(const struct run_case *c)
{
    static const shoal_sink_t sink = {.on_leaf = on_leaf};
    seen_t seen = {0};
    size_t bytes = strlen(c->arrived), wanted = 0;
    char *arrived = malloc(bytes + 1);

    assert_non_null(arrived);
    memcpy(arrived, c->arrived, bytes + 1);
    shoal__string_run_t run = {.sink = &sink,
                               .sink_data = &seen,
                               .at = arrived,
                               .end = arrived + bytes,
                               .has_type = c->has_type};
    size_t count = shoal__string_run_give(&run, c->count_max);

    while (wanted < STRINGS_MAX && c->strings[wanted])
        wanted++;
    if (count != wanted || seen.count != wanted)
        fail_msg("%s: %zu strings, %zu told", c->name, seen.count, count);
    for (size_t i = 0; i < wanted; i++)
        assert_string_equal(seen.strings[i], c->strings[i]);
    if ((size_t)(run.end - run.at) != c->left)
        fail_msg("%s: %zu bytes left", c->name, (size_t)(run.end - run.at));
    assert_memory_equal(run.at, c->arrived + bytes - c->left, c->left);
    assert_int_equal(run.has_type, c->has_type && wanted == 0);
    free(arrived);
}

static void test_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof run_cases / sizeof *run_cases; i++)
        check(&run_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
