/* SPDX-License-Identifier: MIT */
#include <shoal/options.h>

#include "base/alloc.h"
#include "core/lane_rule.h"
#include "core/options.h"
#include <arpa/inet.h>
#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/retry.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX 4096
#define DAY_US UINT64_C(86400000000)
#define HOUR_US UINT64_C(3600000000)
#define MINUTE_US UINT64_C(60000000)
#define GIB (UINT64_C(1) << 30)

/* --- life --- */

int shoal_options_new(shoal_options_t **ret_options)
{
    if (!ret_options)
        return SHOAL_EINVAL;
    *ret_options = NULL;
    return shoal__options_copy(NULL, ret_options);
}

void shoal_options_free(shoal_options_t *options)
{
    shoal__options_free(options);
}

/* --- setters --- */

static bool is_within(uint64_t value, uint64_t min, uint64_t max)
{
    return value >= min && value <= max;
}

static int set_u64(uint64_t *field, uint64_t value, uint64_t min, uint64_t max)
{
    if (!is_within(value, min, max))
        return SHOAL_EINVAL;
    *field = value;
    return 0;
}

static int set_int(int *field, int value, int min, int max)
{
    if (value < min || value > max)
        return SHOAL_EINVAL;
    *field = value;
    return 0;
}

/* Replace the text of a field by a copy; NULL clears it. */
static int set_text(char **field, const char *text)
{
    char *copy;
    if (shoal__options_copy_text(text, &copy) < 0)
        return SHOAL_ENOMEM;
    shoal__free(*field);
    *field = copy;
    return 0;
}

/* Alone, or behind those that were set or added before. */
static int put_address(shoal_options_t *options, bool is_alone,
                       const shoal__option_address_t *from)
{
    unsigned kept = is_alone || !options->has_address ? 0 : options->addresses_count;
    shoal__option_address_t copy;

    if (kept == SHOAL__ENDPOINTS_MAX)
        return SHOAL_EINVAL;
    if (shoal__options_copy_address(from, &copy) < 0)
        return SHOAL_ENOMEM;
    shoal__options_drop_addresses(options, kept);
    options->addresses[options->addresses_count++] = copy;
    options->has_address = true;
    return 0;
}

static int put_host(shoal_options_t *options, bool is_alone, const char *host, int port)
{
    if (!options || !host || !*host || port < 1 || port > 65535)
        return SHOAL_EINVAL;
    return put_address(options, is_alone,
                       &(shoal__option_address_t){.host = (char *)host, .port = port});
}

static int put_unix_path(shoal_options_t *options, bool is_alone, const char *path)
{
    if (!options || !path || !*path || strlen(path) > SHOAL__UNIX_PATH_BYTES_MAX)
        return SHOAL_EINVAL;
    return put_address(options, is_alone,
                       &(shoal__option_address_t){.unix_path = (char *)path});
}

int shoal_options_set_address(shoal_options_t *options, const char *host, int port)
{
    return put_host(options, true, host, port);
}

int shoal_options_add_address(shoal_options_t *options, const char *host, int port)
{
    return put_host(options, false, host, port);
}

int shoal_options_set_unix_path(shoal_options_t *options, const char *path)
{
    return put_unix_path(options, true, path);
}

int shoal_options_add_unix_path(shoal_options_t *options, const char *path)
{
    return put_unix_path(options, false, path);
}

int shoal_options_set_database(shoal_options_t *options, int database)
{
    if (!options)
        return SHOAL_EINVAL;
    return set_int(&options->database, database, 0, INT32_MAX);
}

int shoal_options_set_client_name(shoal_options_t *options, const char *name)
{
    if (!options || (name && !*name))
        return SHOAL_EINVAL;
    for (const char *c = name; c && *c; c++)
        if (*c < '!' || *c > '~')
            return SHOAL_EINVAL;
    return set_text(&options->client_name, name);
}

int shoal_options_set_source_address(shoal_options_t *options, const char *address)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    if (!options || (address && inet_pton(AF_INET, address, bytes) != 1 &&
                     inet_pton(AF_INET6, address, bytes) != 1))
        return SHOAL_EINVAL;
    return set_text(&options->source_address, address);
}

int shoal_options_set_keepalive_us(shoal_options_t *options, uint64_t idle_us)
{
    if (!options)
        return SHOAL_EINVAL;
    return set_u64(&options->keepalive_us, idle_us, idle_us ? 1000000 : 0, HOUR_US);
}

int shoal_options_set_protocol(shoal_options_t *options, int version)
{
    if (!options)
        return SHOAL_EINVAL;
    return set_int(&options->protocol, version, 2, 3);
}

int shoal_options_set_timeout_us(shoal_options_t *options, uint64_t timeout_us)
{
    if (!options)
        return SHOAL_EINVAL;
    if (timeout_us == SHOAL_TIMEOUT_NEVER) {
        options->timeout_us = SHOAL_TIMEOUT_NEVER;
        return 0;
    }
    return set_u64(&options->timeout_us, timeout_us, 1, DAY_US);
}

int shoal_options_set_connect_timeout_us(shoal_options_t *options, uint64_t connect_us,
                                         uint64_t handshake_us)
{
    if (!options || !is_within(connect_us, 1000, 10 * MINUTE_US) ||
        !is_within(handshake_us, 1000, 10 * MINUTE_US))
        return SHOAL_EINVAL;
    options->connect_timeout_us = connect_us;
    options->handshake_timeout_us = handshake_us;
    return 0;
}

int shoal_options_set_stall_timeout_us(shoal_options_t *options, uint64_t stall_us)
{
    if (!options)
        return SHOAL_EINVAL;
    return set_u64(&options->stall_timeout_us, stall_us, 10000, HOUR_US);
}

int shoal_options_set_ping_idle_us(shoal_options_t *options, uint64_t idle_us)
{
    if (!options)
        return SHOAL_EINVAL;
    return set_u64(&options->ping_idle_us, idle_us, idle_us ? 10000 : 0, HOUR_US);
}

int shoal_options_set_probe_us(shoal_options_t *options, uint64_t probe_us)
{
    if (!options)
        return SHOAL_EINVAL;
    if (probe_us == 0 || probe_us == SHOAL_PROBE_AUTO) {
        options->probe_us = probe_us;
        return 0;
    }
    return set_u64(&options->probe_us, probe_us, 1000000, HOUR_US);
}

int shoal_options_set_backoff_us(shoal_options_t *options, uint64_t base_us,
                                 uint64_t max_us)
{
    if (!options || !is_within(base_us, 1000, MINUTE_US) ||
        !is_within(max_us, base_us, 10 * MINUTE_US))
        return SHOAL_EINVAL;
    options->backoff_base_us = base_us;
    options->backoff_max_us = max_us;
    return 0;
}

int shoal_options_set_offline_mode(shoal_options_t *options, shoal_offline_mode_t mode)
{
    if (!options || (mode != SHOAL_OFFLINE_QUEUE && mode != SHOAL_OFFLINE_FAIL))
        return SHOAL_EINVAL;
    options->offline_mode = mode;
    return 0;
}

int shoal_options_set_outstanding_max(shoal_options_t *options, size_t queued_max,
                                      size_t inflight_max, uint64_t bytes_max)
{
    if (!options || !is_within(queued_max, 1, 16777216) ||
        !is_within(inflight_max, 1, 1048576) || !is_within(bytes_max, 1024, 16 * GIB))
        return SHOAL_EINVAL;
    options->queued_max = queued_max;
    options->inflight_max = inflight_max;
    options->bytes_max = bytes_max;
    return 0;
}

int shoal_options_set_reply_max(shoal_options_t *options, uint64_t bytes_max,
                                uint64_t elements_max, int depth_max)
{
    if (!options || !is_within(bytes_max, 1024, 16 * GIB) ||
        !is_within(elements_max, 1, INT32_MAX) || depth_max < 1 || depth_max > 1024)
        return SHOAL_EINVAL;
    options->reply_bytes_max = bytes_max;
    options->reply_elements_max = elements_max;
    options->reply_depth_max = depth_max;
    return 0;
}

int shoal_options_set_flush(shoal_options_t *options, shoal_flush_mode_t mode,
                            uint64_t pause_us)
{
    if (!options)
        return SHOAL_EINVAL;
    if (mode == SHOAL_FLUSH_OFF)
        pause_us = 0;
    else if (mode == SHOAL_FLUSH_AUTO && pause_us == 0)
        pause_us = SHOAL__FLUSH_BUDGET_US_DEFAULT;
    else if ((mode != SHOAL_FLUSH_AUTO && mode != SHOAL_FLUSH_FIXED) ||
             !is_within(pause_us, 1, 1000000))
        return SHOAL_EINVAL;
    options->flush_mode = mode;
    options->flush_pause_us = pause_us;
    return 0;
}

int shoal_options_set_attempts_max(shoal_options_t *options, int attempts_max)
{
    if (!options)
        return SHOAL_EINVAL;
    return set_int(&options->attempts_max, attempts_max, 1, 100);
}

int shoal_options_set_order(shoal_options_t *options, shoal_order_t order)
{
    if (!options || (order != SHOAL_ORDER_MARK && order != SHOAL_ORDER_STRICT))
        return SHOAL_EINVAL;
    options->order = order;
    return 0;
}

int shoal_options_set_integrity(shoal_options_t *options, shoal_integrity_t integrity)
{
    if (!options)
        return SHOAL_EINVAL;
    switch (integrity) {
    case SHOAL_INTEGRITY_SHAPES:
    case SHOAL_INTEGRITY_DETECT:
    case SHOAL_INTEGRITY_STRICT:
        options->integrity = integrity;
        return 0;
    }
    return SHOAL_EINVAL;
}

int shoal_options_set_settle(shoal_options_t *options, bool is_settling)
{
    if (!options)
        return SHOAL_EINVAL;
    options->is_settling = is_settling;
    return 0;
}

int shoal_options_set_bulk_lane(shoal_options_t *options, bool has_bulk_lane)
{
    if (!options)
        return SHOAL_EINVAL;
    options->has_bulk_lane = has_bulk_lane;
    return 0;
}

int shoal_options_set_maintenance(shoal_options_t *options, bool heeds)
{
    if (!options)
        return SHOAL_EINVAL;
    options->heeds_notices = heeds;
    return 0;
}

int shoal_options_set_connections(shoal_options_t *options, unsigned connections)
{
    if (!options || connections < 1 || connections > SHOAL__LANE_HOMES_MAX)
        return SHOAL_EINVAL;
    options->connections = connections;
    return 0;
}

int shoal_options_set_connections_max(shoal_options_t *options,
                                      unsigned connections_max)
{
    if (!options || connections_max < 1 || connections_max > CONNECTIONS_MAX)
        return SHOAL_EINVAL;
    options->connections_max = connections_max;
    return 0;
}

int shoal_options_set_on_event(shoal_options_t *options, shoal_event_cb on_event,
                               void *data)
{
    if (!options)
        return SHOAL_EINVAL;
    options->on_event = on_event;
    options->event_data = data;
    return 0;
}

int shoal_options_set_on_log(shoal_options_t *options, shoal_log_level_t level,
                             shoal_log_cb on_log, void *data)
{
    if (!options || (unsigned)level > SHOAL_LOG_DEBUG)
        return SHOAL_EINVAL;
    options->log_level = level;
    options->on_log = on_log;
    options->log_data = data;
    return 0;
}
