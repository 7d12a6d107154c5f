/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_TLS_VAULT_H
#define SHOAL_NET_TLS_VAULT_H

/*
 * What was read from the files of TLS, once: authorities, certificate, key.  And the
 * tickets by which sessions are resumed: another vault may trust others, so they are those
 * of one vault.  For files that know OpenSSL.
 *
 * Threads: the loop thread; any thread may read a vault, and drop one.
 */

#include "core/tls_settings.h"
#include <openssl/ssl.h>

typedef struct shoal__tls_vault shoal__tls_vault_t;

/* With one reference.  0, SHOAL_ETLS or SHOAL_ENOMEM: why. */
int shoal__tls_vault_read(const shoal__tls_settings_t *settings,
                          shoal__tls_vault_t **ret, char why[SHOAL__TLS_WHY_BYTES]);
shoal__tls_vault_t *shoal__tls_vault_share(shoal__tls_vault_t *vault);
void shoal__tls_vault_drop(shoal__tls_vault_t *vault); /* NULL is allowed */

SSL_CTX *shoal__tls_vault_ctx(const shoal__tls_vault_t *vault);

/* The application data of each SSL that the vault makes begins with this: tickets that come
 * are the vault's, for this server. */
#define SHOAL__TLS_SERVER_BYTES 280 /* of a target's name */
typedef struct shoal__tls_customer {
    shoal__tls_vault_t *vault;
    char server[SHOAL__TLS_SERVER_BYTES]; /* "": it gets no tickets */
} shoal__tls_customer_t;

/* A ticket for this server, which is the caller's, and is given out once; NULL: none. */
SSL_SESSION *shoal__tls_vault_ticket(shoal__tls_vault_t *vault, const char *server);
/* A ticket was shown: was it taken?  A server that refuses some in a row gets none. */
void shoal__tls_vault_judge(shoal__tls_vault_t *vault, const char *server,
                            bool was_taken);

#endif
