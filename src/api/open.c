/* SPDX-License-Identifier: MIT */
#include "api/open.h"

#include "base/error.h"
#include "core/options.h"
#include "route/cluster.h"
#include "route/standalone.h"

const char *shoal__find_contradiction(const shoal_options_t *options)
{
    if (options->sentinels.name && options->sentinels.count == 0)
        return "the options name a primary and no sentinel that knows it: "
               "shoal_options_add_sentinel()";
    if (options->sentinels.name && options->sentinels.is_tls && !options->tls.is_on)
        return "the sentinels speak TLS only beside a primary that does: "
               "shoal_options_set_tls()";
    if (!options->zone && (options->read_from == SHOAL_READ_ZONE ||
                           options->read_from == SHOAL_READ_ZONE_OR_PRIMARY))
        return "the options prefer the replicas of a zone, and name none: "
               "shoal_options_set_zone()";
    if (options->topology == SHOAL_TOPOLOGY_STANDALONE)
        return NULL;
    if (options->sentinels.name)
        return "a cluster has no sentinels: its nodes promote replicas themselves";
    if (options->addresses[0].unix_path)
        return "the nodes of a cluster have hosts and ports, no Unix socket";
    if (options->connections > 1)
        return "several connections to one node of a cluster are not supported";
    if (options->read_from == SHOAL_READ_REPLICA)
        return "reads of a cluster go to its primaries while no replica can "
               "execute them: SHOAL_READ_REPLICA_PREFERRED";
    if (options->replicas_count > 0)
        return "the nodes of a cluster say themselves which replicas there are";
    return NULL;
}

int shoal__open(const shoal__client_plan_t *plan, const shoal_options_t *options,
                shoal_client_t **ret_client, shoal_error_t *ret_error)
{
    const char *contradiction = options ? shoal__find_contradiction(options) : NULL;
    shoal__client_plan_t whole = *plan;
    int rc;

    if (ret_client)
        *ret_client = NULL;
    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    if (!ret_client)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "ret_client is NULL");
    if (contradiction)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "%s", contradiction);
    whole.new_route = options && options->topology != SHOAL_TOPOLOGY_STANDALONE
                          ? shoal__cluster_new
                          : shoal__standalone_new;
    whole.new_heir = options && options->topology == SHOAL_TOPOLOGY_AUTO
                         ? shoal__standalone_new
                         : NULL;
    rc = shoal__client_open(&whole, options, ret_client);
    return shoal__error_system(ret_error, rc, "no thread or descriptor for the client");
}
