/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_MODE_H
#define SHOAL_CLIENT_MODE_H

/*
 * SHOAL_TOPOLOGY_AUTO: whether a client has a cluster or one server is found out when the first
 * server is greeted.
 *
 * Until then the client has the route of a cluster.  Commands wait there, planned for a
 * cluster; if there is none, the route of one server takes them over, once.  It does not care
 * how they were planned.  So it does no harm either that a thread plans a command, and
 * queues it when all is known.
 */

#include "client/client.h"

/* Loop thread, in the turn, right behind the intake and before anything is written: heed what
 * the route has found out. */
void shoal__mode_turn(shoal_client_t *client, uint64_t now_us);

#endif
