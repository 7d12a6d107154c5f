/* SPDX-License-Identifier: MIT */
#include "net/tls_engine.h"

#if SHOAL_TLS

#include "base/alloc.h"
#include "base/buffer.h"
#include "net/tls_vault.h"
#include "net/tls_words.h"
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define RECORD_BYTES 16384 /* most plaintext of one record */
#define MARKS_MAX (SHOAL__TLS_AHEAD_BYTES / RECORD_BYTES + 1)
#define OUTPUT_KEEP_BYTES 4096 /* memory that an empty output may keep */
#define NAME_BYTES 256

/* Where the records of some plaintext end in the output. */
typedef struct mark {
    size_t end;
    size_t plain_bytes;
} mark_t;

struct shoal__tls_engine {
    shoal__tls_customer_t customer; /* first: the application data of `ssl` */
    SSL *ssl;
    char *room;        /* of the context: for a record that is gathered */
    const char *input; /* borrowed by _feed(), or in `rest` */
    size_t input_bytes;
    shoal__buffer_t rest; /* input of earlier feeds */
    shoal__buffer_t output;
    mark_t marks[MARKS_MAX]; /* of the plaintext in the output, in order */
    size_t first_mark, mark_count;
    bool is_out_of_memory;
    bool has_shown_ticket;
    bool is_insecure;
    bool is_over; /* the handshake */
    bool is_failed;
    bool is_starved;       /* it has looked at all input */
    char name[NAME_BYTES]; /* that the certificate must have */
    char text[SHOAL__TLS_WHY_BYTES];
};

/* ---- bytes ---- */

static int write_bio(BIO *bio, const char *data, int bytes)
{
    shoal__tls_engine_t *engine = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (shoal__buffer_append(&engine->output, data, (size_t)bytes) < 0) {
        engine->is_out_of_memory = true;
        return -1;
    }
    return bytes;
}

static int read_bio(BIO *bio, char *room, int bytes)
{
    shoal__tls_engine_t *engine = BIO_get_data(bio);
    size_t got =
        (size_t)bytes < engine->input_bytes ? (size_t)bytes : engine->input_bytes;

    BIO_clear_retry_flags(bio);
    if (got == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(room, engine->input, got);
    engine->input += got;
    engine->input_bytes -= got;
    return (int)got;
}

static long control_bio(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

static BIO_METHOD *bio_method; /* one for the process; NULL: no memory */

static void make_bio_method(void)
{
    bio_method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "shoal");
    if (!bio_method)
        return;
    BIO_meth_set_write(bio_method, write_bio);
    BIO_meth_set_read(bio_method, read_bio);
    BIO_meth_set_ctrl(bio_method, control_bio);
}

static BIO *new_bio(shoal__tls_engine_t *engine)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    BIO *bio;

    pthread_once(&once, make_bio_method);
    bio = bio_method ? BIO_new(bio_method) : NULL;
    if (bio) {
        BIO_set_data(bio, engine);
        BIO_set_init(bio, 1);
    }
    return bio;
}

void shoal__tls_engine_feed(shoal__tls_engine_t *engine, const char *data, size_t bytes)
{
    engine->is_starved = false;
    if (engine->input_bytes == 0) {
        engine->input = data;
        engine->input_bytes = bytes;
        return;
    }
    /* Behind what is left of earlier feeds. */
    if (shoal__buffer_append(&engine->rest, data, bytes) < 0) {
        engine->is_out_of_memory = true;
        return;
    }
    engine->input = shoal__buffer_data(&engine->rest);
    engine->input_bytes = shoal__buffer_bytes(&engine->rest);
}

static bool is_in_rest(const shoal__tls_engine_t *engine)
{
    return shoal__buffer_bytes(&engine->rest) > 0;
}

int shoal__tls_engine_keep(shoal__tls_engine_t *engine)
{
    if (is_in_rest(engine))
        shoal__buffer_consume(&engine->rest,
                              shoal__buffer_bytes(&engine->rest) - engine->input_bytes);
    else if (engine->input_bytes > 0 &&
             shoal__buffer_append(&engine->rest, engine->input, engine->input_bytes) <
                 0)
        engine->is_out_of_memory = true;
    if (engine->is_out_of_memory)
        return SHOAL_ENOMEM;
    shoal__buffer_shrink(&engine->rest, 0);
    engine->input = shoal__buffer_data(&engine->rest);
    engine->input_bytes = shoal__buffer_bytes(&engine->rest);
    return 0;
}

bool shoal__tls_engine_has_input(const shoal__tls_engine_t *engine)
{
    return !engine->is_starved;
}

shoal__bytes_t shoal__tls_engine_output(const shoal__tls_engine_t *engine)
{
    return (shoal__bytes_t){shoal__buffer_data(&engine->output),
                            shoal__buffer_bytes(&engine->output)};
}

size_t shoal__tls_engine_sent(shoal__tls_engine_t *engine, size_t bytes)
{
    size_t plain_bytes = 0;

    shoal__buffer_consume(&engine->output, bytes);
    for (size_t i = 0; i < engine->mark_count; i++) {
        mark_t *mark = &engine->marks[engine->first_mark + i];
        mark->end = mark->end > bytes ? mark->end - bytes : 0;
    }
    while (engine->mark_count > 0 && engine->marks[engine->first_mark].end == 0) {
        plain_bytes += engine->marks[engine->first_mark++].plain_bytes;
        engine->mark_count--;
    }
    if (engine->mark_count == 0)
        engine->first_mark = 0;
    shoal__buffer_shrink(&engine->output, OUTPUT_KEEP_BYTES);
    return plain_bytes;
}

size_t shoal__tls_engine_kept(const shoal__tls_engine_t *engine)
{
    size_t plain_bytes = 0;

    for (size_t i = 0; i < engine->mark_count; i++)
        plain_bytes += engine->marks[engine->first_mark + i].plain_bytes;
    return plain_bytes;
}

/* ---- words ---- */

const char *shoal__tls_engine_text(const shoal__tls_engine_t *engine)
{
    return engine->text;
}

/* OpenSSL asks after each certificate of the chain. */
static int on_verify(int is_fine, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    shoal__tls_engine_t *engine = SSL_get_app_data(ssl);

    if (!is_fine && engine->text[0] == '\0')
        shoal__tls_words_of_certificate(store, engine->name, engine->text);
    return is_fine;
}

/* A handshake fails after it was over: the server wanted another one.  TLS 1.3 has none, and
 * tells then what is wrong with the client's certificate. */
static bool is_renegotiation(const shoal__tls_engine_t *engine, unsigned long error)
{
    return engine->is_over && SSL_version(engine->ssl) < TLS1_3_VERSION &&
           ERR_GET_REASON(error) == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE;
}

/* A call of OpenSSL failed for good. */
static int fail(shoal__tls_engine_t *engine)
{
    unsigned long error = ERR_peek_error();

    engine->is_failed = true;
    if (engine->is_out_of_memory)
        snprintf(engine->text, sizeof engine->text, "no memory");
    else if (is_renegotiation(engine, error))
        snprintf(engine->text, sizeof engine->text,
                 "the server negotiated TLS anew, which the client refuses");
    else if (engine->text[0] == '\0') /* or it tells of the certificate */
        shoal__tls_words_of_error(error, engine->text);
    ERR_clear_error();
    return engine->is_out_of_memory ? SHOAL_ENOMEM : SHOAL_ETLS;
}

/* ---- the calls ---- */

/* -EAGAIN, 0: the peer said that this is the end, or why it failed. */
static int outcome(shoal__tls_engine_t *engine, int rc)
{
    switch (SSL_get_error(engine->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        if (engine->is_out_of_memory)
            break;
        engine->is_starved = true;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        break;
    }
    return fail(engine);
}

/* With an anonymous cipher the peer shows no certificate, and OpenSSL verifies nothing. */
static bool is_verified(const shoal__tls_engine_t *engine)
{
    return engine->is_insecure || (SSL_get0_peer_certificate(engine->ssl) &&
                                   SSL_get_verify_result(engine->ssl) == X509_V_OK);
}

int shoal__tls_engine_handshake(shoal__tls_engine_t *engine)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(engine->ssl);
    if (rc == 1 && !is_verified(engine)) {
        snprintf(
            engine->text, sizeof engine->text,
            "the server showed no certificate that could be checked (tls_ciphers)");
        rc = fail(engine);
    } else if (rc != 1)
        rc = outcome(engine, rc);
    else {
        engine->is_over = true;
        engine->is_starved = engine->input_bytes == 0 && !SSL_has_pending(engine->ssl);
    }
    if (rc == -EAGAIN)
        return rc;
    if (engine->has_shown_ticket)
        shoal__tls_vault_judge(engine->customer.vault, engine->customer.server,
                               engine->is_over && SSL_session_reused(engine->ssl));
    engine->has_shown_ticket = false;
    if (!engine->is_over && rc == 0)
        return fail(engine);
    return engine->is_over ? 0 : rc;
}

bool shoal__tls_engine_is_resumed(const shoal__tls_engine_t *engine)
{
    return SSL_session_reused(engine->ssl) == 1;
}

ptrdiff_t shoal__tls_engine_read(shoal__tls_engine_t *engine, char *room, size_t bytes)
{
    size_t got = 0;
    int rc;

    if (engine->is_failed)
        return engine->is_out_of_memory ? SHOAL_ENOMEM : SHOAL_ETLS;
    while (got < bytes) {
        size_t piece_bytes = bytes - got < INT_MAX ? bytes - got : INT_MAX;
        ERR_clear_error();
        rc = SSL_read(engine->ssl, room + got, (int)piece_bytes);
        if (rc <= 0) {
            /* What was read comes first.  A failure is found again, and so is an end. */
            rc = outcome(engine, rc);
            return got > 0 ? (ptrdiff_t)got : rc;
        }
        got += (size_t)rc;
    }
    return (ptrdiff_t)got;
}

/* Plaintext that is taken from the parts, a record at a time. */
typedef struct cursor {
    const shoal__bytes_t *part, *end;
    size_t at; /* in the part */
    char *room;
} cursor_t;

/* The bytes of the next record: as they stand in a part, or gathered from several. */
static shoal__bytes_t next_record(cursor_t *cursor)
{
    const shoal__bytes_t *part = cursor->part;
    size_t left = part->bytes - cursor->at, got = 0;

    if (left >= RECORD_BYTES || part + 1 == cursor->end) {
        shoal__bytes_t record = {part->data + cursor->at,
                                 left < RECORD_BYTES ? left : RECORD_BYTES};
        cursor->at += record.bytes;
        return record;
    }
    while (got < RECORD_BYTES && cursor->part != cursor->end) {
        size_t bytes = cursor->part->bytes - cursor->at;
        if (bytes > RECORD_BYTES - got)
            bytes = RECORD_BYTES - got;
        memcpy(cursor->room + got, cursor->part->data + cursor->at, bytes);
        got += bytes;
        cursor->at += bytes;
        if (cursor->at == cursor->part->bytes) {
            cursor->part++;
            cursor->at = 0;
        }
    }
    return (shoal__bytes_t){cursor->room, got};
}

static bool is_at_end(cursor_t *cursor)
{
    while (cursor->part != cursor->end && cursor->at == cursor->part->bytes) {
        cursor->part++;
        cursor->at = 0;
    }
    return cursor->part == cursor->end;
}

ptrdiff_t shoal__tls_engine_write(shoal__tls_engine_t *engine,
                                  const shoal__bytes_t *parts, size_t count)
{
    cursor_t cursor = {.part = parts, .end = parts + count, .room = engine->room};
    size_t taken = 0;

    if (engine->is_failed)
        return engine->is_out_of_memory ? SHOAL_ENOMEM : SHOAL_ETLS;
    while (taken + RECORD_BYTES <= SHOAL__TLS_AHEAD_BYTES && !is_at_end(&cursor)) {
        shoal__bytes_t record = next_record(&cursor);
        ERR_clear_error();
        int rc = SSL_write(engine->ssl, record.data, (int)record.bytes);
        if (rc <= 0) {
            /* The BIO takes everything, so a record is never left half done.  The records
             * before may leave; what follows finds the failure again. */
            rc = outcome(engine, rc);
            engine->is_failed = true;
            if (taken > 0)
                break;
            return rc == SHOAL_ENOMEM ? rc : SHOAL_ETLS;
        }
        engine->marks[engine->first_mark + engine->mark_count++] =
            (mark_t){shoal__buffer_bytes(&engine->output), record.bytes};
        taken += record.bytes;
    }
    return (ptrdiff_t)taken;
}

void shoal__tls_engine_end(shoal__tls_engine_t *engine)
{
    if (engine->is_failed || !engine->is_over)
        return;
    ERR_clear_error();
    SSL_shutdown(engine->ssl);
    ERR_clear_error();
}

/* ---- life ---- */

static bool is_address(const char *name)
{
    unsigned char room[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, room) == 1 || inet_pton(AF_INET6, name, room) == 1;
}

/* Which name the certificate must have.  A zone is this machine's business, and the dot
 * at the end of a full name is not in certificates. */
static void choose_name(shoal__tls_engine_t *engine,
                        const shoal__tls_settings_t *settings,
                        const shoal__endpoint_t *endpoint)
{
    const char *name = endpoint->host ? endpoint->host : "localhost";

    if (endpoint->tls_name)
        name = endpoint->tls_name;
    if (settings->server_name)
        name = settings->server_name;
    snprintf(engine->name, sizeof engine->name, "%s", name);
    engine->name[strcspn(engine->name, "%")] = '\0';
    size_t bytes = strlen(engine->name);
    if (bytes > 1 && engine->name[bytes - 1] == '.')
        engine->name[bytes - 1] = '\0';
}

static bool expect_name(shoal__tls_engine_t *engine, bool is_insecure)
{
    X509_VERIFY_PARAM *rules = SSL_get0_param(engine->ssl);

    if (engine->name[0] == '.')
        return false; /* OpenSSL would take the certificate of any name below it */
    if (is_address(engine->name))
        return is_insecure || X509_VERIFY_PARAM_set1_ip_asc(rules, engine->name) == 1;
    if (SSL_set_tlsext_host_name(engine->ssl, engine->name) != 1)
        return false;
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return is_insecure || X509_VERIFY_PARAM_set1_host(rules, engine->name, 0) == 1;
}

/* 0, SHOAL_ETLS or SHOAL_ENOMEM. */
static int set_up(shoal__tls_engine_t *engine, bool is_insecure)
{
    BIO *bio = new_bio(engine);
    SSL_SESSION *ticket;

    engine->ssl = SSL_new(shoal__tls_vault_ctx(engine->customer.vault));
    if (!engine->ssl || !bio) {
        BIO_free(bio);
        return SHOAL_ENOMEM;
    }
    engine->is_insecure = is_insecure;
    SSL_set_bio(engine->ssl, bio, bio);
    SSL_set_app_data(engine->ssl, engine);
    SSL_set_verify(engine->ssl, is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                   is_insecure ? NULL : on_verify);
    SSL_set_connect_state(engine->ssl);
    if (!expect_name(engine, is_insecure))
        return SHOAL_ETLS;
    ticket = shoal__tls_vault_ticket(engine->customer.vault, engine->customer.server);
    engine->has_shown_ticket = ticket && SSL_set_session(engine->ssl, ticket) == 1;
    SSL_SESSION_free(ticket);
    return 0;
}

shoal__tls_engine_t *shoal__tls_engine_new(shoal__tls_context_t *context,
                                           const shoal__endpoint_t *endpoint,
                                           int *ret_error)
{
    const shoal__tls_settings_t *settings = shoal__tls_context_settings(context);
    shoal__tls_engine_t *engine = shoal__calloc(1, sizeof *engine);

    *ret_error = SHOAL_ENOMEM;
    if (!engine)
        return NULL;
    engine->room = shoal__tls_context_room(context);
    engine->customer.vault = shoal__tls_context_vault(context);
    choose_name(engine, settings, endpoint);
    if (snprintf(engine->customer.server, sizeof engine->customer.server, "%s",
                 endpoint->name) >= (int)sizeof engine->customer.server)
        engine->customer.server[0] = '\0'; /* half a name may be another server's */
    *ret_error =
        engine->customer.vault ? set_up(engine, settings->is_insecure) : SHOAL_ETLS;
    if (*ret_error == 0)
        return engine;
    ERR_clear_error();
    shoal__tls_engine_free(engine);
    return NULL;
}

void shoal__tls_engine_free(shoal__tls_engine_t *engine)
{
    if (!engine)
        return;
    /* OpenSSL thinks that a session is spoiled if its connection was not ended by both
     * sides.  What was lost was the connection. */
    if (engine->ssl && engine->is_over && !engine->is_failed)
        SSL_set_shutdown(engine->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(engine->ssl); /* and the BIO */
    shoal__tls_vault_drop(engine->customer.vault);
    shoal__buffer_release(&engine->rest);
    shoal__buffer_release(&engine->output);
    shoal__free(engine);
}

#endif
