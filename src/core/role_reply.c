/* SPDX-License-Identifier: MIT */
#include "core/role_reply.h"

/* Bytes of a string, whatever its type is; none: it is no string. */
static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);

    return data ? (shoal__bytes_t){data, bytes} : (shoal__bytes_t){"", 0};
}

static bool is_text(const shoal_reply_t *reply, const char *word)
{
    return shoal__bytes_equal(text_of(reply), (shoal__bytes_t){word, strlen(word)});
}

shoal__role_reply_t shoal__role_reply_read(const shoal_reply_t *reply)
{
    shoal__role_reply_t read = {.role = shoal__role_read(reply)};
    const shoal_reply_t *third = shoal_reply_at(reply, 2);

    if (read.role == SHOAL__ROLE_REPLICA)
        read.is_linked = is_text(shoal_reply_at(reply, 3), "connected");
    if (read.role == SHOAL__ROLE_PRIMARY)
        read.replicas = third;
    return read;
}

/* The port is a string. */
static int read_port(shoal__bytes_t text)
{
    int port = 0;

    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || port > 65535)
            return 0;
        port = port * 10 + (text.data[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

/* Letters, digits, and what names and addresses have besides. */
static bool is_host(shoal__bytes_t text)
{
    if (text.bytes == 0 || text.bytes > SHOAL__ROLE_REPLY_HOST_BYTES)
        return false;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && (!c || !strchr("-._:%", c)))
            return false;
    }
    return true;
}

bool shoal__role_reply_replica(const shoal__role_reply_t *role, size_t i,
                               shoal__bytes_t *ret_host, int *ret_port)
{
    const shoal_reply_t *entry = shoal_reply_at(role->replicas, i);
    shoal__bytes_t host = text_of(shoal_reply_at(entry, 0));
    int port = read_port(text_of(shoal_reply_at(entry, 1)));

    if (!is_host(host) || port == 0)
        return false;
    *ret_host = host;
    *ret_port = port;
    return true;
}
