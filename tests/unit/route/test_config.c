/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "route/config.h"
#include <shoal/errors.h>
#include <string.h>

static char host[300], unix_path[] = "/run/redis.sock";

static void test_names(void **state)
{
    static const struct {
        const char *host;
        int port;
        const char *name;
    } cases[] = {
        {"127.0.0.1", 6379, "127.0.0.1:6379"},
        {"localhost", 1, "localhost:1"},
        {"::1", 6379, "[::1]:6379"},
        {"fe80::1%eth0", 65535, "[fe80::1%eth0]:65535"},
        {"::ffff:10.0.0.1", 6380, "[::ffff:10.0.0.1]:6380"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_options_t options = {.addresses = {{.host = host, .port = cases[i].port}},
                                   .addresses_count = 1};
        shoal__endpoint_list_t endpoints;
        shoal__target_t target;

        strcpy(host, cases[i].host);
        shoal__target_read(&options, &endpoints, &target);
        assert_string_equal(target.name, cases[i].name);
        assert_string_equal(target.endpoints[0].host,
                            cases[i].host); /* what is dialed: no brackets */
        assert_int_equal(target.endpoints[0].port, cases[i].port);
        assert_null(target.endpoints[0].unix_path);
    }
}

static void test_a_unix_socket(void **state)
{
    shoal_options_t options = {.addresses = {{.unix_path = unix_path}},
                               .addresses_count = 1};
    shoal__endpoint_list_t endpoints;
    shoal__target_t target;

    (void)state;
    shoal__target_read(&options, &endpoints, &target);
    assert_string_equal(target.name, unix_path);
    assert_string_equal(target.endpoints[0].unix_path, unix_path);
    assert_null(target.endpoints[0].host);
}

/* Longer than any host name may be. */
static void test_a_long_name_is_cut(void **state)
{
    shoal_options_t options = {.addresses = {{.host = host, .port = 65535}},
                               .addresses_count = 1};
    shoal__endpoint_list_t endpoints;
    shoal__target_t target;

    (void)state;
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    for (int is_ipv6 = 0; is_ipv6 < 2; is_ipv6++) {
        shoal__target_read(&options, &endpoints, &target);
        assert_int_equal(strlen(target.name), SHOAL__TARGET_NAME_BYTES - 1);
        host[2] = ':';
    }
}

static void test_several_endpoints(void **state)
{
    shoal_options_t options = {.addresses = {{.host = host, .port = 1},
                                             {.unix_path = unix_path},
                                             {.host = host, .port = 2}},
                               .addresses_count = 3};
    shoal__endpoint_list_t endpoints;
    shoal__target_t target;

    (void)state;
    strcpy(host, "h");
    shoal__target_read(&options, &endpoints, &target);
    assert_int_equal(target.endpoints_count, 3);
    assert_int_equal(target.present, 0);
    assert_string_equal(target.name, "h:1");
    assert_string_equal(target.endpoints[1].name, unix_path);
    assert_string_equal(target.endpoints[2].name, "h:2");
    assert_int_equal(target.worked.bytes + target.failed.bytes, 0);
}

static void test_tls_is_a_kind_of_stream(void **state)
{
    shoal_options_t options = {.tls = {.is_on = false}};
    shoal__conn_config_t config;

    (void)state;
    assert_int_equal(shoal__config_read(&options, &config), 0);
    assert_ptr_equal(config.dial.stream, &shoal__stream_socket);
    assert_null(config.dial.tls);
    shoal__config_release(&config);
    if (!SHOAL_TLS)
        skip();

    options.tls.is_on = true;
    assert_int_equal(shoal__config_read(&options, &config), 0);
    assert_ptr_not_equal(config.dial.stream, &shoal__stream_socket);
    assert_non_null(config.dial.tls);
    assert_false(config.dial.is_unverified);
    shoal__config_release(&config);
    options.tls.is_insecure = true;
    assert_int_equal(shoal__config_read(&options, &config), 0);
    assert_true(config.dial.is_unverified);
    shoal__config_release(&config);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__config_read(&options, &config), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
}

static char sentinel_name[] = "mymaster";

static void test_sentinels_find_the_server(void **state)
{
    const shoal_options_t options = {.addresses = {{.host = host, .port = 6379}},
                                     .addresses_count = 1,
                                     .sentinels = {.name = sentinel_name},
                                     .backoff_base_us = 2000000,
                                     .backoff_max_us = 10000000};
    shoal__endpoint_list_t endpoints;
    shoal__conn_config_t config;
    shoal__target_t target;

    (void)state;
    shoal__target_read(&options, &endpoints, &target);
    assert_string_equal(target.name, "mymaster");
    assert_int_equal(target.endpoints_count, 1);
    assert_string_equal(target.endpoints[0].name, "mymaster");
    assert_null(target.endpoints[0].host);
    assert_int_equal(shoal__config_read(&options, &config), 0);
    assert_true(config.pipe.greeting.needs_primary);
    assert_int_equal(config.backoff_us_max, 1000000);
    assert_int_equal(config.backoff_base_us, 1000000);
    shoal__config_release(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_unix_socket),
        cmocka_unit_test(test_a_long_name_is_cut),
        cmocka_unit_test(test_several_endpoints),
        cmocka_unit_test(test_tls_is_a_kind_of_stream),
        cmocka_unit_test(test_sentinels_find_the_server),
    };
    return cmocka_run_group_tests_name("route/config", tests, NULL, NULL);
}
