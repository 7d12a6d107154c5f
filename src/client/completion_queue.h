/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_COMPLETION_QUEUE_H
#define SHOAL_CLIENT_COMPLETION_QUEUE_H

/*
 * The queue behind shoal_completions_t: the loops of any clients leave results for one
 * consumer.  Results arrive in one batch while the consumer takes from the other batch;
 * then the two batches swap.
 *
 * Guarantees: every result that the queue admitted finds room.  The owner, each result
 * that is due and each announcement that is due hold a reference; the last one frees
 * the queue.
 */

#include <shoal/completions.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* outstanding_max 0: the default.  0, SHOAL_ENOMEM or SHOAL_ESYSTEM. */
int shoal__completions_new(size_t outstanding_max,
                           shoal_completions_t **ret_completions);
/* Was the queue made by a process that this one was forked from?  Its lock may be held for ever. */
bool shoal__completions_are_foreign(const shoal_completions_t *completions);
/* The owner lets go, and takes no more results. */
void shoal__completions_free(shoal_completions_t *completions);
int shoal__completions_fd(const shoal_completions_t *completions);

/* Any thread: make room for `count` more results, and keep the queue until each of them
 * was kept and dropped.  0, SHOAL_EFULL or SHOAL_ENOMEM. */
int shoal__completions_admit(shoal_completions_t *completions, size_t count);
/* They were not submitted. */
void shoal__completions_refund(shoal_completions_t *completions, size_t count);

/* Loop thread: copy a result that was admitted.  False: no consumer takes results. */
bool shoal__completions_keep(shoal_completions_t *completions,
                             const shoal_result_t *result);
/* Loop thread: tell the consumer, and let go once. */
void shoal__completions_announce(shoal_completions_t *completions);
void shoal__completions_retain(shoal_completions_t *completions);
void shoal__completions_drop(shoal_completions_t *completions, size_t count);

/* The consumer: take up to count_max results; wait for one.  0, SHOAL_ETIMEOUT or
 * SHOAL_EINTR. */
size_t shoal__completions_take(shoal_completions_t *completions,
                               shoal_completion_t *batch, size_t count_max);
int shoal__completions_wait(shoal_completions_t *completions, uint64_t until_us);

#endif
