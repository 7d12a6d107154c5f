/* SPDX-License-Identifier: MIT */

/*
 * URLs and setters.  Whatever they are given: no crash; what is accepted is in range;
 * what is refused changes nothing; the URL that says the same as an options object gives
 * the same object; and no credential stays behind in freed memory.  (I14)
 *
 * The first byte decides: URLs follow, with a NUL between them, or a series of calls.
 */

#include "core/options.h"
#include "fuzz_input.h"
#include "memory_meter.h"
#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/replicas.h>
#include <shoal/retry.h>

#define URL_BYTES_MAX 4096
#define SECRET_BYTES_MIN 8 /* a shorter secret may be in other memory by chance */

static bool is_within(uint64_t value, uint64_t min, uint64_t max)
{
    return value >= min && value <= max;
}

static void check_address(const shoal__option_address_t *address)
{
    FUZZ_CHECK(!address->host != !address->unix_path, "no address, or two");
    FUZZ_CHECK(!address->host || *address->host, "an empty host");
    FUZZ_CHECK(!address->unix_path || strlen(address->unix_path) < 108, "a long path");
    FUZZ_CHECK(!address->host || is_within((uint64_t)address->port, 1, 65535),
               "port %d", address->port);
}

/* Each option is within the range that <shoal/options.h> promises. */
static void check_ranges(const shoal_options_t *options)
{
    const uint64_t minute_us = 60000000;

    FUZZ_CHECK(is_within(options->addresses_count, 1, 16), "%u addresses",
               options->addresses_count);
    for (unsigned i = 0; i < options->addresses_count; i++)
        check_address(&options->addresses[i]);
    FUZZ_CHECK(!options->user || options->password, "a user without a password");
    FUZZ_CHECK(options->database >= 0, "database %d", options->database);
    FUZZ_CHECK(options->protocol == 2 || options->protocol == 3, "protocol");
    for (const char *c = options->client_name; c && *c; c++)
        FUZZ_CHECK(*c > ' ' && *c < 0x7f, "a name that the server refuses");
    FUZZ_CHECK(options->timeout_us == SHOAL_TIMEOUT_NEVER ||
                   is_within(options->timeout_us, 1, 24 * 60 * minute_us),
               "timeout");
    FUZZ_CHECK(is_within(options->connect_timeout_us, 1000, 10 * minute_us), "connect");
    FUZZ_CHECK(is_within(options->handshake_timeout_us, 1000, 10 * minute_us), "hello");
    FUZZ_CHECK(is_within(options->stall_timeout_us, 10000, 60 * minute_us), "stall");
    FUZZ_CHECK(options->ping_idle_us == 0 ||
                   is_within(options->ping_idle_us, 10000, 60 * minute_us),
               "ping");
    FUZZ_CHECK(options->probe_us == 0 || options->probe_us == SHOAL_PROBE_AUTO ||
                   is_within(options->probe_us, 1000000, 60 * minute_us),
               "probe");
    FUZZ_CHECK(is_within(options->backoff_base_us, 1000, minute_us), "backoff");
    FUZZ_CHECK(
        is_within(options->backoff_max_us, options->backoff_base_us, 10 * minute_us),
        "backoff");
    FUZZ_CHECK(options->offline_mode == SHOAL_OFFLINE_QUEUE ||
                   options->offline_mode == SHOAL_OFFLINE_FAIL,
               "offline mode");
    FUZZ_CHECK(is_within(options->queued_max, 1, 1 << 24), "queued");
    FUZZ_CHECK(is_within(options->inflight_max, 1, 1 << 20), "inflight");
    FUZZ_CHECK(is_within(options->bytes_max, 1024, UINT64_C(1) << 34), "bytes");
    FUZZ_CHECK(is_within(options->reply_bytes_max, 1024, UINT64_C(1) << 34), "reply");
    FUZZ_CHECK(is_within(options->reply_elements_max, 1, INT32_MAX), "elements");
    FUZZ_CHECK(options->reply_depth_max >= 1 && options->reply_depth_max <= 1024,
               "depth");
    FUZZ_CHECK(options->attempts_max >= 1 && options->attempts_max <= 100, "attempts");
    if (options->flush_mode == SHOAL_FLUSH_OFF)
        FUZZ_CHECK(options->flush_pause_us == 0, "a pause of nothing");
    else
        FUZZ_CHECK((options->flush_mode == SHOAL_FLUSH_AUTO ||
                    options->flush_mode == SHOAL_FLUSH_FIXED) &&
                       is_within(options->flush_pause_us, 1, 1000000),
                   "flush");
    FUZZ_CHECK((unsigned)options->integrity <= SHOAL_INTEGRITY_STRICT, "integrity");
    FUZZ_CHECK((unsigned)options->log_level <= SHOAL_LOG_DEBUG, "log level");
}

/* ---- equality ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

#define TEXTS(X) X(user) X(password) X(client_name) X(source_address)
#define VALUES(X)                                                                      \
    X(addresses_count)                                                                 \
    X(database)                                                                        \
    X(protocol)                                                                        \
    X(keepalive_us)                                                                    \
    X(timeout_us)                                                                      \
    X(connect_timeout_us)                                                              \
    X(handshake_timeout_us)                                                            \
    X(stall_timeout_us)                                                                \
    X(ping_idle_us)                                                                    \
    X(probe_us)                                                                        \
    X(backoff_base_us)                                                                 \
    X(backoff_max_us)                                                                  \
    X(offline_mode)                                                                    \
    X(queued_max)                                                                      \
    X(inflight_max)                                                                    \
    X(bytes_max)                                                                       \
    X(reply_bytes_max)                                                                 \
    X(reply_elements_max)                                                              \
    X(reply_depth_max)                                                                 \
    X(attempts_max)                                                                    \
    X(integrity)                                                                       \
    X(is_settling)                                                                     \
    X(has_bulk_lane)                                                                   \
    X(read_from)                                                                       \
    X(replicas_count)                                                                  \
    X(connections)                                                                     \
    X(flush_mode)                                                                      \
    X(flush_pause_us)                                                                  \
    X(on_event)                                                                        \
    X(event_data)                                                                      \
    X(on_log)                                                                          \
    X(log_data)                                                                        \
    X(log_level)

static bool is_same(const shoal_options_t *a, const shoal_options_t *b)
{
    bool is_equal = true;

#define COMPARE_TEXT(name) is_equal &= is_same_text(a->name, b->name);
#define COMPARE_VALUE(name) is_equal &= a->name == b->name;
    TEXTS(COMPARE_TEXT)
    for (unsigned i = 0; i < a->addresses_count && i < b->addresses_count; i++) {
        is_equal &= is_same_text(a->addresses[i].host, b->addresses[i].host);
        is_equal &= is_same_text(a->addresses[i].unix_path, b->addresses[i].unix_path);
        is_equal &= a->addresses[i].port == b->addresses[i].port;
    }
    VALUES(COMPARE_VALUE)
#undef COMPARE_TEXT
#undef COMPARE_VALUE
    return is_equal;
}

/* ---- URLs ---- */

static size_t put_encoded(char *at, const char *text)
{
    size_t bytes = 0;

    for (; *text; text++)
        bytes += (size_t)sprintf(at + bytes, "%%%02X", (unsigned char)*text);
    return bytes;
}

static char *put_text(char *at, const char *key, const char *text)
{
    if (!text)
        return at;
    at += sprintf(at, "%s", key);
    return at + put_encoded(at, text);
}

/* The keys of URLs that have a number: key, field, what 1 of the key is in the field. */
#define NUMBERS(X)                                                                     \
    X("db", database, 1)                                                               \
    X("protocol", protocol, 1)                                                         \
    X("connect_timeout_ms", connect_timeout_us, 1000)                                  \
    X("handshake_timeout_ms", handshake_timeout_us, 1000)                              \
    X("stall_timeout_ms", stall_timeout_us, 1000)                                      \
    X("ping_idle_ms", ping_idle_us, 1000)                                              \
    X("backoff_base_ms", backoff_base_us, 1000)                                        \
    X("backoff_max_ms", backoff_max_us, 1000)                                          \
    X("keepalive_ms", keepalive_us, 1000)                                              \
    X("queued_max", queued_max, 1)                                                     \
    X("inflight_max", inflight_max, 1)                                                 \
    X("bytes_max", bytes_max, 1)                                                       \
    X("reply_bytes_max", reply_bytes_max, 1)                                           \
    X("reply_elements_max", reply_elements_max, 1)                                     \
    X("reply_depth_max", reply_depth_max, 1)                                           \
    X("attempts_max", attempts_max, 1)                                                 \
    X("connections", connections, 1)                                                   \
    X("connections_max", connections_max, 1)

static const char *const read_from_names[] = {"primary", "replica_preferred",
                                              "replica"};
static const char *const integrity_names[] = {"shapes", "detect", "strict"};

static char *put_address(char *at, bool is_next, const shoal__option_address_t *address)
{
    if (is_next)
        *at++ = ',';
    if (strchr(address->host, ':')) {
        *at++ = '[';
        at += put_encoded(at, address->host);
        return at + sprintf(at, "]:%d", address->port);
    }
    return at + sprintf(at, "%s:%d", address->host, address->port);
}

/* Write a URL that means the same as the options, with texts escaped. */
static void write_url(const shoal_options_t *options, char *url)
{
    char *at = url;

    const char *path = options->addresses[0].unix_path;

    at += sprintf(at, "%s://", path ? "unix" : "redis");
    if (options->password) {
        at += put_encoded(at, options->user ? options->user : "");
        *at++ = ':';
        at += put_encoded(at, options->password);
        *at++ = '@';
    }
    if (path) {
        *at++ = '/'; /* the first slash may not be escaped */
        at += put_encoded(at, path + 1);
    }
    for (unsigned i = 0; !path && i < options->addresses_count; i++)
        at = put_address(at, i > 0, &options->addresses[i]);
    at += sprintf(
        at, "?offline=%s&integrity=%s&settle=%s&bulk_lane=%s&read_from=%s",
        options->offline_mode == SHOAL_OFFLINE_QUEUE ? "queue" : "fail",
        integrity_names[options->integrity], options->is_settling ? "yes" : "no",
        options->has_bulk_lane ? "yes" : "no", read_from_names[options->read_from]);
#define PUT_NUMBER(key, field, unit)                                                   \
    at += sprintf(at, "&" key "=%llu", (unsigned long long)options->field / (unit));
    NUMBERS(PUT_NUMBER)
#undef PUT_NUMBER
    if (options->probe_us != SHOAL_PROBE_AUTO)
        at +=
            sprintf(at, "&probe_ms=%llu", (unsigned long long)options->probe_us / 1000);
    if (options->timeout_us == SHOAL_TIMEOUT_NEVER)
        at += sprintf(at, "&timeout_ms=never");
    else
        at += sprintf(at, "&timeout_ms=%llu",
                      (unsigned long long)options->timeout_us / 1000);
    at = put_text(at, "&client_name=", options->client_name);
    at = put_text(at, "&source_address=", options->source_address);
    if (options->flush_mode == SHOAL_FLUSH_AUTO)
        sprintf(at, "&flush=auto&budget_us=%llu",
                (unsigned long long)options->flush_pause_us);
    else if (options->flush_mode == SHOAL_FLUSH_FIXED)
        sprintf(at, "&flush=fixed:%llu", (unsigned long long)options->flush_pause_us);
    else
        sprintf(at, "&flush=off");
}

static void check_round_trip(const shoal_options_t *options)
{
    char *url = malloc(4 * URL_BYTES_MAX);
    shoal_options_t *again = NULL;

    FUZZ_CHECK(url, "no memory");
    write_url(options, url);
    FUZZ_CHECK(shoal_options_from_url(url, &again, NULL) == 0, "%s is refused", url);
    FUZZ_CHECK(is_same(options, again), "%s means something else", url);
    shoal_options_free(again);
    free(url);
}

/* A copy of the text between the colon and the @ of the authority; NULL if there is
 * none, or if the same bytes may be in other texts by chance. */
static char *find_secret(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *authority = scheme_end ? scheme_end + 3 : "";
    const char *at = memchr(authority, '@', strcspn(authority, "/?"));
    const char *colon = at ? memchr(authority, ':', (size_t)(at - authority)) : NULL;

    if (!colon || at - colon - 1 < SECRET_BYTES_MIN)
        return NULL;
    char *secret = strndup(colon + 1, (size_t)(at - colon - 1));
    FUZZ_CHECK(secret, "no memory");
    /* The host, or another part of the URL, may be the same text. */
    if (strstr(at + 1, secret) || strstr("127.0.0.1", secret)) {
        free(secret);
        return NULL;
    }
    return secret;
}

/* A copy of the decoded password; NULL if there is none, or if the same bytes may be in
 * other texts by chance. */
static char *find_decoded(const shoal_options_t *options, const char *url)
{
    const char *password = options->password;

    if (!password || strlen(password) < SECRET_BYTES_MIN ||
        strstr(strchr(url, '@'), password) || strstr("127.0.0.1", password) ||
        (options->addresses[0].unix_path &&
         strstr(options->addresses[0].unix_path, password)) ||
        (options->client_name && strstr(options->client_name, password)))
        return NULL;
    return strdup(password);
}

/* Take the input up to the next NUL as a URL. */
static void try_url(fuzz_input_t *in)
{
    size_t bytes;
    char *text = fuzz_take(in, URL_BYTES_MAX - 1, &bytes);
    const char *nul = memchr(text, '\0', bytes);
    char *url = strndup(text, bytes);
    char *secret = url ? find_secret(url) : NULL;
    shoal_options_t *options = NULL, *copy = NULL;

    FUZZ_CHECK(url, "no memory");
    if (nul)
        in->at -= bytes - (size_t)(nul + 1 - text);
    memory_meter.secret = secret;
    int rc = shoal_options_from_url(url, &options, NULL);
    FUZZ_CHECK(rc == 0 || rc == SHOAL_EURL, "error %d", rc);
    FUZZ_CHECK((rc == 0) == (options != NULL), "an object for a URL that is refused");
    if (options) {
        check_ranges(options);
        check_round_trip(options);
        FUZZ_CHECK(shoal__options_copy(options, &copy) == 0 && is_same(options, copy),
                   "a copy differs");
        char *decoded = find_decoded(options, url);
        memory_meter.secret = decoded;
        shoal_options_free(copy);
        shoal_options_free(options);
        free(decoded);
    }
    memory_meter.secret = NULL;
    free(secret);
    free(url);
    free(text);
}

/* ---- setters ---- */

/* A small number, one near a power of two, or any number of up to 7 bytes. */
static uint64_t take_value(fuzz_input_t *in)
{
    uint8_t kind = fuzz_byte(in);

    if (kind < 64)
        return kind;
    if (kind < 128)
        return (UINT64_C(1) << (kind - 64)) + fuzz_byte(in) - 128;
    return fuzz_number(in, kind & 7);
}

static int set_text_option(shoal_options_t *options, fuzz_input_t *in, unsigned which)
{
    size_t bytes;
    char *taken = fuzz_take(in, fuzz_byte(in), &bytes);
    char *text = strndup(taken, bytes);
    uint64_t value = take_value(in);
    int rc = 0;

    FUZZ_CHECK(text, "no memory");
    if (which == 0)
        rc = value >> 16 & 1
                 ? shoal_options_add_address(options, text, (int)value & 0xffff)
                 : shoal_options_set_address(options, text, (int)value);
    else if (which == 1)
        rc = value & 2 ? shoal_options_add_unix_path(options, value & 1 ? NULL : text)
                       : shoal_options_set_unix_path(options, value & 1 ? NULL : text);
    else if (which == 2)
        rc = shoal_options_set_auth(options, value & 1 ? text : NULL,
                                    value & 2 ? text : NULL);
    else
        rc = shoal_options_set_client_name(options, value & 1 ? NULL : text);
    free(text);
    free(taken);
    return rc;
}

static int set_option(shoal_options_t *options, fuzz_input_t *in)
{
    unsigned which = fuzz_byte(in) % 20;

    if (which < 4)
        return set_text_option(options, in, which);
    uint64_t value = take_value(in), other = take_value(in);
    switch (which) {
    case 4:
        return shoal_options_set_database(options, (int)value);
    case 5:
        return shoal_options_set_protocol(options, (int)value);
    case 6:
        return shoal_options_set_timeout_us(options, value);
    case 7:
        return shoal_options_set_connect_timeout_us(options, value, other);
    case 8:
        return shoal_options_set_stall_timeout_us(options, value);
    case 9:
        return shoal_options_set_ping_idle_us(options, value);
    case 10:
        return shoal_options_set_backoff_us(options, value, other);
    case 11:
        return shoal_options_set_offline_mode(options,
                                              (shoal_offline_mode_t)(value & 3));
    case 12:
        return shoal_options_set_outstanding_max(options, (size_t)value, (size_t)other,
                                                 take_value(in));
    case 13:
        return shoal_options_set_reply_max(options, value, other, (int)take_value(in));
    case 14:
        return shoal_options_set_flush(options, (shoal_flush_mode_t)(value & 3), other);
    case 15:
        return shoal_options_set_attempts_max(options, (int)value);
    case 16:
        return shoal_options_set_integrity(options, (shoal_integrity_t)(value & 7));
    case 17:
        return shoal_options_set_settle(options, value & 1) < 0 ||
                       shoal_options_set_maintenance(options, value & 4) < 0
                   ? SHOAL_EINVAL
                   : shoal_options_set_bulk_lane(options, (value & 2) == 0);
    case 19:
        return value & 0x100 ? shoal_options_set_read_from(
                                   options, (shoal_read_from_t)(value & 3))
               : value & 0x200
                   ? shoal_options_set_connections_max(options, (unsigned)value >> 10)
                   : shoal_options_set_connections(options, (unsigned)value);
    default:
        return shoal_options_set_on_log(options, (shoal_log_level_t)(value & 7), NULL,
                                        NULL);
    }
}

static void try_setters(fuzz_input_t *in)
{
    shoal_options_t *options, *before;

    FUZZ_CHECK(shoal_options_new(&options) == 0, "no memory");
    while (fuzz_left(in) > 0) {
        FUZZ_CHECK(shoal__options_copy(options, &before) == 0, "no memory");
        int rc = set_option(options, in);
        FUZZ_CHECK(rc == 0 || rc == SHOAL_EINVAL, "error %d", rc);
        FUZZ_CHECK(rc == 0 || is_same(options, before), "a refused value is kept");
        check_ranges(options);
        shoal_options_free(before);
    }
    shoal_options_free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};

    memory_meter_on();
    if (fuzz_byte(&in) & 1)
        try_setters(&in);
    else
        do
            try_url(&in);
        while (fuzz_left(&in) > 0);
    memory_meter_off();
    return 0;
}
