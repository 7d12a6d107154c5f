/* SPDX-License-Identifier: MIT */
#include "core/places.h"

void shoal__places_change(shoal__places_t *places, bool comes_first, bool has_place)
{
    places->taken += has_place ? 1u : -1u;
    if (comes_first)
        places->kept -= has_place ? 1u : -1u;
}

void shoal__places_rank(shoal__places_t *places, bool comes_first, bool has_place)
{
    if (!has_place)
        places->kept += comes_first ? 1u : -1u;
}

bool shoal__places_have_room(const shoal__places_t *places, bool comes_first)
{
    return places->max == 0 ||
           places->taken + (comes_first ? 0 : places->kept) < places->max;
}

bool shoal__places_are_short(const shoal__places_t *places)
{
    return places->max > 0 && places->kept > 0 &&
           places->taken + places->kept > places->max;
}
