/* SPDX-License-Identifier: MIT */
#include "route/config.h"

#include "base/time_us.h"
#include "core/sentinel/sentinel_rule.h"
#include "net/tls_context.h"
#include "net/waker.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define FLUSH_BYTES_MAX 65536
#define FLUSH_COMMANDS_MAX 4096

static shoal__pipe_config_t read_pipe_config(const shoal_options_t *options)
{
    return (shoal__pipe_config_t){
        .flush = {.mode = options->flush_mode,
                  .pause_us = options->flush_pause_us,
                  .bytes_max = FLUSH_BYTES_MAX,
                  .commands_max = FLUSH_COMMANDS_MAX,
                  .has_fine_waker = shoal__waker_is_descriptor()},
        .reply = {.bytes_max = options->reply_bytes_max,
                  .elements_max = options->reply_elements_max,
                  .depth_max = options->reply_depth_max},
        .greeting = {.protocol = options->protocol,
                     .database = options->database,
                     .client_name = options->client_name,
                     .integrity = options->integrity,
                     .is_settling = options->is_settling,
                     .needs_primary = options->sentinels.name != NULL,
                     .hears_notices = options->heeds_notices},
        .inflight_max = options->inflight_max,
        .stall_us = options->stall_timeout_us,
        .ping_idle_us = options->ping_idle_us,
        .attempts_max = (unsigned)options->attempts_max,
        .queue_offline = options->offline_mode == SHOAL_OFFLINE_QUEUE,
        .is_strict_order = options->order == SHOAL_ORDER_STRICT,
        .learns = options->has_bulk_lane,
        .is_ordinary = true,
        .loads_scripts = true,
    };
}

/* The setter accepts numeric addresses only. */
static shoal__address_t read_source(const shoal_options_t *options)
{
    shoal__addresses_t found;

    if (!options->source_address ||
        !shoal__resolver_numeric(options->source_address, 0, &found))
        return (shoal__address_t){0};
    return found.items[0];
}

int shoal__config_read(const shoal_options_t *options, shoal__conn_config_t *ret_config)
{
    shoal__tls_context_t *tls =
        options->tls.is_on ? shoal__tls_context_new(&options->tls) : NULL;

    if (options->tls.is_on && !tls)
        return SHOAL_ENOMEM;
    *ret_config = (shoal__conn_config_t){
        .dial = {.stream = shoal__stream_kind(tls),
                 .tls = tls,
                 .is_unverified = tls && options->tls.is_insecure,
                 .source = read_source(options),
                 .source_name = options->source_address,
                 .keepalive_us = options->keepalive_us,
                 .connect_us = options->connect_timeout_us},
        .handshake_us = options->handshake_timeout_us,
        .backoff_base_us = options->backoff_base_us,
        .backoff_us_max = options->backoff_max_us,
        .turn_bytes_max = SIZE_MAX,
        .is_in_place = options->credentials.rotation == SHOAL_ROTATE_IN_PLACE,
        .pipe = read_pipe_config(options),
    };
    if (options->sentinels.name) {
        uint64_t max_us = SHOAL__SENTINEL_BACKOFF_US_MAX;
        ret_config->backoff_us_max = shoal__time_min(options->backoff_max_us, max_us);
        ret_config->backoff_base_us = shoal__time_min(options->backoff_base_us, max_us);
    }
    return 0;
}

void shoal__config_release(shoal__conn_config_t *config)
{
    shoal__tls_context_free(config->dial.tls);
    config->dial.tls = NULL;
}

static void read_endpoint(const shoal__option_address_t *address,
                          char name[SHOAL__TARGET_NAME_BYTES],
                          shoal__endpoint_t *ret_endpoint)
{
    const char *host = address->host;

    if (!host)
        snprintf(name, SHOAL__TARGET_NAME_BYTES, "%s", address->unix_path);
    else
        shoal__target_name(name, host, address->port);
    *ret_endpoint = (shoal__endpoint_t){.name = name,
                                        .host = host,
                                        .port = address->port,
                                        .unix_path = address->unix_path};
}

void shoal__target_read(const shoal_options_t *options,
                        shoal__endpoint_list_t *ret_endpoints,
                        shoal__target_t *ret_target)
{
    unsigned count = options->addresses_count;

    for (unsigned i = 0; i < count; i++)
        read_endpoint(&options->addresses[i], ret_endpoints->names[i],
                      &ret_endpoints->items[i]);
    if (options->sentinels.name) { /* they will say where it is */
        ret_endpoints->items[0] = (shoal__endpoint_t){.name = options->sentinels.name};
        count = 1;
    }
    *ret_target = (shoal__target_t){
        .name = ret_endpoints->items[0].name,
        .endpoints = ret_endpoints->items,
        .endpoints_count = count,
    };
}
