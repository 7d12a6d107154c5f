/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_RIG_H
#define SHOAL_TESTS_CLUSTER_RIG_H

/* A cluster of three primaries with a replica each: real servers on loopback ports, which end
 * with the test, however it ends.  A node that is silent for 1.5 s is taken for dead.
 *
 * The rig itself asks the servers without TLS and past the proxies. */

#include "cluster_nodes/cluster_nodes.h"
#include "fault_proxy/fault_proxy.h"
#include "support/loopback_port.h"
#include "support/redis_process.h"
#include <shoal/shoal.h>
#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_PRIMARIES 3
#define CLUSTER_NODES 6
#define CLUSTER_NODES_MAX 8  /* with those that are added */
#define CLUSTER_KEYS_MAX 100 /* that move at once; of up to 36 bytes */

/* All zero: a plain cluster. */
typedef struct cluster_plan {
    const fake_tls_config_t *tls; /* between all but the rig and them; NULL: none */
    const char *ca_file;          /* by which they know each other; with tls */
    bool has_proxies; /* clients and replicas reach each node by a proxy of its own */
    const char
        *address; /* another one of this machine, by which nodes call each other, and
                            clients reach them; with proxies: instead of which clients are
                            told by their options to use the proxies; NULL: 127.0.0.1 */
    const char
        *hostname;     /* of all nodes; with tls clients find the first one by it; NULL:
                             they have none */
    bool serves_parts; /* while some slots have no owner, nodes serve the others */
    bool is_patient;   /* no node is taken for dead, however busy the machine is */
    /* A replica takes over only if it is told to, or if cluster_rig_let_take_over() allows it. */
    bool keeps_roles;
} cluster_plan_t;

typedef struct cluster_node {
    redis_process_t *server;
    fault_proxy_t *proxy; /* NULL: none */
    loopback_port_t bus;
    char bus_text[12], port_text[12], proxy_text[12], bind_text[64];
    char id[CLUSTER_ID_BYTES];
    const char *arguments[CLUSTER_NODE_OPTIONS];
} cluster_node_t;

typedef struct cluster_rig {
    cluster_plan_t plan;
    cluster_node_t
        nodes[CLUSTER_NODES_MAX]; /* the primaries first, node i + 3 a replica of i */
    size_t count;
} cluster_rig_t;

/* Start them, and wait until all nodes agree.  NULL: there is no redis-server to start. */
cluster_rig_t *cluster_rig_start(void);
cluster_rig_t *cluster_rig_start_patient(void);
cluster_rig_t *cluster_rig_start_as(const cluster_plan_t *plan);
void cluster_rig_stop(cluster_rig_t *rig); /* NULL is allowed */

/* Of the server; and the one that clients are told. */
int cluster_rig_port(const cluster_rig_t *rig, size_t node);
int cluster_rig_client_port(const cluster_rig_t *rig, size_t node);
/* Options of a client that knows this node. */
shoal_options_t *cluster_rig_options(const cluster_rig_t *rig, size_t seed);

/* Which node owns the slot of this key, as `by` says?  CLUSTER_NODES_MAX: it does not say. */
size_t cluster_rig_owner(const cluster_rig_t *rig, size_t by, const char *key);
/* The one that all nodes that run name; waits until they do. */
size_t cluster_rig_agreed_owner(const cluster_rig_t *rig, const char *key);
/* The owner when the rig was started. */
size_t cluster_rig_first_owner(unsigned slot);
/* How often were the nodes that run asked how the slots are divided?  Started again, a node
 * begins at zero. */
uint64_t cluster_rig_questions(const cluster_rig_t *rig);
/* Wait until all nodes that run name this owner. */
void cluster_rig_await_owner(const cluster_rig_t *rig, const char *key, size_t owner);
/* Does this node take itself for a primary? */
bool cluster_rig_is_primary(const cluster_rig_t *rig, size_t node);
/* Wait until all nodes that run take the cluster for whole, and replicas are in touch with
 * their primaries. */
void cluster_rig_await_calm(const cluster_rig_t *rig);

/* The steps of moving a slot by hand: both ends are told, as soon as all nodes that run agree
 * on the epochs (else the one that takes the slot may claim it by an epoch that others know for
 * another node's, and nobody owns it); up to `keys` of its keys go over at
 * once (false: there is none any more); both are told who the owner is, or the move is given
 * up. */
void cluster_rig_begin_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                            size_t to);
bool cluster_rig_move_keys(const cluster_rig_t *rig, unsigned slot, size_t from,
                           size_t to, unsigned keys);
void cluster_rig_end_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                          size_t to, bool is_source_first);
void cluster_rig_cancel_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                             size_t to);
/* All of them, key by key. */
void cluster_rig_move(const cluster_rig_t *rig, unsigned slot, size_t from, size_t to);

/* Another node, which knows no other one yet; returns its number. */
size_t cluster_rig_add(cluster_rig_t *rig);
/* It and the others meet: it owns nothing.  Waits until all know it. */
void cluster_rig_join(cluster_rig_t *rig, size_t node);
/* Wait until all nodes have heard of all others. */
void cluster_rig_await_known(const cluster_rig_t *rig);
/* Kill the last node, which owns nothing; the others forget it. */
void cluster_rig_forget(cluster_rig_t *rig);

/* May the replica take the place of its primary when that is taken for dead?  With keeps_roles
 * it may not. */
void cluster_rig_let_take_over(const cluster_rig_t *rig, size_t replica, bool may_it);
/* After how many milliseconds a silent node is taken for dead, by the nodes that run: "1500". */
void cluster_rig_set_timeout(const cluster_rig_t *rig, const char *ms);

/* The replica takes the place of its primary: "", " FORCE", " TAKEOVER".  Waits until the
 * replica says that it is a primary. */
void cluster_rig_failover(const cluster_rig_t *rig, size_t replica, const char *how);

/* One command to a node; its answer must begin so. */
void cluster_rig_tell(const cluster_rig_t *rig, size_t node, const char *command,
                      const char *answer);

#endif
