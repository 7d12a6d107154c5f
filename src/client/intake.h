/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_INTAKE_H
#define SHOAL_CLIENT_INTAKE_H

/* The loop thread takes over the commands and cancels that other threads left in the
 * mailbox.  A thread in a blocking call takes commands of plain calls only: if there is
 * anything else, all is left to the background thread.  A command for which there is no
 * memory fails with the fate NOT_EXECUTED. */

#include <shoal/client.h>
#include <stdint.h>

void shoal__intake_run(shoal_client_t *client, uint64_t now_us);

#endif
