/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/block_time.h"

#define WORDS_MAX 12
#define NEVER SHOAL_TIMEOUT_NEVER

static const shoal_command_t *parse(const char *text)
{
    static char copy[128];
    static const char *argv[WORDS_MAX];
    static shoal_command_t command;
    size_t argc = 0;

    assert_true(strlen(text) < sizeof copy);
    memcpy(copy, text, strlen(text) + 1);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    command = (shoal_command_t){argc, argv, NULL};
    return &command;
}

/* clang-format off */
static const struct time_case {
    const char *command;
    uint64_t time_us;
} cases[] = {
    {"BLPOP k 1", 3000000}, {"blpop a b c 0.5", 2500000}, {"BRPOP k 10", 12000000},
    {"BLMOVE a b LEFT RIGHT 2", 4000000}, {"BRPOPLPUSH a b 3", 5000000},
    {"BZPOPMIN z 1e1", 12000000}, {"BZPOPMAX z 1", 3000000},
    {"BLMPOP 4 1 k LEFT", 6000000}, {"bzmpop 0.25 2 a b MIN", 2250000},
    {"XREAD BLOCK 1500 STREAMS s $", 3500000},
    {"XREAD COUNT 3 BLOCK 1 STREAMS s $", 2001000},
    {"XREADGROUP GROUP BLOCK BLOCK BLOCK 7 STREAMS s >", 2007000},
    {"WAIT 1 500", 2500000}, {"waitaof 1 0 1500", 3500000},
    {"BLPOP k 00000000000000000000000000000000000001", 3000000},
    {"BLPOP k +1.", 3000000}, {"BLPOP k .25", 2250000}, {"BLPOP k 1500e-3", 3500000},
    {"BLPOP k 0.15E+1", 3500000}, {"BLPOP k 1e-9", 2000000},
    /* for ever, or not to be read */
    {"BLPOP k 0", NEVER}, {"BLPOP k 0.0", NEVER}, {"BLMPOP 0 1 k LEFT", NEVER},
    {"XREAD BLOCK 0 STREAMS s $", NEVER}, {"BLPOP k -1", NEVER}, {"BLPOP k soon", NEVER},
    {"BLPOP k 1x", NEVER}, {"BLPOP k nan", NEVER}, {"BLPOP k inf", NEVER},
    {"BLPOP k 1e18", NEVER}, {"BLPOP k 1e99999", NEVER}, {"BLPOP k 0,5", NEVER},
    {"BLPOP k .", NEVER}, {"BLPOP k +", NEVER}, {"BLPOP k e1", NEVER}, {"BLPOP k 1e", NEVER},
    {"BLPOP k 1e+", NEVER}, {"BLPOP k 1e1.5", NEVER}, {"BLPOP k 0x10", NEVER},
    {"BLPOP k --1", NEVER}, {"BLPOP k 1.2.3", NEVER}, {"BLPOP k 0e5", NEVER},
    {"BLPOP k 1e-99999", NEVER}, {"BLPOP", NEVER}, {"BLMPOP", NEVER}, {"XREAD BLOCK", NEVER},
    {"XREAD STREAMS BLOCK 0", NEVER}, {"WAIT 1 0", NEVER},
};
/* clang-format on */

static void test_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t got_us = shoal__block_time_us(parse(cases[i].command));
        if (got_us != cases[i].time_us)
            fail_msg("%s: %llu us", cases[i].command, (unsigned long long)got_us);
    }
}

static void test_lengths_count(void **state)
{
    const char *argv[] = {"BLPOP!", "k", "1999"};
    const shoal_command_t command = {3, argv, (const size_t[]){5, 1, 1}};
    const shoal_command_t empty = {3, argv, (const size_t[]){5, 1, 0}};

    (void)state;
    assert_int_equal(shoal__block_time_us(&command), 3000000);
    assert_int_equal(shoal__block_time_us(&empty), NEVER);
}

static void test_where_xread_says_block(void **state)
{
    (void)state;
    assert_int_equal(shoal__block_time_of_xread(parse("XREAD STREAMS s 0")), 0);
    assert_int_equal(shoal__block_time_of_xread(parse("XREAD BLOCK 5 STREAMS s 0")), 2);
    assert_int_equal(shoal__block_time_of_xread(parse("XREAD COUNT BLOCK STREAMS s")),
                     0);
    assert_int_equal(shoal__block_time_of_xread(parse("XREAD STREAMS BLOCK 5")), 0);
    assert_int_equal(shoal__block_time_of_xread(parse("XREAD")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_lengths_count),
        cmocka_unit_test(test_where_xread_says_block),
    };
    return cmocka_run_group_tests_name("core/block_time", tests, NULL, NULL);
}
