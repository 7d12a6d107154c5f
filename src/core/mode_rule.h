/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_MODE_RULE_H
#define SHOAL_CORE_MODE_RULE_H

/* What a server is: the field `mode` of HELLO's answer, or a line of that of INFO; and what that
 * means for a client that takes the server for the only one. */

#include "base/bytes.h"

typedef enum shoal__mode {
    SHOAL__MODE_STANDALONE, /* also if the server does not say */
    SHOAL__MODE_CLUSTER,    /* a node of a cluster */
    SHOAL__MODE_SENTINEL
} shoal__mode_t;

shoal__mode_t shoal__mode_read(shoal__bytes_t word);

/* From the answer to INFO server (redis_mode, or server_mode); `otherwise`: it does not say. */
shoal__mode_t shoal__mode_read_info(shoal__bytes_t info, shoal__mode_t otherwise);

/* Behind the name of the server: what it is, and what its client should be; NULL: all is
 * well. */
const char *shoal__mode_advice(shoal__mode_t mode);

#endif
