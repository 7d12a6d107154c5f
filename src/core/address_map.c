/* SPDX-License-Identifier: MIT */
#include "core/address_map.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <string.h>

int shoal__address_map_add(shoal__address_map_t *map,
                           const shoal__address_mapping_t *mapping)
{
    shoal__address_mapping_t *items;
    shoal__address_mapping_t copy = *mapping;

    if (map->count == SHOAL__ADDRESS_MAPPINGS_MAX)
        return SHOAL_EINVAL;
    copy.host = shoal__strdup(mapping->host);
    copy.to_host = shoal__strdup(mapping->to_host);
    items = shoal__realloc(map->items, (map->count + 1) * sizeof *items);
    if (items)
        map->items = items;
    if (!copy.host || !copy.to_host || !items) {
        shoal__free(copy.host);
        shoal__free(copy.to_host);
        return SHOAL_ENOMEM;
    }
    map->items[map->count++] = copy;
    return 0;
}

int shoal__address_map_copy(const shoal__address_map_t *from,
                            shoal__address_map_t *ret_copy)
{
    *ret_copy = (shoal__address_map_t){0};
    for (size_t i = 0; i < from->count; i++)
        if (shoal__address_map_add(ret_copy, &from->items[i]) < 0) {
            shoal__address_map_release(ret_copy);
            return SHOAL_ENOMEM;
        }
    return 0;
}

void shoal__address_map_release(shoal__address_map_t *map)
{
    for (size_t i = 0; i < map->count; i++) {
        shoal__free(map->items[i].host);
        shoal__free(map->items[i].to_host);
    }
    shoal__free(map->items);
    *map = (shoal__address_map_t){0};
}

/* NULL: none. */
static const shoal__address_mapping_t *find(const shoal__address_map_t *map,
                                            const char *host, int port)
{
    for (size_t i = map->count; i > 0; i--) {
        const shoal__address_mapping_t *item = &map->items[i - 1];
        if (item->port == port && strcmp(item->host, host) == 0)
            return item;
    }
    return NULL;
}

bool shoal__address_map_apply(const shoal__address_map_t *map, const char **host,
                              int *port)
{
    const shoal__address_mapping_t *item = find(map, *host, *port);

    if (!item)
        item = find(map, *host, 0);
    if (!item)
        return false;
    *host = item->to_host;
    *port = item->to_port ? item->to_port : *port;
    return true;
}
