/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_LINK_H
#define SHOAL_TOOLS_FAULT_LINK_H

/*
 * One connection through a proxy: two sockets, and for each way what is held and what
 * happens to it.  It asks the epoll set for what it can use now and enters in the agenda
 * when something is due; it waits for nothing.  Not thread-safe.
 */

#include "fault_proxy/fake_tls.h"
#include "fault_proxy/fault_agenda.h"
#include "fault_proxy/fault_harm.h"
#include "fault_proxy/fault_line.h"
#include "fault_proxy/fault_pace.h"

typedef struct fault_link fault_link_t;

/* What the connections of one proxy share. */
typedef struct fault_hub {
    int epoll;
    uint64_t seed;
    size_t held_bytes_max; /* of one way of one connection */
    bool finds_replies;    /* whole replies may be harmed */
    fake_tls_t *tls;       /* clients speak TLS; NULL: bytes pass as they are */
    fault_carriage_t ways[2];
    fault_agenda_t agenda; /* its owners are flows */
    fault_proxy_counts_t counts;
    fake_bytes_t came, plain, harmed; /* for one read */
    fault_link_t *closed;             /* to be freed by the owner */
} fault_hub_t;

/* One way. */
typedef struct fault_flow {
    fault_agenda_entry_t due;
    fault_link_t *link;
    fault_way_t way;
    fault_line_t line;
    fault_pace_t pace;
    fault_harm_t harm;
    uint64_t carried; /* bytes */
    uint64_t cut_at;  /* end when so many are; UINT64_MAX: never */
    fault_end_t cut_how;
    bool is_read_out;  /* its sender sends no more ... */
    bool is_reset;     /* ... because it is gone */
    bool is_discarded; /* what is read goes nowhere */
    bool is_over;      /* its receiver is told that no more comes */
} fault_flow_t;

/* One socket: the sender of the flow `way`, the receiver of the other. */
typedef struct fault_side {
    fault_link_t *link;
    fault_way_t way;
    int fd;
    uint32_t events; /* that are asked for; 0: it is not in the epoll set */
} fault_side_t;

struct fault_link {
    fault_hub_t *hub;
    unsigned number; /* from 1 */
    fault_side_t sides[2];
    fault_flow_t flows[2];
    fake_tls_session_t *tls; /* with the client; NULL: none */
    bool is_ended; /* both ways are over; it only waits for its peers to leave */
    bool is_closed;
    fault_link_t *next_closed;
    fault_link_t *next, *previous; /* for the owner */
};

/* Takes both sockets over, which do not block. */
fault_link_t *fault_link_new(fault_hub_t *hub, unsigned number, int client, int server);
/* Closes it first. */
void fault_link_free(fault_link_t *link);

/* Read and write what the events of one side allow. */
void fault_link_serve(fault_side_t *side, uint32_t events);
/* Let those bytes of a flow leave that are due. */
void fault_link_release(fault_flow_t *flow, uint64_t now_ns);
/* The carriage of a way is a new one. */
void fault_link_retune(fault_link_t *link, fault_way_t way);

void fault_link_cut(fault_link_t *link, fault_way_t way, fault_end_t how);
void fault_link_cut_after(fault_link_t *link, fault_way_t way, uint64_t bytes,
                          fault_end_t how);
void fault_link_inject(fault_link_t *link, fault_way_t way, const char *data,
                       size_t bytes);

#endif
