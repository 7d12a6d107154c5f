/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_JSON_H
#define SHOAL_PEER_JSON_H

/* Prints one result with the keys that shoal-bench uses. */

#include "peer.h"

typedef struct peer_moment {
    uint64_t at_ns;
    uint64_t cpu_ns; /* of the whole process */
    uint64_t ops;
} peer_moment_t;

void peer_json_print(const peer_t *peer, const peer_moment_t *from,
                     const peer_moment_t *to);

#endif
