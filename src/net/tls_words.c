/* SPDX-License-Identifier: MIT */
#include "core/tls_settings.h"

#if SHOAL_TLS

#include "base/escape.h"
#include "net/tls_words.h"
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SAY(words, ...) snprintf(words, SHOAL__TLS_WHY_BYTES, __VA_ARGS__)

/* The peer may have put bytes of any length there. */
static void read_address(const ASN1_OCTET_STRING *address, char *room,
                         size_t room_bytes)
{
    int bytes = ASN1_STRING_length(address);

    if (bytes == (int)sizeof(struct in_addr) || bytes == (int)sizeof(struct in6_addr))
        inet_ntop(bytes == (int)sizeof(struct in_addr) ? AF_INET : AF_INET6,
                  ASN1_STRING_get0_data(address), room, (socklen_t)room_bytes);
}

/* The first names that a certificate is for. */
static void read_names(X509 *certificate, char *room, size_t room_bytes)
{
    GENERAL_NAMES *names =
        X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    char common[80] = "";
    size_t at = 0;

    room[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && at + 50 < room_bytes; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        char text[80] = "";
        if (name->type == GEN_DNS)
            shoal__escape(
                text, sizeof text,
                (shoal__bytes_t){(const char *)ASN1_STRING_get0_data(name->d.dNSName),
                                 (size_t)ASN1_STRING_length(name->d.dNSName)});
        else if (name->type == GEN_IPADD)
            read_address(name->d.iPAddress, text, sizeof text);
        if (text[0])
            at += (size_t)snprintf(room + at, room_bytes - at, "%s%.40s",
                                   at ? ", " : "", text);
    }
    GENERAL_NAMES_free(names);
    if (at > 0)
        return;
    int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
                                           NID_commonName, common, sizeof common);
    if (length > 0)
        shoal__escape(room, room_bytes, (shoal__bytes_t){common, strlen(common)});
    else
        snprintf(room, room_bytes, "nobody");
}

static void read_issuer(X509 *certificate, char *room, size_t room_bytes)
{
    char common[80] = "";

    X509_NAME_get_text_by_NID(X509_get_issuer_name(certificate), NID_commonName, common,
                              sizeof common);
    shoal__escape(room, room_bytes, (shoal__bytes_t){common, strlen(common)});
}

static void read_time(const ASN1_TIME *time, char *room, size_t room_bytes)
{
    struct tm when;

    if (ASN1_TIME_to_tm(time, &when) == 1)
        strftime(room, room_bytes, "%Y-%m-%d %H:%M:%S UTC", &when);
    else
        snprintf(room, room_bytes, "an unreadable time");
}

static void say_of_time(char words[SHOAL__TLS_WHY_BYTES], X509 *certificate,
                        bool is_late, bool is_leaf)
{
    char when[40], names[100];

    read_time(is_late ? X509_get0_notAfter(certificate)
                      : X509_get0_notBefore(certificate),
              when, sizeof when);
    read_names(certificate, names, sizeof names);
    SAY(words, "the %s %s %s %s", is_leaf ? "certificate of" : "authority", names,
        is_late ? "expired on" : "is not valid before", when);
}

void shoal__tls_words_of_certificate(X509_STORE_CTX *store, const char *name,
                                     char words[SHOAL__TLS_WHY_BYTES])
{
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    int error = X509_STORE_CTX_get_error(store);
    bool is_leaf = X509_STORE_CTX_get_error_depth(store) == 0;
    char names[150];

    if (!certificate)
        return;
    switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        read_names(certificate, names, sizeof names);
        SAY(words, "the certificate is for %.120s, not for %.80s", names, name);
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        say_of_time(words, certificate, error == X509_V_ERR_CERT_HAS_EXPIRED, is_leaf);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        SAY(words, "the certificate is self-signed: trust it with tls_ca_file");
        break;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        read_issuer(certificate, names, sizeof names);
        SAY(words,
            "the certificate is from an unknown authority (%.80s): set "
            "tls_ca_file",
            names);
        break;
    default:
        SAY(words, "the certificate was refused: %.150s",
            X509_verify_cert_error_string(error));
        break;
    }
}

static const char *words_of(int reason)
{
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_UNEXPECTED_MESSAGE:
        return "the server speaks no TLS on this port";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return "client and server have no version of TLS in common (tls_min_version)";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        return "client and server have no cipher in common, or the server wants a "
               "certificate of the client (tls_cert_file)";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "the server wants a certificate of the client: set tls_cert_file";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        return "the server refused the client's certificate (tls_cert_file)";
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
        return "the server does not know the name that it was asked for "
               "(tls_server_name)";
    default:
        return NULL;
    }
}

void shoal__tls_words_of_error(unsigned long error, char words[SHOAL__TLS_WHY_BYTES])
{
    const char *known =
        ERR_GET_LIB(error) == ERR_LIB_SSL ? words_of(ERR_GET_REASON(error)) : NULL;
    const char *reason = ERR_reason_error_string(error);

    if (known)
        SAY(words, "%s", known);
    else
        SAY(words, "TLS: %.200s", reason ? reason : "unknown reason");
}

void shoal__tls_words_of_queue(char words[SHOAL__TLS_WHY_BYTES])
{
    unsigned long error, last = 0;

    /* The last one tells of the call that failed, a system's error tells why it did. */
    while ((error = ERR_get_error()) != 0)
        if (!ERR_SYSTEM_ERROR(last))
            last = error;
    const char *reason = ERR_SYSTEM_ERROR(last)
                             ? strerror(ERR_GET_REASON(last)) /* NOLINT */
                             : ERR_reason_error_string(last);
    snprintf(words, SHOAL__TLS_WHY_BYTES, "%s", reason ? reason : "unknown reason");
}

#endif
