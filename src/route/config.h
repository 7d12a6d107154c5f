/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CONFIG_H
#define SHOAL_ROUTE_CONFIG_H

/* Reads from a client's options how its connections behave, and which server they lead
 * to. */

#include "core/options.h"
#include "net/conn.h"

/* Borrows the options' texts. */
void shoal__config_read(const shoal_options_t *options,
                        shoal__conn_config_t *ret_config);

#define SHOAL__TARGET_NAME_BYTES 272 /* a host, brackets, a colon and a port */

/* The same; `name` is where the target's name is written. */
void shoal__target_read(const shoal_options_t *options,
                        char name[SHOAL__TARGET_NAME_BYTES],
                        shoal__target_t *ret_target);

#endif
