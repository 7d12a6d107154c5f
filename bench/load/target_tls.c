/* SPDX-License-Identifier: MIT */
#include "load/target_tls.h"

#include <stdlib.h>

void target_tls_release(target_tls_t *tls)
{
    free(tls->ca_file);
    free(tls->cert_file);
    free(tls->key_file);
    free(tls->server_name);
    *tls = (target_tls_t){0};
}

#if SHOAL_BENCH_TLS

#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>

static redisSSLContext *shared; /* of all connections, to the end of the program */

static void free_shared(void)
{
    redisFreeSSLContext(shared);
}

/* Each connection holds a reference of its own to what it needs of the context. */
int target_tls_begin(const target_tls_t *tls, redisContext *connection)
{
    redisSSLContextError error;

    if (!shared) {
        shared = redisCreateSSLContext(tls->ca_file, NULL, tls->cert_file,
                                       tls->key_file, tls->server_name, &error);
        if (!shared)
            return -1;
        atexit(free_shared);
    }
    return redisInitiateSSLWithContext(connection, shared) == REDIS_OK ? 0 : -1;
}

#else

int target_tls_begin(const target_tls_t *tls, redisContext *connection)
{
    (void)tls;
    (void)connection;
    return -1;
}

#endif
