/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_DELAY_RELAY_H
#define SHOAL_BENCH_DELAY_RELAY_H

/* The work of the delay proxy's process. */

#include <stdint.h>
#include <sys/socket.h>

typedef struct delay_relay_spec {
    int listener;
    struct sockaddr_storage server;
    socklen_t server_bytes;
    uint64_t delay_ns; /* in each direction */
} delay_relay_spec_t;

/* Relays until SIGTERM, which must be blocked.  Returns -1 with errno set if it cannot
 * begin. */
int delay_relay_run(const delay_relay_spec_t *spec);

#endif
