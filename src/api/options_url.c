/* SPDX-License-Identifier: MIT */
/*
 * URL -> options.  The parser works on a copy of the URL that it cuts into pieces and
 * decodes in place, and that is wiped in the end.  Whatever it does not understand is
 * an error: a misread URL could send credentials to the wrong host.
 */
#include "api/options_keys.h"
#include "base/alloc.h"
#include "base/error.h"
#include "core/options.h"

#include <arpa/inet.h>
#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/sentinel.h>
#include <shoal/tls.h>
#include <string.h>

#define PORT_DEFAULT 6379
#define SENTINEL_PORT 26379

/* --- pieces --- */

/* Cut `text` at the first `separator`.  Returns what follows, or NULL. */
static char *cut(char *text, char separator)
{
    char *at = strchr(text, separator);
    if (!at)
        return NULL;
    *at = '\0';
    return at + 1;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decode %XX in place.  A NUL would cut the text short, so it is an error. */
static bool decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++, to++) {
        *to = *from;
        if (*from != '%')
            continue;
        int high = hex_value(from[1]);
        int low = high < 0 ? -1 : hex_value(from[2]);
        if (low < 0 || high + low == 0)
            return false;
        *to = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

/* --- address --- */

static int read_userinfo(shoal_options_t *options, const shoal__options_keys_t *keys,
                         char *userinfo)
{
    char *password = cut(userinfo, ':');

    if (!password || !*password || !decode(userinfo) || !decode(password))
        return shoal__error_say(keys->error, SHOAL_EURL,
                                "what stands before the @ is not [user]:password with "
                                "special characters written as %%XX");
    return shoal_options_set_auth(options, *userinfo ? userinfo : NULL, password);
}

static bool is_host_name(const char *host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    return *host && host[strspn(host, allowed)] == '\0';
}

/* What stands in brackets: an IPv6 address, perhaps with a zone. */
static bool is_ipv6(char *host)
{
    struct in6_addr address;
    char *percent = strchr(host, '%');

    if (percent && !is_host_name(percent + 1))
        return false;
    if (percent)
        *percent = '\0';
    bool is_address = inet_pton(AF_INET6, host, &address) == 1;
    if (percent)
        *percent = '%';
    return is_address;
}

/* Anything but digits may be a password, in a URL without its @: it is not repeated. */
static int refuse_port(const shoal__options_keys_t *keys, const char *text)
{
    static const char why[] = "is not a number from 1 to 65535";

    if (text[strspn(text, "0123456789")] == '\0')
        return shoal__options_refuse(keys, "the port", text, why);
    return shoal__error_say(keys->error, SHOAL_EURL,
                            "the port %s (behind a password there must be an @)", why);
}

/* host, host:port, [address] or [address]:port.  *ret_port is the default before. */
static int split_endpoint(const shoal__options_keys_t *keys, char *text,
                          char **ret_host, int *ret_port)
{
    uint64_t port = (uint64_t)*ret_port;
    char *host = text, *port_text;

    if (*text == '[') {
        host = text + 1;
        char *end = cut(host, ']');
        if (!end || (*end && *end != ':') || !decode(host) || !is_ipv6(host))
            return shoal__options_refuse(keys, "the address", host,
                                         "is no IPv6 address in brackets");
        port_text = *end ? end + 1 : NULL;
    } else {
        port_text = cut(text, ':');
        if (!is_host_name(host))
            return shoal__options_refuse(keys, "the host", host,
                                         "is neither a name nor an address");
    }
    if (port_text &&
        (!shoal__options_read_number(port_text, 65535, &port) || port == 0))
        return refuse_port(keys, port_text);
    *ret_host = host;
    *ret_port = (int)port;
    return 0;
}

static int read_address(shoal_options_t *options, const shoal__options_keys_t *keys,
                        char *text)
{
    char *host = NULL;
    int port = PORT_DEFAULT, rc = split_endpoint(keys, text, &host, &port);

    return rc < 0 ? rc : shoal_options_add_address(options, host, port);
}

/* host[:port][,host[:port] ...] */
static int read_addresses(shoal_options_t *options, const shoal__options_keys_t *keys,
                          char *text)
{
    int rc = 0;

    for (char *next; text && rc == 0; text = next) {
        next = cut(text, ',');
        if (next && options->has_address &&
            options->addresses_count == SHOAL__ENDPOINTS_MAX - 1)
            return shoal__error_say(keys->error, SHOAL_EURL,
                                    "the URL has more than %d addresses",
                                    SHOAL__ENDPOINTS_MAX);
        rc = read_address(options, keys, text);
    }
    return rc;
}

/* [[user]:password@]rest, up to the first slash.  A second @ would be ambiguous; what
 * comes after the first must be a host, and no host holds one. */
static int read_authority(shoal_options_t *options, const shoal__options_keys_t *keys,
                          char *authority, char **ret_rest)
{
    char *rest = cut(authority, '@');

    *ret_rest = rest ? rest : authority;
    return rest ? read_userinfo(options, keys, authority) : 0;
}

static int read_tcp(shoal_options_t *options, char *text, shoal__options_keys_t *keys)
{
    char *host, *path = cut(text, '/');
    int rc = read_authority(options, keys, text, &host);

    if (rc == 0)
        rc = read_addresses(options, keys, host);
    if (rc < 0 || !path || !*path)
        return rc;
    return shoal__options_keys_set(keys, options, "db", path);
}

/* --- sentinels --- */

static int add_sentinels(shoal_options_t *options, const shoal__options_keys_t *keys,
                         char *text)
{
    int rc = 0;

    for (char *next; rc == 0 && text; text = next) {
        char *host = NULL;
        int port = SENTINEL_PORT;
        next = cut(text, ',');
        rc = split_endpoint(keys, text, &host, &port);
        if (rc == 0)
            rc = shoal_options_add_sentinel(options, host, port);
        if (rc == SHOAL_EINVAL)
            return shoal__options_refuse(keys, "the sentinel", host,
                                         "is one too many, or its name is too long");
    }
    return rc;
}

/* hosts/name[/db] */
static int read_sentinels(shoal_options_t *options, char *text,
                          shoal__options_keys_t *keys)
{
    char *hosts, *name = cut(text, '/'), *database = name ? cut(name, '/') : NULL;
    int rc = read_authority(options, keys, text, &hosts);

    if (rc == 0)
        rc = add_sentinels(options, keys, hosts);
    if (rc < 0)
        return rc;
    if (!name || !decode(name))
        return shoal__error_say(keys->error, SHOAL_EURL,
                                "the primary's name is missing: "
                                "redis+sentinel://host:26379/name");
    rc = shoal_options_set_sentinel(options, name);
    if (rc == SHOAL_EINVAL)
        return shoal__options_refuse(keys, "the primary's name", name,
                                     "is not 1 to 127 letters without a blank");
    if (rc < 0 || !database || !*database)
        return rc;
    return shoal__options_keys_set(keys, options, "db", database);
}

static int read_unix(shoal_options_t *options, const shoal__options_keys_t *keys,
                     char *text)
{
    char *rest, *slash = strchr(text, '/');

    if (!slash || !slash[1])
        return shoal__error_say(keys->error, SHOAL_EURL,
                                "the path of the socket is missing: "
                                "unix:///path/of/socket");

    /* The slash belongs to the path: take it away for a moment. */
    *slash = '\0';
    int rc = read_authority(options, keys, text, &rest);
    if (rc < 0)
        return rc;
    if (*rest)
        return shoal__error_say(keys->error, SHOAL_EURL,
                                "a Unix socket has a path and no host: "
                                "unix:///path/of/socket");
    *slash = '/';
    if (!decode(slash))
        return shoal__options_refuse(keys, "the path", slash, "has a wrong %XX");
    if (strlen(slash) > SHOAL__UNIX_PATH_BYTES_MAX)
        return shoal__error_say(
            keys->error, SHOAL_EURL,
            "the path of the socket has %zu bytes; this system allows %zu",
            strlen(slash), SHOAL__UNIX_PATH_BYTES_MAX);
    return shoal_options_set_unix_path(options, slash);
}

/* --- query --- */

/* One key=value. */
static int read_pair(shoal_options_t *options, shoal__options_keys_t *keys, char *name)
{
    char *value = cut(name, '=');

    if (!value || !decode(value))
        return shoal__options_refuse(keys, "the setting", name, "is not key=value");
    return shoal__options_keys_set(keys, options, name, value);
}

static int read_query(shoal_options_t *options, shoal__options_keys_t *keys, char *text)
{
    for (char *next; text; text = next) {
        next = cut(text, '&');
        int rc = read_pair(options, keys, text);
        if (rc < 0)
            return rc;
    }
    return shoal__options_keys_finish(keys, options);
}

/* --- whole --- */

typedef enum address_form { BY_TCP, BY_UNIX, BY_SENTINELS, BY_NODES } address_form_t;

typedef struct scheme {
    const char *name;
    address_form_t form;
    bool is_tls;
} scheme_t;

/* NULL: it is not known. */
static const scheme_t *find_scheme(const char *name)
{
    static const scheme_t schemes[] = {{"redis", BY_TCP, false},
                                       {"valkey", BY_TCP, false},
                                       {"unix", BY_UNIX, false},
                                       {"redis+unix", BY_UNIX, false},
                                       {"valkey+unix", BY_UNIX, false},
                                       {"redis+sentinel", BY_SENTINELS, false},
                                       {"valkey+sentinel", BY_SENTINELS, false},
                                       {"redis+cluster", BY_NODES, false},
                                       {"valkey+cluster", BY_NODES, false},
                                       {"rediss", BY_TCP, true},
                                       {"valkeys", BY_TCP, true},
                                       {"rediss+unix", BY_UNIX, true},
                                       {"valkeys+unix", BY_UNIX, true},
                                       {"rediss+sentinel", BY_SENTINELS, true},
                                       {"valkeys+sentinel", BY_SENTINELS, true},
                                       {"rediss+cluster", BY_NODES, true},
                                       {"valkeys+cluster", BY_NODES, true}};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strcmp(schemes[i].name, name) == 0)
            return &schemes[i];
    return NULL;
}

static int read_place(shoal_options_t *options, char *text, address_form_t form,
                      shoal__options_keys_t *keys)
{
    switch (form) {
    case BY_UNIX:
        return read_unix(options, keys, text);
    case BY_SENTINELS:
        return read_sentinels(options, text, keys);
    case BY_NODES:
        options->topology = SHOAL_TOPOLOGY_CLUSTER;
        break;
    case BY_TCP:
        break;
    }
    return read_tcp(options, text, keys);
}

/* Blanks, control characters and fragments have no place in any part. */
static bool has_stray(const char *url)
{
    for (; *url; url++)
        if ((unsigned char)*url <= ' ' || *url == 0x7f || *url == '#')
            return true;
    return false;
}

static int read_url(shoal_options_t *options, char *url, shoal_error_t *error)
{
    const char *last_at = strrchr(url, '@');
    shoal__options_keys_t keys = {.error = error,
                                  .secret_end = last_at ? last_at : url};
    const scheme_t *scheme;

    /* A password may stand among the keys as well: then nothing is quoted. */
    if (strstr(url, "sentinel_password"))
        keys.secret_end = url + strlen(url);
    char *text = cut(url, ':');
    if (!text || strncmp(text, "//", 2) != 0)
        return shoal__error_say(
            error, SHOAL_EURL,
            "the URL does not begin with redis://, rediss://, valkey://, valkeys:// or "
            "unix://");
    scheme = find_scheme(url);
    if (!scheme)
        return shoal__options_refuse(
            &keys, "the scheme", url,
            "is not known: redis, valkey, unix, and redis or valkey with +unix, "
            "+sentinel or +cluster are; with TLS rediss and valkeys");
    if (scheme->is_tls && shoal_options_set_tls(options, true) < 0)
        return shoal__error_say(error, SHOAL_ETLS,
                                "%s:// needs TLS, and this library was built without",
                                url);
    options->sentinels.is_tls = scheme->is_tls;
    text += 2;
    char *query_text = cut(text, '?');

    int rc = read_place(options, text, scheme->form, &keys);
    return rc < 0 ? rc : read_query(options, &keys, query_text);
}

int shoal_options_from_url(const char *url, shoal_options_t **ret_options,
                           shoal_error_t *ret_error)
{
    if (ret_options)
        *ret_options = NULL;
    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    if (!url || !ret_options)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "url or ret_options is NULL");
    if (has_stray(url))
        return shoal__error_say(
            ret_error, SHOAL_EURL,
            "a blank, a control character or a # stands in the URL: "
            "write it as %%XX");

    size_t url_bytes = strlen(url);
    shoal_options_t *options = NULL;
    char *copy = shoal__strdup(url);
    int rc = copy ? shoal_options_new(&options) : SHOAL_ENOMEM;

    if (rc == 0)
        rc = read_url(options, copy, ret_error);
    if (copy)
        shoal__wipe_free(copy, url_bytes);
    if (rc < 0) {
        shoal_options_free(options);
        return shoal__error_plain(ret_error, rc == SHOAL_EINVAL ? SHOAL_EURL : rc);
    }
    *ret_options = options;
    return 0;
}
