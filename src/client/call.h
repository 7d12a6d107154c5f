/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_CALL_H
#define SHOAL_CLIENT_CALL_H

/* Blocking calls: a thread waits for the result of one command, or for the connection. */

#include <shoal/pending.h>
#include <stdint.h>

/* Submit, and wait until until_us.  0 and a result; SHOAL_EAGAIN and a pending call; or why
 * the command was refused. */
int shoal__call_begin(shoal_client_t *client, const shoal_command_t *command,
                      const shoal_call_t *call, uint64_t until_us,
                      shoal_pending_t **ret_pending, shoal_result_t **ret_result);

/* Wait on, until until_us.  0 or SHOAL_EAGAIN. */
int shoal__call_wait(shoal_pending_t *pending, uint64_t until_us,
                     shoal_result_t **ret_result);
/* Cancel the command, and wait for its result, which says what became of it. */
int shoal__call_give_up(shoal_pending_t *pending, shoal_result_t **ret_result);

/* The client of a pending call. */
shoal_client_t *shoal__call_client(const shoal_pending_t *pending);

/* Wait until the client is ready.  0, SHOAL_ETIMEOUT, SHOAL_ECLOSED, SHOAL_EAUTH or
 * SHOAL_ETLS. */
int shoal__call_wait_ready(shoal_client_t *client, uint64_t until_us);

#endif
