/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_SERVER_H
#define SHOAL_BENCH_SERVER_H

/*
 * A private redis-server on a Unix socket in a folder of its own, and on a TCP port of
 * 127.0.0.1 if asked, or on one with TLS as well, without persistence.  A small guard process holds it: the guard
 * ends the server and removes the folder when server_stop() is called, or when this
 * process ends in whatever way.  If the guard itself is killed, the system ends the
 * server.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct server {
    pid_t guard;
    int leash; /* the guard waits for its end of this pipe to close */
    char program[PATH_MAX];
    char folder[80];
    char certificates[80]; /* the folder of ca.crt ...; "": it speaks no TLS */
    char socket_path[100];
    int port;     /* 0: none */
    int tls_port; /* 0: none */
    int bus_port; /* of a node of a cluster; 0: none */
} server_t;

typedef struct server_plan {
    uint64_t cpu;  /* or MACHINE_NO_CPU */
    bool has_port; /* of TCP */
    bool has_tls;  /* ... and another one with TLS */
    bool
        is_node; /* ... and one for the nodes of a cluster, which it has not joined yet; with
                      TLS nodes use that with each other, too */
    const char
        *certificates; /* the folder of another server, which ends after this one;
                                 NULL: it makes its own */
} server_plan_t;

/* Starts one, before this process has any thread.  Returns -1 with a line in `problem`. */
int server_start(server_t *server, const server_plan_t *plan, char *problem,
                 size_t problem_bytes);

/* Guards hold the leashes of the servers that were started before theirs: the last server is
 * the first to be stopped. */
void server_stop(server_t *server);

#endif
