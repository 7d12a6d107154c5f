/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ACCOUNT_H
#define SHOAL_CORE_ACCOUNT_H

/* Counts the commands and bytes outstanding at one destination, or at all destinations.
 * The loop thread writes the counts, and any thread reads them. */

#include "base/counter.h"

typedef struct shoal__account {
    shoal__counter_t queued;   /* commands that wait to be written */
    shoal__counter_t inflight; /* commands written and unanswered */
    shoal__counter_t bytes;    /* encoded, of all outstanding commands */
} shoal__account_t;

/* Add differences, which may be below 0. */
static inline void shoal__account_move(shoal__account_t *account, uint64_t queued,
                                       uint64_t inflight, uint64_t bytes)
{
    shoal__counter_add(&account->queued, queued);
    shoal__counter_add(&account->inflight, inflight);
    shoal__counter_add(&account->bytes, bytes);
}

#endif
