/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_FIGURES_H
#define SHOAL_ROUTE_FIGURES_H

/* One connection's state and counters, as other threads see them.  Any thread. */

#include "core/snapshot.h"
#include "net/conn.h"
#include "route/route.h"

void shoal__figures_read(const shoal__conn_t *conn, shoal__route_member_t *ret_member);

/* The connection's server, as far as the connection knows it: name, state and number; it is
 * down while the connection waits to be made again.  The name stays as long as the route. */
shoal__snapshot_node_t shoal__figures_server(const shoal__conn_t *conn);

/* The figures that all connections of a set have together: the latencies. */
void shoal__figures_read_shared(const shoal__conn_set_t *set, shoal_stats_t *to);

/* Add what a pen had and has, which no connection counts, to the figures of all. */
void shoal__figures_add_waiting(const shoal__pipe_t *pen, shoal_stats_t *to);

/* Add what commands in a pen, whose connection this is, have and had. */
void shoal__figures_add_pen(const shoal__pipe_t *pen, shoal__route_member_t *member);

#endif
