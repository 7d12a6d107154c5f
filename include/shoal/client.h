/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_H
#define SHOAL_CLIENT_H

#include <shoal/events.h>
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

/**
 * Receives what became of one command.
 *
 * `result` is borrowed: it and everything reached from it die when the callback
 * returns.  Keep a reply for longer with shoal_reply_retain().  From the callback
 * one may submit, cancel and start a close; one may not block.
 *
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_result_cb)(shoal_client_t *client, const shoal_result_t *result,
                                void *data);

/**
 * The client is closed and gone: do not use it any more.
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_closed_cb)(void *data);

/** One command: argc byte strings; argv[0] names it. */
typedef struct shoal_command {
    size_t argc;             /**< 1 .. SHOAL_ARGC_MAX */
    const char *const *argv; /**< argc strings, any bytes */
    const size_t *argvlen;   /**< their bytes; NULL if all are NUL-terminated */
} shoal_command_t;

/** Flags of shoal_call_t. */
enum shoal_call_flag {
    /** Harmless if applied again at any moment before the deadline, even after other
     *  clients' writes: may be retried when its fate is unknown. */
    SHOAL_CALL_IDEMPOTENT = 1 << 0,
    /** One attempt only: never retried, not even when that is proved harmless. */
    SHOAL_CALL_ONCE = 1 << 1,
    /** Do not hold it back to gather company. */
    SHOAL_CALL_URGENT = 1 << 2,
    /** If the client is full, wait for room until the deadline.  Not on the loop thread. */
    SHOAL_CALL_WAIT_FOR_ROOM = 1 << 3,
    /** Allow a command that blocks on the server (BLPOP, ...): those behind it wait, too. */
    SHOAL_CALL_MAY_BLOCK = 1 << 4,
    /** Commands of one shoal_client_submit_many() stay together: nothing of other
     *  callers comes between them on the wire.  Needed for MULTI ... EXEC. */
    SHOAL_CALL_CONTIGUOUS = 1 << 5,
    /** The sink of a blocking call may run on its thread, which must hold no lock of it. */
    SHOAL_CALL_SINK_HERE = 1 << 6
};

/** Extras of one call.  Zero means default; initialise with {.size = sizeof it}. */
typedef struct shoal_call {
    size_t size;              /**< sizeof(shoal_call_t) */
    uint32_t flags;           /**< of enum shoal_call_flag */
    uint32_t reserved;        /**< 0 */
    uint64_t timeout_us;      /**< 0: the client's; SHOAL_TIMEOUT_NEVER: none */
    const shoal_sink_t *sink; /**< NULL: a tree.  Must live until the result */
    void *sink_data;          /**< handed to the sink untouched */
} shoal_call_t;

/**
 * Open a client that runs on a thread of its own.
 *
 * Returns before there is a connection; commands may be submitted at once.  The thread
 * blocks all signals.  Callbacks run on it and on no other, although a thread that is
 * alone on the client drives the connection itself in its blocking calls.
 *
 * @param options    NULL for the defaults; copied
 * @param ret_client receives the client; close with shoal_client_close() or
 *                   shoal_client_close_and_wait()
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EINVAL  ret_client is NULL
 *            SHOAL_ESYSTEM no thread or descriptor to be had
 *            SHOAL_ENOMEM
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_open(const shoal_options_t *options,
                                   shoal_client_t **ret_client);

/**
 * shoal_client_open() with the options of a URL; see shoal_options_from_url().
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EURL, and those of shoal_client_open()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_open_url(const char *url, shoal_client_t **ret_client);

/**
 * Open a client without a thread: the calling thread drives it with
 * shoal_client_step(), and is its loop thread.
 *
 * For programs with an event loop of their own: wait until shoal_client_fd() is
 * readable, then step.  For libuv programs shoal_client_open_uv() is simpler.
 *
 * @param options    NULL for the defaults; copied
 * @param ret_client receives the client
 *
 * Threads:   any; the caller becomes the loop thread
 * Ownership: nothing passed in is kept
 * Errors:    those of shoal_client_open()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_open_borrowed(const shoal_options_t *options,
                                            shoal_client_t **ret_client);

/**
 * A descriptor that is readable when shoal_client_step() has work.
 *
 * Only to be polled.  After submitting, step once before waiting: it writes what the
 * flush policy lets go.
 *
 * @return the descriptor, or -1 for a client that was not opened borrowed
 *
 * Threads: loop
 * Errors:  none; -1 as above
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_fd(shoal_client_t *client);

/**
 * How long one may wait for the descriptor before the next step, in microseconds:
 * -1 for ever, 0 step at once.
 *
 * Where the system has precise timers (Linux) the descriptor covers them and the
 * answer is 0 or -1.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN int64_t shoal_client_wait_us(shoal_client_t *client);

/**
 * Do what is due on a borrowed client: write, read, run callbacks, timers.
 *
 * @param timeout_us 0: do not block.  Else block for the next thing to do, at
 *                   most this long, rounded up to milliseconds;
 *                   SHOAL_TIMEOUT_NEVER: as long as it takes
 *
 * @return 0, or 1 when the close that was asked for is complete: the client
 *         is gone
 *
 * Threads: loop
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_EINVAL not a borrowed client, or called from a callback
 *          SHOAL_EFORK  the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_step(shoal_client_t *client, uint64_t timeout_us);

/**
 * Block until the connection is ready for commands.
 *
 * @param timeout_us at most this long; SHOAL_TIMEOUT_NEVER: as long as it takes
 *
 * Threads: any, but not the loop thread
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_ETIMEOUT not ready in time
 *          SHOAL_EAUTH    the last attempt failed for its credentials
 *          SHOAL_ELOOP    called on the loop thread
 *          SHOAL_ECLOSED  closed, or closed meanwhile
 *          SHOAL_EFORK    the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_wait_ready(shoal_client_t *client, uint64_t timeout_us);

/**
 * Queue one command and return at once.
 *
 * The command is copied before this call returns.  When it reaches the socket is the
 * flush policy's decision; commands queued close together, from any threads, leave
 * in one write.
 *
 * @param argc, argv, argvlen as in shoal_command_t
 * @param on_result called exactly once if this call returns 0 and never otherwise;
 *                  never from inside this call.  NULL: the result is dropped
 * @param data      handed to on_result untouched
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
                                     shoal_result_cb on_result, void *data);

/**
 * Queue `count` commands at once, in order, with extras.  All are queued or none.
 *
 * @param commands   count commands, copied before this call returns
 * @param count      1 .. 65 536
 * @param call       extras for each of them; NULL for none
 * @param on_result  called once for each command, in order
 * @param data       handed to on_result untouched
 * @param ret_ticket receives the ticket of the first command; the others' follow
 *                   in steps of 1.  May be NULL
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept; a sink must live until its results
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
 * @param argc, argv, argvlen as for shoal_client_submit()
 * @param ret_result receives the result, also when the command failed; give it back
 *                   with shoal_result_release()
 *
 * @return 0: there is a result; look at shoal_result_status().  Below 0: the command
 *         was refused and there is none
 *
 * Threads:   any, but not the loop thread
 * Blocks:    until the result, at most to the deadline.  Needs 32 KiB of stack
 * Ownership: nothing passed in is kept; the caller releases the result
 * Errors:    those of shoal_client_submit(); SHOAL_ELOOP called on the loop thread
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_call(shoal_client_t *client, size_t argc,
                                   const char *const *argv, const size_t *argvlen,
                                   shoal_result_t **ret_result);

/**
 * shoal_client_call() with extras.
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
 * Give up on an outstanding command.
 *
 * A command that was not written yet is never sent.  One that was is not recalled: its
 * reply is dropped when it comes.  Either way its callback runs, with SHOAL_ECANCELLED and
 * the fate, unless its result was on its way already; on the loop thread before this
 * call returns.
 *
 * @param ticket of shoal_client_submit_many() or shoal_completions_submit()
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_ENOENT  no such ticket was given out, or it is not outstanding any more
 *                        (where that can be told without waiting for the loop)
 *          SHOAL_EFULL   more cancels wait for the loop than there can be commands
 *          SHOAL_ECLOSED the client is closed
 *          SHOAL_EFORK   the client belongs to the parent process
 *          SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_cancel(shoal_client_t *client, uint64_t ticket);

/**
 * Close: no new commands; those outstanding have `drain_us` to finish, then they
 * fail with SHOAL_ESHUTDOWN.  Every result is delivered before on_closed; after that has
 * returned, the client's memory is released.
 *
 * @param drain_us  0: do not wait for anything
 * @param on_closed called once, if this call returns 0; may be NULL
 * @param data      handed to on_closed untouched
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_ECLOSED closed before
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_close(shoal_client_t *client, uint64_t drain_us,
                                    shoal_closed_cb on_closed, void *data);

/**
 * Close and wait until the client is gone, with its thread.
 *
 * On a borrowed client it steps until that is so.
 *
 * @param drain_us as for shoal_client_close()
 *
 * Threads: any, but not from a callback
 * Blocks:  drain_us and at most a second
 * Errors:  SHOAL_ELOOP   called from a callback, or the loop is the caller's own
 *                        uv_loop_t: use shoal_client_close()
 *          SHOAL_ECLOSED closed before
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_close_and_wait(shoal_client_t *client, uint64_t drain_us);

/**
 * In the child of a fork: give up a client of the parent.
 *
 * Closes the child's copies of the socket, timer and wake-up descriptors without a word
 * to the server and wipes the credentials; no callback runs.  The parent is not
 * affected.  Every other call on such a client returns SHOAL_EFORK.
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL the client belongs to this process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_after_fork_child(shoal_client_t *client);

#ifdef __cplusplus
}
#endif

#endif
