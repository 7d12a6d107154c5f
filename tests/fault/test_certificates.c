/* SPDX-License-Identifier: MIT */
/* The certificates of the tests are what tools/certificates says: each is good, or bad for
 * one reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "certificates/certificates.h"
#include "support/tls/certificate_folder.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

static X509 *load(const char *name)
{
    char file[64];

    snprintf(file, sizeof file, "%s.crt", name);
    FILE *stream = fopen(certificate_path(file), "r");
    assert_non_null(stream);
    X509 *crt = PEM_read_X509(stream, NULL, NULL, NULL);
    fclose(stream);
    assert_non_null(crt);
    return crt;
}

/* What a client that trusts `ca` finds: X509_V_OK, or why not. */
static int verify(const char *name, const char *host, const char *address)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509 *crt = load(name);

    assert_int_equal(X509_STORE_load_file(store, certificate_path("ca.crt")), 1);
    assert_int_equal(X509_STORE_CTX_init(context, store, crt, NULL), 1);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);
    if (host)
        X509_VERIFY_PARAM_set1_host(param, host, 0);
    if (address)
        X509_VERIFY_PARAM_set1_ip_asc(param, address);
    int error =
        X509_verify_cert(context) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context);
    X509_free(crt);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return error;
}

static void each_is_what_its_name_says(void **state)
{
    static const struct {
        const char *name, *host, *address;
        int error;
    } rows[] = {
        {"server", "localhost", NULL, X509_V_OK},
        {"server", NULL, "127.0.0.1", X509_V_OK},
        {"server", NULL, "::1", X509_V_OK},
        {"server", "example.org", NULL, X509_V_ERR_HOSTNAME_MISMATCH},
        {"server", NULL, "127.0.0.2", X509_V_ERR_IP_ADDRESS_MISMATCH},
        {"client", NULL, NULL, X509_V_OK},
        {"expired", NULL, NULL, X509_V_ERR_CERT_HAS_EXPIRED},
        {"not_yet", NULL, NULL, X509_V_ERR_CERT_NOT_YET_VALID},
        {"other_name", NULL, NULL, X509_V_OK},
        {"other_name", "localhost", NULL, X509_V_ERR_HOSTNAME_MISMATCH},
        {"other_name", NULL, "127.0.0.1", X509_V_ERR_IP_ADDRESS_MISMATCH},
        {"common_name", "localhost", NULL, X509_V_OK},
        {"common_name", NULL, "127.0.0.1", X509_V_ERR_IP_ADDRESS_MISMATCH},
        {"foreign", NULL, NULL, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY},
        {"self_signed", NULL, NULL, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT},
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int error = verify(rows[i].name, rows[i].host, rows[i].address);
        if (error != rows[i].error)
            fail_msg("%s for %s%s: %s", rows[i].name, rows[i].host ? rows[i].host : "",
                     rows[i].address ? rows[i].address : "",
                     X509_verify_cert_error_string(error));
    }
}

static void a_new_one_takes_the_old_ones_place(void **state)
{
    const certificate_t renewed = {"renewed", "ca", "renewed", "DNS:localhost",
                                   false,     -60,  3600};
    (void)state;

    assert_true(certificate_make(certificate_folder(), &renewed));
    X509 *before = load("renewed");
    assert_true(certificate_make(certificate_folder(), &renewed));
    X509 *after = load("renewed");
    assert_int_not_equal(X509_cmp(before, after), 0);
    assert_int_equal(verify("renewed", "localhost", NULL), X509_V_OK);
    X509_free(before);
    X509_free(after);
}

static void what_cannot_be_made_is_told(void **state)
{
    certificate_t certificate = {"x", "nobody", "x", NULL, false, -60, 3600};
    (void)state;

    assert_false(certificate_make(certificate_folder(), &certificate));
    certificate.issuer = NULL;
    assert_false(certificate_make("/nowhere", &certificate));
    certificate.alternative_names = "nonsense";
    assert_false(certificate_make(certificate_folder(), &certificate));
    assert_false(certificates_make("/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_what_its_name_says),
        cmocka_unit_test(a_new_one_takes_the_old_ones_place),
        cmocka_unit_test(what_cannot_be_made_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
