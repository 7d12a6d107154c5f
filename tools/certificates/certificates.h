/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_CERTIFICATES_H
#define SHOAL_TOOLS_CERTIFICATES_H

/*
 * Certificates for tests and benchmarks, made on the spot: P-256 keys, SHA-256.  Each is two
 * PEM files in one folder, NAME.crt and NAME.key, which replace earlier ones in one step.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct certificate {
    const char *name;        /* of the two files */
    const char *issuer;      /* the NAME of the files that sign it; NULL: its own key */
    const char *common_name; /* of its subject */
    /* The names it is good for, as in "DNS:localhost,IP:127.0.0.1"; NULL: none. */
    const char *alternative_names;
    bool is_authority;       /* it may sign others */
    int64_t from_s, until_s; /* when it is valid, in seconds from now */
} certificate_t;

/* Make one certificate.  False: a file cannot be written, or the issuer's not be read. */
bool certificate_make(const char *folder, const certificate_t *certificate);

/*
 * Make the usual set:
 *
 *   ca, other_ca     two authorities that know nothing of each other
 *   server           localhost, 127.0.0.1 and ::1, signed by ca, as the next ones are
 *   client           for clients
 *   expired          as server, but until an hour ago
 *   not_yet          as server, but from tomorrow
 *   other_name       for other.example and 192.0.2.1
 *   common_name      "localhost" is its common name, and no alternative name
 *   foreign          as server, signed by other_ca
 *   self_signed      as server, signed by its own key
 */
bool certificates_make(const char *folder);

#endif
