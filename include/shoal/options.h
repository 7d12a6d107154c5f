/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_OPTIONS_H
#define SHOAL_OPTIONS_H

#include <shoal/errors.h>
#include <shoal/version.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The settings of a client.  Opaque.  One object may open many clients. */
typedef struct shoal_options shoal_options_t;
typedef struct shoal_client shoal_client_t;
typedef struct shoal_event shoal_event_t;

/** When the library writes queued commands to the socket.  One such write of a batch is
 * a flush. */
typedef enum shoal_flush_mode {
    SHOAL_FLUSH_AUTO = 0,  /**< the library measures, and chooses; the default */
    SHOAL_FLUSH_OFF = 1,   /**< at the end of every turn of the loop */
    SHOAL_FLUSH_FIXED = 2, /**< not sooner than a fixed pause after the previous
                                flush */
} shoal_flush_mode_t;

/** What happens to commands while there is no connection. */
typedef enum shoal_offline_mode {
    SHOAL_OFFLINE_QUEUE = 0, /**< they wait for one, until their deadline; the
                                  default */
    SHOAL_OFFLINE_FAIL = 1   /**< they fail at once with SHOAL_ECONN, not executed: from
                                the first attempt to connect that fails, until an
                                attempt succeeds */
} shoal_offline_mode_t;

/** Importance of a log line. */
typedef enum shoal_log_level {
    SHOAL_LOG_ERROR = 0,
    SHOAL_LOG_WARN = 1,
    SHOAL_LOG_INFO = 2,
    SHOAL_LOG_DEBUG = 3
} shoal_log_level_t;

/**
 * Receives a connection event.
 *
 * `event` is borrowed until the callback returns.
 *
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_event_cb)(shoal_client_t *client, const shoal_event_t *event,
                               void *data);

/**
 * Receives one line of log, without a line feed.  The line never holds an argument of a
 * command or a credential.
 *
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_log_cb)(shoal_log_level_t level, const char *line, void *data);

/** As a timeout: there is no deadline. */
#define SHOAL_TIMEOUT_NEVER UINT64_MAX

/**
 * Make options that hold every default: 127.0.0.1:6379, no credentials, database 0.
 *
 * @param ret_options receives the options; free with shoal_options_free()
 *
 * Threads: any
 * Errors:  SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_new(shoal_options_t **ret_options);

/**
 * Make options from a URL.
 *
 *     redis://[[user]:password@]host[:port][,host[:port]...][/db][?key=value&...]
 *     unix://[[user]:password@]/path/of/socket[?db=N&key=value&...]
 *     redis+sentinel://[[user]:password@]host[:port][,host[:port]...]/name[/db][?key=...]
 *     redis+cluster://[[user]:password@]host[:port][,host[:port]...][/?key=...]
 *
 * shoal/sentinel.h and shoal/cluster.h explain the last two.  `valkey://` means `redis://`; `redis+unix://`,
 * `valkey+unix://` mean `unix://`.  With TLS `rediss://`, `rediss+unix://`, and further keys:
 * <shoal/tls.h>.  User and password are percent-decoded.  An IPv6 address stands in brackets,
 * several hosts are as shoal_options_add_address() says.  Keys:
 * `db`, `protocol` (2 or 3), `client_name`, `timeout_ms` (or `never`),
 * `connect_timeout_ms`, `handshake_timeout_ms`, `stall_timeout_ms`, `ping_idle_ms`,
 * `probe_ms`, `backoff_base_ms`, `backoff_max_ms`, `keepalive_ms`, `source_address`, `queued_max`,
 * `inflight_max`, `bytes_max`, `reply_bytes_max`, `reply_elements_max`,
 * `reply_depth_max`, `attempts_max`, `flush` (auto, off, fixed:US), `budget_us`,
 * `offline` (queue, fail), `integrity` (shapes, detect, strict), `settle` (yes, no),
 * `bulk_lane` (yes, no), `maintenance` (yes, no), `connections`, `connections_max`, `read_from` (primary, replica_preferred, replica, zone, zone_or_primary), `zone`,
 * `credentials_timeout_ms`, `rotation` (successor, in_place), `order` (mark, strict),
 * `topology` (standalone, cluster, auto).
 * Each key stands for the setter of that name.  The library ignores no key: an unknown one
 * or a value out of range is an error.
 *
 * @param url         NUL-terminated
 * @param ret_options receives the options; free with shoal_options_free()
 * @param ret_error   receives the reason of a failure, which names the key and its
 *                    value; may be NULL.  The reason does not quote text that may be a
 *                    part of the password
 *
 * Threads:   any
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EURL   not of the form above
 *            SHOAL_EINVAL url or ret_options is NULL, or ret_error has no size
 *            SHOAL_ETLS   the library was built without TLS; SHOAL_ENOMEM
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_options_from_url(const char *url, shoal_options_t **ret_options,
                                        shoal_error_t *ret_error);

/**
 * Free options, and wipe their credentials.  NULL is allowed.  Clients that were opened
 * with them keep a copy of their own.
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN void shoal_options_free(shoal_options_t *options);

/**
 * Connect to this server by TCP.  The address replaces all that were set before.  Default:
 * "127.0.0.1", 6379.
 *
 * @param host name or address, copied
 * @param port 1 .. 65535
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range, or empty host; SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_address(shoal_options_t *options, const char *host,
                                           int port);

/**
 * Connect to the server by a Unix socket.  The path replaces all addresses.
 *
 * @param path copied; no longer than the system allows: 107 bytes on Linux
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL empty or too long; SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_unix_path(shoal_options_t *options,
                                             const char *path);

/**
 * The number of the database that every connection selects.  Default: 0.
 *
 * @param database 0 .. INT32_MAX
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_database(shoal_options_t *options, int database);

/**
 * The name of the connections, which CLIENT LIST shows.  Default: none.
 * @param name printable ASCII without spaces, copied; NULL for none
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL other characters; SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_client_name(shoal_options_t *options,
                                               const char *name);

/**
 * The newest version of the protocol (RESP) that the library asks for: 2 or 3.
 * Default: 3.  The library falls back to 2 if the server does not know HELLO.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL neither 2 nor 3
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_protocol(shoal_options_t *options, int version);

/**
 * The time that a command has from its submission to its result, if its call sets no
 * timeout of its own.  Waiting in queues, the server's work and retries all count.
 *
 * @param timeout_us 1 .. 86 400 000 000 (a day), or SHOAL_TIMEOUT_NEVER.
 *                   Default: 5 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_timeout_us(shoal_options_t *options,
                                              uint64_t timeout_us);

/**
 * The time that one attempt to connect has.
 *
 * @param connect_us   for resolving the name and connecting to one of its addresses:
 *                     1000 .. 600 000 000.  Default: 2 000 000
 * @param handshake_us for the greeting that follows (HELLO, AUTH, SELECT ...):
 *                     1000 .. 600 000 000.  Default: 5 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_connect_timeout_us(shoal_options_t *options,
                                                      uint64_t connect_us,
                                                      uint64_t handshake_us);

/**
 * The time after which the library gives up a silent connection: a command waits for
 * its reply, and no byte arrived for `stall_us`.  Writes do not prolong the time.
 *
 * While a command blocks on the server (SHOAL_CALL_MAY_BLOCK), the server may be silent
 * up to that command's deadline.  A slow script has no such exception, so set a time
 * that is no shorter than the longest timeout.
 *
 * @param stall_us 10 000 .. 3 600 000 000.  Default: 5 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_stall_timeout_us(shoal_options_t *options,
                                                    uint64_t stall_us);

/**
 * The silence after which the library tests an idle connection with a PING.
 *
 * @param idle_us 10 000 .. 3 600 000 000, or 0 for never.  Default: 10 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_ping_idle_us(shoal_options_t *options,
                                                uint64_t idle_us);

/**
 * What happens to commands while there is no connection.
 * Default: SHOAL_OFFLINE_QUEUE.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL not a shoal_offline_mode_t
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_offline_mode(shoal_options_t *options,
                                                shoal_offline_mode_t mode);

/**
 * The most commands and bytes that may be outstanding: submitted, and without a result.
 * A submission beyond these bounds is refused with SHOAL_EFULL; with
 * SHOAL_CALL_WAIT_FOR_ROOM it waits.
 *
 * @param queued_max   commands that wait to be written, 1 .. 16 777 216.
 *                     Default: 65 536
 * @param inflight_max commands written and unanswered, 1 .. 1 048 576; further
 *                     commands stay queued.  Default: 16 384
 * @param bytes_max    encoded bytes of all outstanding commands,
 *                     1024 .. 17 179 869 184.  Default: 67 108 864
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_outstanding_max(shoal_options_t *options,
                                                   size_t queued_max,
                                                   size_t inflight_max,
                                                   uint64_t bytes_max);

/**
 * The bounds of one reply.  A reply beyond them ends the connection (SHOAL_EDESYNC).
 *
 * @param bytes_max    1024 .. 17 179 869 184.  Default: 536 870 912
 * @param elements_max elements of one array, map, set or push, 1 .. 2 147 483 647.
 *                     Default: 16 777 216
 * @param depth_max    levels of nesting, 1 .. 1024.  Default: 1024
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_reply_max(shoal_options_t *options,
                                             uint64_t bytes_max, uint64_t elements_max,
                                             int depth_max);

/**
 * When the library writes queued commands.  Default: SHOAL_FLUSH_AUTO.
 *
 * @param mode     see shoal_flush_mode_t
 * @param pause_us for SHOAL_FLUSH_FIXED: the pause since the previous flush,
 *                 1 .. 1 000 000; a command that is alone does not wait.
 *                 For SHOAL_FLUSH_AUTO: the latency budget, the longest time that the
 *                 library holds a command back, 0 .. 1 000 000; 0 means the default
 *                 of 100.  Ignored for SHOAL_FLUSH_OFF
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_flush(shoal_options_t *options,
                                         shoal_flush_mode_t mode, uint64_t pause_us);

/**
 * Receive connection events.  Default: none.
 *
 * @param on_event NULL for none
 * @param data     handed to on_event untouched
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_on_event(shoal_options_t *options,
                                            shoal_event_cb on_event, void *data);

/**
 * Receive the log lines of `level` and of the more important levels.  Default: none.
 *
 * @param on_log NULL for none
 * @param data   handed to on_log untouched
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL not a shoal_log_level_t
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_on_log(shoal_options_t *options,
                                          shoal_log_level_t level, shoal_log_cb on_log,
                                          void *data);

#ifdef __cplusplus
}
#endif

#endif
