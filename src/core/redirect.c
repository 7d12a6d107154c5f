/* SPDX-License-Identifier: MIT */
#include "core/redirect.h"

#include "resp/key_slot.h"

#define WORD "REDIRECT "

static bool is_of(shoal__bytes_t text, const char *letters)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!text.data[i] || !strchr(letters, text.data[i]))
            return false;
    return true;
}

/* 1 .. 65535 in decimal digits, and no more of them than are needed; else 0. */
static int read_port(shoal__bytes_t text)
{
    int port = 0;

    if (text.bytes == 0 || text.bytes > 5 || text.data[0] == '0' ||
        !is_of(text, "0123456789"))
        return 0;
    for (size_t i = 0; i < text.bytes; i++)
        port = port * 10 + (text.data[i] - '0');
    return port <= 65535 ? port : 0;
}

static bool is_host(shoal__bytes_t host, bool is_in_brackets)
{
    static const char address[] = "0123456789abcdefABCDEF:.";
    static const char name[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    bool has_colon = memchr(host.data, ':', host.bytes) != NULL;

    if (host.bytes == 0 || host.bytes >= SHOAL__REDIRECT_HOST_BYTES)
        return false;
    return has_colon ? is_of(host, address) : !is_in_brackets && is_of(host, name);
}

static bool read_host(shoal__bytes_t host, shoal__redirect_t *ret)
{
    bool is_in_brackets =
        host.bytes >= 2 && host.data[0] == '[' && host.data[host.bytes - 1] == ']';

    if (is_in_brackets) {
        host.data++;
        host.bytes -= 2;
    }
    if (!is_host(host, is_in_brackets))
        return false;
    memcpy(ret->host, host.data, host.bytes);
    ret->host[host.bytes] = '\0';
    return true;
}

bool shoal__redirect_read(shoal__bytes_t text, shoal__redirect_t *ret)
{
    if (!shoal__bytes_start(text, WORD))
        return false;
    text.data += sizeof WORD - 1;
    text.bytes -= sizeof WORD - 1;
    return shoal__redirect_read_address(text, ret);
}

bool shoal__redirect_read_address(shoal__bytes_t text, shoal__redirect_t *ret)
{
    size_t colon;

    for (colon = text.bytes; colon > 0 && text.data[colon - 1] != ':'; colon--)
        continue;
    if (colon == 0)
        return false;

    ret->port = read_port((shoal__bytes_t){text.data + colon, text.bytes - colon});
    return ret->port > 0 && read_host((shoal__bytes_t){text.data, colon - 1}, ret);
}

static shoal__bytes_t behind(shoal__bytes_t text, size_t bytes)
{
    return (shoal__bytes_t){text.data + bytes, text.bytes - bytes};
}

/* In decimal digits, and no more of them than are needed, with a blank behind.  How many
 * bytes that is; 0: it is no slot. */
static size_t read_slot(shoal__bytes_t text, unsigned *ret_slot)
{
    size_t bytes = 0;

    for (*ret_slot = 0; bytes < text.bytes && bytes < 5; bytes++) {
        if (text.data[bytes] < '0' || text.data[bytes] > '9')
            break;
        *ret_slot = *ret_slot * 10 + (unsigned)(text.data[bytes] - '0');
    }
    if (bytes == 0 || (bytes > 1 && text.data[0] == '0') || bytes == text.bytes ||
        text.data[bytes] != ' ' || *ret_slot >= SHOAL__SLOTS)
        return 0;
    return bytes + 1;
}

/* "host:0", "?:0" and ":0": the node has no port that clients like this one could use. */
static bool lacks_port(shoal__bytes_t text, shoal__redirect_t *ret)
{
    shoal__bytes_t host = {text.data, text.bytes - 2};
    bool is_there = text.bytes >= 2 && text.data[host.bytes] == ':' &&
                    text.data[host.bytes + 1] == '0' &&
                    (host.bytes == 0 || (host.bytes == 1 && host.data[0] == '?') ||
                     read_host(host, ret));

    ret->host[0] = '\0';
    ret->port = 0;
    return is_there;
}

/* Nodes that do not know a name say "?"; and ":port" if they tell no host to anybody. */
static bool read_node(shoal__bytes_t text, shoal__redirect_t *ret)
{
    if (lacks_port(text, ret))
        return true;
    ret->host[0] = '\0';
    ret->port = 0;
    if (shoal__bytes_start(text, "?:"))
        return read_port(behind(text, 2)) > 0;
    if (!shoal__bytes_start(text, ":") || memchr(text.data + 1, ':', text.bytes - 1))
        return shoal__redirect_read_address(text, ret);
    ret->port = read_port(behind(text, 1));
    return ret->port > 0;
}

bool shoal__redirect_read_slot(shoal__bytes_t text, shoal__slot_redirect_t *ret)
{
    size_t bytes;

    ret->is_ask = shoal__bytes_start(text, "ASK ");
    if (!ret->is_ask && !shoal__bytes_start(text, "MOVED "))
        return false;
    text = behind(text, ret->is_ask ? strlen("ASK ") : strlen("MOVED "));
    bytes = read_slot(text, &ret->slot);
    return bytes > 0 && read_node(behind(text, bytes), &ret->to);
}
