/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_TARGET_TLS_H
#define SHOAL_BENCH_LOAD_TARGET_TLS_H

/* TLS on connections of hiredis, by its own layer over OpenSSL. */

#include <hiredis/hiredis.h>

typedef struct target_tls {
    char *ca_file;              /* NULL: the system's authorities */
    char *cert_file, *key_file; /* of the client; NULL: none */
    char *server_name; /* that the server's certificate must be for; NULL: its host */
} target_tls_t;

void target_tls_release(target_tls_t *tls);

/* Before the first command: does the handshake on a blocking connection, or begins it on
 * an asynchronous one.  Returns -1; the connection may know more. */
int target_tls_begin(const target_tls_t *tls, redisContext *connection);

#endif
