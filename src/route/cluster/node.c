/* SPDX-License-Identifier: MIT */
#include "route/cluster/node.h"

#include "base/alloc.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* So long it may be silent: a primary that the others do not take for dead says nothing while
 * its replica takes its place as planned. */
#define FAILED_US 1000000
#define SILENT_US 3000000

/* What it is called, and where it is. */
static void call(shoal__node_t *node, const shoal__node_plan_t *plan, const char *host,
                 int port, const shoal__address_t *by)
{
    node->primary = node->heir_of = SHOAL__SLOT_NOBODY;
    snprintf(node->host, sizeof node->host, "%s", host);
    shoal__target_name(node->name, host, port);
    node->endpoint =
        (shoal__endpoint_t){.name = node->name, .host = node->host, .port = port};
    if (by) {
        node->by = *by;
        node->endpoint.by = &node->by;
    }
    node->target = (shoal__target_t){.name = node->name,
                                     .endpoints = &node->endpoint,
                                     .endpoints_count = 1,
                                     .secret = plan->origin->secret,
                                     .keeper = plan->origin->keeper,
                                     .is_replica = true};
    node->watch = (shoal__role_watch_t){
        .conn = &node->conn, .says_readonly = true, .zone = plan->zone};
}

shoal__node_t *shoal__node_new(const shoal__node_plan_t *plan, unsigned index,
                               const char *host, int port, const shoal__address_t *by)
{
    shoal__node_t *node = shoal__calloc(1, sizeof *node);
    const shoal__conn_plan_t conn_plan = {.config = plan->config,
                                          .target = node ? &node->target : NULL,
                                          .set = plan->set,
                                          .id = index + 1,
                                          .hooks = plan->hooks,
                                          .owner = node};

    if (!node)
        return NULL;
    node->owner = plan->owner;
    node->index = index;
    call(node, plan, host, port, by);
    if (shoal__conn_init(&node->conn, &conn_plan) < 0) {
        shoal__free(node);
        return NULL;
    }
    return node;
}

void shoal__node_renew(shoal__node_t *node, const shoal__node_plan_t *plan,
                       const char *host, int port, const shoal__address_t *by)
{
    shoal__pipe_t *pipe = &node->conn.pipe;
    shoal__bulk_t *bulk = shoal__node_bulk(node);
    unsigned index = node->index;

    memset(node->host, 0, sizeof *node - offsetof(shoal__node_t, host));
    node->owner = plan->owner;
    node->index = index;
    call(node, plan, host, port, by);
    shoal__conn_lead(&node->conn, &node->target);
    if (bulk) {
        shoal__conn_lead(&bulk->conn, &node->target);
        bulk->again_us = bulk->renew_us = 0;
        bulk->is_wanted = false;
    }
    pipe->attempts_failed = 0;
    pipe->detail[0] = '\0';
}

void shoal__node_free(shoal__node_t *node)
{
    shoal__bulk_free(shoal__node_bulk(node));
    shoal__conn_release(&node->conn);
    shoal__free(node);
}

uint64_t shoal__node_given_up_us(const shoal__node_t *node, const shoal__conn_t *conn)
{
    return shoal__time_after(shoal__node_heard_us(conn),
                             node->has_failed ? FAILED_US : SILENT_US);
}

uint64_t shoal__node_silent_us(const shoal__node_t *node)
{
    const shoal__bulk_t *bulk = shoal__node_bulk(node);
    uint64_t heard_us = shoal__node_heard_us(&node->conn);

    if (bulk)
        heard_us =
            shoal__time_min(heard_us, shoal__time_max(shoal__node_heard_us(&bulk->conn),
                                                      node->conn.pipe.heard_us));
    return shoal__time_after(heard_us, SHOAL__NODE_SILENT_US);
}
