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
    SHOAL_EVENT_CONNECTED = 0, /**< the transport is up, the greeting begins */
    SHOAL_EVENT_READY = 1,     /**< commands flow */
    SHOAL_EVENT_LOST = 2,      /**< a connection that was ready is gone; see status */
    SHOAL_EVENT_RETRYING = 3,  /**< the next attempt follows after delay_us */
    SHOAL_EVENT_ATTEMPT_FAILED = 4 /**< an attempt to connect ended before the
                                        connection was ready; see status */
} shoal_event_kind_t;

/**
 * What happened.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN shoal_event_kind_t shoal_event_kind(const shoal_event_t *event);

/**
 * For SHOAL_EVENT_LOST and SHOAL_EVENT_ATTEMPT_FAILED why: SHOAL_ECONN,
 * SHOAL_ETIMEOUT, SHOAL_EDESYNC, SHOAL_EAUTH or SHOAL_ENOMEM; else 0.
 *
 * Threads: loop
 * Errors:  none; the value is the connection's own
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_event_status(const shoal_event_t *event);

/**
 * A line of text: address and cause.  Never NULL; without credentials; lives until
 * the callback returns.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN const char *shoal_event_detail(const shoal_event_t *event);

/**
 * For SHOAL_EVENT_RETRYING the delay in microseconds; else 0.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_event_delay_us(const shoal_event_t *event);

/**
 * Number of the attempt to connect: 1 for the first time that this connection was
 * dialed, then upwards.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_event_epoch(const shoal_event_t *event);

/**
 * Which of the client's connections it happened to: a number from 1 upwards that stays
 * with the connection however often it is dialed anew; see
 * shoal_stats_get_connection().
 *
 * Threads: loop
 * Errors:  none
 * Since:   0.1
 */
SHOAL_EXTERN uint64_t shoal_event_connection(const shoal_event_t *event);

/**
 * The server that this connection leads to: "host:port", "[::1]:6379", or the path of a
 * Unix socket.  Never NULL; lives until the callback returns.
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
