/* SPDX-License-Identifier: MIT */
/* The password of a real server changes again and again under load: no command fails, and each
 * caller's commands run once and in their order. */
#include "support/live.h"
#include "support/redis_process.h"
#if SHOAL_FAKE_TLS
#include "support/tls/certificate_folder.h"

#include "certificates/certificates.h"
#endif
#include <inttypes.h>
#include <shoal/credentials.h>
#include <shoal/tls.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS 16
#define WINDOW 8    /* commands of each that are outstanding */
#define ROTATIONS 3 /* renewals are at least 1 s apart */

/* Its commands are INCR of a key of its own: the n-th answer must be n. */
typedef struct caller {
    shoal_client_t *client;
    unsigned number;
    uint64_t answered;
    _Atomic uint64_t failed, inverted;
    _Atomic bool is_over;
    _Atomic unsigned outstanding;
    char words[200]; /* the text of the last error */
} caller_t;

static void submit(caller_t *caller);

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    caller_t *caller = data;
    (void)client;

    caller->answered++;
    if (shoal_result_error(result)) {
        snprintf(caller->words, sizeof caller->words, "%s", shoal_result_error(result));
        caller->failed++;
    } else if (shoal_reply_integer(shoal_result_reply(result)) !=
               (int64_t)caller->answered) {
        caller->inverted++;
    }
    if (!caller->is_over)
        submit(caller);
    caller->outstanding--;
}

static void submit(caller_t *caller)
{
    caller->outstanding++;
    if (shoal_client_submitf(caller->client, on_result, caller, "INCR k%u",
                             caller->number) < 0) {
        caller->outstanding--;
        caller->failed++;
    }
}

/* ---- events ---- */

static _Atomic uint64_t readies, lost, told, refused;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client, (void)data;
    readies += shoal_event_kind(event) == SHOAL_EVENT_READY;
    told += shoal_event_kind(event) == SHOAL_EVENT_CREDENTIALS;
    lost += shoal_event_kind(event) == SHOAL_EVENT_LOST;
    refused += shoal_event_status(event) != 0;
}

/* ---- the server ---- */

static int serve(void **state)
{
    *state = redis_process_start(NULL);
    return *state ? 0 : -1;
}

#if SHOAL_FAKE_TLS
static fake_tls_config_t tls; /* of the server; outlives it */

static int serve_tls(void **state)
{
    tls = (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                              .key_file = certificate_path("server.key")};
    *state = redis_process_start_tls(NULL, &tls);
    return *state ? 0 : -1;
}
#endif

static int stop(void **state)
{
    redis_process_stop(*state);
    return 0;
}

static void tell(const redis_process_t *redis, const char *command)
{
    char answer[100] = "";

    assert_true(redis_ask(redis_process_port(redis), command, answer, sizeof answer));
    assert_string_equal(answer, "+OK");
}

/* '>': the user gets this password; '<': it is his no more. */
static void set_password(const redis_process_t *redis, char sign, unsigned number)
{
    char command[100];

    snprintf(command, sizeof command, "ACL SETUSER app on ~* &* +@all %cpw%u", sign,
             number);
    tell(redis, command);
}

#if SHOAL_FAKE_TLS
/* The server gets another certificate and key, and the client reads its files again. */
static void swap_certificate(const redis_process_t *redis, shoal_client_t *client)
{
    const certificate_t next = {.name = "next",
                                .issuer = "ca",
                                .common_name = "server",
                                .alternative_names = "DNS:localhost,IP:127.0.0.1",
                                .from_s = -86400,
                                .until_s = 86400};
    char command[300];

    assert_true(certificate_make(certificate_folder(), &next));
    snprintf(command, sizeof command, "CONFIG SET tls-cert-file %s tls-key-file %s",
             certificate_path("next.crt"), certificate_path("next.key"));
    tell(redis, command);
    assert_int_equal(shoal_client_reload_tls(client, NULL), 0);
}

static void trust(shoal_options_t *options)
{
    assert_int_equal(shoal_options_set_tls(options, true), 0);
    assert_int_equal(shoal_options_set_tls_ca_file(options, certificate_path("ca.crt")),
                     0);
}
#else
static void swap_certificate(const redis_process_t *redis, shoal_client_t *client)
{
    (void)redis, (void)client;
}

static void trust(shoal_options_t *options)
{
    (void)options;
}
#endif

/* ---- the load ---- */

static shoal_client_t *open_for(const redis_process_t *redis, shoal_rotation_t rotation)
{
    int port = redis_process_tls_port(redis);
    shoal_options_t *options =
        live_options_of_port(port ? port : redis_process_port(redis));

    if (port)
        trust(options);
    set_password(redis, '>', 0);
    readies = lost = told = refused = 0;
    assert_int_equal(shoal_options_set_timeout_us(options, 60000000), 0);
    assert_int_equal(shoal_options_set_auth(options, "app", "pw0"), 0);
    assert_int_equal(shoal_options_set_rotation(options, rotation), 0);
    assert_int_equal(shoal_options_set_on_event(options, on_event, NULL), 0);
    return live_open(options);
}

static void begin(caller_t *callers, shoal_client_t *client)
{
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (caller_t){.client = client, .number = i};
        for (int j = 0; j < WINDOW; j++)
            submit(&callers[i]);
    }
}

static void end(caller_t *callers)
{
    uint64_t answered = 0;

    for (unsigned i = 0; i < CALLERS; i++)
        callers[i].is_over = true;
    for (unsigned i = 0; i < CALLERS; i++) {
        WAIT_FOR(callers[i].outstanding == 0);
        if (callers[i].failed)
            print_message("%s\n", callers[i].words);
        assert_int_equal(callers[i].failed, 0);
        assert_int_equal(callers[i].inverted, 0);
        answered += callers[i].answered;
    }
    print_message("%" PRIu64 " commands\n", answered);
}

static void rotate(const redis_process_t *redis, shoal_rotation_t rotation)
{
    shoal_client_t *client = open_for(redis, rotation);
    unsigned rotations = (unsigned)live_scaled(ROTATIONS);
    caller_t *callers = calloc(CALLERS, sizeof *callers);
    char password[16];

    assert_non_null(callers);
    begin(callers, client);
    for (unsigned i = 1; i <= rotations; i++) {
        if (redis_process_tls_port(redis))
            swap_certificate(redis, client);
        set_password(redis, '>', i);
        snprintf(password, sizeof password, "pw%u", i);
        assert_int_equal(shoal_client_set_credentials(client, "app", password), 0);
        if (rotation == SHOAL_ROTATE_SUCCESSOR)
            WAIT_FOR(readies == i + 1);
        else
            WAIT_FOR(told == i);
        set_password(redis, '<', i - 1);
    }
    end(callers);
    assert_int_equal(lost, 0);
    assert_int_equal(refused, 0);
    assert_int_equal(readies, rotation == SHOAL_ROTATE_SUCCESSOR ? rotations + 1 : 1);
    live_finish(client);
    free(callers);
}

static void a_successor_has_the_new_password(void **state)
{
    rotate(*state, SHOAL_ROTATE_SUCCESSOR);
}

static void the_connection_gets_the_new_password(void **state)
{
    rotate(*state, SHOAL_ROTATE_IN_PLACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_successor_has_the_new_password, serve, stop),
        cmocka_unit_test_setup_teardown(the_connection_gets_the_new_password, serve,
                                        stop),
#if SHOAL_FAKE_TLS
        cmocka_unit_test_setup_teardown(a_successor_has_the_new_password, serve_tls,
                                        stop),
        cmocka_unit_test_setup_teardown(the_connection_gets_the_new_password, serve_tls,
                                        stop),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
