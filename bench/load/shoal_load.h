/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_SHOAL_LOAD_H
#define SHOAL_BENCH_LOAD_SHOAL_LOAD_H

/* What all loads that use the library share. */

#define SHOAL_LOAD_DRAIN_US 1000000u

#include "load/run.h"

#include <shoal/shoal.h>

/* Options for the strategy and the server of `run`.  Returns NULL after run_fail(). */
shoal_options_t *shoal_load_options(run_t *run);

/* A client on its own thread, connected.  Returns NULL after run_fail(). */
shoal_client_t *shoal_load_open(run_t *run);

/* As many clients as there are connections, each on its own thread, connected. */
typedef struct shoal_clients {
    shoal_client_t **clients;
    size_t count;
} shoal_clients_t;

/* Returns -1 after run_fail(); shoal_load_close_all() is needed in either case. */
int shoal_load_open_all(run_t *run, shoal_clients_t *clients);
void shoal_load_close_all(shoal_clients_t *clients);

/* Adds the client's counters; nothing for a NULL client. */
void shoal_load_add(shoal_client_t *client, load_counters_t *counters);

/* The sum of the counters of all. */
void shoal_load_count_all(const shoal_clients_t *clients,
                          load_counters_t *ret_counters);

/* Submits a command; a client that closes is no failure. */
static inline void shoal_load_submit(run_t *run, shoal_client_t *client,
                                     const command_t *command,
                                     shoal_result_cb on_result, void *data)
{
    int rc = shoal_client_submit(client, command->argc, command->argv, command->argvlen,
                                 on_result, data, NULL);
    if (rc != 0 && rc != SHOAL_ECLOSED)
        run_fail(run, "%s", shoal_strerror(rc));
}

/* When the element that the result brings was pushed; 0 if it brings none. */
uint64_t shoal_load_pushed_ns(const shoal_result_t *result);

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
