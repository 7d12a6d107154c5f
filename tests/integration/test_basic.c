/* SPDX-License-Identifier: MIT */
/* Everyday use against a real server. */
#include "support/live.h"
#include "support/redis_process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result of the last call.  take() borrows its reply; release() ends it. */
static shoal_result_t *held;

static const shoal_reply_t *take(int rc)
{
    assert_int_equal(rc, 0);
    if (shoal_result_status(held) != 0)
        fail_msg("%s: %s", shoal_error_name(shoal_result_status(held)),
                 shoal_result_detail(held));
    return shoal_result_reply(held);
}

static void release(void)
{
    shoal_result_release(held);
    held = NULL;
}

static void check_text(int rc, shoal_reply_type_t type, const char *text)
{
    size_t bytes = 0;
    const shoal_reply_t *reply = take(rc);
    assert_int_equal(shoal_reply_type(reply), type);
    const char *data = shoal_reply_string(reply, &bytes);
    assert_int_equal(bytes, strlen(text));
    assert_memory_equal(data, text, bytes);
    release();
}

static void check_integer(int rc, int64_t value)
{
    const shoal_reply_t *reply = take(rc);
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_INTEGER);
    assert_int_equal(shoal_reply_integer(reply), value);
    release();
}

static void check_everyday(shoal_client_t *client)
{
    check_text(shoal_client_callf(client, &held, "FLUSHALL"), SHOAL_REPLY_STATUS, "OK");
    check_text(shoal_client_callf(client, &held, "SET %s %s", "key", "a value"),
               SHOAL_REPLY_STATUS, "OK");
    check_text(shoal_client_callf(client, &held, "GET key"), SHOAL_REPLY_STRING,
               "a value");
    assert_int_equal(
        shoal_reply_type(take(shoal_client_callf(client, &held, "GET nothing"))),
        SHOAL_REPLY_NIL);
    release();
    check_integer(shoal_client_callf(client, &held, "INCRBY n %d", 41), 41);
    check_integer(shoal_client_callf(client, &held, "INCR n"), 42);
    check_text(shoal_client_callf(client, &held, "LPUSH key x"), SHOAL_REPLY_ERROR,
               "WRONGTYPE Operation against a key holding the wrong kind of value");
    check_integer(shoal_client_callf(client, &held, "RPUSH list a b %b c", "x y", 3),
                  4);
    const shoal_reply_t *list =
        take(shoal_client_callf(client, &held, "LRANGE list 0 -1"));
    assert_int_equal(shoal_reply_type(list), SHOAL_REPLY_ARRAY);
    assert_int_equal(shoal_reply_count(list), 4);
    assert_memory_equal(shoal_reply_string(shoal_reply_at(list, 2), NULL), "x y", 3);
    assert_null(shoal_reply_at(list, 4));
    release();
}

static void test_tcp(void **state)
{
    (void)state;
    shoal_client_t *client = live_open(live_options());
    check_everyday(client);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static void test_unix_socket(void **state)
{
    (void)state;
    shoal_options_t *options = live_options();
    assert_int_equal(shoal_options_set_unix_path(options, live_socket()), 0);
    shoal_client_t *client = live_open(options);
    check_everyday(client);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static void test_localhost_by_name(void **state)
{
    (void)state;
    shoal_options_t *options = live_options();
    assert_int_equal(shoal_options_set_address(options, "localhost", live_port()), 0);
    shoal_client_t *client = live_open(options);
    check_everyday(client);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static const shoal_reply_t *eval(shoal_client_t *client, const char *script)
{
    const char *const argv[] = {"EVAL", script, "0"};
    return take(shoal_client_call(client, 3, argv, NULL, &held));
}

static void test_every_type(void **state)
{
    (void)state;
    shoal_client_t *client = live_open(live_options());

    const shoal_reply_t *reply = eval(client, "redis.setresp(3) return {double=2.5}");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_DOUBLE);
    assert_true(shoal_reply_double(reply) > 2.49 && shoal_reply_double(reply) < 2.51);
    release();
    reply = eval(client, "redis.setresp(3) return {map={a=1}}");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_MAP);
    assert_int_equal(shoal_reply_count(reply), 2);
    assert_memory_equal(shoal_reply_string(shoal_reply_at(reply, 0), NULL), "a", 1);
    assert_int_equal(shoal_reply_integer(shoal_reply_at(reply, 1)), 1);
    release();
    reply = eval(client, "redis.setresp(3) return {set={x=true}}");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_SET);
    assert_int_equal(shoal_reply_count(reply), 1);
    release();
    reply = eval(client, "redis.setresp(3) return true");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_BOOL);
    assert_true(shoal_reply_bool(reply));
    release();
    reply = eval(client, "redis.setresp(3) return false");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_BOOL);
    assert_false(shoal_reply_bool(reply));
    release();
    reply = eval(client, "return {big_number='12345678901234567890123'}");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_BIGNUM);
    assert_memory_equal(shoal_reply_string(reply, NULL), "12345678901234567890123", 23);
    release();
    reply = eval(client, "return {verbatim_string={format='mkd',string='# x'}}");
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_VERBATIM);
    assert_string_equal(shoal_reply_verbatim_format(reply), "mkd");
    assert_memory_equal(shoal_reply_string(reply, NULL), "# x", 3);
    release();
    reply = eval(client, "return {1, {2, {3, {4, 'deep'}}}}");
    for (int depth = 0; depth < 3; depth++)
        reply = shoal_reply_at(reply, 1);
    assert_memory_equal(shoal_reply_string(shoal_reply_at(reply, 1), NULL), "deep", 4);
    release();
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static void test_protocol_2_has_plain_types(void **state)
{
    (void)state;
    shoal_options_t *options = live_options();
    assert_int_equal(shoal_options_set_protocol(options, 2), 0);
    shoal_client_t *client = live_open(options);

    take(shoal_client_callf(client, &held, "HSET hash field value"));
    release();
    const shoal_reply_t *reply =
        take(shoal_client_callf(client, &held, "HGETALL hash"));
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_ARRAY);
    assert_int_equal(shoal_reply_count(reply), 2);
    release();
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);

    client = live_open(live_options());
    reply = take(shoal_client_callf(client, &held, "HGETALL hash"));
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_MAP);
    release();
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static void check_binary(shoal_client_t *client, const char *value, size_t bytes)
{
    const char *const set[] = {"SET", "\0bin\r\n\xff", value};
    const size_t set_bytes[] = {3, 7, bytes};
    const char *const get[] = {"GET", "\0bin\r\n\xff"};
    const size_t get_bytes[] = {3, 7};
    size_t got = 0;

    check_text(shoal_client_call(client, 3, set, set_bytes, &held), SHOAL_REPLY_STATUS,
               "OK");
    const shoal_reply_t *reply =
        take(shoal_client_call(client, 2, get, get_bytes, &held));
    const char *data = shoal_reply_string(reply, &got);
    assert_int_equal(got, bytes);
    if (bytes)
        assert_memory_equal(data, value, bytes);
    release();
}

static void test_any_bytes_of_any_length(void **state)
{
    static const size_t lengths[] = {0,      1,       2,       15,    16383,
                                     16384,  16385,   65535,   65536, 65537,
                                     262144, 1048576, 16777216};
    size_t room = 16777216;
    char *value = malloc(room);
    (void)state;

    for (size_t i = 0; i < room; i++)
        value[i] = (char)((i * 2654435761u) >> 13);
    shoal_client_t *client = live_open(live_options());
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_binary(client, value, lengths[i]);
    check_binary(client, "*1\r\n$4\r\nPING\r\n", 14);
    free(value);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static void test_the_database(void **state)
{
    char url[160];
    (void)state;

    shoal_client_t *zero = live_open(live_options());
    snprintf(url, sizeof url, "%s/5?client_name=fish", live_url());
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_from_url(url, &options, NULL), 0);
    shoal_client_t *five = live_open(options);
    check_text(shoal_client_callf(five, &held, "SET where five"), SHOAL_REPLY_STATUS,
               "OK");
    check_integer(shoal_client_callf(zero, &held, "EXISTS where"), 0);
    check_text(shoal_client_callf(five, &held, "GET where"), SHOAL_REPLY_STRING,
               "five");
    check_text(shoal_client_callf(five, &held, "CLIENT GETNAME"), SHOAL_REPLY_STRING,
               "fish");
    assert_int_equal(shoal_client_close_and_wait(zero, 0), 0);
    shoal_client_release(zero);
    assert_int_equal(shoal_client_close_and_wait(five, 0), 0);
    shoal_client_release(five);
}

static void test_credentials(void **state)
{
    static const char *const arguments[] = {"--requirepass", "s3cret", NULL};
    shoal_client_t *client = NULL;
    char url[80];
    (void)state;

    redis_process_t *redis = redis_process_start(arguments);
    if (!redis)
        skip();
    int port = redis_process_port(redis);
    snprintf(url, sizeof url, "redis://:s3cret@127.0.0.1:%d", port);
    assert_int_equal(shoal_client_open_url(url, &client, NULL), 0);
    check_text(shoal_client_callf(client, &held, "ECHO in"), SHOAL_REPLY_STRING, "in");
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    snprintf(url, sizeof url, "redis://default:wr0ng@127.0.0.1:%d", port);
    assert_int_equal(shoal_client_open_url(url, &client, NULL), 0);
    assert_int_equal(shoal_client_callf(client, &held, "ECHO in"), 0);
    assert_int_equal(shoal_result_status(held), SHOAL_EAUTH);
    assert_int_equal(shoal_result_fate(held), SHOAL_FATE_NOT_EXECUTED);
    assert_null(strstr(shoal_result_detail(held), "wr0ng"));
    release();
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    redis_process_stop(redis);
}

/* ---- many callers share writes ---- */

typedef struct caller {
    shoal_client_t *client;
    size_t left, wrong;
    pthread_t thread;
} caller_t;

static void *call_again_and_again(void *data)
{
    caller_t *caller = data;
    const char *const argv[] = {"INCR", "calls"};

    for (; caller->left > 0; caller->left--) {
        shoal_result_t *result = NULL;
        if (shoal_client_call(caller->client, 2, argv, NULL, &result) != 0 ||
            shoal_result_status(result) != 0)
            caller->wrong++;
        shoal_result_release(result);
    }
    return NULL;
}

static void test_many_callers_share_writes(void **state)
{
    enum { CALLERS = 128, CALLS = 300 };
    caller_t callers[CALLERS];
    size_t wrong = 0;
    (void)state;

    shoal_client_t *client = live_open(live_options());
    take(shoal_client_callf(client, &held, "DEL calls"));
    release();
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller_t){.client = client, .left = CALLS};
        pthread_create(&callers[i].thread, NULL, call_again_and_again, &callers[i]);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        wrong += callers[i].wrong;
    }
    assert_int_equal(wrong, 0);
    check_text(shoal_client_callf(client, &held, "GET calls"), SHOAL_REPLY_STRING,
               "38400");
    shoal_stats_t stats = live_stats(client);
    assert_int_equal(stats.commands, CALLERS * CALLS + 2);
    assert_int_equal(stats.completed, stats.commands);
    assert_int_equal(stats.replies, stats.commands);
    print_message("%.1f commands per write\n",
                  (double)stats.commands / (double)stats.writes);
    /* More on a machine that has nothing else to do. */
    assert_true(stats.commands > 2 * stats.writes);
    uint64_t batches = 0;
    for (size_t i = 0; i < SHOAL_STATS_BATCH_BUCKETS; i++)
        batches += stats.batch_histogram[i];
    assert_int_equal(batches, stats.flushes);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_localhost_by_name),
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_protocol_2_has_plain_types),
        cmocka_unit_test(test_any_bytes_of_any_length),
        cmocka_unit_test(test_the_database),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_many_callers_share_writes),
    };
    return cmocka_run_group_tests_name("integration/basic", tests, NULL, NULL);
}
