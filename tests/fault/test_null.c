/* SPDX-License-Identifier: MIT */

/* NULL for every pointer of every public function: SHOAL_EINVAL, or nothing. */

#include "support/scene.h"

#include <shoal/uv.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SYMBOLS_MAX 400

/* A function, and whether it answered NULL as it should. */
typedef struct row {
    const char *function;
    bool holds;
} row_t;

static const char *seen[SYMBOLS_MAX];
static size_t seen_count;

static void check(const row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].holds)
            fail_msg("%s", rows[i].function);
        assert_true(seen_count < SYMBOLS_MAX);
        seen[seen_count++] = rows[i].function;
    }
}

#define ROW(function, holds)                                                           \
    {                                                                                  \
#function, holds                                                               \
    }
#define REFUSES(function, ...)                                                         \
    {                                                                                  \
#function, function(__VA_ARGS__) == SHOAL_EINVAL                               \
    }
#define VANISHES(function, ...)                                                        \
    {                                                                                  \
#function, (function(__VA_ARGS__), true)                                       \
    }

static int vcallf(shoal_result_t **ret_result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int rc = shoal_client_vcallf(NULL, ret_result, format, args);
    va_end(args);
    return rc;
}

static int vcallf_with(shoal_result_t **ret_result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int rc = shoal_client_vcallf_with(NULL, NULL, ret_result, format, args);
    va_end(args);
    return rc;
}

static int vsubmitf(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int rc = shoal_client_vsubmitf(NULL, NULL, NULL, format, args);
    va_end(args);
    return rc;
}

static int vsubmitf_with(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int rc = shoal_client_vsubmitf_with(NULL, NULL, NULL, NULL, NULL, format, args);
    va_end(args);
    return rc;
}

static void no_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client, (void)result, (void)data;
}

static const char *const ping[] = {"PING"};
static const shoal_command_t command = {1, ping, NULL};

/* ---- without a client ---- */

static void test_a_client_is_needed(void **state)
{
    shoal_result_t *result;
    shoal_pending_t *pending;
    shoal_completions_t *queue;
    shoal_lease_t *lease;
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    shoal_topology_snapshot_t *topology;
    shoal_scan_t *scan;
    shoal_script_t *script;

    (void)state;
    assert_int_equal(shoal_completions_new(0, &queue), 0);
    const row_t rows[] = {
        REFUSES(shoal_client_after_fork_child, NULL),
        REFUSES(shoal_client_call, NULL, 1, ping, NULL, &result),
        REFUSES(shoal_client_call_begin, NULL, &command, NULL, 0, &pending, &result),
        REFUSES(shoal_client_call_with, NULL, &command, NULL, &result),
        REFUSES(shoal_client_callf, NULL, &result, "PING"),
        REFUSES(shoal_client_callf_with, NULL, NULL, &result, "PING"),
        REFUSES(shoal_client_cancel, NULL, 1),
        REFUSES(shoal_client_close, NULL, 0, NULL, NULL),
        REFUSES(shoal_client_close_and_wait, NULL, 0),
        ROW(shoal_client_fd, shoal_client_fd(NULL) == -1),
        REFUSES(shoal_client_reconnect, NULL),
        REFUSES(shoal_client_reload_tls, NULL, NULL),
        REFUSES(shoal_client_set_credentials, NULL, "u", "p"),
        REFUSES(shoal_credentials_fail, NULL, "reason"),
        REFUSES(shoal_credentials_give, NULL, "u", "p", 0),
        VANISHES(shoal_client_release, NULL),
        ROW(shoal_client_retain, shoal_client_retain(NULL) == NULL),
        REFUSES(shoal_client_step, NULL, 0),
        REFUSES(shoal_client_submit, NULL, 1, ping, NULL, NULL, NULL, NULL),
        REFUSES(shoal_client_submit_many, NULL, &command, 1, NULL, NULL, NULL, NULL),
        REFUSES(shoal_client_submitf, NULL, NULL, NULL, "PING"),
        REFUSES(shoal_client_submitf_with, NULL, NULL, NULL, NULL, NULL, "PING"),
        ROW(shoal_client_vcallf, vcallf(&result, "PING") == SHOAL_EINVAL),
        ROW(shoal_client_vcallf_with, vcallf_with(&result, "PING") == SHOAL_EINVAL),
        ROW(shoal_client_vsubmitf, vsubmitf("PING") == SHOAL_EINVAL),
        ROW(shoal_client_vsubmitf_with, vsubmitf_with("PING") == SHOAL_EINVAL),
        REFUSES(shoal_client_wait_ready, NULL, 0),
        ROW(shoal_client_wait_us, shoal_client_wait_us(NULL) == -1),
        REFUSES(shoal_completions_submit, queue, NULL, &command, 1, NULL, 1, NULL),
        REFUSES(shoal_connection_get, NULL, 1, &info),
        REFUSES(shoal_lease_call, NULL, &command, NULL, &result),
        VANISHES(shoal_lease_close, NULL),
        REFUSES(shoal_lease_monitor, NULL, NULL, no_result, NULL),
        REFUSES(shoal_lease_open, NULL, &lease),
        REFUSES(shoal_lease_open_for, NULL, "k", 1, &lease),
        REFUSES(shoal_lease_submit, NULL, &command, 1, NULL, NULL, NULL, NULL),
        VANISHES(shoal_scan_free, NULL),
        REFUSES(shoal_scan_new, NULL, NULL, &scan),
        REFUSES(shoal_scan_next, NULL, 0, &result),
        REFUSES(shoal_scan_submit, NULL, 0, no_result, NULL),
        VANISHES(shoal_script_free, NULL),
        REFUSES(shoal_script_new, NULL, "return 1", 8, &script),
        REFUSES(shoal_stats_get, NULL, &stats),
        REFUSES(shoal_stats_get_connection, NULL, 1, &stats),
        REFUSES(shoal_topology_get, NULL, &topology),
        ROW(shoal_topology_kind, shoal_topology_kind(NULL) == 0),
        ROW(shoal_topology_node, shoal_topology_node(NULL, 0) == NULL),
        ROW(shoal_topology_nodes_count, shoal_topology_nodes_count(NULL) == 0),
        ROW(shoal_topology_owner, shoal_topology_owner(NULL, 0) == NULL),
        VANISHES(shoal_topology_release, NULL),
    };
    check(rows, COUNT(rows));
    shoal_completions_free(queue);
}

/* ---- with a client, and nothing else ---- */

static void test_what_a_client_needs(void **state)
{
    scene_t *scene = *state;
    const char *const hole[] = {"ECHO", NULL};
    shoal_result_t *result;
    shoal_pending_t *pending;
    shoal_lease_t *lease, *none;
    shoal_scan_t *scan;
    shoal_script_t *script;

    scene_open_ready(scene);
    shoal_client_t *client = scene->client;
    assert_int_equal(shoal_lease_open(client, &lease), 0);
    assert_int_equal(shoal_scan_new(client, NULL, &scan), 0);
    const row_t rows[] = {
        REFUSES(shoal_client_call, client, 1, NULL, NULL, &result),
        REFUSES(shoal_client_call, client, 2, hole, NULL, &result),
        REFUSES(shoal_client_call, client, 1, ping, NULL, NULL),
        REFUSES(shoal_client_call_begin, client, NULL, NULL, 0, &pending, &result),
        REFUSES(shoal_client_call_begin, client, &command, NULL, 0, NULL, &result),
        REFUSES(shoal_client_call_begin, client, &command, NULL, 0, &pending, NULL),
        REFUSES(shoal_client_call_with, client, NULL, NULL, &result),
        REFUSES(shoal_client_call_with, client, &command, NULL, NULL),
        REFUSES(shoal_client_callf, client, &result, NULL),
        REFUSES(shoal_client_callf, client, NULL, "PING"),
        REFUSES(shoal_client_callf_with, client, NULL, &result, NULL),
        REFUSES(shoal_client_callf_with, client, NULL, NULL, "PING"),
        REFUSES(shoal_client_submit, client, 1, NULL, NULL, NULL, NULL, NULL),
        REFUSES(shoal_client_submit, client, 2, hole, NULL, NULL, NULL, NULL),
        REFUSES(shoal_client_submit_many, client, NULL, 1, NULL, NULL, NULL, NULL),
        REFUSES(shoal_client_submitf, client, NULL, NULL, NULL),
        REFUSES(shoal_client_submitf_with, client, NULL, NULL, NULL, NULL, NULL),
        REFUSES(shoal_completions_submit, NULL, client, &command, 1, NULL, 1, NULL),
        REFUSES(shoal_connection_get, client, 1, NULL),
        REFUSES(shoal_lease_call, lease, NULL, NULL, &result),
        REFUSES(shoal_lease_call, lease, &command, NULL, NULL),
        REFUSES(shoal_lease_monitor, lease, NULL, NULL, NULL),
        REFUSES(shoal_lease_open, client, NULL),
        REFUSES(shoal_lease_open_for, client, "k", 1, NULL),
        REFUSES(shoal_lease_open_for, client, NULL, 1, &none),
        REFUSES(shoal_lease_submit, lease, NULL, 1, NULL, NULL, NULL, NULL),
        REFUSES(shoal_scan_new, client, NULL, NULL),
        REFUSES(shoal_scan_next, scan, 0, NULL),
        REFUSES(shoal_scan_submit, scan, 0, NULL, NULL),
        REFUSES(shoal_script_new, client, NULL, 1, &script),
        REFUSES(shoal_script_new, client, "x", 0, &script),
        REFUSES(shoal_script_new, client, "x", 1, NULL),
        REFUSES(shoal_stats_get, client, NULL),
        REFUSES(shoal_stats_get_connection, client, 1, NULL),
        REFUSES(shoal_topology_get, client, NULL),
    };
    check(rows, COUNT(rows));
    assert_int_equal(fake_server_received(scene->server, 0, "PING", NULL), 0);
    shoal_scan_free(scan);
    shoal_lease_close(lease);
}

/* ---- opening, options, queues ---- */

static void test_opening(void **state)
{
    shoal_client_t *client;
    shoal_options_t *options, *none;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(shoal_options_new(&options), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    const row_t rows[] = {
        REFUSES(shoal_client_open, options, NULL, NULL),
        REFUSES(shoal_client_open_borrowed, options, NULL, NULL),
        REFUSES(shoal_client_open_url, "redis://127.0.0.1", NULL, NULL),
        REFUSES(shoal_client_open_url, NULL, &client, NULL),
        REFUSES(shoal_client_open_uv, &loop, options, NULL, NULL),
        REFUSES(shoal_client_open_uv, NULL, options, &client, NULL),
        REFUSES(shoal_options_from_url, "redis://127.0.0.1", NULL, NULL),
        REFUSES(shoal_options_from_url, NULL, &none, NULL),
        REFUSES(shoal_options_new, NULL),
        VANISHES(shoal_options_free, NULL),
        ROW(shoal_allocator_set, shoal_allocator_set(NULL) == 0),
        ROW(shoal_allocations, (shoal_allocations(), true)),
    };
    check(rows, COUNT(rows));
    shoal_options_free(options);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_options(void **state)
{
    shoal_options_t *options;

    (void)state;
    assert_int_equal(shoal_options_new(&options), 0);
    const row_t rows[] = {
        REFUSES(shoal_options_add_address, NULL, "h", 1),
        REFUSES(shoal_options_add_address, options, NULL, 1),
        REFUSES(shoal_options_add_replica, NULL, "h", 1),
        REFUSES(shoal_options_add_replica, options, NULL, 1),
        REFUSES(shoal_options_add_unix_path, NULL, "p"),
        REFUSES(shoal_options_add_unix_path, options, NULL),
        REFUSES(shoal_options_set_address, NULL, "h", 1),
        REFUSES(shoal_options_set_address, options, NULL, 1),
        REFUSES(shoal_options_set_attempts_max, NULL, 1),
        REFUSES(shoal_options_set_order, NULL, SHOAL_ORDER_MARK),
        REFUSES(shoal_options_set_auth, NULL, "u", "p"),
        REFUSES(shoal_options_set_backoff_us, NULL, 1000, 1000),
        REFUSES(shoal_options_set_client_name, NULL, "n"),
        REFUSES(shoal_options_set_zone, NULL, "z"),
        REFUSES(shoal_options_set_connect_timeout_us, NULL, 1000, 1000),
        REFUSES(shoal_options_set_credentials_provider, NULL, NULL, NULL),
        REFUSES(shoal_options_set_credentials_timeout_us, NULL, 1000),
        REFUSES(shoal_options_set_database, NULL, 0),
        REFUSES(shoal_options_set_flush, NULL, SHOAL_FLUSH_OFF, 0),
        REFUSES(shoal_options_set_integrity, NULL, SHOAL_INTEGRITY_SHAPES),
        REFUSES(shoal_options_set_keepalive_us, NULL, 0),
        REFUSES(shoal_options_set_offline_mode, NULL, SHOAL_OFFLINE_QUEUE),
        REFUSES(shoal_options_set_on_event, NULL, NULL, NULL),
        REFUSES(shoal_options_set_on_log, NULL, SHOAL_LOG_ERROR, NULL, NULL),
        REFUSES(shoal_options_set_outstanding_max, NULL, 1, 1, 1024),
        REFUSES(shoal_options_set_ping_idle_us, NULL, 0),
        REFUSES(shoal_options_set_probe_us, NULL, 0),
        REFUSES(shoal_options_set_protocol, NULL, 3),
        REFUSES(shoal_options_set_rotation, NULL, SHOAL_ROTATE_SUCCESSOR),
        REFUSES(shoal_options_set_read_from, NULL, SHOAL_READ_PRIMARY),
        REFUSES(shoal_options_set_reply_max, NULL, 1024, 1, 1),
        REFUSES(shoal_options_set_settle, NULL, true),
        REFUSES(shoal_options_set_bulk_lane, NULL, true),
        REFUSES(shoal_options_set_maintenance, NULL, true),
        REFUSES(shoal_options_set_connections, NULL, 1),
        REFUSES(shoal_options_set_connections_max, NULL, 1),
        REFUSES(shoal_options_set_sentinel, NULL, "name"),
        REFUSES(shoal_options_set_topology, NULL, SHOAL_TOPOLOGY_CLUSTER),
        REFUSES(shoal_options_map_address, NULL, "h", 1, "h", 1),
        REFUSES(shoal_options_map_address, options, NULL, 1, "h", 1),
        REFUSES(shoal_options_map_address, options, "h", 1, NULL, 1),
        REFUSES(shoal_options_add_sentinel, NULL, "host", 26379),
        REFUSES(shoal_options_set_sentinel_tls, NULL, true),
        REFUSES(shoal_options_set_sentinel_auth, NULL, NULL, NULL),
        REFUSES(shoal_options_set_source_address, NULL, NULL),
        REFUSES(shoal_options_set_stall_timeout_us, NULL, 10000),
        REFUSES(shoal_options_set_timeout_us, NULL, 1),
        REFUSES(shoal_options_set_tls, NULL, true),
        REFUSES(shoal_options_set_tls_ca_dir, NULL, "p"),
        REFUSES(shoal_options_set_tls_ca_file, NULL, "p"),
        REFUSES(shoal_options_set_tls_certificate, NULL, "p", "p"),
        REFUSES(shoal_options_set_tls_ciphers, NULL, "c"),
        REFUSES(shoal_options_set_tls_ciphersuites, NULL, "c"),
        REFUSES(shoal_options_set_tls_insecure, NULL, true),
        REFUSES(shoal_options_set_tls_min_version, NULL, SHOAL_TLS_1_2),
        REFUSES(shoal_options_set_tls_server_name, NULL, "n"),
        REFUSES(shoal_options_set_unix_path, NULL, "p"),
        REFUSES(shoal_options_set_unix_path, options, NULL),
    };
    check(rows, COUNT(rows));
    shoal_options_free(options);
}

static void test_queues_and_pending_calls(void **state)
{
    shoal_completions_t *queue;
    shoal_completion_t batch;
    shoal_mailbox_t *mailbox;
    const shoal_item_t *items[1];
    shoal_result_t *result;

    (void)state;
    assert_int_equal(shoal_completions_new(0, &queue), 0);
    assert_int_equal(shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &mailbox), 0);
    const row_t rows[] = {
        ROW(shoal_completions_fd, shoal_completions_fd(NULL) == -1),
        VANISHES(shoal_completions_free, NULL),
        REFUSES(shoal_completions_new, 0, NULL),
        ROW(shoal_completions_take, shoal_completions_take(NULL, &batch, 1) == 0),
        ROW(shoal_completions_take, shoal_completions_take(queue, NULL, 1) == 0),
        REFUSES(shoal_completions_wait, NULL, 0),
        ROW(shoal_mailbox_count, shoal_mailbox_count(NULL) == 0),
        ROW(shoal_mailbox_dropped, shoal_mailbox_dropped(NULL) == 0),
        ROW(shoal_mailbox_fd, shoal_mailbox_fd(NULL) == -1),
        VANISHES(shoal_mailbox_free, NULL),
        REFUSES(shoal_mailbox_new, 0, 0, SHOAL_OVERFLOW_NEWEST, NULL),
        ROW(shoal_mailbox_take, shoal_mailbox_take(NULL, items, 1) == 0),
        ROW(shoal_mailbox_take, shoal_mailbox_take(mailbox, NULL, 1) == 0),
        REFUSES(shoal_mailbox_wait, NULL, 0),
        REFUSES(shoal_pending_give_up, NULL, &result),
        REFUSES(shoal_pending_wait, NULL, 0, &result),
    };
    check(rows, COUNT(rows));
    shoal_completions_free(queue);
    shoal_mailbox_free(mailbox);
}

/* ---- looking ---- */

static bool is_text(const char *found, const char *wanted)
{
    return found && strcmp(found, wanted) == 0;
}

static void count_leaf(const shoal_reply_t *leaf, void *data)
{
    *(int *)data += shoal_reply_type(leaf) == SHOAL_REPLY_NIL;
}

static void ignore_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type;
    (void)count;
    (void)data;
}

static void ignore_mark(void *data)
{
    (void)data;
}

static int visit(const shoal_reply_t *reply, const shoal_sink_t *sink)
{
    int nils = 0;

    shoal_reply_visit(reply, sink, &nils);
    return nils;
}

static void test_a_reply_that_is_not_there_is_nil(void **state)
{
    static const shoal_sink_t whole = {count_leaf, ignore_begin, ignore_mark,
                                       ignore_mark},
                              empty;
    size_t bytes = 77;

    (void)state;
    const row_t rows[] = {
        ROW(shoal_reply_at, shoal_reply_at(NULL, 0) == NULL),
        ROW(shoal_reply_bool, !shoal_reply_bool(NULL)),
        ROW(shoal_reply_count, shoal_reply_count(NULL) == 0),
        ROW(shoal_reply_double, shoal_reply_double(NULL) == 0),
        ROW(shoal_reply_integer, shoal_reply_integer(NULL) == 0),
        VANISHES(shoal_reply_release, NULL),
        ROW(shoal_reply_retain, shoal_reply_retain(NULL) == NULL),
        ROW(shoal_reply_string, shoal_reply_string(NULL, &bytes) == NULL),
        ROW(shoal_reply_type, shoal_reply_type(NULL) == SHOAL_REPLY_NIL),
        ROW(shoal_reply_verbatim_format,
            is_text(shoal_reply_verbatim_format(NULL), "")),
        ROW(shoal_reply_visit, visit(NULL, &whole) == 1),
        ROW(shoal_reply_visit, visit(NULL, &empty) == 0),
        ROW(shoal_reply_visit, visit(NULL, NULL) == 0),
    };
    check(rows, COUNT(rows));
    assert_int_equal(bytes, 0);
}

static void test_an_item_that_is_not_there_ends_everything(void **state)
{
    size_t bytes = 77;

    (void)state;
    const row_t rows[] = {
        ROW(shoal_item_channel, shoal_item_channel(NULL, &bytes) == NULL && bytes == 0),
        ROW(shoal_item_count, shoal_item_count(NULL) == 0),
        ROW(shoal_item_data, shoal_item_data(NULL) == NULL),
        ROW(shoal_item_detail, is_text(shoal_item_detail(NULL), "")),
        ROW(shoal_item_epoch, shoal_item_epoch(NULL) == 0),
        ROW(shoal_item_kind, shoal_item_kind(NULL) == SHOAL_ITEM_ENDED),
        ROW(shoal_item_name_kind, shoal_item_name_kind(NULL) == SHOAL_NAME_CHANNEL),
        ROW(shoal_item_pattern, shoal_item_pattern(NULL, NULL) == NULL),
        ROW(shoal_item_payload, shoal_item_payload(NULL, NULL) == NULL),
        ROW(shoal_item_reason, shoal_item_reason(NULL) == SHOAL_GAP_NONE),
    };
    check(rows, COUNT(rows));
}

static void on_no_item(const shoal_item_t *item, void *data)
{
    (void)item, (void)data;
}

static void test_subscriptions(void **state)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1}, hole = {0, NULL, 1};
    const shoal_name_t odd = {(shoal_name_kind_t)9, "x", 1};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT, nowhere = SHOAL_RECEIVER_INIT;
    shoal_receiver_t unset = {.on_item = on_no_item};
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT, no_size = {0};
    shoal_subscription_t *subscription, *none;
    shoal_pubsub_t *pubsub, *no_pubsub;

    (void)state;
    receiver.on_item = on_no_item;
    assert_int_equal(shoal_pubsub_open_borrowed(NULL, &pubsub, NULL), 0);
    assert_int_equal(shoal_pubsub_subscribe(pubsub, NULL, 0, &receiver, &subscription),
                     0);
    const row_t rows[] = {
        REFUSES(shoal_pubsub_after_fork_child, NULL),
        REFUSES(shoal_pubsub_close, NULL, NULL, NULL),
        REFUSES(shoal_pubsub_close_and_wait, NULL),
        ROW(shoal_pubsub_fd, shoal_pubsub_fd(NULL) == -1),
        REFUSES(shoal_pubsub_open, NULL, NULL, NULL),
        REFUSES(shoal_pubsub_open_borrowed, NULL, NULL, NULL),
        REFUSES(shoal_pubsub_open_uv, NULL, NULL, &no_pubsub, NULL),
        REFUSES(shoal_pubsub_reconnect, NULL),
        VANISHES(shoal_pubsub_release, NULL),
        ROW(shoal_pubsub_retain, shoal_pubsub_retain(NULL) == NULL),
        REFUSES(shoal_pubsub_set_credentials, NULL, NULL, NULL),
        REFUSES(shoal_pubsub_set_credentials, pubsub, "user", NULL),
        REFUSES(shoal_pubsub_set_prober, NULL, NULL),
        REFUSES(shoal_pubsub_stats, NULL, &stats),
        REFUSES(shoal_pubsub_stats, pubsub, NULL),
        REFUSES(shoal_pubsub_stats, pubsub, &no_size),
        REFUSES(shoal_pubsub_step, NULL, 0),
        REFUSES(shoal_pubsub_subscribe, NULL, &name, 1, &receiver, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, NULL, 1, &receiver, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, &hole, 1, &receiver, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, &odd, 1, &receiver, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, &name, 1, NULL, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, &name, 1, &nowhere, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, &name, 1, &unset, &none),
        REFUSES(shoal_pubsub_subscribe, pubsub, &name, 1, &receiver, NULL),
        ROW(shoal_pubsub_wait_us, shoal_pubsub_wait_us(NULL) == -1),
        REFUSES(shoal_subscription_add, NULL, &name, 1),
        REFUSES(shoal_subscription_add, subscription, NULL, 1),
        REFUSES(shoal_subscription_add, subscription, &hole, 1),
        VANISHES(shoal_subscription_close, NULL),
        REFUSES(shoal_subscription_remove, NULL, &name, 1),
        REFUSES(shoal_subscription_remove, subscription, NULL, 1),
        REFUSES(shoal_subscription_wait, NULL, 0),
    };
    check(rows, COUNT(rows));
    shoal_subscription_close(subscription);
    shoal_pubsub_release(pubsub);
}

static void test_results_events_and_figures(void **state)
{
    (void)state;
    const row_t rows[] = {
        ROW(shoal_result_attempts, shoal_result_attempts(NULL) == 0),
        ROW(shoal_script_sha1, is_text(shoal_script_sha1(NULL), "")),
        ROW(shoal_script_text, !shoal_script_text((shoal_script_kind_t)99)),
        ROW(shoal_result_detail,
            is_text(shoal_result_detail(NULL), "there is no result")),
        ROW(shoal_result_error,
            is_text(shoal_result_error(NULL), "there is no result")),
        ROW(shoal_result_fate, shoal_result_fate(NULL) == SHOAL_FATE_UNKNOWN),
        ROW(shoal_result_is_offline, !shoal_result_is_offline(NULL)),
        ROW(shoal_result_is_settled, !shoal_result_is_settled(NULL)),
        ROW(shoal_result_part, shoal_result_part(NULL, 0) == NULL),
        ROW(shoal_result_parts, shoal_result_parts(NULL) == 0),
        VANISHES(shoal_result_release, NULL),
        ROW(shoal_result_reply, shoal_result_reply(NULL) == NULL),
        REFUSES(shoal_result_status, NULL),
        ROW(shoal_result_node, shoal_result_node(NULL)[0] == '\0'),
        ROW(shoal_result_redirects, shoal_result_redirects(NULL) == 0),
        ROW(shoal_result_slot, shoal_result_slot(NULL) == -1),
        ROW(shoal_result_ticket, shoal_result_ticket(NULL) == 0),
        ROW(shoal_result_was_reordered, !shoal_result_was_reordered(NULL)),
        ROW(shoal_event_connection, shoal_event_connection(NULL) == 0),
        ROW(shoal_event_delay_us, shoal_event_delay_us(NULL) == 0),
        ROW(shoal_event_detail, is_text(shoal_event_detail(NULL), "")),
        ROW(shoal_event_epoch, shoal_event_epoch(NULL) == 0),
        ROW(shoal_event_kind, shoal_event_kind(NULL) == 0),
        ROW(shoal_event_server, is_text(shoal_event_server(NULL), "")),
        ROW(shoal_event_status, shoal_event_status(NULL) == 0),
        ROW(shoal_stats_latency_us,
            shoal_stats_latency_us(NULL, SHOAL_STAGE_TOTAL, 500) == 0),
        ROW(shoal_stats_bucket_us, shoal_stats_bucket_us(0) == 0),
        /* Without a pointer: any number has an answer. */
        ROW(shoal_connection_state_name, shoal_connection_state_name(99) != NULL),
        ROW(shoal_error_name, shoal_error_name(1) != NULL),
        ROW(shoal_has_tls, shoal_has_tls() || true), /* takes nothing */
        ROW(shoal_fate_name, shoal_fate_name(99) != NULL),
        ROW(shoal_flush_reason_name, shoal_flush_reason_name(99) != NULL),
        ROW(shoal_strerror, shoal_strerror(1) != NULL),
        ROW(shoal_version, shoal_version() != NULL),
        ROW(shoal_version_number, shoal_version_number() > 0),
    };
    check(rows, COUNT(rows));
}

/* ---- none is missing ---- */

static bool is_seen(const char *function)
{
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], function) == 0)
            return true;
    return false;
}

static void test_every_exported_function_has_a_row(void **state)
{
    FILE *list = fopen(SHOAL_EXPORTED_SYMBOLS, "r");
    char line[128];
    int symbols = 0;

    (void)state;
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        if (!is_seen(line))
            fail_msg("%s has no row here", line);
        symbols++;
    }
    fclose(list);
    assert_true(symbols > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_is_needed),
        SCENE_TEST(test_what_a_client_needs),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_queues_and_pending_calls),
        cmocka_unit_test(test_a_reply_that_is_not_there_is_nil),
        cmocka_unit_test(test_an_item_that_is_not_there_ends_everything),
        cmocka_unit_test(test_subscriptions),
        cmocka_unit_test(test_results_events_and_figures),
        cmocka_unit_test(test_every_exported_function_has_a_row),
    };
    return cmocka_run_group_tests_name("fault/null", tests, NULL, NULL);
}
