/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_SCRIPT_H
#define SHOAL_TESTS_CLUSTER_SCRIPT_H

/* What scripted nodes say of their cluster: the answers to CLUSTER SLOTS and CLUSTER NODES. */

#include "support/fake/fake_server.h"

/* One node, as a node names it. */
typedef struct script_node {
    const char *id;
    const char *host; /* NULL: 127.0.0.1; "": null */
    int port;
    const char *hostname, *ip; /* of the metadata; NULL: none */
    const char *primary;       /* the id of its primary; NULL: it is one itself */
    unsigned first, last;      /* of a primary: its slots; last < first: none */
    unsigned long long epoch;  /* of its configuration */
    bool is_myself;
} script_node_t;

#define SCRIPT_NO_SLOTS .first = 1, .last = 0

/* From now on the server says this.  Returns the number of the rule for CLUSTER SLOTS.  A
 * further call takes the place of the former one, and of all other rules. */
size_t script_say(fake_server_t *server, const script_node_t *nodes, size_t count);
/* The same, each time so much later. */
size_t script_say_late(fake_server_t *server, const script_node_t *nodes, size_t count,
                       uint64_t delay_us);
/* The texts are freed.  The servers are gone. */
void script_forget(void);

/* "-MOVED 12182 127.0.0.1:port\r\n", or with ASK. */
const char *script_redirect(const char *word, unsigned slot, int port);

#endif
