/* SPDX-License-Identifier: MIT */
#include "core/heavy.h"

#include "base/hash.h"
#include "resp/command_keys.h"

#define KEPT 60 /* seconds, a little longer each */

/* Of 2^20 microseconds, from 1. */
static uint32_t seconds(uint64_t now_us)
{
    return (uint32_t)(now_us >> 20) + 1;
}

static bool is_fresh(uint32_t at, uint32_t now)
{
    return at > 0 && now - at <= KEPT;
}

typedef struct first_key {
    shoal__bytes_t key;
    bool is_there;
} first_key_t;

static void on_key(void *data, shoal__bytes_t key)
{
    first_key_t *first = data;

    if (!first->is_there)
        *first = (first_key_t){key, true};
}

static uint64_t number(const char *name, size_t name_bytes, const first_key_t *first)
{
    uint64_t hash = shoal__hash((shoal__bytes_t){name, name_bytes}, 0);

    return first->is_there ? shoal__hash(first->key, hash) : hash;
}

uint64_t shoal__heavy_command(shoal__bytes_t encoded)
{
    first_key_t first = {0};
    shoal__command_keys_t keys = shoal__command_keys(encoded, on_key, &first);

    if (keys.info)
        return number(keys.info->name, keys.info->name_bytes, &first);
    return number(keys.name.data, keys.name.bytes, &first);
}

uint64_t shoal__heavy_get(shoal__bytes_t key)
{
    const first_key_t first = {key, true};

    return number("GET", 3, &first);
}

void shoal__heavy_was_large(shoal__heavy_t *heavy, uint64_t command, uint64_t now_us)
{
    heavy->newest = seconds(now_us);
    heavy->entries[command % SHOAL__HEAVY_PLACES] =
        (shoal__heavy_entry_t){(uint32_t)(command >> 32), heavy->newest};
}

bool shoal__heavy_knows(const shoal__heavy_t *heavy, uint64_t command, uint64_t now_us)
{
    const shoal__heavy_entry_t *entry = &heavy->entries[command % SHOAL__HEAVY_PLACES];

    return entry->mark == (uint32_t)(command >> 32) &&
           is_fresh(entry->large_at, seconds(now_us));
}

bool shoal__heavy_is_empty(const shoal__heavy_t *heavy, uint64_t now_us)
{
    return !is_fresh(heavy->newest, seconds(now_us));
}
