/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_PLAN_H
#define SHOAL_CLIENT_PLAN_H

/*
 * Decides whether and how commands may be sent, before any of them is queued.  The plan
 * looks at their sizes, their caller's flags and timeout, the refused commands, and
 * MULTI ... EXEC.  Then it writes the request of each command.
 *
 * The plan knows no lock, no clock and no client.
 *
 * Guarantee: the plan accepts or refuses a submission as a whole, and changes nothing
 * when it refuses.
 */

#include "core/options.h"
#include "core/refusal.h"
#include "core/request.h"
#include "resp/command_book.h"
#include <shoal/command.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most commands of one submission. */
#define SHOAL__PLAN_COMMANDS_MAX 65536

/* Commands, and what their caller asks for. */
typedef struct shoal__submission {
    const shoal_command_t *commands;
    size_t count;
    shoal_call_t call; /* as shoal__call_read() wrote it */
    shoal_result_cb on_result;
    void *data;
    uint64_t first_tag;           /* of a completion queue: that of the first command */
    struct shoal__waiter *waiter; /* of a blocking call: its thread.  It is not plain
                                     afterwards if a lease carries it.  Else NULL */
    bool *is_leased; /* of a blocking call: does a lease carry it?  Else NULL */
    bool is_lent;    /* large arguments stay where they are until the result */
    bool is_monitor; /* MONITOR, for a lease, by its own function */
} shoal__submission_t;

/* A submission that was accepted. */
typedef struct shoal__plan {
    const shoal__submission_t *submission; /* borrowed */
    shoal__command_book_t *book;  /* of a cluster: resp/command_slot.h; borrowed */
    size_t bytes;                 /* of all commands, encoded */
    size_t large_bytes;           /* of their large arguments */
    size_t referred_bytes;        /* of those that are not copied */
    shoal__extra_t *extra;        /* one for all requests; NULL: none */
    bool is_unit;                 /* the commands are a MULTI ... EXEC */
    shoal__admission_t admission; /* of the command, if it is the only one */
    bool may_be_apart;            /* some requests may be APART */
    bool is_together;             /* they take the same connection */
    bool may_leave_primary;       /* replicas may execute what only reads */
    bool is_claimed;              /* they are counted: shoal__lease_claim() */
    size_t leases;     /* blocking commands, each of which wants a lease of its own */
    bool has_slots;    /* the client is one of a cluster, or may be */
    bool has_one_slot; /* for all of the commands: */
    unsigned slot;
    bool has_route;      /* the requests have to know the caller's route */
    bool is_spread;      /* a command is one that the route has to read (SLOT_SPREAD) */
    int refusal;         /* see shoal__extra_t */
    uint16_t flags;      /* of every request: enum shoal__request_flag */
    uint64_t timeout_us; /* of every command that does not block on a lease;
                            SHOAL_TIMEOUT_NEVER: none */
} shoal__plan_t;

/* Does a command of it not travel on the shared connection? */
static inline bool shoal__plan_is_leased(const shoal__plan_t *plan)
{
    return plan->leases > 0 || plan->submission->call.lease;
}

/* The extras of a caller, who may have been compiled for a newer version of the
 * library; NULL: no extras.  False if they make no sense, or ask for what is not known
 * here. */
bool shoal__call_read(const shoal_call_t *call, shoal_call_t *ret_call);

/* May the commands be sent?  0, SHOAL_EINVAL, SHOAL_ETOOBIG, SHOAL_EREFUSED, SHOAL_ENOENT,
 * SHOAL_ECROSSSLOT or SHOAL_ENOMEM; on failure *ret_plan is untouched.  The extra belongs to the
 * requests; if none of them is queued, the caller frees it. */
int shoal__plan_make(const shoal__submission_t *submission,
                     const shoal_options_t *options, shoal__command_book_t *book,
                     shoal__plan_t *ret_plan);

/* How long the command may take, from its submission: what the call says; for a command
 * that blocks on a lease, what the command says; else what the options say. */
uint64_t shoal__plan_timeout_us(const shoal_command_t *command,
                                const shoal_call_t *call,
                                const shoal_options_t *options);

/* The request of command i, without its ticket. */
void shoal__plan_request(const shoal__plan_t *plan, size_t i, uint64_t now_us,
                         shoal__request_t *ret_request);

/* The slot of command i (resp/command_slot.h), if the plan has slots. */
unsigned shoal__plan_slot(const shoal__plan_t *plan, size_t i);

/* Write the bytes of command i to `at`; values that the plan refers to stay where they
 * are.  Returns one past the last byte. */
char *shoal__plan_write(const shoal__plan_t *plan, size_t i, char *at);

#endif
