/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include <stdio.h>

#define TEXTS 65536
#define PLACES 4096

static shoal__bytes_t bytes(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

static void test_depends_on_text_and_seed(void **state)
{
    (void)state;
    assert_true(shoal__hash(bytes("a"), 0) == shoal__hash(bytes("a"), 0));
    assert_true(shoal__hash(bytes("a"), 0) != shoal__hash(bytes("b"), 0));
    assert_true(shoal__hash(bytes("a"), 0) != shoal__hash(bytes("a"), 1));
    assert_true(shoal__hash(bytes("ab"), 0) != shoal__hash(bytes("ba"), 0));
    (void)shoal__hash((shoal__bytes_t){NULL, 0}, 0);
}

/* Of 16 texts for each place, no place gets more than a few times as many. */
static void test_spreads(void **state)
{
    static unsigned low[PLACES], high[PLACES];
    char text[24];

    (void)state;
    for (unsigned i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "key:%u", i);
        uint64_t hash = shoal__hash(bytes(text), 0);
        low[hash % PLACES]++;
        high[(hash >> 32) % PLACES]++;
    }
    for (unsigned i = 0; i < PLACES; i++)
        assert_true(low[i] < 48 && high[i] < 48);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depends_on_text_and_seed),
        cmocka_unit_test(test_spreads),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
