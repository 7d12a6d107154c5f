/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_RELAY_H
#define SHOAL_TOOLS_FAULT_RELAY_H

/*
 * The engine of a proxy: accepts connections, dials the server for each, and carries
 * bytes between them as it is told.  It runs wherever its owner calls it: the tests'
 * proxy on a thread, the bench's in a process.
 *
 * One thread calls wait and work in turns.  Everything but wait needs the owner's lock if
 * other threads call, too; what they ask for is done when the call returns.
 */

#include "fault_proxy/fake_tls.h"
#include "fault_proxy/fault_carriage.h"
#include <sys/socket.h>

typedef struct fault_relay fault_relay_t;

typedef struct fault_relay_config {
    int listener; /* stays the owner's */
    int stopper;  /* fault_relay_work() returns false when it is readable */
    struct sockaddr_storage server;
    socklen_t server_bytes;
    int buffer_bytes; /* SO_SNDBUF and SO_RCVBUF of the server's side; 0: the system's */
    size_t held_bytes_max; /* of one way of one connection */
    bool finds_replies;    /* whole replies may be harmed; costs a look at every byte */
    fake_tls_t *tls;       /* with clients; stays the owner's; NULL: none */
    uint64_t seed;
    fault_carriage_t ways[2];
} fault_relay_config_t;

/* NULL with errno set: the system refused something. */
fault_relay_t *fault_relay_new(const fault_relay_config_t *config);
/* Resets every connection.  NULL is allowed. */
void fault_relay_free(fault_relay_t *relay);

/* Wait until there is work. */
void fault_relay_wait(fault_relay_t *relay);
/* Do what the last wait found.  False: it is to stop. */
bool fault_relay_work(fault_relay_t *relay);

/* These are as in fault_proxy.h. */
void fault_relay_carry(fault_relay_t *relay, fault_way_t way,
                       const fault_carriage_t *carriage);
void fault_relay_cut(fault_relay_t *relay, fault_way_t way, fault_end_t how);
void fault_relay_cut_after(fault_relay_t *relay, unsigned connection, fault_way_t way,
                           uint64_t bytes, fault_end_t how);
void fault_relay_inject(fault_relay_t *relay, fault_way_t way, const char *data,
                        size_t bytes);
void fault_relay_turn_away(fault_relay_t *relay, bool is_turning_away);
fault_proxy_counts_t fault_relay_counts(const fault_relay_t *relay);

#endif
