/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/options.h"
#include <shoal/errors.h>

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client, (void)event, (void)data;
}

static char host[] = "h", user[] = "u", password[] = "p", name[] = "n", path[] = "/s";

static char sentinel[] = "s", other_sentinel[] = "t";

static const shoal_options_t full = {
    .addresses = {{.host = host, .port = 1}, {.unix_path = path}},
    .addresses_count = 2,
    .sentinels = {.name = name,
                  .seeds = {{sentinel, 26379}, {other_sentinel, 2}},
                  .count = 2,
                  .user = user,
                  .password = password},
    .user = user,
    .password = password,
    .client_name = name,
    .database = 9,
    .on_event = on_event,
    .event_data = host,
    .log_level = SHOAL_LOG_DEBUG};

static void test_a_copy_is_deep(void **state)
{
    shoal_options_t *copy = NULL;

    (void)state;
    assert_int_equal(shoal__options_copy(&full, &copy), 0);
    assert_int_equal(copy->addresses_count, 2);
    assert_string_equal(copy->addresses[0].host, "h");
    assert_string_equal(copy->addresses[1].unix_path, "/s");
    assert_string_equal(copy->user, "u");
    assert_string_equal(copy->password, "p");
    assert_string_equal(copy->client_name, "n");
    assert_ptr_not_equal(copy->addresses[0].host, host);
    assert_ptr_not_equal(copy->addresses[1].unix_path, path);
    assert_ptr_not_equal(copy->user, full.user);
    assert_ptr_not_equal(copy->password, full.password);
    assert_ptr_not_equal(copy->client_name, full.client_name);
    assert_int_equal(copy->addresses[0].port, 1);
    assert_string_equal(copy->sentinels.name, "n");
    assert_int_equal(copy->sentinels.count, 2);
    assert_string_equal(copy->sentinels.seeds[1].host, "t");
    assert_ptr_not_equal(copy->sentinels.seeds[1].host, other_sentinel);
    assert_int_equal(copy->sentinels.seeds[1].port, 2);
    assert_string_equal(copy->sentinels.user, "u");
    assert_string_equal(copy->sentinels.password, "p");
    assert_int_equal(copy->database, 9);
    assert_true(copy->on_event == on_event);
    assert_ptr_equal(copy->event_data, host);
    assert_int_equal(copy->log_level, SHOAL_LOG_DEBUG);
    shoal__options_free(copy);
}

static void test_addresses_are_dropped_from_the_end(void **state)
{
    shoal_options_t *copy = NULL;

    (void)state;
    assert_int_equal(shoal__options_copy(&full, &copy), 0);
    shoal__options_drop_addresses(copy, 1);
    assert_int_equal(copy->addresses_count, 1);
    assert_null(copy->addresses[1].unix_path);
    assert_string_equal(copy->addresses[0].host, "h");
    shoal__options_free(copy);
}

static void test_no_options_are_the_defaults(void **state)
{
    shoal_options_t defaults, *copy = NULL;

    (void)state;
    shoal__options_defaults(&defaults);
    assert_int_equal(shoal__options_copy(NULL, &copy), 0);
    assert_int_equal(copy->addresses_count, 1);
    assert_string_equal(copy->addresses[0].host, "127.0.0.1");
    assert_int_equal(copy->addresses[0].port, 6379);
    assert_false(copy->has_address);
    assert_int_equal(copy->timeout_us, defaults.timeout_us);
    shoal__options_free(copy);
}

static void test_a_copy_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal_options_t *copy = NULL;

        shoal__test_fail_alloc_after(allowed);
        int rc = shoal__options_copy(&full, &copy);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            assert_int_equal(allowed, 11);
            shoal__options_free(copy);
            return;
        }
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_null(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_is_deep),
        cmocka_unit_test(test_addresses_are_dropped_from_the_end),
        cmocka_unit_test(test_no_options_are_the_defaults),
        cmocka_unit_test(test_a_copy_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("core/options", tests, NULL, NULL);
}
