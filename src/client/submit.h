/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_SUBMIT_H
#define SHOAL_CLIENT_SUBMIT_H

/* The one way in for commands: the loop thread puts them straight into the route, any
 * other thread into the mailbox. */

#include "client/plan.h"
#include <shoal/command.h>
#include <stdint.h>

/* Any thread.  0 or a refusal.  If *is_driving is true afterwards, the thread is the
 * loop thread, and shoal__driver_drive() must follow. */
int shoal__client_submit(shoal_client_t *client, const shoal__submission_t *submission,
                         uint64_t *ret_ticket);

/* One command without extras: the same, with each step done once. */
int shoal__client_submit_one(shoal_client_t *client, size_t argc,
                             const char *const *argv, const size_t *argvlen,
                             shoal_result_cb on_result, void *data,
                             uint64_t *ret_ticket);

/* Any thread: give up one command.  0, SHOAL_ENOENT, SHOAL_ECLOSED, SHOAL_EFULL or
 * SHOAL_ENOMEM. */
int shoal__client_cancel(shoal_client_t *client, uint64_t ticket);

#endif
