/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/tls_settings.h"
#include <shoal/errors.h>
#include <string.h>

static char texts[7][3] = {"ca", "cd", "ce", "ke", "na", "ci", "cs"};

static shoal__tls_settings_t full(void)
{
    return (shoal__tls_settings_t){.is_on = true,
                                   .is_insecure = true,
                                   .min_version = SHOAL_TLS_1_3,
                                   .ca_file = texts[0],
                                   .ca_dir = texts[1],
                                   .cert_file = texts[2],
                                   .key_file = texts[3],
                                   .server_name = texts[4],
                                   .ciphers = texts[5],
                                   .ciphersuites = texts[6]};
}

static void check_text(const char *copy, const char *text)
{
    assert_string_equal(copy, text);
    assert_ptr_not_equal(copy, text);
}

static void test_a_copy_is_deep(void **state)
{
    const shoal__tls_settings_t from = full();
    shoal__tls_settings_t copy;

    (void)state;
    assert_int_equal(shoal__tls_settings_copy(&from, &copy), 0);
    assert_true(copy.is_on);
    assert_true(copy.is_insecure);
    assert_int_equal(copy.min_version, SHOAL_TLS_1_3);
    check_text(copy.ca_file, "ca");
    check_text(copy.ca_dir, "cd");
    check_text(copy.cert_file, "ce");
    check_text(copy.key_file, "ke");
    check_text(copy.server_name, "na");
    check_text(copy.ciphers, "ci");
    check_text(copy.ciphersuites, "cs");
    shoal__tls_settings_release(&copy);
    assert_null(copy.ca_file);
    assert_null(copy.ciphersuites);
}

static void test_texts_that_are_not_there(void **state)
{
    const shoal__tls_settings_t from = {.is_on = true, .key_file = texts[3]};
    shoal__tls_settings_t copy;

    (void)state;
    assert_int_equal(shoal__tls_settings_copy(&from, &copy), 0);
    assert_null(copy.ca_file);
    check_text(copy.key_file, "ke");
    shoal__tls_settings_release(&copy);
}

static void test_without_memory_nothing_stays(void **state)
{
    const shoal__tls_settings_t from = full();

    (void)state;
    for (size_t allowed = 0; allowed <= 7; allowed++) {
        shoal__tls_settings_t copy;
        shoal__test_fail_alloc_after(allowed);
        int rc = shoal__tls_settings_copy(&from, &copy);
        shoal__test_fail_alloc_never();
        assert_int_equal(rc, allowed < 7 ? SHOAL_ENOMEM : 0);
        if (rc < 0)
            assert_null(copy.ca_file);
        shoal__tls_settings_release(&copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_is_deep),
        cmocka_unit_test(test_texts_that_are_not_there),
        cmocka_unit_test(test_without_memory_nothing_stays),
    };
    return cmocka_run_group_tests_name("core/tls_settings", tests, NULL, NULL);
}
