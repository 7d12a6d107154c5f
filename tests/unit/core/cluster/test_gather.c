/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/cluster/gather.h"
#include "unit/core/wire.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX 3

/* What a part gave: a reply as its bytes; or no reply, and why. */
static const char never_sent[] = "never sent", maybe[] = "maybe", lost[] = "lost";

static shoal_result_t failure(const char *given)
{
    shoal_result_t result = {
        .status = SHOAL_ECONN, .fate = SHOAL_FATE_UNKNOWN, .detail = "why"};

    if (given == never_sent) {
        result.status = SHOAL_ETIMEOUT;
        result.fate = SHOAL_FATE_NOT_EXECUTED;
    } else if (given == lost) {
        result.status = SHOAL_ENOMEM;
        result.fate = SHOAL_FATE_REPLY_LOST;
    }
    return result;
}

static bool is_failure(const char *given)
{
    return given == never_sent || given == maybe || given == lost;
}

/* A reply as text: numbers, 'texts', (errors), - for nil, [arrays], {maps}. */
static char *print(char *at, const shoal_reply_t *reply)
{
    shoal_reply_type_t type = shoal_reply_type(reply);
    bool is_map = type == SHOAL_REPLY_MAP;

    if (type == SHOAL_REPLY_NIL)
        return at + sprintf(at, "-");
    if (type == SHOAL_REPLY_INTEGER)
        return at + sprintf(at, "%lld", (long long)shoal_reply_integer(reply));
    if (type == SHOAL_REPLY_ERROR)
        return at + sprintf(at, "(%s)", shoal_reply_string(reply, NULL));
    if (!is_map && type != SHOAL_REPLY_ARRAY && type != SHOAL_REPLY_SET)
        return at + sprintf(at, "'%s'", shoal_reply_string(reply, NULL));
    *at++ = is_map ? '{' : '[';
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        if (i > 0)
            *at++ = ' ';
        at = print(at, shoal_reply_at(reply, i));
    }
    *at++ = is_map ? '}' : ']';
    *at = '\0';
    return at;
}

typedef struct taking {
    shoal__gather_t *gather;
    size_t part;
} taking_t;

static void take_reply(const shoal_reply_t *reply, void *data)
{
    taking_t *taking = data;
    const shoal_result_t result = {
        .reply = reply, .detail = "", .is_settled = true, .attempts = 1};

    (void)shoal__gather_take(taking->gather, taking->part, &result);
}

static void take(shoal__gather_t *gather, size_t part, const char *given)
{
    taking_t taking = {gather, part};
    const shoal_result_t result = failure(given);

    if (is_failure(given))
        (void)shoal__gather_take(gather, part, &result);
    else
        wire_read(given, take_reply, &taking);
}

static const struct gather_row {
    shoal__gather_policy_t policy;
    const char *given[PARTS_MAX];
    int status;
    shoal_fate_t fate;
    const char *text; /* the reply; or the detail */
} rows[] = {
    {SHOAL__GATHER_ALL, {"+OK\r\n", "+OK\r\n"}, 0, 0, "'OK'"},
    {SHOAL__GATHER_ALL, {"$-1\r\n"}, 0, 0, "-"},
    {SHOAL__GATHER_ALL, {"+OK\r\n", "-ERR no\r\n", "-ERR 2\r\n"}, 0, 0, "(ERR no)"},
    {SHOAL__GATHER_ONE, {"-NOTBUSY a\r\n", "+OK\r\n"}, 0, 0, "'OK'"},
    {SHOAL__GATHER_ONE, {"-NOTBUSY a\r\n", "-NOTBUSY b\r\n"}, 0, 0, "(NOTBUSY a)"},
    {SHOAL__GATHER_ONE, {maybe, "+OK\r\n"}, 0, 0, "'OK'"},
    {SHOAL__GATHER_ONE,
     {maybe, "-NOTBUSY b\r\n"},
     SHOAL_ECONN,
     SHOAL_FATE_UNKNOWN,
     "n0: why; 1 of 2 parts failed"},
    {SHOAL__GATHER_SUM, {":1\r\n", ":2\r\n", ":39\r\n"}, 0, 0, "42"},
    {SHOAL__GATHER_SUM,
     {"*4\r\n+a\r\n:1\r\n+b\r\n:0\r\n", "*4\r\n+a\r\n:2\r\n+b\r\n:3\r\n"},
     0,
     0,
     "['a' 3 'b' 3]"},
    {SHOAL__GATHER_SUM, {"%1\r\n+a\r\n:1\r\n", "%1\r\n+a\r\n:2\r\n"}, 0, 0, "{'a' 3}"},
    {SHOAL__GATHER_SUM,
     {":9223372036854775807\r\n", ":1\r\n"},
     0,
     0,
     "-9223372036854775808"},
    /* They do not fit together. */
    {SHOAL__GATHER_SUM, {":1\r\n", "+OK\r\n"}, 0, 0, "{'n0' 1 'n1' 'OK'}"},
    {SHOAL__GATHER_SUM,
     {"*1\r\n:1\r\n", "*2\r\n:1\r\n:2\r\n"},
     0,
     0,
     "{'n0' [1] 'n1' [1 2]}"},
    {SHOAL__GATHER_SUM,
     {"*1\r\n:1\r\n", "*1\r\n+x\r\n"},
     0,
     0,
     "{'n0' [1] 'n1' ['x']}"},
    {SHOAL__GATHER_MIN, {":3\r\n", ":1\r\n", ":2\r\n"}, 0, 0, "1"},
    {SHOAL__GATHER_MIN, {"*2\r\n:1\r\n:0\r\n", "*2\r\n:1\r\n:1\r\n"}, 0, 0, "[1 0]"},
    {SHOAL__GATHER_JOIN,
     {"*1\r\n+a\r\n", "*0\r\n", "*2\r\n+b\r\n+c\r\n"},
     0,
     0,
     "['a' 'b' 'c']"},
    {SHOAL__GATHER_JOIN, {"*0\r\n", "*0\r\n"}, 0, 0, "[]"},
    {SHOAL__GATHER_JOIN, {"~1\r\n+a\r\n", "~1\r\n*1\r\n+b\r\n"}, 0, 0, "['a' ['b']]"},
    {SHOAL__GATHER_JOIN, {"*0\r\n", ":1\r\n"}, 0, 0, "{'n0' [] 'n1' 1}"},
    /* The places are those of `places`. */
    {SHOAL__GATHER_PLACE,
     {"*2\r\n$1\r\na\r\n$-1\r\n", "*1\r\n$1\r\nb\r\n"},
     0,
     0,
     "['b' 'a' -]"},
    {SHOAL__GATHER_PLACE,
     {"*1\r\n+a\r\n", "*1\r\n+b\r\n"},
     0,
     0,
     "{'n0' ['a'] 'n1' ['b']}"},
    {SHOAL__GATHER_PLACE, {"+a\r\n", ":1\r\n"}, 0, 0, "{'n0' 'a' 'n1' 1}"},
    {SHOAL__GATHER_BY_NODE,
     {"+a\r\n", "*1\r\n:1\r\n", "_\r\n"},
     0,
     0,
     "{'n0' 'a' 'n1' [1] 'n2' -}"},
    {SHOAL__GATHER_BY_NODE, {"+a\r\n", "-ERR no\r\n"}, 0, 0, "(ERR no)"},
    /* A part has no reply. */
    {SHOAL__GATHER_ALL,
     {never_sent, never_sent},
     SHOAL_ETIMEOUT,
     SHOAL_FATE_NOT_EXECUTED,
     "n0: why; 2 of 2 parts failed"},
    {SHOAL__GATHER_ALL,
     {"+OK\r\n", never_sent},
     SHOAL_ETIMEOUT,
     SHOAL_FATE_UNKNOWN,
     "n1: why; 1 of 2 parts failed"},
    {SHOAL__GATHER_SUM,
     {never_sent, "-ERR no\r\n", maybe},
     SHOAL_ECONN,
     SHOAL_FATE_UNKNOWN,
     "n2: why; 2 of 3 parts failed"},
    {SHOAL__GATHER_JOIN,
     {maybe, lost},
     SHOAL_ECONN,
     SHOAL_FATE_UNKNOWN,
     "n0: why; 2 of 2 parts failed"},
    {SHOAL__GATHER_BY_NODE,
     {never_sent},
     SHOAL_ETIMEOUT,
     SHOAL_FATE_NOT_EXECUTED,
     "n0: why"},
};

static const shoal__gather_place_t places[] = {{1, 0}, {0, 0}, {0, 1}};

static shoal__gather_t *gather_row(const struct gather_row *row)
{
    static const char *const nodes[] = {"n0", "n1", "n2"};
    size_t count = 0;
    shoal__gather_t *gather;

    while (count < PARTS_MAX && row->given[count])
        count++;
    gather = shoal__gather_new(row->policy, count);
    assert_non_null(gather);
    gather->places = places;
    gather->places_count = sizeof places / sizeof *places;
    for (size_t i = 0; i < count; i++)
        gather->parts->items[i].node = nodes[i];
    for (size_t i = count; i-- > 0;) { /* in any order */
        assert_int_equal(gather->left, i + 1);
        take(gather, i, row->given[i]);
    }
    return gather;
}

static void test_table(void **state)
{
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gather_row *row = &rows[i];
        shoal__gather_t *gather = gather_row(row);
        shoal_result_t result;
        shoal__gather_result(gather, &result);
        if (result.status == 0)
            print(text, result.reply);
        else
            strcpy(text, result.detail);
        if (result.status != row->status || result.fate != row->fate ||
            strcmp(text, row->text) != 0)
            fail_msg("row %zu: %d %d %s", i, result.status, (int)result.fate, text);
        assert_true(result.status == 0 || !result.reply);
        assert_ptr_equal(result.parts, gather->parts);
        for (size_t k = 0; k < result.parts->count; k++)
            assert_int_equal(result.parts->items[k].status,
                             is_failure(row->given[k]) ? failure(row->given[k]).status
                                                       : 0);
        shoal__arena_release(gather->arena);
    }
}

/* The result, kept, is what it was when the parts are forgotten. */
static void test_reply_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__gather_t *gather = gather_row(&rows[i]);
        const shoal_reply_t *kept = NULL;
        char text[256];
        shoal_result_t result;
        shoal__gather_result(gather, &result);
        if (result.reply)
            kept = shoal_reply_retain(result.reply);
        shoal__arena_release(gather->arena);
        if (!kept)
            continue;
        print(text, kept);
        assert_string_equal(text, rows[i].text);
        shoal_reply_release(kept);
    }
}

static void test_what_parts_went_through(void **state)
{
    shoal__gather_t *gather = shoal__gather_new(SHOAL__GATHER_SUM, 2);
    const shoal_reply_t one = {.type = SHOAL_REPLY_INTEGER, .as.integer = 1};
    shoal_result_t given = {.reply = &one,
                            .detail = "",
                            .attempts = 3,
                            .redirects = 2,
                            .was_reordered = true,
                            .is_settled = true,
                            .node = "asked"};
    shoal_result_t result;

    (void)state;
    gather->parts->items[0].node = "planned";
    gather->parts->items[1].node = "planned";
    gather->parts->items[1].slot_1 = 7;
    assert_false(shoal__gather_take(gather, 0, &given));
    given.attempts = given.redirects = 1;
    given.was_reordered = false;
    given.is_settled = false;
    given.node = NULL;
    assert_true(shoal__gather_take(gather, 1, &given));
    shoal__gather_result(gather, &result);
    assert_int_equal(result.attempts, 3);
    assert_int_equal(result.redirects, 2);
    assert_true(result.was_reordered);
    assert_false(result.is_settled);
    assert_string_equal(result.parts->items[0].node, "asked");
    assert_string_equal(result.parts->items[1].node, "planned");
    assert_int_equal(result.parts->items[1].slot_1, 7);
    shoal__arena_release(gather->arena);
}

/* No memory for what is made of the parts. */
static void test_without_memory(void **state)
{
    enum { PARTS = 2000 };
    const shoal_reply_t nil = {.type = SHOAL_REPLY_NIL};
    const shoal_result_t given = {.reply = &nil, .detail = ""};
    shoal__gather_t *gather;
    shoal_result_t result;

    (void)state;
    for (size_t after = 0; after < 2; after++) {
        shoal__test_fail_alloc_after(after);
        assert_null(shoal__gather_new(SHOAL__GATHER_BY_NODE, PARTS));
        shoal__test_fail_alloc_never();
    }
    gather = shoal__gather_new(SHOAL__GATHER_BY_NODE, PARTS);
    for (size_t i = 0; i < PARTS; i++)
        (void)shoal__gather_take(gather, i, &given);
    shoal__test_fail_alloc_after(0);
    shoal__gather_result(gather, &result);
    shoal__test_fail_alloc_never();
    assert_int_equal(result.status, SHOAL_ENOMEM);
    assert_int_equal(result.fate, SHOAL_FATE_REPLY_LOST);
    assert_null(result.reply);
    shoal__arena_release(gather->arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table),
                                       cmocka_unit_test(test_reply_is_kept),
                                       cmocka_unit_test(test_what_parts_went_through),
                                       cmocka_unit_test(test_without_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
