/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CONFIG_H
#define SHOAL_ROUTE_CONFIG_H

/* Reads from a client's options how its connections behave, and which server they lead
 * to. */

#include "core/options.h"
#include "core/target_name.h"
#include "net/conn.h"

/* Borrows the options' texts.  0 or SHOAL_ENOMEM: nothing needs to be released. */
int shoal__config_read(const shoal_options_t *options,
                       shoal__conn_config_t *ret_config);
void shoal__config_release(shoal__conn_config_t *config);

/* The endpoints of a target, and their names. */
typedef struct shoal__endpoint_list {
    shoal__endpoint_t items[SHOAL__ENDPOINTS_MAX];
    char names[SHOAL__ENDPOINTS_MAX][SHOAL__TARGET_NAME_BYTES];
} shoal__endpoint_list_t;

/* The same; the target borrows the list, which is filled in. */
void shoal__target_read(const shoal_options_t *options,
                        shoal__endpoint_list_t *ret_endpoints,
                        shoal__target_t *ret_target);

#endif
