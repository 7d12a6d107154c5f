/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PENDING_H
#define SHOAL_PENDING_H

/* Blocking calls that return from time to time before their result.  They are for
 * callers that must do other work while they wait, as an interpreter that handles
 * signals.
 *
 *     rc = shoal_client_call_begin(client, &command, NULL, 100000, &pending, &result);
 *     while (rc == SHOAL_EAGAIN)
 *         rc = wants_to_stop() ? shoal_pending_give_up(pending, &result)
 *                              : shoal_pending_wait(pending, 100000, &result);
 */

#include <shoal/command.h>
#include <shoal/result.h>
#include <shoal/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A blocking call that returned before its result.  Opaque. */
typedef struct shoal_pending shoal_pending_t;

/**
 * Send one command as shoal_client_call_with() does, but return after wait_us, or
 * sooner if a signal arrives while the thread sleeps.  A thread that runs the loop itself
 * (see shoal_client_open()) returns after wait_us only: 100 000 suits most interpreters.
 *
 * @param wait_us     the longest time to wait for the result; the command's own
 *                    deadline is in `call`.  SHOAL_TIMEOUT_NEVER: wait until the result
 * @param ret_pending receives the pending call if this function returns SHOAL_EAGAIN
 * @param ret_result  receives the result if this function returns 0; give it back with
 *                    shoal_result_release()
 *
 * Threads:   any, but not the loop thread
 * Blocks:    as wait_us says.  Needs 32 KiB of stack
 * Ownership: the caller must call shoal_pending_wait() or shoal_pending_give_up() until
 *            one of them returns the result, on any thread but on one at a time.  The
 *            library then frees the pending call, which until then holds a reference to
 *            the client
 * Errors:    SHOAL_EAGAIN there is no result yet, and *ret_pending is set; and those of
 *            shoal_client_call_with()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_call_begin(shoal_client_t *client,
                                         const shoal_command_t *command,
                                         const shoal_call_t *call, uint64_t wait_us,
                                         shoal_pending_t **ret_pending,
                                         shoal_result_t **ret_result);

/**
 * Wait again for the result of a pending call.
 *
 * @param wait_us    as for shoal_client_call_begin()
 * @param ret_result receives the result if this function returns 0; `pending` is freed
 *                   then
 *
 * Threads: any, but not the loop thread
 * Blocks:  as wait_us says; at the deadline as shoal_client_call()
 * Errors:  SHOAL_EAGAIN there is no result yet
 *          SHOAL_ELOOP  called on the loop thread
 *          SHOAL_EFORK  the client belongs to the parent process
 *          SHOAL_EINVAL an argument is NULL
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_pending_wait(shoal_pending_t *pending, uint64_t wait_us,
                                    shoal_result_t **ret_result);

/**
 * Cancel the command as shoal_client_cancel() does, and wait for its result.  The
 * result has the status SHOAL_ECANCELLED and the fate, unless another result came
 * first.
 *
 * @param ret_result receives the result if this function returns 0; `pending` is freed
 *                   then
 *
 * Threads: any, but not the loop thread
 * Blocks:  not at all if the loop has not taken the command over; else until the loop
 *          handles the cancel, at most to the deadline, as shoal_client_call()
 * Errors:  SHOAL_ELOOP  called on the loop thread
 *          SHOAL_EFORK  the client belongs to the parent process
 *          SHOAL_EINVAL an argument is NULL
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_pending_give_up(shoal_pending_t *pending,
                                       shoal_result_t **ret_result);

#ifdef __cplusplus
}
#endif

#endif
