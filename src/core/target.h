/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_TARGET_H
#define SHOAL_CORE_TARGET_H

/* The server that a connection leads to, and the credentials for it.  How a connection
 * behaves is in the configuration of its parts, which connections to many servers
 * share. */

typedef struct shoal__target {
    const char *name; /* as texts call it: "host:port", "[::1]:6379", or a path */
    const char *host; /* a name or a numeric address; NULL: unix_path counts */
    int port;
    const char *unix_path;
    const char *user;     /* NULL: the default user */
    const char *password; /* NULL: no authentication */
} shoal__target_t;

#endif
