/* SPDX-License-Identifier: MIT */
/* A command that the server, or the client, does not accept ends the connection.  It
 * fails after few losses and says so, and no other command fails.  (I13) */
#include "support/live.h"
#include "support/outcome.h"
#include "support/redis_process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1024 * 1024)
#define NEIGHBOURS 4
#define WINDOW 8 /* outstanding commands of each neighbour */

typedef struct neighbour {
    shoal_client_t *client;
    pthread_t thread;
    _Atomic bool is_over;
    _Atomic size_t outstanding, answered, failed;
    char words[200]; /* the reason of the last failure */
} neighbour_t;

static void on_echo(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    neighbour_t *neighbour = data;
    (void)client;

    if (shoal_result_status(result) == 0) {
        neighbour->answered++;
    } else {
        snprintf(neighbour->words, sizeof neighbour->words, "%s",
                 shoal_result_detail(result));
        neighbour->failed++;
    }
    neighbour->outstanding--;
}

static void *echo_on(void *data)
{
    neighbour_t *neighbour = data;

    while (!neighbour->is_over) {
        while (neighbour->outstanding >= WINDOW)
            waiting_sleep_us(50);
        neighbour->outstanding++;
        if (shoal_client_submitf(neighbour->client, on_echo, neighbour, "ECHO x") < 0)
            neighbour->outstanding--;
    }
    WAIT_FOR(neighbour->outstanding == 0);
    return NULL;
}

typedef struct street {
    redis_process_t *redis;
    shoal_client_t *client;
    neighbour_t neighbours[NEIGHBOURS];
} street_t;

static shoal_integrity_t integrity;

static int be_strict(void **state)
{
    (void)state;
    integrity = SHOAL_INTEGRITY_STRICT;
    return 0;
}

static int be_as_ever(void **state)
{
    (void)state;
    integrity = SHOAL_INTEGRITY_DETECT;
    return 0;
}

/* reply_bytes_max 0: the library's default. */
static street_t *move_in(const char *const *arguments, uint64_t reply_bytes_max)
{
    redis_process_t *redis = redis_process_start(arguments);
    if (!redis)
        skip();
    street_t *street = calloc(1, sizeof *street);
    assert_non_null(street);
    street->redis = redis;
    shoal_options_t *options = live_options_of_port(redis_process_port(street->redis));
    assert_int_equal(shoal_options_set_timeout_us(options, SHOAL_TIMEOUT_NEVER), 0);
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_options_set_integrity(options, integrity), 0);
    if (reply_bytes_max)
        assert_int_equal(shoal_options_set_reply_max(options, reply_bytes_max, 1000, 8),
                         0);
    street->client = live_open(options);
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        neighbour_t *neighbour = &street->neighbours[i];
        neighbour->client = street->client;
        pthread_create(&neighbour->thread, NULL, echo_on, neighbour);
        WAIT_FOR(neighbour->answered > 100);
    }
    return street;
}

static void move_out(street_t *street)
{
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        neighbour_t *neighbour = &street->neighbours[i];
        size_t answered = neighbour->answered;

        WAIT_FOR(neighbour->answered > answered + 100);
        neighbour->is_over = true;
        pthread_join(neighbour->thread, NULL);
        if (neighbour->failed > 0)
            fail_msg("%zu commands of a neighbour failed: %s",
                     (size_t)neighbour->failed, neighbour->words);
    }
    assert_int_equal(shoal_client_close_and_wait(street->client, 0), 0);
    shoal_client_release(street->client);
    redis_process_stop(street->redis);
    free(street);
}

static outcome_t call(street_t *street, const char *const *words, size_t bytes)
{
    const size_t lengths[] = {strlen(words[0]), strlen(words[1]), bytes};
    shoal_result_t *result = NULL;
    outcome_t outcome = {0};

    assert_int_equal(
        shoal_client_call(street->client, words[2] ? 3 : 2, words, lengths, &result),
        0);
    outcome_read(&outcome, result);
    shoal_result_release(result);
    return outcome;
}

static outcome_t set_big(street_t *street, size_t bytes)
{
    char *value = malloc(bytes);

    assert_non_null(value);
    memset(value, 'x', bytes);
    outcome_t outcome = call(street, (const char *[]){"SET", "big", value}, bytes);
    free(value);
    return outcome;
}

static outcome_t get_big(street_t *street)
{
    return call(street, (const char *[]){"GET", "big", NULL}, 0);
}

static void check_words(const outcome_t *outcome, const char *words)
{
    if (!strstr(outcome->detail, words))
        fail_msg("%s: not %s", outcome_describe(outcome), words);
}

static void check_losses(street_t *street, uint64_t losses_max)
{
    shoal_stats_t stats = live_stats(street->client);

    print_message("%llu connections lost, %llu MiB sent\n",
                  (unsigned long long)stats.losses,
                  (unsigned long long)(stats.bytes_out / MIB));
    assert_in_range(stats.losses, 1, losses_max);
}

/* The server refuses the command before most of it is written, and says why. */
static void test_a_command_that_the_server_refuses_midway(void **state)
{
    (void)state;
    street_t *street =
        move_in((const char *[]){"--proto-max-bulk-len", "1mb", NULL}, 0);
    outcome_t outcome = set_big(street, 32 * MIB);

    assert_int_equal(outcome.status, SHOAL_ECONN);
    assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    check_words(&outcome, "this command ended the connection: the server said: ERR "
                          "Protocol error: invalid bulk length");
    check_losses(street, 1);
    assert_true(live_stats(street->client).bytes_out < 32 * MIB);
    move_out(street);
}

/* The server ends the connection and gives no reason.  The first time this may be the
 * network, so the command is sent once more. */
static void test_a_command_over_the_query_limit(void **state)
{
    (void)state;
    street_t *street =
        move_in((const char *[]){"--client-query-buffer-limit", "1mb", NULL}, 0);
    outcome_t outcome = set_big(street, 32 * MIB);

    assert_int_equal(outcome.status, SHOAL_ECONN);
    assert_int_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    check_words(&outcome, "the connection ended within the bytes of this command");
    check_losses(street, 2);
    move_out(street);
}

/* The server ends the connection without a byte of the reply.  The replies of other
 * commands are lost, too: these are sent again and answered on the next connections. */
static void test_a_reply_over_the_output_limit(void **state)
{
    (void)state;
    street_t *street = move_in((const char *[]){"--client-output-buffer-limit",
                                                "normal", "1mb", "0", "0", NULL},
                               0);
    outcome_t outcome = set_big(street, 8 * MIB);
    assert_int_equal(outcome.status, 0);

    outcome = get_big(street);
    assert_int_equal(outcome.status, SHOAL_ECONN);
    assert_int_not_equal(outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    assert_true(outcome.attempts <= 3);
    check_words(&outcome, "this command");
    check_losses(street, 3);
    move_out(street);
}

static void test_a_reply_over_the_bound_of_the_client(void **state)
{
    (void)state;
    street_t *street = move_in(NULL, MIB);
    outcome_t outcome = set_big(street, 8 * MIB);
    assert_int_equal(outcome.status, 0);

    outcome = get_big(street);
    assert_int_equal(outcome.status, SHOAL_EDESYNC);
    assert_int_equal(outcome.fate, integrity == SHOAL_INTEGRITY_STRICT
                                       ? SHOAL_FATE_UNKNOWN
                                       : SHOAL_FATE_REPLY_LOST);
    assert_int_equal(outcome.attempts, 1);
    check_words(&outcome, "the reply to this command ended the connection: a reply has "
                          "too many bytes");
    check_losses(street, 1);
    move_out(street);
}

static outcome_t run_script(street_t *street, const char *script)
{
    return call(street, (const char *[]){"EVAL_RO", script, "0"}, 1);
}

/* A script may answer with lines of any length: they are RESP. */
static void test_long_lines_of_a_script(void **state)
{
    (void)state;
    street_t *street = move_in(NULL, 0);
    outcome_t outcome = run_script(street, "return {ok=string.rep('x', 1000000)}");

    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.type, SHOAL_REPLY_STATUS);
    assert_int_equal(outcome.bytes, 1000000);
    outcome = run_script(street, "return {err=string.rep('x', 1000000)}");
    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.type, SHOAL_REPLY_ERROR);
    assert_true(outcome.bytes >= 1000000);
    assert_int_equal(live_stats(street->client).losses, 0);
    move_out(street);
}

/* A reply that is no RESP ends the connection for all commands, but the same command
 * does so only twice. */
static void test_a_malformed_number_of_a_script(void **state)
{
    (void)state;
    street_t *street = move_in(NULL, 0);
    outcome_t outcome = run_script(street, "redis.setresp(3); return {big_number='x'}");

    assert_int_equal(outcome.status, SHOAL_EDESYNC);
    assert_int_equal(outcome.fate, SHOAL_FATE_REPLY_LOST);
    check_words(&outcome, "within the reply to this command");
    check_losses(street, 2);
    move_out(street);
}

#define TEST(name)                                                                     \
    {#name, name, be_as_ever, NULL, NULL},                                             \
    {                                                                                  \
#name ", STRICT", name, be_strict, NULL, NULL                                  \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_command_that_the_server_refuses_midway),
        TEST(test_a_command_over_the_query_limit),
        TEST(test_a_reply_over_the_output_limit),
        TEST(test_a_reply_over_the_bound_of_the_client),
        TEST(test_long_lines_of_a_script),
        TEST(test_a_malformed_number_of_a_script),
    };
    return cmocka_run_group_tests_name("integration/poison", tests, NULL, NULL);
}
