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
    char socket_path[100];
    int port;     /* 0: none */
    int tls_port; /* 0: none */
    int bus_port; /* of a node of a cluster; 0: none */
} server_t;

typedef enum server_ports {
    SERVER_NO_PORT,
    SERVER_PORT,
    SERVER_PORTS_WITH_TLS, /* its certificates are in its folder: ca.crt ... */
    SERVER_PORTS_OF_NODE,  /* of a cluster, which it has not joined yet */
} server_ports_t;

/* Starts one, before this process has any thread.
 *
 * `cpu` may be MACHINE_NO_CPU.  Returns -1 with a line in `problem`. */
int server_start(server_t *server, uint64_t cpu, server_ports_t ports, char *problem,
                 size_t problem_bytes);

/* Guards hold the leashes of the servers that were started before theirs: the last server is
 * the first to be stopped. */
void server_stop(server_t *server);

#endif
