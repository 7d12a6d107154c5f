/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLUSTER_H
#define SHOAL_CLUSTER_H

/**
 * @file
 * Redis Cluster and Valkey Cluster.
 *
 * A cluster divides the keys among its primaries: each key belongs to one of 16384 slots, and
 * each slot to one primary. A client of a cluster needs the address of one node, and learns
 * all others from the nodes:
 *
 * - The library has one connection to each primary that owns slots, and sends each command
 *   to the owner of the slot of its keys. A command without a key goes to any primary.
 * - The keys of a command, and those of a unit (MULTI ... EXEC), must belong to one slot. Else
 *   the call returns SHOAL_ECROSSSLOT. Keys whose names have the same text between the first
 *   { and the next } belong to one slot: "{user7}.name" and "{user7}.mail".
 * - Commands of one thread for keys of one slot are executed in the order of their submission,
 *   also while the slot moves to another node (MOVED, ASK), and when a replica is promoted
 *   while its primary works (CLUSTER FAILOVER). When a primary dies, what its successor
 *   executes is in order; what becomes of commands that were sent and not answered,
 *   shoal/retry.h says. Writes that the dead primary acknowledged may be lost: replication
 *   is asynchronous, and no client can change that.
 * - While no node owns a slot, or its owner cannot be reached, its commands wait until their
 *   deadline. Commands for other slots do not wait for them.
 * - No node's view of the cluster is believed blindly: a slot changes its owner when the owner
 *   itself says so, when the new owner has a higher configuration epoch, or when two nodes
 *   agree.
 *
 * A call can say which nodes get its commands (`route` of shoal_call_t): any primary, each
 * primary, each node, the owner of a slot, or one node by its name. What goes to several nodes
 * has one result. Its reply is a map of the nodes' names and their replies, or an error reply
 * if a node gave one. If a node gave no reply at all, the status is that of the worst part:
 * one that may have been executed (SHOAL_FATE_UNKNOWN) before one that was not; the fate is
 * SHOAL_FATE_NOT_EXECUTED only if no node executed anything. shoal_result_part() tells what
 * became of each part. Each node executes such a command in its order among the other
 * commands that the same thread sends to that node; a part stays with its node, also if
 * the node is down or loses its slots, and redirects of a named node are results.
 *
 * As a URL:
 *
 *     redis+cluster://[[user]:password@]host[:port][,host[:port]...][/?key=...]
 *
 * The hosts are nodes of the cluster, whose default port is 6379. `valkey+cluster://` means
 * the same, and with `rediss+cluster://` all nodes speak TLS.
 *
 * A program that does not know whether it has a cluster can leave that to the client:
 * `redis://host?topology=auto`, or SHOAL_TOPOLOGY_AUTO.
 *
 * Without a `route`, commands without a key that concern several nodes (FLUSHALL, DBSIZE, KEYS,
 * CONFIG SET, SCRIPT LOAD ...) go to all of them, and their replies become one; docs/CLUSTER.md
 * has the table. SCAN and RANDOMKEY need a `route`; shoal/scan.h scans all primaries.
 *
 * MGET, MSET, DEL, UNLINK, TOUCH and EXISTS may have keys of several slots, if the call says so
 * (SHOAL_CALL_MAY_SPLIT).
 *
 * Commands that only read may go to replicas (shoal/replicas.h).
 *
 * Not yet for a cluster: several connections to a node.
 */

#include <shoal/options.h>
#include <shoal/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the keys are. Later versions may add values. */
typedef enum shoal_topology {
    SHOAL_TOPOLOGY_STANDALONE = 0, /**< on one server: the default */
    SHOAL_TOPOLOGY_CLUSTER = 1, /**< on the primaries of a cluster; the addresses of the
                                        options are those of some of its nodes */
    SHOAL_TOPOLOGY_SENTINEL = 2, /**< on one server, which sentinels name. Only
                                        shoal_topology_kind() tells this value: a client
                                        has sentinels when its options name some */
    SHOAL_TOPOLOGY_AUTO = 3 /**< as the first server that is reached says: one of the
                                        first two. shoal_topology_kind() tells this value
                                        until then */
} shoal_topology_t;

/**
 * What the addresses of the options lead to.
 *
 * With SHOAL_TOPOLOGY_AUTO the client reads it from the greeting of the first server that
 * answers (`mode` of HELLO, or of INFO if the server knows no HELLO), once. From then on it is
 * a client of a cluster, or of one server. Until then commands wait. What a cluster refuses
 * when it is submitted (SHOAL_ECROSSSLOT, SHOAL_EREFUSED) is accepted until then, and has this
 * status as its result, not executed, if there is a cluster. A `route` can name only the nodes
 * of the options until then. A sentinel is not taken: the attempt to connect fails, and says
 * why. Options that a client of a cluster must not have are refused when it is opened.
 * A client of one server has connected twice: over the first connection it has learned what the
 * server is, and sent nothing else. The SHOAL_EVENT_READY of that one says so.
 *
 * @param options  to be changed
 * @param topology SHOAL_TOPOLOGY_STANDALONE (the default), SHOAL_TOPOLOGY_CLUSTER or
 *                 SHOAL_TOPOLOGY_AUTO
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or not such a value
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_topology(shoal_options_t *options,
                                            shoal_topology_t topology);

/**
 * Another address for one that nodes of a cluster name, in views and redirects: the nodes are
 * behind a NAT or in containers, and announce what the program cannot reach. Call it once for
 * each address.
 *
 * The library applies the map before anything else. Names are compared letter by letter with
 * what the nodes say. The trust that a server needs to name an address is the program's own
 * then. The addresses of the options are not mapped.
 *
 * @param options to be changed
 * @param host    as the nodes name it: an address, or a name
 * @param port    1 .. 65535, or 0: every port of this host that no other call names
 * @param to_host where it is instead
 * @param to_port 1 .. 65535, or 0: the same port
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options, host or to_host is NULL or empty, a port is out of range, or
 *                       there are 4096 addresses already
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_map_address(shoal_options_t *options, const char *host,
                                           int port, const char *to_host, int to_port);

/**
 * How many connections a client of a cluster has at most: those to nodes, and leased ones
 * (shoal/lease.h; of these at most 64). Default: 512.
 *
 * The primaries come first. A place is kept for each primary that owns slots and is not connected.
 * If places are missing, leased connections that are idle are closed, and those to replicas;
 * leases and blocking commands that have no connection wait in line for one. While a primary has no
 * place all the same, its commands wait, SHOAL_EVENT_NODE_DOWN tells that, and timeouts name this
 * option. So it is to be larger than the number of primaries by as many leases as the program
 * needs at the same time.
 *
 * A connection that is being renewed counts once. A client of one server ignores the option: it has
 * one connection, or those of shoal_options_set_connections(), a bulk lane, one for each replica,
 * and 64 leased ones. In a URL: connections_max=100.
 *
 * @param options         to be changed
 * @param connections_max 1 .. 4096
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or out of range
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_connections_max(shoal_options_t *options,
                                                   unsigned connections_max);

#ifdef __cplusplus
}
#endif

#endif
