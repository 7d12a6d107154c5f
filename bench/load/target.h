/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_TARGET_H
#define SHOAL_BENCH_LOAD_TARGET_H

/* Where the server is and who we are there, and plain hiredis connections to it. */

#include "load/target_tls.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct target {
    char *host; /* for TCP; NULL with a socket path */
    int port;
    char *socket_path; /* NULL for TCP */
    char *user;        /* NULL: the default user */
    char *password;    /* NULL: no authentication */
    int database;
    int resp; /* 2 or 3 */
    bool is_tls;
    int plain_port;      /* of the same server, without TLS; 0: not known */
    bool is_cluster;     /* host and port are those of a node */
    int standalone_port; /* of a server beside the cluster; 0: there is none */
    target_tls_t tls;
    char *sentinel; /* what the sentinel calls the primary; NULL: there is none */
    char
        *sentinel_host; /* once the primary was found; host and port are then its own */
    int sentinel_port;
} target_t;

int target_init(target_t *target);
void target_release(target_t *target);

/* Replaces everything but the protocol.  Returns -1 with a line in ret_problem. */
int target_set_url(target_t *target, const char *url, const char **ret_problem);
int target_set_text(char **field, const char *text);

/* Host and port are those of a sentinel: asks it, and replaces them by the primary's.
 * Returns -1 with a line in `problem`. */
int target_find_primary(target_t *target, char *problem, size_t problem_bytes);

/* The address as a URL, without credentials. */
void target_describe(const target_t *target, char *text, size_t text_bytes);

/* A blocking connection, greeted; replies are awaited for 5 seconds at most.  NULL
 * with a line in `problem` when there is none to be had. */
redisContext *target_connect(const target_t *target, char *problem,
                             size_t problem_bytes);

#endif
