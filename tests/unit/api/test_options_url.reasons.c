/* SPDX-License-Identifier: MIT */
/* What is said of a URL that is refused: where it is wrong, and no password. */
#include "unit/api/options_url_parse.h"

/* clang-format off */
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
    "redis://h?probe_ms=999", "redis://h?probe_ms=3600001",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_urls_are_refused),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_a_forgotten_at_quotes_no_password),
        cmocka_unit_test(test_no_reason_quotes_a_password),
        cmocka_unit_test(test_an_error_without_a_size),
    };
    return cmocka_run_group_tests_name("api/options_url.reasons", tests, NULL, NULL);
}
