/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_REPLICAS_H
#define SHOAL_REPLICAS_H

/**
 * @file
 * Reads at replicas: commands that only read may be executed by replicas of the server.
 *
 * Replicas copy what the primary does, some time later: **a read may be older than the
 * writes of the same thread**, and two reads that go to different replicas may go back in
 * time.  A program that must see its own writes reads at the primary.
 *
 * - **Which commands.**  Those that the library knows as reading alone (GET, HGETALL,
 *   EVAL_RO, FCALL_RO ...).  All others go to the primary: writes, scripts, commands that
 *   block, PING and the like, SCAN and its kin, whose cursors mean nothing to another
 *   server.  So do units (MULTI ... EXEC), commands of a call with SHOAL_CALL_CONTIGUOUS or
 *   SHOAL_CALL_ONCE, the commands of one call that have a sink together, commands of a
 *   lease, and those for the bulk lane (shoal_options_set_bulk_lane()).
 * - **Which replicas.**  Those that the program names; if it names none, those that the
 *   primary names in its answer to ROLE, which the library asks when it is connected, every
 *   5 s, and when a replica was lost.  The client sends its credentials to them.  A replica
 *   gets commands only after it has answered ROLE with "slave" over the same connection,
 *   and while the link to its primary was up within the last minute.
 * - **Which one of them.**  The library takes one at random, or another one if that has
 *   clearly fewer unanswered commands or a shorter round trip, and keeps it for 50 ms, so
 *   that commands form batches.
 * - **What if it fails.**  A command that a replica refuses for now (LOADING, MASTERDOWN), or
 *   that was under way when the connection was lost, goes to another replica once, and then
 *   to the primary, or waits for a replica, as shoal_options_set_read_from() says.  Reads go
 *   on at replicas while there is no primary.
 * - **In a cluster** the views of the cluster name the replicas of each slot's owner, and the
 *   program names none.  A client connects to the replicas of a shard when it first reads there.  A replica
 *   that says it does not have the slot (MOVED, ASK, TRYAGAIN, CLUSTERDOWN), or that was silent for
 *   3 s, is a failure as those above.  SHOAL_READ_REPLICA is refused when the client is opened.
 * - **Order.**  Reads of one thread that go to one replica run in their order.  What has no
 *   order: reads and writes; reads while the replica changes, or that go to the primary
 *   instead.
 */

#include <shoal/options.h>
#include <shoal/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which server executes the commands that only read. */
typedef enum shoal_read_from {
    SHOAL_READ_PRIMARY = 0,           /**< the primary */
    SHOAL_READ_REPLICA_PREFERRED = 1, /**< a replica; the primary while none can */
    SHOAL_READ_REPLICA = 2, /**< a replica; while none can, commands wait until their
                                deadline, or fail at once with SHOAL_OFFLINE_FAIL */
    SHOAL_READ_ZONE =
        3, /**< a replica in the zone of shoal_options_set_zone(); while none
                              can, any replica, then the primary */
    SHOAL_READ_ZONE_OR_PRIMARY =
        4 /**< a replica in the zone; while none can, the primary
                                        if it is in the zone, else any replica, then the
                                        primary */
} shoal_read_from_t;

/** The greatest number of replicas that a client uses. */
#define SHOAL_REPLICAS_MAX 16

/**
 * Choose which server executes the commands that only read.  Default: SHOAL_READ_PRIMARY,
 * and then replicas cost nothing.
 *
 * SHOAL_CALL_PRIMARY sends the commands of one call to the primary.  SHOAL_CALL_REPLICA
 * prefers a replica for them; with SHOAL_READ_PRIMARY the flag has an effect only in a
 * cluster, or if the program names replicas (shoal_options_add_replica()).
 *
 * The client is ready when the primary is.  shoal_stats_t.replica_reads counts the commands
 * that were handed to replicas.
 * In a URL: read_from=primary, replica_preferred, replica, zone or zone_or_primary.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or no such value
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_read_from(shoal_options_t *options,
                                             shoal_read_from_t read_from);

/**
 * Say in which availability zone the program runs.  Default: not known.  It matters for
 * SHOAL_READ_ZONE and SHOAL_READ_ZONE_OR_PRIMARY, which cannot do without.
 *
 * Servers tell their zone in INFO (`availability_zone`, Valkey 8), for which the library asks
 * over each new connection.  One that tells none is in no zone;
 * SHOAL_EVENT_ZONE_UNKNOWN tells of the first one.
 * In a URL: zone.
 *
 * @param options of a client that is not open yet
 * @param zone as the servers call it, 1 .. 255 bytes; copied.  NULL: not known
 *
 * Threads:   setup
 * Ownership: copied
 * Errors:    SHOAL_EINVAL options is NULL, or zone is empty or too long
 *            SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_options_set_zone(shoal_options_t *options, const char *zone);

/**
 * Name one replica.  If the program names any, the library uses those and asks for no
 * others.  Default: none; the primary names them.
 *
 * @param options of a client that is not open yet
 * @param host a name or a numeric address; copied
 * @param port 1 .. 65535
 *
 * Threads:   setup
 * Ownership: copied
 * Errors:    SHOAL_EINVAL options or host is NULL, host is empty or longer than 255 bytes,
 *                         port is out of range, or there are SHOAL_REPLICAS_MAX already
 *            SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_options_add_replica(shoal_options_t *options, const char *host,
                                           int port);

#ifdef __cplusplus
}
#endif

#endif
