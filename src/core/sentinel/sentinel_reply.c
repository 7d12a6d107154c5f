/* SPDX-License-Identifier: MIT */
#include "core/sentinel/sentinel_reply.h"

#include "core/description.h"

#define PORT_MAX 65535

/* Sentinels say "?" or port 0 of what they do not know. */
static bool read_address(const shoal_reply_t *description,
                         shoal__sentinel_address_t *ret_address)
{
    uint64_t port;

    if (!shoal__text_read_word(shoal__description_value(description, "ip"),
                               ret_address->host, sizeof ret_address->host) ||
        strcmp(ret_address->host, "?") == 0 ||
        !shoal__text_read_number(shoal__description_value(description, "port"),
                                 PORT_MAX, &port) ||
        port == 0)
        return false;
    ret_address->port = (int)port;
    return true;
}

bool shoal__sentinel_read_primary(const shoal_reply_t *reply,
                                  shoal__sentinel_view_t *ret_view)
{
    *ret_view = (shoal__sentinel_view_t){0};
    return read_address(reply, &ret_view->address) &&
           shoal__text_read_number(shoal__description_value(reply, "config-epoch"),
                                   UINT64_MAX, &ret_view->epoch);
}

/* The sentinel that names it does not reach it. */
static bool is_down(const shoal_reply_t *description)
{
    shoal__bytes_t flags = shoal__description_value(description, "flags");

    return shoal__text_has_flag(flags, "s_down") ||
           shoal__text_has_flag(flags, "disconnected");
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
        if (!shoal__text_read_word(shoal__description_value(description, "runid"),
                                   peer.id, sizeof peer.id))
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
           shoal__text_read_word(shoal__text_of(reply), ret_id,
                                 SHOAL__SENTINEL_ID_BYTES);
}

static bool is_text(const shoal_reply_t *reply, const char *text)
{
    return shoal__bytes_equal(shoal__text_of(reply),
                              (shoal__bytes_t){text, strlen(text)});
}

bool shoal__sentinel_tells_of(const shoal_reply_t *push, const char *name)
{
    size_t bytes = strlen(name);
    shoal__bytes_t said;

    if (shoal_reply_count(push) != 3 || !is_text(shoal_reply_at(push, 0), "message") ||
        !is_text(shoal_reply_at(push, 1), "+switch-master"))
        return false;
    said = shoal__text_of(shoal_reply_at(push, 2));
    return said.bytes > bytes && memcmp(said.data, name, bytes) == 0 &&
           said.data[bytes] == ' ';
}
