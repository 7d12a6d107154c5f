/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_MAINTENANCE_H
#define SHOAL_CORE_MAINTENANCE_H

/*
 * Redis Enterprise, and Redis from 8 on, say before they are maintained what will happen to a
 * connection.  They do it by pushes, on connections that asked for them (CLIENT
 * MAINT_NOTIFICATIONS ON):
 *
 *   MOVING seq seconds host:port   the server closes the connection so many seconds later;
 *                                  another one leads to host:port
 *   MOVING seq seconds null        ... to the same name, which is looked up again at half
 *                                  of that time, because it may lead elsewhere only then
 *   MIGRATING seq seconds ...      data moves, or a replica takes over: the server may be
 *   FAILING_OVER seq seconds ...   silent for longer than otherwise ...
 *   MIGRATED seq ...               ... and not any more
 *   FAILED_OVER seq ...
 *
 * Notices arrive twice, late, or for a connection that has made way: one whose number was
 * heard in the last five minutes is ignored, and so is an end without a beginning.  A host
 * that does not follow the grammar of redirect.h counts as null.
 *
 * While the server may be silent, the time after which a silent server is given up is 10 s at
 * least.  This ends a minute after the last beginning, whatever the server says.  Deadlines of
 * commands stay.
 *
 * Most connections never hear a notice: NULL stands for one that has heard none yet.
 */

#include "base/time_us.h"
#include "core/address.h"
#include "core/redirect.h"
#include <shoal/reply.h>
#include <stdint.h>

#define SHOAL__NOTICES_MAX 8

typedef enum shoal__notice {
    SHOAL__NOTICE_NONE, /* the push is something else */
    SHOAL__NOTICE_MOVING,
    SHOAL__NOTICE_MIGRATING,
    SHOAL__NOTICE_FAILING_OVER,
    SHOAL__NOTICE_MIGRATED,
    SHOAL__NOTICE_FAILED_OVER
} shoal__notice_t;

typedef struct shoal__maintenance {
    struct {
        shoal__notice_t kind;
        int64_t number;
        uint64_t at_us;
    } heard[SHOAL__NOTICES_MAX]; /* the last ones */
    unsigned heard_next;
    unsigned open; /* beginnings without an end */
    uint64_t patient_until_us;
    bool is_moving;   /* another connection is wanted ... */
    bool is_named;    /* ... to `to`; false: to the same name */
    uint64_t move_us; /* ... then */
    shoal__redirect_t to;
    const char *news; /* what has changed, in words; static.  The owner clears it */
} shoal__maintenance_t;

/* A push came on the connection.  False: it is no notice.  Without memory for the first one,
 * that is ignored. */
bool shoal__maintenance_hear(shoal__maintenance_t **maintenance,
                             const shoal_reply_t *push, uint64_t now_us);

/* The same for another connection.  False: no memory. */
bool shoal__maintenance_copy(const shoal__maintenance_t *maintenance,
                             shoal__maintenance_t **ret_copy);

/* A new connection begins: only the numbers that were heard stay. */
void shoal__maintenance_reset(shoal__maintenance_t *maintenance);

/* When the connection is to be replaced.  NEVER: the server said nothing of that. */
static inline uint64_t
shoal__maintenance_moves_us(const shoal__maintenance_t *maintenance)
{
    return maintenance && maintenance->is_moving ? maintenance->move_us
                                                 : SHOAL__NEVER_US;
}

/* When a server is given up that has been silent since since_us, if stall_us is the ordinary
 * time. */
uint64_t shoal__maintenance_stall_ends_us(const shoal__maintenance_t *maintenance,
                                          uint64_t since_us, uint64_t stall_us);

/* Which form of host:port is wanted, as CLIENT MAINT_NOTIFICATIONS calls it, by a connection
 * that leads to this address: a certificate is for a name, and whoever is in the same network
 * wants the inner one.  NULL: none, over a Unix socket. */
const char *shoal__maintenance_endpoint_type(const shoal__address_t *address,
                                             bool has_tls);

#endif
