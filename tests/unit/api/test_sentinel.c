/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/options.h"
#include <shoal/errors.h>
#include <shoal/sentinel.h>
#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    return shoal__options_copy(NULL, (shoal_options_t **)state);
}

static int tear_down(void **state)
{
    shoal__options_free(*state);
    return 0;
}

static void test_names(void **state)
{
    shoal_options_t *options = *state;
    char name[129];
    static const char *const bad[] = {"", " ", "a b", "a\n", "\x7f", "\xc3\xa4"};

    memset(name, 'n', sizeof name);
    name[128] = '\0';
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(shoal_options_set_sentinel(options, bad[i]), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_sentinel(options, name), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_sentinel(NULL, "m"), SHOAL_EINVAL);
    assert_null(options->sentinels.name);
    assert_int_equal(shoal_options_set_sentinel(options, name + 1), 0);
    assert_int_equal(shoal_options_set_sentinel(options, "m"), 0);
    assert_string_equal(options->sentinels.name, "m");
    assert_int_equal(shoal_options_set_sentinel(options, NULL), 0);
    assert_null(options->sentinels.name);
}

static void test_addresses(void **state)
{
    shoal_options_t *options = *state;
    char host[257];

    memset(host, 'h', sizeof host);
    host[256] = '\0';
    assert_int_equal(shoal_options_add_sentinel(NULL, "h", 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_sentinel(options, NULL, 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_sentinel(options, "", 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_sentinel(options, host, 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_sentinel(options, "h", 0), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_sentinel(options, "h", 65536), SHOAL_EINVAL);
    assert_int_equal(options->sentinels.count, 0);
    for (int i = 1; i <= SHOAL_SENTINELS_MAX; i++)
        assert_int_equal(shoal_options_add_sentinel(options, host + 1, i), 0);
    assert_int_equal(shoal_options_add_sentinel(options, "h", 1), SHOAL_EINVAL);
    assert_int_equal(options->sentinels.count, SHOAL_SENTINELS_MAX);
    assert_int_equal(options->sentinels.seeds[15].port, 16);
    assert_string_equal(options->sentinels.seeds[15].host, host + 1);
}

static void test_credentials(void **state)
{
    shoal_options_t *options = *state;

    assert_int_equal(shoal_options_set_sentinel_auth(NULL, NULL, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_sentinel_auth(options, "u", NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_sentinel_auth(options, "u", "p"), 0);
    assert_string_equal(options->sentinels.user, "u");
    assert_string_equal(options->sentinels.password, "p");
    assert_null(options->password); /* nothing is the primary's */
    assert_int_equal(shoal_options_set_sentinel_auth(options, NULL, NULL), 0);
    assert_null(options->sentinels.password);
}

static void test_tls(void **state)
{
    shoal_options_t *options = *state;

    assert_int_equal(shoal_options_set_sentinel_tls(NULL, true), SHOAL_EINVAL);
    assert_false(options->sentinels.is_tls);
    assert_int_equal(shoal_options_set_sentinel_tls(options, true), 0);
    assert_true(options->sentinels.is_tls);
    assert_false(options->tls.is_on);
}

static void test_no_memory(void **state)
{
    shoal_options_t *options = *state;

    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal_options_set_sentinel(options, "m"), SHOAL_ENOMEM);
    assert_int_equal(shoal_options_add_sentinel(options, "h", 1), SHOAL_ENOMEM);
    assert_int_equal(shoal_options_set_sentinel_auth(options, "u", "p"), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_null(options->sentinels.name);
    assert_int_equal(options->sentinels.count, 0);
    assert_null(options->sentinels.user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_names), TEST(test_addresses), TEST(test_credentials),
        TEST(test_tls),   TEST(test_no_memory),
    };
    return cmocka_run_group_tests_name("api/sentinel", tests, NULL, NULL);
}
