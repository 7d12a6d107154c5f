/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fake_tls.h"

#include <stdio.h>
#include <stdlib.h>

#if SHOAL_FAKE_TLS

#include <openssl/err.h>
#include <openssl/ssl.h>

struct fake_tls {
    SSL_CTX *context;
};

struct fake_tls_session {
    SSL *ssl;
    BIO *from_client, *to_client; /* the SSL's own */
    fake_bytes_t out;
    bool is_over;
};

static bool use_files(SSL_CTX *context, const fake_tls_config_t *config)
{
    if (SSL_CTX_use_certificate_chain_file(context, config->certificate_file) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, config->key_file, SSL_FILETYPE_PEM) != 1)
        return false;
    if (!config->client_ca_file)
        return true;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       NULL);
    return SSL_CTX_load_verify_file(context, config->client_ca_file) == 1;
}

static bool set_version(SSL_CTX *context, int version)
{
    if (version == 0)
        return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
    if (version < TLS1_2_VERSION) /* its hashes are below what level 1 allows */
        SSL_CTX_set_security_level(context, 0);
    return SSL_CTX_set_min_proto_version(context, version) == 1 &&
           SSL_CTX_set_max_proto_version(context, version) == 1;
}

static void set_resumption(SSL_CTX *context, bool is_forgetful)
{
    static const unsigned char name[] = "fake";

    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
    if (!is_forgetful)
        return;
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
}

fake_tls_t *fake_tls_new(const fake_tls_config_t *config)
{
    SSL_CTX *context = fake_must(SSL_CTX_new(TLS_server_method()));

    if (!set_version(context, config->version) || !use_files(context, config)) {
        ERR_print_errors_fp(stderr);
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    set_resumption(context, config->is_forgetful);
    fake_tls_t *tls = fake_must(malloc(sizeof *tls));
    tls->context = context;
    return tls;
}

void fake_tls_free(fake_tls_t *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context); /* sessions hold references of their own */
    free(tls);
}

fake_tls_session_t *fake_tls_begin(fake_tls_t *tls)
{
    fake_tls_session_t *session = fake_must(calloc(1, sizeof *session));

    session->ssl = fake_must(SSL_new(tls->context));
    session->from_client = fake_must(BIO_new(BIO_s_mem()));
    session->to_client = fake_must(BIO_new(BIO_s_mem()));
    SSL_set_bio(session->ssl, session->from_client, session->to_client);
    SSL_set_accept_state(session->ssl);
    return session;
}

void fake_tls_end(fake_tls_session_t *session)
{
    if (!session)
        return;
    SSL_free(session->ssl);
    fake_bytes_release(&session->out);
    free(session);
}

/* What the SSL wrote waits for the owner. */
static void collect(fake_tls_session_t *session)
{
    char *data;
    long bytes = BIO_get_mem_data(session->to_client, &data);

    if (bytes > 0)
        fake_bytes_add(&session->out, data, (size_t)bytes);
    (void)BIO_reset(session->to_client);
}

void fake_tls_receive(fake_tls_session_t *session, const void *data, size_t bytes,
                      fake_bytes_t *plain)
{
    char piece[16384];
    size_t count;

    ERR_clear_error();
    if (!session->is_over)
        fake_must(BIO_write_ex(session->from_client, data, bytes, &count) == 1 ? session
                                                                               : NULL);
    while (!session->is_over) {
        if (SSL_read_ex(session->ssl, piece, sizeof piece, &count) == 1)
            fake_bytes_add(plain, piece, count);
        else if (SSL_get_error(session->ssl, 0) == SSL_ERROR_WANT_READ)
            break;
        else
            session->is_over = true; /* an alert may wait to be written */
    }
    collect(session);
}

void fake_tls_send(fake_tls_session_t *session, const void *data, size_t bytes)
{
    size_t count;

    ERR_clear_error();
    if (bytes > 0 && SSL_write_ex(session->ssl, data, bytes, &count) != 1)
        session->is_over = true;
    collect(session);
}

void fake_tls_say_end(fake_tls_session_t *session)
{
    ERR_clear_error();
    if (fake_tls_is_open(session))
        (void)SSL_shutdown(session->ssl);
    collect(session);
}

void fake_tls_rekey(fake_tls_session_t *session)
{
    int rc = SSL_version(session->ssl) == TLS1_3_VERSION
                 ? SSL_key_update(session->ssl, SSL_KEY_UPDATE_REQUESTED)
                 : SSL_renegotiate(session->ssl);

    ERR_clear_error();
    if (rc != 1 || SSL_do_handshake(session->ssl) != 1)
        session->is_over = true;
    collect(session);
}

fake_bytes_t *fake_tls_out(fake_tls_session_t *session)
{
    return &session->out;
}

bool fake_tls_is_open(const fake_tls_session_t *session)
{
    return SSL_is_init_finished(session->ssl) == 1;
}

bool fake_tls_is_resumed(const fake_tls_session_t *session)
{
    return SSL_session_reused(session->ssl) == 1;
}

bool fake_tls_is_over(const fake_tls_session_t *session)
{
    return session->is_over;
}

#else

struct fake_tls_session {
    fake_bytes_t out;
};

fake_tls_t *fake_tls_new(const fake_tls_config_t *config)
{
    (void)config;
    fprintf(stderr, "there is no TLS in this build\n");
    return NULL;
}

void fake_tls_free(fake_tls_t *tls)
{
    (void)tls;
}

/* Nothing below is reached: there is no fake_tls_t. */

fake_tls_session_t *fake_tls_begin(fake_tls_t *tls)
{
    (void)tls;
    abort();
}

void fake_tls_end(fake_tls_session_t *session)
{
    (void)session;
}

void fake_tls_receive(fake_tls_session_t *session, const void *data, size_t bytes,
                      fake_bytes_t *plain)
{
    (void)session, (void)data, (void)bytes, (void)plain;
}

void fake_tls_send(fake_tls_session_t *session, const void *data, size_t bytes)
{
    (void)session, (void)data, (void)bytes;
}

void fake_tls_say_end(fake_tls_session_t *session)
{
    (void)session;
}

void fake_tls_rekey(fake_tls_session_t *session)
{
    (void)session;
}

fake_bytes_t *fake_tls_out(fake_tls_session_t *session)
{
    return &session->out;
}

bool fake_tls_is_open(const fake_tls_session_t *session)
{
    (void)session;
    return false;
}

bool fake_tls_is_resumed(const fake_tls_session_t *session)
{
    (void)session;
    return false;
}

bool fake_tls_is_over(const fake_tls_session_t *session)
{
    (void)session;
    return true;
}

#endif
