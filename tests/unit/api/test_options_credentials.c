/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/options.h"
#include <shoal/credentials.h>
#include <shoal/errors.h>

static void provide(shoal_credentials_request_t *request, void *data)
{
    (void)request, (void)data;
}

static shoal_options_t *defaults(void)
{
    shoal_options_t *options = NULL;

    assert_int_equal(shoal__options_copy(NULL, &options), 0);
    return options;
}

static void test_each_setter(void **state)
{
    shoal_options_t *options = defaults(), *copy;
    int data;

    (void)state;
    assert_null(options->credentials.provider);
    assert_int_equal(options->credentials.timeout_us, 5000000);
    assert_int_equal(options->credentials.rotation, SHOAL_ROTATE_SUCCESSOR);
    assert_int_equal(shoal_options_set_credentials_provider(options, provide, &data),
                     0);
    assert_int_equal(shoal_options_set_credentials_timeout_us(options, 1000), 0);
    assert_int_equal(shoal_options_set_rotation(options, SHOAL_ROTATE_IN_PLACE), 0);
    assert_int_equal(shoal__options_copy(options, &copy), 0);
    assert_ptr_equal(copy->credentials.provider, provide);
    assert_ptr_equal(copy->credentials.data, &data);
    assert_int_equal(copy->credentials.timeout_us, 1000);
    assert_int_equal(copy->credentials.rotation, SHOAL_ROTATE_IN_PLACE);
    shoal__options_free(copy);
    shoal__options_free(options);
}

static void test_out_of_range(void **state)
{
    shoal_options_t *options = defaults();

    (void)state;
    assert_int_equal(shoal_options_set_credentials_provider(NULL, NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_credentials_timeout_us(options, 999),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_credentials_timeout_us(NULL, 1000),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_rotation(options, (shoal_rotation_t)2),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_rotation(NULL, SHOAL_ROTATE_IN_PLACE),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_auth(NULL, NULL, NULL), SHOAL_EINVAL);
    assert_int_equal(options->credentials.timeout_us, 5000000);
    shoal__options_free(options);
}

/* The route keeps the password from now on. */
static void test_the_secret_is_forgotten(void **state)
{
    shoal_options_t *options = defaults();

    (void)state;
    assert_int_equal(shoal_options_set_auth(options, "ann", "sesame"), 0);
    shoal__options_forget_secret(options);
    assert_null(options->user);
    assert_null(options->password);
    shoal__options_free(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_setter),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_the_secret_is_forgotten),
    };

    return cmocka_run_group_tests_name("api/options_credentials", tests, NULL, NULL);
}
