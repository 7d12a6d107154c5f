/* SPDX-License-Identifier: MIT */
#include <shoal/replicas.h>

#include "base/alloc.h"
#include "core/options.h"
#include "core/role_reply.h"
#include "core/zone.h"
#include <shoal/errors.h>
#include <string.h>

int shoal_options_set_read_from(shoal_options_t *options, shoal_read_from_t read_from)
{
    if (!options)
        return SHOAL_EINVAL;
    switch (read_from) {
    case SHOAL_READ_PRIMARY:
    case SHOAL_READ_REPLICA_PREFERRED:
    case SHOAL_READ_REPLICA:
    case SHOAL_READ_ZONE:
    case SHOAL_READ_ZONE_OR_PRIMARY:
        options->read_from = read_from;
        return 0;
    }
    return SHOAL_EINVAL;
}

int shoal_options_set_zone(shoal_options_t *options, const char *zone)
{
    char *copy = NULL;

    if (!options || (zone && (!*zone || strlen(zone) > SHOAL__ZONE_BYTES)))
        return SHOAL_EINVAL;
    if (shoal__options_copy_text(zone, &copy) < 0)
        return SHOAL_ENOMEM;
    shoal__free(options->zone);
    options->zone = copy;
    return 0;
}

int shoal_options_add_replica(shoal_options_t *options, const char *host, int port)
{
    const shoal__option_address_t replica = {.host = (char *)host, .port = port};

    if (!options || !host || !*host || strlen(host) > SHOAL__ROLE_REPLY_HOST_BYTES ||
        port < 1 || port > 65535 || options->replicas_count == SHOAL_REPLICAS_MAX)
        return SHOAL_EINVAL;
    if (shoal__options_copy_address(&replica,
                                    &options->replicas[options->replicas_count]) < 0)
        return SHOAL_ENOMEM;
    options->replicas_count++;
    return 0;
}
