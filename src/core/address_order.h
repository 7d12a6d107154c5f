/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ADDRESS_ORDER_H
#define SHOAL_CORE_ADDRESS_ORDER_H

/*
 * In which order the addresses of one name are tried.
 *
 * The resolver ranks them (RFC 6724).  The families are interleaved (RFC 8305, section 4),
 * beginning with the family of the first address, so that a network without IPv6 costs one
 * address and not all of them.  Within a family the resolver's order stays.
 *
 * The address on which the server answered last comes first: a name with several servers
 * then leads to the same one as long as it works.  The address that failed last comes last.
 */

#include "core/address.h"

/* `worked` and `failed` may be no address (bytes 0). */
void shoal__address_order(shoal__addresses_t *addresses, const shoal__address_t *worked,
                          const shoal__address_t *failed);

#endif
