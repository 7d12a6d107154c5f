/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_TLS_ENGINE_H
#define SHOAL_NET_TLS_ENGINE_H

/*
 * TLS without a socket: ciphertext in and out, plaintext in and out.
 *
 *     feed ->  [ input ]  -> handshake, read -> plaintext
 *     plaintext -> write  ->  [ output ]  -> output, sent
 *
 * Nothing blocks, and nothing waits inside: each call goes on until it lacks input.  The
 * output is what the peer must get, in order: records of the handshake, of alerts and key
 * updates, and of plaintext.
 *
 * Guarantee: `sent` tells of plaintext only when its last record has left whole.  Before
 * the handshake is over, and the certificate checked, there is no plaintext in the output.
 *
 * Threads: one at a time.
 */

#include "base/bytes.h"
#include "core/target.h"
#include "net/tls_context.h"
#include <stdbool.h>
#include <stddef.h>

/* Most plaintext of one write. */
#define SHOAL__TLS_AHEAD_BYTES 65536

typedef struct shoal__tls_engine shoal__tls_engine_t;

/* For one connection to this endpoint, as the present files say.  NULL: SHOAL_ETLS (no
 * certificate can be for this name, or no file was read) or SHOAL_ENOMEM. */
shoal__tls_engine_t *shoal__tls_engine_new(shoal__tls_context_t *context,
                                           const shoal__endpoint_t *endpoint,
                                           int *ret_error);
void shoal__tls_engine_free(shoal__tls_engine_t *engine);

/* These bytes came.  They are borrowed until _keep(), which copies those that are left:
 * 0 or SHOAL_ENOMEM.  One feed, one keep. */
void shoal__tls_engine_feed(shoal__tls_engine_t *engine, const char *data,
                            size_t bytes);
int shoal__tls_engine_keep(shoal__tls_engine_t *engine);
/* Input that was not looked at, or plaintext that was not read. */
bool shoal__tls_engine_has_input(const shoal__tls_engine_t *engine);

/* 0: it is over; -EAGAIN: more input is needed; SHOAL_ETLS, SHOAL_ENOMEM: see text. */
int shoal__tls_engine_handshake(shoal__tls_engine_t *engine);
bool shoal__tls_engine_is_resumed(const shoal__tls_engine_t *engine);

/* Bytes of plaintext, as many as are there and fit; 0: the peer said that this is the end;
 * -EAGAIN: more input is needed; SHOAL_ETLS, SHOAL_ENOMEM: see text. */
ptrdiff_t shoal__tls_engine_read(shoal__tls_engine_t *engine, char *room, size_t bytes);

/* Encrypt.  The output is empty.  Bytes taken, SHOAL__TLS_AHEAD_BYTES at most; SHOAL_ETLS,
 * SHOAL_ENOMEM: see text. */
ptrdiff_t shoal__tls_engine_write(shoal__tls_engine_t *engine,
                                  const shoal__bytes_t *parts, size_t count);

/* What the peer is to get; valid until the next call. */
shoal__bytes_t shoal__tls_engine_output(const shoal__tls_engine_t *engine);
/* The first `bytes` of it left.  Returns how many bytes of plaintext left whole. */
size_t shoal__tls_engine_sent(shoal__tls_engine_t *engine, size_t bytes);
/* Plaintext in the output. */
size_t shoal__tls_engine_kept(const shoal__tls_engine_t *engine);

/* Put the word for the end (close_notify) into the output. */
void shoal__tls_engine_end(shoal__tls_engine_t *engine);

/* Why the last call failed; lives as long as the engine. */
const char *shoal__tls_engine_text(const shoal__tls_engine_t *engine);

#endif
