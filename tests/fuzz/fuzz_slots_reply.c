/* SPDX-License-Identifier: MIT */

/* Whatever a node says of its cluster: nothing is read beyond it, and what is understood is
 * in range. */

#include "core/cluster/slots_reply.h"
#include "fuzz_input.h"
#include "resp/decoder.h"
#include "resp/key_slot.h"

static void check_word(const char *word, size_t room, bool may_be_empty)
{
    size_t bytes = strlen(word);

    FUZZ_CHECK(bytes < room && (bytes > 0 || may_be_empty), "%zu bytes", bytes);
    for (size_t i = 0; i < bytes; i++)
        FUZZ_CHECK(word[i] > ' ' && word[i] <= '~', "no word");
}

static void check_node(const shoal__slots_node_t *node)
{
    check_word(node->id, sizeof node->id, false);
    check_word(node->host, sizeof node->host, true);
    check_word(node->hostname, sizeof node->hostname, true);
    FUZZ_CHECK(node->port >= 0 && node->port <= 65535, "port %d", node->port);
}

static void check_slots(const shoal_reply_t *reply)
{
    size_t slots = 0;

    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        shoal__slots_range_t range = shoal__slots_reply_range(reply, i);

        FUZZ_CHECK(range.first <= range.last && range.last < SHOAL__SLOTS, "%u-%u",
                   range.first, range.last);
        FUZZ_CHECK(range.nodes > 0, "nobody");
        slots += range.last - range.first + 1;
        for (size_t k = 0; k < range.nodes; k++) {
            shoal__slots_node_t node;
            shoal__slots_reply_node(reply, i, k, &node);
            check_node(&node);
        }
    }
    FUZZ_CHECK(slots <= SHOAL__SLOTS, "%zu slots", slots);
}

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__bytes_t text = {NULL, 0};
    shoal__nodes_line_t line;
    (void)owner, (void)is_push;

    if (shoal__slots_reply_is_whole(reply))
        check_slots(reply);
    text.data = shoal_reply_string(reply, &text.bytes);
    if (!text.data)
        return true;
    while (shoal__nodes_reply_next(&text, &line))
        check_word(line.id, sizeof line.id, false);
    FUZZ_CHECK(text.bytes == 0, "%zu bytes are left", text.bytes);
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
