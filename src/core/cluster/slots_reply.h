/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SLOTS_REPLY_H
#define SHOAL_CORE_SLOTS_REPLY_H

/*
 * Reads what a node of a cluster says about the cluster: CLUSTER SLOTS, which has the ranges
 * of slots with their nodes, and CLUSTER NODES, which has the configuration epochs.
 *
 * Addresses, as nodes give them: a host of null or "" is the host that was asked; "?" and the
 * port 0 say that the node does not know; but a node that calls others by name has the address
 * of one without a name ("?") behind it.
 */

#include "base/bytes.h"
#include <shoal/reply.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHOAL__NODE_ID_BYTES 64    /* with the NUL; servers have 40 letters */
#define SHOAL__NODE_HOST_BYTES 256 /* with the NUL */

/* A node, as another one names it. */
typedef struct shoal__slots_node {
    char id[SHOAL__NODE_ID_BYTES];
    char host[SHOAL__NODE_HOST_BYTES];     /* "": the host that was asked */
    char hostname[SHOAL__NODE_HOST_BYTES]; /* its name beside an address; or "" */
    char ip[SHOAL__NODE_HOST_BYTES];       /* its address beside a name; or "" */
    int port; /* 1 .. 65535; 0: where it is, is not known */
} shoal__slots_node_t;

/* Slots first .. last have one primary, the node 0, and replicas behind it. */
typedef struct shoal__slots_range {
    unsigned first, last;
    size_t nodes; /* 1 at least */
} shoal__slots_range_t;

/* Is all of an answer to CLUSTER SLOTS understood, and no slot there twice?  Only then may
 * it be read. */
bool shoal__slots_reply_is_whole(const shoal_reply_t *reply);
/* The range of this number, below shoal_reply_count(reply); and one of its nodes. */
shoal__slots_range_t shoal__slots_reply_range(const shoal_reply_t *reply, size_t range);
void shoal__slots_reply_node(const shoal_reply_t *reply, size_t range, size_t node,
                             shoal__slots_node_t *ret_node);

/* A line of CLUSTER NODES. */
typedef struct shoal__nodes_line {
    char id[SHOAL__NODE_ID_BYTES];
    uint64_t epoch;       /* its configuration epoch; a replica's is its primary's */
    bool is_primary;      /* or a replica */
    bool is_failed;       /* most primaries think so */
    bool is_myself;       /* the node that was asked */
    shoal__bytes_t slots; /* "0-5460 7000 [5461-<-id]": shoal__nodes_slots_next() */
} shoal__nodes_line_t;

/* Some slots of a line: that the node owns, or is being given. */
typedef struct shoal__nodes_slots {
    unsigned first, last;
    bool is_import;      /* one slot of another node, which is being moved here */
    shoal__bytes_t text; /* as the node said it */
} shoal__nodes_slots_t;

/* The next line that is understood is taken from the text.  False: there is none. */
bool shoal__nodes_reply_next(shoal__bytes_t *text, shoal__nodes_line_t *ret_line);
/* The same with the slots of a line.  Slots that are being moved away are left out: the node
 * owns them. */
bool shoal__nodes_slots_next(shoal__bytes_t *slots, shoal__nodes_slots_t *ret_slots);

#endif
