/* SPDX-License-Identifier: MIT */

/* What the strategies of a point can do. */

#include "options.h"

#include <shoal/lease.h>

/* Whether a strategy can do what is asked of TLS. */
static bool agrees_with_tls(const options_t *options, const strategy_t *strategy,
                            const char *name)
{
    if (options->target.is_tls && !strategy_has_tls(strategy))
        return options_complain("--tls: %s speaks none", name);
    if (strategy->is_plain && strategy->is_standalone)
        return options_complain("%s: plain or standalone, not both", name);
    if (strategy->is_plain && (!options->target.is_tls || !options->is_private ||
                               options_have_proxy(options)))
        return options_complain("plain: is for --tls, the private server and no --rtt");
    return true;
}

/* Whether a strategy can do what is asked of clusters. */
static bool agrees_with_cluster(const options_t *options, const strategy_t *strategy,
                                const char *name)
{
    bool is_private_cluster = options->is_private && options->target.is_cluster;

    if (strategy->is_standalone && !is_private_cluster)
        return options_complain("standalone: is for --cluster with private servers");
    if (options->target.is_cluster && !strategy_is_shoal(strategy))
        return options_complain("--cluster: %s knows one server alone", name);
    if (options->target.is_cluster && strategy->mode == MODE_LEASE &&
        options->keyspace > 1)
        return options_complain(
            "--cluster: a lease leads to the node of its first key; "
            "-r 1 gives all commands one key");
    if (options->target.is_cluster && strategy->homes > 1)
        return options_complain("--cluster: %s: a client has one connection to a node",
                                name);
    if (options->target.is_cluster && options_have_proxy(options))
        return options_complain(
            "--cluster: nodes name their own addresses; there is no "
            "--rtt (for profiles: --rtts 0) and no --link");
    return true;
}

/* Messages are no commands: a receiver is compared with receivers. */
static bool agrees_with_messages(const options_t *options, const strategy_t *strategy,
                                 const char *name)
{
    if (strategy_has_messages(strategy) !=
        strategy_has_messages(&options->strategies[0]))
        return options_complain("--against: %s does not do what --mode does", name);
    if (!strategy_has_messages(strategy))
        return true;
    if (options->pushes != 0 || options->beside_rate != 0 ||
        options->large_bytes != 0 || options->is_verified || options->is_random ||
        options->connections > 1)
        return options_complain("%s: not with --pushes, --beside-rate, --large, "
                                "--verify, --arrivals or --connections",
                                name);
    return true;
}

bool options_agree(const options_t *options)
{
    char name[64];
    bool has_beside = false;

    for (size_t i = 0; i < options->strategies_count; i++) {
        const strategy_t *strategy = &options->strategies[i];
        strategy_mode_name(strategy, name, sizeof name);
        if (!strategy_is_available(strategy))
            return options_complain("%s: redis-plus-plus was not installed when this "
                                    "program was built",
                                    name);
        if (!agrees_with_messages(options, strategy, name) ||
            !agrees_with_tls(options, strategy, name) ||
            !agrees_with_cluster(options, strategy, name))
            return false;
        if (options->rate != 0 && !strategy_has_open_loop(strategy))
            return options_complain(
                "--rate: %s has no open loop; callback, beside, "
                "sync, lease, pool, collector, mutex and redispp have",
                name);
        if (options->is_verified && strategy->mode == MODE_RAW)
            return options_complain(
                "--verify: raw skips the replies and cannot compare them");
        if (options->pushes != 0 && options->rate == 0 && !strategy_can_pop(strategy))
            return options_complain("--pushes: %s cannot wait for elements; callback, "
                                    "sync, lease and pool can",
                                    name);
        if (options->large_bytes != 0 && !strategy_can_be_beside_large(strategy))
            return options_complain("--large: %s has no callers with large values; "
                                    "callback, beside, sync and pool have",
                                    name);
        if (strategy->mode == MODE_LEASE &&
            options->callers > options->connections * SHOAL_LEASE_CONNECTIONS_MAX)
            return options_complain("lease: at most %d callers for each of the "
                                    "--connections",
                                    SHOAL_LEASE_CONNECTIONS_MAX);
        if (options->beside_rate == 0 ? strategy->mode == MODE_MIXED
                                      : !strategy_has_beside_rate(strategy))
            return options_complain(
                "--beside-rate: is for mixed, which needs it, and for "
                "sync and callback");
        has_beside = has_beside || strategy->mode == MODE_BESIDE;
    }
    if (options->beside_rate != 0 && (options->rate != 0 || options->pushes != 0))
        return options_complain("--beside-rate: not with --rate or --pushes");
    if (options->large_bytes != 0 && options->rate == 0)
        return options_complain("--large: needs --rate, for the commands beside");
    if (has_beside != (options->rate != 0 && options->pushes != 0))
        return options_complain(
            "beside, --rate and --pushes: each needs the other two");
    return true;
}
