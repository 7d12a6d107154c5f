/* SPDX-License-Identifier: MIT */
#include "unit/api/options_url_parse.h"

/* clang-format off */
static const struct address_case {
    const char *url;
    const char *host; /* NULL: the address is the Unix socket `path` */
    int port;
    const char *path, *user, *password;
    int database;
} addresses[] = {
    {"redis://localhost", "localhost", 6379, NULL, NULL, NULL, 0},
    {"valkey://localhost", "localhost", 6379, NULL, NULL, NULL, 0},
    {"redis://localhost/", "localhost", 6379, NULL, NULL, NULL, 0},
    {"redis://localhost:1", "localhost", 1, NULL, NULL, NULL, 0},
    {"redis://localhost:65535/", "localhost", 65535, NULL, NULL, NULL, 0},
    {"redis://10.0.0.4:6380/7", "10.0.0.4", 6380, NULL, NULL, NULL, 7},
    {"redis://h/2147483647", "h", 6379, NULL, NULL, NULL, INT32_MAX},
    {"redis://h?db=5", "h", 6379, NULL, NULL, NULL, 5},
    {"redis://h/?db=5", "h", 6379, NULL, NULL, NULL, 5},
    {"redis://my_host-1.example.org", "my_host-1.example.org", 6379, NULL, NULL, NULL, 0},
    {"redis://[::1]", "::1", 6379, NULL, NULL, NULL, 0},
    {"redis://[::1]:7/3", "::1", 7, NULL, NULL, NULL, 3},
    {"redis://[2001:db8::7]:7", "2001:db8::7", 7, NULL, NULL, NULL, 0},
    {"redis://[::ffff:10.0.0.1]", "::ffff:10.0.0.1", 6379, NULL, NULL, NULL, 0},
    {"redis://[fe80::1%25eth0]:7", "fe80::1%eth0", 7, NULL, NULL, NULL, 0},
    {"redis://:pw@h", "h", 6379, NULL, NULL, "pw", 0},
    {"redis://u:pw@h:7/1", "h", 7, NULL, "u", "pw", 1},
    {"redis://u:p:w@h", "h", 6379, NULL, "u", "p:w", 0},
    {"redis://:pw@[::1]:7", "::1", 7, NULL, NULL, "pw", 0},
    {"redis://u%3a:p%40%2F%3F%23%25%20@h", "h", 6379, NULL, "u:", "p@/?#% ", 0},
    {"redis://u:%C3%a9\xc3\xa9@h", "h", 6379, NULL, "u", "\xc3\xa9\xc3\xa9", 0},
    {"redis://:p%01%7f%0a@h", "h", 6379, NULL, NULL, "p\x01\x7f\n", 0},
    {"unix:///run/redis.sock", NULL, 0, "/run/redis.sock", NULL, NULL, 0},
    {"redis+unix:///s", NULL, 0, "/s", NULL, NULL, 0},
    {"valkey+unix:///s", NULL, 0, "/s", NULL, NULL, 0},
    {"unix:///s?db=3", NULL, 0, "/s", NULL, NULL, 3},
    {"unix://:pw@/s", NULL, 0, "/s", NULL, "pw", 0},
    {"unix://u:pw@/s?db=3", NULL, 0, "/s", "u", "pw", 3},
    {"unix:///a%20b%2fc%3Fd@e:f", NULL, 0, "/a b/c?d@e:f", NULL, NULL, 0},
};

/* clang-format on */

/* Several addresses: each with its port. */
static const struct list_case {
    const char *url, *list;
} lists[] = {
    {"redis://a,b", "a:6379 b:6379"},
    {"redis://a:1,b:2/7", "a:1 b:2"},
    {"redis://a:1,b", "a:1 b:6379"},
    {"redis://u:p@a:6379,b:6380,[::1]:7000/0", "a:6379 b:6380 ::1:7000"},
    {"redis://[::1],[::2]:1,10.0.0.1?db=2", "::1:6379 ::2:1 10.0.0.1:6379"},
    {"redis://a,a", "a:6379 a:6379"},
    {"valkey://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
     "1:6379 2:6379 3:6379 4:6379 5:6379 6:6379 7:6379 8:6379 9:6379 10:6379 11:6379 "
     "12:6379 "
     "13:6379 14:6379 15:6379 16:6379"},
};

static void assert_text(const char *url, const char *got, const char *want)
{
    if (!!got != !!want || (got && strcmp(got, want) != 0))
        fail_msg("%s: '%s', not '%s'", url, got ? got : "(none)",
                 want ? want : "(none)");
}

static void test_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        const struct address_case *c = &addresses[i];
        shoal_options_t *options = NULL;

        int rc = shoal_options_from_url(c->url, &options, NULL);
        if (rc != 0)
            fail_msg("%s: %s", c->url, shoal_error_name(rc));
        assert_text(c->url, options->addresses[0].host, c->host);
        assert_text(c->url, options->addresses[0].unix_path, c->path);
        assert_text(c->url, options->user, c->user);
        assert_text(c->url, options->password, c->password);
        if (c->host && options->addresses[0].port != c->port)
            fail_msg("%s: port %d", c->url, options->addresses[0].port);
        if (options->database != c->database)
            fail_msg("%s: database %d", c->url, options->database);
        shoal_options_free(options);
    }
}

static void test_missing_arguments(void **state)
{
    (void)state;
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_from_url(NULL, &options, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_options_from_url("redis://h", NULL, NULL), SHOAL_EINVAL);
}

static void test_a_path_has_the_length_that_the_system_takes(void **state)
{
    (void)state;
    char url[256];

    for (int bytes = 106; bytes <= 109; bytes++) {
        shoal_options_t *options = NULL;
        snprintf(url, sizeof url, "unix:///%0*d", bytes - 1, 7);
        int rc = shoal_options_from_url(url, &options, NULL);
        assert_int_equal(rc, bytes < 108 ? 0 : SHOAL_EURL);
        shoal_options_free(options);
    }
}

/* URLs with any byte in any place: the parser does not crash, and either refuses the
 * URL or gives an object. */
static void test_mutated_urls_never_break_the_parser(void **state)
{
    (void)state;
    static const char url[] =
        "redis://u:p%40w@[fe80::1%25a]:7/3?flush=fixed:5&timeout_ms=9";

    for (size_t at = 0; at < sizeof url - 1; at++)
        for (int byte = 1; byte < 256; byte++) {
            shoal_options_t *options = NULL;
            char mutant[sizeof url];

            memcpy(mutant, url, sizeof url);
            mutant[at] = (char)byte;
            int rc = shoal_options_from_url(mutant, &options, NULL);
            if (rc == 0) {
                assert_non_null(options->addresses[0].host);
                assert_in_range(options->addresses[0].port, 1, 65535);
                assert_non_null(options->password);
            } else {
                assert_int_equal(rc, SHOAL_EURL);
                assert_null(options);
            }
            shoal_options_free(options);
        }
}

static void test_from_url_survives_every_failed_allocation(void **state)
{
    (void)state;
    const char *const urls[] = {"redis://u:p@h:1/2?client_name=n&source_address=::1",
                                "unix://:p@/s"};

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        for (size_t allowed = 0;; allowed++) {
            shoal_options_t *options = NULL;

            shoal__test_fail_alloc_after(allowed);
            int rc = shoal_options_from_url(urls[i], &options, NULL);
            shoal__test_fail_alloc_never();
            if (rc == 0) {
                assert_true(allowed > 3);
                shoal_options_free(options);
                break;
            }
            assert_int_equal(rc, SHOAL_ENOMEM);
            assert_null(options);
        }
    }
}

static void test_several_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        shoal_options_t *options = NULL;
        char list[400] = "";

        assert_int_equal(shoal_options_from_url(lists[i].url, &options, NULL), 0);
        for (unsigned j = 0; j < options->addresses_count; j++)
            sprintf(list + strlen(list), "%s%s:%d", j ? " " : "",
                    options->addresses[j].host, options->addresses[j].port);
        assert_string_equal(list, lists[i].list);
        shoal_options_free(options);
    }
}

/* ---- sentinels ---- */

static shoal_options_t *read_sentinel_url(const char *url)
{
    shoal_options_t *options = NULL;
    shoal_error_t error = SHOAL_ERROR_INIT;

    if (shoal_options_from_url(url, &options, &error) != 0)
        fail_msg("%s: %s", url, error.text);
    return options;
}

static void test_sentinels(void **state)
{
    (void)state;
    shoal_options_t *options = read_sentinel_url(
        "redis+sentinel://u:p@a,b:1,[::1]:2/my%2fmaster/3?sentinel_user=su&"
        "sentinel_password=s%40p&protocol=2");

    assert_string_equal(options->sentinels.name, "my/master");
    assert_int_equal(options->sentinels.count, 3);
    assert_string_equal(options->sentinels.seeds[0].host, "a");
    assert_int_equal(options->sentinels.seeds[0].port, 26379);
    assert_string_equal(options->sentinels.seeds[1].host, "b");
    assert_int_equal(options->sentinels.seeds[1].port, 1);
    assert_string_equal(options->sentinels.seeds[2].host, "::1");
    assert_int_equal(options->sentinels.seeds[2].port, 2);
    assert_string_equal(options->sentinels.user, "su");
    assert_string_equal(options->sentinels.password, "s@p");
    assert_string_equal(options->user, "u");
    assert_string_equal(options->password, "p");
    assert_int_equal(options->database, 3);
    assert_int_equal(options->protocol, 2);
    shoal_options_free(options);

    options = read_sentinel_url("valkey+sentinel://h/m/?db=4");
    assert_string_equal(options->sentinels.name, "m");
    assert_null(options->sentinels.password);
    assert_int_equal(options->database, 4);
    shoal_options_free(options);
}

static void test_clusters(void **state)
{
    (void)state;
    shoal_options_t *options =
        read_sentinel_url("redis+cluster://u:p@a,b:1,[::1]:2/?protocol=2");

    assert_int_equal(options->topology, SHOAL_TOPOLOGY_CLUSTER);
    assert_int_equal(options->addresses_count, 3);
    assert_string_equal(options->addresses[0].host, "a");
    assert_int_equal(options->addresses[0].port, 6379);
    assert_int_equal(options->addresses[2].port, 2);
    assert_string_equal(options->user, "u");
    assert_int_equal(options->protocol, 2);
    shoal_options_free(options);
    options = read_sentinel_url("valkey+cluster://a");
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_CLUSTER);
    shoal_options_free(options);
    options = read_sentinel_url("redis://a");
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_STANDALONE);
    shoal_options_free(options);
}

static void test_topologies(void **state)
{
    static const struct {
        const char *url;
        shoal_topology_t topology;
    } cases[] = {
        {"redis://a?topology=standalone", SHOAL_TOPOLOGY_STANDALONE},
        {"redis://a,b?topology=auto", SHOAL_TOPOLOGY_AUTO},
        {"redis://a?topology=cluster", SHOAL_TOPOLOGY_CLUSTER},
        {"redis+cluster://a?topology=cluster", SHOAL_TOPOLOGY_CLUSTER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_options_t *options = parse(cases[i].url);
        assert_int_equal(options->topology, cases[i].topology);
        shoal_options_free(options);
    }
}

static void test_sentinels_that_are_refused(void **state)
{
    static const char *const urls[] = {
        "redis+sentinel://h",
        "redis+sentinel://h/",
        "redis+sentinel://h//1",
        "redis+sentinel:///m",
        "redis+sentinel://h,/m",
        "redis+sentinel://,h/m",
        "redis+sentinel://h:0/m",
        "redis+sentinel://h/m%20n",
        "redis+sentinel://h/m%zz",
        "redis+sentinel://h/m/x",
        "redis+sentinel://h/m/1/2",
        "redis+sentinel://h/m?sentinel_user=u",
        "redis+sentinel://h/m?sentinel_password=",
        "redis+sentinel://h/m?sentinel_password=p&sentinel_user=",
        "redis+sentinel://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17/m",
        "redis://h?sentinel_password=p",
        "redis://h?sentinel_user=u&sentinel_password=p",
        "sentinel://h/m",
    };

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        shoal_options_t *options = NULL;
        if (shoal_options_from_url(urls[i], &options, NULL) != SHOAL_EURL)
            fail_msg("'%s' is accepted", urls[i]);
        assert_null(options);
    }
}

/* It is as secret as the other one. */
static void test_the_sentinels_password_is_not_quoted(void **state)
{
    static const char *const urls[] = {
        "redis+sentinel://h/m?sentinel_password=a&s3cret",
        "redis+sentinel://h/m?sentinel_password=s3cret%zz",
        "redis+sentinel://h/m?sentinel_password=x&s3cret=1",
        "redis://h?sentinel_password=s3cret",
    };

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_options_t *options = NULL;
        assert_int_equal(shoal_options_from_url(urls[i], &options, &error), SHOAL_EURL);
        if (strstr(error.text, "s3cret"))
            fail_msg("%s: %s", urls[i], error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_several_addresses),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_a_path_has_the_length_that_the_system_takes),
        cmocka_unit_test(test_mutated_urls_never_break_the_parser),
        cmocka_unit_test(test_from_url_survives_every_failed_allocation),
        cmocka_unit_test(test_sentinels),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_topologies),
        cmocka_unit_test(test_sentinels_that_are_refused),
        cmocka_unit_test(test_the_sentinels_password_is_not_quoted),
    };
    return cmocka_run_group_tests_name("api/options_url", tests, NULL, NULL);
}
