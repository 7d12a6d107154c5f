/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LOOPBACK_PORT_H
#define SHOAL_TESTS_LOOPBACK_PORT_H

/* Ports for servers of tests that run at the same time.  A server may be down for a while,
 * and its client tries again meanwhile: until the port is released no other test's server
 * gets it, and no connection, since it is below the ports that the system gives to those.
 *
 * The claim is a name in the abstract namespace of Unix sockets, which the kernel takes
 * back when the process ends; bindings/python/tests/support/server.py uses the same. */

typedef struct loopback_port {
    int number; /* 0: none is claimed */
    int claim;  /* a descriptor */
} loopback_port_t;

/* Claim a port that is free. */
loopback_port_t loopback_port_claim(void);
/* Give the port back.  Does nothing if none is claimed. */
void loopback_port_release(loopback_port_t *port);

#endif
