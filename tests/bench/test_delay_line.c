/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "delay_line.h"

#include <string.h>

#define CAPACITY 65536u

static uint8_t pattern(uint64_t position)
{
    return (uint8_t)(position * 131 + position / 251);
}

/* Adds up to `bytes`, as much as there is room for in one piece. */
static size_t add_some(delay_line_t *line, uint64_t position, size_t bytes)
{
    size_t room;
    char *at = delay_line_room(line, &room);

    if (room < bytes)
        bytes = room;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)pattern(position + i);
    delay_line_add(line, bytes);
    return bytes;
}

static size_t take_some(delay_line_t *line, uint64_t position, size_t bytes)
{
    size_t ready;
    const char *at = delay_line_ready(line, &ready);

    if (ready < bytes)
        bytes = ready;
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal((uint8_t)at[i], pattern(position + i));
    delay_line_take(line, bytes);
    return bytes;
}

static void test_nothing_leaves_before_it_is_released(void **state)
{
    (void)state;
    delay_line_t line;
    size_t ready;

    delay_line_init(&line, CAPACITY);
    assert_int_equal(add_some(&line, 0, 100), 100);
    assert_null(delay_line_ready(&line, &ready));
    delay_line_release(&line, 40);
    assert_non_null(delay_line_ready(&line, &ready));
    assert_int_equal(ready, 40);
    assert_int_equal(take_some(&line, 0, 100), 40);
    assert_null(delay_line_ready(&line, &ready));
    delay_line_free(&line);
}

static void test_order_and_content_hold_through_growth_and_wrapping(void **state)
{
    (void)state;
    delay_line_t line;
    uint64_t added = 0;
    uint64_t taken = 0;

    delay_line_init(&line, CAPACITY);
    for (size_t i = 0; i < 5000; i++) {
        size_t bytes = add_some(&line, added, 1 + i * 7919 % 9000);
        delay_line_release(&line, bytes);
        added += bytes;
        taken += take_some(&line, taken, 1 + i * 104729 % 8000);
    }
    while (taken < added)
        taken += take_some(&line, taken, CAPACITY);
    assert_true(added > 10 * CAPACITY);
    delay_line_free(&line);
}

static void test_a_full_line_has_no_room(void **state)
{
    (void)state;
    delay_line_t line;
    uint64_t added = 0;
    size_t room;
    size_t bytes;

    delay_line_init(&line, CAPACITY);
    while ((bytes = add_some(&line, added, CAPACITY)) > 0)
        added += bytes;
    assert_int_equal(added, CAPACITY);
    assert_null(delay_line_room(&line, &room));
    delay_line_release(&line, 10);
    assert_int_equal(take_some(&line, 0, 10), 10);
    assert_non_null(delay_line_room(&line, &room));
    assert_int_equal(room, 10);
    delay_line_free(&line);
}

static void test_the_queue_is_first_in_first_out(void **state)
{
    (void)state;
    delay_queue_t queue = {0};
    int owner;
    uint64_t dropped = 0;

    assert_null(delay_queue_first(&queue));
    for (uint64_t i = 0; i < 10000; i++) {
        assert_int_equal(delay_queue_add(&queue, 1000 + i, &owner, (size_t)i), 0);
        if (i % 3 == 0) {
            assert_int_equal(delay_queue_first(&queue)->due_ns, 1000 + dropped);
            delay_queue_drop(&queue);
            dropped++;
        }
    }
    for (; dropped < 10000; dropped++) {
        const delay_entry_t *entry = delay_queue_first(&queue);
        assert_int_equal(entry->due_ns, 1000 + dropped);
        assert_int_equal(entry->bytes, dropped);
        assert_ptr_equal(entry->owner, &owner);
        delay_queue_drop(&queue);
    }
    assert_null(delay_queue_first(&queue));
    delay_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_leaves_before_it_is_released),
        cmocka_unit_test(test_order_and_content_hold_through_growth_and_wrapping),
        cmocka_unit_test(test_a_full_line_has_no_room),
        cmocka_unit_test(test_the_queue_is_first_in_first_out),
    };
    return cmocka_run_group_tests_name("bench/delay_line", tests, NULL, NULL);
}
