/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/lease_pool.h"
#include <shoal/lease.h>

static const shoal__places_t any = {.max = 0};

static shoal__lease_source_t source(size_t idle, size_t busy,
                                    const shoal__places_t *places)
{
    return shoal__lease_pool_source(idle, 0, busy, places);
}

static void test_where_a_connection_comes_from(void **state)
{
    (void)state;
    assert_int_equal(source(0, 0, &any), SHOAL__LEASE_FROM_DIAL);
    assert_int_equal(source(1, 0, &any), SHOAL__LEASE_FROM_POOL);
    assert_int_equal(source(0, 63, &any), SHOAL__LEASE_FROM_DIAL);
    assert_int_equal(source(0, 64, &any), SHOAL__LEASE_WAIT);
    assert_int_equal(source(1, 63, &any), SHOAL__LEASE_FROM_POOL);
}

static void test_few_places(void **state)
{
    static const shoal__places_t room = {4, 2, 1}, full = {4, 3, 1}, lacks = {4, 4, 1};

    (void)state;
    assert_int_equal(source(0, 0, &room), SHOAL__LEASE_FROM_DIAL);
    assert_int_equal(source(0, 0, &full), SHOAL__LEASE_WAIT);
    assert_int_equal(source(1, 0, &full), SHOAL__LEASE_FROM_POOL);
    assert_int_equal(shoal__lease_pool_source(0, 1, 0, &full), SHOAL__LEASE_FROM_DIAL);
    assert_int_equal(shoal__lease_pool_source(0, 1, 64, &full), SHOAL__LEASE_WAIT);
    assert_int_equal(source(1, 0, &lacks), SHOAL__LEASE_WAIT);
    assert_int_equal(shoal__lease_pool_source(0, 1, 0, &lacks), SHOAL__LEASE_WAIT);
}

/* However connections come and go, the bound holds. */
static void test_the_bound(void **state)
{
    size_t idle = 0, busy = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        switch (source(idle, busy, &any)) {
        case SHOAL__LEASE_FROM_POOL:
            idle--;
            busy++;
            break;
        case SHOAL__LEASE_FROM_DIAL:
            busy++;
            break;
        case SHOAL__LEASE_WAIT:
            busy -= 1 + i % 3;
            idle += 1 + i % 3;
            break;
        }
        assert_true(idle + busy <= SHOAL__LEASE_CONNECTIONS_MAX);
    }
}

static void test_how_long_idle_connections_are_kept(void **state)
{
    (void)state;
    assert_int_equal(shoal__lease_pool_until_us(0, 1000), 60001000);
    assert_int_equal(shoal__lease_pool_until_us(7, 1000), 60001000);
    assert_int_equal(shoal__lease_pool_until_us(8, 1000), 5001000);
    assert_int_equal(shoal__lease_pool_until_us(63, 1000), 5001000);
    assert_int_equal(shoal__lease_pool_until_us(0, SHOAL__NEVER_US - 5),
                     SHOAL__NEVER_US);
}

static void test_the_header_says_so(void **state)
{
    (void)state;
    assert_int_equal(SHOAL_LEASE_CONNECTIONS_MAX, SHOAL__LEASE_CONNECTIONS_MAX);
    assert_int_equal(SHOAL_LEASE_WAITING_MAX, SHOAL__LEASE_WAITING_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_a_connection_comes_from),
        cmocka_unit_test(test_few_places),
        cmocka_unit_test(test_the_bound),
        cmocka_unit_test(test_how_long_idle_connections_are_kept),
        cmocka_unit_test(test_the_header_says_so),
    };
    return cmocka_run_group_tests_name("core/lease_pool", tests, NULL, NULL);
}
