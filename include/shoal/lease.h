/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_LEASE_H
#define SHOAL_LEASE_H

/**
 * @file
 * Connections of one's own.
 *
 * The commands of a client share one connection.  A command that changes the state of
 * its connection (WATCH, SELECT, MULTI without its EXEC, ...) would change it for other
 * callers too; such commands are for a *lease*: a connection that one holder uses alone,
 * for as long as the holder wants.
 *
 * - shoal_lease_open() makes a handle.  It does not touch the network.
 * - A command goes to the lease if the field `lease` of its shoal_call_t says so.  So
 *   every function that takes a shoal_call_t sends commands to leases; cancelling,
 *   deadlines and sinks work as always.  shoal_lease_submit() and shoal_lease_call() are
 *   short forms.
 * - The first command takes a connection: one that is idle, or a new one.  While all 64
 *   are taken, the lease waits in line; the first in line is the first served.  The
 *   deadlines of its commands go on meanwhile.
 * - The commands of a lease execute in the order of their submission, and no foreign
 *   command comes between them.  Nothing orders commands of a lease and commands of the
 *   shared connection, unless the program waits for results.
 * - All commands are allowed but those with which the library itself governs a
 *   connection (HELLO, AUTH, RESET, QUIT, CLIENT REPLY, SYNC, PSYNC, REPLCONF, SCRIPT
 *   DEBUG), and those with any number of replies: SUBSCRIBE and its kin.  MONITOR has a
 *   function of its own, shoal_lease_monitor().
 * - An error reply always surfaces.  Nothing that was written is sent again, whatever
 *   the flags of the call say.
 * - If the connection is lost after it has carried a command of the lease, the lease is
 *   *broken*: what the server knew of it is gone.  Commands that were not written fail
 *   with the fate NOT_EXECUTED, and so does each further command, with the status
 *   SHOAL_ECONN.  Close the lease, and open another one.
 * - A lease also breaks if a command that changes its connection (SELECT, MULTI, WATCH,
 *   ...) is given up, by a cancel or by its deadline, before it was sent.  Commands that
 *   were submitted behind it would run in the wrong state: they fail in the same way.
 *   Commands ahead of it get their own answers.
 * - shoal_lease_close() gives the connection back.  The library undoes MULTI, WATCH and
 *   SELECT, and checks the answers, before the next holder gets the connection.  If the
 *   holder changed anything else, or a reply is still due, the library closes the
 *   connection.
 *
 * A command that blocks on the server (BLPOP, XREAD with BLOCK, ...) needs no lease: the
 * library sends it over a connection of its own.
 *
 * - It starts when the server has answered the commands that its caller submitted before
 *   on the shared connection: XADD, and then XREAD with BLOCK, stay in order.
 * - Its deadline is the timeout_us of the call; else the command's own timeout and 2 s
 *   more; none if the command blocks for ever.  The timeout of the client does not count.
 * - When its deadline passes, or its caller cancels it, the library asks the server to let
 *   it go (CLIENT UNBLOCK), and waits for a second.  If the command has taken an element
 *   meanwhile, that is its result.  If the server let it go, the fate is NOT_EXECUTED.
 *   Otherwise the library closes its connection, and the fate is UNKNOWN; so it does at
 *   once, if a command before it on the same lease was not answered.  The library can
 *   ask only if the greeting told who the connections are: see
 *   shoal_options_set_settle().
 * - SHOAL_CALL_MAY_BLOCK sends it over the shared connection.
 *
 * In a cluster
 *
 * - a lease gets a connection to one node: the owner of the first key that its commands name,
 *   those of one call together; shoal_lease_open_for() names one before. If neither the
 *   opening nor the first call names a key, any primary. All commands of
 *   the lease go there; when the slot moves, the server's MOVED or ASK is the result,
 *   because the state of the connection cannot follow. Close the lease then, and open
 *   another one.
 * - a blocking command goes to the owner of its slot, and follows the slot: if the server
 *   lets it go because it lost the slot or its role (MOVED, ASK, UNBLOCKED), or because the
 *   cluster is down, nothing was popped, and it begins again, with the same deadline, where
 *   the slot is then. While the slot has no owner that can be reached it waits. If its
 *   connection is lost, the fate is UNKNOWN, unless it may be repeated
 *   (SHOAL_CALL_IDEMPOTENT). A node that is silent for 3 s after another one took its slots
 *   counts as lost.
 *
 * Replies on a lease are checked for nothing but their structure: there are no fences
 * (see shoal_integrity_t), because a fence inside of MULTI would be part of it.
 */

#include <shoal/command.h>
#include <shoal/version.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most leases whose connections exist at the same time, those of blocking commands
 *  included. */
#define SHOAL_LEASE_CONNECTIONS_MAX 64
/** The most leases, and blocking commands, that wait for one of these connections. */
#define SHOAL_LEASE_WAITING_MAX 1024

/**
 * Make a lease.  It takes a connection when its first command comes.
 *
 * The lease holds a reference to its client: the client's memory lives until the lease
 * is closed.
 *
 * @param client    whose commands the lease carries
 * @param ret_lease receives the lease; give it back with shoal_lease_close()
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_EINVAL  client or ret_lease is NULL
 *          SHOAL_EFULL   SHOAL_LEASE_CONNECTIONS_MAX + SHOAL_LEASE_WAITING_MAX leases
 *                        are open, blocking commands that are under way included
 *          SHOAL_ECLOSED the client was closed
 *          SHOAL_EFORK   the client belongs to the parent process
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_lease_open(shoal_client_t *client, shoal_lease_t **ret_lease);

/**
 * Make a lease for the commands of one key: in a cluster it gets a connection to the owner of
 * the key's slot, whatever its commands are.  With one server it is as shoal_lease_open().
 *
 * @param client    whose commands the lease carries
 * @param key       key_bytes bytes, read before this call returns
 * @param key_bytes may be 0: that is a key, too
 * @param ret_lease receives the lease; give it back with shoal_lease_close()
 *
 * Threads: any
 * Blocks:  never
 * Errors:  those of shoal_lease_open(); SHOAL_EINVAL also if key is NULL
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_lease_open_for(shoal_client_t *client, const char *key,
                                      size_t key_bytes, shoal_lease_t **ret_lease);

/**
 * Give a lease back.  NULL is allowed.
 *
 * Commands that are outstanding still get their results; the connection is returned
 * after the last of them.  A program that does not want to wait for them cancels them
 * first.  In the child of a fork the call does nothing.
 *
 * Threads: any, but not while another thread uses the lease
 * Blocks:  never, unless the lease holds the last reference to its client; then as
 *          shoal_client_release()
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_lease_close(shoal_lease_t *lease);

/**
 * Queue `count` commands on a lease, in order, and return at once:
 * shoal_client_submit_many() with call.lease.
 *
 * @param lease      carries the commands
 * @param commands   count commands, copied before this call returns
 * @param count      1 .. 65 536
 * @param call       extras for each of them; NULL for none.  Its field `lease` does not
 *                   count
 * @param on_result  called once for each command
 * @param data       handed to on_result untouched
 * @param ret_ticket receives the ticket of the first command; may be NULL
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept; a sink must live until its results
 * Errors:    those of shoal_client_submit_many()
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_lease_submit(shoal_lease_t *lease,
                                    const shoal_command_t *commands, size_t count,
                                    const shoal_call_t *call, shoal_result_cb on_result,
                                    void *data, uint64_t *ret_ticket);

/**
 * Send one command on a lease, and wait for its result: shoal_client_call_with() with
 * call.lease.
 *
 * @param lease      carries the command
 * @param command    copied before this call returns
 * @param call       extras; NULL for none.  Its field `lease` does not count
 * @param ret_result receives the result; give it back with shoal_result_release()
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_call_with()
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_lease_call(shoal_lease_t *lease, const shoal_command_t *command,
                                  const shoal_call_t *call,
                                  shoal_result_t **ret_result);

/**
 * Hear of every command that the server executes: MONITOR.
 *
 * Commands that were submitted to the lease before are executed first.  MONITOR is the
 * last command of a lease: those behind it fail with the status SHOAL_EREFUSED and the
 * fate NOT_EXECUTED, and no other holder gets the connection.
 *
 * `on_line` gets one result after the other:
 *
 * 1. The answer to MONITOR: the status 0 and the reply `OK`.
 * 2. Each line: the status 0, and a reply of the type SHOAL_REPLY_STATUS, which is the
 *    line as the server wrote it: `1700000000.250000 [0 127.0.0.1:6100] "get" "k"`.
 * 3. The end, exactly once; nothing comes after it.  The status says why:
 *    - SHOAL_ECONN, SHOAL_EDESYNC: the connection was lost,
 *    - SHOAL_ECANCELLED: shoal_lease_close() was called,
 *    - SHOAL_ESHUTDOWN: the client was closed,
 *    - SHOAL_ETIMEOUT: the answer to MONITOR did not come before the deadline,
 *    - 0, and an error reply instead of `OK`: the server refused MONITOR,
 *    - SHOAL_EREFUSED: MONITOR came between MULTI and EXEC, or behind another MONITOR.
 *
 * To end it, close the lease; lines may come until the end has come.  The library keeps
 * no lines: while `on_line` does not return, the client stands still, and the server
 * keeps what it has to tell.
 *
 * @param lease   carries MONITOR; close it after the end, or to end it
 * @param call    extras; NULL for none.  Its timeout_us is the time to the first result.
 *                Its field `lease` does not count; `sink` and `chunks` must be NULL
 * @param on_line called on the loop thread; it must not block
 * @param data    handed to on_line untouched; it must live until the end
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing else that is passed in is kept
 * Errors:    those of shoal_client_submit_many(); SHOAL_EINVAL also if on_line is NULL or
 *            there is a sink.  on_line is then never called
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_lease_monitor(shoal_lease_t *lease, const shoal_call_t *call,
                                     shoal_result_cb on_line, void *data);

#ifdef __cplusplus
}
#endif

#endif
