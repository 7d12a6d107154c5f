/* SPDX-License-Identifier: MIT */
#include "core/options.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <string.h>

void shoal__options_defaults(shoal_options_t *options)
{
    *options = (shoal_options_t){
        .credentials = {.timeout_us = 5000000},
        .protocol = 3,
        .keepalive_us = 15000000,
        .timeout_us = 5000000,
        .connect_timeout_us = 2000000,
        .handshake_timeout_us = 5000000,
        .stall_timeout_us = 5000000,
        .ping_idle_us = 10000000,
        .probe_us = SHOAL_PROBE_AUTO,
        .backoff_base_us = 50000,
        .backoff_max_us = 10000000,
        .offline_mode = SHOAL_OFFLINE_QUEUE,
        .queued_max = 65536,
        .inflight_max = 16384,
        .bytes_max = 67108864,
        .reply_bytes_max = 536870912,
        .reply_elements_max = 16777216,
        .reply_depth_max = 1024,
        .attempts_max = 3,
        .integrity = SHOAL_INTEGRITY_DETECT,
        .is_settling = true,
        .has_bulk_lane = true,
        .heeds_notices = true,
        .connections = 1,
        .connections_max = 512,
        .tls = {.min_version = SHOAL_TLS_1_2},
        .flush_mode = SHOAL_FLUSH_AUTO,
        .flush_pause_us = SHOAL__FLUSH_BUDGET_US_DEFAULT,
        .log_level = SHOAL_LOG_ERROR,
    };
}

int shoal__options_set_secrets(char **user_field, char **password_field,
                               const char *user, const char *password)
{
    shoal__secret_t secret = {.user = *user_field, .password = *password_field};
    int rc = shoal__secret_set(&secret, user, password);

    *user_field = secret.user;
    *password_field = secret.password;
    return rc;
}

void shoal__options_forget_secret(shoal_options_t *options)
{
    (void)shoal__options_set_secrets(&options->user, &options->password, NULL, NULL);
}

static void free_sentinels(shoal__options_sentinels_t *sentinels)
{
    shoal__free(sentinels->name);
    for (size_t i = 0; i < sentinels->count; i++)
        shoal__free(sentinels->seeds[i].host);
    shoal__secret_free_text(sentinels->user);
    shoal__secret_free_text(sentinels->password);
}

void shoal__options_free(shoal_options_t *options)
{
    if (!options)
        return;
    shoal__options_drop_addresses(options, 0);
    shoal__secret_free_text(options->user);
    shoal__secret_free_text(options->password);
    shoal__free(options->client_name);
    shoal__free(options->source_address);
    shoal__free(options->zone);
    shoal__tls_settings_release(&options->tls);
    free_sentinels(&options->sentinels);
    shoal__address_map_release(&options->map);
    for (unsigned i = 0; i < options->replicas_count; i++)
        shoal__free(options->replicas[i].host);
    shoal__free(options);
}

int shoal__options_copy_text(const char *text, char **ret_copy)
{
    char *copy = NULL;

    if (text && !(copy = shoal__strdup(text)))
        return SHOAL_ENOMEM;
    *ret_copy = copy;
    return 0;
}

void shoal__options_drop_addresses(shoal_options_t *options, unsigned from)
{
    while (options->addresses_count > from) {
        shoal__option_address_t *address =
            &options->addresses[--options->addresses_count];
        shoal__free(address->host);
        shoal__free(address->unix_path);
        *address = (shoal__option_address_t){0};
    }
}

int shoal__options_copy_address(const shoal__option_address_t *from,
                                shoal__option_address_t *ret_copy)
{
    shoal__option_address_t copy = {.port = from->port};

    if (shoal__options_copy_text(from->host, &copy.host) < 0 ||
        shoal__options_copy_text(from->unix_path, &copy.unix_path) < 0) {
        shoal__free(copy.host);
        return SHOAL_ENOMEM;
    }
    *ret_copy = copy;
    return 0;
}

static int copy_addresses(const shoal_options_t *from, shoal_options_t *to)
{
    for (unsigned i = 0; i < from->addresses_count; i++) {
        if (shoal__options_copy_address(&from->addresses[i], &to->addresses[i]) < 0)
            return SHOAL_ENOMEM;
        to->addresses_count++;
    }
    return 0;
}

/* On failure what was copied is in ret_copy. */
static int copy_sentinels(const shoal__options_sentinels_t *from,
                          shoal__options_sentinels_t *ret_copy)
{
    *ret_copy = (shoal__options_sentinels_t){.is_tls = from->is_tls};
    if (shoal__options_copy_text(from->name, &ret_copy->name) < 0 ||
        shoal__options_copy_text(from->user, &ret_copy->user) < 0 ||
        shoal__options_copy_text(from->password, &ret_copy->password) < 0)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < from->count; i++) {
        if (shoal__options_copy_text(from->seeds[i].host, &ret_copy->seeds[i].host) < 0)
            return SHOAL_ENOMEM;
        ret_copy->seeds[i].port = from->seeds[i].port;
        ret_copy->count++;
    }
    return 0;
}

static int copy_replicas(const shoal_options_t *from, shoal_options_t *to)
{
    for (unsigned i = 0; i < from->replicas_count; i++) {
        if (shoal__options_copy_address(&from->replicas[i], &to->replicas[i]) < 0)
            return SHOAL_ENOMEM;
        to->replicas_count++;
    }
    return 0;
}

int shoal__options_copy(const shoal_options_t *from, shoal_options_t **ret)
{
    char localhost[] = "127.0.0.1";
    shoal_options_t defaults;
    shoal_options_t *copy = shoal__malloc(sizeof *copy);
    if (!copy)
        return SHOAL_ENOMEM;

    if (!from) {
        shoal__options_defaults(&defaults);
        defaults.addresses[0] =
            (shoal__option_address_t){.host = localhost, .port = 6379};
        defaults.addresses_count = 1;
        from = &defaults;
    }
    *copy = *from;
    memset(copy->addresses, 0, sizeof copy->addresses);
    copy->addresses_count = 0;
    copy->user = copy->password = copy->client_name = copy->source_address = NULL;
    copy->zone = NULL;
    copy->sentinels = (shoal__options_sentinels_t){0};
    copy->map = (shoal__address_map_t){0};
    copy->replicas_count = 0; /* of those whose host is copied */
    if (shoal__tls_settings_copy(&from->tls, &copy->tls) < 0) {
        shoal__options_free(copy);
        return SHOAL_ENOMEM;
    }

    if (copy_sentinels(&from->sentinels, &copy->sentinels) < 0 ||
        copy_addresses(from, copy) < 0 ||
        shoal__options_copy_text(from->user, &copy->user) < 0 ||
        shoal__options_copy_text(from->password, &copy->password) < 0 ||
        shoal__options_copy_text(from->client_name, &copy->client_name) < 0 ||
        shoal__options_copy_text(from->source_address, &copy->source_address) < 0 ||
        shoal__options_copy_text(from->zone, &copy->zone) < 0 ||
        copy_replicas(from, copy) < 0 ||
        shoal__address_map_copy(&from->map, &copy->map) < 0) {
        shoal__options_free(copy);
        return SHOAL_ENOMEM;
    }
    *ret = copy;
    return 0;
}
