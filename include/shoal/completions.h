/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_COMPLETIONS_H
#define SHOAL_COMPLETIONS_H

/* Results in a queue instead of callbacks.  The queue is for language bindings, and for
 * programs whose code must not run on the loop thread.  The consumer is woken once per
 * batch: the descriptor becomes readable once, and stays so until the consumer has
 * taken all results.
 *
 * In the child of a fork a queue of the parent has no results and no descriptor, a submission
 * and a wait fail with SHOAL_EFORK, and freeing the queue does nothing. */

#include <shoal/command.h>
#include <shoal/result.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A queue of results with one consumer.  Opaque. */
typedef struct shoal_completions shoal_completions_t;

/** One finished command.  The structure is closed (it never gets another field),
 * because it stands in arrays; the functions of <shoal/result.h> tell the rest. */
typedef struct shoal_completion {
    uint64_t tag;                 /**< the number that the submission gave it */
    const shoal_result_t *result; /**< borrowed until the next take */
} shoal_completion_t;

/**
 * Create a queue.
 *
 * @param outstanding_max the most commands submitted to the queue whose results are not
 *                        taken yet, 1 .. 16 777 216; 0 means 65 536
 * @param ret_completions receives the queue; free with shoal_completions_free()
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL  out of range
 *          SHOAL_ESYSTEM the system gave no descriptor or no lock
 *          SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_completions_new(size_t outstanding_max,
                                       shoal_completions_t **ret_completions);

/**
 * Give up a queue.  NULL is allowed.  The library drops results that are still due, and
 * frees the queue's memory after the last of them.
 *
 * Threads: any, but not while another thread uses the queue
 * Since:   0.1
 */
SHOAL_EXTERN void shoal_completions_free(shoal_completions_t *completions);

/**
 * A descriptor that is readable while the queue has results to take.  The program may
 * only poll the descriptor; it belongs to the queue.
 *
 * Threads: any
 * Errors:  none; -1 for NULL, and in the child of a fork
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_completions_fd(const shoal_completions_t *completions);

/**
 * Submit `count` commands whose results go to this queue.  The client accepts all of
 * them or none.
 *
 * @param client     sends the commands; any number of clients may share a queue
 * @param commands   count commands, copied before this call returns
 * @param count      1 .. 65 536
 * @param call       extras; NULL for none
 * @param first_tag  tag of the first command; the other tags follow in steps of 1
 * @param ret_ticket receives the first ticket, for shoal_client_cancel(); may be NULL
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept
 * Errors:    those of shoal_client_submit_many(); SHOAL_EFULL also if the commands
 *            would exceed outstanding_max, and SHOAL_EFORK if the queue belongs to the parent
 *            process
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_completions_submit(shoal_completions_t *completions,
                                          shoal_client_t *client,
                                          const shoal_command_t *commands, size_t count,
                                          const shoal_call_t *call, uint64_t first_tag,
                                          uint64_t *ret_ticket);

/**
 * Take up to `count_max` results, oldest first.  When none is left, the descriptor is
 * no longer readable.
 *
 * @param batch     receives the results, which live until the next take
 * @param count_max room in batch
 *
 * @return the number of results taken; 0 if there are none
 *
 * Threads: caller (one consumer at a time)
 * Blocks:  never
 * Since:   0.1
 */
SHOAL_EXTERN size_t shoal_completions_take(shoal_completions_t *completions,
                                           shoal_completion_t *batch, size_t count_max);

/**
 * Block until there are results to take.
 *
 * @param timeout_us the longest time to wait; SHOAL_TIMEOUT_NEVER: no limit
 *
 * Threads: caller, but not the loop thread of a client whose results go to this queue
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_ETIMEOUT no result came in time
 *          SHOAL_EINTR    a signal arrived; the caller may wait again
 *          SHOAL_EFORK    the queue belongs to the parent process
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_completions_wait(shoal_completions_t *completions,
                                        uint64_t timeout_us);

#ifdef __cplusplus
}
#endif

#endif
