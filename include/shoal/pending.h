/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PENDING_H
#define SHOAL_PENDING_H

/* Blocking calls that come back now and then: for callers who must look at something
 * else while they wait, as an interpreter at its signals.
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

/** A call whose thread came back before its result.  Opaque. */
typedef struct shoal_pending shoal_pending_t;

/**
 * shoal_client_call_with(), but come back after wait_us, or sooner if a signal arrives
 * while the thread sleeps.
 *
 * @param wait_us     how long to wait for the result; the command's own deadline is in
 *                    `call`.  SHOAL_TIMEOUT_NEVER: until the result
 * @param ret_pending receives the call if SHOAL_EAGAIN is returned
 * @param ret_result  receives the result if 0 is returned; give it back with
 *                    shoal_result_release()
 *
 * Threads:   any, but not the loop thread
 * Blocks:    as wait_us says.  Needs 32 KiB of stack
 * Ownership: the pending call goes with its result: come back to it, on any thread but
 *            one at a time, until shoal_pending_wait() or shoal_pending_give_up()
 *            returns one.  It holds a reference to the client until then
 * Errors:    SHOAL_EAGAIN no result yet, *ret_pending is set; and those of
 *            shoal_client_call_with()
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_client_call_begin(shoal_client_t *client,
                                         const shoal_command_t *command,
                                         const shoal_call_t *call, uint64_t wait_us,
                                         shoal_pending_t **ret_pending,
                                         shoal_result_t **ret_result);

/**
 * Wait for the result again.
 *
 * @param wait_us    as for shoal_client_call_begin()
 * @param ret_result receives the result if 0 is returned; `pending` is gone then
 *
 * Threads: any, but not the loop thread
 * Blocks:  as wait_us says; at the deadline as shoal_client_call()
 * Errors:  SHOAL_EAGAIN no result yet
 *          SHOAL_ELOOP  called on the loop thread
 *          SHOAL_EFORK  the client belongs to the parent process
 *          SHOAL_EINVAL an argument is NULL
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_pending_wait(shoal_pending_t *pending, uint64_t wait_us,
                                    shoal_result_t **ret_result);

/**
 * Cancel the command as shoal_client_cancel() does, and wait for its result: with
 * SHOAL_ECANCELLED and the fate, or the one that was on its way.
 *
 * @param ret_result receives the result; `pending` is gone then
 *
 * Threads: any, but not the loop thread
 * Blocks:  not at all if the loop has not taken the command over; else until the loop looks
 *          at it, at most to the deadline, as shoal_client_call()
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
