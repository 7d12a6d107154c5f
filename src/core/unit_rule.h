/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_UNIT_RULE_H
#define SHOAL_CORE_UNIT_RULE_H

/*
 * Decides what the refusals of a unit (MULTI ... EXEC) mean together, when EXEC was answered
 * with an error.  A node of a cluster refuses each part with an error of its own, and then
 * EXEC, because a part is missing; or EXEC alone.  Nothing of the unit was executed then.
 *
 *     parts and EXEC were refused with     the unit as a whole
 *     the same MOVED, or the same ASK      follows it
 *     different ones, or one that ends     is sent again after a while
 *     anything that a user has to see      is not sent again
 *
 * EXEC says "EXECABORT ... because of: X" if X is its own reason, and else only that there
 * were errors before.
 */

#include "base/bytes.h"
#include <stdbool.h>

typedef enum shoal__unit_state {
    SHOAL__UNIT_WHOLE, /* no refusal so far */
    SHOAL__UNIT_NAMED, /* all refusals are this MOVED or ASK */
    SHOAL__UNIT_LATER,
    SHOAL__UNIT_FINAL
} shoal__unit_state_t;

/* All zero: no reply so far. */
typedef struct shoal__unit {
    shoal__unit_state_t state;
    shoal__bytes_t words; /* borrowed: of the error that stands for all */
} shoal__unit_t;

/* A part before EXEC was answered with this error. */
void shoal__unit_refused(shoal__unit_t *unit, shoal__bytes_t error);

/* EXEC was answered with this error.  True: *ret_words is what the server said of the whole
 * unit, a redirect or a refusal that ends by itself.  False: the errors are the results. */
bool shoal__unit_ended(shoal__unit_t *unit, shoal__bytes_t error,
                       shoal__bytes_t *ret_words);

#endif
