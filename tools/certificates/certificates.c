/* SPDX-License-Identifier: MIT */
#include "certificates/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_BYTES 512
#define HOUR_S INT64_C(3600)
#define DAY_S INT64_C(86400)

typedef struct pair {
    X509 *crt;
    EVP_PKEY *key;
} pair_t;

static void release(pair_t *pair)
{
    X509_free(pair->crt);
    EVP_PKEY_free(pair->key);
}

static FILE *open_part(const char *folder, const char *name, const char *part,
                       const char *how)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s.%s", folder, name, part);

    return length < PATH_BYTES ? fopen(path, how) : NULL;
}

static bool load(const char *folder, const char *name, pair_t *ret_pair)
{
    FILE *crt = open_part(folder, name, "crt", "r");
    FILE *key = open_part(folder, name, "key", "r");

    *ret_pair = (pair_t){
        .crt = crt ? PEM_read_X509(crt, NULL, NULL, NULL) : NULL,
        .key = key ? PEM_read_PrivateKey(key, NULL, NULL, NULL) : NULL,
    };
    if (crt)
        fclose(crt);
    if (key)
        fclose(key);
    return ret_pair->crt && ret_pair->key;
}

/* NAME.PART.new becomes NAME.PART: a program that reads meanwhile reads one or the other. */
static bool replace(const char *folder, const char *name, const char *part)
{
    char from[PATH_BYTES], to[PATH_BYTES];

    return snprintf(from, sizeof from, "%s/%s.%s.new", folder, name, part) <
               PATH_BYTES &&
           snprintf(to, sizeof to, "%s/%s.%s", folder, name, part) < PATH_BYTES &&
           rename(from, to) == 0;
}

static bool store(const char *folder, const char *name, const pair_t *pair)
{
    FILE *crt = open_part(folder, name, "crt.new", "w");
    FILE *key = open_part(folder, name, "key.new", "w");
    bool is_written =
        crt && key && PEM_write_X509(crt, pair->crt) == 1 &&
        PEM_write_PrivateKey(key, pair->key, NULL, NULL, 0, NULL, NULL) == 1;

    if (crt)
        is_written = fclose(crt) == 0 && is_written;
    if (key)
        is_written = fclose(key) == 0 && is_written;
    return is_written && replace(folder, name, "key") && replace(folder, name, "crt");
}

static bool extend(X509 *crt, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;

    X509V3_set_ctx(&context, issuer, crt, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool is_added = extension && X509_add_ext(crt, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool set_names(X509 *crt, X509 *issuer, const certificate_t *certificate)
{
    X509_NAME *subject = X509_get_subject_name(crt);

    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                      (const unsigned char *)certificate->common_name,
                                      -1, -1, 0) == 1 &&
           X509_set_issuer_name(crt, X509_get_subject_name(issuer)) == 1 &&
           (!certificate->alternative_names ||
            extend(crt, issuer, NID_subject_alt_name, certificate->alternative_names));
}

static bool set_uses(X509 *crt, X509 *issuer, bool is_authority)
{
    return extend(crt, issuer, NID_basic_constraints,
                  is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
           extend(crt, issuer, NID_key_usage,
                  is_authority ? "critical,keyCertSign,cRLSign"
                               : "critical,digitalSignature") &&
           extend(crt, issuer, NID_subject_key_identifier, "hash") &&
           (crt == issuer ||
            extend(crt, issuer, NID_authority_key_identifier, "keyid:always"));
}

static bool set_number(X509 *crt)
{
    uint32_t number = 0;

    return RAND_bytes((unsigned char *)&number, sizeof number) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(crt), number) == 1 &&
           X509_set_version(crt, X509_VERSION_3) == 1;
}

/* Fill the certificate in; its key is there. */
static bool fill(pair_t *pair, const pair_t *issuer, const certificate_t *certificate)
{
    X509 *crt = pair->crt;

    return set_number(crt) &&
           X509_gmtime_adj(X509_getm_notBefore(crt), (long)certificate->from_s) &&
           X509_gmtime_adj(X509_getm_notAfter(crt), (long)certificate->until_s) &&
           X509_set_pubkey(crt, pair->key) == 1 &&
           set_names(crt, issuer->crt, certificate) &&
           set_uses(crt, issuer->crt, certificate->is_authority) &&
           X509_sign(crt, issuer->key, EVP_sha256()) > 0;
}

bool certificate_make(const char *folder, const certificate_t *certificate)
{
    pair_t pair = {.crt = X509_new(), .key = EVP_EC_gen("P-256")}, signer = {0};
    bool is_made = pair.crt && pair.key;

    if (is_made && certificate->issuer)
        is_made = load(folder, certificate->issuer, &signer);
    is_made = is_made &&
              fill(&pair, certificate->issuer ? &signer : &pair, certificate) &&
              store(folder, certificate->name, &pair);
    release(&pair);
    release(&signer);
    return is_made;
}

bool certificates_make(const char *folder)
{
    static const char here[] = "DNS:localhost,IP:127.0.0.1,IP:::1";
    static const certificate_t set[] = {
        {"ca", NULL, "ca of tests", NULL, true, -DAY_S, DAY_S},
        {"other_ca", NULL, "other ca of tests", NULL, true, -DAY_S, DAY_S},
        {"server", "ca", "server", here, false, -DAY_S, DAY_S},
        {"client", "ca", "client", NULL, false, -DAY_S, DAY_S},
        {"expired", "ca", "expired", here, false, -2 * HOUR_S, -HOUR_S},
        {"not_yet", "ca", "not yet", here, false, DAY_S, 2 * DAY_S},
        {"other_name", "ca", "other.example", "DNS:other.example,IP:192.0.2.1", false,
         -DAY_S, DAY_S},
        {"common_name", "ca", "localhost", NULL, false, -DAY_S, DAY_S},
        {"foreign", "other_ca", "foreign", here, false, -DAY_S, DAY_S},
        {"self_signed", NULL, "self-signed", here, false, -DAY_S, DAY_S},
    };

    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (!certificate_make(folder, &set[i]))
            return false;
    return true;
}
