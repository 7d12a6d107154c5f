/* SPDX-License-Identifier: MIT */
/* A real server with TLS: every drive, threads in blocking calls, large values, sessions
 * that are resumed, clients that show a certificate, and files that change meanwhile. */
#include "support/live.h"
#include "support/redis_process.h"
#include "support/tag.h"
#include "support/tls/certificate_folder.h"

#include "certificates/certificates.h"
#include <pthread.h>
#include <shoal/tls.h>
#include <shoal/uv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define CALLS 200
#define STEPS 2000
#define LARGE_BYTES 5000000
#define LOSSES 5

static fake_tls_config_t tls; /* of the server; outlives it */

/* For cmocka_unit_test_setup_teardown(): a server that asks for no certificate. */
static int serve(void **state)
{
    tls = (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                              .key_file = certificate_path("server.key")};
    *state = redis_process_start_tls(NULL, &tls);
    return *state ? 0 : -1;
}

static int serve_those_we_know(void **state)
{
    tls = (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                              .key_file = certificate_path("server.key"),
                              .client_ca_file = certificate_path("ca.crt")};
    *state = redis_process_start_tls(NULL, &tls);
    return *state ? 0 : -1;
}

static int stop(void **state)
{
    redis_process_stop(*state);
    return 0;
}

static shoal_options_t *options_for(const redis_process_t *redis)
{
    shoal_options_t *options = live_options_of_port(redis_process_tls_port(redis));

    assert_int_equal(shoal_options_set_tls(options, true), 0);
    assert_int_equal(shoal_options_set_tls_ca_file(options, certificate_path("ca.crt")),
                     0);
    return options;
}

static shoal_stats_t stats_of(shoal_client_t *client)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    assert_int_equal(shoal_stats_get(client, &stats), 0);
    return stats;
}

/* ---- threads ---- */

typedef struct caller {
    shoal_client_t *client;
    unsigned number;
    size_t wrong;
    pthread_t thread;
} caller_t;

static void *call(void *data)
{
    caller_t *caller = data;

    for (size_t i = 0; i < CALLS; i++) {
        shoal_result_t *result = NULL;
        tag_t tag = {2, caller->number, i};
        char text[TAG_ROOM];
        size_t bytes = 0;

        (void)tag_make(tag, text);
        int rc = shoal_client_callf(caller->client, &result, "ECHO %s", text);
        const char *echo = rc == 0 && shoal_result_status(result) == 0
                               ? shoal_reply_string(shoal_result_reply(result), &bytes)
                               : NULL;
        caller->wrong += !echo || !tag_matches(tag, echo, bytes);
        shoal_result_release(result);
    }
    return NULL;
}

static void threads_share_a_connection(void **state)
{
    shoal_client_t *client = live_open(options_for(*state));
    caller_t callers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = (caller_t){.client = client, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]),
                         0);
    }
    size_t wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        wrong += callers[i].wrong;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(stats_of(client).tls_full, 1);
    live_finish(client);
}

/* ---- the loops of programs ---- */

typedef struct chain {
    unsigned left, wrong;
    bool is_closed_behind; /* the last result closes the client */
} chain_t;

static void follow(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    const char *const argv[] = {"INCR", "chain"};
    chain_t *chain = data;

    chain->wrong += shoal_result_status(result) != 0;
    if (--chain->left > 0)
        chain->wrong +=
            shoal_client_submit(client, 2, argv, NULL, follow, chain, NULL) != 0;
    else if (chain->is_closed_behind)
        chain->wrong += shoal_client_close(client, 1000000, NULL, NULL) != 0;
}

static void a_borrowed_loop_drives(void **state)
{
    shoal_options_t *options = options_for(*state);
    const char *const argv[] = {"INCR", "chain"};
    chain_t chain = {.left = STEPS};
    shoal_client_t *client = NULL;

    assert_int_equal(shoal_client_open_borrowed(options, &client, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_client_submit(client, 2, argv, NULL, follow, &chain, NULL),
                     0);
    while (chain.left > 0 && chain.wrong == 0)
        assert_int_equal(shoal_client_step(client, WAITING_US_MAX), 0);
    assert_int_equal(chain.wrong, 0);
    live_finish(client);
}

static void a_loop_of_libuv_drives(void **state)
{
    shoal_options_t *options = options_for(*state);
    const char *const argv[] = {"INCR", "chain"};
    chain_t chain = {.left = STEPS, .is_closed_behind = true};
    shoal_client_t *client = NULL;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(shoal_client_open_uv(&loop, options, &client, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_client_submit(client, 2, argv, NULL, follow, &chain, NULL),
                     0);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends when the client is gone */
    assert_int_equal(chain.left, 0);
    assert_int_equal(chain.wrong, 0);
    shoal_client_release(client);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- sizes ---- */

static void large_values_come_back_whole(void **state)
{
    shoal_client_t *client = live_open(options_for(*state));
    char *value = malloc(LARGE_BYTES);
    const char *const argv[] = {"SET", "large", value};
    const size_t argvlen[] = {3, 5, LARGE_BYTES};
    const shoal_command_t set = {3, argv, argvlen};
    shoal_result_t *result = NULL;
    size_t bytes = 0;

    assert_non_null(value);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        value[i] = (char)(i * 2654435761u >> 13);
    assert_int_equal(shoal_client_call_with(client, &set, NULL, &result), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    assert_int_equal(shoal_client_callf(client, &result, "GET large"), 0);
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    assert_int_equal(bytes, LARGE_BYTES);
    assert_memory_equal(text, value, LARGE_BYTES);
    shoal_result_release(result);
    free(value);
    live_finish(client);
}

/* ---- new connections ---- */

/* The server ends every connection of clients but the one that asks. */
static void lose(const redis_process_t *redis)
{
    char answer[64];

    assert_true(redis_ask(redis_process_port(redis),
                          "CLIENT KILL TYPE normal SKIPME yes", answer, sizeof answer));
}

static void sessions_are_resumed(void **state)
{
    shoal_client_t *client = live_open(options_for(*state));

    live_ask(client, "PING");
    for (unsigned i = 1; i <= LOSSES; i++) {
        uint64_t connects = stats_of(client).connects;
        lose(*state);
        WAIT_FOR(stats_of(client).connects > connects);
        live_ask(client, "PING"); /* tickets come behind the handshake */
    }
    assert_int_equal(stats_of(client).tls_full, 1);
    assert_true(stats_of(client).tls_resumed >= LOSSES);
    live_finish(client);
}

/* ---- certificates of clients ---- */

static void a_client_shows_its_certificate(void **state)
{
    shoal_options_t *options = options_for(*state);

    assert_int_equal(shoal_options_set_tls_certificate(options,
                                                       certificate_path("client.crt"),
                                                       certificate_path("client.key")),
                     0);
    shoal_client_t *client = live_open(options);
    live_ask(client, "PING");
    live_finish(client);
}

static void check_refused(const redis_process_t *redis, const char *name)
{
    shoal_options_t *options = options_for(redis);
    shoal_client_t *client = NULL;
    char crt[64], key[64];

    snprintf(crt, sizeof crt, "%s.crt", name ? name : "");
    snprintf(key, sizeof key, "%s.key", name ? name : "");
    if (name)
        assert_int_equal(shoal_options_set_tls_certificate(
                             options, certificate_path(crt), certificate_path(key)),
                         0);
    assert_int_equal(shoal_client_open(options, &client, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_client_wait_ready(client, WAITING_US_MAX), SHOAL_ETLS);
    live_finish(client);
}

static void a_client_without_a_good_one_is_refused(void **state)
{
    check_refused(*state, NULL);
    check_refused(*state, "foreign");
}

/* ---- files that change ---- */

/* As a program that renews certificates does: another file takes the name. */
static void replace(const char *name, const char *by)
{
    char command[400];

    snprintf(command, sizeof command, "cp %s/%s %s/%s.new && mv %s/%s.new %s/%s",
             certificate_folder(), by, certificate_folder(), name, certificate_folder(),
             name, certificate_folder(), name);
    assert_int_equal(system(command), 0);
}

static void show(const redis_process_t *redis, const char *name)
{
    char command[400], answer[200] = "";

    snprintf(command, sizeof command,
             "CONFIG SET tls-cert-file %s/%s.crt tls-key-file %s/%s.key",
             certificate_folder(), name, certificate_folder(), name);
    assert_true(redis_ask(redis_process_port(redis), command, answer, sizeof answer));
    assert_string_equal(answer, "+OK");
}

static void on_counted(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    _Atomic unsigned *good = data;

    (void)client;
    *good += shoal_result_status(result) == 0;
}

/* Server and client get a new authority while commands come; then the connection is lost. */
static void a_new_authority_fails_no_command(void **state)
{
    const redis_process_t *redis = *state;
    const char *const argv[] = {"GET", "key"};
    shoal_options_t *options = options_for(redis);
    _Atomic unsigned good = 0;
    unsigned sent = 0;

    replace("trusted.crt", "ca.crt");
    assert_int_equal(
        shoal_options_set_tls_ca_file(options, certificate_path("trusted.crt")), 0);
    shoal_client_t *client = live_open(options);
    for (unsigned i = 0; i < LOSSES; i++) {
        uint64_t connects = stats_of(client).connects;
        show(redis, i % 2 == 0 ? "foreign" : "server");
        replace("trusted.crt", i % 2 == 0 ? "other_ca.crt" : "ca.crt");
        lose(redis);
        for (unsigned k = 0; k < 100; k++, sent++)
            assert_int_equal(
                shoal_client_submit(client, 2, argv, NULL, on_counted, &good, NULL), 0);
        WAIT_FOR(stats_of(client).connects > connects);
    }
    WAIT_FOR(good == sent);
    live_finish(client);
}

/* The client keeps what it read last; the connections that it has are not touched. */
static void a_file_that_is_no_good_changes_nothing(void **state)
{
    const redis_process_t *redis = *state;
    shoal_options_t *options = options_for(redis);
    shoal_error_t error = SHOAL_ERROR_INIT;

    replace("trusted.crt", "ca.crt");
    assert_int_equal(
        shoal_options_set_tls_ca_file(options, certificate_path("trusted.crt")), 0);
    shoal_client_t *client = live_open(options);
    replace("trusted.crt", "server.key"); /* no certificate */
    assert_int_equal(shoal_client_reload_tls(client, &error), SHOAL_ETLS);
    live_ask(client, "PING");
    uint64_t connects = stats_of(client).connects;
    lose(redis);
    WAIT_FOR(stats_of(client).connects > connects);
    live_ask(client, "PING");
    replace("trusted.crt", "ca.crt");
    assert_int_equal(shoal_client_reload_tls(client, &error), 0);
    live_finish(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_share_a_connection, serve, stop),
        cmocka_unit_test_setup_teardown(a_borrowed_loop_drives, serve, stop),
        cmocka_unit_test_setup_teardown(a_loop_of_libuv_drives, serve, stop),
        cmocka_unit_test_setup_teardown(large_values_come_back_whole, serve, stop),
        cmocka_unit_test_setup_teardown(sessions_are_resumed, serve, stop),
        cmocka_unit_test_setup_teardown(a_client_shows_its_certificate,
                                        serve_those_we_know, stop),
        cmocka_unit_test_setup_teardown(a_client_without_a_good_one_is_refused,
                                        serve_those_we_know, stop),
        cmocka_unit_test_setup_teardown(a_new_authority_fails_no_command, serve, stop),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_good_changes_nothing, serve,
                                        stop),
    };
    return cmocka_run_group_tests_name("integration/tls_server", tests, NULL, NULL);
}
