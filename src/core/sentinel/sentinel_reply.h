/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SENTINEL_REPLY_H
#define SHOAL_CORE_SENTINEL_REPLY_H

/*
 * Reads what a sentinel says: its answers to SENTINEL MASTER and SENTINEL SENTINELS, and
 * the message that it publishes when a primary was exchanged.
 *
 * A description is a map, or, in RESP2, a flat array of names and values.  Whatever is not
 * understood is left out: no byte of a sentinel does harm.
 */

#include <shoal/reply.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHOAL__SENTINEL_HOST_BYTES 256 /* with the NUL */
#define SHOAL__SENTINEL_ID_BYTES 48    /* with the NUL */

/* Where a server is. */
typedef struct shoal__sentinel_address {
    char host[SHOAL__SENTINEL_HOST_BYTES]; /* a name, or a numeric address */
    int port;                              /* 1 .. 65535 */
} shoal__sentinel_address_t;

/* What one sentinel believes about the primary. */
typedef struct shoal__sentinel_view {
    shoal__sentinel_address_t address;
    uint64_t epoch; /* the configuration epoch: how many failovers there were */
} shoal__sentinel_view_t;

/* A sentinel, as another one names it. */
typedef struct shoal__sentinel_peer {
    shoal__sentinel_address_t address;
    char id[SHOAL__SENTINEL_ID_BYTES]; /* its SENTINEL MYID; "": not known */
} shoal__sentinel_peer_t;

static inline bool shoal__sentinel_is_same(const shoal__sentinel_address_t *one,
                                           const shoal__sentinel_address_t *other)
{
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

/* The answer to SENTINEL MASTER.  False: it names no address. */
bool shoal__sentinel_read_primary(const shoal_reply_t *reply,
                                  shoal__sentinel_view_t *ret_view);

/* The answer to SENTINEL SENTINELS: up to `peers_max` of those that are up.  Returns how
 * many. */
size_t shoal__sentinel_read_peers(const shoal_reply_t *reply,
                                  shoal__sentinel_peer_t *ret_peers, size_t peers_max);

/* The answer to SENTINEL MYID.  False: it is none. */
bool shoal__sentinel_read_id(const shoal_reply_t *reply,
                             char ret_id[SHOAL__SENTINEL_ID_BYTES]);

/* Does this push say that the primary of exactly this name was exchanged? */
bool shoal__sentinel_tells_of(const shoal_reply_t *push, const char *name);

#endif
