/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LANE_H
#define SHOAL_ROUTE_LANE_H

/* One bulk lane: its connection, the pen before it, and the keys whose commands are there.
 * Loop thread. */

#include "base/time_us.h"
#include "core/lane_rule.h"
#include "net/conn.h"
#include "route/route.h"

typedef struct shoal__lane {
    shoal__conn_t conn;
    shoal__pipe_t pen;
    shoal__lane_map_t map;
    shoal__route_hooks_t hooks; /* of the client, and their owner */
    void *owner;
    uint64_t used_us; /* when it last had something to do */
} shoal__lane_t;

/* A lane to the server of an ordinary connection; it is not open.  `config` is borrowed.
 * NULL: no memory. */
shoal__lane_t *shoal__lane_new(const shoal__conn_config_t *config,
                               const shoal__conn_t *ordinary,
                               const shoal__route_hooks_t *hooks, void *owner);
void shoal__lane_free(shoal__lane_t *lane); /* NULL is allowed */

/* NULL is allowed. */
static inline bool shoal__lane_is_open(const shoal__lane_t *lane)
{
    return lane && lane->conn.state != SHOAL__CONN_IDLE &&
           lane->conn.state != SHOAL__CONN_CLOSED;
}

static inline bool shoal__lane_has_pen(const shoal__lane_t *lane)
{
    return shoal__pipe_has_since(&lane->pen, SHOAL__NEVER_US);
}

/* Has its connection nothing? */
static inline bool shoal__lane_is_drained(const shoal__lane_t *lane)
{
    return lane->conn.pipe.ring.head == lane->conn.pipe.ring.tail &&
           shoal__pipe_held(&lane->conn.pipe) == 0;
}

static inline bool shoal__lane_is_empty(const shoal__lane_t *lane)
{
    return !shoal__lane_has_pen(lane) && shoal__lane_is_drained(lane);
}

/* Give back what an empty pen does not need. */
void shoal__lane_rest_pen(shoal__lane_t *lane);

#endif
