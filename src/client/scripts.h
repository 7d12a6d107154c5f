/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_SCRIPTS_H
#define SHOAL_CLIENT_SCRIPTS_H

/*
 * The scripts of a client: any thread registers them, under the client's lock; the loop
 * thread has a list of its own, which its connections read.
 */

#include "core/scripts.h"
#include <shoal/options.h>

/* Any thread.  The reference is the caller's, to be given back by _drop().  0, SHOAL_ENOMEM or
 * SHOAL_EFULL. */
int shoal__client_add_script(shoal_client_t *client, shoal__bytes_t text,
                             shoal__script_t **ret_script);
void shoal__client_drop_script(shoal_client_t *client, shoal__script_t *script);

/* Loop thread, before the route's turn: take over what was registered. */
void shoal__client_take_scripts(shoal_client_t *client);

#endif
