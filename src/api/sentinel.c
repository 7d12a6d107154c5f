/* SPDX-License-Identifier: MIT */
#include <shoal/sentinel.h>

#include "base/alloc.h"
#include "core/options.h"
#include <shoal/errors.h>
#include <string.h>

#define NAME_BYTES_MAX 127
#define HOST_BYTES_MAX 255

_Static_assert(SHOAL_SENTINELS_MAX == SHOAL__OPTIONS_SENTINELS_MAX, "one number");

static bool is_name(const char *name)
{
    size_t bytes = strlen(name);

    for (size_t i = 0; i < bytes; i++)
        if (name[i] < '!' || name[i] > '~')
            return false;
    return bytes >= 1 && bytes <= NAME_BYTES_MAX;
}

int shoal_options_set_sentinel(shoal_options_t *options, const char *name)
{
    char *copy;

    if (!options || (name && !is_name(name)))
        return SHOAL_EINVAL;
    if (shoal__options_copy_text(name, &copy) < 0)
        return SHOAL_ENOMEM;
    shoal__free(options->sentinels.name);
    options->sentinels.name = copy;
    return 0;
}

int shoal_options_add_sentinel(shoal_options_t *options, const char *host, int port)
{
    shoal__options_sentinels_t *sentinels;

    if (!options || !host || !*host || strlen(host) > HOST_BYTES_MAX || port < 1 ||
        port > 65535 || options->sentinels.count == SHOAL_SENTINELS_MAX)
        return SHOAL_EINVAL;
    sentinels = &options->sentinels;
    if (shoal__options_copy_text(host, &sentinels->seeds[sentinels->count].host) < 0)
        return SHOAL_ENOMEM;
    sentinels->seeds[sentinels->count++].port = port;
    return 0;
}

int shoal_options_set_sentinel_tls(shoal_options_t *options, bool is_on)
{
    if (!options)
        return SHOAL_EINVAL;
    options->sentinels.is_tls = is_on;
    return 0;
}

int shoal_options_set_sentinel_auth(shoal_options_t *options, const char *user,
                                    const char *password)
{
    if (!options)
        return SHOAL_EINVAL;
    return shoal__options_set_secrets(&options->sentinels.user,
                                      &options->sentinels.password, user, password);
}
