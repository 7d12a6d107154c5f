/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_LEASE_RULE_H
#define SHOAL_CORE_LEASE_RULE_H

/*
 * What the commands of a lease did to their connection, what has to be undone before
 * another holder may have it, and what a blocking command that was to be given up means.
 *
 * The state changes with outcomes, never when a command is sent: a command that the
 * server refused changed nothing.  In doubt a bit is set: undoing too much does no harm.
 *
 * Guarantee: a connection that shoal__lease_cleaning() calls fit is, once the answers to
 * the cleaning commands are all OK, as it was after its greeting.
 */

#include <shoal/result.h>
#include <stdbool.h>

/* What a command can do to its connection. */
typedef enum shoal__lease_effect {
    SHOAL__LEASE_NONE,
    SHOAL__LEASE_MULTI,
    SHOAL__LEASE_EXEC,
    SHOAL__LEASE_DISCARD,
    SHOAL__LEASE_WATCH,
    SHOAL__LEASE_UNWATCH,
    SHOAL__LEASE_SELECT,
    SHOAL__LEASE_MONITOR,
    SHOAL__LEASE_OTHER, /* CLIENT SETNAME, CLIENT TRACKING, READONLY, a name that is not
                           known: nothing undoes it for certain */
    SHOAL__LEASE_EFFECTS
} shoal__lease_effect_t;

/* The state of a leased connection. */
enum shoal__lease_bit {
    SHOAL__LEASE_IN_MULTI = 1 << 0,
    SHOAL__LEASE_WATCHES = 1 << 1,
    SHOAL__LEASE_OTHER_DATABASE = 1 << 2, /* than that of the greeting, perhaps */
    SHOAL__LEASE_CHANGED = 1 << 3,        /* for good */
    SHOAL__LEASE_UNREAD = 1 << 4          /* a reply may come that nobody waits for */
};

typedef enum shoal__lease_outcome {
    SHOAL__LEASE_NOT_SENT, /* the server never saw the whole command */
    SHOAL__LEASE_SILENT,   /* it may have, and its reply was not read */
    SHOAL__LEASE_REFUSED,  /* an error reply */
    SHOAL__LEASE_ABORTED,  /* the error reply that ends a MULTI: EXECABORT */
    SHOAL__LEASE_OK,       /* the reply OK */
    SHOAL__LEASE_ANSWERED, /* any other reply: QUEUED, or one that a sink took */
    SHOAL__LEASE_OUTCOMES
} shoal__lease_outcome_t;

shoal__lease_outcome_t shoal__lease_outcome(const shoal_result_t *result);

/* The bits after a command with this effect had this outcome. */
unsigned shoal__lease_after(unsigned bits, shoal__lease_effect_t effect,
                            shoal__lease_outcome_t outcome);

typedef struct shoal__lease_cleaning {
    bool is_fit;                   /* else the connection has to be closed */
    bool discard, unwatch, select; /* the commands to send, in this order */
} shoal__lease_cleaning_t;

shoal__lease_cleaning_t shoal__lease_cleaning(unsigned bits);

/* The library asked the server to let a blocked command go, because of its deadline
 * (status SHOAL_ETIMEOUT) or because its caller cancelled it (SHOAL_ECANCELLED).  This
 * result came: change it into what the caller gets.
 *
 *   a reply with data    it stays: what was popped is the caller's
 *   nil, or UNBLOCKED    `status`, NOT_EXECUTED: nothing was popped; UNKNOWN if an earlier
 *                        attempt may have been executed
 *   MOVED, READONLY ...  the same: the server has lost the slot or its role
 *   another error        it stays
 *   no reply             `status`, and the fate that it has */
void shoal__lease_unblocked(shoal_result_t *result, int status, bool may_have_run);

#endif
