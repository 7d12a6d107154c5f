/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_COMMAND_H
#define SHOAL_COMMAND_H

/* Commands: submitting them, waiting for their results, and cancelling them. */

#include <shoal/errors.h>
#include <shoal/options.h>
#include <shoal/reply.h>
#include <shoal/result.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most arguments of one command, the name included. */
#define SHOAL_ARGC_MAX 1048576
/** Most bytes of one argument. */
#define SHOAL_ARG_BYTES_MAX 536870912
/** An argument of so many bytes or more is large: the library can send it from the
 *  caller's memory, without a copy.  See shoal_release_cb. */
#define SHOAL_REFERENCE_BYTES_MIN 16384

/**
 * Receives what became of one command.
 *
 * The callback borrows `result`: the result and everything reached from it die when the
 * callback returns.  shoal_reply_retain() keeps a reply for longer.  The callback may
 * submit, cancel and begin to close the client.
 *
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_result_cb)(shoal_client_t *client, const shoal_result_t *result,
                                void *data);

/**
 * One command: argc byte strings; argv[0] names it.
 *
 * The structure is closed: it never gets another field, because it stands in arrays.
 * Further settings of one call are in shoal_call_t.
 */
typedef struct shoal_command {
    size_t argc;             /**< number of strings, 1 .. SHOAL_ARGC_MAX */
    const char *const *argv; /**< argc strings, any bytes; NULL is an empty one if
                                  argvlen says 0 bytes */
    const size_t *argvlen;   /**< length of each string in bytes; NULL if all are
                                  NUL-terminated */
} shoal_command_t;

/**
 * The bit that is set in the tickets of commands that the loop thread submits.
 *
 * Each accepted command has a ticket: a number above 0 that names the command for
 * shoal_client_cancel() and in shoal_result_ticket().  A client gives no ticket out
 * twice.  A ticket means nothing to another client.  The commands of one submission
 * have tickets in steps of 1.  A client counts in two sequences, each upwards from 1:
 * tickets of the loop thread have this bit set, tickets of other threads have it clear.
 * A blocking call may take its ticket from either sequence.  Tickets of different
 * sequences say nothing about the order of their commands.
 */
#define SHOAL_TICKET_OF_LOOP (UINT64_C(1) << 63)

/** A connection of one's own; see <shoal/lease.h>.  Opaque. */
typedef struct shoal_lease shoal_lease_t;

/**
 * Gives the memory of a submission's arguments back to the caller.
 *
 * With a release callback in shoal_call_t the library does not copy large arguments
 * (SHOAL_REFERENCE_BYTES_MIN).  It sends them from the caller's memory, which must stay
 * as it is until the callback runs.  The library copies all other arguments before the
 * submission returns, and with them the arrays argv and argvlen.
 *
 * The callback runs once for each accepted submission, large arguments or not, when
 * the library needs none of the memory any more: before the last result, but for a
 * blocking call that comes back without its loop, which the program runs and which is
 * busy.  A refused submission has no callback: the memory is the caller's at once.  In
 * the child of a fork no callback runs.
 *
 * Threads: runs on the loop thread; that of a blocking call may run on the calling
 *          thread.  No lock of the library is held.  The callback must not block, and
 *          must not call functions of this library.
 */
typedef void (*shoal_release_cb)(void *data);

/** Flags of shoal_call_t. */
enum shoal_call_flag {
    /** The command does no harm if the server executes it again at any moment before
     *  the deadline, even after other clients' writes.  The library may send it again
     *  when its fate is unknown; see <shoal/retry.h>. */
    SHOAL_CALL_IDEMPOTENT = 1 << 0,
    /** The library sends the command at most once, even if a second attempt is proved
     *  to be harmless. */
    SHOAL_CALL_ONCE = 1 << 1,
    /** The command leaves at once: the flush policy does not hold it back to gather
     * others. */
    SHOAL_CALL_URGENT = 1 << 2,
    /** If the client is full, the call waits for room until the deadline.  Not allowed
     *  on the loop thread. */
    SHOAL_CALL_WAIT_FOR_ROOM = 1 << 3,
    /** Send a command that blocks on the server (BLPOP, ...) over the shared connection,
     *  where later commands wait behind it.  Without the flag the library sends it over
     *  a connection of its own (see <shoal/lease.h>), after the server has answered the
     *  commands that its caller submitted before.  WAIT and WAITAOF need the flag or a
     *  lease, because they count the writes of their own connection. */
    SHOAL_CALL_MAY_BLOCK = 1 << 4,
    /** The commands of one shoal_client_submit_many() stay together: no command of
     *  another caller comes between them on the wire.  Needed for MULTI ... EXEC. */
    SHOAL_CALL_CONTIGUOUS = 1 << 5,
    /** A blocking call may run its sinks on the calling thread, or on that of another
     *  call of this client with this flag.  The caller must not hold a lock that a sink of
     *  such a call takes. */
    SHOAL_CALL_SINK_HERE = 1 << 6,
    /** The reply will be large: send the command over the bulk lane, if the client has one
     *  and the library knows the command's keys.  Then it has no order with commands for
     *  other keys: see shoal_options_set_bulk_lane(). */
    SHOAL_CALL_BULK = 1 << 7,
    /** Commands of several calls share the sink, which needs one whole reply after the
     *  other.  The library then hands it the replies of one connection only, the client's
     *  ordinary one.  Replies that come by another (the bulk lane, a leased connection)
     *  may arrive in the middle of those; their results hold them as trees. */
    SHOAL_CALL_SINK_SHARED = 1 << 8,
    /** The primary executes the commands, whatever shoal_options_set_read_from() says. */
    SHOAL_CALL_PRIMARY = 1 << 9,
    /** A replica may execute those of the commands that only read; see
     *  <shoal/replicas.h>.  SHOAL_CALL_PRIMARY counts more. */
    SHOAL_CALL_REPLICA = 1 << 10,
    /** In a cluster MGET, MSET, DEL, UNLINK, TOUCH and EXISTS may be split, if their keys
     *  belong to several slots: each slot's owner gets a command for the keys of the slot,
     *  and the call has one result, as if one server had them all.  The parts are executed at
     *  different moments, and some may fail while others do not: shoal_result_parts() tells.
     *  Without the flag, and for all other commands, such keys are refused with
     *  SHOAL_ECROSSSLOT; so are commands that stay together with others
     *  (SHOAL_CALL_CONTIGUOUS, or a sink).  `route` counts more.  Since: 0.2 */
    SHOAL_CALL_MAY_SPLIT = 1 << 11
};

/** Which servers of a cluster get the commands of a call.  A client of one server, or of
 *  one primary, sends them to that one; SHOAL_ROUTE_NODE must then name it. */
enum shoal_route {
    /** As the command says: the owner of its keys' slot; a command without keys goes to
     *  any primary, or to several nodes. */
    SHOAL_ROUTE_AUTO = 0,
    SHOAL_ROUTE_ANY = 1,       /**< any primary */
    SHOAL_ROUTE_PRIMARIES = 2, /**< every primary that owns slots */
    SHOAL_ROUTE_NODES = 3,     /**< every primary that owns slots, and every replica */
    SHOAL_ROUTE_SLOT = 4,      /**< the owner of `route_slot` */
    SHOAL_ROUTE_NODE = 5       /**< the node `route_node` */
};

/**
 * Extras of one call.  Zero means default; begin with SHOAL_CALL_INIT.
 *
 * Newer versions append fields, and accept the size that the structure has in 0.2: the
 * new fields then count as 0.  A program compiled for a newer version works with this
 * library as long as it leaves the fields that this library does not know at zero.  If
 * such a field is not zero, or a flag is unknown, the call is refused with
 * SHOAL_EINVAL.
 */
typedef struct shoal_call {
    size_t size;              /**< sizeof(shoal_call_t) */
    uint32_t flags;           /**< of enum shoal_call_flag */
    uint32_t reserved;        /**< 0 */
    uint64_t timeout_us;      /**< time from submission to result; 0: the client's
                                   timeout; SHOAL_TIMEOUT_NEVER: no deadline */
    const shoal_sink_t *sink; /**< receives the reply, and must live until the result;
                                   NULL: the result holds the reply as a tree */
    void *sink_data;          /**< handed to the sink, and to `chunks`, untouched */
    shoal_error_t *error; /**< receives the reason if the call is refused; begin with
                                   SHOAL_ERROR_INIT.  NULL: not wanted */
    const shoal_chunk_sink_t *chunks; /**< receives a large string, and must live until
                                           the result; NULL: such a string is a reply
                                           like any other */
    shoal_lease_t *lease; /**< the lease that carries the commands, of the same client;
                                   NULL: the shared connection */
    shoal_release_cb on_release; /**< lends large arguments to the library until this
                                      callback runs; NULL: see the function */
    void *release_data;          /**< handed to on_release untouched */
    uint32_t route;              /**< of enum shoal_route; 0: as each command says */
    uint32_t route_slot;         /**< with SHOAL_ROUTE_SLOT: 0 .. 16383 */
    const char *route_node; /**< with SHOAL_ROUTE_NODE: "host:port" as the cluster names
                                 it, or its id; copied */
} shoal_call_t;

/** No extras: `shoal_call_t call = SHOAL_CALL_INIT;`, then set what differs. */
#define SHOAL_CALL_INIT                                                                \
    {                                                                                  \
        sizeof(shoal_call_t), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, \
            NULL                                                                       \
    }

/**
 * Queue one command and return at once.
 *
 * The library copies the command before this call returns.  The flush policy decides
 * when the library writes the command to the socket; commands queued close together,
 * from any threads, leave in one write.
 *
 * @param argc, argv, argvlen as in shoal_command_t
 * @param on_result called exactly once if this call returns 0 and never otherwise;
 *                  never from inside this call.  NULL: the result is dropped
 * @param data      handed to on_result untouched
 * @param ret_ticket receives the command's ticket, for shoal_client_cancel(); 0 if the
 *                  command was refused.  May be NULL
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EINVAL   argc out of range, or the lengths overflow
 *            SHOAL_EREFUSED the command would break a shared connection (SUBSCRIBE,
 *                           MULTI, SELECT, BLPOP, CLIENT REPLY, ...)
 *            SHOAL_EFULL    a bound of shoal_options_set_outstanding_max() is reached
 *            SHOAL_ETOOBIG  the command alone exceeds the bound of bytes
 *            SHOAL_ECLOSED  shoal_client_close() has been called
 *            SHOAL_EFORK    the client belongs to the parent process
 *            SHOAL_ENOMEM   nothing was queued
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_submit(shoal_client_t *client, size_t argc,
                                     const char *const *argv, const size_t *argvlen,
                                     shoal_result_cb on_result, void *data,
                                     uint64_t *ret_ticket);

/**
 * Queue `count` commands at once, in order, with extras.  The client accepts all of
 * them or none.
 *
 * @param commands   count commands, copied before this call returns; but see
 *                   shoal_release_cb for large arguments
 * @param count      1 .. 65 536
 * @param call       extras for each of them; NULL for none
 * @param on_result  called once for each command, in order
 * @param data       handed to on_result untouched
 * @param ret_ticket receives the ticket of the first command; the other tickets follow
 *                   in steps of 1.  May be NULL
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept; a sink must live until its results, and
 *            arguments with a release callback until it runs
 * Errors:    those of shoal_client_submit();
 *            SHOAL_ELOOP SHOAL_CALL_WAIT_FOR_ROOM on the loop thread while full
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_submit_many(shoal_client_t *client,
                                          const shoal_command_t *commands, size_t count,
                                          const shoal_call_t *call,
                                          shoal_result_cb on_result, void *data,
                                          uint64_t *ret_ticket);

/**
 * Send one command and wait for its result.
 *
 * If the program itself runs the loop (shoal_client_open_borrowed(),
 * shoal_client_open_uv()), the loop thread may be busy with other things when the
 * deadline passes.  If the loop thread has not taken the command over, the call then
 * takes the command back, and the result is SHOAL_ETIMEOUT and SHOAL_FATE_NOT_EXECUTED.
 * Otherwise the call waits a tenth of a second more, and the result is SHOAL_ETIMEOUT
 * and SHOAL_FATE_UNKNOWN.  A call with a sink, whose command the loop thread has taken
 * over, waits for the loop thread, which may be using the sink.
 *
 * If a thread of the library runs the loop (shoal_client_open()), the library sends
 * large arguments (SHOAL_REFERENCE_BYTES_MIN) from the caller's memory, without a copy.
 * The call returns when the library needs that memory no more.
 *
 * @param argc, argv, argvlen as for shoal_client_submit()
 * @param ret_result receives the result, also when the command failed; give it back
 *                   with shoal_result_release()
 *
 * @return 0: there is a result; look at shoal_result_status().  Below 0: the command
 *         was refused, and there is no result
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline; see above.  Needs 32 KiB of
 *            stack
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_submit(); SHOAL_ELOOP called on the loop thread
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_call(shoal_client_t *client, size_t argc,
                                   const char *const *argv, const size_t *argvlen,
                                   shoal_result_t **ret_result);

/**
 * Send one command with extras, and wait for its result, as shoal_client_call() does.
 *
 * @param call extras; NULL for none
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_call()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_call_with(shoal_client_t *client,
                                        const shoal_command_t *command,
                                        const shoal_call_t *call,
                                        shoal_result_t **ret_result);

/**
 * Cancel an outstanding command.
 *
 * The library never sends a command that was not written yet.  A command that was
 * written may still execute, and the library drops its reply.  In both cases the
 * command's callback runs with SHOAL_ECANCELLED and the fate, unless another result
 * came first.  If the caller is the loop thread, the callback of a command that the
 * loop has taken over runs before this call returns.
 *
 * @param ticket from shoal_client_submit(), shoal_client_submit_many() or
 *               shoal_completions_submit()
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_ENOENT  the client gave no such ticket out, or the command is no
 *                        longer outstanding (as far as the call can tell without the
 *                        loop)
 *          SHOAL_EFULL   more cancels wait for the loop than commands can be
 *                        outstanding
 *          SHOAL_ECLOSED the client is closed, and each command has its result
 *          SHOAL_EFORK   the client belongs to the parent process
 *          SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_cancel(shoal_client_t *client, uint64_t ticket);

#ifdef __cplusplus
}
#endif

#endif
