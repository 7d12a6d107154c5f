/* SPDX-License-Identifier: MIT */
#include "openssl.h"

#include <stddef.h>

#if SHOALPY_FINDS_OPENSSL

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Its number is the major version of the headers here, which promises the same functions
 * in all minor versions. */
#define LIBRARY "libssl.so.3"

typedef int on_read_t(BIO *, char *, int);
typedef int on_write_t(BIO *, const char *, int);
typedef long on_control_t(BIO *, int, long, void *);
typedef int on_session_t(SSL *, SSL_SESSION *);

/* clang-format off */

/* What the library calls: R3(result, name, 3 parameters); V3 where there is no result.
 * Without a line here the extension has an undefined symbol, and cannot be imported. */
#define FUNCTIONS \
    R1(const unsigned char *, ASN1_STRING_get0_data, const ASN1_STRING *) \
    R1(int, ASN1_STRING_length, const ASN1_STRING *) \
    R2(int, ASN1_TIME_to_tm, const ASN1_TIME *, struct tm *) \
    V2(BIO_clear_flags, BIO *, int) \
    R1(int, BIO_free, BIO *) \
    R1(void *, BIO_get_data, BIO *) \
    V1(BIO_meth_free, BIO_METHOD *) \
    R2(BIO_METHOD *, BIO_meth_new, int, const char *) \
    R2(int, BIO_meth_set_ctrl, BIO_METHOD *, on_control_t *) \
    R2(int, BIO_meth_set_read, BIO_METHOD *, on_read_t *) \
    R2(int, BIO_meth_set_write, BIO_METHOD *, on_write_t *) \
    R1(BIO *, BIO_new, const BIO_METHOD *) \
    V2(BIO_set_data, BIO *, void *) \
    V2(BIO_set_flags, BIO *, int) \
    V2(BIO_set_init, BIO *, int) \
    V0(ERR_clear_error) \
    R0(unsigned long, ERR_get_error) \
    R0(unsigned long, ERR_peek_error) \
    R0(unsigned long, ERR_peek_last_error) \
    R1(const char *, ERR_reason_error_string, unsigned long) \
    V1(GENERAL_NAMES_free, GENERAL_NAMES *) \
    R2(int, OPENSSL_init_ssl, uint64_t, const OPENSSL_INIT_SETTINGS *) \
    R1(int, OPENSSL_sk_num, const OPENSSL_STACK *) \
    R2(void *, OPENSSL_sk_value, const OPENSSL_STACK *, int) \
    R1(int, SSL_CTX_check_private_key, const SSL_CTX *) \
    R4(long, SSL_CTX_ctrl, SSL_CTX *, int, long, void *) \
    V1(SSL_CTX_free, SSL_CTX *) \
    R2(int, SSL_CTX_load_verify_dir, SSL_CTX *, const char *) \
    R2(int, SSL_CTX_load_verify_file, SSL_CTX *, const char *) \
    R1(SSL_CTX *, SSL_CTX_new, const SSL_METHOD *) \
    V2(SSL_CTX_sess_set_new_cb, SSL_CTX *, on_session_t *) \
    R2(int, SSL_CTX_set_cipher_list, SSL_CTX *, const char *) \
    R2(int, SSL_CTX_set_ciphersuites, SSL_CTX *, const char *) \
    V2(SSL_CTX_set_default_passwd_cb, SSL_CTX *, pem_password_cb *) \
    R1(int, SSL_CTX_set_default_verify_paths, SSL_CTX *) \
    R2(uint64_t, SSL_CTX_set_options, SSL_CTX *, uint64_t) \
    R3(int, SSL_CTX_use_PrivateKey_file, SSL_CTX *, const char *, int) \
    R2(int, SSL_CTX_use_certificate_chain_file, SSL_CTX *, const char *) \
    V1(SSL_SESSION_free, SSL_SESSION *) \
    R1(unsigned long, SSL_SESSION_get_ticket_lifetime_hint, const SSL_SESSION *) \
    R1(long, SSL_SESSION_get_time, const SSL_SESSION *) \
    R1(long, SSL_SESSION_get_timeout, const SSL_SESSION *) \
    R1(int, SSL_SESSION_is_resumable, const SSL_SESSION *) \
    R4(long, SSL_ctrl, SSL *, int, long, void *) \
    R1(int, SSL_do_handshake, SSL *) \
    V1(SSL_free, SSL *) \
    R1(X509_VERIFY_PARAM *, SSL_get0_param, SSL *) \
    R1(X509 *, SSL_get0_peer_certificate, const SSL *) \
    R2(int, SSL_get_error, const SSL *, int) \
    R1(long, SSL_get_verify_result, const SSL *) \
    R2(void *, SSL_get_ex_data, const SSL *, int) \
    R0(int, SSL_get_ex_data_X509_STORE_CTX_idx) \
    R1(int, SSL_has_pending, const SSL *) \
    R1(SSL *, SSL_new, SSL_CTX *) \
    R3(int, SSL_read, SSL *, void *, int) \
    R1(int, SSL_session_reused, const SSL *) \
    V3(SSL_set_bio, SSL *, BIO *, BIO *) \
    V1(SSL_set_connect_state, SSL *) \
    R3(int, SSL_set_ex_data, SSL *, int, void *) \
    R2(int, SSL_set_session, SSL *, SSL_SESSION *) \
    V2(SSL_set_shutdown, SSL *, int) \
    V3(SSL_set_verify, SSL *, int, SSL_verify_cb) \
    R1(int, SSL_shutdown, SSL *) \
    R1(int, SSL_version, const SSL *) \
    R3(int, SSL_write, SSL *, const void *, int) \
    R0(const SSL_METHOD *, TLS_client_method) \
    R4(int, X509_NAME_get_text_by_NID, const X509_NAME *, int, char *, int) \
    R1(X509 *, X509_STORE_CTX_get_current_cert, const X509_STORE_CTX *) \
    R1(int, X509_STORE_CTX_get_error, const X509_STORE_CTX *) \
    R1(int, X509_STORE_CTX_get_error_depth, const X509_STORE_CTX *) \
    R2(void *, X509_STORE_CTX_get_ex_data, const X509_STORE_CTX *, int) \
    R3(int, X509_VERIFY_PARAM_set1_host, X509_VERIFY_PARAM *, const char *, size_t) \
    R2(int, X509_VERIFY_PARAM_set1_ip_asc, X509_VERIFY_PARAM *, const char *) \
    V2(X509_VERIFY_PARAM_set_hostflags, X509_VERIFY_PARAM *, unsigned int) \
    R1(const ASN1_TIME *, X509_get0_notAfter, const X509 *) \
    R1(const ASN1_TIME *, X509_get0_notBefore, const X509 *) \
    R4(void *, X509_get_ext_d2i, const X509 *, int, int *, int *) \
    R1(X509_NAME *, X509_get_issuer_name, const X509 *) \
    R1(X509_NAME *, X509_get_subject_name, const X509 *) \
    R1(const char *, X509_verify_cert_error_string, long)

/* The library finds these instead of OpenSSL's own.  Each calls that one; as long as it was
 * not found, it does nothing, and returns 0. */
#define TO(name) static __typeof__(name) *to_##name;
#define R0(R, name) TO(name) R name(void) { return to_##name ? to_##name() : 0; }
#define R1(R, name, A) TO(name) R name(A a) { return to_##name ? to_##name(a) : 0; }
#define R2(R, name, A, B) TO(name) \
    R name(A a, B b) { return to_##name ? to_##name(a, b) : 0; }
#define R3(R, name, A, B, C) TO(name) \
    R name(A a, B b, C c) { return to_##name ? to_##name(a, b, c) : 0; }
#define R4(R, name, A, B, C, D) TO(name) \
    R name(A a, B b, C c, D d) { return to_##name ? to_##name(a, b, c, d) : 0; }
#define V0(name) TO(name) void name(void) { if (to_##name) to_##name(); }
#define V1(name, A) TO(name) void name(A a) { if (to_##name) to_##name(a); }
#define V2(name, A, B) TO(name) void name(A a, B b) { if (to_##name) to_##name(a, b); }
#define V3(name, A, B, C) TO(name) \
    void name(A a, B b, C c) { if (to_##name) to_##name(a, b, c); }

FUNCTIONS

#undef R0
#undef R1
#undef R2
#undef R3
#undef R4
#undef V0
#undef V1
#undef V2
#undef V3
#define R0(R, name) {#name, &to_##name},
#define R1(R, name, A) R0(R, name)
#define R2(R, name, A, B) R0(R, name)
#define R3(R, name, A, B, C) R0(R, name)
#define R4(R, name, A, B, C, D) R0(R, name)
#define V0(name) R0(void, name)
#define V1(name, A) R0(void, name)
#define V2(name, A, B) R0(void, name)
#define V3(name, A, B, C) R0(void, name)

static const struct {
    const char *name;
    void *to; /* points to the pointer above */
} functions[] = {FUNCTIONS};

/* clang-format on */

#define COUNT (sizeof functions / sizeof functions[0])

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why[240];

/* dlerror() names the file, and what it lacks. */
static void find(void)
{
    /* RTLD_LOCAL: no other extension resolves its symbols by this one. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *found[COUNT];

    for (size_t i = 0; library && i < COUNT; i++) {
        found[i] = dlsym(library, functions[i].name); /* libcrypto's, too */
        if (!found[i])
            library = NULL;
    }
    if (!library) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread, in glibc and musl */
        const char *reason = dlerror();
        snprintf(why, sizeof why, "TLS needs OpenSSL 3: %.200s", reason ? reason : "");
        return;
    }
    for (size_t i = 0; i < COUNT; i++)
        memcpy(functions[i].to, &found[i], sizeof found[i]);
}

const char *shoalpy_openssl_find(void)
{
    pthread_once(&once, find);
    return why[0] ? why : NULL;
}

#else

const char *shoalpy_openssl_find(void)
{
    return NULL;
}

#endif
