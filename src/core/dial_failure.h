/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_DIAL_FAILURE_H
#define SHOAL_CORE_DIAL_FAILURE_H

/* Which failure is told if a server has several addresses and none could be connected
 * to.  An answer of the server tells more than an address that this machine could not
 * try: a source address of IPv4 rules all addresses of IPv6 out. */

#include <errno.h>

typedef enum shoal__dial_failure {
    SHOAL__DIAL_NO_FAMILY, /* this machine, or the source address, lacks the family */
    SHOAL__DIAL_NO_WAY,    /* no route, or no such source address */
    SHOAL__DIAL_TRIED,     /* the address was tried, or the machine lacked means */
} shoal__dial_failure_t;

/* How much this errno tells: the failure that tells more is told, of two that tell as
 * much the later one. */
static inline shoal__dial_failure_t shoal__dial_failure_read(int error)
{
    switch (error) {
    case EAFNOSUPPORT:
        return SHOAL__DIAL_NO_FAMILY;
    case EADDRNOTAVAIL:
    case ENETUNREACH:
        return SHOAL__DIAL_NO_WAY;
    default:
        return SHOAL__DIAL_TRIED;
    }
}

#endif
