/* SPDX-License-Identifier: MIT */
#include <shoal/cluster.h>

#include "core/cluster/slots_reply.h"
#include "core/options.h"
#include <shoal/errors.h>
#include <string.h>

int shoal_options_set_topology(shoal_options_t *options, shoal_topology_t topology)
{
    if (!options ||
        (topology != SHOAL_TOPOLOGY_STANDALONE && topology != SHOAL_TOPOLOGY_CLUSTER &&
         topology != SHOAL_TOPOLOGY_AUTO))
        return SHOAL_EINVAL;
    options->topology = topology;
    return 0;
}

static bool is_host(const char *host)
{
    return host && host[0] && strlen(host) < SHOAL__NODE_HOST_BYTES;
}

static bool is_port(int port)
{
    return port >= 0 && port <= 65535;
}

int shoal_options_map_address(shoal_options_t *options, const char *host, int port,
                              const char *to_host, int to_port)
{
    const shoal__address_mapping_t mapping = {(char *)host, port, (char *)to_host,
                                              to_port};

    if (!options || !is_host(host) || !is_host(to_host) || !is_port(port) ||
        !is_port(to_port))
        return SHOAL_EINVAL;
    return shoal__address_map_add(&options->map, &mapping);
}
