/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_API_OPEN_H
#define SHOAL_API_OPEN_H

/* What all public functions that open a client have in common: the checks, and the reason
 * of a failure. */

#include "client/life.h"
#include <shoal/client.h>

int shoal__open(const shoal__client_plan_t *plan, const shoal_options_t *options,
                shoal_client_t **ret_client, shoal_error_t *ret_error);

#endif
