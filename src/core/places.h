/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PLACES_H
#define SHOAL_CORE_PLACES_H

/*
 * The places for connections that a client may have at most.  Some connections come first: for
 * each that is not there a place is kept from the others.
 */

#include <stdbool.h>

typedef struct shoal__places {
    unsigned max;   /* 0: any number */
    unsigned taken; /* by connections that exist, or are being made */
    unsigned kept;  /* for those that come first, and do not exist */
} shoal__places_t;

/* A connection gets a place, or gives it back. */
void shoal__places_change(shoal__places_t *places, bool comes_first, bool has_place);
/* A connection comes first from now on, or no more. */
void shoal__places_rank(shoal__places_t *places, bool comes_first, bool has_place);

/* Is there a place for such a connection? */
bool shoal__places_have_room(const shoal__places_t *places, bool comes_first);
/* Do others have to give theirs to those that come first? */
bool shoal__places_are_short(const shoal__places_t *places);

#endif
