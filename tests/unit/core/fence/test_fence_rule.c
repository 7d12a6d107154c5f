/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/fence/fence_rule.h"

#define SHAPES SHOAL_INTEGRITY_SHAPES
#define DETECT SHOAL_INTEGRITY_DETECT
#define STRICT SHOAL_INTEGRITY_STRICT
#define NONE SHOAL__FENCE_NONE
#define BEFORE SHOAL__FENCE_BEFORE
#define BEHIND SHOAL__FENCE_BEHIND

/* clang-format off */
static const struct rule_case {
    shoal_integrity_t integrity;
    bool is_allowed, has_doubt, is_awaited;
    uint64_t since_us;
    shoal__fence_place_t place;
} rule_cases[] = {
    /*        allowed doubt  awaited since   place */
    {SHAPES,  true,   true,  false,  1000000, NONE},
    {DETECT,  true,   false, false,       0, NONE},
    {DETECT,  true,   false, false,   99999, NONE},
    {DETECT,  true,   false, false,  100000, BEFORE},
    {DETECT,  true,   true,  false,       0, BEFORE},
    {DETECT,  true,   true,  true,        0, NONE},
    {DETECT,  true,   false, true,  1000000, NONE},
    {DETECT,  false,  true,  false, 1000000, NONE},
    {STRICT,  true,   false, false,       0, BEHIND},
    {STRICT,  true,   false, true,        0, BEHIND},
    {STRICT,  true,   true,  true,   100000, BEHIND},
    {STRICT,  false,  true,  true,   100000, NONE},
};

static const struct error_case {
    const char *text;
    bool is_unclear, is_forbidden;
} error_cases[] = {
    {"BUSY Redis is busy running a script", true,  false},
    {"LOADING Redis is loading",            true,  false},
    {"MASTERDOWN Link with MASTER is down", true,  false},
    {"NOAUTH Authentication required.",     true,  false},
    {"NOPERM this user has no permissions", true,  true},
    {"BUSY",                                true,  false},
    {"BUSYKEY Target key name exists",      false, false},
    {"BUSYGROUP Consumer Group",            false, false},
    {"NOPERMX",                             false, false},
    {"busy",                                false, false},
    {"ERR unknown command 'ECHO'",          false, false},
    {"WRONGTYPE Operation",                 false, false},
    {"",                                    false, false},
};

static const struct room_case {
    shoal_integrity_t integrity;
    uint64_t queued, inflight_max, room_min;
} room_cases[] = {
    {SHAPES, 1000, 16384, 1},
    {DETECT, 1000, 16384, 1},
    {STRICT, 1000, 16384, 1000}, /* room for all of them */
    {STRICT, 9999, 16384, 4096}, /* or for a quarter of what may be in flight */
    {STRICT, 1,    16384, 1},
    {STRICT, 1000, 4,     1},
    {STRICT, 1000, 3,     1}, /* a quarter of 3 is 0, but room for 1 is needed */
    {STRICT, 1000, 1,     1},
};

#define NEVER SHOAL__NEVER_US

static const struct plight_case {
    shoal__fence_plight_t plight;
    uint64_t again_us, end_us;
} plight_cases[] = {
    /* fences awaited unclear since   put  stall      again   end */
    {{0,      false,  0,      0,     100, 5000},     NEVER,  NEVER},
    {{0,      false,  3,      50,    100, 5000},     NEVER,  NEVER}, /* no fence is awaited */
    {{1,      true,   1,      50,    100, 5000},     NEVER,  5050},
    {{1,      false,  1,      50,    100, 5000},     10100,  5050},
    {{2,      false,  2,      50,    100, 5000},     20100,  5050},
    {{3,      false,  3,      50,    100, 5000},     40100,  5050},
    {{7,      false,  7,      50,    100, 5000},     640100, 5050},
    {{8,      false,  8,      50,    100, 5000},     640100, 5050}, /* not doubled */
    {{9,      false,  99,     50,    100, 5000},     640100, 5050},
    {{1,      false,  1,      50,    100, NEVER},    10100,  NEVER},
};
/* clang-format on */

static void test_whether_and_where_a_fence_is_put(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
        const struct rule_case *c = &rule_cases[i];
        const shoal__fence_input_t input = {c->integrity, c->is_allowed, c->has_doubt,
                                            c->is_awaited, c->since_us};
        if (shoal__fence_rule(&input) != c->place)
            fail_msg("row %zu: place %u", i, shoal__fence_rule(&input));
    }
}

static void test_errors_that_prove_nothing_and_that_forbid_fences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof error_cases / sizeof *error_cases; i++) {
        const struct error_case *c = &error_cases[i];
        shoal__bytes_t text = {c->text, strlen(c->text)};
        if (shoal__fence_is_unclear(text) != c->is_unclear ||
            shoal__fence_is_forbidden(text) != c->is_forbidden)
            fail_msg("'%s'", c->text);
    }
}

static void test_room_for_a_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof room_cases / sizeof *room_cases; i++) {
        const struct room_case *c = &room_cases[i];
        assert_int_equal(
            shoal__fence_room_min(c->integrity, c->queued, c->inflight_max),
            c->room_min);
    }
}

static void test_when_to_ask_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plight_cases / sizeof *plight_cases; i++) {
        const struct plight_case *c = &plight_cases[i];
        if (shoal__fence_again_us(&c->plight) != c->again_us ||
            shoal__fence_end_us(&c->plight) != c->end_us)
            fail_msg("row %zu: again at %llu, end at %llu", i,
                     (unsigned long long)shoal__fence_again_us(&c->plight),
                     (unsigned long long)shoal__fence_end_us(&c->plight));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whether_and_where_a_fence_is_put),
        cmocka_unit_test(test_errors_that_prove_nothing_and_that_forbid_fences),
        cmocka_unit_test(test_room_for_a_batch),
        cmocka_unit_test(test_when_to_ask_again),
    };
    return cmocka_run_group_tests_name("core/fence/fence_rule", tests, NULL, NULL);
}
