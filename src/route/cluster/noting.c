/* SPDX-License-Identifier: MIT */

/* Commands come: which of them are for the bulk lane of their node? */

#include "base/alloc.h"
#include "core/lane_rule.h"
#include "resp/command_keys.h"
#include "route/cluster/state.h"

/* A bulk command for the slot was placed where all others of it are. */
static void note(shoal__cluster_t *cluster, unsigned slot)
{
    shoal__bulks_t *bulks = &cluster->bulks;
    uint8_t bit = (uint8_t)(1u << slot % 8);

    if (!bulks->noted)
        bulks->noted = shoal__malloc(SHOAL__SLOTS * sizeof *bulks->noted);
    if (!bulks->noted || (bulks->is_noted[slot / 8] & bit))
        return;
    bulks->is_noted[slot / 8] |= bit;
    bulks->noted[bulks->noted_count++] = (uint16_t)slot;
}

typedef struct keys {
    size_t count;
    shoal__bytes_t last;
} keys_t;

static void on_key(void *data, shoal__bytes_t key)
{
    keys_t *keys = data;

    keys->count++;
    keys->last = key;
}

/* WAIT counts the writes of the connection that it is sent over. */
static void heed_wait(shoal__bulks_t *bulks, const shoal__request_t *request,
                      const char *bytes)
{
    const shoal__bytes_t encoded = {bytes, request->bytes};
    shoal__bytes_t name;
    keys_t keys = {0};

    if (request->command_class != SHOAL__CLASS_BLOCK)
        return;
    name = shoal__command_keys(encoded, on_key, &keys).name;
    if (shoal__bytes_is_word(name, "WAIT") || shoal__bytes_is_word(name, "WAITAOF"))
        bulks->keeps_writes = true;
}

static bool is_heavy(const shoal__cluster_t *cluster, const shoal__request_t *request,
                     const char *bytes, uint64_t now_us)
{
    const shoal__heavy_t *heavy = &cluster->set.shared.heavy;

    return request->command_class == SHOAL__CLASS_RO &&
           !shoal__heavy_is_empty(heavy, now_us) &&
           shoal__heavy_knows(
               heavy, shoal__heavy_command((shoal__bytes_t){bytes, request->bytes}),
               now_us);
}

/* A value that is written is large, and so will be the reply that reads it. */
static void expect_large(shoal__cluster_t *cluster, const shoal__request_t *request,
                         const char *bytes, uint64_t now_us)
{
    const shoal__values_t *values = shoal__request_values(request);
    size_t readable =
        values && values->count > 0 ? values->references[0].at : request->bytes;
    keys_t keys = {0};

    if (request->command_class != SHOAL__CLASS_WRITE ||
        shoal__request_wire_bytes(request) <= SHOAL__HEAVY_REPLY_BYTES)
        return;
    (void)shoal__command_keys((shoal__bytes_t){bytes, readable}, on_key, &keys);
    if (keys.count != 1)
        return;
    shoal__heavy_was_large(&cluster->set.shared.heavy, shoal__heavy_get(keys.last),
                           now_us);
    cluster->set.shared.wants_bulk = true;
}

static bool may_change(const shoal__request_t *request)
{
    return request->command_class != SHOAL__CLASS_RO;
}

void shoal__cluster_note_bulk(shoal__cluster_t *cluster,
                              const shoal__mailbox_side_t *side, uint64_t now_us)
{
    shoal__bulks_t *bulks = &cluster->bulks;
    const char *bytes = shoal__buffer_data(&side->bytes);

    if (!bulks->is_allowed)
        return;
    for (size_t i = 0; i < side->count; bytes += side->requests[i++].bytes) {
        const shoal__request_t *request = &side->requests[i];
        bool is_marked = (request->flags & SHOAL__REQUEST_APART) != 0;
        if (request->flags & (SHOAL__REQUEST_LEASED | SHOAL__REQUEST_RETRIED |
                              SHOAL__REQUEST_FOR_REPLICA))
            continue;
        heed_wait(bulks, request, bytes);
        if (side->slots[i] >= SHOAL__SLOTS ||
            request->command_class == SHOAL__CLASS_BLOCK ||
            (bulks->keeps_writes && may_change(request)))
            continue;
        if (is_marked)
            expect_large(cluster, request, bytes, now_us);
        if (is_marked || is_heavy(cluster, request, bytes, now_us))
            note(cluster, side->slots[i]);
    }
}

void shoal__cluster_note_part(shoal__cluster_t *cluster,
                              const shoal__spread_part_t *part)
{
    if (cluster->bulks.is_allowed && !cluster->bulks.keeps_writes && !part->node &&
        part->bytes_count > SHOAL__LANE_REQUEST_BYTES)
        note(cluster, part->slot);
}
