/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/random.h"
#include <shoal/errors.h>
#include <string.h>

static void test_appended_bytes_come_out_in_order(void **state)
{
    (void)state;
    shoal__buffer_t buffer;

    shoal__buffer_init(&buffer);
    assert_int_equal(shoal__buffer_bytes(&buffer), 0);
    assert_int_equal(shoal__buffer_append(&buffer, "hello ", 6), 0);
    assert_int_equal(shoal__buffer_append(&buffer, NULL, 0), 0);
    assert_int_equal(shoal__buffer_append(&buffer, "world", 5), 0);
    assert_int_equal(shoal__buffer_bytes(&buffer), 11);
    assert_memory_equal(shoal__buffer_data(&buffer), "hello world", 11);

    shoal__buffer_consume(&buffer, 6);
    assert_memory_equal(shoal__buffer_data(&buffer), "world", 5);
    shoal__buffer_consume(&buffer, 5);
    assert_int_equal(shoal__buffer_bytes(&buffer), 0);
    shoal__buffer_release(&buffer);
}

static void test_reserved_bytes_count_when_committed(void **state)
{
    (void)state;
    shoal__buffer_t buffer;

    shoal__buffer_init(&buffer);
    assert_non_null(shoal__buffer_reserve(&buffer, 0));
    char *at = shoal__buffer_reserve(&buffer, 100);
    assert_non_null(at);
    memcpy(at, "abc", 3);
    assert_int_equal(shoal__buffer_bytes(&buffer), 0);
    shoal__buffer_commit(&buffer, 3);
    assert_int_equal(shoal__buffer_bytes(&buffer), 3);
    shoal__buffer_clear(&buffer);
    assert_int_equal(shoal__buffer_bytes(&buffer), 0);
    shoal__buffer_release(&buffer);
}

/* Any mix of appends and consumes keeps every byte, without growing for ever. */
static void test_a_queue_of_bytes_keeps_every_byte(void **state)
{
    (void)state;
    shoal__buffer_t buffer;
    shoal__random_t random;
    unsigned char written = 0, read = 0;

    shoal__buffer_init(&buffer);
    shoal__random_init(&random, 7);
    for (int round = 0; round < 20000; round++) {
        size_t bytes = shoal__random_below(&random, 300);
        if (shoal__buffer_bytes(&buffer) < 2000) {
            char *at = shoal__buffer_reserve(&buffer, bytes);
            assert_non_null(at);
            for (size_t i = 0; i < bytes; i++)
                at[i] = (char)written++;
            shoal__buffer_commit(&buffer, bytes);
        } else {
            for (size_t i = 0; i < bytes; i++)
                assert_int_equal((unsigned char)shoal__buffer_data(&buffer)[i], read++);
            shoal__buffer_consume(&buffer, bytes);
        }
    }
    assert_true(buffer.capacity <= 8192);
    shoal__buffer_release(&buffer);
}

static void test_the_steady_state_does_not_allocate(void **state)
{
    (void)state;
    shoal__buffer_t buffer;
    char data[100] = {0};

    shoal__buffer_init(&buffer);
    for (int round = 0; round < 100; round++)
        assert_int_equal(shoal__buffer_append(&buffer, data, sizeof data), 0);
    uint64_t before = 0;
    for (int round = 0; round < 10000; round++) {
        if (round == 1000)
            before = shoal__alloc_count();
        assert_int_equal(shoal__buffer_append(&buffer, data, sizeof data), 0);
        shoal__buffer_consume(&buffer, sizeof data);
    }
    assert_int_equal(shoal__alloc_count(), before);
    shoal__buffer_release(&buffer);
}

static void test_a_failed_reservation_changes_nothing(void **state)
{
    (void)state;
    shoal__buffer_t buffer;

    shoal__buffer_init(&buffer);
    assert_int_equal(shoal__buffer_append(&buffer, "abc", 3), 0);
    shoal__buffer_t before = buffer;

    assert_null(shoal__buffer_reserve(&buffer, SIZE_MAX));
    assert_null(shoal__buffer_reserve(&buffer, SIZE_MAX / 2));
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__buffer_reserve(&buffer, 4096));
    assert_int_equal(shoal__buffer_append(&buffer, "defg", 4), 0); /* there is room */
    buffer.tail -= 4;
    shoal__test_fail_alloc_never();
    assert_memory_equal(&buffer, &before, sizeof buffer);
    assert_memory_equal(shoal__buffer_data(&buffer), "abc", 3);
    shoal__buffer_release(&buffer);

    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__buffer_append(&buffer, "abc", 3), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(shoal__buffer_bytes(&buffer), 0);
    shoal__buffer_release(&buffer);
}

static void test_an_empty_buffer_gives_memory_back(void **state)
{
    (void)state;
    shoal__buffer_t buffer;

    shoal__buffer_init(&buffer);
    assert_non_null(shoal__buffer_reserve(&buffer, 100000));
    shoal__buffer_commit(&buffer, 1);
    shoal__buffer_shrink(&buffer, 1000);
    assert_true(buffer.capacity >= 100000); /* kept, because a byte is still there */

    shoal__buffer_consume(&buffer, 1);
    shoal__buffer_shrink(&buffer, buffer.capacity);
    assert_true(buffer.capacity >= 100000);
    shoal__buffer_shrink(&buffer, 1000);
    assert_int_equal(buffer.capacity, 0);
    assert_int_equal(shoal__buffer_append(&buffer, "x", 1), 0);
    shoal__buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appended_bytes_come_out_in_order),
        cmocka_unit_test(test_reserved_bytes_count_when_committed),
        cmocka_unit_test(test_a_queue_of_bytes_keeps_every_byte),
        cmocka_unit_test(test_the_steady_state_does_not_allocate),
        cmocka_unit_test(test_a_failed_reservation_changes_nothing),
        cmocka_unit_test(test_an_empty_buffer_gives_memory_back),
    };
    return cmocka_run_group_tests_name("base/buffer", tests, NULL, NULL);
}
