/* SPDX-License-Identifier: MIT */
#include <shoal/tls.h>

#include "base/alloc.h"
#include "core/options.h"
#include <shoal/errors.h>
#include <string.h>

#define NAME_BYTES_MAX 255 /* of a name in DNS, and so in a certificate */

bool shoal_has_tls(void)
{
    return SHOAL_TLS;
}

/* Replace the text of a field by a copy; NULL clears it. */
static int set_text(char **field, const char *text)
{
    char *copy;

    if (text && !*text)
        return SHOAL_EINVAL;
    if (shoal__options_copy_text(text, &copy) < 0)
        return SHOAL_ENOMEM;
    shoal__free(*field);
    *field = copy;
    return 0;
}

int shoal_options_set_tls(shoal_options_t *options, bool is_on)
{
    if (!options)
        return SHOAL_EINVAL;
    if (is_on && !shoal_has_tls())
        return SHOAL_ETLS;
    options->tls.is_on = is_on;
    return 0;
}

int shoal_options_set_tls_ca_file(shoal_options_t *options, const char *path)
{
    return options ? set_text(&options->tls.ca_file, path) : SHOAL_EINVAL;
}

int shoal_options_set_tls_ca_dir(shoal_options_t *options, const char *path)
{
    return options ? set_text(&options->tls.ca_dir, path) : SHOAL_EINVAL;
}

int shoal_options_set_tls_certificate(shoal_options_t *options, const char *cert_file,
                                      const char *key_file)
{
    char *key = NULL;
    int rc;

    if (!options || (key_file && !cert_file))
        return SHOAL_EINVAL;
    rc = set_text(&key, key_file); /* first: a failure changes nothing */
    if (rc == 0)
        rc = set_text(&options->tls.cert_file, cert_file);
    if (rc < 0) {
        shoal__free(key);
        return rc;
    }
    shoal__free(options->tls.key_file);
    options->tls.key_file = key;
    return 0;
}

int shoal_options_set_tls_server_name(shoal_options_t *options, const char *name)
{
    /* To OpenSSL ".example" is every name that ends so. */
    if (!options || (name && (name[0] == '.' || strlen(name) > NAME_BYTES_MAX)))
        return SHOAL_EINVAL;
    return set_text(&options->tls.server_name, name);
}

int shoal_options_set_tls_min_version(shoal_options_t *options,
                                      shoal_tls_version_t version)
{
    if (!options || (version != SHOAL_TLS_1_2 && version != SHOAL_TLS_1_3))
        return SHOAL_EINVAL;
    options->tls.min_version = version;
    return 0;
}

int shoal_options_set_tls_ciphers(shoal_options_t *options, const char *ciphers)
{
    return options ? set_text(&options->tls.ciphers, ciphers) : SHOAL_EINVAL;
}

int shoal_options_set_tls_ciphersuites(shoal_options_t *options,
                                       const char *ciphersuites)
{
    return options ? set_text(&options->tls.ciphersuites, ciphersuites) : SHOAL_EINVAL;
}

int shoal_options_set_tls_insecure(shoal_options_t *options, bool is_insecure)
{
    if (!options)
        return SHOAL_EINVAL;
    options->tls.is_insecure = is_insecure;
    return 0;
}
