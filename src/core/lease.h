/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_LEASE_H
#define SHOAL_CORE_LEASE_H

/* The struct behind shoal_lease_t: one holder of a connection, or one that waits for it.
 * A command that blocks on the server has a lease of its own, which nobody sees. */

#include "core/request_list.h"
#include <stdatomic.h>

typedef enum shoal__lease_end {
    SHOAL__LEASE_GOES_ON,
    SHOAL__LEASE_LOST,  /* its connection was lost, with the state in it */
    SHOAL__LEASE_SPENT, /* MONITOR was its last command */
    SHOAL__LEASE_GAP, /* a command was given up before it was sent, and those behind it
                           rely on it; those ahead of it go on */
} shoal__lease_end_t;

#define SHOAL__LEASE_GAP_TEXT                                                          \
    "the lease is broken: a command that changes its connection was given up before "  \
    "it was sent"

struct shoal_lease {
    shoal_client_t *client; /* with a reference; NULL: made for one blocking command */
    _Atomic bool was_used;  /* a command was accepted: the loop may know the lease */
    shoal_lease_t *next;    /* in the mailbox: closed too */

    /* Loop thread only. */
    shoal__list_t node;          /* in a line; or alone */
    shoal__request_list_t queue; /* commands that no connection has yet, in order; those
                                    that are GONE stand behind a gap, and will fail */
    struct shoal__link *link;    /* the connection; NULL: none */
    size_t outstanding; /* commands that the connection has, without a result */
    bool is_closed;     /* the holder is gone: it ends with its last result */
    unsigned slot;      /* of its keys; SHOAL__SLOT_NONE: it has named no key yet */

    /* Of one blocking command, when servers refuse it. */
    bool is_leaving; /* it goes over another connection */
    void *named;     /* the server that was named, of the route; NULL: none was */
    uint64_t named_until_us; /* it is believed no longer */
    bool is_asked;           /* it takes the command if ASKING comes before */
    unsigned hops, refusals; /* how often a server was named, and none was */
    uint64_t again_us;       /* the command waits until then */
    shoal__lease_end_t end;  /* why it takes no more commands; LEASE_GOES_ON: it does */
    shoal__request_t
        monitor; /* MONITOR, while its lines come; on_result NULL: none do */
};

#endif
