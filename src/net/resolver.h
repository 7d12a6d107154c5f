/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_RESOLVER_H
#define SHOAL_NET_RESOLVER_H

/*
 * Host name -> addresses.  A name is looked up by getaddrinfo() on a thread that
 * belongs to the look-up alone, so that a slow name server delays no other work, not
 * even a close.  Numeric addresses and socket paths need no look-up.
 */

#include "core/address.h"
#include <uv.h>

typedef struct shoal__lookup shoal__lookup_t;

/* `error` is NULL, or why there are no addresses; valid during the call. */
typedef void (*shoal__lookup_cb)(void *owner, const shoal__addresses_t *addresses,
                                 const char *error);

/* A numeric address: true and the address.  Else false. */
bool shoal__resolver_numeric(const char *host, int port,
                             shoal__addresses_t *ret_addresses);

/* A socket path of fitting length. */
void shoal__resolver_unix(const char *path, shoal__addresses_t *ret_addresses);

/* Begin to look up.  NULL if there is no memory, thread or descriptor.  on_found runs
 * once from the loop, unless abandoned; the look-up is gone afterwards. */
shoal__lookup_t *shoal__resolver_lookup(uv_loop_t *loop, const char *host, int port,
                                        shoal__lookup_cb on_found, void *owner);

/* In the child of a fork, where its thread is not: close the descriptor only.  NULL is
 * allowed. */
void shoal__resolver_forget(shoal__lookup_t *lookup);

/* Nobody wants the answer any more.  NULL is allowed. */
void shoal__resolver_abandon(shoal__lookup_t *lookup);

#endif
