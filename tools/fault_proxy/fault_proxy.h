/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_PROXY_H
#define SHOAL_TOOLS_FAULT_PROXY_H

/*
 * A proxy on real sockets and a thread of its own, between a client and a server, that
 * does to the bytes what networks and bad servers do.  Everything random comes from one
 * seed.  Every function may be called from any thread, and what it asks for holds for
 * every byte that is read after it returned.
 *
 * A connection is open, and has its number, when the proxy has accepted it, which may be
 * a moment after the client was told so: fault_proxy_counts() says.  A made-up reply of
 * extra_rate has one of several types.  While whole replies may be harmed each is
 * withheld until it has come altogether; one that waits to be exchanged is let go when
 * the carriage changes or its sender ends.  What a way held when it was cut is lost.
 *
 * TLS between the client and a server that speaks it passes as any bytes do: delays, cuts,
 * chunks and harm then meet what is encrypted.  If the proxy speaks TLS itself, its server
 * speaks none, and the proxy does to the plain bytes what it does; a chunk is a record.
 */

#include "fault_proxy/fake_tls.h"
#include "fault_proxy/fault_carriage.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fault_proxy fault_proxy_t;

typedef struct fault_proxy_config {
    const char *server_path; /* Unix socket of the server; NULL: server_port */
    int server_port;         /* on 127.0.0.1 */
    bool is_unix;            /* listen on a Unix socket instead of 127.0.0.1 */
    int buffer_bytes; /* SO_SNDBUF and SO_RCVBUF of both sides; 0: the system's */
    const fake_tls_config_t *tls; /* with clients; NULL: none */
    uint64_t seed;
    fault_carriage_t ways[2]; /* by fault_way_t */
} fault_proxy_config_t;

/* NULL: the system refused something, or the files of TLS are of no use. */
fault_proxy_t *fault_proxy_start(const fault_proxy_config_t *config);
/* Reset every connection and end the thread.  NULL is allowed. */
void fault_proxy_stop(fault_proxy_t *proxy);

int fault_proxy_port(const fault_proxy_t *proxy);         /* 0 on a Unix socket */
const char *fault_proxy_path(const fault_proxy_t *proxy); /* NULL on TCP */

void fault_proxy_carry(fault_proxy_t *proxy, fault_way_t way,
                       const fault_carriage_t *carriage);

/* End every open connection. */
void fault_proxy_cut(fault_proxy_t *proxy, fault_way_t way, fault_end_t how);
/* End connections of number `connection` (from 1; 0: every one to come) when `bytes` have
 * been carried this way on it, and carry none beyond. */
void fault_proxy_cut_after(fault_proxy_t *proxy, unsigned connection, fault_way_t way,
                           uint64_t bytes, fault_end_t how);
/* Put bytes of our own into every open connection. */
void fault_proxy_inject(fault_proxy_t *proxy, fault_way_t way, const char *data,
                        size_t bytes);
/* Accept, and end at once, everything that comes; or listen as usual again. */
void fault_proxy_turn_away(fault_proxy_t *proxy, bool is_turning_away);

/* What has happened so far. */
fault_proxy_counts_t fault_proxy_counts(fault_proxy_t *proxy);

#endif
