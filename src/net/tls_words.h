/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_TLS_WORDS_H
#define SHOAL_NET_TLS_WORDS_H

/* Why TLS failed, in words: for files that know OpenSSL.  Names in certificates are
 * foreign bytes: they are escaped. */

#include "core/tls_settings.h"
#include <openssl/x509.h>

/* What is wrong with the certificate that OpenSSL looks at.  name: that it should be
 * for. */
void shoal__tls_words_of_certificate(X509_STORE_CTX *store, const char *name,
                                     char words[SHOAL__TLS_WHY_BYTES]);

/* The reason of OpenSSL's last failure; its queue of errors is empty then. */
void shoal__tls_words_of_queue(char words[SHOAL__TLS_WHY_BYTES]);

/* An error of OpenSSL's queue. */
void shoal__tls_words_of_error(unsigned long error, char words[SHOAL__TLS_WHY_BYTES]);

#endif
