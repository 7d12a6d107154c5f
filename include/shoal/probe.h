/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PROBE_H
#define SHOAL_PROBE_H

/**
 * @file
 * Probes of a pubsub's connections.
 *
 * A connection can answer PING, and yet lead to a server that gets no publications any more: a
 * primary that was replaced, an address that another machine has now, a proxy that swallows
 * messages.  So each connection of a pubsub subscribes to a private channel, `__shoal:` and 16
 * digits.  If an interval passes without any message, a client, the *prober*, publishes to it.
 * If the server took that, and one more interval passes, the connection is given up; the next
 * one is dialed to the address that is looked up anew, and the names get SHOAL_ITEM_GAP with the
 * reason SHOAL_GAP_PROBE.  Receivers never see these messages.
 *
 * A probe that fails proves nothing.  If an ACL forbids the channel, probes end until there is
 * another prober.
 *
 * Statistics (shoal_pubsub_stats_t): `probes` that were sent; `probe_restarts`, connections that
 * were given up because nothing came of a probe; `probe_us_now`, the interval, 0: no probes are
 * wanted; `is_probe_forbidden_now`, 1: an ACL forbids them.
 *
 * docs/PUBSUB.md says more.
 */

#include <shoal/client.h>
#include <shoal/options.h>
#include <shoal/pubsub.h>
#include <shoal/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** With one server: no probes.  With Sentinel, and in a cluster: 30 s. */
#define SHOAL_PROBE_AUTO UINT64_MAX

/**
 * How long a pubsub's connection may hear no message before it is probed: the client that
 * shoal_pubsub_set_prober() names publishes to a private channel of that connection.  If one
 * more interval passes then, the connection is made new.
 *
 * Of connections that are made new in a row the second waits 1 interval more, then 2, 4, 8, and
 * at most 10.  Clients are not concerned.
 *
 * @param options  of a pubsub
 * @param probe_us 1 000 000 .. 3 600 000 000; 0: never; SHOAL_PROBE_AUTO, the default
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or out of range
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_probe_us(shoal_options_t *options,
                                            uint64_t probe_us);

/**
 * Name the client that publishes probes.
 *
 * The pubsub holds a reference of the prober until another one is named, or the pubsub's close
 * has ended.  The prober may be closed before: probes fail then.  In the child of a fork nothing
 * is given back.
 *
 * @param pubsub whose connections
 * @param prober a client of the same server, Sentinel group or cluster, best with the same
 *               options; NULL: there are no probes, as at the beginning
 *
 * Threads: any.  The prober's callbacks run on its own loop, unless the pubsub gives back the last
 *          reference of a borrowed prober: its end then runs on the thread that does this
 * Blocks:  never, unless it gives back the last reference of the former prober
 *          (shoal_client_release())
 * Errors:  SHOAL_EINVAL  pubsub is NULL
 *          SHOAL_ECLOSED the pubsub was closed
 *          SHOAL_EFORK   one of both belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_set_prober(shoal_pubsub_t *pubsub,
                                         shoal_client_t *prober);

#ifdef __cplusplus
}
#endif

#endif
