/* SPDX-License-Identifier: MIT */
#include <shoal/cluster.h>

#include "core/options.h"
#include <shoal/errors.h>

int shoal_options_set_topology(shoal_options_t *options, shoal_topology_t topology)
{
    if (!options ||
        (topology != SHOAL_TOPOLOGY_STANDALONE && topology != SHOAL_TOPOLOGY_CLUSTER))
        return SHOAL_EINVAL;
    options->topology = topology;
    return 0;
}
