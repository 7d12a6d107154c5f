/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/request.h"

static void on_release(void *data)
{
    *(unsigned *)data += 1;
}

static void test_the_last_owner_releases(void **state)
{
    unsigned released = 0;

    (void)state;
    for (size_t owners = 1; owners < 5; owners++) {
        shoal__extra_t *extra = shoal__extra_new(owners, 0);
        assert_non_null(extra);
        assert_null(extra->values);
        assert_null(extra->sink);
        extra->on_release = on_release;
        extra->release_data = &released;
        released = 0;
        for (size_t i = 0; i < owners; i++) {
            assert_int_equal(released, 0);
            shoal__extra_drop(extra);
        }
        assert_int_equal(released, 1);
    }
    shoal__extra_drop(NULL);
    shoal__extra_drop(shoal__extra_new(1, 0)); /* nobody waits for it */
}

/* Each command finds its own values, by its tag. */
static void test_values_of_each_command(void **state)
{
    enum { COMMANDS = 3, REFERENCES = 5 };
    static const uint32_t counts[COMMANDS] = {2, 0, 3};
    shoal__extra_t *extra = shoal__extra_new(COMMANDS, REFERENCES);
    shoal__reference_t *next;

    (void)state;
    assert_non_null(extra);
    next = shoal__extra_references(extra, COMMANDS);
    extra->first_tag = UINT64_MAX; /* tags are the program's, and may wrap around */
    for (size_t i = 0; i < COMMANDS; i++) {
        extra->values[i] = (shoal__values_t){next, counts[i], 10 * counts[i]};
        for (uint32_t j = 0; j < counts[i]; j++)
            *next++ = (shoal__reference_t){"value", 10, (uint32_t)i};
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        shoal__request_t request = {
            .extra = extra, .tag = UINT64_MAX + i, .bytes = 100};
        assert_ptr_equal(shoal__request_values(&request), &extra->values[i]);
        assert_int_equal(shoal__request_wire_bytes(&request), 100 + 10 * counts[i]);
        request.extra = NULL;
        assert_null(shoal__request_values(&request));
        assert_int_equal(shoal__request_wire_bytes(&request), 100);
        shoal__extra_drop(extra);
    }
}

/* A call that is refused had one: its memory is the caller's at once. */
static void test_without_a_request(void **state)
{
    const shoal_call_t call = {.route = SHOAL_ROUTE_NODE, .route_node = "h:1"};
    shoal__extra_t *extra = shoal__extra_new(2, 0);
    unsigned released = 0;

    (void)state;
    assert_non_null(extra);
    assert_true(shoal__extra_take_route(extra, &call));
    extra->on_release = on_release;
    extra->release_data = &released;
    shoal__extra_free(extra);
    shoal__extra_free(NULL);
    assert_int_equal(released, 0);
}

static void test_without_memory(void **state)
{
    const shoal_call_t call = {.route = SHOAL_ROUTE_NODE, .route_node = "h:1"};
    shoal__extra_t *extra = shoal__extra_new(1, 0);

    (void)state;
    assert_non_null(extra);
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__extra_take_route(extra, &call));
    shoal__test_fail_alloc_never();
    assert_true(shoal__extra_take_route(extra, &call));
    assert_string_equal(extra->route_node, "h:1");
    shoal__extra_drop(extra);
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__extra_new(2, 2));
    shoal__test_fail_alloc_never();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_owner_releases),
        cmocka_unit_test(test_values_of_each_command),
        cmocka_unit_test(test_without_a_request),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("core/extra", tests, NULL, NULL);
}
