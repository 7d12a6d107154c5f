/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_ASYNC_LINK_H
#define SHOAL_PEER_ASYNC_LINK_H

/* A hiredis async connection on a libuv loop, for the clients that use one. */

#include "peer.h"

#include <hiredis/async.h>
#include <uv.h>

/* Ends the program if the server cannot be reached, now or later. */
redisAsyncContext *async_link_open(const peer_t *peer, uv_loop_t *loop);

/* Sends the peer's command. */
void async_link_send(const peer_t *peer, redisAsyncContext *connection,
                     redisCallbackFn *on_reply, void *data);

/* Counts a reply that is an error; ends the program if the connection was lost. */
void async_link_check(peer_t *peer, const redisReply *reply,
                      const redisAsyncContext *connection);

#endif
