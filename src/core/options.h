/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_OPTIONS_H
#define SHOAL_CORE_OPTIONS_H

/*
 * The struct behind shoal_options_t.  Setters check every value, so every reader finds
 * the values in range and consistent.
 *
 * Guarantee: credentials are overwritten before their memory is freed.
 */

#include "core/address_map.h"
#include "core/target.h"
#include "core/tls_settings.h"
#include <shoal/cluster.h>
#include <shoal/credentials.h>
#include <shoal/integrity.h>
#include <shoal/options.h>
#include <shoal/probe.h>
#include <shoal/replicas.h>
#include <shoal/retry.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

/* Bytes of the longest path of a Unix socket, without its NUL. */
#define SHOAL__UNIX_PATH_BYTES_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* The latency budget of SHOAL_FLUSH_AUTO. */
#define SHOAL__FLUSH_BUDGET_US_DEFAULT 100

#define SHOAL__OPTIONS_SENTINELS_MAX 16

/* Where the primary's name is known. */
typedef struct shoal__options_sentinels {
    char *name; /* of the primary, for the sentinels; NULL: the address counts */
    struct {
        char *host;
        int port;
    } seeds[SHOAL__OPTIONS_SENTINELS_MAX];
    size_t count;
    bool is_tls;    /* the sentinels speak TLS, with the settings of the server's */
    char *user;     /* of the sentinels; NULL: the default user */
    char *password; /* NULL: no authentication */
} shoal__options_sentinels_t;

/* How they change. */
typedef struct shoal__options_credentials {
    shoal_credentials_fn provider; /* NULL: none */
    void *data;                    /* of the provider */
    uint64_t timeout_us;           /* of an answer */
    shoal_rotation_t rotation;
} shoal__options_credentials_t;

/* One address of the server. */
typedef struct shoal__option_address {
    char *host; /* NULL if there is a Unix path */
    int port;
    char *unix_path; /* NULL: TCP */
} shoal__option_address_t;

struct shoal_options {
    shoal__option_address_t addresses[SHOAL__ENDPOINTS_MAX];
    unsigned addresses_count;
    bool has_address; /* one was set or added: no other stands for the default */
    shoal__address_map_t map; /* for addresses that nodes of a cluster name */
    /* CLUSTER: the addresses are of some of its nodes.  AUTO, of a client: until it has
     * found out.  Any thread: shoal__options_topology(). */
    _Atomic(shoal_topology_t) topology;

    shoal__options_sentinels_t sentinels;

    char *user;     /* NULL: the server's default user */
    char *password; /* NULL: no authentication */
    shoal__options_credentials_t credentials;
    int database;
    char *client_name; /* NULL: none */
    int protocol;      /* newest to ask for: 2 or 3 */

    char *source_address; /* numeric; NULL: the system chooses */
    uint64_t
        keepalive_us; /* silence before the system tests the connection; 0: never */

    uint64_t timeout_us; /* of a command; SHOAL_TIMEOUT_NEVER: none */
    uint64_t connect_timeout_us;
    uint64_t handshake_timeout_us;
    uint64_t stall_timeout_us;
    uint64_t ping_idle_us; /* 0: never */
    uint64_t probe_us;     /* of pubsubs; 0: never; or SHOAL_PROBE_AUTO */
    uint64_t backoff_base_us;
    uint64_t backoff_max_us;

    shoal_offline_mode_t offline_mode;
    size_t queued_max;           /* commands not written */
    size_t inflight_max;         /* commands written, unanswered */
    uint64_t bytes_max;          /* encoded bytes of all outstanding commands */
    uint64_t reply_bytes_max;    /* of one reply */
    uint64_t reply_elements_max; /* of one aggregate */
    int reply_depth_max;
    int attempts_max;
    shoal_order_t order;

    shoal_integrity_t integrity;
    bool is_settling;
    bool has_bulk_lane;       /* ... and learns which commands are for it */
    bool heeds_notices;       /* of maintenance */
    unsigned connections;     /* that share the keys among them */
    unsigned connections_max; /* of a client of a cluster, with leases */

    shoal__tls_settings_t tls;

    shoal_read_from_t read_from;
    char *zone; /* of the program; NULL: not known */
    shoal__option_address_t replicas[SHOAL_REPLICAS_MAX]; /* of the program */
    unsigned replicas_count; /* 0: the primary names them, if any are wanted */

    shoal_flush_mode_t flush_mode;
    uint64_t flush_pause_us; /* FIXED: the pause; AUTO: the latency budget; OFF: 0 */

    shoal_event_cb on_event; /* NULL: none */
    void *event_data;
    shoal_log_cb on_log; /* NULL: none */
    void *log_data;
    shoal_log_level_t log_level;
};

/* A bare load, as shoal__client_route() is. */
static inline shoal_topology_t shoal__options_topology(const shoal_options_t *options)
{
    return options->topology;
}

/* May any command go to a replica? */
static inline bool shoal__options_use_replicas(const shoal_options_t *options)
{
    return options->read_from != SHOAL_READ_PRIMARY || options->replicas_count > 0;
}

/* The zone whose replicas are preferred; NULL: any. */
static inline const char *shoal__options_zone(const shoal_options_t *options)
{
    bool matters = options->read_from == SHOAL_READ_ZONE ||
                   options->read_from == SHOAL_READ_ZONE_OR_PRIMARY;

    return matters ? options->zone : NULL;
}

/* Every default that needs no memory; the address and the texts are NULL. */
void shoal__options_defaults(shoal_options_t *options);

/* A deep copy, or the defaults if `from` is NULL.  0 or SHOAL_ENOMEM; ret is untouched
 * on failure. */
int shoal__options_copy(const shoal_options_t *from, shoal_options_t **ret);
void shoal__options_free(shoal_options_t *options); /* NULL is allowed */

/* *ret_copy becomes a copy of an address, whose texts are then owned.  0 or
 * SHOAL_ENOMEM. */
int shoal__options_copy_address(const shoal__option_address_t *from,
                                shoal__option_address_t *ret_copy);
/* Forget the addresses from number `from` on. */
void shoal__options_drop_addresses(shoal_options_t *options, unsigned from);

/* *ret_copy becomes a copy of `text`; NULL stays NULL.  0 or SHOAL_ENOMEM. */
int shoal__options_copy_text(const char *text, char **ret_copy);
/* The server's password is kept elsewhere now: wipe it. */
void shoal__options_forget_secret(shoal_options_t *options);
/* Replace both by copies.  0, SHOAL_EINVAL (a user without a password) or SHOAL_ENOMEM. */
int shoal__options_set_secrets(char **user_field, char **password_field,
                               const char *user, const char *password);

#endif
