/* SPDX-License-Identifier: MIT */
#include "route/cluster/node.h"

#include "base/alloc.h"
#include <stdio.h>

/* So long it may be silent: a primary that the others do not take for dead says nothing while
 * its replica takes its place as planned. */
#define FAILED_US 1000000
#define SILENT_US 3000000

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
    if (shoal__conn_init(&node->conn, &conn_plan) < 0) {
        shoal__free(node);
        return NULL;
    }
    node->watch = (shoal__role_watch_t){
        .conn = &node->conn, .says_readonly = true, .zone = plan->zone};
    return node;
}

void shoal__node_free(shoal__node_t *node)
{
    shoal__conn_release(&node->conn);
    shoal__free(node);
}

uint64_t shoal__node_given_up_us(const shoal__node_t *node)
{
    return shoal__time_after(shoal__node_heard_us(node),
                             node->has_failed ? FAILED_US : SILENT_US);
}
