/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/options.h"
#include <shoal/errors.h>
#include <string.h>

static shoal_options_t *options;

static int set_up(void **state)
{
    (void)state;
    return shoal_options_new(&options);
}

static int tear_down(void **state)
{
    (void)state;
    shoal_options_free(options);
    return 0;
}

static void test_on_and_off(void **state)
{
    (void)state;
    assert_false(options->tls.is_on);
    assert_int_equal(shoal_options_set_tls(options, true),
                     shoal_has_tls() ? 0 : SHOAL_ETLS);
    assert_int_equal(options->tls.is_on, shoal_has_tls());
    assert_int_equal(shoal_options_set_tls(options, false), 0);
    assert_false(options->tls.is_on);
    assert_int_equal(shoal_options_set_tls_insecure(options, true), 0);
    assert_true(options->tls.is_insecure);
}

typedef int (*set_text_fn)(shoal_options_t *options, const char *text);

static void test_texts(void **state)
{
    static const struct {
        set_text_fn set;
        size_t field;
    } cases[] = {
        {shoal_options_set_tls_ca_file, offsetof(shoal_options_t, tls.ca_file)},
        {shoal_options_set_tls_ca_dir, offsetof(shoal_options_t, tls.ca_dir)},
        {shoal_options_set_tls_server_name, offsetof(shoal_options_t, tls.server_name)},
        {shoal_options_set_tls_ciphers, offsetof(shoal_options_t, tls.ciphers)},
        {shoal_options_set_tls_ciphersuites,
         offsetof(shoal_options_t, tls.ciphersuites)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char **field = (char **)(void *)((char *)options + cases[i].field);
        assert_null(*field);
        assert_int_equal(cases[i].set(options, "one"), 0);
        assert_string_equal(*field, "one");
        assert_int_equal(cases[i].set(options, ""), SHOAL_EINVAL);
        shoal__test_fail_alloc_after(0);
        assert_int_equal(cases[i].set(options, "two"), SHOAL_ENOMEM);
        shoal__test_fail_alloc_never();
        assert_string_equal(*field, "one");
        assert_int_equal(cases[i].set(options, NULL), 0);
        assert_null(*field);
        assert_int_equal(cases[i].set(NULL, "x"), SHOAL_EINVAL);
    }
}

static void test_names_that_no_certificate_has(void **state)
{
    char name[257];

    (void)state;
    memset(name, 'x', sizeof name);
    name[256] = '\0';
    assert_int_equal(shoal_options_set_tls_server_name(options, name), SHOAL_EINVAL);
    name[255] = '\0';
    assert_int_equal(shoal_options_set_tls_server_name(options, name), 0);
    name[0] = '.';
    assert_int_equal(shoal_options_set_tls_server_name(options, name), SHOAL_EINVAL);
    assert_int_equal(options->tls.server_name[0], 'x');
}

static void test_certificates(void **state)
{
    (void)state;
    assert_int_equal(shoal_options_set_tls_certificate(options, "c", "k"), 0);
    assert_string_equal(options->tls.cert_file, "c");
    assert_string_equal(options->tls.key_file, "k");
    assert_int_equal(shoal_options_set_tls_certificate(options, NULL, "k"),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_tls_certificate(options, "", "k"), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_tls_certificate(options, "d", ""), SHOAL_EINVAL);
    for (size_t allowed = 0; allowed < 2; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        assert_int_equal(shoal_options_set_tls_certificate(options, "d", "l"),
                         SHOAL_ENOMEM);
        shoal__test_fail_alloc_never();
    }
    assert_string_equal(options->tls.cert_file, "c");
    assert_string_equal(options->tls.key_file, "k");
    assert_int_equal(shoal_options_set_tls_certificate(options, "d", NULL), 0);
    assert_string_equal(options->tls.cert_file, "d");
    assert_null(options->tls.key_file);
    assert_int_equal(shoal_options_set_tls_certificate(options, NULL, NULL), 0);
    assert_null(options->tls.cert_file);
    assert_int_equal(shoal_options_set_tls_certificate(NULL, "c", "k"), SHOAL_EINVAL);
}

static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(options->tls.min_version, SHOAL_TLS_1_2);
    assert_int_equal(shoal_options_set_tls_min_version(options, SHOAL_TLS_1_3), 0);
    assert_int_equal(options->tls.min_version, SHOAL_TLS_1_3);
    assert_int_equal(shoal_options_set_tls_min_version(options, SHOAL_TLS_1_2), 0);
    assert_int_equal(
        shoal_options_set_tls_min_version(options, (shoal_tls_version_t)11),
        SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_tls_min_version(NULL, SHOAL_TLS_1_2),
                     SHOAL_EINVAL);
    assert_int_equal(options->tls.min_version, SHOAL_TLS_1_2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_on_and_off),
        TEST(test_texts),
        TEST(test_names_that_no_certificate_has),
        TEST(test_certificates),
        TEST(test_versions),
    };
    return cmocka_run_group_tests_name("api/options_tls", tests, NULL, NULL);
}
