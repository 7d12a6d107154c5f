/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_H
#define SHOAL_CLIENT_H

/* The life of a client: opening, driving and closing it.  What it does is in
 * <shoal/command.h>. */

#include <shoal/errors.h>
#include <shoal/events.h>
#include <shoal/options.h>
#include <shoal/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The client is closed: every result was delivered, and no other callback follows.
 * Threads: runs on the loop thread; must not block.
 */
typedef void (*shoal_closed_cb)(void *data);

/**
 * Open a client that runs on a thread of its own.
 *
 * Returns before there is a connection; commands may be submitted at once.  The thread
 * blocks all signals.  Callbacks run on it and on no other, although a thread that is
 * alone on the client drives the connection itself in its blocking calls.
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
 * shoal_client_open() with the options of a URL; see shoal_options_from_url().
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
                                            shoal_client_t **ret_client,
                                            shoal_error_t *ret_error);

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
 * @return 0, or 1 when the close that was asked for is complete
 *
 * Threads: loop
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_EINVAL not a borrowed client, or a step is under way: called from a
 *                       callback, or on another thread beside it
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
 * Close: no new commands; those outstanding have `drain_us` to finish, then they
 * fail with SHOAL_ESHUTDOWN.  Every result is delivered before on_closed.  The client's
 * memory stays until shoal_client_release().
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
 * Close and wait until the work is done: every result is delivered, and the client's
 * thread has ended.  A borrowed client is stepped until then.
 *
 * @param drain_us as for shoal_client_close()
 *
 * Threads: any, but not from a callback
 * Blocks:  drain_us and at most a second
 * Errors:  SHOAL_ELOOP   called from a callback; or the client is borrowed, and another
 *                        thread stepped it last; or the loop is the caller's own
 *                        uv_loop_t: use shoal_client_close()
 *          SHOAL_ECLOSED closed before
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_client_close_and_wait(shoal_client_t *client, uint64_t drain_us);

/**
 * Take one more reference to a client.
 *
 * A reference keeps the client in memory: opening a client gives the first one, this
 * function gives another one, and a pending call holds one of its own.  A thread that can
 * rely on a reference (a callback can, on the library's own) may call any function on the
 * client, and is told SHOAL_ECLOSED once another thread has closed it.  Closing ends the
 * work but gives no reference back: each client that was opened needs its
 * shoal_client_release().
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
 * The last one frees the client when its work has ended.  If nobody closed it, it is
 * closed first, as by shoal_client_close() without drain.  A borrowed client is then
 * stepped to its end in this call, or, in a callback, in the step that is under way.  A
 * client on a uv_loop_t ends while that loop runs on.
 *
 * Threads: any, also in a callback
 * Blocks:  never; the last one of a borrowed client until its close is complete
 * Errors:  none.  In the child of a fork it does nothing
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_client_release(shoal_client_t *client);

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
SHOAL_EXTERN int shoal_client_after_fork_child(shoal_client_t *client);

#ifdef __cplusplus
}
#endif

#endif
