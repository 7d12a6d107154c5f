/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/push/item_log.h"
#include <shoal/errors.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK SHOAL__ITEM_BLOCK_BYTES

static int anna, berta;

static shoal_item_t message(const char *text, size_t bytes)
{
    return (shoal_item_t){.channel = {"news", 4}, .payload = {text, bytes}};
}

static void append(shoal__item_log_t *log, const char *text, void *owner)
{
    const shoal_item_t item = message(text, strlen(text));

    assert_int_equal(shoal__item_log_append(log, &item, owner), 0);
}

static void append_many(shoal__item_log_t *log, size_t bytes, unsigned count,
                        void *owner)
{
    char *text = calloc(1, bytes);
    const shoal_item_t item = message(text, bytes);

    while (count--)
        assert_int_equal(shoal__item_log_append(log, &item, owner), 0);
    free(text);
}

static void assert_front(shoal__item_log_t *log, const char *text)
{
    const shoal__logged_item_t *front = shoal__item_log_front(log);

    assert_non_null(front);
    assert_int_equal(front->item.payload.bytes, strlen(text));
    assert_memory_equal(front->item.payload.data, text, strlen(text));
}

static void test_messages_are_copied_and_leave_in_order(void **state)
{
    shoal__item_log_t log = {0};
    char text[] = "one";
    const shoal_item_t item = {
        .channel = {"c", 1}, .pattern = {"*", 1}, .payload = {text, 3}, .epoch = 7};

    (void)state;
    assert_null(shoal__item_log_front(&log));
    assert_int_equal(shoal__item_log_append(&log, &item, &anna), 0);
    append(&log, "two", &berta);
    text[0] = 'X';
    assert_int_equal(log.count, 2);
    assert_front(&log, "one");
    assert_string_equal(shoal__item_log_front(&log)->item.channel.data, "c");
    assert_string_equal(shoal__item_log_front(&log)->item.pattern.data, "*");
    assert_int_equal(shoal__item_log_front(&log)->item.epoch, 7);
    assert_int_equal(shoal__item_log_front(&log)->number, 1);
    assert_ptr_equal(shoal__item_log_front(&log)->owner, &anna);
    shoal__item_log_drop(&log);
    assert_front(&log, "two");
    assert_null(shoal__item_log_front(&log)->item.pattern.data);
    assert_int_equal(shoal__item_log_front(&log)->number, 2);
    shoal__item_log_drop(&log);
    assert_null(shoal__item_log_front(&log));
    assert_int_equal(log.count, 0);
    shoal__item_log_release(&log);
}

static void test_what_was_taken_stays_until_it_is_returned(void **state)
{
    shoal__item_log_t log = {0};
    const shoal_item_t *taken;

    (void)state;
    append(&log, "kept", &anna);
    taken = &shoal__item_log_front(&log)->item;
    shoal__item_log_take(&log);
    /* The block is filled beyond, left, and others come. */
    append_many(&log, 1000, 200, &anna);
    while (shoal__item_log_front(&log))
        shoal__item_log_drop(&log);
    append_many(&log, 1000, 200, &anna);
    assert_memory_equal(taken->payload.data, "kept", 4);
    assert_string_equal(taken->channel.data, "news");
    shoal__item_log_return(&log);
    assert_null(log.lent);
    shoal__item_log_release(&log);
}

static void test_a_drained_log_goes_on_with_its_block(void **state)
{
    shoal__item_log_t log = {0};
    size_t made;

    (void)state;
    append(&log, "first", &anna);
    made = (size_t)shoal__alloc_count();
    for (int i = 0; i < 10000; i++) {
        shoal__item_log_take(&log);
        assert_null(shoal__item_log_front(&log));
        append(&log, "next", &anna);
        shoal__item_log_return(&log);
        assert_front(&log, "next");
    }
    /* A second block is filled while the first one is lent; no more are made. */
    assert_in_range(shoal__alloc_count() - made, 0, 1);
    assert_int_equal(log.memory_bytes, BLOCK);
    shoal__item_log_release(&log);
}

static void test_memory_is_counted_in_blocks(void **state)
{
    shoal__item_log_t log = {0};
    char *large = calloc(1, 3 * BLOCK);
    const shoal_item_t small = message("s", 1), big = message(large, 3 * BLOCK);
    size_t bytes;

    (void)state;
    assert_int_equal(shoal__item_log_memory_with(&log, &small), BLOCK);
    append(&log, "s", &anna);
    assert_int_equal(shoal__item_log_memory_with(&log, &small), BLOCK);
    bytes = shoal__item_log_memory_with(&log, &big);
    assert_in_range(bytes, 4 * BLOCK, 4 * BLOCK + 1000);
    assert_int_equal(shoal__item_log_append(&log, &big, &anna), 0);
    assert_int_equal(log.memory_bytes, bytes);
    shoal__item_log_drop(&log);
    assert_non_null(shoal__item_log_front(&log));
    assert_int_equal(log.memory_bytes, bytes - BLOCK);
    /* A block of its own is not filled further. */
    shoal__item_log_drop(&log);
    assert_null(shoal__item_log_front(&log));
    assert_int_equal(log.memory_bytes, 0);
    shoal__item_log_release(&log);
    free(large);
}

static void test_withdrawn_messages_are_passed_and_empty_blocks_freed(void **state)
{
    shoal__item_log_t log = {0};

    (void)state;
    append(&log, "a", &anna);
    append_many(&log, 1000, 500, &berta);
    append(&log, "b", &anna);
    append_many(&log, 1000, 500, &berta);
    assert_in_range(log.memory_bytes, 17 * BLOCK, 20 * BLOCK);
    shoal__item_log_withdraw(&log, &berta);
    assert_int_equal(log.count, 2);
    assert_int_equal(log.memory_bytes, 2 * BLOCK);
    append(&log, "c", &berta);
    assert_front(&log, "a");
    shoal__item_log_take(&log);
    assert_front(&log, "b");
    shoal__item_log_take(&log);
    assert_front(&log, "c");
    shoal__item_log_withdraw(&log, &berta);
    assert_null(shoal__item_log_front(&log));
    shoal__item_log_withdraw(&log, &anna);
    append(&log, "d", &anna);
    assert_front(&log, "d");
    shoal__item_log_release(&log);
}

static void test_without_memory_nothing_changes(void **state)
{
    shoal__item_log_t log = {0};
    const shoal_item_t item = message("x", 1);

    (void)state;
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__item_log_append(&log, &item, &anna), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(log.count, 0);
    assert_int_equal(log.appended, 0);
    assert_null(shoal__item_log_front(&log));
    append(&log, "y", &anna);
    assert_front(&log, "y");
    shoal__item_log_release(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_are_copied_and_leave_in_order),
        cmocka_unit_test(test_what_was_taken_stays_until_it_is_returned),
        cmocka_unit_test(test_a_drained_log_goes_on_with_its_block),
        cmocka_unit_test(test_memory_is_counted_in_blocks),
        cmocka_unit_test(test_withdrawn_messages_are_passed_and_empty_blocks_freed),
        cmocka_unit_test(test_without_memory_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
