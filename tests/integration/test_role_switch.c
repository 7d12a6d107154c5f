/* SPDX-License-Identifier: MIT */
/* Roles change while commands run: a command that has time to wait does not fail. */
#include "support/live.h"
#include "support/redis_process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLERS 16
#define SWITCH_US 500000

typedef struct caller {
    shoal_client_t *client;
    const char *command; /* a format of shoal_client_submitf() without arguments */
    _Atomic bool is_over, is_idle;
    _Atomic size_t answered, failed;
    char words[200]; /* the text of the last error */
} caller_t;

static void submit(caller_t *caller);

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    caller_t *caller = data;
    const char *error = shoal_result_error(result);
    (void)client;

    if (error) {
        snprintf(caller->words, sizeof caller->words, "%s", error);
        caller->failed++;
    } else {
        caller->answered++;
    }
    if (caller->is_over)
        caller->is_idle = true;
    else
        submit(caller);
}

static void submit(caller_t *caller)
{
    if (shoal_client_submitf(caller->client, on_result, caller, caller->command) < 0)
        caller->is_idle = true;
}

static void begin(caller_t *callers, shoal_client_t *client, const char *command)
{
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller_t){.client = client, .command = command};
        submit(&callers[i]);
        WAIT_FOR(callers[i].answered > 0);
    }
}

static size_t sum_failed(const caller_t *callers)
{
    size_t failed = 0;

    for (size_t i = 0; i < CALLERS; i++)
        failed += callers[i].failed;
    return failed;
}

/* All callers go on, and none got an error. */
static void check_unharmed(caller_t *callers)
{
    for (size_t i = 0; i < CALLERS; i++) {
        size_t answered = callers[i].answered;
        WAIT_FOR(callers[i].answered > answered + 10 || callers[i].failed > 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i].is_over = true;
        WAIT_FOR(callers[i].is_idle);
        if (callers[i].failed > 0)
            print_message("%s\n", callers[i].words);
    }
    assert_int_equal(sum_failed(callers), 0);
}

static void tell(const redis_process_t *redis, const char *command)
{
    char answer[64] = "";

    assert_true(redis_ask(redis_process_port(redis), command, answer, sizeof answer));
    assert_string_equal(answer, "+OK");
}

static void follow(const redis_process_t *redis, const redis_process_t *primary)
{
    char command[64];

    snprintf(command, sizeof command, "REPLICAOF 127.0.0.1 %d",
             redis_process_port(primary));
    tell(redis, command);
}

static shoal_client_t *open_for(shoal_options_t *options)
{
    /* So long that no command reaches its deadline, even on a slow machine. */
    assert_int_equal(shoal_options_set_timeout_us(options, 60000000), 0);
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    return live_open(options);
}

static void close_all(shoal_client_t *client, caller_t *callers, redis_process_t *a,
                      redis_process_t *b)
{
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    free(callers);
    redis_process_stop(a);
    redis_process_stop(b);
}

/* For a while commands are turned away. */
static void await_refusals(shoal_client_t *client)
{
    waiting_sleep_us(SWITCH_US);
    WAIT_FOR(live_stats(client).retries > 0);
}

/* The server becomes a replica and a primary again, at the same address. */
static void check_there_and_back(redis_process_t *a, redis_process_t *b,
                                 const char *command)
{
    caller_t *callers = calloc(CALLERS, sizeof *callers);
    assert_non_null(callers);
    shoal_client_t *client = open_for(live_options_of_port(redis_process_port(a)));

    begin(callers, client, command);
    follow(a, b);
    await_refusals(client);
    tell(a, "REPLICAOF NO ONE");
    check_unharmed(callers);
    close_all(client, callers, a, b);
}

static void test_writes_wait_for_a_primary(void **state)
{
    (void)state;
    redis_process_t *a = redis_process_start(NULL), *b = redis_process_start(NULL);

    if (!a || !b)
        skip();
    check_there_and_back(a, b, "INCR k");
}

/* Here the replica refuses to answer from old data while it has no primary. */
static void test_reads_wait_for_a_link(void **state)
{
    (void)state;
    const char *const arguments[] = {"--replica-serve-stale-data", "no", NULL};
    redis_process_t *a = redis_process_start(arguments),
                    *gone = redis_process_start(NULL);

    if (!a || !gone)
        skip();
    redis_process_kill(gone);
    check_there_and_back(a, gone, "GET k");
}

/* Let the name lead to this server. */
static void point(const char *name, const redis_process_t *redis)
{
    char other[128];

    snprintf(other, sizeof other, "%s.new", name);
    assert_int_equal(symlink(redis_process_socket(redis), other), 0);
    assert_int_equal(rename(other, name), 0);
}

/* A failover: the primary becomes a replica of the one that takes its place. */
static void test_the_name_leads_to_the_new_primary(void **state)
{
    (void)state;
    redis_process_t *a = redis_process_start(NULL);
    redis_process_t *b = redis_process_start(NULL);
    if (!a || !b)
        skip();
    caller_t *callers = calloc(CALLERS, sizeof *callers);
    shoal_options_t *options = NULL;
    char folder[] = "/tmp/shoal-role-XXXXXX", name[64];

    assert_non_null(callers);
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/socket", folder);
    point(name, a);
    assert_int_equal(shoal_options_new(&options), 0);
    assert_int_equal(shoal_options_set_unix_path(options, name), 0);
    shoal_client_t *client = open_for(options);

    begin(callers, client, "INCR k");
    follow(a, b);
    await_refusals(client);
    point(name, b);
    check_unharmed(callers);
    uint64_t connects = live_stats(client).connects;
    print_message("%llu connections\n", (unsigned long long)connects);
    assert_true(connects >= 2);
    close_all(client, callers, a, b);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_wait_for_a_primary),
        cmocka_unit_test(test_reads_wait_for_a_link),
        cmocka_unit_test(test_the_name_leads_to_the_new_primary),
    };
    return cmocka_run_group_tests_name("integration/role_switch", tests, NULL, NULL);
}
