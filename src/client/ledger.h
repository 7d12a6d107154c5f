/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_LEDGER_H
#define SHOAL_CLIENT_LEDGER_H

/*
 * The books of one client, over all its connections: the queued commands and bytes, the
 * results still owed, the time of the turn, and counters of accepted and refused
 * commands.
 *
 * Admission reads the ledger: a command may enter if the commands and bytes queued in
 * the mailbox and in the route stay within the bounds.  The route brings its account up
 * to date at the end of each turn; the ledger counts the commands that entered since.
 * The sum is never too low, because only results make it smaller.  There is one
 * exception: commands that a lost connection queues again count as queued only from the
 * next turn on.
 *
 * The ledger knows no lock and no clock.  In names, "here" is the loop thread, and
 * "there" is a thread that holds the driver seat's lock.
 */

#include "base/counter.h"
#include "core/account.h"
#include "core/request.h"
#include "core/result.h"
#include <stdbool.h>

/* Bytes of large arguments (SHOAL_REFERENCE_BYTES_MIN) that were accepted. */
typedef struct shoal__large {
    shoal__counter_t bytes_referred, bytes_copied;
} shoal__large_t;

typedef struct shoal__ledger {
    uint64_t queued_max; /* commands that may be queued */
    uint64_t bytes_max;  /* encoded bytes that may be outstanding */

    /* Loop thread only. */
    uint64_t taken_over; /* commands that came out of the mailbox */
    uint64_t settled;    /* commands that have their result */
    uint64_t now_us; /* the time of the turn, or of the read; holds while depth > 0 */
    unsigned depth;  /* calls that may run callbacks, and in which the time holds */
    bool is_reading; /* one of them delivers what was read */

    /* Any thread reads. */
    const shoal__account_t *route; /* borrowed: what is outstanding in the route */
    /* What entered the route since its account was up to date. */
    shoal__counter_t entered_commands, entered_bytes;
    shoal__counter_t commands_here, commands_there; /* accepted */
    shoal__large_t large_here, large_there;         /* accepted */
    shoal__counter_t refused_here, refused_there;   /* full, closed, or no memory */
    shoal__counter_t refused; /* every other refusal, and each one of
                                 shoal__client_submit_one() on the loop thread */
    shoal__counter_t
        unplaced; /* failed after they left the mailbox, for want of memory */
} shoal__ledger_t;

void shoal__ledger_init(shoal__ledger_t *ledger, const shoal__account_t *route,
                        uint64_t queued_max, uint64_t bytes_max);

/* Is there room for `commands` more of `bytes` encoded bytes, beside those in the
 * mailbox?  Loop thread, or with the lock. */
static inline bool shoal__ledger_has_room(const shoal__ledger_t *ledger,
                                          uint64_t mailbox_queued,
                                          uint64_t mailbox_bytes, uint64_t commands,
                                          uint64_t bytes)
{
    /* In this order: a reader that sees nothing entered sees the account that says
     * so. */
    uint64_t entered =
        atomic_load_explicit(&ledger->entered_commands, memory_order_acquire);
    uint64_t entered_bytes =
        atomic_load_explicit(&ledger->entered_bytes, memory_order_acquire);

    return shoal__counter_get(&ledger->route->queued) + entered + mailbox_queued +
                   commands <=
               ledger->queued_max &&
           shoal__counter_get(&ledger->route->bytes) + entered_bytes + mailbox_bytes +
                   bytes <=
               ledger->bytes_max;
}

/* Would these commands, which cannot leave for now, leave half of the room to the others?
 * Any thread. */
static inline bool shoal__ledger_has_half(const shoal__ledger_t *ledger,
                                          const shoal__account_t *stuck,
                                          uint64_t commands, uint64_t bytes)
{
    return shoal__counter_get(&stuck->queued) + commands <= ledger->queued_max / 2 &&
           shoal__counter_get(&stuck->bytes) + bytes <= ledger->bytes_max / 2;
}

/* Commands are outstanding from now on: from here, or out of the mailbox.  In the
 * second case with the lock, so that a thread that looks for room counts each command
 * once. */
static inline void shoal__ledger_enter_here(shoal__ledger_t *ledger, uint64_t commands,
                                            uint64_t bytes)
{
    shoal__counter_add(&ledger->commands_here, commands);
    shoal__counter_add(&ledger->entered_commands, commands);
    shoal__counter_add(&ledger->entered_bytes, bytes);
}
static inline void shoal__ledger_enter_locked(shoal__ledger_t *ledger,
                                              uint64_t commands, uint64_t bytes)
{
    ledger->taken_over += commands;
    shoal__counter_add(&ledger->entered_commands, commands);
    shoal__counter_add(&ledger->entered_bytes, bytes);
}

/* The account of the route is up to date: what entered is in it. */
static inline void shoal__ledger_published(shoal__ledger_t *ledger)
{
    atomic_store_explicit(&ledger->entered_commands, 0, memory_order_release);
    atomic_store_explicit(&ledger->entered_bytes, 0, memory_order_release);
}

/* Commands that have no result yet, those in the mailbox not counted. */
static inline uint64_t shoal__ledger_owed(const shoal__ledger_t *ledger)
{
    return shoal__counter_get(&ledger->commands_here) + ledger->taken_over -
           ledger->settled;
}

/* Hand a command its result, and note it. */
static inline void shoal__ledger_complete(shoal__ledger_t *ledger,
                                          shoal_client_t *client,
                                          const shoal__request_t *request,
                                          const shoal_result_t *result)
{
    ledger->settled++;
    if (request->on_result)
        request->on_result(client, result, request->data);
}

/* Fail a command that never entered a pipe: it was not executed.  `status` is SHOAL_E*,
 * `detail` the reason in words. */
void shoal__ledger_fail_unplaced(shoal__ledger_t *ledger, shoal_client_t *client,
                                 const shoal__request_t *request, int status,
                                 const char *detail);

/* A call begins that may run callbacks, at now_us; or the innermost one ends. */
static inline void shoal__ledger_enter_call(shoal__ledger_t *ledger, uint64_t now_us)
{
    ledger->depth++;
    ledger->now_us = now_us;
}
static inline void shoal__ledger_leave_call(shoal__ledger_t *ledger)
{
    ledger->depth--;
}

#endif
