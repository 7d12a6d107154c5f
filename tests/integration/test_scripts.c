/* SPDX-License-Identifier: MIT */

/* Scripts on real servers: a call by the hash finds its script on every server and every
 * connection, in its place among the others, whatever happened to the server. */

#include "support/cluster_rig.h"
#include "support/live.h"
#include "support/redis_process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WINDOW 64
#define FLUSHES 40
#define KEYS 32

/* Appends only what comes next: a number that is out of its place is an error. */
static const char in_order[] =
    "local n = tonumber(redis.call('GET', KEYS[1]) or '0') "
    "if n ~= tonumber(ARGV[1]) then return redis.error_reply('ORDER ' .. n) end "
    "return redis.call('INCR', KEYS[1])";
static const char counts[] = "return redis.call('INCR', KEYS[1])";

typedef struct run {
    shoal_client_t *client;
    shoal_script_t *script;
    unsigned next[KEYS]; /* number of each key's next call */
    _Atomic unsigned submitted, answered, failed, reordered;
    char words[128]; /* of the last failure */
} run_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    run_t *run = data;
    const char *error = shoal_result_error(result);
    (void)client;

    run->reordered += shoal_result_was_reordered(result);
    if (shoal_result_status(result) < 0 || error) {
        run->failed++;
        snprintf(run->words, sizeof run->words, "%s",
                 error ? error : shoal_result_detail(result));
    }
    run->answered++;
}

static void begin(run_t *run, shoal_client_t *client, const char *text)
{
    *run = (run_t){.client = client};
    assert_int_equal(shoal_script_new(client, text, strlen(text), &run->script), 0);
    assert_int_equal(strlen(shoal_script_sha1(run->script)), 40);
}

static void submit(run_t *run, unsigned key, unsigned number)
{
    char key_text[16], number_text[16];
    const char *const argv[] = {"EVALSHA", shoal_script_sha1(run->script), "1",
                                key_text, number_text};

    snprintf(key_text, sizeof key_text, "key:%u", key);
    snprintf(number_text, sizeof number_text, "%u", number);
    assert_int_equal(
        shoal_client_submit(run->client, 5, argv, NULL, on_result, run, NULL), 0);
    run->submitted++;
}

/* So many calls, a window of them under way. */
static void carry(run_t *run, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++) {
        unsigned key = i % KEYS;
        WAIT_FOR(run->submitted - run->answered < WINDOW);
        submit(run, key, run->next[key]++);
    }
    WAIT_FOR(run->submitted == run->answered);
}

static void check_none_failed(const run_t *run)
{
    if (run->failed > 0)
        fail_msg("%u of %u failed: %s", run->failed, run->submitted, run->words);
}

static void calls_find_their_script(void **state)
{
    shoal_client_t *client = live_open(live_options());
    run_t run;
    (void)state;

    live_ask(client, "FLUSHALL");
    live_ask(client, "SCRIPT FLUSH");
    begin(&run, client, in_order);
    carry(&run, 10 * KEYS);
    check_none_failed(&run);
    assert_int_equal(run.reordered, 0);
    assert_int_equal(live_stats(client).retries, 0);
    shoal_script_free(run.script);
    live_finish(client);
}

static int64_t number_of(shoal_client_t *client, const char *key)
{
    shoal_result_t *result;

    assert_int_equal(shoal_client_callf(client, &result, "INCRBY %s 0", key), 0);
    int64_t number = shoal_reply_integer(shoal_result_reply(result));
    shoal_result_release(result);
    return number;
}

/* ... and each is executed once, although it is sent again. */
static void a_flush_of_scripts_fails_no_call(void **state)
{
    shoal_client_t *client = live_open(live_options()),
                   *other = live_open(live_options());
    run_t run;
    (void)state;

    live_ask(client, "DEL key:0");
    begin(&run, client, counts);
    uint64_t since_us = waiting_now_us();
    for (unsigned i = 0; i < live_scaled(FLUSHES); i++) {
        live_ask(other, "SCRIPT FLUSH");
        for (unsigned calls = 0; calls < WINDOW; calls++)
            submit(&run, 0, calls);
        live_ask(other, "SCRIPT FLUSH");
        WAIT_FOR(run.submitted == run.answered);
    }
    uint64_t took_us = waiting_now_us() - since_us;
    check_none_failed(&run);
    assert_true(live_stats(client).retries > 0);
    assert_int_equal(number_of(client, "key:0"), run.answered);
    print_message(
        "%u calls, %zu flushes (%.0f/s), %llu sent again: each executed once\n",
        run.submitted, 2 * live_scaled(FLUSHES),
        2e6 * (double)live_scaled(FLUSHES) / (double)took_us,
        (unsigned long long)live_stats(client).retries);
    shoal_script_free(run.script);
    live_finish(other);
    live_finish(client);
}

static void a_server_that_was_started_again_has_it(void **state)
{
    redis_process_t *redis = redis_process_start(NULL);
    run_t run;
    (void)state;

    if (!redis)
        skip();
    shoal_client_t *client = live_open(live_options_of_port(redis_process_port(redis)));
    begin(&run, client, in_order);
    carry(&run, KEYS);
    redis_process_kill(redis);
    assert_true(redis_process_restart(redis));
    memset(run.next, 0, sizeof run.next); /* the server forgot its keys */
    carry(&run, KEYS);
    check_none_failed(&run);
    assert_int_equal(run.reordered, 0);
    shoal_script_free(run.script);
    live_finish(client);
    redis_process_stop(redis);
}

static void every_node_of_a_cluster_has_it(void **state)
{
    cluster_rig_t *rig = cluster_rig_start();
    run_t run;
    (void)state;

    if (!rig)
        skip();
    shoal_client_t *client = live_open(cluster_rig_options(rig, 0));
    begin(&run, client, in_order);
    carry(&run, 4 * KEYS);
    cluster_rig_failover(rig, CLUSTER_PRIMARIES,
                         ""); /* its replica never saw the script */
    carry(&run, 4 * KEYS);
    check_none_failed(&run);
    assert_int_equal(run.reordered, 0);
    shoal_script_free(run.script);
    live_finish(client);
    cluster_rig_stop(rig);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_find_their_script),
        cmocka_unit_test(a_flush_of_scripts_fails_no_call),
        cmocka_unit_test(a_server_that_was_started_again_has_it),
        cmocka_unit_test(every_node_of_a_cluster_has_it),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("scripts", tests, NULL, NULL);
}
