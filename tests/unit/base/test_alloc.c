/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include <shoal/alloc.h>
#include <shoal/errors.h>
#include <stdlib.h>
#include <string.h>

static void test_successful_allocations_are_counted(void **state)
{
    (void)state;
    uint64_t before = shoal__alloc_count();

    char *a = shoal__malloc(10);
    char *b = shoal__calloc(2, 5);
    a = shoal__realloc(a, 20);
    char *c = shoal__strdup("text");
    assert_int_equal(shoal__alloc_count() - before, 4);
    assert_int_equal(shoal_allocations(), shoal__alloc_count());
    assert_string_equal(c, "text");
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(b[i], 0);

    shoal__free(a);
    shoal__free(b);
    shoal__free(c);
    shoal__free(NULL);
    assert_int_equal(shoal__alloc_count() - before, 4);
}

static void test_no_bytes_are_not_a_failure(void **state)
{
    (void)state;
    void *a = shoal__malloc(0), *b = shoal__calloc(0, 8), *c = shoal__realloc(NULL, 0);

    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    shoal__free(a);
    shoal__free(b);
    shoal__free(c);
}

static void test_allocations_fail_on_demand(void **state)
{
    (void)state;
    uint64_t before = shoal__alloc_count();

    shoal__test_fail_alloc_after(2);
    void *a = shoal__malloc(1), *b = shoal__calloc(1, 1);
    void *c = shoal__malloc(1), *d = shoal__realloc(a, 2);
    char *e = shoal__strdup("x");
    shoal__test_fail_alloc_never();

    assert_non_null(a);
    assert_non_null(b);
    assert_null(c);
    assert_null(d);
    assert_null(e);
    assert_int_equal(shoal__alloc_count() - before, 2);
    shoal__free(a);
    shoal__free(b);

    a = shoal__malloc(1);
    assert_non_null(a);
    shoal__free(a);
}

static unsigned long calls;

static void *hook_malloc(size_t bytes)
{
    calls++;
    return malloc(bytes);
}

static void *hook_calloc(size_t count, size_t bytes)
{
    calls++;
    return calloc(count, bytes);
}

static void *hook_realloc(void *memory, size_t bytes)
{
    calls++;
    return realloc(memory, bytes);
}

static void hook_free(void *memory)
{
    calls++;
    free(memory);
}

static void test_the_hook_replaces_all_four(void **state)
{
    (void)state;
    const shoal_allocator_t hook = {hook_malloc, hook_calloc, hook_realloc, hook_free};
    const shoal_allocator_t incomplete[] = {
        {NULL, hook_calloc, hook_realloc, hook_free},
        {hook_malloc, NULL, hook_realloc, hook_free},
        {hook_malloc, hook_calloc, NULL, hook_free},
        {hook_malloc, hook_calloc, hook_realloc, NULL},
    };

    for (size_t i = 0; i < sizeof incomplete / sizeof *incomplete; i++)
        assert_int_equal(shoal_allocator_set(&incomplete[i]), SHOAL_EINVAL);
    assert_int_equal(shoal_allocator_set(&hook), 0);
    void *a = shoal__realloc(shoal__malloc(1), 2), *b = shoal__calloc(1, 1);
    shoal__free(a);
    shoal__free(b);
    assert_int_equal(calls, 5);

    assert_int_equal(shoal_allocator_set(NULL), 0);
    shoal__free(shoal__malloc(1));
    assert_int_equal(calls, 5);
}

static char wiped[8];

static void keep_what_was_freed(void *memory)
{
    memcpy(wiped, memory, sizeof wiped);
    free(memory);
}

static void test_credentials_are_overwritten(void **state)
{
    (void)state;
    const shoal_allocator_t hook = {malloc, calloc, realloc, keep_what_was_freed};
    static const char zeros[sizeof wiped];

    assert_int_equal(shoal_allocator_set(&hook), 0);
    char *secret = shoal__strdup("hunter2");
    memset(wiped, 1, sizeof wiped);
    shoal__wipe_free(secret, sizeof "hunter2");
    shoal__wipe_free(NULL, 8);
    assert_int_equal(shoal_allocator_set(NULL), 0);
    assert_memory_equal(wiped, zeros, sizeof wiped);

    char text[] = "hunter2";
    shoal__wipe(text, 3);
    assert_memory_equal(text, "\0\0\0ter2", sizeof text);
    shoal__wipe(text, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_successful_allocations_are_counted),
        cmocka_unit_test(test_no_bytes_are_not_a_failure),
        cmocka_unit_test(test_allocations_fail_on_demand),
        cmocka_unit_test(test_the_hook_replaces_all_four),
        cmocka_unit_test(test_credentials_are_overwritten),
    };
    return cmocka_run_group_tests_name("base/alloc", tests, NULL, NULL);
}
