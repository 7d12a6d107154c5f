/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_SHOAL_LOAD_H
#define SHOAL_BENCH_SHOAL_LOAD_H

/* What all loads that use the library share. */

#include "run.h"

#include <shoal/shoal.h>

/* Options for the strategy and the server of `run`.  Returns NULL after run_fail(). */
shoal_options_t *shoal_load_options(run_t *run);

/* A client on its own thread, connected.  Returns NULL after run_fail(). */
shoal_client_t *shoal_load_open(run_t *run);

/* The client's counters; nothing for a NULL client. */
void shoal_load_count(shoal_client_t *client, load_counters_t *ret_counters);

/* Notes what is wrong with a result. */
void shoal_load_check_slowly(run_t *run, const command_t *command,
                             const shoal_result_t *result, const shoal_reply_t *reply);

static inline void shoal_load_check(run_t *run, const command_t *command,
                                    const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    if (!reply || run->workload->is_verified ||
        shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        shoal_load_check_slowly(run, command, result, reply);
}

#endif
