/* SPDX-License-Identifier: MIT */
/* A sentinel, a primary and a replica, all with TLS and with passwords: those of the
 * sentinel are not the servers'.  The client knows nothing but a URL. */
#include "support/live.h"
#include "support/redis_process.h"
#include "support/tls/certificate_folder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS 2
#define SERVER_PASSWORD "of-the-servers"
#define WATCHER_PASSWORD "of-the-watcher"
#define SENTINEL_PASSWORD "of-the-sentinel"
#define NAME "mymaster"

typedef struct rig {
    redis_process_t *servers[SERVERS], *sentinel;
    shoal_client_t *client;
    _Atomic unsigned silent, ready;
    char detail[256]; /* of the last silence; written before it is counted */
} rig_t;

static fake_tls_config_t tls; /* of all of them; outlives them */

static redis_process_t *start_server(const redis_process_t *primary)
{
    static char port[12];
    static const char *common[] = {"--requirepass",
                                   SERVER_PASSWORD,
                                   "--masterauth",
                                   SERVER_PASSWORD,
                                   "--tls-replication",
                                   "yes",
                                   "--tls-ca-cert-file",
                                   NULL, /* [7] */
                                   "--repl-diskless-sync-delay",
                                   "0",
                                   "--replicaof",
                                   "127.0.0.1",
                                   port,
                                   NULL};
    static const char *first[11];

    common[7] = certificate_path("ca.crt");
    memcpy(first, common, 10 * sizeof *first);
    if (primary)
        snprintf(port, sizeof port, "%d", redis_process_tls_port(primary));
    return redis_process_start_tls(primary ? common : first, &tls);
}

static redis_process_t *start_sentinel(const redis_process_t *primary)
{
    char config[1024];

    snprintf(config, sizeof config,
             "requirepass " SENTINEL_PASSWORD "\n"
             "user watcher on >" WATCHER_PASSWORD " allchannels +@all\n"
             "tls-replication yes\n"
             "tls-ca-cert-file %s\n"
             "sentinel monitor " NAME " 127.0.0.1 %d 1\n"
             "sentinel auth-pass " NAME " " SERVER_PASSWORD "\n",
             certificate_path("ca.crt"), redis_process_tls_port(primary));
    return redis_process_start_sentinel(config, &tls);
}

static int tear_down(void **state)
{
    rig_t *rig = *state;

    if (rig->client)
        live_finish(rig->client);
    redis_process_stop(rig->sentinel);
    for (size_t i = 0; i < SERVERS; i++)
        redis_process_stop(rig->servers[i]);
    free(rig);
    return 0;
}

static int set_up(void **state)
{
    rig_t *rig = *state = calloc(1, sizeof *rig);

    tls = (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                              .key_file = certificate_path("server.key")};
    rig->servers[0] = start_server(NULL);
    if (rig->servers[0])
        rig->servers[1] = start_server(rig->servers[0]);
    if (rig->servers[1])
        rig->sentinel = start_sentinel(rig->servers[0]);
    if (rig->sentinel)
        return 0;
    tear_down(state);
    return -1;
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    rig_t *rig = data;
    (void)client;

    rig->ready += shoal_event_kind(event) == SHOAL_EVENT_READY;
    if (shoal_event_kind(event) != SHOAL_EVENT_SENTINELS_LOST)
        return;
    snprintf(rig->detail, sizeof rig->detail, "%s", shoal_event_detail(event));
    rig->silent++;
}

/* Open a client of the URL with these keys. */
static void open_client(rig_t *rig, const char *keys)
{
    char url[512];
    shoal_options_t *options = NULL;
    shoal_error_t error = SHOAL_ERROR_INIT;

    snprintf(url, sizeof url,
             "rediss+sentinel://:" SERVER_PASSWORD "@127.0.0.1:%d/" NAME "?%s",
             redis_process_tls_port(rig->sentinel), keys);
    if (shoal_options_from_url(url, &options, &error) != 0)
        fail_msg("%s: %s", url, error.text);
    assert_int_equal(shoal_options_set_on_event(options, on_event, rig), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, WAITING_US_MAX), 0);
    assert_int_equal(shoal_client_open(options, &rig->client, &error), 0);
    shoal_options_free(options);
}

/* The first line of the sentinel's answer. */
static bool ask_sentinel(const rig_t *rig, const char *command, char *answer,
                         size_t answer_bytes)
{
    char commands[256];

    snprintf(commands, sizeof commands, "AUTH " SENTINEL_PASSWORD "\r\n%s", command);
    return redis_ask_line(redis_process_port(rig->sentinel), commands, 2, answer,
                          answer_bytes);
}

static bool leads_to(const rig_t *rig, size_t server)
{
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
    char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d",
             redis_process_tls_port(rig->servers[server]));
    assert_int_equal(shoal_connection_get(rig->client, 1, &info), 0);
    return info.state == SHOAL_CONNECTION_READY && strcmp(info.server, name) == 0;
}

static void check_writes(const rig_t *rig)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_callf(rig->client, &result, "INCR n"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    assert_int_equal(shoal_reply_type(shoal_result_reply(result)), SHOAL_REPLY_INTEGER);
    shoal_result_release(result);
}

/* ---- tests ---- */

static void test_a_failover(void **state)
{
    rig_t *rig = *state;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    char keys[256], answer[64];

    snprintf(keys, sizeof keys,
             "sentinel_user=watcher&sentinel_password=" WATCHER_PASSWORD
             "&tls_ca_file=%s",
             certificate_path("ca.crt"));
    open_client(rig, keys);
    assert_int_equal(shoal_client_wait_ready(rig->client, WAITING_US_MAX), 0);
    assert_true(leads_to(rig, 0));
    check_writes(rig);
    WAIT_FOR(ask_sentinel(rig, "SENTINEL FAILOVER " NAME, answer, sizeof answer) &&
             strcmp(answer, "+OK") == 0);
    WAIT_FOR(leads_to(rig, 1));
    check_writes(rig);
    assert_int_equal(shoal_stats_get(rig->client, &stats), 0);
    assert_true(stats.tls_full + stats.tls_resumed >= 2);
    assert_int_equal(rig->silent, 0);
}

/* What the sentinels are told is checked, and nothing is told to a stranger. */
static void test_a_sentinel_that_cannot_be_used(void **state)
{
    static const struct {
        bool has_ca;
        const char *keys, *detail;
    } cases[] = {
        {true, "", "the server asks for credentials"},
        {true, "sentinel_user=watcher&sentinel_password=wrong", "WRONGPASS"},
        {false, "sentinel_user=watcher&sentinel_password=" WATCHER_PASSWORD,
         "certificate"},
    };
    rig_t *rig = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned silent = rig->silent;
        char keys[256];
        snprintf(keys, sizeof keys, "connect_timeout_ms=25000%s%s%s%s",
                 cases[i].keys[0] ? "&" : "", cases[i].keys,
                 cases[i].has_ca ? "&tls_ca_file=" : "",
                 cases[i].has_ca ? certificate_path("ca.crt") : "");
        open_client(rig, keys);
        WAIT_FOR(rig->silent > silent);
        if (!strstr(rig->detail, cases[i].detail))
            fail_msg("case %zu: %s", i, rig->detail);
        live_finish(rig->client);
        rig->client = NULL;
    }
    assert_int_equal(rig->ready, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_failover, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_sentinel_that_cannot_be_used, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("integration/sentinel_tls", tests, NULL, NULL);
}
