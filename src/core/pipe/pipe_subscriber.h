/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_SUBSCRIBER_H
#define SHOAL_CORE_PIPE_SUBSCRIBER_H

/*
 * The pipe of a connection that subscribes (config->is_subscriber).  All its commands are the
 * library's own.
 *
 * SUBSCRIBE and its kin take no reply: the server answers them with a push for each name, or
 * with one error.  Their requests have the shape SHOAL__SHAPE_PUSHES.  An error at such a
 * request's turn ends it, unless pushes have answered all of it (hooks.is_answered).  Then, and
 * if it is any other reply, the request is over, and the reply belongs to the next one.  So a
 * PING goes behind each of them.
 *
 * In RESP2 messages and confirmations are arrays: resp/push.h tells them from replies.
 */

#include "core/pipe/pipe.h"

/* Bytes of the server arrived: messages go to hooks.on_message, everything else through the
 * decoder.  0 or pipe->fault. */
int shoal__pipe_listen(shoal__pipe_t *pipe, const char *data, size_t bytes);

#endif
