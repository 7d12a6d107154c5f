/* SPDX-License-Identifier: MIT */
#include "core/tls_settings.h"

#if SHOAL_TLS

#include "base/alloc.h"
#include "net/tls_vault.h"
#include "net/tls_words.h"
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <shoal/errors.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TICKETS_MAX 8  /* kept for one server */
#define REFUSALS_MAX 3 /* in a row: then the server is shown none */

/* The tickets of one server. */
typedef struct shelf {
    struct shelf *next;
    SSL_SESSION *tickets[TICKETS_MAX]; /* the oldest first */
    size_t count;
    unsigned refusals; /* in a row */
    char server[SHOAL__TLS_SERVER_BYTES];
} shelf_t;

struct shoal__tls_vault {
    atomic_uint references;
    SSL_CTX *ctx;
    shelf_t *shelves;
};

/* ---- vaults ---- */

static void drop_tickets(shelf_t *shelf)
{
    for (size_t i = 0; i < shelf->count; i++)
        SSL_SESSION_free(shelf->tickets[i]);
    shelf->count = 0;
}

void shoal__tls_vault_drop(shoal__tls_vault_t *vault)
{
    if (!vault || atomic_fetch_sub(&vault->references, 1) > 1)
        return;
    for (shelf_t *shelf = vault->shelves, *next; shelf; shelf = next) {
        next = shelf->next;
        drop_tickets(shelf);
        shoal__free(shelf);
    }
    SSL_CTX_free(vault->ctx);
    shoal__free(vault);
}

/* ---- tickets ---- */

static shelf_t *find_shelf(const shoal__tls_vault_t *vault, const char *server)
{
    shelf_t *shelf = vault->shelves;

    while (shelf && strcmp(shelf->server, server) != 0)
        shelf = shelf->next;
    return shelf;
}

static shelf_t *add_shelf(shoal__tls_vault_t *vault, const char *server)
{
    shelf_t *shelf = server[0] ? shoal__calloc(1, sizeof *shelf) : NULL;

    if (!shelf)
        return NULL;
    snprintf(shelf->server, sizeof shelf->server, "%s", server);
    shelf->next = vault->shelves;
    vault->shelves = shelf;
    return shelf;
}

/* One that is too old OpenSSL may not even show, nor one of the future.  That says nothing
 * of the server. */
static bool is_fresh(const SSL_SESSION *ticket)
{
    unsigned long lives_s = SSL_SESSION_get_ticket_lifetime_hint(ticket);
    long age_s = (long)time(NULL) - SSL_SESSION_get_time(ticket);

    if (lives_s == 0)
        lives_s = (unsigned long)SSL_SESSION_get_timeout(ticket);
    return age_s >= 0 && (unsigned long)age_s < lives_s;
}

SSL_SESSION *shoal__tls_vault_ticket(shoal__tls_vault_t *vault, const char *server)
{
    shelf_t *shelf = find_shelf(vault, server);

    if (!shelf || shelf->count == 0 || shelf->refusals >= REFUSALS_MAX)
        return NULL;
    if (!is_fresh(shelf->tickets[shelf->count - 1])) {
        drop_tickets(shelf); /* the others are older */
        return NULL;
    }
    return shelf->tickets[--shelf->count]; /* the newest lives longest */
}

/* True: it was kept, and is the vault's. */
static bool keep_ticket(shoal__tls_vault_t *vault, const char *server,
                        SSL_SESSION *ticket)
{
    shelf_t *shelf = find_shelf(vault, server);

    if (!shelf)
        shelf = add_shelf(vault, server);
    if (!shelf || shelf->refusals >= REFUSALS_MAX || !SSL_SESSION_is_resumable(ticket))
        return false;
    if (shelf->count == TICKETS_MAX) {
        SSL_SESSION_free(shelf->tickets[0]);
        memmove(shelf->tickets, shelf->tickets + 1,
                --shelf->count * sizeof *shelf->tickets);
    }
    shelf->tickets[shelf->count++] = ticket;
    return true;
}

static int on_ticket(SSL *ssl, SSL_SESSION *ticket)
{
    const shoal__tls_customer_t *customer = SSL_get_app_data(ssl);

    return keep_ticket(customer->vault, customer->server, ticket);
}

void shoal__tls_vault_judge(shoal__tls_vault_t *vault, const char *server,
                            bool was_taken)
{
    shelf_t *shelf = find_shelf(vault, server);

    if (!shelf)
        return;
    shelf->refusals = was_taken ? 0 : shelf->refusals + 1;
    /* The others are of the same server, and no better. */
    if (!was_taken)
        drop_tickets(shelf);
}

/* ---- reading ---- */

static bool say(char why[SHOAL__TLS_WHY_BYTES], const char *setting, const char *value)
{
    char words[SHOAL__TLS_WHY_BYTES];

    shoal__tls_words_of_queue(words);
    snprintf(why, SHOAL__TLS_WHY_BYTES, "%s %.120s: %.80s", setting, value, words);
    return false;
}

static bool trust(SSL_CTX *ctx, const shoal__tls_settings_t *settings, char *why)
{
    if (settings->ca_file && SSL_CTX_load_verify_file(ctx, settings->ca_file) != 1)
        return say(why, "tls_ca_file", settings->ca_file);
    if (settings->ca_dir && SSL_CTX_load_verify_dir(ctx, settings->ca_dir) != 1)
        return say(why, "tls_ca_dir", settings->ca_dir);
    if (!settings->ca_file && !settings->ca_dir)
        SSL_CTX_set_default_verify_paths(ctx);
    return true;
}

/* Nobody is asked for a pass phrase at the terminal.
 * NOLINTNEXTLINE(readability-non-const-parameter): the type is OpenSSL's */
static int no_pass_phrase(char *room, int bytes, int is_writing, void *data)
{
    (void)room, (void)bytes, (void)is_writing, (void)data;
    return 0;
}

static bool identify(SSL_CTX *ctx, const shoal__tls_settings_t *settings, char *why)
{
    const char *cert = settings->cert_file;
    const char *key = settings->key_file ? settings->key_file : cert;

    if (!cert)
        return true;
    SSL_CTX_set_default_passwd_cb(ctx, no_pass_phrase);
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return say(why, "tls_cert_file", cert);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1)
        return say(why, "tls_key_file", key);
    return true;
}

static bool choose_ciphers(SSL_CTX *ctx, const shoal__tls_settings_t *settings,
                           char *why)
{
    if (settings->ciphers && SSL_CTX_set_cipher_list(ctx, settings->ciphers) != 1)
        return say(why, "tls_ciphers", settings->ciphers);
    if (settings->ciphersuites &&
        SSL_CTX_set_ciphersuites(ctx, settings->ciphersuites) != 1)
        return say(why, "tls_ciphersuites", settings->ciphersuites);
    return true;
}

static bool set_up(SSL_CTX *ctx, const shoal__tls_settings_t *settings, char *why)
{
    int version =
        settings->min_version == SHOAL_TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;

    if (SSL_CTX_set_min_proto_version(ctx, version) != 1)
        return say(why, "tls_min_version",
                   settings->min_version == SHOAL_TLS_1_3 ? "1.3" : "1.2");
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    /* No partial writes: what SSL_write() took is told when all of it has left. */
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, on_ticket);
    return trust(ctx, settings, why) && identify(ctx, settings, why) &&
           choose_ciphers(ctx, settings, why);
}

int shoal__tls_vault_read(const shoal__tls_settings_t *settings,
                          shoal__tls_vault_t **ret, char why[SHOAL__TLS_WHY_BYTES])
{
    shoal__tls_vault_t *vault = shoal__calloc(1, sizeof *vault);

    snprintf(why, SHOAL__TLS_WHY_BYTES, "no memory");
    if (!vault)
        return SHOAL_ENOMEM;
    ERR_clear_error();
    atomic_init(&vault->references, 1);
    vault->ctx = SSL_CTX_new(TLS_client_method());
    if (!vault->ctx || !set_up(vault->ctx, settings, why)) {
        int rc = vault->ctx ? SHOAL_ETLS : SHOAL_ENOMEM;
        shoal__tls_vault_drop(vault);
        ERR_clear_error();
        return rc;
    }
    *ret = vault;
    why[0] = '\0';
    return 0;
}

shoal__tls_vault_t *shoal__tls_vault_share(shoal__tls_vault_t *vault)
{
    atomic_fetch_add(&vault->references, 1);
    return vault;
}

SSL_CTX *shoal__tls_vault_ctx(const shoal__tls_vault_t *vault)
{
    return vault->ctx;
}

#endif
