/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ROLE_REPLY_H
#define SHOAL_CORE_ROLE_REPLY_H

/* Reads the reply to ROLE: what a server says that it is, and which replicas it has. */

#include "base/bytes.h"
#include "core/role_rule.h"
#include <shoal/reply.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__role_reply {
    shoal__role_t role;
    bool is_linked;                /* of a replica: its link to its primary works */
    const shoal_reply_t *replicas; /* of a primary: borrowed of the reply; else NULL */
} shoal__role_reply_t;

shoal__role_reply_t shoal__role_reply_read(const shoal_reply_t *reply);

/* The longest name of a host, without its NUL. */
#define SHOAL__ROLE_REPLY_HOST_BYTES 255

/* The address of replica i of shoal_reply_count(role.replicas), as the primary knows it.
 * False: it is none that could be dialed. */
bool shoal__role_reply_replica(const shoal__role_reply_t *role, size_t i,
                               shoal__bytes_t *ret_host, int *ret_port);

#endif
