/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_OPENSSL_H
#define SHOAL_PYTHON_OPENSSL_H

/*
 * OpenSSL, found at run time.  A wheel carries none, so that the updates of the system, or of
 * the Python distribution, reach it: the extension defines the functions that the library
 * calls, and they lead to those of the libssl.so.3 that is there.
 *
 * SHOALPY_FINDS_OPENSSL: 0 if the extension is linked with a libshoal that looks after that
 * itself, or without TLS.
 */

/* Look for it, once in a process.  NULL if it is there, else why not.  Threads: any. */
const char *shoalpy_openssl_find(void);

#endif
