/* SPDX-License-Identifier: MIT */
#include "core/trust_rule.h"

#include <netinet/in.h>
#include <stdint.h>

#define IPV4(a, b, c, d)                                                               \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

static shoal__trust_range_t range_of_ipv4(uint32_t ip)
{
    if (ip >> 24 == 127)
        return SHOAL__RANGE_LOOPBACK;
    if (ip >> 16 == IPV4(0, 0, 169, 254) || ip == IPV4(100, 100, 100, 200))
        return SHOAL__RANGE_LINK;
    if (ip >> 24 == 10 || ip >> 20 == IPV4(172, 16, 0, 0) >> 20 ||
        ip >> 16 == IPV4(192, 168, 0, 0) >> 16)
        return SHOAL__RANGE_PRIVATE;
    return ip >> 24 == 0 || ip >> 28 >= 0xe ? SHOAL__RANGE_NONE : SHOAL__RANGE_ORDINARY;
}

static shoal__trust_range_t range_of_ipv6(const uint8_t ip[16])
{
    static const uint8_t zeros[15], mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t metadata[16] = {0xfd, 0x00,        0x0e,
                                         0xc2, [14] = 0x02, [15] = 0x54};

    if (memcmp(ip, mapped, sizeof mapped) == 0)
        return range_of_ipv4(IPV4(ip[12], ip[13], ip[14], ip[15]));
    if (memcmp(ip, zeros, sizeof zeros) == 0 && ip[15] <= 1)
        return ip[15] == 1 ? SHOAL__RANGE_LOOPBACK : SHOAL__RANGE_NONE;
    if ((ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) ||
        memcmp(ip, metadata, sizeof metadata) == 0)
        return SHOAL__RANGE_LINK;
    if ((ip[0] & 0xfe) == 0xfc)
        return SHOAL__RANGE_PRIVATE;
    return ip[0] == 0xff ? SHOAL__RANGE_NONE : SHOAL__RANGE_ORDINARY;
}

shoal__trust_range_t shoal__trust_range(const shoal__address_t *address)
{
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;

    switch (address->at.ss_family) {
    case AF_INET:
        memcpy(&ipv4, &address->at, sizeof ipv4);
        return range_of_ipv4(ntohl(ipv4.sin_addr.s_addr));
    case AF_INET6:
        memcpy(&ipv6, &address->at, sizeof ipv6);
        return range_of_ipv6(ipv6.sin6_addr.s6_addr);
    case AF_UNIX:
        return SHOAL__RANGE_LOOPBACK;
    default:
        return SHOAL__RANGE_NONE;
    }
}

bool shoal__trust_permits(const shoal__address_t *named, const shoal__address_t *by)
{
    shoal__trust_range_t range = shoal__trust_range(named);

    return range == SHOAL__RANGE_ORDINARY || range == SHOAL__RANGE_PRIVATE ||
           (range != SHOAL__RANGE_NONE && range == shoal__trust_range(by));
}
