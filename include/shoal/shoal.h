/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_SHOAL_H
#define SHOAL_SHOAL_H

/**
 * @mainpage
 *
 * This header includes all others but <shoal/uv.h>.  Which header has what:
 *
 * - client.h: opening, driving and closing a client; its references
 * - command.h: sending commands: with a callback, blocking, many at once; cancelling
 * - format.h: the same with a format, as "SET %s %b"
 * - pending.h: blocking calls that come back before their result
 * - lease.h: connections of one's own, for WATCH, SELECT and the like
 * - completions.h: results in a queue instead of callbacks
 * - result.h, reply.h: what became of a command, and what the server answered
 * - errors.h: the codes, in words
 * - retry.h: which commands are sent again, after what, how often
 * - options.h: server, timeouts, bounds; a URL for all of them
 * - credentials.h: as whom a client authenticates; passwords that change
 * - connection.h: sockets and dialing; the state of a connection; connecting anew
 * - integrity.h: how client and server are kept in step
 * - sentinel.h: failover, the primary that sentinels name
 * - events.h: what happens to connections, as it happens
 * - tls.h: encrypted connections, and servers that prove who they are
 * - stats.h: counters and latencies
 * - scan.h: all keys, or all elements of one, page by page
 * - script.h: scripts, which connections load by themselves
 * - topology.h: which servers the client knows, and which slots they own
 * - pubsub.h: subscriptions to channels and patterns
 * - item.h: messages of subscriptions, and marks between them
 * - mailbox.h: items in a queue instead of callbacks
 * - probe.h: connections that get no messages any more are found
 * - alloc.h, version.h: allocation functions of the program's own; versions
 * - uv.h: a client on a uv_loop_t of the program's own
 *
 * Three rules hold for every function.  If a pointer is NULL that the function needs,
 * the function returns SHOAL_EINVAL; a function that only reads a value returns 0, NULL
 * or -1 instead, and treats a NULL reply as nil.  After every failure each
 * out-parameter is NULL or 0.  A function that frees an object or gives it back accepts
 * NULL.
 */

#include <shoal/alloc.h>
#include <shoal/client.h>
#include <shoal/cluster.h>
#include <shoal/command.h>
#include <shoal/completions.h>
#include <shoal/connection.h>
#include <shoal/credentials.h>
#include <shoal/errors.h>
#include <shoal/events.h>
#include <shoal/format.h>
#include <shoal/integrity.h>
#include <shoal/item.h>
#include <shoal/lease.h>
#include <shoal/mailbox.h>
#include <shoal/options.h>
#include <shoal/pending.h>
#include <shoal/probe.h>
#include <shoal/pubsub.h>
#include <shoal/replicas.h>
#include <shoal/reply.h>
#include <shoal/result.h>
#include <shoal/retry.h>
#include <shoal/scan.h>
#include <shoal/script.h>
#include <shoal/sentinel.h>
#include <shoal/stats.h>
#include <shoal/tls.h>
#include <shoal/topology.h>
#include <shoal/version.h>

#endif
