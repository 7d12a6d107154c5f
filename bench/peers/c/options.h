/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_OPTIONS_H
#define SHOAL_PEER_OPTIONS_H

/* The command line that every peer understands; see ../README.md. */

#include <stdbool.h>
#include <stdint.h>

typedef struct peer_options {
    const char *client;
    const char *socket_path; /* NULL: host and port */
    const char *host;
    int port;
    char *
        ca_file; /* TLS, with a certificate that this file's authority signed; NULL: none */
    bool is_cluster; /* host and port are those of a node */
    uint64_t callers;
    uint64_t rate; /* commands per second; 0: closed loop */
    uint64_t value_bytes;
    uint64_t duration_us;
    uint64_t warmup_us;
    bool has_no_command; /* the generator alone: every command is done at once */
} peer_options_t;

/* Says on standard error what is wrong, and returns -1. */
int peer_options_parse(peer_options_t *options, int argc, char **argv);

#endif
