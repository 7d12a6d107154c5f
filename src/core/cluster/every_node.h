/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_EVERY_NODE_H
#define SHOAL_CORE_EVERY_NODE_H

/*
 * Commands without a key that concern each node of a cluster, or each primary: the answer of
 * one node is not that of the cluster.
 *
 * Source: the tips request_policy of the commands of Redis 7.0.  PUBSUB lacks them there; of
 * PING, INFO, FUNCTION STATS and what LATENCY tells, one node's answer is of use.
 */

#include <shoal/command.h>
#include <stdbool.h>

bool shoal__concerns_every_node(const shoal_command_t *command);

#endif
