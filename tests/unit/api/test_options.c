/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/retry.h>

#include "base/alloc.h"
#include "core/options.h"

#define DAY_US UINT64_C(86400000000)
#define HOUR_US UINT64_C(3600000000)
#define TEN_MINUTES_US UINT64_C(600000000)
#define GIB (UINT64_C(1) << 30)
#define BAD SHOAL_EINVAL

static shoal_options_t *new_options(void)
{
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_new(&options), 0);
    return options;
}

/* The defaults that the public header promises. */
static void test_defaults(void **state)
{
    (void)state;
    shoal_options_t *o = new_options();

    assert_string_equal(o->addresses[0].host, "127.0.0.1");
    assert_int_equal(o->addresses[0].port, 6379);
    assert_null(o->addresses[0].unix_path);
    assert_null(o->user);
    assert_null(o->password);
    assert_int_equal(o->database, 0);
    assert_null(o->client_name);
    assert_int_equal(o->protocol, 3);
    assert_null(o->source_address);
    assert_int_equal(o->keepalive_us, 15000000);
    assert_int_equal(o->timeout_us, 5000000);
    assert_int_equal(o->connect_timeout_us, 2000000);
    assert_int_equal(o->handshake_timeout_us, 5000000);
    assert_int_equal(o->stall_timeout_us, 5000000);
    assert_int_equal(o->ping_idle_us, 10000000);
    assert_true(o->probe_us == SHOAL_PROBE_AUTO);
    assert_int_equal(o->backoff_base_us, 50000);
    assert_int_equal(o->backoff_max_us, 10000000);
    assert_int_equal(o->offline_mode, SHOAL_OFFLINE_QUEUE);
    assert_int_equal(o->integrity, SHOAL_INTEGRITY_DETECT);
    assert_true(o->is_settling);
    assert_int_equal(o->queued_max, 65536);
    assert_int_equal(o->inflight_max, 16384);
    assert_int_equal(o->bytes_max, 67108864);
    assert_int_equal(o->reply_bytes_max, 536870912);
    assert_int_equal(o->reply_elements_max, 16777216);
    assert_int_equal(o->reply_depth_max, 1024);
    assert_int_equal(o->flush_mode, SHOAL_FLUSH_AUTO);
    assert_int_equal(o->flush_pause_us, 100);
    assert_int_equal(o->attempts_max, 3);
    assert_null(o->on_event);
    assert_null(o->on_log);
    shoal_options_free(o);
    shoal_options_free(NULL);
}

/* A setter for each range, as a function of one number. */
/* clang-format off */
#define SETTER(name, call) static int name(shoal_options_t *o, uint64_t v) { return call; }
SETTER(port,          shoal_options_set_address(o, "h", (int)v))
SETTER(database,      shoal_options_set_database(o, (int)v))
SETTER(protocol,      shoal_options_set_protocol(o, (int)v))
SETTER(timeout,       shoal_options_set_timeout_us(o, v))
SETTER(connect_time,  shoal_options_set_connect_timeout_us(o, v, 1000))
SETTER(handshake,     shoal_options_set_connect_timeout_us(o, 1000, v))
SETTER(stall,         shoal_options_set_stall_timeout_us(o, v))
SETTER(ping_idle,     shoal_options_set_ping_idle_us(o, v))
SETTER(probe,         shoal_options_set_probe_us(o, v))
SETTER(backoff_base,  shoal_options_set_backoff_us(o, v, TEN_MINUTES_US))
SETTER(backoff_max,   shoal_options_set_backoff_us(o, 5000, v))
SETTER(offline,       shoal_options_set_offline_mode(o, (shoal_offline_mode_t)v))
SETTER(integrity,     shoal_options_set_integrity(o, (shoal_integrity_t)v))
SETTER(queued,        shoal_options_set_outstanding_max(o, (size_t)v, 1, 1024))
SETTER(inflight,      shoal_options_set_outstanding_max(o, 1, (size_t)v, 1024))
SETTER(bytes,         shoal_options_set_outstanding_max(o, 1, 1, v))
SETTER(reply_bytes,   shoal_options_set_reply_max(o, v, 1, 1))
SETTER(elements,      shoal_options_set_reply_max(o, 1024, v, 1))
SETTER(depth,         shoal_options_set_reply_max(o, 1024, 1, (int)v))
SETTER(flush_mode,    shoal_options_set_flush(o, (shoal_flush_mode_t)v, 1))
SETTER(fixed,         shoal_options_set_flush(o, SHOAL_FLUSH_FIXED, v))
SETTER(budget,        shoal_options_set_flush(o, SHOAL_FLUSH_AUTO, v))
SETTER(off,           shoal_options_set_flush(o, SHOAL_FLUSH_OFF, v))
SETTER(attempts,      shoal_options_set_attempts_max(o, (int)v))
SETTER(log_level,     shoal_options_set_on_log(o, (shoal_log_level_t)v, NULL, NULL))

SETTER(keepalive,     shoal_options_set_keepalive_us(o, v))

#define MINUS_ONE ((uint64_t)-1)

static const struct range_case {
    const char *name;
    int (*set)(shoal_options_t *options, uint64_t value);
    uint64_t good[3], bad[3];
} ranges[] = {
    /*                            good                            bad */
    {"port",         port,         {1, 6379, 65535},               {0, 65536, MINUS_ONE}},
    {"database",     database,     {0, 15, INT32_MAX},             {MINUS_ONE, INT32_MAX + UINT64_C(1), MINUS_ONE}},
    {"protocol",     protocol,     {2, 3, 3},                      {1, 4, MINUS_ONE}},
    {"timeout",      timeout,      {1, DAY_US, SHOAL_TIMEOUT_NEVER}, {0, DAY_US + 1, SHOAL_TIMEOUT_NEVER - 1}},
    {"connect",      connect_time, {1000, 2000000, TEN_MINUTES_US}, {0, 999, TEN_MINUTES_US + 1}},
    {"handshake",    handshake,    {1000, 2000000, TEN_MINUTES_US}, {0, 999, TEN_MINUTES_US + 1}},
    {"stall",        stall,        {10000, 5000000, HOUR_US},      {0, 9999, HOUR_US + 1}},
    {"ping_idle",    ping_idle,    {0, 10000, HOUR_US},            {1, 9999, HOUR_US + 1}},
    {"probe",        probe,        {0, 1000000, HOUR_US},          {1, 999999, HOUR_US + 1}},
    {"keepalive",    keepalive,    {0, 1000000, HOUR_US},          {1, 999999, HOUR_US + 1}},
    {"backoff base", backoff_base, {1000, 50000, 60000000},        {0, 999, 60000001}},
    {"backoff max",  backoff_max,  {5000, 50000, TEN_MINUTES_US},  {0, 4999, TEN_MINUTES_US + 1}},
    {"integrity",    integrity,    {0, 1, 2},                      {3, 99, MINUS_ONE}},
    {"offline",      offline,      {0, 1, 1},                      {2, 99, MINUS_ONE}},
    {"queued",       queued,       {1, 65536, 16777216},           {0, 16777217, MINUS_ONE}},
    {"inflight",     inflight,     {1, 16384, 1048576},            {0, 1048577, MINUS_ONE}},
    {"bytes",        bytes,        {1024, 67108864, 16 * GIB},     {0, 1023, 16 * GIB + 1}},
    {"reply bytes",  reply_bytes,  {1024, 67108864, 16 * GIB},     {0, 1023, 16 * GIB + 1}},
    {"elements",     elements,     {1, 16777216, INT32_MAX},       {0, INT32_MAX + UINT64_C(1), MINUS_ONE}},
    {"depth",        depth,        {1, 7, 1024},                   {0, 1025, MINUS_ONE}},
    {"flush mode",   flush_mode,   {0, 1, 2},                      {3, 99, MINUS_ONE}},
    {"fixed pause",  fixed,        {1, 150, 1000000},              {0, 1000001, MINUS_ONE}},
    {"budget",       budget,       {0, 1, 1000000},                {1000001, DAY_US, MINUS_ONE}},
    {"attempts",     attempts,     {1, 3, 100},                    {0, 101, MINUS_ONE}},
    {"log level",    log_level,    {0, 2, 3},                      {4, 99, MINUS_ONE}},
};
/* clang-format on */

/* Values at both ends of each range are kept; a value that is refused changes
 * nothing. */
static void test_ranges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        shoal_options_t *options = new_options();
        for (size_t k = 0; k < 3; k++) {
            shoal_options_t before = *options;
            if (ranges[i].set(options, ranges[i].bad[k]) != BAD)
                fail_msg("%s: bad value %d was taken", ranges[i].name, (int)k);
            assert_memory_equal(options, &before, sizeof before);
            if (ranges[i].set(options, ranges[i].good[k]) != 0)
                fail_msg("%s: good value %d was refused", ranges[i].name, (int)k);
            if (ranges[i].set(NULL, ranges[i].good[k]) != BAD)
                fail_msg("%s: no options object, no error", ranges[i].name);
        }
        shoal_options_free(options);
    }
}

static void test_values_arrive_where_they_belong(void **state)
{
    (void)state;
    shoal_options_t *o = new_options();

    assert_int_equal(shoal_options_set_connect_timeout_us(o, 1001, 1002), 0);
    assert_int_equal(o->connect_timeout_us, 1001);
    assert_int_equal(o->handshake_timeout_us, 1002);
    assert_int_equal(shoal_options_set_backoff_us(o, 1003, 1004), 0);
    assert_int_equal(o->backoff_base_us, 1003);
    assert_int_equal(o->backoff_max_us, 1004);
    assert_int_equal(shoal_options_set_outstanding_max(o, 5, 6, 1024), 0);
    assert_int_equal(o->queued_max, 5);
    assert_int_equal(o->inflight_max, 6);
    assert_int_equal(o->bytes_max, 1024);
    assert_int_equal(shoal_options_set_reply_max(o, 2048, 7, 8), 0);
    assert_int_equal(o->reply_bytes_max, 2048);
    assert_int_equal(o->reply_elements_max, 7);
    assert_int_equal(o->reply_depth_max, 8);
    assert_int_equal(shoal_options_set_timeout_us(o, SHOAL_TIMEOUT_NEVER), 0);
    assert_true(o->timeout_us == SHOAL_TIMEOUT_NEVER);
    assert_int_equal(shoal_options_set_probe_us(o, SHOAL_PROBE_AUTO), 0);
    assert_true(o->probe_us == SHOAL_PROBE_AUTO);
    assert_int_equal(shoal_options_set_ping_idle_us(o, 0), 0);
    assert_int_equal(o->ping_idle_us, 0);
    shoal_options_free(o);
}

static void test_flush_modes(void **state)
{
    (void)state;
    shoal_options_t *o = new_options();

    assert_int_equal(fixed(o, 150), 0);
    assert_int_equal(o->flush_mode, SHOAL_FLUSH_FIXED);
    assert_int_equal(o->flush_pause_us, 150);
    assert_int_equal(off(o, MINUS_ONE), 0); /* the mode "off" has no pause */
    assert_int_equal(o->flush_mode, SHOAL_FLUSH_OFF);
    assert_int_equal(o->flush_pause_us, 0);
    assert_int_equal(budget(o, 20), 0);
    assert_int_equal(o->flush_pause_us, 20);
    assert_int_equal(budget(o, 0), 0);
    assert_int_equal(o->flush_mode, SHOAL_FLUSH_AUTO);
    assert_int_equal(o->flush_pause_us, 100);
    shoal_options_free(o);
}

static void test_addresses_replace_each_other(void **state)
{
    (void)state;
    shoal_options_t *o = new_options();
    char host[] = "example.org", path[200];

    assert_int_equal(shoal_options_set_address(o, host, 7), 0);
    memset(host, 'x', sizeof host - 1); /* the options have a copy */
    assert_string_equal(o->addresses[0].host, "example.org");
    assert_int_equal(o->addresses[0].port, 7);

    assert_int_equal(shoal_options_set_unix_path(o, "/tmp/s"), 0);
    assert_string_equal(o->addresses[0].unix_path, "/tmp/s");
    assert_null(o->addresses[0].host);
    assert_int_equal(shoal_options_set_address(o, "h", 8), 0);
    assert_null(o->addresses[0].unix_path);

    memset(path, 'p', sizeof path);
    path[107] = '\0';
    assert_int_equal(shoal_options_set_unix_path(o, path), 0);
    path[107] = 'p';
    path[108] = '\0';
    assert_int_equal(shoal_options_set_unix_path(o, path), BAD);
    assert_int_equal(shoal_options_set_unix_path(o, ""), BAD);
    assert_int_equal(shoal_options_set_unix_path(o, NULL), BAD);
    assert_int_equal(shoal_options_set_unix_path(NULL, "/s"), BAD);
    assert_int_equal(shoal_options_set_address(o, "", 1), BAD);
    assert_int_equal(shoal_options_set_address(o, NULL, 1), BAD);
    assert_int_equal(strlen(o->addresses[0].unix_path), 107);
    shoal_options_free(o);
}

static void test_addresses_are_added(void **state)
{
    (void)state;
    shoal_options_t *o = new_options();

    assert_int_equal(shoal_options_add_address(o, "a", 1), 0); /* not the default's */
    assert_int_equal(shoal_options_add_unix_path(o, "/s"), 0);
    assert_int_equal(shoal_options_add_address(o, "a", 1), 0);
    assert_int_equal(o->addresses_count, 3);
    assert_string_equal(o->addresses[0].host, "a");
    assert_string_equal(o->addresses[1].unix_path, "/s");
    assert_null(o->addresses[1].host);
    assert_string_equal(o->addresses[2].host, "a");

    for (int i = 3; i < 16; i++)
        assert_int_equal(shoal_options_add_address(o, "b", i), 0);
    assert_int_equal(shoal_options_add_address(o, "b", 16), BAD);
    assert_int_equal(shoal_options_add_unix_path(o, "/s"), BAD);
    assert_int_equal(o->addresses_count, 16);
    assert_int_equal(o->addresses[15].port, 15);

    assert_int_equal(shoal_options_set_unix_path(o, "/t"), 0);
    assert_int_equal(o->addresses_count, 1);
    assert_int_equal(shoal_options_add_address(o, "", 1), BAD);
    assert_int_equal(shoal_options_add_address(o, "h", 0), BAD);
    assert_int_equal(shoal_options_add_address(o, "h", 65536), BAD);
    assert_int_equal(shoal_options_add_unix_path(o, ""), BAD);
    assert_int_equal(o->addresses_count, 1);
    shoal_options_free(o);
}

static void test_credentials(void **state)
{
    (void)state;
    shoal_options_t *o = new_options();

    assert_int_equal(shoal_options_set_auth(o, "u", NULL), BAD);
    assert_int_equal(shoal_options_set_auth(NULL, NULL, "p"), BAD);
    assert_int_equal(shoal_options_set_auth(o, "u", "p"), 0);
    assert_string_equal(o->user, "u");
    assert_string_equal(o->password, "p");
    assert_int_equal(shoal_options_set_auth(o, "v", NULL), BAD);
    assert_string_equal(o->user, "u");
    assert_int_equal(shoal_options_set_auth(o, NULL, "q"), 0);
    assert_null(o->user);
    assert_string_equal(o->password, "q");
    assert_int_equal(shoal_options_set_auth(o, NULL, NULL), 0);
    assert_null(o->password);
    shoal_options_free(o);
}

static void test_client_names(void **state)
{
    (void)state;
    const char *const bad[] = {"", "a b", "a\nb", "\x7f", "\xc3\xa9", " ", "tab\t"};
    shoal_options_t *o = new_options();

    assert_int_equal(shoal_options_set_client_name(o, "!worker:7~"), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(shoal_options_set_client_name(o, bad[i]), BAD);
    assert_string_equal(o->client_name, "!worker:7~");
    assert_int_equal(shoal_options_set_client_name(o, NULL), 0);
    assert_null(o->client_name);
    assert_int_equal(shoal_options_set_client_name(NULL, "n"), BAD);
    shoal_options_free(o);
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client, (void)event, (void)data;
}

static void on_log(shoal_log_level_t level, const char *line, void *data)
{
    (void)level, (void)line, (void)data;
}

static shoal_options_t *new_full_options(void)
{
    static int data;
    shoal_options_t *o = new_options();

    shoal_options_set_address(o, "h", 1);
    shoal_options_set_auth(o, "u", "p");
    shoal_options_set_client_name(o, "n");
    shoal_options_set_database(o, 9);
    shoal_options_set_on_event(o, on_event, &data);
    shoal_options_set_on_log(o, SHOAL_LOG_DEBUG, on_log, &data);
    return o;
}

static void test_new_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal_options_t *made = NULL;

        shoal__test_fail_alloc_after(allowed);
        int rc = shoal_options_new(&made);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            assert_int_equal(allowed, 2);
            shoal_options_free(made);
            break;
        }
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_null(made);
    }
    assert_int_equal(shoal_options_new(NULL), BAD);
}

/* A setter that finds no memory leaves the old value. */
static void test_setters_survive_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0; allowed < 2; allowed++) {
        shoal_options_t *o = new_full_options();

        shoal__test_fail_alloc_after(0);
        assert_int_equal(shoal_options_set_address(o, "x", 5), SHOAL_ENOMEM);
        assert_int_equal(shoal_options_set_unix_path(o, "/x"), SHOAL_ENOMEM);
        assert_int_equal(shoal_options_add_address(o, "x", 5), SHOAL_ENOMEM);
        assert_int_equal(o->addresses_count, 1);
        assert_int_equal(shoal_options_set_client_name(o, "x"), SHOAL_ENOMEM);
        shoal__test_fail_alloc_after(allowed);
        assert_int_equal(shoal_options_set_auth(o, "x", "x"), SHOAL_ENOMEM);
        shoal__test_fail_alloc_never();

        assert_string_equal(o->addresses[0].host, "h");
        assert_int_equal(o->addresses[0].port, 1);
        assert_null(o->addresses[0].unix_path);
        assert_string_equal(o->client_name, "n");
        assert_string_equal(o->user, "u");
        assert_string_equal(o->password, "p");
        shoal_options_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_values_arrive_where_they_belong),
        cmocka_unit_test(test_flush_modes),
        cmocka_unit_test(test_addresses_replace_each_other),
        cmocka_unit_test(test_addresses_are_added),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_client_names),
        cmocka_unit_test(test_new_survives_every_failed_allocation),
        cmocka_unit_test(test_setters_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("api/options", tests, NULL, NULL);
}
