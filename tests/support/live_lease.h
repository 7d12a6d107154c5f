/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LIVE_LEASE_H
#define SHOAL_TESTS_LIVE_LEASE_H

/* Leases on the private server of support/live.h.  Commands are texts: blanks separate their
 * words. */

#include "support/live.h"
#include "support/outcome.h"

/* A client of an empty server; and its end, without a command outstanding. */
shoal_client_t *live_lease_begin(void);
void live_lease_end(shoal_client_t *client);

shoal_lease_t *live_lease_open(shoal_client_t *client);

/* Send one command on a lease (NULL: none), and wait for its outcome; with a deadline. */
outcome_t live_lease_ask(shoal_client_t *client, shoal_lease_t *lease,
                         const char *text);
outcome_t live_lease_ask_for(shoal_client_t *client, shoal_lease_t *lease,
                             const char *text, uint64_t timeout_us);
/* The library refuses it at once. */
void live_lease_refuses(shoal_client_t *client, shoal_lease_t *lease, const char *text);
/* Submit it, without a deadline; ret_ticket may be NULL. */
void live_lease_submit(shoal_client_t *client, shoal_lease_t *lease, const char *text,
                       shoal_result_cb on_result, void *data, uint64_t *ret_ticket);

#endif
