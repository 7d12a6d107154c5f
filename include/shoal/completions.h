/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_COMPLETIONS_H
#define SHOAL_COMPLETIONS_H

/* Results in a queue instead of callbacks: for bindings, and for threads that must
 * not run code of theirs on the loop thread.  One wake-up per batch: the descriptor
 * becomes readable once, however many results follow before the consumer drains. */

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

/** One finished command.  The structure is closed, because it stands in arrays; what is
 * known of a command beyond its tag is asked of the result. */
typedef struct shoal_completion {
    uint64_t tag;                 /**< as given at submission */
    const shoal_result_t *result; /**< borrowed until the next take */
} shoal_completion_t;

/**
 * Create a queue.
 *
 * @param outstanding_max commands submitted to it and not taken yet,
 *                        1 .. 16 777 216; 0 means 65 536
 * @param ret_completions receives the queue; free with shoal_completions_free()
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL  out of range
 *          SHOAL_ESYSTEM no descriptor to be had
 *          SHOAL_ENOMEM
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_completions_new(size_t outstanding_max,
                                       shoal_completions_t **ret_completions);

/**
 * Give up a queue.  NULL is allowed.  Results still due are dropped; its
 * memory goes when the last of them came.
 *
 * Threads: any, but not while another thread uses it
 * Since:   0.1
 */
SHOAL_EXTERN void shoal_completions_free(shoal_completions_t *completions);

/**
 * A descriptor that is readable while results are there to be taken.  Only to be
 * polled; it belongs to the queue.
 *
 * Threads: any
 * Errors:  none
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_completions_fd(const shoal_completions_t *completions);

/**
 * Queue `count` commands whose results go to this queue.  All are queued or none.
 *
 * @param client     where they are sent; any number of clients may share a queue
 * @param commands   count commands, copied before this call returns
 * @param count      1 .. 65 536
 * @param call       extras; NULL for none
 * @param first_tag  tag of the first command; the others' follow in steps of 1
 * @param ret_ticket receives the first ticket, for shoal_client_cancel(); may be NULL
 *
 * Threads:   any
 * Blocks:    never, unless SHOAL_CALL_WAIT_FOR_ROOM asks for it
 * Ownership: nothing passed in is kept
 * Errors:    those of shoal_client_submit_many(); SHOAL_EFULL also when
 *            outstanding_max is reached
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_completions_submit(shoal_completions_t *completions,
                                          shoal_client_t *client,
                                          const shoal_command_t *commands, size_t count,
                                          const shoal_call_t *call, uint64_t first_tag,
                                          uint64_t *ret_ticket);

/**
 * Take up to `count_max` results, oldest first, and quiet the descriptor if none
 * are left.
 *
 * @param batch     receives them; what they point to lives until the next take
 * @param count_max room in batch
 *
 * @return how many were taken; 0 if there are none
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
 * @param timeout_us at most this long; SHOAL_TIMEOUT_NEVER: as long as it takes
 *
 * Threads: caller, but not the loop thread of a client that feeds it
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_ETIMEOUT none came
 *          SHOAL_EINTR    a signal arrived; wait again if you like
 * Since:   0.1
 */
SHOAL_EXTERN int shoal_completions_wait(shoal_completions_t *completions,
                                        uint64_t timeout_us);

#ifdef __cplusplus
}
#endif

#endif
