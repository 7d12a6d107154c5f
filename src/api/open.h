/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_API_OPEN_H
#define SHOAL_API_OPEN_H

/* What all public functions that open a client have in common: the checks, and the reason
 * of a failure. */

#include "client/life.h"
#include <shoal/client.h>
#include <shoal/pubsub.h>

/* What is wrong with options that are set, each of which is right alone; NULL: nothing. */
const char *shoal__find_contradiction(const shoal_options_t *options);

int shoal__open(const shoal__client_plan_t *plan, const shoal_options_t *options,
                shoal_client_t **ret_client, shoal_error_t *ret_error);

/* The same for a pubsub; `uv`: for SHOAL__DRIVE_CALLER. */
int shoal__open_pubsub(shoal__drive_t drive, uv_loop_t *uv,
                       const shoal_options_t *options, shoal_pubsub_t **ret_pubsub,
                       shoal_error_t *ret_error);

#endif
