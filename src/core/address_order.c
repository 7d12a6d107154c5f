/* SPDX-License-Identifier: MIT */
#include "core/address_order.h"

/* The next address from *at on whose family is that of the first one, or is not; NULL:
 * none is left. */
static const shoal__address_t *next_of(const shoal__addresses_t *from, bool is_first,
                                       unsigned *at)
{
    sa_family_t family = from->items[0].at.ss_family;

    while (*at < from->count) {
        const shoal__address_t *address = &from->items[(*at)++];
        if ((address->at.ss_family == family) == is_first)
            return address;
    }
    return NULL;
}

static void interleave(shoal__addresses_t *addresses)
{
    const shoal__addresses_t from = *addresses;
    unsigned at[2] = {0, 0}, count = 0;

    for (unsigned turn = 0; count < from.count; turn++) {
        const shoal__address_t *next = next_of(&from, turn % 2 == 0, &at[turn % 2]);
        if (next)
            addresses->items[count++] = *next;
    }
}

/* Move the address to place `to`; those in between make way. */
static void move(shoal__addresses_t *addresses, const shoal__address_t *moved,
                 unsigned to)
{
    shoal__address_t *items = addresses->items;
    const shoal__address_t address = *moved;
    unsigned at = 0;

    while (at < addresses->count && !shoal__address_equals(&items[at], &address))
        at++;
    if (at == addresses->count)
        return;
    if (at > to)
        memmove(&items[to + 1], &items[to], (at - to) * sizeof *items);
    else
        memmove(&items[at], &items[at + 1], (to - at) * sizeof *items);
    items[to] = address;
}

void shoal__address_order(shoal__addresses_t *addresses, const shoal__address_t *worked,
                          const shoal__address_t *failed)
{
    if (addresses->count == 0)
        return;
    interleave(addresses);
    move(addresses, worked, 0);
    move(addresses, failed, addresses->count - 1);
}
