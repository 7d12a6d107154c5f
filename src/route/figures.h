/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_FIGURES_H
#define SHOAL_ROUTE_FIGURES_H

/* One connection's counters, as shoal_stats_t has them.  Fields that are the client's alone
 * stay untouched.  Any thread. */

#include "net/conn.h"
#include <shoal/stats.h>

void shoal__figures_read(const shoal__conn_t *conn, shoal_stats_t *to);

/* Those that all connections of a set have together: the latencies. */
void shoal__figures_read_shared(const shoal__conn_set_t *set, shoal_stats_t *to);

#endif
