/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAKE_TLS_H
#define SHOAL_TOOLS_FAKE_TLS_H

/*
 * The server's side of TLS, for the scripted server and the proxy.  It does no I/O: the
 * owner hands in what came from the client, and writes what fake_tls_out() has.
 * Running out of memory ends the test.
 */

#include "fault_proxy/fake_bytes.h"
#include <stdbool.h>

typedef struct fake_tls_config {
    const char *certificate_file, *key_file; /* PEM */
    /* Clients must show a certificate that one of this file signed.  NULL: they are asked
     * for none. */
    const char *client_ca_file;
    /* The only version it speaks, as 0x0302 (TLS 1.1) .. 0x0304 (TLS 1.3); 0: 1.2 and
     * 1.3. */
    int version;
    bool is_forgetful; /* it resumes no session */
} fake_tls_config_t;

/* What the connections of one server share; and one connection. */
typedef struct fake_tls fake_tls_t;
typedef struct fake_tls_session fake_tls_session_t;

/* NULL: a file cannot be used, or there is no TLS in this build; stderr says why. */
fake_tls_t *fake_tls_new(const fake_tls_config_t *config);
/* Its sessions may outlive it.  NULL is allowed. */
void fake_tls_free(fake_tls_t *tls);

fake_tls_session_t *fake_tls_begin(fake_tls_t *tls);
/* NULL is allowed. */
void fake_tls_end(fake_tls_session_t *session);

/* Take in what came from the client, and add to `plain` what it says. */
void fake_tls_receive(fake_tls_session_t *session, const void *data, size_t bytes,
                      fake_bytes_t *plain);
/* Encrypt bytes.  The session must be open. */
void fake_tls_send(fake_tls_session_t *session, const void *data, size_t bytes);
/* Tell the client that nothing more comes (close_notify), if the session is open. */
void fake_tls_say_end(fake_tls_session_t *session);
/* Ask for new keys: by a key update with TLS 1.3, by a new handshake with TLS 1.2.  The
 * session must be open. */
void fake_tls_rekey(fake_tls_session_t *session);

/* What is to be written to the client; the owner consumes it. */
fake_bytes_t *fake_tls_out(fake_tls_session_t *session);

/* Is the handshake over?  Was it a short one, of a session that was resumed? */
bool fake_tls_is_open(const fake_tls_session_t *session);
bool fake_tls_is_resumed(const fake_tls_session_t *session);
/* Nothing more comes from the client: it said so, or broke the protocol. */
bool fake_tls_is_over(const fake_tls_session_t *session);

#endif
