/* SPDX-License-Identifier: MIT */
#include "api/options_keys.h"

#include "base/error.h"
#include "base/escape.h"
#include <shoal/connection.h>
#include <shoal/credentials.h>
#include <shoal/errors.h>
#include <shoal/replicas.h>
#include <shoal/retry.h>
#include <shoal/sentinel.h>
#include <shoal/tls.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

bool shoal__options_read_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (number > (max - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

/* ---- reasons ---- */

#define QUOTE_BYTES 48

/* A piece of the URL, for a text: " 'piece'", or "" if a part of the password may be in
 * it. */
static const char *quote(const shoal__options_keys_t *keys, const char *piece,
                         char room[QUOTE_BYTES])
{
    if (piece < keys->secret_end)
        return "";
    room[0] = ' ';
    room[1] = '\'';
    shoal__escape(room + 2, QUOTE_BYTES - 4, (shoal__bytes_t){piece, strlen(piece)});
    memcpy(room + strlen(room), "'", 2);
    return room;
}

int shoal__options_refuse(const shoal__options_keys_t *keys, const char *what,
                          const char *piece, const char *why)
{
    char room[QUOTE_BYTES];

    return shoal__error_say(keys->error, SHOAL_EURL, "%s%s %s", what,
                            quote(keys, piece, room), why);
}

/* ---- words and numbers ---- */

/* The row of `value` in `words`, or -1. */
static int find_word(const char *value, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], value) == 0)
            return (int)i;
    return -1;
}

/* ---- keys with words ---- */

static int read_client_name(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *value)
{
    (void)keys;
    return shoal_options_set_client_name(options, value);
}

static int read_source_address(shoal__options_keys_t *keys, shoal_options_t *options,
                               const char *value)
{
    (void)keys;
    return shoal_options_set_source_address(options, value);
}

static int read_flush(shoal__options_keys_t *keys, shoal_options_t *options,
                      const char *value)
{
    static const char *const words[] = {
        [SHOAL_FLUSH_AUTO] = "auto", [SHOAL_FLUSH_OFF] = "off", "fixed"};
    int mode = find_word(value, words, SHOAL_FLUSH_FIXED);
    (void)options;

    if (strncmp(value, "fixed:", 6) == 0 &&
        shoal__options_read_number(value + 6, UINT32_MAX, &keys->pause_us))
        mode = SHOAL_FLUSH_FIXED;
    keys->flush_mode = (shoal_flush_mode_t)mode;
    return mode < 0 ? SHOAL_EURL : 0;
}

static int read_budget(shoal__options_keys_t *keys, shoal_options_t *options,
                       const char *value)
{
    (void)options;
    keys->has_budget = true;
    return shoal__options_read_number(value, UINT32_MAX, &keys->budget_us) ? 0
                                                                           : SHOAL_EURL;
}

static int read_offline(shoal__options_keys_t *keys, shoal_options_t *options,
                        const char *value)
{
    static const char *const words[] = {
        [SHOAL_OFFLINE_QUEUE] = "queue", [SHOAL_OFFLINE_FAIL] = "fail"};
    (void)keys;
    return shoal_options_set_offline_mode(
        options, (shoal_offline_mode_t)find_word(value, words, COUNT(words)));
}

static int read_integrity(shoal__options_keys_t *keys, shoal_options_t *options,
                          const char *value)
{
    static const char *const words[] = {[SHOAL_INTEGRITY_SHAPES] = "shapes",
                                        [SHOAL_INTEGRITY_DETECT] = "detect",
                                        [SHOAL_INTEGRITY_STRICT] = "strict"};
    (void)keys;
    return shoal_options_set_integrity(
        options, (shoal_integrity_t)find_word(value, words, COUNT(words)));
}

static const char *const yes_no[] = {"no", "yes"};

static int read_settle(shoal__options_keys_t *keys, shoal_options_t *options,
                       const char *value)
{
    int word = find_word(value, yes_no, COUNT(yes_no));
    (void)keys;

    return word < 0 ? SHOAL_EURL : shoal_options_set_settle(options, word == 1);
}

static int read_bulk_lane(shoal__options_keys_t *keys, shoal_options_t *options,
                          const char *value)
{
    int word = find_word(value, yes_no, COUNT(yes_no));
    (void)keys;

    return word < 0 ? SHOAL_EURL : shoal_options_set_bulk_lane(options, word == 1);
}

static int read_maintenance(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *value)
{
    int word = find_word(value, yes_no, COUNT(yes_no));
    (void)keys;

    return word < 0 ? SHOAL_EURL : shoal_options_set_maintenance(options, word == 1);
}

static int read_connections(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *value)
{
    uint64_t connections;
    (void)keys;

    if (!shoal__options_read_number(value, UINT32_MAX, &connections))
        return SHOAL_EURL;
    return shoal_options_set_connections(options, (unsigned)connections);
}

static int read_connections_max(shoal__options_keys_t *keys, shoal_options_t *options,
                                const char *value)
{
    uint64_t connections_max;
    (void)keys;

    if (!shoal__options_read_number(value, UINT32_MAX, &connections_max))
        return SHOAL_EURL;
    return shoal_options_set_connections_max(options, (unsigned)connections_max);
}

static int read_sentinel_user(shoal__options_keys_t *keys, shoal_options_t *options,
                              const char *value)
{
    keys->sentinel_user = value;
    return options->sentinels.name && *value ? 0 : SHOAL_EURL;
}

static int read_sentinel_password(shoal__options_keys_t *keys, shoal_options_t *options,
                                  const char *value)
{
    keys->sentinel_password = value;
    return options->sentinels.name && *value ? 0 : SHOAL_EURL;
}

static int read_rotation(shoal__options_keys_t *keys, shoal_options_t *options,
                         const char *value)
{
    static const char *const words[] = {
        [SHOAL_ROTATE_SUCCESSOR] = "successor", [SHOAL_ROTATE_IN_PLACE] = "in_place"};
    (void)keys;
    return shoal_options_set_rotation(
        options, (shoal_rotation_t)find_word(value, words, COUNT(words)));
}

static int read_order(shoal__options_keys_t *keys, shoal_options_t *options,
                      const char *value)
{
    static const char *const words[] = {
        [SHOAL_ORDER_MARK] = "mark", [SHOAL_ORDER_STRICT] = "strict"};
    (void)keys;
    return shoal_options_set_order(
        options, (shoal_order_t)find_word(value, words, COUNT(words)));
}

/* The scheme may have said it. */
static int read_topology(shoal__options_keys_t *keys, shoal_options_t *options,
                         const char *value)
{
    static const char *const words[] = {[SHOAL_TOPOLOGY_STANDALONE] = "standalone",
                                        [SHOAL_TOPOLOGY_CLUSTER] = "cluster",
                                        [SHOAL_TOPOLOGY_SENTINEL] = "sentinel",
                                        [SHOAL_TOPOLOGY_AUTO] = "auto"};
    int topology = find_word(value, words, COUNT(words));

    (void)keys;
    if (options->topology == SHOAL_TOPOLOGY_CLUSTER &&
        topology != SHOAL_TOPOLOGY_CLUSTER)
        return SHOAL_EURL;
    return shoal_options_set_topology(options, (shoal_topology_t)topology);
}

static int read_read_from(shoal__options_keys_t *keys, shoal_options_t *options,
                          const char *value)
{
    static const char *const words[] = {
        [SHOAL_READ_PRIMARY] = "primary",
        [SHOAL_READ_REPLICA_PREFERRED] = "replica_preferred",
        [SHOAL_READ_REPLICA] = "replica",
        [SHOAL_READ_ZONE] = "zone",
        [SHOAL_READ_ZONE_OR_PRIMARY] = "zone_or_primary"};
    (void)keys;
    return shoal_options_set_read_from(
        options, (shoal_read_from_t)find_word(value, words, COUNT(words)));
}

static int read_zone(shoal__options_keys_t *keys, shoal_options_t *options,
                     const char *value)
{
    (void)keys;
    return shoal_options_set_zone(options, value);
}

static int read_timeout(shoal__options_keys_t *keys, shoal_options_t *options,
                        const char *value)
{
    uint64_t timeout_ms;
    (void)keys;

    if (strcmp(value, "never") == 0)
        return shoal_options_set_timeout_us(options, SHOAL_TIMEOUT_NEVER);
    if (!shoal__options_read_number(value, UINT32_MAX, &timeout_ms))
        return SHOAL_EURL;
    return shoal_options_set_timeout_us(options, timeout_ms * 1000);
}

/* ---- keys of TLS ---- */

static int read_tls_ca_file(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *value)
{
    (void)keys;
    return shoal_options_set_tls_ca_file(options, value);
}

static int read_tls_ca_dir(shoal__options_keys_t *keys, shoal_options_t *options,
                           const char *value)
{
    (void)keys;
    return shoal_options_set_tls_ca_dir(options, value);
}

static int read_tls_cert_file(shoal__options_keys_t *keys, shoal_options_t *options,
                              const char *value)
{
    (void)options;
    keys->cert_file = value;
    return *value ? 0 : SHOAL_EURL;
}

static int read_tls_key_file(shoal__options_keys_t *keys, shoal_options_t *options,
                             const char *value)
{
    (void)options;
    keys->key_file = value;
    return *value ? 0 : SHOAL_EURL;
}

static int read_tls_server_name(shoal__options_keys_t *keys, shoal_options_t *options,
                                const char *value)
{
    (void)keys;
    return shoal_options_set_tls_server_name(options, value);
}

static int read_tls_min_version(shoal__options_keys_t *keys, shoal_options_t *options,
                                const char *value)
{
    static const char *const words[] = {"1.2", "1.3"};
    int word = find_word(value, words, COUNT(words));
    (void)keys;

    if (word < 0)
        return SHOAL_EURL;
    return shoal_options_set_tls_min_version(options,
                                             word == 1 ? SHOAL_TLS_1_3 : SHOAL_TLS_1_2);
}

static int read_tls_ciphers(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *value)
{
    (void)keys;
    return shoal_options_set_tls_ciphers(options, value);
}

static int read_tls_ciphersuites(shoal__options_keys_t *keys, shoal_options_t *options,
                                 const char *value)
{
    (void)keys;
    return shoal_options_set_tls_ciphersuites(options, value);
}

/* ---- keys with a number ---- */

typedef enum field_type { IS_U64, IS_SIZE, IS_INT } field_type_t;

typedef int (*read_fn)(shoal__options_keys_t *keys, shoal_options_t *options,
                       const char *value);

#define NUMBER(name, field, type, unit)                                                \
    {                                                                                  \
        name, NULL, offsetof(shoal_options_t, field), IS_##type, unit                  \
    }
#define WORD(name, read)                                                               \
    {                                                                                  \
        name, read, 0, IS_U64, 0                                                       \
    }

/* clang-format off */
static const struct key {
    const char *name;
    read_fn read;      /* NULL: a number, for the field below */
    size_t offset;     /* of the field in the options */
    field_type_t type; /* of the field */
    uint64_t unit;     /* the field counts so many for each 1 of the key */
} table[] = {
    NUMBER("db", database, INT, 1),
    NUMBER("protocol", protocol, INT, 1),
    WORD("client_name", read_client_name),
    WORD("timeout_ms", read_timeout),
    NUMBER("connect_timeout_ms", connect_timeout_us, U64, 1000),
    NUMBER("handshake_timeout_ms", handshake_timeout_us, U64, 1000),
    NUMBER("stall_timeout_ms", stall_timeout_us, U64, 1000),
    NUMBER("ping_idle_ms", ping_idle_us, U64, 1000),
    NUMBER("probe_ms", probe_us, U64, 1000),
    NUMBER("backoff_base_ms", backoff_base_us, U64, 1000),
    NUMBER("backoff_max_ms", backoff_max_us, U64, 1000),
    NUMBER("keepalive_ms", keepalive_us, U64, 1000),
    WORD("source_address", read_source_address),
    NUMBER("queued_max", queued_max, SIZE, 1),
    NUMBER("inflight_max", inflight_max, SIZE, 1),
    NUMBER("bytes_max", bytes_max, U64, 1),
    NUMBER("reply_bytes_max", reply_bytes_max, U64, 1),
    NUMBER("reply_elements_max", reply_elements_max, U64, 1),
    NUMBER("reply_depth_max", reply_depth_max, INT, 1),
    NUMBER("attempts_max", attempts_max, INT, 1),
    WORD("flush", read_flush),
    WORD("budget_us", read_budget),
    WORD("offline", read_offline),
    WORD("integrity", read_integrity),
    WORD("settle", read_settle),
    WORD("bulk_lane", read_bulk_lane),
    WORD("maintenance", read_maintenance),
    WORD("connections", read_connections),
    WORD("connections_max", read_connections_max),
    WORD("tls_ca_file", read_tls_ca_file),
    WORD("tls_ca_dir", read_tls_ca_dir),
    WORD("tls_cert_file", read_tls_cert_file),
    WORD("tls_key_file", read_tls_key_file),
    WORD("tls_server_name", read_tls_server_name),
    WORD("tls_min_version", read_tls_min_version),
    WORD("tls_ciphers", read_tls_ciphers),
    WORD("tls_ciphersuites", read_tls_ciphersuites),
    WORD("sentinel_user", read_sentinel_user),
    WORD("sentinel_password", read_sentinel_password),
    WORD("read_from", read_read_from),
    WORD("topology", read_topology),
    WORD("zone", read_zone),
    WORD("rotation", read_rotation),
    WORD("order", read_order),
    NUMBER("credentials_timeout_ms", credentials.timeout_us, U64, 1000),
};
/* clang-format on */
_Static_assert(COUNT(table) <= SHOAL__OPTIONS_KEYS_MAX, "a value for each row");

/* Put the number into its field.  shoal__options_keys_finish() has the setters check
 * it. */
static int set_number(const struct key *key, shoal_options_t *options,
                      const char *value)
{
    char *field = (char *)options + key->offset;
    uint64_t number;

    if (!shoal__options_read_number(
            value, key->type == IS_U64 ? INT64_MAX / 1000 : INT32_MAX, &number))
        return SHOAL_EURL;
    number *= key->unit;
    switch (key->type) {
    case IS_U64:
        memcpy(field, &number, sizeof number);
        break;
    case IS_SIZE:
        memcpy(field, &(size_t){(size_t)number}, sizeof(size_t));
        break;
    case IS_INT:
        memcpy(field, &(int){(int)number}, sizeof(int));
        break;
    }
    return 0;
}

static int refuse_value(const shoal__options_keys_t *keys, const char *name,
                        const char *value)
{
    char what[40];

    snprintf(what, sizeof what, "%s:", name);
    return shoal__options_refuse(keys, what, value,
                                 "is not a value that it can have (shoal/options.h)");
}

int shoal__options_keys_set(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *name, const char *value)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        if (strncmp(name, "tls_", 4) == 0 && !options->tls.is_on)
            return shoal__options_refuse(keys, "the key", name,
                                         "needs TLS: rediss:// instead of redis://");
        if (keys->values[i])
            return shoal__options_refuse(keys, "the key", name, "is said twice");
        keys->values[i] = value;
        int rc = table[i].read ? table[i].read(keys, options, value)
                               : set_number(&table[i], options, value);
        return rc == SHOAL_EURL || rc == SHOAL_EINVAL ? refuse_value(keys, name, value)
                                                      : rc;
    }
    return shoal__options_refuse(keys, "the key", name, "is not known");
}

static int finish_flush(const shoal__options_keys_t *keys, shoal_options_t *options)
{
    uint64_t pause_us = keys->pause_us;

    if (keys->flush_mode == SHOAL_FLUSH_AUTO)
        pause_us = keys->budget_us;
    else if (keys->has_budget)
        return SHOAL_EURL;
    return shoal_options_set_flush(options, keys->flush_mode, pause_us);
}

static int finish_certificate(const shoal__options_keys_t *keys,
                              shoal_options_t *options)
{
    return shoal_options_set_tls_certificate(options, keys->cert_file, keys->key_file);
}

/* `names` are keys that are checked together, separated by blanks: the reason names
 * those that the URL has. */
static int refuse_together(const shoal__options_keys_t *keys, const char *names)
{
    char text[160] = "", room[QUOTE_BYTES];
    size_t said = 0;

    for (size_t i = 0; i < COUNT(table); i++) {
        const char *at = keys->values[i] ? strstr(names, table[i].name) : NULL;
        size_t bytes = strlen(text);
        if (!at || (at > names && at[-1] != ' ') ||
            (at[strlen(table[i].name)] & ~' ') != 0)
            continue;
        snprintf(text + bytes, sizeof text - bytes, "%s%s:%s", said++ ? ", " : "",
                 table[i].name, quote(keys, keys->values[i], room));
    }
    return shoal__error_say(keys->error, SHOAL_EURL,
                            said > 1 ? "%s do not go together, or are out of range"
                                     : "%s is out of range",
                            text);
}

int shoal__options_keys_finish(const shoal__options_keys_t *keys,
                               shoal_options_t *options)
{
    /* The setters know the ranges: set each value that the keys put in once more. */
    const shoal_options_t o = *options;
    const struct check {
        int rc;
        const char *names;
    } checks[] = {
        {shoal_options_set_database(options, o.database), "db"},
        {shoal_options_set_protocol(options, o.protocol), "protocol"},
        {shoal_options_set_connect_timeout_us(options, o.connect_timeout_us,
                                              o.handshake_timeout_us),
         "connect_timeout_ms handshake_timeout_ms"},
        {shoal_options_set_stall_timeout_us(options, o.stall_timeout_us),
         "stall_timeout_ms"},
        {shoal_options_set_ping_idle_us(options, o.ping_idle_us), "ping_idle_ms"},
        {shoal_options_set_probe_us(options, o.probe_us), "probe_ms"},
        {shoal_options_set_backoff_us(options, o.backoff_base_us, o.backoff_max_us),
         "backoff_base_ms backoff_max_ms"},
        {shoal_options_set_keepalive_us(options, o.keepalive_us), "keepalive_ms"},
        {shoal_options_set_outstanding_max(options, o.queued_max, o.inflight_max,
                                           o.bytes_max),
         "queued_max inflight_max bytes_max"},
        {shoal_options_set_reply_max(options, o.reply_bytes_max, o.reply_elements_max,
                                     o.reply_depth_max),
         "reply_bytes_max reply_elements_max reply_depth_max"},
        {shoal_options_set_attempts_max(options, o.attempts_max), "attempts_max"},
        {shoal_options_set_credentials_timeout_us(options, o.credentials.timeout_us),
         "credentials_timeout_ms"},
        {finish_flush(keys, options), "flush budget_us"},
        {finish_certificate(keys, options), "tls_cert_file tls_key_file"},
        {shoal_options_set_sentinel_auth(options, keys->sentinel_user,
                                         keys->sentinel_password),
         "sentinel_user sentinel_password"},
    };

    for (size_t i = 0; i < COUNT(checks); i++)
        if (checks[i].rc < 0)
            return checks[i].rc == SHOAL_ENOMEM
                       ? SHOAL_ENOMEM
                       : refuse_together(keys, checks[i].names);
    return 0;
}
