/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_INTAKE_H
#define SHOAL_CLIENT_INTAKE_H

/* Loop thread: take over the commands and cancels that other threads left in the mailbox.
 * A command that finds no memory fails, NOT_EXECUTED. */

#include <shoal/client.h>
#include <stdint.h>

void shoal__intake_run(shoal_client_t *client, uint64_t now_us);

#endif
