/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LOOPBACK_PORT_H
#define SHOAL_TESTS_LOOPBACK_PORT_H

/* Ports for servers that may be restarted: below those that the system gives to
 * connections, so that no connection of another test takes the port in between. */

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define LOOPBACK_PORT_FIRST 20000
#define LOOPBACK_PORTS 12000

/* Another port to try; attempts count up from 0. */
static inline int loopback_port(unsigned attempt)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t mixed = (uint64_t)getpid() * 2654435761u + (uint64_t)now.tv_nsec / 64 +
                     (uint64_t)attempt * 7919u;
    return LOOPBACK_PORT_FIRST + (int)(mixed % LOOPBACK_PORTS);
}

#endif
