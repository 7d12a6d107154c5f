/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FAN_RULE_H
#define SHOAL_CORE_FAN_RULE_H

/*
 * Which nodes of a cluster get a command without a key, and what is made of their answers.
 *
 * Source: the tips request_policy and response_policy of the commands of Redis 7.0.  PUBSUB
 * lacks them there (redis#13064), and KEYS and SLOWLOG GET the second.  Of PING, INFO, FUNCTION
 * STATS and what LATENCY tells, one node's answer is of use.
 */

#include "base/bytes.h"
#include "core/cluster/gather.h"
#include <shoal/command.h>

typedef struct shoal__fan {
    enum shoal_route route; /* ANY, PRIMARIES or NODES */
    shoal__gather_policy_t policy;
    bool is_refused; /* its caller has to say which node gets it */
} shoal__fan_t;

shoal__fan_t shoal__fan_of(const shoal_command_t *command);
/* The same of an encoded command. */
shoal__fan_t shoal__fan_of_encoded(shoal__bytes_t encoded);

static inline bool shoal__fan_is_wide(const shoal__fan_t *fan)
{
    return fan->route != SHOAL_ROUTE_ANY;
}

#endif
