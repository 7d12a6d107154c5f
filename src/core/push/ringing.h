/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_RINGING_H
#define SHOAL_CORE_PUSH_RINGING_H

/*
 * When are consumers rung for, who sleep beside mailboxes that have items now?  Not behind each
 * read: a server that has much to send brings the next part while the loop hands out this one,
 * and a consumer that wakes for each part takes the processor from the loop.  So the loop looks
 * first whether there is more, without sleeping, and rings when there is nothing, or
 * SHOAL__RINGING_HELD_US after the first of these looks.
 */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__RINGING_HELD_US 50

/* All zero: nobody is to be rung for. */
typedef struct shoal__ringing {
    bool is_held;
    uint64_t since_us; /* is_held: the first look for more */
} shoal__ringing_t;

/* The loop is about to poll, and consumers are to be rung for.  has_items: items came since
 * it polled last.  True: ring now; false: poll without sleeping first. */
bool shoal__ringing_is_due(shoal__ringing_t *ringing, bool has_items, uint64_t now_us);

/* They were rung for. */
static inline void shoal__ringing_done(shoal__ringing_t *ringing)
{
    ringing->is_held = false;
}

#endif
