/* SPDX-License-Identifier: MIT */
#include "matrix/rig.h"

#include "fault_proxy/fake_bytes.h"
#include "matrix/rig_parts.h"
#include "matrix/world.h"
#include "support/process_state.h"
#include "support/sleeper.h"

#if SHOAL_FAKE_TLS
#include "support/tls/certificate_folder.h"
#include <shoal/tls.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_US 25000000u
#define STALL_US 60000000u
#define LATE_US_MAX 50000u
#define LATE_US_MAX_SANITIZED 500000u

matrix_t *matrix_current;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    matrix_events_t *events = data;
    int status = shoal_event_status(event);
    (void)client;

    switch (shoal_event_kind(event)) {
    case SHOAL_EVENT_CONNECTED:
        events->connected++;
        break;
    case SHOAL_EVENT_READY:
        events->ready++;
        break;
    case SHOAL_EVENT_LOST:
    case SHOAL_EVENT_ATTEMPT_FAILED:
        events->lost_auth += status == SHOAL_EAUTH;
        events->lost_desync += status == SHOAL_EDESYNC;
        events->lost_timeout += status == SHOAL_ETIMEOUT;
        events->lost_conn += status == SHOAL_ECONN;
        events->lost++;
        break;
    case SHOAL_EVENT_TLS_FILES:
    case SHOAL_EVENT_TLS_UNVERIFIED:
    case SHOAL_EVENT_RETRYING:
    case SHOAL_EVENT_SERVER_CHANGED:
    case SHOAL_EVENT_SENTINELS_LOST:
    case SHOAL_EVENT_CREDENTIALS:
    case SHOAL_EVENT_MAINTENANCE:
    case SHOAL_EVENT_MAP_CHANGED:
    case SHOAL_EVENT_NODE_UP:
    case SHOAL_EVENT_NODE_DOWN:
    case SHOAL_EVENT_FAILOVER:
    case SHOAL_EVENT_REDIRECT_REFUSED:
    case SHOAL_EVENT_ZONE_UNKNOWN:
    case SHOAL_EVENT_KEYSPACE_OFF:
    default: /* kinds to come */
        break;
    }
}

#if SHOAL_FAKE_TLS
static fake_tls_config_t server_tls;

static void set_tls(matrix_t *m)
{
    server_tls = (fake_tls_config_t){.certificate_file = certificate_path("server.crt"),
                                     .key_file = certificate_path("server.key")};
    assert_int_equal(shoal_options_set_tls(m->options, true), 0);
    assert_int_equal(
        shoal_options_set_tls_ca_file(m->options, certificate_path("ca.crt")), 0);
    /* Whatever the address is. */
    assert_int_equal(shoal_options_set_tls_server_name(m->options, "localhost"), 0);
}

const fake_tls_config_t *matrix_tls(const matrix_t *m)
{
    return m->mode->is_tls ? &server_tls : NULL;
}
#else
static void set_tls(matrix_t *m)
{
    (void)m;
    fail();
}

const fake_tls_config_t *matrix_tls(const matrix_t *m)
{
    (void)m;
    return NULL;
}
#endif

static void set_options(matrix_t *m)
{
    assert_int_equal(shoal_options_new(&m->options), 0);
    assert_int_equal(shoal_options_set_protocol(m->options, m->mode->protocol), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(m->options, STALL_US), 0);
    assert_int_equal(shoal_options_set_ping_idle_us(m->options, 0), 0);
    assert_int_equal(shoal_options_set_backoff_us(m->options, 1000, 5000), 0);
    assert_int_equal(shoal_options_set_on_event(m->options, on_event, &m->events), 0);
    matrix_set_timeout(m, TIMEOUT_US);
    if (m->mode->is_tls)
        set_tls(m);
    if (m->mode->is_cluster)
        assert_int_equal(shoal_options_set_topology(m->options, SHOAL_TOPOLOGY_CLUSTER),
                         0);
}

matrix_t *matrix_begin(const matrix_mode_t *mode)
{
    static unsigned rigs;
    assert_null(matrix_current);
    matrix_t *m = fake_must(calloc(1, sizeof *m));

    m->parts = fake_must(calloc(1, sizeof *m->parts));
    matrix_current = m;
    pthread_mutex_init(&m->parts->lock, NULL);
    pthread_cond_init(&m->parts->has_work, NULL);
    matrix_world_reset();
    m->parts->number = ++rigs;
    m->parts->memory = matrix_memory_now();
    m->parts->threads = process_threads();
    sleeper_start();
    m->parts->descriptors = process_descriptors();
    m->mode = mode;
    m->callers = 8;
    m->late_us_max = process_is_sanitized() ? LATE_US_MAX_SANITIZED : LATE_US_MAX;
    set_options(m);
    return m;
}

void matrix_set_timeout(matrix_t *m, uint64_t timeout_us)
{
    m->timeout_us = timeout_us;
    assert_int_equal(shoal_options_set_timeout_us(m->options, timeout_us), 0);
}

void matrix_defer(matrix_t *m, void (*end)(void *data), void *data)
{
    matrix_deferred_t *deferred = fake_must(malloc(sizeof *deferred));

    *deferred = (matrix_deferred_t){m->parts->deferred, end, data};
    m->parts->deferred = deferred;
}

static void stop_fake(void *data)
{
    fake_server_stop(data);
}

static void stop_redis(void *data)
{
    redis_process_stop(data);
}

fake_server_t *matrix_fake(matrix_t *m, const fake_config_t *config)
{
    fake_config_t with_tls = config ? *config : (fake_config_t){0};

    with_tls.tls = matrix_tls(m);
    return matrix_fake_plain(m, &with_tls);
}

fake_server_t *matrix_fake_plain(matrix_t *m, const fake_config_t *config)
{
    fake_config_t as_node = config ? *config : (fake_config_t){0};

    as_node.identity.is_cluster = m->mode->is_cluster;
    if (m->mode->is_cluster)
        as_node.is_unix = false; /* nodes have ports */
    m->parts->fake = fake_server_start(&as_node);
    matrix_defer(m, stop_fake, m->parts->fake);
    return m->parts->fake;
}

/* Of a server that owns all slots. */
static const char *const *node_arguments(struct matrix_parts *parts,
                                         const char *const *arguments)
{
    static const char *all[2 * CLUSTER_NODE_OPTIONS];
    size_t count = 0;

    parts->bus = loopback_port_claim();
    snprintf(parts->bus_text, sizeof parts->bus_text, "%d", parts->bus.number);
    memset(all, 0, sizeof all);
    cluster_node_options(all, parts->bus_text);
    while (all[count])
        count++;
    for (; arguments && *arguments; arguments++) {
        assert_true(count + 1 < sizeof all / sizeof *all);
        all[count++] = *arguments;
    }
    return all;
}

static void release_bus(void *data)
{
    loopback_port_release(data);
}

redis_process_t *matrix_redis(matrix_t *m, const char *const *arguments)
{
    struct matrix_parts *parts = m->parts;
    bool is_node = m->mode->is_cluster;

    redis_process_t *redis = redis_process_start_tls(
        is_node ? node_arguments(parts, arguments) : arguments, matrix_tls(m));
    if (is_node)
        matrix_defer(m, release_bus, &parts->bus);
    if (!redis) {
        print_message("there is no redis-server to start\n");
        skip();
    }
    matrix_defer(m, stop_redis, redis);
    if (!is_node)
        return redis;
    parts->redis = redis;
    assert_true(cluster_nodes_join(
        &(cluster_place_t){redis_process_port(redis), parts->bus.number}, 1, 1));
    return redis;
}

void matrix_to_fake(matrix_t *m, const fake_server_t *server)
{
    if (fake_server_path(server))
        matrix_to_path(m, fake_server_path(server));
    else
        matrix_to_port(m, fake_server_port(server));
}

int matrix_redis_port(const matrix_t *m, const redis_process_t *redis)
{
    return m->mode->is_tls ? redis_process_tls_port(redis) : redis_process_port(redis);
}

void matrix_to_redis(matrix_t *m, const redis_process_t *redis)
{
    matrix_to_port(m, matrix_redis_port(m, redis));
}

/* The node names the address to which the client is led. */
static void announce(const struct matrix_parts *parts, int port)
{
    char command[64], said[16];

    if (parts->fake)
        fake_server_announce(parts->fake, port);
    if (!parts->redis)
        return;
    snprintf(command, sizeof command, "CONFIG SET cluster-announce-port %d", port);
    assert_true(
        redis_ask(redis_process_port(parts->redis), command, said, sizeof said));
    assert_string_equal(said, "+OK");
}

void matrix_to_port(matrix_t *m, int port)
{
    if (m->mode->is_cluster)
        announce(m->parts, port);
    assert_int_equal(shoal_options_set_address(m->options, "127.0.0.1", port), 0);
}

void matrix_to_path(matrix_t *m, const char *path)
{
    assert_int_equal(shoal_options_set_unix_path(m->options, path), 0);
}

void matrix_open(matrix_t *m)
{
    int rc = m->mode->caller == MATRIX_BY_STEPPING
                 ? shoal_client_open_borrowed(m->options, &m->client, NULL)
                 : shoal_client_open(m->options, &m->client, NULL);
    assert_int_equal(rc, 0);
}

/* Its question was answered: commands do not wait any more. */
static bool knows_cluster(const matrix_t *m)
{
    shoal_topology_snapshot_t *topology;

    assert_int_equal(shoal_topology_get(m->client, &topology), 0);
    bool is_known = shoal_topology_owner(topology, 0) != NULL;
    shoal_topology_release(topology);
    return is_known;
}

void matrix_open_ready(matrix_t *m)
{
    unsigned ready = m->events.ready;

    matrix_open(m);
    MATRIX_WAIT_FOR(m, m->events.ready > ready);
    if (m->mode->is_cluster)
        MATRIX_WAIT_FOR(m, knows_cluster(m));
}

void matrix_close(matrix_t *m, uint64_t drain_us)
{
    if (!m->client)
        return;
    matrix_callers_hold(m);
    shoal_client_t *client = m->client;
    m->client = NULL;
    assert_int_equal(shoal_client_close_and_wait(client, drain_us), 0);
    matrix_callers_end(m);
    shoal_client_release(client);
}

/* Everything but the look at the oracles; also of a rig whose test failed. */
static void end_all(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;

    matrix_current = NULL;
    matrix_close(m, 0);
    while (parts->deferred) {
        matrix_deferred_t *deferred = parts->deferred;
        parts->deferred = deferred->next;
        deferred->end(deferred->data);
        free(deferred);
    }
    shoal_options_free(m->options);
    sleeper_stop();
}

static void free_rig(matrix_t *m)
{
    struct matrix_parts *parts = m->parts;

    for (size_t i = 0; i < parts->blocks_count; i++)
        free(parts->blocks[i]);
    free(parts->blocks);
    pthread_cond_destroy(&parts->has_work);
    pthread_mutex_destroy(&parts->lock);
    free(parts);
    free(m);
}

void matrix_abandon(void)
{
    matrix_t *m = matrix_current;

    if (!m)
        return;
    end_all(m);
    free_rig(m);
}

/* The loop, and behind it the caller that is woken, wait for a processor. */
bool matrix_is_prompt(const matrix_t *m, uint64_t due_us, uint64_t then_us,
                      uint64_t late_us)
{
    return sleeper_is_prompt(due_us, then_us,
                             late_us + m->late_us_max + 2 * sleeper_late_us_max());
}

/* O3 and O5 of one command. */
static void check_command(const matrix_t *m, const matrix_command_t *c)
{
    unsigned due = c->rc != 0 ? 0 : m->mode->is_unit ? 3 : 1;
    uint64_t timeout_us = c->spec.timeout_us ? c->spec.timeout_us : m->timeout_us;

    if (!c->is_done || c->results != due)
        fail_msg("O3: %u results, not %u: %s", c->results, due, matrix_describe(c));
    if (c->rc != 0 || timeout_us == SHOAL_TIMEOUT_NEVER)
        return;
    uint64_t due_us = c->submitted_us + timeout_us;
    if (!matrix_is_prompt(m, due_us, c->completed_us, 0))
        fail_msg("O5: %llu us late, of which %llu count; a sleeper %llu: %s",
                 (unsigned long long)(c->completed_us - due_us),
                 (unsigned long long)sleeper_us(due_us, c->completed_us),
                 (unsigned long long)sleeper_late_us_max(), matrix_describe(c));
    if (c->status == SHOAL_ETIMEOUT && c->completed_us < due_us)
        fail_msg("O5: %llu us too early: %s",
                 (unsigned long long)(due_us - c->completed_us), matrix_describe(c));
}

void matrix_check_commands(matrix_t *m)
{
    for (uint64_t seq = m->parts->base; seq < m->parts->count; seq++)
        check_command(m, matrix_at(m, seq));
    if (m->parts->doubled)
        fail_msg("O3: %u results for commands that were complete", m->parts->doubled);
    if (m->accepted != m->completed)
        fail_msg("O3: %llu accepted, %llu completed", (unsigned long long)m->accepted,
                 (unsigned long long)m->completed);
    if (m->wrong && !m->may_be_wrong)
        fail_msg("O1: %llu wrong values", (unsigned long long)m->wrong);
}

/* O6 and O7.  A thread that was joined is in the list for a moment more. */
static void check_process(const struct matrix_parts *before)
{
    assert_int_equal(matrix_memory_now(), before->memory);
    WAIT_FOR(process_threads() <= before->threads);
    WAIT_FOR(process_descriptors() <= before->descriptors);
}

void matrix_end(matrix_t *m)
{
    struct matrix_parts before = *m->parts;

    matrix_close(m, 0);
    matrix_check_commands(m);
    end_all(m);
    free_rig(m);
    check_process(&before);
}

shoal_stats_t matrix_stats(const matrix_t *m)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    assert_int_equal(shoal_stats_get(m->client, &stats), 0);
    return stats;
}

void matrix_idle(matrix_t *m)
{
    matrix_look(m, waiting_now_us());
}

void matrix_look(matrix_t *m, uint64_t since_us)
{
    if (m->mode->caller != MATRIX_BY_STEPPING || !m->client) {
        waiting_sleep_us(waiting_look_us(since_us));
        return;
    }
    if (shoal_client_step(m->client, 1000) == 1) {
        shoal_client_release(m->client);
        m->client = NULL;
    }
}

void matrix_pause(matrix_t *m, uint64_t pause_us)
{
    uint64_t since_us = waiting_now_us();

    while (waiting_now_us() - since_us < pause_us)
        matrix_idle(m);
}
