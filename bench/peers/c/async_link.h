/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_ASYNC_LINK_H
#define SHOAL_PEER_ASYNC_LINK_H

/* An asynchronous client on a libuv loop: hiredis, or libvalkey's client of clusters.  Each
 * program is linked with one of them. */

#include "peer.h"

#include <uv.h>

typedef struct async_link async_link_t;

/* Ends the program if the server cannot be reached, now or later.  `on_reply` is called for
 * each command that was sent. */
async_link_t *async_link_open(peer_t *peer, uv_loop_t *loop,
                              void (*on_reply)(void *data));

/* Sends the peer's command.  A reply that is an error is counted; a reply that is missing
 * ends the program. */
void async_link_send(async_link_t *link, void *data);

/* No command is under way: lets go of the connections, so that the loop ends. */
void async_link_close(async_link_t *link);

/* "hiredis" and "1.2.0". */
extern const char *const async_link_library;
void async_link_version(char *text, size_t text_bytes);

#endif
