/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CONNECTION_H
#define SHOAL_CONNECTION_H

/* The connections of a client: how the library sets their sockets up, which state they
 * are in, and how a program replaces them at once. */

#include <shoal/options.h>
#include <shoal/pubsub.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Room for the name of a server in shoal_connection_info_t. */
#define SHOAL_SERVER_NAME_BYTES 272

/** The state of a connection.  Newer versions may add states. */
typedef enum shoal_connection_state {
    SHOAL_CONNECTION_IDLE = 0,    /**< the loop has not begun to connect yet */
    SHOAL_CONNECTION_DIALING = 1, /**< looking the name up, or connecting */
    SHOAL_CONNECTION_GREETING =
        2,                      /**< connected: HELLO, AUTH, SELECT ... are under way */
    SHOAL_CONNECTION_READY = 3, /**< commands flow */
    SHOAL_CONNECTION_WAITING = 4, /**< waiting before the next attempt to connect */
    SHOAL_CONNECTION_CLOSED = 5   /**< closed for good */
} shoal_connection_state_t;

/** One connection at one moment.  Newer versions append fields; `size` tells the
 * library which fields the caller knows. */
typedef struct shoal_connection_info {
    size_t size; /**< set it to sizeof(shoal_connection_info_t) before the call */
    uint64_t connection; /**< number of the connection in its client, from 1 */
    shoal_connection_state_t state;
    int protocol; /**< version agreed with the server, 2 or 3; 0: none agreed yet */
    uint64_t server_id; /**< the number by which the server knows the connection
                             (CLIENT ID); 0: not known */
    uint64_t epoch;     /**< attempts to connect so far; also one that is made while the
                             present connection works, to replace it */
    char server[SHOAL_SERVER_NAME_BYTES]; /**< "host:port", or the path of a socket; of
                                               several addresses the one that is dialed
                                               first, or that was reached */
} shoal_connection_info_t;

/** Initial value of a shoal_connection_info_t. */
#define SHOAL_CONNECTION_INFO_INIT                                                     \
    {                                                                                  \
        sizeof(shoal_connection_info_t), 0, SHOAL_CONNECTION_IDLE, 0, 0, 0, ""         \
    }

/**
 * Look at one connection of a client.
 *
 * @param connection number of the connection, from 1; shoal_event_connection() gives
 *                   it.  A client of one server has only connection 1
 * @param ret_info   the caller sets its `size`; the call fills the other fields in.
 *                   After a failure the other fields are 0
 *
 * Threads: any
 * Blocks:  never; the call reads the fields one after another, not all at one moment
 * Errors:  SHOAL_EINVAL client or ret_info is NULL, or ret_info->size is too small
 *          SHOAL_ENOENT the client has no such connection
 *          SHOAL_EFORK  the client belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_connection_get(shoal_client_t *client, uint64_t connection,
                                      shoal_connection_info_t *ret_info);

/**
 * The name of a state: "idle", "dialing", "greeting", "ready", "waiting", "closed".
 *
 * @return a static string; "unknown" for any other number
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_connection_state_name(shoal_connection_state_t state);

/**
 * Connect again, now.
 *
 * A connection that waits before its next attempt to connect makes that attempt at
 * once, but the library makes no more than ten attempts a second.  The library replaces
 * a connection that is ready, at most once a second, and makes before it breaks: commands
 * use the old connection until the new one is greeted.  Then the old connection sends
 * nothing more, the server has up to a second to answer the commands already written, and
 * commands queued meanwhile leave over the new connection.  No command fails, unless that
 * second is not enough for it.  If there is no new connection to be had, the old one goes
 * on, and the library tries again, after 1 s, then 2 s, up to 30 s.  Nothing happens to a
 * connection that is dialing or greeting.
 *
 * Call this if the program knows more than the library: the network is back, or the
 * name of the server leads to another machine.
 *
 * Threads: any
 * Blocks:  never; the loop thread does it soon
 * Errors:  SHOAL_EINVAL  client is NULL
 *          SHOAL_ECLOSED the client is closed
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_client_reconnect(shoal_client_t *client);

/**
 * Connect again, now, as shoal_client_reconnect() does; what it says of commands, "Renewals" in
 * docs/PUBSUB.md says of messages.
 *
 * @param pubsub whose connections are made new
 *
 * Threads: any
 * Blocks:  never; the loop thread does it soon
 * Errors:  SHOAL_EINVAL  pubsub is NULL
 *          SHOAL_ECLOSED the pubsub was closed
 *          SHOAL_EFORK   the pubsub belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_reconnect(shoal_pubsub_t *pubsub);

/**
 * The delay before the library connects again: after the n-th failure in a row (n from
 * 1) at random between 0 and min(max_us, base_us * 2^(n-1)).
 *
 * The loss of a ready connection counts as a first failure.  After rejected credentials
 * the delay is at least a second.  The library makes no more than ten attempts a
 * second.
 *
 * @param base_us 1000 .. 60 000 000.  Default: 50 000
 * @param max_us  base_us .. 600 000 000.  Default: 10 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL out of range
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_options_set_backoff_us(shoal_options_t *options,
                                              uint64_t base_us, uint64_t max_us);

/**
 * The silence after which the operating system tests a TCP connection (SO_KEEPALIVE).
 * The system tests up to three times, a third of this time apart, and ends the
 * connection if no test is answered.  Linux ends it sooner: at the first test that comes
 * 10 s or more after the last sign of life.
 *
 * The library itself tests an idle connection with a PING, which also notices a server
 * that hangs: shoal_options_set_ping_idle_us().
 *
 * @param idle_us 1 000 000 .. 3 600 000 000, or 0 for never.  Systems count whole
 *                seconds, so the library rounds up.  Default: 15 000 000
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or out of range
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_keepalive_us(shoal_options_t *options,
                                                uint64_t idle_us);

/**
 * Add an address of the server: one more way to the same data, such as a second network, a
 * proxy, or the machine that takes over when the first one fails.  16 addresses at most.
 *
 * An attempt to connect tries the addresses in their order, until one answers; each has its
 * share of the connect time, and so has each address of a name
 * (shoal_options_set_connect_timeout_us()).  The address that answered last is tried first.
 * If a connection was made there, but the greeting failed or the server fell silent, the next
 * one is tried first.  All connections of a client lead to the same address while one of them
 * works there.  Names are looked up at each attempt; the addresses of a name are tried with
 * IPv6 and IPv4 in turn, in the order of the system.
 *
 * The primary is wanted: if a server says that it is a replica (ROLE), each other address is
 * tried once before a replica is taken, which then executes reads.  If a server refuses to
 * write (READONLY), the others are tried first.  A server that does not tell its role is taken
 * as it is, and so is one that has one address only.
 *
 * The first address that is set or added takes the place of the default.
 * In a URL: redis://a:6379,b:6380,[::1]:7000/0.
 *
 * @param host name or address, copied
 * @param port 1 .. 65535
 *
 * Threads:   setup
 * Ownership: copied
 * Errors:    SHOAL_EINVAL out of range, empty host, or too many addresses; SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_options_add_address(shoal_options_t *options, const char *host,
                                           int port);

/**
 * Add a Unix socket as an address of the server: as shoal_options_add_address().
 *
 * @param path copied; no longer than the system allows: 107 bytes on Linux
 *
 * Threads:   setup
 * Ownership: copied
 * Errors:    SHOAL_EINVAL empty or too long, or too many addresses; SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_options_add_unix_path(shoal_options_t *options,
                                             const char *path);

/**
 * Make TCP connections from this address of this machine, if the machine has several.
 * Default: none; the system chooses.
 *
 * If the server has several addresses, the library tries only those of the same family
 * (IPv4 or IPv6).
 *
 * @param address an IPv4 or IPv6 address, no name; copied.  NULL for none
 *
 * Threads:   setup
 * Ownership: copied
 * Errors:    SHOAL_EINVAL options is NULL, or not an address; SHOAL_ENOMEM
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_options_set_source_address(shoal_options_t *options,
                                                  const char *address);

/**
 * Choose whether the client opens a second connection to the server for bulk commands, the
 * bulk lane, so that small commands need not wait behind large ones.  Default: true.
 *
 * A command is a bulk command if it is over 64 KiB encoded; if its call says
 * SHOAL_CALL_BULK; or if it only reads, and the same command for the same key had a reply
 * of over 256 KiB within the last minute.  Commands of one call stay together: one of them
 * makes all of them bulk commands.  No bulk commands are those without a key (PUBLISH, KEYS)
 * and those whose keys the library does not know (of a module, XREAD, a script without
 * keys); nor, together with one of those, any other command of the same call.
 *
 * The client opens the lane for the first bulk command, sends that command over the ordinary
 * connection, and closes the lane after a minute without use.  A blocking call of a thread
 * that is alone stays on the ordinary connection.
 *
 * What keeps its order: commands of one thread for one key run in the order in which the
 * thread submitted them, on whichever connection.  A bulk command leaves when the earlier
 * commands are answered, and later ones for its keys follow it.  A command whose keys the
 * library does not know, or which changes all keys (FLUSHALL), counts as one for all keys.
 *
 * What has no order: commands for different keys while one of them takes the lane.  After
 * a large SET of one key, and without waiting for its reply, a small SET of another key, or
 * a PUBLISH, may run before it, and other clients may see that.  Wait for the reply, or
 * submit both in one call; with several connections, with SHOAL_CALL_CONTIGUOUS.
 *
 * In a cluster each node has a lane, if it is needed, and what is said of keys holds for
 * slots: commands of one thread for one slot keep their order.  Commands without a key, also
 * FLUSHALL, have no place among those on a lane.
 *
 * WAIT and WAITAOF count the writes of the ordinary connection: from the first such call on
 * writes stay there; those that took the lane before are not counted.
 *
 * The lane needs settling (shoal_options_set_settle()), and a server that tells which
 * process it is (INFO server); behind many proxies there is none.
 * In a URL: bulk_lane=yes or no.
 *
 * @param has_bulk_lane false: one connection carries all commands, in one order
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_bulk_lane(shoal_options_t *options,
                                             bool has_bulk_lane);

/**
 * Choose whether the client heeds what a server says of its maintenance.  Default: true.
 *
 * Redis Enterprise, Redis Cloud and newer Redis servers tell a client that asked for it what
 * will happen to its connection (`CLIENT MAINT_NOTIFICATIONS`).  The client asks servers that
 * call themselves Redis and speak RESP3, over TCP; others, and sentinels' primaries, never.  A
 * server that does not know the question answers an error, which counts in its statistics and
 * nowhere else.
 *
 * - `MOVING`: the connection is replaced before the server closes it.  The new one leads to the
 *   address that the notice names, which is judged as a redirect is
 *   (shoal_options_add_address()); or to the same name, looked up anew at half of the time
 *   that the notice gives.  Commands go on meanwhile.  A lease keeps its connection.
 * - `MIGRATING`, `FAILING_OVER`: until the end is told, and for a minute at most, a silent
 *   server is given up after 10 s at the soonest (shoal_options_set_stall_timeout_us()).
 *   Deadlines of commands stay as they are.
 *
 * SHOAL_EVENT_MAINTENANCE tells of each notice.  In a URL: maintenance=yes or no.
 *
 * @param heeds false: the client does not ask
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Source:  the forms of the notices are those that redis-py 8 and node-redis 5 read
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_maintenance(shoal_options_t *options, bool heeds);

/**
 * Choose how many connections to the server carry the commands.  Default: 1.
 *
 * With more than one, each key has a connection, always the same, which a hash of the key
 * picks; keys with the same text between the first { and the next } have the same one.  More
 * connections help if the server reads and writes with several threads (io-threads), or if
 * the network limits one TCP connection; else they make the batches smaller, and all slower.
 * Begin with the number of the server's io-threads, 4 at most, and measure.  A program that
 * often sends commands with keys of several connections, or with unknown ones, keeps 1.
 *
 * What keeps its order: commands of one thread for one key run in the order in which the
 * thread submitted them.  A command with keys of several connections (MSET, a unit), or whose
 * keys the library does not know (XREAD, commands of modules, a script without keys), or
 * which changes all keys (FLUSHALL), waits until every connection has answered what was
 * submitted before; this takes a round trip.  Then it leaves on the first connection, or on
 * the bulk lane while that is open.  Later commands for its keys wait for it.  A blocking
 * command that gets a lease waits for the answers on every connection, too.
 *
 * What has no order: commands for keys of different connections, also those of one
 * shoal_client_submit_many(), unless SHOAL_CALL_CONTIGUOUS keeps them together; and commands
 * without a key (PING, PUBLISH, SCRIPT LOAD, DBSIZE, SCAN), which take the first connection.
 * Wait for the reply where the order matters.  WAIT and WAITAOF count the writes of one
 * connection: submit them together with these writes (SHOAL_CALL_CONTIGUOUS), or on a lease.
 *
 * The client is ready when all its connections are.  While one of them is lost, commands for
 * keys of the others go on; those that wait for all of them wait.  All connections must lead
 * to the same server process: if one meets another process when it connects again, the others
 * are renewed, and commands with keys of several connections wait for that.
 *
 * The bound inflight_max (shoal_options_set_outstanding_max()) holds for each connection, the
 * others for all of them together.  Events and shoal_stats_get_connection() tell the
 * connections apart; shoal_stats_t.bulk counts the commands that waited.
 * In a URL: connections=4.
 *
 * @param connections 1 .. 8
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or out of range
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_connections(shoal_options_t *options,
                                               unsigned connections);

#ifdef __cplusplus
}
#endif

#endif
