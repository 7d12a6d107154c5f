/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_TRUST_RULE_H
#define SHOAL_CORE_TRUST_RULE_H

/*
 * May a server that another server named be connected to?  Whoever can make a server say a
 * name (a command of another tenant, a damaged server) must not lead the client, and its
 * credentials, to what only this machine reaches: its own services (loopback), or those of
 * the cloud (link-local, metadata).  Such addresses are permitted only if the server that
 * named them has an address of the same kind.
 *
 * The rule judges addresses, after the name was looked up.  A connection with TLS stays one:
 * the setting is the client's.
 */

#include "core/address.h"

typedef enum shoal__trust_range {
    SHOAL__RANGE_ORDINARY, /* zero */
    SHOAL__RANGE_PRIVATE, /* of a network of its owner's: it may be named like an ordinary one */
    SHOAL__RANGE_LOOPBACK, /* Unix sockets, too */
    SHOAL__RANGE_LINK,     /* link-local, and the metadata services of clouds */
    SHOAL__RANGE_NONE      /* no server has it: unspecified, multicast, broadcast */
} shoal__trust_range_t;

shoal__trust_range_t shoal__trust_range(const shoal__address_t *address);

/* `by`: the address of the server that named the other one. */
bool shoal__trust_permits(const shoal__address_t *named, const shoal__address_t *by);

#endif
