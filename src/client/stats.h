/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_STATS_H
#define SHOAL_CLIENT_STATS_H

/* The figures of a client: its own, and the sums of its connections' figures.  Any
 * thread may call. */

#include <shoal/stats.h>

void shoal__stats_read(const shoal_client_t *client, shoal_stats_t *ret_stats);

#endif
