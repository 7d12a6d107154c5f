/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/tls_words.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

static X509 *certificate;
static X509_STORE *trusted;
static X509_STORE_CTX *store;
static char words[SHOAL__TLS_WHY_BYTES];

static int set_up(void **state)
{
    (void)state;
    OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                     NULL);
    certificate = X509_new();
    trusted = X509_STORE_new();
    store = X509_STORE_CTX_new();
    X509_set_version(certificate, X509_VERSION_3);
    X509_STORE_CTX_init(store, trusted, certificate, NULL);
    X509_STORE_CTX_set_current_cert(store, certificate);
    ERR_clear_error();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    X509_STORE_CTX_free(store);
    X509_STORE_free(trusted);
    X509_free(certificate);
    return 0;
}

/* ---- certificates ---- */

/* A name of the certificate. */
static void add(GENERAL_NAMES *names, int type, const char *data, size_t bytes)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *text = ASN1_STRING_type_new(type == GEN_IPADD ? V_ASN1_OCTET_STRING
                                                               : V_ASN1_IA5STRING);

    assert_int_equal(ASN1_STRING_set(text, data, (int)bytes), 1);
    GENERAL_NAME_set0_value(name, type, text);
    sk_GENERAL_NAME_push(names, name);
}

static void use(GENERAL_NAMES *names)
{
    assert_int_equal(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0,
                                       X509V3_ADD_REPLACE),
                     1);
    GENERAL_NAMES_free(names);
}

static void name_it(X509_NAME *name, const char *text)
{
    assert_int_equal(X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                                (const unsigned char *)text, -1, -1, 0),
                     1);
}

static void check(int why, int depth, const char *expected)
{
    X509_STORE_CTX_set_error(store, why);
    X509_STORE_CTX_set_error_depth(store, depth);
    shoal__tls_words_of_certificate(store, "here.example", words);
    assert_string_equal(words, expected);
}

/* The bytes that the peer put there decide, and none behind them is read. */
static void test_addresses_of_any_length(void **state)
{
    static const char bytes[40] = {10, 1, 2, 3};
    char expected[200];

    (void)state;
    for (size_t length = 0; length <= sizeof bytes; length++) {
        GENERAL_NAMES *names = GENERAL_NAMES_new();
        const char *text = length == 4    ? ", 10.1.2.3"
                           : length == 16 ? ", a01:203::"
                                          : "";
        add(names, GEN_DNS, "there.example", 13);
        add(names, GEN_IPADD, bytes, length);
        add(names, GEN_EMAIL, "a@b", 3);
        use(names);
        snprintf(expected, sizeof expected,
                 "the certificate is for there.example%s, not for here.example", text);
        check(X509_V_ERR_IP_ADDRESS_MISMATCH, 0, expected);
    }
}

static void test_names_of_any_bytes(void **state)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    char longest[300];

    (void)state;
    memset(longest, 'x', sizeof longest);
    add(names, GEN_DNS, "a\0b\r\n", 5);
    for (int i = 0; i < 20; i++)
        add(names, GEN_DNS, longest, sizeof longest);
    use(names);
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    shoal__tls_words_of_certificate(store, longest, words);
    for (const char *at = words; *at; at++)
        assert_in_range(*at, ' ', '~');
    assert_non_null(strstr(words, "the certificate is for a\\x00b\\x0d\\x0a, xxx"));
    assert_true(strlen(words) < sizeof words);
}

static void test_certificates_without_names(void **state)
{
    (void)state;
    check(X509_V_ERR_HOSTNAME_MISMATCH, 0,
          "the certificate is for nobody, not for here.example");
    name_it(X509_get_subject_name(certificate), "common");
    check(X509_V_ERR_HOSTNAME_MISMATCH, 0,
          "the certificate is for common, not for here.example");
}

static void test_times(void **state)
{
    (void)state;
    name_it(X509_get_subject_name(certificate), "common");
    ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20400102030405Z");
    ASN1_TIME_set_string(X509_getm_notAfter(certificate), "20010203040506Z");
    check(X509_V_ERR_CERT_HAS_EXPIRED, 0,
          "the certificate of common expired on 2001-02-03 04:05:06 UTC");
    check(X509_V_ERR_CERT_NOT_YET_VALID, 1,
          "the authority common is not valid before 2040-01-02 03:04:05 UTC");
    assert_int_equal(ASN1_STRING_set(X509_getm_notAfter(certificate), "soon", 4), 1);
    check(X509_V_ERR_CERT_HAS_EXPIRED, 1,
          "the authority common expired on an unreadable time");
}

static void test_authorities(void **state)
{
    static const int unknown[] = {
        X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
    };

    (void)state;
    name_it(X509_get_issuer_name(certificate), "some\nauthority");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        check(unknown[i], 1,
              "the certificate is from an unknown authority (some\\x0aauthority): set "
              "tls_ca_file");
    check(X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 0,
          "the certificate is self-signed: trust it with tls_ca_file");
    check(X509_V_ERR_CERT_REVOKED, 0,
          "the certificate was refused: certificate revoked");
    words[0] = '\0';
    X509_STORE_CTX_set_current_cert(store, NULL);
    check(X509_V_ERR_CERT_REVOKED, 0, ""); /* it says nothing */
}

/* ---- errors ---- */

static void test_errors(void **state)
{
    static const struct {
        int origin, reason;
        const char *words;
    } cases[] = {
        {ERR_LIB_SSL, SSL_R_WRONG_VERSION_NUMBER,
         "the server speaks no TLS on this port"},
        {ERR_LIB_SSL, SSL_R_HTTP_REQUEST, "the server speaks no TLS on this port"},
        {ERR_LIB_SSL, SSL_R_PACKET_LENGTH_TOO_LONG,
         "the server speaks no TLS on this port"},
        {ERR_LIB_SSL, SSL_R_UNSUPPORTED_PROTOCOL,
         "client and server have no version of TLS in common (tls_min_version)"},
        {ERR_LIB_SSL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
         "client and server have no version of TLS in common (tls_min_version)"},
        {ERR_LIB_SSL, SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
         "client and server have no cipher in common, or the server wants a "
         "certificate "
         "of the client (tls_cert_file)"},
        {ERR_LIB_SSL, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
         "the server wants a certificate of the client: set tls_cert_file"},
        {ERR_LIB_SSL, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
         "the server refused the client's certificate (tls_cert_file)"},
        {ERR_LIB_SSL, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
         "the server refused the client's certificate (tls_cert_file)"},
        {ERR_LIB_SSL, SSL_R_TLSV1_UNRECOGNIZED_NAME,
         "the server does not know the name that it was asked for (tls_server_name)"},
        {ERR_LIB_SSL, SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC,
         "TLS: decryption failed or bad record mac"},
        {ERR_LIB_SSL, 4000, "TLS: unknown reason"},
        /* The numbers of other libraries mean other things. */
        {ERR_LIB_X509, SSL_R_WRONG_VERSION_NUMBER, "TLS: unknown reason"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ERR_raise(cases[i].origin, cases[i].reason);
        shoal__tls_words_of_error(ERR_get_error(), words);
        assert_string_equal(words, cases[i].words);
    }
}

static void test_the_queue(void **state)
{
    (void)state;
    shoal__tls_words_of_queue(words);
    assert_string_equal(words, "unknown reason");
    ERR_raise(ERR_LIB_SSL, SSL_R_NO_CIPHER_MATCH);
    ERR_raise(ERR_LIB_SSL, SSL_R_HTTP_REQUEST);
    shoal__tls_words_of_queue(words);
    assert_string_equal(words, "http request");
    ERR_raise(ERR_LIB_SYS, 2); /* it tells more than what follows from it */
    ERR_raise(ERR_LIB_SSL, SSL_R_HTTP_REQUEST);
    shoal__tls_words_of_queue(words);
    assert_string_equal(words, "No such file or directory");
    assert_int_equal(ERR_peek_error(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_addresses_of_any_length),
        TEST(test_names_of_any_bytes),
        TEST(test_certificates_without_names),
        TEST(test_times),
        TEST(test_authorities),
        TEST(test_errors),
        TEST(test_the_queue),
    };
    return cmocka_run_group_tests_name("net/tls_words", tests, NULL, NULL);
}
