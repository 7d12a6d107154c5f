/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_TARGET_NAME_H
#define SHOAL_CORE_TARGET_NAME_H

/* The name of a server, as events, figures and callers have it. */

#define SHOAL__TARGET_NAME_BYTES 272 /* a host, brackets, a colon and a port */

/* "host:port", or "[::1]:6379". */
void shoal__target_name(char name[SHOAL__TARGET_NAME_BYTES], const char *host,
                        int port);

#endif
