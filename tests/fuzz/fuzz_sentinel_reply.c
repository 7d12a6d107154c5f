/* SPDX-License-Identifier: MIT */

/* Whatever a sentinel says: nothing is read beyond it, and what is understood is in range. */

#include "core/sentinel/sentinel_reply.h"
#include "fuzz_input.h"
#include "resp/decoder.h"

#define PEERS_MAX 4

static void check_address(const shoal__sentinel_address_t *address)
{
    size_t bytes = strlen(address->host);

    FUZZ_CHECK(bytes > 0 && bytes < sizeof address->host, "a host of %zu bytes", bytes);
    for (size_t i = 0; i < bytes; i++)
        FUZZ_CHECK(address->host[i] > ' ' && address->host[i] <= '~', "no host");
    FUZZ_CHECK(address->port >= 1 && address->port <= 65535, "port %d", address->port);
}

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__sentinel_peer_t peers[PEERS_MAX];
    char id[SHOAL__SENTINEL_ID_BYTES];
    shoal__sentinel_view_t view;
    size_t count;
    (void)owner;

    if (shoal__sentinel_read_primary(reply, &view))
        check_address(&view.address);
    count = shoal__sentinel_read_peers(reply, peers, PEERS_MAX);
    FUZZ_CHECK(count <= PEERS_MAX, "%zu peers", count);
    for (size_t i = 0; i < count; i++) {
        check_address(&peers[i].address);
        FUZZ_CHECK(strlen(peers[i].id) < sizeof peers[i].id, "a long id");
    }
    if (shoal__sentinel_read_id(reply, id))
        FUZZ_CHECK(strlen(id) > 0 && strlen(id) < sizeof id, "an id");
    if (shoal__sentinel_tells_of(reply, "m"))
        FUZZ_CHECK(is_push || shoal_reply_count(reply) == 3, "a message");
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const shoal__decoder_limits_t limits = {1 << 16, 1 << 12, 8};
    const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    shoal__decoder_t *decoder;

    FUZZ_CHECK(shoal__decoder_new(&decoder, &limits, &hooks, NULL) == 0, "memory");
    shoal__decoder_feed(decoder, (const char *)data, bytes);
    shoal__decoder_free(decoder);
    return 0;
}
