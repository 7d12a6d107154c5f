/* SPDX-License-Identifier: MIT */
/* What stands behind the question mark of a URL. */
#include "unit/api/options_url_parse.h"

static void test_every_key_at_once(void **state)
{
    (void)state;
    shoal_options_t *o =
        parse("valkey://h?db=3&protocol=2&client_name=w%2B1&timeout_ms=1500"
              "&connect_timeout_ms=250&handshake_timeout_ms=251&stall_timeout_ms=252"
              "&ping_idle_ms=253&probe_ms=2500&backoff_base_ms=254&backoff_max_ms=255"
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
    assert_int_equal(o->probe_us, 2500000);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_at_once),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_that_is_refused),
        cmocka_unit_test(test_integrity),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_read_from),
        cmocka_unit_test(test_flush_modes),
    };
    return cmocka_run_group_tests_name("api/options_url.keys", tests, NULL, NULL);
}
