/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_TLS_SETTINGS_H
#define SHOAL_CORE_TLS_SETTINGS_H

/* How connections are encrypted, as the options say: see <shoal/tls.h>. */

#include <shoal/tls.h>
#include <stdbool.h>

/* Room for the reason of a failure. */
#define SHOAL__TLS_WHY_BYTES 240

typedef struct shoal__tls_settings {
    bool is_on;
    bool is_insecure; /* the server's certificate is not checked */
    shoal_tls_version_t min_version;
    char *ca_file, *ca_dir;     /* both NULL: what the system trusts */
    char *cert_file, *key_file; /* NULL: the client shows no certificate */
    char *server_name;          /* NULL: the host of the endpoint */
    char *ciphers;              /* up to TLS 1.2; NULL: OpenSSL's choice */
    char *ciphersuites;         /* of TLS 1.3; NULL: OpenSSL's choice */
} shoal__tls_settings_t;

/* 0 or SHOAL_ENOMEM: *ret is then empty. */
int shoal__tls_settings_copy(const shoal__tls_settings_t *from,
                             shoal__tls_settings_t *ret);
void shoal__tls_settings_release(shoal__tls_settings_t *settings);

#endif
