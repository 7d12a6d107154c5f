/* SPDX-License-Identifier: MIT */
#include "route/cluster/nodes.h"

#include "base/random.h"
#include "core/lease_pool.h"
#include "route/figures.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* Behind the connections to nodes, and those of leases. */
#define FIRST_BULK_ID (SHOAL__NODES_MAX + SHOAL__LEASE_CONNECTIONS_MAX + 1)

int shoal__nodes_init(shoal__nodes_t *nodes, const shoal__node_plan_t *plan)
{
    nodes->plan = *plan;
    return pthread_mutex_init(&nodes->lock, NULL) == 0 ? 0 : SHOAL_ENOMEM;
}

/* ---- addresses ---- */

static bool is_at(const shoal__node_t *node, const char *host, int port)
{
    return node->endpoint.port == port && strcmp(node->host, host) == 0;
}

static bool is_listed_at(const shoal__node_t *node, const char *host, int port)
{
    return node->is_listed && is_at(node, host, port);
}

static bool has_alias(const shoal__node_t *node, const char *host, int port)
{
    for (unsigned i = 0; i < SHOAL__NODE_ALIASES; i++)
        if (node->aliases[i].port == port && strcmp(node->aliases[i].host, host) == 0)
            return true;
    return false;
}

static void add_alias(shoal__node_t *node, const char *host, int port)
{
    shoal__node_alias_t *alias = &node->aliases[node->next_alias];

    if (is_at(node, host, port) || has_alias(node, host, port))
        return;
    node->next_alias = (node->next_alias + 1) % SHOAL__NODE_ALIASES;
    alias->port = port;
    snprintf(alias->host, sizeof alias->host, "%s", host);
}

/* NULL: none. */
static shoal__node_t *
find_known(const shoal__nodes_t *nodes, const char *host, int port,
           bool (*fits)(const shoal__node_t *node, const char *host, int port))
{
    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++)
        if (!shoal__nodes_at(nodes, i)->is_forgotten &&
            fits(shoal__nodes_at(nodes, i), host, port))
            return shoal__nodes_at(nodes, i);
    return NULL;
}

/* One that was forgotten; NULL: there is none. */
static shoal__node_t *renew(shoal__nodes_t *nodes, const char *host, int port,
                            const shoal__address_t *by)
{
    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++) {
        shoal__node_t *node = shoal__nodes_at(nodes, i);
        if (!node->is_forgotten)
            continue;
        pthread_mutex_lock(&nodes->lock);
        node->is_forgotten = false;
        nodes->known++;
        shoal__node_renew(node, &nodes->plan, host, port, by);
        pthread_mutex_unlock(&nodes->lock);
        return node;
    }
    return NULL;
}

void shoal__nodes_forget(shoal__nodes_t *nodes, shoal__node_t *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->is_forgotten = true;
    node->id[0] = '\0';
    nodes->known--;
    pthread_mutex_unlock(&nodes->lock);
}

void shoal__nodes_lock(shoal__nodes_t *nodes)
{
    pthread_mutex_lock(&nodes->lock);
}

void shoal__nodes_unlock(shoal__nodes_t *nodes)
{
    pthread_mutex_unlock(&nodes->lock);
}

shoal__node_t *shoal__nodes_find(shoal__nodes_t *nodes, const char *host, int port,
                                 const shoal__address_t *by)
{
    unsigned count = shoal__nodes_count(nodes);
    shoal__node_t *node = find_known(nodes, host, port, is_listed_at);

    if (!node)
        node = find_known(nodes, host, port, has_alias);
    if (!node)
        node = find_known(nodes, host, port, is_at);
    if (node)
        return node;
    node = renew(nodes, host, port, by);
    if (node || count == SHOAL__NODES_MAX)
        return node;
    node = shoal__node_new(&nodes->plan, count, host, port, by);
    if (!node)
        return NULL;
    pthread_mutex_lock(&nodes->lock);
    atomic_store_explicit(&nodes->items[count], node, memory_order_relaxed);
    atomic_store_explicit(&nodes->count, count + 1, memory_order_release);
    nodes->known++;
    pthread_mutex_unlock(&nodes->lock);
    return node;
}

/* NULL: the program has another address for it, and vouches for that one. */
static const shoal__address_t *map(const shoal__nodes_t *nodes, const char **host,
                                   int *port, const shoal__node_t *by)
{
    if (shoal__address_map_apply(nodes->plan.map, host, port))
        return NULL;
    return &by->conn.line->reached.address;
}

shoal__node_t *shoal__nodes_named(shoal__nodes_t *nodes, const char *host, int port,
                                  const shoal__node_t *by)
{
    const shoal__address_t *address = map(nodes, &host, &port, by);

    return shoal__nodes_find(nodes, host, port, address);
}

/* Is it connected at its address, or will be soon? */
static bool is_there(const shoal__node_t *node)
{
    return node->is_sure && node->conn.pipe.attempts_failed == 0 &&
           (shoal__node_is_open(node) || node->slots > 0);
}

static shoal__node_t *identify(shoal__nodes_t *nodes, const shoal__slots_node_t *named,
                               const shoal__node_t *by)
{
    shoal__node_t *node = shoal__nodes_with_id(nodes, named->id);
    const char *host = named->host[0] ? named->host : by->host;
    int port = named->port;
    const shoal__address_t *address = map(nodes, &host, &port, by);

    if (node && !is_at(node, host, port)) {
        if (is_there(node)) {
            add_alias(node, host, port);
            return node;
        }
        memset(node->aliases, 0, sizeof node->aliases);
    }
    return shoal__nodes_find(nodes, host, port, address);
}

/* The address that is told beside a name is an alias. */
shoal__node_t *shoal__nodes_identify(shoal__nodes_t *nodes,
                                     const shoal__slots_node_t *named,
                                     const shoal__node_t *by)
{
    shoal__node_t *node = identify(nodes, named, by);
    const char *host = named->ip;
    int port = named->port;

    (void)map(nodes, &host, &port, by);
    if (node && named->ip[0])
        add_alias(node, host, port);
    return node;
}

void shoal__nodes_set_hostname(shoal__node_t *node, const char *hostname)
{
    if (!hostname[0] || strcmp(hostname, node->host) == 0)
        return;
    snprintf(node->hostname, sizeof node->hostname, "%s", hostname);
    node->endpoint.tls_name = node->hostname;
    add_alias(node, hostname, node->endpoint.port);
}

/* ---- ids ---- */

shoal__node_t *shoal__nodes_with_id(const shoal__nodes_t *nodes, const char *id)
{
    shoal__node_t *found = NULL;

    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++) {
        shoal__node_t *node = shoal__nodes_at(nodes, i);
        if (strcmp(node->id, id) == 0 && (!found || node->is_listed))
            found = node;
    }
    return found;
}

static bool is_fit(const shoal__node_t *node, const shoal__node_t *not_this,
                   bool must_own, bool is_question)
{
    return node != not_this && shoal__node_is_ready(node) && !node->is_silent &&
           (!must_own || node->slots > 0) && (!is_question || node->questions == 0);
}

static shoal__node_t *pick_fit(const shoal__nodes_t *nodes,
                               const shoal__node_t *not_this, bool must_own,
                               bool is_question, shoal__random_t *random)
{
    shoal__node_t *picked = NULL;
    unsigned fit = 0;

    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++) {
        shoal__node_t *node = shoal__nodes_at(nodes, i);
        if (is_fit(node, not_this, must_own, is_question) &&
            shoal__random_below(random, ++fit) == 0)
            picked = node;
    }
    return picked;
}

shoal__node_t *shoal__nodes_pick(const shoal__nodes_t *nodes,
                                 const shoal__node_t *not_this, bool is_question,
                                 shoal__random_t *random)
{
    shoal__node_t *node = pick_fit(nodes, not_this, true, is_question, random);

    return node ? node : pick_fit(nodes, not_this, false, is_question, random);
}

shoal__bulk_t *shoal__nodes_make_bulk(shoal__nodes_t *nodes, shoal__node_t *node)
{
    const shoal__conn_plan_t plan = {.config = nodes->plan.bulk_config,
                                     .target = &node->target,
                                     .set = nodes->plan.set,
                                     .id = FIRST_BULK_ID + node->index,
                                     .hooks = nodes->plan.bulk_hooks,
                                     .owner = node};
    shoal__bulk_t *bulk = shoal__bulk_new(&plan);

    if (!bulk)
        return NULL;
    pthread_mutex_lock(&nodes->lock);
    atomic_store_explicit(&node->bulk, bulk, memory_order_relaxed);
    pthread_mutex_unlock(&nodes->lock);
    return bulk;
}

void shoal__nodes_each(const shoal__nodes_t *nodes, shoal__route_visit_fn visit,
                       void *data)
{
    unsigned count = 2 * shoal__nodes_count(nodes);
    shoal__route_member_t member;

    for (unsigned i = 0; i < count; i++) {
        const shoal__conn_t *conn = shoal__nodes_conn(nodes, i);
        if (!conn)
            continue;
        shoal__figures_read(conn, &member);
        visit(data, &member);
    }
}

uint64_t shoal__nodes_bulk_commands(const shoal__nodes_t *nodes)
{
    uint64_t commands = 0;

    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++) {
        const shoal__bulk_t *bulk = shoal__node_bulk(shoal__nodes_at(nodes, i));
        if (bulk)
            commands += shoal__counter_get(&bulk->conn.pipe.stats.completed);
    }
    return commands;
}

void shoal__nodes_list(shoal__nodes_t *nodes, shoal__node_t *node, const char *id)
{
    pthread_mutex_lock(&nodes->lock);
    node->is_listed = id != NULL;
    if (id) {
        node->is_sure = true;
        snprintf(node->id, sizeof node->id, "%s", id);
    }
    pthread_mutex_unlock(&nodes->lock);
}

void shoal__nodes_set_role(shoal__nodes_t *nodes, shoal__node_t *node,
                           shoal_node_role_t role, unsigned primary)
{
    pthread_mutex_lock(&nodes->lock);
    node->role = role;
    node->primary = primary;
    pthread_mutex_unlock(&nodes->lock);
}

/* `places`: of the nodes in the snapshot. */
static int describe_node(const shoal__node_t *node, const uint16_t *places,
                         shoal_topology_snapshot_t *snapshot)
{
    shoal__snapshot_node_t item = shoal__figures_server(&node->conn);

    item.name = node->name;
    item.id = node->id;
    item.role = node->role;
    if (node->primary != SHOAL__SLOT_NOBODY)
        item.primary = places[node->primary];
    item.is_listed = node->is_listed;
    item.is_down = node->is_down;
    return shoal__snapshot_add(snapshot, &item);
}

int shoal__nodes_describe(shoal__nodes_t *nodes, const shoal__slot_map_t *map,
                          shoal_topology_snapshot_t *snapshot)
{
    uint16_t places[SHOAL__NODES_MAX];
    unsigned known = 0;
    int rc = 0;

    pthread_mutex_lock(&nodes->lock);
    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++) {
        places[i] = (uint16_t)known;
        known += !shoal__nodes_at(nodes, i)->is_forgotten;
    }
    for (unsigned i = 0; i < shoal__nodes_count(nodes) && rc == 0; i++)
        if (!shoal__nodes_at(nodes, i)->is_forgotten)
            rc = describe_node(shoal__nodes_at(nodes, i), places, snapshot);
    for (unsigned slot = 0; slot < SHOAL__SLOTS && rc == 0; slot++) {
        unsigned owner = shoal__slot_map_owner(map, slot);
        if (owner != SHOAL__SLOT_NOBODY)
            shoal__snapshot_own(snapshot, slot, places[owner]);
    }
    pthread_mutex_unlock(&nodes->lock);
    return rc;
}

void shoal__nodes_release(shoal__nodes_t *nodes)
{
    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++)
        shoal__node_free(shoal__nodes_at(nodes, i));
    pthread_mutex_destroy(&nodes->lock);
}
