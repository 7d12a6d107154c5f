/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_SERVER_DELAY_PROXY_H
#define SHOAL_BENCH_SERVER_DELAY_PROXY_H

/*
 * A process of ours between client and server that holds all bytes for half a round
 * trip in each direction, counted from the moment it read them, and carries them as a
 * link does that is slow or uneven but loses nothing.  It listens like the server does,
 * on a Unix socket in a folder of its own or on a port of 127.0.0.1, and ends with this
 * process, in whatever way that ends.  What it costs counts as neither the client's CPU
 * nor the server's.  Its engine is that of the tests' fault proxy.
 */

#include "fault_proxy/fault_carriage.h"
#include "load/target.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct delay_proxy {
    pid_t pid; /* 0: none */
    uint64_t rtt_us;
    int port; /* 0: none */
    char folder[80];
    char socket_path[100]; /* "": none */
} delay_proxy_t;

/* What a proxy does. */
typedef struct delay_proxy_spec {
    uint64_t rtt_us;
    fault_carriage_t link; /* in each direction, beside the delay */
    uint64_t seed;         /* of the link's jitter */
    uint64_t cpu;          /* or MACHINE_NO_CPU */
} delay_proxy_spec_t;

/* Starts one, before this process has any thread.
 *
 * Returns -1 with a line in `problem`. */
int delay_proxy_start(delay_proxy_t *proxy, const target_t *server,
                      const delay_proxy_spec_t *spec, char *problem,
                      size_t problem_bytes);

/* The address of the proxy in the place of that of `server`, everything else as it is
 * there; valid as long as both are. */
target_t delay_proxy_target(delay_proxy_t *proxy, const target_t *server);

void delay_proxy_stop(delay_proxy_t *proxy);

#endif
