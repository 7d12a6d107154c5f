/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resp/command_info.h"
#include "resp/reply_shape.h"

#define TYPES 13
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char letters[TYPES + 1] = "-+eisadbmtpnv";

/* clang-format off */
/* Types that a command may answer, besides an error, one letter each; all others are
 * denied.  A type that is missing here and in the table costs users a connection. */
static const struct shape_case {
    const char *name;
    const char *types; /* "-" nil, "+" status, i s a d b m t(set) n(bignum) v */
} cases[] = {
    {"GET", "s-"}, {"GETSET", "s-"}, {"GETDEL", "s-"}, {"GETEX", "s-"},
    {"GETRANGE", "s"}, {"SET", "+-s"}, {"SETEX", "+"}, {"SETNX", "i"}, {"MSET", "+"},
    {"MSETNX", "i"}, {"MGET", "a"}, {"INCR", "i"}, {"INCRBYFLOAT", "s"}, {"LCS", "siam"},
    {"DEL", "i"}, {"EXISTS", "i"}, {"EXPIRE", "i"}, {"TTL", "i"}, {"COPY", "i"},
    {"TYPE", "+"}, {"RENAME", "+"}, {"RENAMENX", "i"}, {"DUMP", "s-"}, {"RESTORE", "+"},
    {"RANDOMKEY", "s-"}, {"SCAN", "a"}, {"SORT", "ai"}, {"SORT_RO", "a"},
    {"OBJECT", "si-a"}, {"WAIT", "i"}, {"WAITAOF", "a"}, {"BITFIELD", "a"},
    {"HGET", "s-"}, {"HGETALL", "am"}, {"HKEYS", "am"}, {"HMGET", "a"}, {"HSET", "i"},
    {"HMSET", "+"}, {"HRANDFIELD", "s-a"}, {"HSCAN", "a"}, {"HEXPIRE", "a-"},
    {"LPOP", "s-a"}, {"RPOP", "s-a"}, {"BLPOP", "a-"}, {"LMOVE", "s-"}, {"LMPOP", "a-"},
    {"BLMOVE", "s-"}, {"LPOS", "i-a"}, {"LINSERT", "i"}, {"LRANGE", "a"}, {"LSET", "+"},
    {"SMEMBERS", "at"}, {"SINTER", "at"}, {"SINTERCARD", "i"}, {"SISMEMBER", "i"},
    {"SPOP", "s-at"}, {"SRANDMEMBER", "s-at"}, {"SMISMEMBER", "a"},
    {"ZADD", "ids-"}, {"ZINCRBY", "ds"}, {"ZSCORE", "ds-"}, {"ZRANK", "i-a"},
    {"ZRANGE", "a"}, {"ZPOPMIN", "a"}, {"ZRANDMEMBER", "s-a"}, {"ZMPOP", "a-"},
    {"GEOADD", "i"}, {"GEODIST", "s-"}, {"GEORADIUS", "ai"}, {"GEOSEARCH", "a"},
    {"XADD", "s-"}, {"XRANGE", "a-"}, {"XREAD", "am-"}, {"XREADGROUP", "am-"},
    {"XINFO", "am"}, {"XGROUP", "+ia"}, {"XSETID", "+"}, {"XLEN", "i"},
    {"PING", "+s"}, {"ECHO", "s"}, {"INFO", "sv"}, {"LOLWUT", "sv"}, {"TIME", "a"},
    {"ROLE", "a"}, {"CONFIG", "+am"}, {"COMMAND", "aim"}, {"SLOWLOG", "+ia"},
    {"LATENCY", "siamv"}, {"SCRIPT", "+sa"}, {"FUNCTION", "+sam"}, {"PUBSUB", "ai"},
    {"HELLO", "am"}, {"MULTI", "+"}, {"EXEC", "a-"}, {"DISCARD", "+"},
};
/* clang-format on */

static shoal__reply_shape_t shape_of(const char *name)
{
    const shoal__command_info_t *info =
        shoal__command_info_find((shoal__bytes_t){name, strlen(name)});

    assert_non_null(info);
    return info->shape;
}

static void test_a_command_allows_its_types_and_no_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        shoal__reply_shape_t shape = shape_of(cases[i].name);

        for (unsigned type = 0; type < TYPES; type++) {
            bool is_expected = type == SHOAL_REPLY_ERROR ||
                               strchr(cases[i].types, letters[type]) != NULL;
            if (shoal__reply_shape_allows(shape, (shoal_reply_type_t)type) !=
                is_expected)
                fail_msg("%s: type %u is %s", cases[i].name, type,
                         is_expected ? "denied" : "allowed");
        }
    }
}

static void check(shoal__reply_shape_t shape, unsigned types)
{
    for (unsigned type = 0; type < TYPES; type++)
        assert_int_equal(shoal__reply_shape_allows(shape, (shoal_reply_type_t)type),
                         types >> type & 1);
}

static void test_named_shapes(void **state)
{
    (void)state;
    check(SHOAL__SHAPE_ANY, UINT_MAX);
    check(SHOAL__SHAPE_QUEUED, 1u << SHOAL_REPLY_ERROR | 1u << SHOAL_REPLY_STATUS);
    check(SHOAL__SHAPE_EXEC,
          1u << SHOAL_REPLY_ERROR | 1u << SHOAL_REPLY_ARRAY | 1u << SHOAL_REPLY_NIL);
    assert_int_equal(shape_of("MULTI"), SHOAL__SHAPE_QUEUED);
    assert_int_equal(shape_of("EXEC"), SHOAL__SHAPE_EXEC);
    assert_int_equal(shape_of("DISCARD"), SHOAL__SHAPE_QUEUED);
}

/* A push is never the reply to a command whose shape is known. */
static void test_no_shape_allows_a_push(void **state)
{
    (void)state;
    for (unsigned shape = SHOAL__SHAPE_ANY + 1; shape < SHOAL__SHAPE_LIMIT; shape++)
        assert_false(
            shoal__reply_shape_allows((shoal__reply_shape_t)shape, SHOAL_REPLY_PUSH));
}

static void test_an_index_that_is_no_shape_allows_nothing(void **state)
{
    (void)state;
    check(SHOAL__SHAPE_LIMIT - 1, 0);
}

/* No two shapes are the same: an index is as good as the set of types. */
static void test_every_shape_is_there_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHOAL__SHAPE_LIMIT && shoal__reply_shape_masks[i]; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(shoal__reply_shape_masks[i],
                                 shoal__reply_shape_masks[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_command_allows_its_types_and_no_others),
        cmocka_unit_test(test_named_shapes),
        cmocka_unit_test(test_no_shape_allows_a_push),
        cmocka_unit_test(test_an_index_that_is_no_shape_allows_nothing),
        cmocka_unit_test(test_every_shape_is_there_once),
    };
    return cmocka_run_group_tests_name("resp/reply_shape", tests, NULL, NULL);
}
