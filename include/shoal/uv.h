/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_UV_H
#define SHOAL_UV_H

/* Run a client on a uv_loop_t of the program.  No other public header includes
 * <uv.h>. */

#include <shoal/client.h>
#include <shoal/pubsub.h>
#include <shoal/version.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Open a client on a libuv loop that the caller runs.
 *
 * The thread that runs the loop is the client's loop thread: callbacks run there, and
 * submitting from it takes no lock.  The client's handles keep the loop alive until
 * the client is closed.  Writing to a dead peer raises no SIGPIPE.
 *
 * @param loop       must outlive the client.  The caller may close the loop after the
 *                   callback of shoal_client_close() has run
 * @param options    NULL for the defaults; copied
 * @param ret_client receives the client
 * @param ret_error  receives the reason of a failure; may be NULL
 *
 * Threads:   any; the library takes the calling thread for the one that runs the loop
 * Ownership: the loop stays the caller's
 * Errors:    those of shoal_client_open()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_open_uv(uv_loop_t *loop, const shoal_options_t *options,
                                      shoal_client_t **ret_client,
                                      shoal_error_t *ret_error);

/**
 * Open a pubsub on a libuv loop that the caller runs.  Everything that
 * shoal_client_open_uv() says holds for it, too.
 *
 * @param loop       must outlive the pubsub
 * @param options    NULL for the defaults; copied
 * @param ret_pubsub receives the pubsub
 * @param ret_error  receives the reason of a failure; may be NULL
 *
 * Threads:   any; the library takes the calling thread for the one that runs the loop
 * Ownership: the loop stays the caller's
 * Errors:    those of shoal_pubsub_open()
 * Since:     0.2
 */
SHOAL_EXTERN int shoal_pubsub_open_uv(uv_loop_t *loop, const shoal_options_t *options,
                                      shoal_pubsub_t **ret_pubsub,
                                      shoal_error_t *ret_error);

#ifdef __cplusplus
}
#endif

#endif
