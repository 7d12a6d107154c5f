/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sized.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct things {
    size_t size;
    uint64_t first, second;
} things_t;

/* The same structure in a later version.  `behind` is no part of it: memory after its
 * size. */
typedef struct other_things {
    things_t known;
    uint64_t third, behind;
} other_things_t;

#define MIN SHOAL__SIZED_TO(things_t, first)
#define NOW sizeof(things_t)
#define NEWER offsetof(other_things_t, behind)

static void test_which_sizes_are_set(void **state)
{
    static const struct {
        size_t bytes;
        bool is_set;
    } cases[] = {
        {0, false},
        {1, false},
        {sizeof(size_t), false},
        {MIN - 1, false},
        {MIN, true},
        {NOW - 1, true},
        {NOW, true},
        {NOW + 1, true},
        {NEWER, true},
        {8 * NOW, true},
        {8 * (NOW + 1), false},
        {SIZE_MAX, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (shoal__sized_is_set(cases[i].bytes, MIN, NOW) != cases[i].is_set)
            fail_msg("%zu bytes", cases[i].bytes);
}

static void test_a_structure_is_read(void **state)
{
    static const struct {
        const char *name;
        size_t size;
        uint64_t third, second_read;
        bool is_read;
    } cases[] = {
        {"an older caller's", MIN, 5, 0, true},
        {"today's", NOW, 5, 2, true},
        {"a newer caller's, unused", NEWER, 0, 2, true},
        {"a newer caller's, in use", NEWER, 5, 2, false},
        {"in use in the first byte", NEWER, UINT64_C(1), 2, false},
        {"in use in the last byte", NEWER, UINT64_C(1) << 63, 2, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        other_things_t theirs = {{cases[i].size, 1, 2}, cases[i].third, 7};
        things_t known;

        memset(&known, 0x5a, sizeof known);
        if (shoal__sized_read(&theirs, &known, sizeof known) != cases[i].is_read ||
            known.size != sizeof known || known.first != 1 ||
            known.second != cases[i].second_read)
            fail_msg("%s", cases[i].name);
    }
}

static void test_a_structure_is_written(void **state)
{
    static const struct {
        const char *name;
        size_t size;
        uint64_t second, third;
    } cases[] = {
        {"an older caller's", MIN, 9, 9},
        {"today's", NOW, 2, 9},
        {"a newer caller's", NEWER, 2, 0},
    };
    static const things_t known = {sizeof known, 1, 2};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        other_things_t theirs = {{cases[i].size, 9, 9}, 9, 9};

        shoal__sized_write(&theirs, &known, sizeof known);
        if (theirs.known.size != cases[i].size || theirs.known.first != 1 ||
            theirs.known.second != cases[i].second || theirs.third != cases[i].third ||
            theirs.behind != 9)
            fail_msg("%s", cases[i].name);
    }
}

static void test_all_but_the_size_is_cleared(void **state)
{
    other_things_t theirs = {{NEWER, 9, 9}, 9, 9};

    (void)state;
    shoal__sized_clear(&theirs);
    assert_int_equal(theirs.known.size, NEWER);
    assert_int_equal(theirs.known.first, 0);
    assert_int_equal(theirs.third, 0);
    assert_int_equal(theirs.behind, 9);
    theirs = (other_things_t){{MIN, 9, 9}, 9, 9};
    shoal__sized_clear(&theirs);
    assert_int_equal(theirs.known.size, MIN);
    assert_int_equal(theirs.known.first, 0);
    assert_int_equal(theirs.known.second, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_sizes_are_set),
        cmocka_unit_test(test_a_structure_is_read),
        cmocka_unit_test(test_a_structure_is_written),
        cmocka_unit_test(test_all_but_the_size_is_cleared),
    };
    return cmocka_run_group_tests_name("base/sized", tests, NULL, NULL);
}
