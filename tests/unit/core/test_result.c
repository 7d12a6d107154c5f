/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/result.h"
#include <shoal/errors.h>
#include <string.h>

static shoal_reply_t text_reply(const char *text)
{
    return (shoal_reply_t){.type = SHOAL_REPLY_STRING,
                           .as.text = {.data = text, .bytes = strlen(text)}};
}

/* Everything of a result is in the copy, and nothing of it is shared. */
static void test_copy(void **state)
{
    char node[] = "a:1", detail[] = "why", said[] = "said";
    shoal__arena_t *theirs = shoal__arena_new(), *mine = shoal__arena_new();
    shoal__result_parts_t *parts = shoal__result_parts_new(theirs, 2);
    const shoal_reply_t reply = text_reply(said);
    const shoal_result_t from = {.status = SHOAL_ECONN,
                                 .fate = SHOAL_FATE_UNKNOWN,
                                 .detail = detail,
                                 .node = node,
                                 .slot_1 = 8,
                                 .ticket = 5,
                                 .parts = parts};
    shoal_result_t to;

    (void)state;
    assert_int_equal(parts->count, 2);
    parts->items[0] = (shoal_result_t){.detail = "", .reply = &reply, .node = node};
    parts->items[1] = (shoal_result_t){.status = SHOAL_ETIMEOUT, .detail = detail};
    shoal__result_copy(&to, &from, mine);
    node[0] = detail[0] = said[0] = '?';
    shoal__arena_release(theirs);

    assert_int_equal(to.status, SHOAL_ECONN);
    assert_int_equal(to.fate, SHOAL_FATE_UNKNOWN);
    assert_string_equal(to.detail, "why");
    assert_string_equal(to.node, "a:1");
    assert_int_equal(to.slot_1, 8);
    assert_int_equal(to.ticket, 5);
    assert_int_equal(to.parts->count, 2);
    assert_string_equal(to.parts->items[0].node, "a:1");
    assert_string_equal(to.parts->items[0].reply->as.text.data, "said");
    assert_string_equal(to.parts->items[1].detail, "why");
    assert_null(to.parts->items[1].node);
    assert_int_equal(to.parts->items[1].status, SHOAL_ETIMEOUT);
    shoal__arena_release(mine);
}

/* Without memory the result says so, and has no half of anything. */
static void test_without_memory(void **state)
{
    char *long_text = shoal__malloc(5000);
    shoal__arena_t *theirs = shoal__arena_new();
    shoal__result_parts_t *parts = shoal__result_parts_new(theirs, 100);
    const shoal_result_t without_reply = {.detail = long_text, .parts = parts};
    shoal_reply_t reply;
    shoal_result_t to, from = {.detail = ""};

    (void)state;
    memset(long_text, 'x', 4999);
    long_text[4999] = '\0';
    for (size_t i = 0; i < parts->count; i++)
        parts->items[i].detail = long_text;
    for (size_t after = 0; after < 3; after++) {
        shoal__arena_t *mine = shoal__arena_new();
        shoal__test_fail_alloc_after(after);
        shoal__result_copy(&to, &without_reply, mine);
        shoal__test_fail_alloc_never();
        assert_int_equal(to.status, 0);
        assert_true(after > 0 ? strlen(to.detail) == 4999
                              : strcmp(to.detail, "no memory for the reason") == 0);
        assert_true(to.parts == NULL || to.parts->count == 100);
        assert_true(after > 0 || to.parts == NULL);
        shoal__arena_release(mine);
    }

    reply = text_reply(long_text);
    from.reply = &reply;
    shoal__arena_t *mine = shoal__arena_new();
    shoal__test_fail_alloc_after(0);
    shoal__result_copy(&to, &from, mine);
    shoal__test_fail_alloc_never();
    assert_int_equal(to.status, SHOAL_ENOMEM);
    assert_int_equal(to.fate, SHOAL_FATE_REPLY_LOST);
    assert_null(to.reply);
    shoal__arena_release(mine);
    shoal__arena_release(theirs);
    shoal__free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy),
                                       cmocka_unit_test(test_without_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
