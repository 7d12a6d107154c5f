/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_ADDRESS_H
#define SHOAL_CORE_ADDRESS_H

/* Where to connect: an address of the system. */

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

/* The greatest number of addresses that one attempt to connect tries. */
#define SHOAL__ADDRESSES_MAX 16

typedef struct shoal__address {
    struct sockaddr_storage at;
    socklen_t bytes; /* 0: none */
} shoal__address_t;

typedef struct shoal__addresses {
    shoal__address_t items[SHOAL__ADDRESSES_MAX];
    unsigned count;
} shoal__addresses_t;

/* False if one of them is none. */
static inline bool shoal__address_equals(const shoal__address_t *one,
                                         const shoal__address_t *other)
{
    return one->bytes > 0 && one->bytes == other->bytes &&
           memcmp(&one->at, &other->at, one->bytes) == 0;
}

#endif
