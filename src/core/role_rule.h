/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ROLE_RULE_H
#define SHOAL_CORE_ROLE_RULE_H

/*
 * May a connection lead to a server of this role?
 *
 * A server with one address is taken as it is: who points a client at a replica wants the
 * replica.  If it has several addresses, the primary among them is wanted.  So a greeting
 * asks for the ROLE, and a replica is refused, once for each address: if a primary is to be
 * had, it is found meanwhile.  Then a replica will do, which executes reads, and may become
 * a primary.
 *
 * A server that does not tell its role (a proxy, or no right to ask) is taken.  So is a
 * replica where another connection of the client works already: all lead to one server.
 */

#include <shoal/reply.h>
#include <stdbool.h>

typedef enum shoal__role {
    SHOAL__ROLE_UNKNOWN, /* zero */
    SHOAL__ROLE_PRIMARY,
    SHOAL__ROLE_REPLICA
} shoal__role_t;

typedef struct shoal__role_facts {
    shoal__role_t role;
    unsigned choices;  /* addresses that the last attempt to connect knew */
    unsigned replicas; /* that were refused since a primary was found */
    bool has_company;  /* another connection works there */
} shoal__role_facts_t;

/* What ROLE was answered. */
shoal__role_t shoal__role_read(const shoal_reply_t *reply);

bool shoal__role_is_accepted(const shoal__role_facts_t *facts);

#endif
