/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_EVENTS_H
#define SHOAL_EVENTS_H

/* What happens to the connection, as shoal_options_set_on_event() reports it. */

#include <shoal/options.h>
#include <shoal/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What happened to the connection. */
typedef enum shoal_event_kind {
    SHOAL_EVENT_CONNECTED = 0, /**< the socket is connected, and the greeting (HELLO,
                                    AUTH ...) begins */
    SHOAL_EVENT_READY = 1,     /**< commands flow; or they go on, over a new connection:
                                    the detail then begins with "renewed" and says why.
                                    For a client of one server the detail says so if
                                    the server is a node of a cluster, or a sentinel */
    SHOAL_EVENT_LOST = 2,      /**< a connection that was ready is gone; see status */
    SHOAL_EVENT_RETRYING = 3,  /**< the next attempt to connect follows after
                                    shoal_event_delay_us() */
    SHOAL_EVENT_ATTEMPT_FAILED = 4, /**< an attempt to connect ended before the
                                         connection was ready; see status.  An attempt to
                                         replace a connection that works leaves that one
                                         as it is */
    SHOAL_EVENT_TLS_FILES = 5,      /**< the files of TLS were to be read, and cannot be
                                        used: the client goes on with what it read
                                        before, if there was anything */
    SHOAL_EVENT_TLS_UNVERIFIED = 6, /**< connected to a server whose certificate was not
                                        checked (shoal_options_set_tls_insecure()) */
    SHOAL_EVENT_SERVER_CHANGED = 7, /**< the sentinels name another primary; see detail
                                         and shoal_event_server() */
    SHOAL_EVENT_SENTINELS_LOST = 8, /**< no sentinel answers any more; see detail.  A
                                         primary that works stays in use */
    SHOAL_EVENT_CREDENTIALS = 9, /**< the provider gave credentials, or did not, and the
                                         present ones stay; or AUTH was answered on a
                                         connection that works: see status and detail, and
                                         <shoal/credentials.h> */
    SHOAL_EVENT_MAINTENANCE =
        10, /**< the server said that it is going to be maintained,
                                       or that this is over: see detail, and
                                       shoal_options_set_maintenance() */
    SHOAL_EVENT_MAP_CHANGED = 11, /**< slots of the cluster have other owners now, as a
                                      node says; see detail and <shoal/cluster.h> */
    SHOAL_EVENT_NODE_UP = 12, /**< commands flow to a node of the cluster: for the first
                                     time, or again after NODE_DOWN */
    SHOAL_EVENT_NODE_DOWN = 13, /**< a node of the cluster cannot be reached, or leaves
                                     commands unanswered; see detail.  A connection that is
                                     lost and made again at once is no reason */
    SHOAL_EVENT_FAILOVER =
        14, /**< a replica owns slots that its primary owned, see detail;
                                    shoal_event_server() is the replica */
    SHOAL_EVENT_REDIRECT_REFUSED =
        15, /**< a server led the client elsewhere, and the client does not go there: to an
                address that the server must not know (loopback, link-local, metadata), or
                to a node that no other node knows; see detail and <shoal/cluster.h> */
    SHOAL_EVENT_ZONE_UNKNOWN =
        16, /**< a server that could be read from does not say in which zone it is: see
                 detail, and shoal_options_set_zone().  Once for a client */
    SHOAL_EVENT_KEYSPACE_OFF =
        17 /**< events of keys are subscribed (SHOAL_NAME_KEYSPACE), and the server does
                not send them: its setting notify-keyspace-events is off, or lacks what
                they need; see detail and <shoal/item.h>.  Once for a server */
} shoal_event_kind_t;

/**
 * The kind of an event.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN shoal_event_kind_t shoal_event_kind(const shoal_event_t *event);

/**
 * The cause of SHOAL_EVENT_LOST or SHOAL_EVENT_ATTEMPT_FAILED: SHOAL_ECONN,
 * SHOAL_ETIMEOUT, SHOAL_EDESYNC, SHOAL_EAUTH, SHOAL_ETLS or SHOAL_ENOMEM; SHOAL_ETLS for
 * SHOAL_EVENT_TLS_FILES; for SHOAL_EVENT_CREDENTIALS 0, SHOAL_EAUTH (the provider failed, or
 * the server refused), SHOAL_ETIMEOUT or SHOAL_ENOMEM; 0 for other events.
 *
 * Threads: loop
 * Errors:  none; the value belongs to the connection, not to this call
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_event_status(const shoal_event_t *event);

/**
 * A line of text with the address and the cause.  The text is never NULL, holds no
 * credentials, and lives until the callback returns.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_event_detail(const shoal_event_t *event);

/**
 * For SHOAL_EVENT_RETRYING the delay in microseconds; 0 for other events.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_event_delay_us(const shoal_event_t *event);

/**
 * The number of the attempt to connect: 1 for the first attempt of this connection, and
 * one more for each further attempt.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_event_epoch(const shoal_event_t *event);

/**
 * The number of the connection in its client, from 1.  The number stays the same when
 * the library connects again; see shoal_stats_get_connection().
 *
 * Threads: loop
 * Errors:  none
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_event_connection(const shoal_event_t *event);

/**
 * The server that this connection leads to: "host:port", "[::1]:6379", or the path of a
 * Unix socket.  The text is never NULL, and lives until the callback returns.
 *
 * Threads: loop
 * Errors:  none
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_event_server(const shoal_event_t *event);

#ifdef __cplusplus
}
#endif

#endif
