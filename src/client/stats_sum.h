/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_STATS_SUM_H
#define SHOAL_CLIENT_STATS_SUM_H

/* Adds the figures of one connection to the sum of other connections. */

#include <shoal/stats.h>

/* Counters, histograms and momentary counts are added.  The flush policies' figures are
 * put together as one policy would have seen them: rates of arrival are added, a time
 * is that of the slowest connection. */
void shoal__stats_sum_add(shoal_stats_t *sum, const shoal_stats_t *stats);

#endif
