/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_H
#define SHOAL_CLIENT_H

/* The life of a client: opening, driving and closing it.  The functions that send
 * commands are in <shoal/command.h>. */

#include <shoal/errors.h>
#include <shoal/events.h>
#include <shoal/options.h>
#include <shoal/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Tells that the client is closed: the library delivered every result, and calls no
 * other callback after this one.
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_closed_cb)(void *data);

/**
 * Open a client that runs on a thread of its own.
 *
 * The call returns before there is a connection; the program may submit commands at
 * once.  The client's thread blocks all signals.  Callbacks run on that thread only.
 * Threads in blocking calls may run the loop themselves, for one another, but run no
 * callback (except as SHOAL_CALL_SINK_HERE says).
 *
 * @param options    NULL for the defaults; copied
 * @param ret_client receives the client; close it, and give it back with
 *                   shoal_client_release()
 * @param ret_error  receives the reason of a failure; may be NULL
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EINVAL  ret_client is NULL, or ret_error has no size
 *            SHOAL_ESYSTEM no thread or descriptor to be had
 *            SHOAL_ENOMEM
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_open(const shoal_options_t *options,
                                   shoal_client_t **ret_client,
                                   shoal_error_t *ret_error);

/**
 * Open a client as shoal_client_open() does, with the options of a URL; see
 * shoal_options_from_url().
 *
 * Threads:   any
 * Blocks:    never
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EURL, and those of shoal_client_open()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_open_url(const char *url, shoal_client_t **ret_client,
                                       shoal_error_t *ret_error);

/**
 * Open a client without a thread of its own (a borrowed client): the calling thread
 * drives the client with shoal_client_step(), and is its loop thread.
 *
 * This is for programs with an event loop of their own: wait until shoal_client_fd() is
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
                                            shoal_client_t **ret_client,
                                            shoal_error_t *ret_error);

/**
 * A descriptor that is readable when shoal_client_step() has work.
 *
 * The program may only poll the descriptor.  After submitting, step once before
 * waiting: the step writes the commands that the flush policy does not hold back.
 *
 * @return the descriptor, or -1 for a client that was not opened borrowed
 *
 * Threads: loop
 * Errors:  none; -1 as above
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_fd(shoal_client_t *client);

/**
 * The longest time in microseconds that the program may wait for the descriptor before
 * the next step: -1 for ever, 0 to step at once.
 *
 * Where the system has precise timers (Linux), the descriptor becomes readable for them
 * too, and the answer is 0 or -1.
 *
 * Threads: loop
 * Since:   0.1
 */
SHOAL_EXTERN int64_t shoal_client_wait_us(shoal_client_t *client);

/**
 * Do the work that is due on a borrowed client: write, read, run timers and callbacks.
 *
 * @param timeout_us 0: do not block.  Else block until there is work, at most this
 *                   long, rounded up to milliseconds; SHOAL_TIMEOUT_NEVER: without a
 *                   limit
 *
 * @return 0, or 1 when a close is complete
 *
 * Threads: loop
 * Blocks:  as timeout_us says; until the close is complete if the last reference is
 *          given back meanwhile
 * Errors:  SHOAL_EINVAL not a borrowed client, or another step is under way: the caller
 *                       is a callback, or another thread is stepping
 *          SHOAL_EFORK  the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_step(shoal_client_t *client, uint64_t timeout_us);

/**
 * Block until the connection is ready for commands.  SHOAL_EAUTH and SHOAL_ETLS end the wait,
 * because seldom another attempt helps; but the client goes on trying.  Of several addresses
 * of a server it tries the next one, which may accept the client: SHOAL_EVENT_READY tells.
 *
 * @param timeout_us the longest time to wait; SHOAL_TIMEOUT_NEVER: no limit
 *
 * Threads: any, but not the loop thread
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_ETIMEOUT the connection was not ready in time
 *          SHOAL_EAUTH    the server rejected the credentials of the last attempt
 *          SHOAL_ETLS     TLS failed at the last attempt
 *          SHOAL_ELOOP    called on the loop thread
 *          SHOAL_ECLOSED  the client was closed before the call or during it
 *          SHOAL_EFORK    the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_wait_ready(shoal_client_t *client, uint64_t timeout_us);

/**
 * Begin to close a client.
 *
 * The client accepts no new commands.  Outstanding commands have `drain_us` to finish;
 * after that time they fail with SHOAL_ESHUTDOWN.  The library delivers every result
 * before it calls on_closed.  The client's memory stays until shoal_client_release().
 *
 * @param drain_us  time in microseconds; 0: outstanding commands fail at once
 * @param on_closed called once if this call returns 0; may be NULL
 * @param data      handed to on_closed untouched
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_ECLOSED the client was closed before
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_close(shoal_client_t *client, uint64_t drain_us,
                                    shoal_closed_cb on_closed, void *data);

/**
 * Close a client, and wait until its work is done: every result is delivered, and the
 * client's thread has ended.  The call itself steps a borrowed client until then.
 *
 * @param drain_us as for shoal_client_close()
 *
 * Threads: any, but not from a callback
 * Blocks:  drain_us and at most a second
 * Errors:  SHOAL_ELOOP   called from a callback; or the client is borrowed, and another
 *                        thread stepped it last; or the client runs on a uv_loop_t of
 *                        the program: use shoal_client_close()
 *          SHOAL_EINVAL  client is NULL; or another thread began to step the borrowed
 *                        client during the call.  The close has begun, and must be
 *                        stepped to its end
 *          SHOAL_ECLOSED the client was closed before
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_close_and_wait(shoal_client_t *client, uint64_t drain_us);

/**
 * Take one more reference to a client.
 *
 * A reference keeps the client in memory.  Opening a client gives the first reference,
 * this function gives another one, and a pending call holds one of its own.  While a
 * reference exists, a thread may call any function on the client; during a callback the
 * library holds one.  After another thread has closed the client, such calls return
 * SHOAL_ECLOSED.  Closing ends the work but gives no reference back: the program must
 * call shoal_client_release() for each client that it opened.
 *
 * @return the client; NULL if it is NULL
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN shoal_client_t *shoal_client_retain(shoal_client_t *client);

/**
 * Give one reference back.  NULL is allowed.
 *
 * Giving back the last reference frees the client when its work has ended.  If the
 * program has not closed the client, this call closes it first, as shoal_client_close()
 * does with a drain_us of 0.  This call then steps a borrowed client to its end; if a
 * step is under way, on this thread or another, that step does so instead.  A client on
 * a uv_loop_t ends while that loop runs on.
 *
 * Threads: any, also in a callback
 * Blocks:  never, with one exception: for the last reference to a borrowed client that
 *          no thread is stepping, until the close is complete
 * Errors:  none.  In the child of a fork the call does nothing
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_client_release(shoal_client_t *client);

/**
 * In the child of a fork, give up a client of the parent.
 *
 * The call closes the child's copies of the socket, timer and wake-up descriptors,
 * sends nothing to the server, and wipes the credentials; no callback runs.  The call
 * does not affect the parent.  In the child every other call on such a client that
 * returns a code returns SHOAL_EFORK.
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL the client belongs to this process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_after_fork_child(shoal_client_t *client);

#ifdef __cplusplus
}
#endif

#endif
