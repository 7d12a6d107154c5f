/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <shoal/errors.h>

#include "base/alloc.h"
#include "core/options.h"

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

static const char *const malformed[] = {
    /* schemes */
    "", "redis", "redis:", "redis:/", "redis://", "redis:h", "redis:/h", "//h", "h:6379",
    "://h", "http://h", "redi://h", "redisx://h",
    "redis+tcp://h", "unix+redis:///s", " redis://h", "REDIS://h", "redis%3a//h",
    /* hosts */
    "redis:///0", "redis://:6379", "redis://u:pw@", "redis://u:pw@/0", "redis://u:pw@:1",
    "redis://a b", "redis://a%20b", "redis://h%41", "redis://h\\",
    "redis://,", "redis://a,", "redis://,a", "redis://a,,b", "redis://a:1,b:", "redis://a,b@c",
    "redis://a:1,:2", "redis://a/0,b", "redis://a%2cb", "redis://[::1],", "redis://[::1,::2]",
    "redis://u:p@a,u:p@b", "redis://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    "unix:///a,unix:///b?x",
    "redis://::1", "redis://1:2:3", "redis://[::1", "redis://::1]", "redis://[]",
    "redis://[::1]x", "redis://[::1]7", "redis://[::1]:", "redis://[h]",
    "redis://[10.0.0.1]", "redis://[::g]", "redis://[1::2::3]", "redis://[::1%25]",
    "redis://[fe80::1%eth0]", "redis://[::1%2]", "redis://[::1%25a/b]", "redis://[[::1]]",
    "redis://x[::1]", "redis://[::1%00]",
    /* ports */
    "redis://h:", "redis://h:/0", "redis://h:0", "redis://h:65536", "redis://h:-1",
    "redis://h:+1", "redis://h:1x", "redis://h:x", "redis://h: 1", "redis://h:0x10",
    "redis://h:99999999999999999999", "redis://h:%31",
    /* credentials */
    "redis://@h", "redis://u@h", "redis://u:@h", "redis://:@h", "redis://u:p@w@h",
    "redis://u:p%@h", "redis://u:p%4@h", "redis://u:p%4g@h", "redis://u:p%g4@h",
    "redis://u%00:p@h", "redis://u:p%00@h", "redis://u:p/w@h", "redis://u:p?w@h",
    "redis://u:p#w@h", "redis://u:1?w@h", "redis://u:p w@h", "redis://u:p\nw@h",
    "redis://:%00@h", "redis://u:p\x7f@h",
    /* databases */
    "redis://h/x", "redis://h/-1", "redis://h/+1", "redis://h/1x", "redis://h/1/",
    "redis://h//", "redis://h//1", "redis://h/2147483648", "redis://h/ 1",
    "redis://h/%31", "redis://h/99999999999999999999", "redis://h/1?db=1",
    "redis://h?db=", "redis://h?db=-1", "redis://h?db=x", "redis://h?db=2147483648",
    /* Unix sockets */
    "unix://", "unix:///", "unix://s", "unix://h/s", "unix://h:1/s", "unix://u@/s",
    "unix://u:p@h/s", "unix://u:p@", "unix:///s%00", "unix:///s%", "unix:///s%zz",
    "unix:///s#x", "unix:/s", "unix:s", "unix:///a b",
    /* queries */
    "redis://h?", "redis://h/?", "redis://h?x", "redis://h?x=1", "redis://h?=1",
    "redis://h?db=1&", "redis://h?&db=1", "redis://h?db=1&&protocol=2",
    "redis://h?db=1&db=1", "redis://h?db", "redis://h?DB=1", "redis://h?d%62=1",
    "redis://h?db=1?protocol=2", "redis://h?db=1;protocol=2", "redis://h?db=1#x",
    "redis://h#", "redis://h?protocol=", "redis://h?protocol=1", "redis://h?protocol=4",
    "redis://h?protocol=3.0", "redis://h?client_name=", "redis://h?client_name=a%20b",
    "redis://h?client_name=%00", "redis://h?client_name=%", "redis://h?timeout_ms=0",
    "redis://h?timeout_ms=86400001", "redis://h?timeout_ms=-1", "redis://h?timeout_ms=1.5",
    "redis://h?timeout_ms=99999999999999999999", "redis://h?connect_timeout_ms=0",
    "redis://h?connect_timeout_ms=600001", "redis://h?flush=", "redis://h?flush=on",
    "redis://h?flush=AUTO", "redis://h?flush=fixed", "redis://h?flush=fixed:",
    "redis://h?flush=fixed:0", "redis://h?flush=fixed:1000001", "redis://h?flush=fixed:x",
    "redis://h?flush=off&budget_us=5", "redis://h?budget_us=5&flush=fixed:5",
    "redis://h?budget_us=", "redis://h?budget_us=1000001", "redis://h?budget_us=x",
    "redis://h?offline=", "redis://h?offline=drop", "redis://h?password=x",
    "redis://h?integrity=", "redis://h?integrity=STRICT", "redis://h?integrity=off",
    "redis://h?timeout_ms=NEVER", "redis://h?connect_timeout_ms=never",
    "redis://h?handshake_timeout_ms=0", "redis://h?stall_timeout_ms=9",
    "redis://h?ping_idle_ms=9", "redis://h?ping_idle_ms=3600001",
    "redis://h?backoff_base_ms=0", "redis://h?backoff_base_ms=20000", /* over the maximum */
    "redis://h?backoff_max_ms=49", "redis://h?keepalive_ms=999",
    "redis://h?keepalive_ms=3600001", "redis://h?keepalive_ms=9223372036854775807",
    "redis://h?source_address=", "redis://h?source_address=localhost",
    "redis://h?source_address=[::1]", "redis://h?source_address=1.2.3.4:5",
    "redis://h?queued_max=0", "redis://h?queued_max=16777217",
    "redis://h?queued_max=4294967297", "redis://h?inflight_max=0",
    "redis://h?bytes_max=1023", "redis://h?reply_bytes_max=1023",
    "redis://h?reply_elements_max=0", "redis://h?reply_depth_max=1025",
    "redis://h?attempts_max=0", "redis://h?attempts_max=101",
    "redis://h?attempts_max=4294967297",
    "redis://h?connections=0", "redis://h?connections=9", "redis://h?connections=-1",
    "redis://h?connections=4294967297", "redis://h?connections=two",
    "redis://h?connections_max=0", "redis://h?connections_max=4097", "redis://h?connections_max=x",
    "redis://h?read_from=", "redis://h?read_from=replicas", "redis://h?zone=", "redis://h?settle=", "redis://h?bulk_lane=on", "redis://h?maintenance=on", "redis://h?settle=1", "redis://h?settle=yes&settle=yes",
    "redis://h?topology=", "redis://h?topology=sentinel", "redis://h?topology=Auto",
    "redis+cluster://h?topology=auto", "redis+cluster://h?topology=standalone",
    "unix:///s?", "unix:///s?x=1", "unix:///s?db=1&db=2",
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

static void test_malformed_urls_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        shoal_options_t *options = NULL;
        int rc = shoal_options_from_url(malformed[i], &options, NULL);
        if (rc != SHOAL_EURL)
            fail_msg("%s: %s", malformed[i], shoal_error_name(rc));
        assert_null(options);
    }
}

#define TEN "aaaa/bbbb/"
#define LONG_PATH                                                                      \
    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "xxxxx" /* with its slash 106 */

/* clang-format off */
static const struct reason_case {
    const char *url, *reason;
} reasons[] = {
    {"h:6379", "the URL does not begin with redis://, rediss://, valkey://, valkeys:// or "
               "unix://"},
    {"http://h",
     "the scheme 'http' is not known: redis, valkey, unix, and redis or valkey with +unix, "
     "+sentinel or +cluster are; with TLS rediss and valkeys"},
    {"redis://h h",
     "a blank, a control character or a # stands in the URL: write it as %XX"},
    {"redis://a;b", "the host 'a;b' is neither a name nor an address"},
    {"redis://u:pw@a;b", "the host 'a;b' is neither a name nor an address"},
    {"redis://a,", "the host '' is neither a name nor an address"},
    {"redis://a:1,b:x", "the port is not a number from 1 to 65535 (behind a password there must be "
                        "an @)"},
    {"redis://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
     "the URL has more than 16 addresses"},
    {"redis://[::g]", "the address '::g' is no IPv6 address in brackets"},
    {"redis://h:65536", "the port '65536' is not a number from 1 to 65535"},
    {"redis://u@h",
     "what stands before the @ is not [user]:password with special characters written as "
     "%XX"},
    {"redis://h/x", "db: 'x' is not a value that it can have (shoal/options.h)"},
    {"redis://h/1?db=2", "the key 'db' is said twice"},
    {"unix://", "the path of the socket is missing: unix:///path/of/socket"},
    {"unix://h/s", "a Unix socket has a path and no host: unix:///path/of/socket"},
    {"unix:///s%zz", "the path '/s%zz' has a wrong %XX"},
    {"unix:///" LONG_PATH "%2fx",
     "the path of the socket has 108 bytes; this system allows 107"},
    {"redis://h?x", "the setting 'x' is not key=value"},
    {"redis://h?tiemout_ms=1", "the key 'tiemout_ms' is not known"},
    {"redis://h?password=x", "the key 'password' is not known"},
    {"redis://h?timeout_ms=1.5",
     "timeout_ms: '1.5' is not a value that it can have (shoal/options.h)"},
    {"redis://u:pw@h?timeout_ms=1.5",
     "timeout_ms: '1.5' is not a value that it can have (shoal/options.h)"},
    {"redis://h?client_name=a%0ab",
     "client_name: 'a\\x0ab' is not a value that it can have (shoal/options.h)"},
    {"redis://h?attempts_max=101", "attempts_max: '101' is out of range"},
    {"redis://h?bytes_max=1023", "bytes_max: '1023' is out of range"},
    {"redis://h?reply_bytes_max=1023", "reply_bytes_max: '1023' is out of range"},
    {"redis://h?backoff_base_ms=90&backoff_max_ms=50",
     "backoff_base_ms: '90', backoff_max_ms: '50' do not go together, or are out of range"},
    {"redis://h?flush=off&budget_us=5",
     "flush: 'off', budget_us: '5' do not go together, or are out of range"},
    {"redis://h?offline=a@b", "offline: is not a value that it can have (shoal/options.h)"},
};
/* clang-format on */

static void test_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_options_t *options;

        assert_int_equal(shoal_options_from_url(reasons[i].url, &options, &error),
                         SHOAL_EURL);
        assert_int_equal(error.code, SHOAL_EURL);
        assert_string_equal(error.text, reasons[i].reason);
    }
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_options_t *options;

        assert_int_equal(shoal_options_from_url(malformed[i], &options, &error),
                         SHOAL_EURL);
        if (!error.text[0] || strcmp(error.text, shoal_strerror(SHOAL_EURL)) == 0)
            fail_msg("%s: '%s'", malformed[i], error.text);
    }
}

/* If the URL lacks its @, the text after the colon may be a password, unless it is a
 * number. */
static void test_a_forgotten_at_quotes_no_password(void **state)
{
    static const char *const urls[] = {
        "redis://user:hunter2",      "redis://:hunter2",      "redis://user:hunter2/0",
        "redis://user:hunter2?db=1", "redis://[::1]:hunter2", "redis://user:7hunter2"};
    (void)state;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_options_t *options = NULL;

        assert_int_equal(shoal_options_from_url(urls[i], &options, &error), SHOAL_EURL);
        assert_null(strstr(error.text, "hunter"));
    }
}

/* A special character of a password that is not written as %XX can end the authority
 * anywhere in the password. */
static void test_no_reason_quotes_a_password(void **state)
{
    static const char secret[] = "q7zk9xj4vw", special[] = ":/?#[]@!&=%+;, ";
    (void)state;

    for (size_t at = 0; at < sizeof secret; at++) {
        for (const char *c = special; *c; c++) {
            shoal_error_t error = SHOAL_ERROR_INIT;
            shoal_options_t *options = NULL;
            char url[128];

            snprintf(url, sizeof url, "redis://u:%.*s%c%s@h,?x=1", (int)at, secret, *c,
                     secret + at);
            assert_int_equal(shoal_options_from_url(url, &options, &error), SHOAL_EURL);
            for (size_t i = 0; i + 3 < sizeof secret; i++)
                if (strstr(error.text,
                           (char[]){secret[i], secret[i + 1], secret[i + 2], '\0'}))
                    fail_msg("%s: %s", url, error.text);
        }
    }
}

static void test_an_error_without_a_size(void **state)
{
    shoal_error_t error = {.size = 0, .text = "untouched"};
    shoal_options_t *options;
    (void)state;

    assert_int_equal(shoal_options_from_url("redis://h", &options, &error),
                     SHOAL_EINVAL);
    assert_string_equal(error.text, "untouched");
    assert_null(options);
}

static void test_missing_arguments(void **state)
{
    (void)state;
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_from_url(NULL, &options, NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_options_from_url("redis://h", NULL, NULL), SHOAL_EINVAL);
}

static shoal_options_t *parse(const char *url)
{
    shoal_options_t *options = NULL;
    int rc = shoal_options_from_url(url, &options, NULL);
    if (rc != 0)
        fail_msg("%s: %s", url, shoal_error_name(rc));
    return options;
}

static void test_every_key_at_once(void **state)
{
    (void)state;
    shoal_options_t *o =
        parse("valkey://h?db=3&protocol=2&client_name=w%2B1&timeout_ms=1500"
              "&connect_timeout_ms=250&handshake_timeout_ms=251&stall_timeout_ms=252"
              "&ping_idle_ms=253&backoff_base_ms=254&backoff_max_ms=255"
              "&keepalive_ms=7000&source_address=127.0.0.2&queued_max=11"
              "&inflight_max=12&bytes_max=1300&reply_bytes_max=1400"
              "&reply_elements_max=15&reply_depth_max=16&attempts_max=17"
              "&flush=auto&budget_us=20&offline=fail");

    assert_int_equal(o->database, 3);
    assert_int_equal(o->protocol, 2);
    assert_string_equal(o->client_name, "w+1");
    assert_int_equal(o->timeout_us, 1500000);
    assert_int_equal(o->connect_timeout_us, 250000);
    assert_int_equal(o->handshake_timeout_us, 251000);
    assert_int_equal(o->stall_timeout_us, 252000);
    assert_int_equal(o->ping_idle_us, 253000);
    assert_int_equal(o->backoff_base_us, 254000);
    assert_int_equal(o->backoff_max_us, 255000);
    assert_int_equal(o->keepalive_us, 7000000);
    assert_string_equal(o->source_address, "127.0.0.2");
    assert_int_equal(o->queued_max, 11);
    assert_int_equal(o->inflight_max, 12);
    assert_int_equal(o->bytes_max, 1300);
    assert_int_equal(o->reply_bytes_max, 1400);
    assert_int_equal(o->reply_elements_max, 15);
    assert_int_equal(o->reply_depth_max, 16);
    assert_int_equal(o->attempts_max, 17);
    assert_int_equal(o->flush_mode, SHOAL_FLUSH_AUTO);
    assert_int_equal(o->flush_pause_us, 20);
    assert_int_equal(o->offline_mode, SHOAL_OFFLINE_FAIL);
    shoal_options_free(o);

    o = parse("unix:///s?timeout_ms=never&ping_idle_ms=0&keepalive_ms=0"
              "&source_address=2001:db8::7");
    assert_int_equal(o->timeout_us, SHOAL_TIMEOUT_NEVER);
    assert_int_equal(o->ping_idle_us, 0);
    assert_int_equal(o->keepalive_us, 0);
    assert_string_equal(o->source_address, "2001:db8::7");
    shoal_options_free(o);
}

static void test_tls(void **state)
{
    static const char *const urls[] = {"rediss://u:p@h:7/2?", "valkeys://u:p@h:7/2?",
                                       "rediss+unix://u:p@/s?",
                                       "valkeys+unix://u:p@/s?"};
    static const char keys[] = "tls_ca_file=%2Fa%20b&tls_ca_dir=/c&tls_cert_file=/d"
                               "&tls_key_file=/e&tls_server_name=n&tls_min_version=1.3"
                               "&tls_ciphers=x&tls_ciphersuites=y";
    char url[300];

    (void)state;
    if (!shoal_has_tls()) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_options_t *o;
        assert_int_equal(shoal_options_from_url("rediss://h", &o, &error), SHOAL_ETLS);
        assert_string_equal(error.text,
                            "rediss:// needs TLS, and this library was built without");
        skip();
    }
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        snprintf(url, sizeof url, "%s%s", urls[i], keys);
        shoal_options_t *o = parse(url);
        assert_true(o->tls.is_on);
        assert_false(o->tls.is_insecure);
        assert_string_equal(o->password, "p");
        assert_string_equal(o->tls.ca_file, "/a b");
        assert_string_equal(o->tls.ca_dir, "/c");
        assert_string_equal(o->tls.cert_file, "/d");
        assert_string_equal(o->tls.key_file, "/e");
        assert_string_equal(o->tls.server_name, "n");
        assert_int_equal(o->tls.min_version, SHOAL_TLS_1_3);
        assert_string_equal(o->tls.ciphers, "x");
        assert_string_equal(o->tls.ciphersuites, "y");
        shoal_options_free(o);
    }

    shoal_options_t *plain = parse("rediss://h?tls_min_version=1.2&tls_cert_file=c");
    assert_int_equal(plain->tls.min_version, SHOAL_TLS_1_2);
    assert_string_equal(plain->tls.cert_file, "c");
    assert_null(plain->tls.key_file);
    shoal_options_free(plain);
    plain = parse("redis://h");
    assert_false(plain->tls.is_on);
    shoal_options_free(plain);
}

static void test_tls_that_is_refused(void **state)
{
    static const struct {
        const char *url, *reason;
    } cases[] = {
        {"redis://h?tls_ca_file=x",
         "the key 'tls_ca_file' needs TLS: rediss:// instead of redis://"},
        {"rediss://h?tls_min_version=1.1",
         "tls_min_version: '1.1' is not a value that it can have (shoal/options.h)"},
        {"rediss://h?tls_key_file=k", "tls_key_file: 'k' is out of range"},
        {"rediss://h?tls_ca_file=",
         "tls_ca_file: '' is not a value that it can have (shoal/options.h)"},
        {"rediss://h?tls_cert_file=",
         "tls_cert_file: '' is not a value that it can have (shoal/options.h)"},
        {"rediss://h?tls_cert_file=c&tls_key_file=",
         "tls_key_file: '' is not a value that it can have (shoal/options.h)"},
        {"rediss://h?tls_insecure=yes", "the key 'tls_insecure' is not known"},
    };

    (void)state;
    if (!shoal_has_tls())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_options_t *o;
        assert_int_equal(shoal_options_from_url(cases[i].url, &o, &error), SHOAL_EURL);
        assert_string_equal(error.text, cases[i].reason);
    }
}

/* clang-format off */
static const struct integrity_case {
    const char *url;
    shoal_integrity_t integrity;
    bool is_settling, has_bulk_lane, heeds_notices;
    unsigned connections;
} integrities[] = {
    {"redis://h",                            SHOAL_INTEGRITY_DETECT, true, true, true, 1},
    {"redis://h?integrity=shapes&bulk_lane=no&maintenance=yes&connections=1", SHOAL_INTEGRITY_SHAPES, true, false, true, 1},
    {"redis://h?integrity=detect&settle=no", SHOAL_INTEGRITY_DETECT, false, true, true, 1},
    {"unix:///s?settle=yes&integrity=strict&bulk_lane=yes&maintenance=no&connections=8", SHOAL_INTEGRITY_STRICT,
     true, true, false, 8},
};
/* clang-format on */

static void test_order(void **state)
{
    shoal_options_t *o;
    (void)state;

    assert_int_equal(shoal_options_from_url("redis://h?order=strict", &o, NULL), 0);
    assert_int_equal(o->order, SHOAL_ORDER_STRICT);
    assert_int_equal(shoal_options_set_order(o, (shoal_order_t)2), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_order(o, SHOAL_ORDER_MARK), 0);
    assert_int_equal(o->order, SHOAL_ORDER_MARK);
    shoal_options_free(o);
    assert_int_equal(shoal_options_from_url("redis://h?order=", &o, NULL), SHOAL_EURL);
    assert_int_equal(shoal_options_from_url("redis://h?order=none", &o, NULL),
                     SHOAL_EURL);
}

static void test_read_from(void **state)
{
    static const char *const words[] = {"primary", "replica_preferred", "replica",
                                        "zone", "zone_or_primary"};
    char url[64];
    (void)state;

    for (int i = 0; i < 5; i++) {
        snprintf(url, sizeof url, "redis://h?read_from=%s", words[i]);
        shoal_options_t *o = parse(url);
        assert_int_equal(o->read_from, i);
        assert_null(o->zone);
        shoal_options_free(o);
    }
    shoal_options_t *o = parse("redis://h?read_from=zone&zone=eu-1a");
    assert_string_equal(o->zone, "eu-1a");
    shoal_options_free(o);
}

static void test_integrity(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof integrities / sizeof *integrities; i++) {
        shoal_options_t *o = parse(integrities[i].url);

        assert_int_equal(o->integrity, integrities[i].integrity);
        assert_int_equal(o->is_settling, integrities[i].is_settling);
        assert_int_equal(o->has_bulk_lane, integrities[i].has_bulk_lane);
        assert_int_equal(o->heeds_notices, integrities[i].heeds_notices);
        assert_int_equal(o->connections, integrities[i].connections);
        shoal_options_free(o);
    }
}

/* clang-format off */
static const struct flush_case {
    const char *url;
    shoal_flush_mode_t mode;
    uint64_t pause_us;
} flushes[] = {
    {"redis://h",                          SHOAL_FLUSH_AUTO,  100},
    {"redis://h?flush=auto",               SHOAL_FLUSH_AUTO,  100},
    {"redis://h?budget_us=0",              SHOAL_FLUSH_AUTO,  100},
    {"redis://h?budget_us=1",              SHOAL_FLUSH_AUTO,    1},
    {"redis://h?budget_us=50&flush=auto",  SHOAL_FLUSH_AUTO,   50},
    {"redis://h?flush=off",                SHOAL_FLUSH_OFF,     0},
    {"redis://h?flush=fixed:150",          SHOAL_FLUSH_FIXED, 150},
    {"redis://h?flush=fixed%3A150",        SHOAL_FLUSH_FIXED, 150},
    {"unix:///s?flush=fixed:1000000",      SHOAL_FLUSH_FIXED, 1000000},
};
/* clang-format on */

static void test_flush_modes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof flushes / sizeof *flushes; i++) {
        shoal_options_t *options = parse(flushes[i].url);
        if (options->flush_mode != flushes[i].mode ||
            options->flush_pause_us != flushes[i].pause_us)
            fail_msg("%s: mode %u", flushes[i].url, options->flush_mode);
        shoal_options_free(options);
    }
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
        {"rediss://a?topology=cluster", SHOAL_TOPOLOGY_CLUSTER},
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
        cmocka_unit_test(test_malformed_urls_are_refused),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_a_forgotten_at_quotes_no_password),
        cmocka_unit_test(test_no_reason_quotes_a_password),
        cmocka_unit_test(test_an_error_without_a_size),
        cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_every_key_at_once),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_that_is_refused),
        cmocka_unit_test(test_integrity),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_read_from),
        cmocka_unit_test(test_flush_modes),
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
