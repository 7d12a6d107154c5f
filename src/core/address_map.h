/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ADDRESS_MAP_H
#define SHOAL_CORE_ADDRESS_MAP_H

/*
 * Other addresses for those that servers name: the program knows how they are reached from
 * where it runs.  Addresses are compared letter by letter; nothing is looked up.
 *
 * Threads: one, until the options are in use; any afterwards.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__address_mapping {
    char *host;
    int port; /* 0: any */
    char *to_host;
    int to_port; /* 0: the same port */
} shoal__address_mapping_t;

/* All zero: it is empty. */
typedef struct shoal__address_map {
    shoal__address_mapping_t *items; /* owned, with their texts */
    size_t count;
} shoal__address_map_t;

#define SHOAL__ADDRESS_MAPPINGS_MAX 4096

/* The texts are copied.  0, SHOAL_ENOMEM, or SHOAL_EINVAL: there are too many. */
int shoal__address_map_add(shoal__address_map_t *map,
                           const shoal__address_mapping_t *mapping);
/* A copy of all of them; on failure ret_copy is empty.  0 or SHOAL_ENOMEM. */
int shoal__address_map_copy(const shoal__address_map_t *from,
                            shoal__address_map_t *ret_copy);
void shoal__address_map_release(shoal__address_map_t *map);

/* Replaces an address that has another one.  What is said of host and port goes before what
 * is said of the host; of two of a kind the last one counts.  The host that is returned lives
 * as long as the map.  False: it stays as it is. */
bool shoal__address_map_apply(const shoal__address_map_t *map, const char **host,
                              int *port);

#endif
