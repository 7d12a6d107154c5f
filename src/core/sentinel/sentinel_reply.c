/* SPDX-License-Identifier: MIT */
#include "core/sentinel/sentinel_reply.h"

#include "base/bytes.h"

#define PORT_MAX 65535
#define EPOCH_DIGITS_MAX 18 /* so that the number cannot overflow */

static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);

    return (shoal__bytes_t){data, data ? bytes : 0};
}

/* Digits only. */
static bool read_number(shoal__bytes_t text, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (text.bytes == 0 || text.bytes > EPOCH_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_number = number;
    return number <= max;
}

/* A word without blanks and control characters that fits. */
static bool read_word(shoal__bytes_t text, char *ret_word, size_t room)
{
    if (text.bytes == 0 || text.bytes >= room)
        return false;
    for (size_t i = 0; i < text.bytes; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    memcpy(ret_word, text.data, text.bytes);
    ret_word[text.bytes] = '\0';
    return true;
}

/* One value of a description; empty: there is none. */
static shoal__bytes_t value_of(const shoal_reply_t *description, const char *name)
{
    shoal_reply_type_t type = shoal_reply_type(description);
    size_t count = shoal_reply_count(description);

    if (type != SHOAL_REPLY_MAP && type != SHOAL_REPLY_ARRAY)
        count = 0;
    for (size_t i = 0; i + 1 < count; i += 2)
        if (shoal__bytes_equal(text_of(shoal_reply_at(description, i)),
                               (shoal__bytes_t){name, strlen(name)}))
            return text_of(shoal_reply_at(description, i + 1));
    return (shoal__bytes_t){NULL, 0};
}

/* Sentinels say "?" or port 0 of what they do not know. */
static bool read_address(const shoal_reply_t *description,
                         shoal__sentinel_address_t *ret_address)
{
    uint64_t port;

    if (!read_word(value_of(description, "ip"), ret_address->host,
                   sizeof ret_address->host) ||
        strcmp(ret_address->host, "?") == 0 ||
        !read_number(value_of(description, "port"), PORT_MAX, &port) || port == 0)
        return false;
    ret_address->port = (int)port;
    return true;
}

bool shoal__sentinel_read_primary(const shoal_reply_t *reply,
                                  shoal__sentinel_view_t *ret_view)
{
    *ret_view = (shoal__sentinel_view_t){0};
    return read_address(reply, &ret_view->address) &&
           read_number(value_of(reply, "config-epoch"), UINT64_MAX, &ret_view->epoch);
}

/* One of a list between commas. */
static bool has_flag(shoal__bytes_t flags, const char *flag)
{
    size_t bytes = strlen(flag), begin = 0;

    for (size_t i = 0; i <= flags.bytes; i++) {
        if (i < flags.bytes && flags.data[i] != ',')
            continue;
        if (i - begin == bytes && memcmp(flags.data + begin, flag, bytes) == 0)
            return true;
        begin = i + 1;
    }
    return false;
}

/* The sentinel that names it does not reach it. */
static bool is_down(const shoal_reply_t *description)
{
    shoal__bytes_t flags = value_of(description, "flags");

    return has_flag(flags, "s_down") || has_flag(flags, "disconnected");
}

size_t shoal__sentinel_read_peers(const shoal_reply_t *reply,
                                  shoal__sentinel_peer_t *ret_peers, size_t peers_max)
{
    size_t peers = 0, count = 0;

    if (shoal_reply_type(reply) == SHOAL_REPLY_ARRAY)
        count = shoal_reply_count(reply);
    for (size_t i = 0; i < count && peers < peers_max; i++) {
        const shoal_reply_t *description = shoal_reply_at(reply, i);
        shoal__sentinel_peer_t peer = {0};

        if (!read_address(description, &peer.address) || is_down(description))
            continue;
        if (!read_word(value_of(description, "runid"), peer.id, sizeof peer.id))
            peer.id[0] = '\0';
        ret_peers[peers++] = peer;
    }
    return peers;
}

bool shoal__sentinel_read_id(const shoal_reply_t *reply,
                             char ret_id[SHOAL__SENTINEL_ID_BYTES])
{
    ret_id[0] = '\0';
    return shoal_reply_type(reply) == SHOAL_REPLY_STRING &&
           read_word(text_of(reply), ret_id, SHOAL__SENTINEL_ID_BYTES);
}

static bool is_text(const shoal_reply_t *reply, const char *text)
{
    return shoal__bytes_equal(text_of(reply), (shoal__bytes_t){text, strlen(text)});
}

bool shoal__sentinel_tells_of(const shoal_reply_t *push, const char *name)
{
    size_t bytes = strlen(name);
    shoal__bytes_t said;

    if (shoal_reply_count(push) != 3 || !is_text(shoal_reply_at(push, 0), "message") ||
        !is_text(shoal_reply_at(push, 1), "+switch-master"))
        return false;
    said = text_of(shoal_reply_at(push, 2));
    return said.bytes > bytes && memcmp(said.data, name, bytes) == 0 &&
           said.data[bytes] == ' ';
}
