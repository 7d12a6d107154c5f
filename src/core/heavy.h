/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_HEAVY_H
#define SHOAL_CORE_HEAVY_H

/*
 * Remembers commands with large replies.  A command is known by its name and its first key,
 * because GET of one key may be large, and GET of all others small.  What has no key is
 * known by its name.  After a minute without another large reply a command is forgotten.
 *
 * Memory is fixed.  A newer command takes the place of an older one.
 */

#include "base/bytes.h"
#include <stdbool.h>
#include <stdint.h>

#define SHOAL__HEAVY_REPLY_BYTES 262144

#define SHOAL__HEAVY_PLACES 128

typedef struct shoal__heavy_entry {
    uint32_t mark;     /* of the command */
    uint32_t large_at; /* see seconds() */
} shoal__heavy_entry_t;

typedef struct shoal__heavy {
    shoal__heavy_entry_t entries[SHOAL__HEAVY_PLACES];
    uint32_t newest; /* large_at of the last one; 0: there was none */
} shoal__heavy_t;

/* The command whose encoded bytes these are. */
uint64_t shoal__heavy_command(shoal__bytes_t encoded);
/* GET of this key. */
uint64_t shoal__heavy_get(shoal__bytes_t key);

void shoal__heavy_was_large(shoal__heavy_t *heavy, uint64_t command, uint64_t now_us);

bool shoal__heavy_knows(const shoal__heavy_t *heavy, uint64_t command, uint64_t now_us);
/* Is nothing known? */
bool shoal__heavy_is_empty(const shoal__heavy_t *heavy, uint64_t now_us);

#endif
