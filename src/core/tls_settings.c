/* SPDX-License-Identifier: MIT */
#include "core/tls_settings.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <stddef.h>

/* The texts of the settings, one after the other. */
static char **text_at(shoal__tls_settings_t *settings, size_t i)
{
    char **const texts[] = {&settings->ca_file,     &settings->ca_dir,
                            &settings->cert_file,   &settings->key_file,
                            &settings->server_name, &settings->ciphers,
                            &settings->ciphersuites};

    return i < sizeof texts / sizeof *texts ? texts[i] : NULL;
}

void shoal__tls_settings_release(shoal__tls_settings_t *settings)
{
    char **text;

    for (size_t i = 0; (text = text_at(settings, i)); i++) {
        shoal__free(*text);
        *text = NULL;
    }
}

int shoal__tls_settings_copy(const shoal__tls_settings_t *from,
                             shoal__tls_settings_t *ret)
{
    shoal__tls_settings_t source = *from;
    char **text;

    *ret = *from;
    for (size_t i = 0; (text = text_at(ret, i)); i++)
        *text = NULL;
    for (size_t i = 0; (text = text_at(&source, i)); i++) {
        if (*text && !(*text_at(ret, i) = shoal__strdup(*text))) {
            shoal__tls_settings_release(ret);
            return SHOAL_ENOMEM;
        }
    }
    return 0;
}
