/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TLS_H
#define SHOAL_TLS_H

/*
 * Connections that are encrypted, and a server that proves who it is.  The library uses
 * OpenSSL 3; it can be built without.
 *
 * In URLs: `rediss://` and `valkeys://`, and for Unix sockets `rediss+unix://` and
 * `valkeys+unix://`.  Their further keys are `tls_ca_file`, `tls_ca_dir`, `tls_cert_file`,
 * `tls_key_file`, `tls_server_name`, `tls_min_version` (1.2, 1.3), `tls_ciphers` and
 * `tls_ciphersuites`.  Each stands for the setter of that name.
 */

#include <shoal/options.h>
#include <shoal/version.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A version of TLS. */
typedef enum shoal_tls_version {
    SHOAL_TLS_1_2 = 12, /**< the default: 1.2 or newer */
    SHOAL_TLS_1_3 = 13
} shoal_tls_version_t;

/**
 * Was the library built with TLS?
 *
 * Threads: any
 * Errors:  none
 * Since:   0.2
 */
SHOAL_EXTERN bool shoal_has_tls(void);

/**
 * Encrypt every connection of the client.  Default: false.
 *
 * Before a byte of the program leaves (credentials, commands), the server must show a
 * certificate that an authority which the client trusts has signed, that has not expired,
 * and that is for the host of the address: the name, or the numeric address.  Wildcards
 * stand for a whole label only.  Over a Unix socket the name is "localhost", unless
 * shoal_options_set_tls_server_name() says another one.
 *
 * A server that fails is an attempt that failed with SHOAL_ETLS: commands that wait fail
 * with that status, not executed, and the next attempt follows after a second or more.  If
 * the server cannot be reached at all, commands wait as they do without TLS.
 *
 * The library resumes sessions, which saves most of a handshake, and sends nothing before
 * the handshake is over.  A connection that ends without TLS's own word for the end
 * (close_notify) counts as lost, like any other.
 *
 * @param is_on true: as `rediss://` in a URL
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 *          SHOAL_ETLS   the library was built without TLS
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls(shoal_options_t *options, bool is_on);

/**
 * Trust the authorities in a file (PEM), instead of those that the system trusts.
 *
 * The files of this and the following settings are read at the first attempt to connect,
 * and again at an attempt that finds them changed.  If the new files cannot be used, the
 * client goes on with what it read before, and reports SHOAL_EVENT_TLS_FILES; if none was
 * ever read, the attempt fails with SHOAL_ETLS.  See shoal_client_reload_tls().
 *
 * @param path copied; NULL: the system's authorities, or those of the folder below
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the path is empty; SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_ca_file(shoal_options_t *options,
                                               const char *path);

/**
 * Trust the authorities in a folder, whose files have names as `openssl rehash` gives
 * them.  With shoal_options_set_tls_ca_file() both count.
 *
 * @param path copied; NULL: none
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the path is empty; SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_ca_dir(shoal_options_t *options,
                                              const char *path);

/**
 * Show a certificate to the server, which may ask for one.  Default: none.
 *
 * @param cert_file certificate in PEM, with the rest of its chain behind it; copied.  NULL:
 *                  none, and key_file is NULL too
 * @param key_file  its private key in PEM, without a pass phrase; copied.  NULL: the key is
 *                  in cert_file
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, a path is empty, or there is a key without a
 *                       certificate; SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_certificate(shoal_options_t *options,
                                                   const char *cert_file,
                                                   const char *key_file);

/**
 * Ask for the server by this name, and require a certificate for it, whatever the address
 * is.  For servers behind tunnels, and clusters that tell addresses.
 *
 * @param name name or numeric address, copied; NULL: the host of the address
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the name is empty, begins with a dot or has
 *                       more than 255 bytes; SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_server_name(shoal_options_t *options,
                                                   const char *name);

/**
 * The oldest version of TLS to speak.  Default: SHOAL_TLS_1_2.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the version is another one
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_min_version(shoal_options_t *options,
                                                   shoal_tls_version_t version);

/**
 * The ciphers to offer in TLS 1.2, in OpenSSL's words: "ECDHE+AESGCM".  Default: OpenSSL's.
 * A list that OpenSSL does not know fails the attempts to connect, with SHOAL_ETLS.
 *
 * @param ciphers copied; NULL: OpenSSL's choice
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the list is empty; SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_ciphers(shoal_options_t *options,
                                               const char *ciphers);

/**
 * The same for TLS 1.3: "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256".
 *
 * @param ciphersuites copied; NULL: OpenSSL's choice
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL, or the list is empty; SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_ciphersuites(shoal_options_t *options,
                                                    const char *ciphersuites);

/**
 * Do not check the server's certificate.  Whoever is between can read and change
 * everything, passwords included.  For tests.  Default: false.  No URL can say it, and
 * each connection reports SHOAL_EVENT_TLS_UNVERIFIED.
 *
 * Threads: setup
 * Errors:  SHOAL_EINVAL options is NULL
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_options_set_tls_insecure(shoal_options_t *options,
                                                bool is_insecure);

/**
 * Read the files of TLS again, now.  Connections that exist go on as they are; later ones
 * use what was read.  If the files cannot be used, nothing changes.
 *
 * The library sees by itself, when it connects, that a file has another time, size or
 * number than when it was read; for folders call this.
 *
 * @param ret_error receives the reason of a failure; may be NULL
 *
 * Threads: any
 * Blocks:  while the files are read
 * Errors:  SHOAL_EINVAL  client is NULL, or has no TLS; or ret_error has no size
 *          SHOAL_ETLS    the files cannot be used
 *          SHOAL_ECLOSED the client is closed
 *          SHOAL_EFORK   the client belongs to the parent process
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_client_reload_tls(shoal_client_t *client,
                                         shoal_error_t *ret_error);

#ifdef __cplusplus
}
#endif

#endif
