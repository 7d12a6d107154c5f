/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_REASON_H
#define SHOAL_CLIENT_REASON_H

/*
 * Says in words why a submission was refused, if the caller asked for the reason.
 *
 * This unit looks at the submission once more after the refusal, so that words cost
 * nothing while commands are accepted.  It knows no lock, no clock and no client.
 */

#include "client/plan.h"
#include <shoal/errors.h>

/* What a bound is compared with. */
typedef struct shoal__reason_load {
    uint64_t queued;  /* commands that wait to be written */
    uint64_t bytes;   /* encoded bytes of all outstanding commands */
    bool lacks_lease; /* it is the leases of blocking commands that are all taken */
    bool lacks_half;  /* ... or the half of the room for commands whose node is down */
    shoal__command_book_t *book; /* as resp/command_slot.h says */
} shoal__reason_load_t;

/* Fill submission->call.error, if there is one.  `code` is what the submission was
 * refused with.  Returns `code`. */
int shoal__reason_say(const shoal__submission_t *submission,
                      const shoal_options_t *options, const shoal__reason_load_t *load,
                      int code);

#endif
