/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_NET_TLS_RIG_H
#define TESTS_UNIT_NET_TLS_RIG_H

/*
 * The engine, and a server that is OpenSSL's own, without a socket between them.  Included
 * after <cmocka.h>.
 */

#include "core/target.h"
#include "net/tls_engine.h"
#include "support/tls/certificate_folder.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

static const shoal__endpoint_t home = {.name = "localhost:1", .host = "localhost"};

typedef struct server {
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out;
    char heard[600000]; /* plaintext */
    size_t heard_bytes;
    bool is_ended; /* the client said so */
} server_t;

static shoal__tls_settings_t settings;
static shoal__tls_context_t *context;
static shoal__tls_engine_t *engine;
static server_t server;
static char why[SHOAL__TLS_WHY_BYTES];
static int rig_error; /* of a new engine */

/* The paths outlive the settings. */
static inline void trust(const char *file)
{
    settings.ca_file = file ? (char *)(uintptr_t)certificate_path(file) : NULL;
}

static inline void serve(const char *certificate, int version)
{
    char file[64];

    SSL_CTX_free(server.ctx);
    server.ctx = SSL_CTX_new(TLS_server_method());
    assert_non_null(server.ctx);
    snprintf(file, sizeof file, "%s.crt", certificate);
    assert_int_equal(
        SSL_CTX_use_certificate_chain_file(server.ctx, certificate_path(file)), 1);
    snprintf(file, sizeof file, "%s.key", certificate);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(server.ctx, certificate_path(file),
                                                 SSL_FILETYPE_PEM),
                     1);
    SSL_CTX_set_session_id_context(server.ctx, (const unsigned char *)"t", 1);
    if (version) {
        SSL_CTX_set_security_level(server.ctx, 0);
        SSL_CTX_set_min_proto_version(server.ctx, version);
        SSL_CTX_set_max_proto_version(server.ctx, version);
    }
}

static inline void drop_server(void)
{
    if (server.ssl && SSL_is_init_finished(server.ssl)) /* it keeps the session */
        SSL_set_shutdown(server.ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(server.ssl);
    server.ssl = NULL;
    server.heard_bytes = 0;
    server.is_ended = false;
}

static inline void open_server(void)
{
    drop_server();
    server.ssl = SSL_new(server.ctx);
    server.in = BIO_new(BIO_s_mem());
    server.out = BIO_new(BIO_s_mem());
    SSL_set_bio(server.ssl, server.in, server.out);
    SSL_set_accept_state(server.ssl);
}

/* A new connection of the same context. */
static inline void dial(void)
{
    bool has_last;

    shoal__tls_engine_free(engine);
    if (!context)
        context = shoal__tls_context_new(&settings);
    assert_non_null(context);
    if (shoal__tls_context_refresh(context, &has_last, why) < 0)
        fail_msg("%s", why);
    engine = shoal__tls_engine_new(context, &home, &rig_error);
    if (!engine)
        fail_msg("%d", rig_error);
    open_server();
}

/* Bytes for the server: it goes on as far as it can. */
static inline void give_server(const char *data, size_t bytes)
{
    if (bytes > 0)
        assert_int_equal(BIO_write(server.in, data, (int)bytes), bytes);
    for (;;) {
        ERR_clear_error();
        int got = SSL_read(server.ssl, server.heard + server.heard_bytes,
                           (int)(sizeof server.heard - server.heard_bytes));
        if (got <= 0) {
            server.is_ended = SSL_get_error(server.ssl, got) == SSL_ERROR_ZERO_RETURN;
            return;
        }
        server.heard_bytes += (size_t)got;
    }
}

/* Everything in the engine's output goes to the server, so many bytes at a time.  Returns
 * how much plaintext left. */
static inline size_t to_server(size_t chunk)
{
    size_t left = 0;

    for (;;) {
        shoal__bytes_t output = shoal__tls_engine_output(engine);
        if (output.bytes == 0)
            return left;
        size_t bytes = output.bytes < chunk ? output.bytes : chunk;
        give_server(output.data, bytes);
        left += shoal__tls_engine_sent(engine, bytes);
    }
}

/* One piece of what the server has put out becomes input of the engine; false: there is
 * none.  The piece is gone after the call: what is left of it must have been kept. */
static inline bool feed(size_t chunk)
{
    static char room[65536];
    int got =
        BIO_read(server.out, room, (int)(chunk < sizeof room ? chunk : sizeof room));

    if (got > 0)
        shoal__tls_engine_feed(engine, room, (size_t)got);
    return got > 0;
}

/* 0 or the error of the engine. */
static inline int shake_hands(size_t chunk)
{
    int rc;

    while ((rc = shoal__tls_engine_handshake(engine)) == -EAGAIN) {
        to_server(chunk);
        if (!feed(chunk))
            return -EAGAIN; /* the server is stuck */
        rc = shoal__tls_engine_handshake(engine);
        assert_int_equal(shoal__tls_engine_keep(engine), 0);
        if (rc != -EAGAIN)
            break;
    }
    to_server(chunk);
    return rc;
}

/* The server says something; -EAGAIN or an error ends the reading. */
static inline ptrdiff_t hear(char *room, size_t bytes, size_t chunk)
{
    size_t got = 0;
    ptrdiff_t rc = -EAGAIN;

    while (shoal__tls_engine_has_input(engine) || feed(chunk)) {
        rc = shoal__tls_engine_read(engine, room + got, bytes - got);
        assert_int_equal(shoal__tls_engine_keep(engine), 0);
        if (rc > 0)
            got += (size_t)rc;
        else if (rc != -EAGAIN)
            break;
    }
    return got > 0 ? (ptrdiff_t)got : rc;
}

static inline int rig_set_up_tls(void **state)
{
    (void)state;
    memset(&settings, 0, sizeof settings);
    settings.is_on = true;
    settings.min_version = SHOAL_TLS_1_2;
    trust("ca.crt");
    serve("server", 0);
    return 0;
}

static inline int rig_tear_down_tls(void **state)
{
    (void)state;
    shoal__tls_engine_free(engine);
    shoal__tls_context_free(context);
    drop_server();
    SSL_CTX_free(server.ctx);
    engine = NULL;
    context = NULL;
    server.ctx = NULL;
    return 0;
}

#endif
