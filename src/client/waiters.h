/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_WAITERS_H
#define SHOAL_CLIENT_WAITERS_H

/*
 * The threads that wait for results of one client: callers that block for one result,
 * and the consumers of completion queues.
 *
 * The loop wakes them after it has delivered all results of one read, so that callers
 * that will submit together wake together.
 */

#include "base/list.h"
#include "client/owned_result.h"
#include "net/parker.h"
#include <shoal/completions.h>
#include <stdbool.h>

#define SHOAL__WAITERS_TOUCHED_MAX 8

/* A thread that blocks for one result.  It lives in the arena of that result, which is
 * the thread's; if the thread left before it was woken, the loop's. */
typedef struct shoal__waiter {
    shoal__list_t node; /* in waiters->answered, once the result is there */
    shoal__parker_t parker;
    shoal__owned_result_t *owned;
    bool may_drive;   /* the thread may run the loop, in this call and its next one */
    bool is_plain;    /* the result runs no code of the program: see core/company.h */
    bool runs_sinks;  /* sinks of others may run on the thread */
    bool is_answered; /* for the loop thread: the result is there */
    /* The thread itself. */
    bool has_loop;   /* it is the loop thread now */
    bool is_staying; /* it stays awake (client/awake.h) */
    /* Under the client's lock: it counts as awake, if the round is still the seat's. */
    bool is_awake;
    unsigned round;
} shoal__waiter_t;

typedef struct shoal__waiters {
    shoal__parking_t parking; /* where they sleep */
    /* Loop thread only. */
    shoal__list_t answered;                 /* callers whose result is there */
    unsigned answered_count, drivers_count; /* how many; and how many may drive */
    unsigned plain_count;                   /* how many are plain */
    shoal_completions_t
        *touched[SHOAL__WAITERS_TOUCHED_MAX]; /* queues that got results */
    unsigned touched_count;
} shoal__waiters_t;

void shoal__waiters_init(shoal__waiters_t *waiters);

/* Loop thread: a caller's result is there. */
void shoal__waiters_answer(shoal__waiters_t *waiters, shoal__waiter_t *waiter);
/* Loop thread: a queue got a result; its consumer is told after the batch. */
void shoal__waiters_touch(shoal__waiters_t *waiters, shoal_completions_t *completions);

/* Take the answered callers out.  `callers` is an empty list. */
void shoal__waiters_take(shoal__waiters_t *waiters, shoal__list_t *callers);
/* Wake callers that were taken out; the list is empty then. */
void shoal__waiters_wake(shoal__waiters_t *waiters, shoal__list_t *callers);
/* Tell the consumers of the touched queues. */
void shoal__waiters_announce(shoal__waiters_t *waiters);

#endif
