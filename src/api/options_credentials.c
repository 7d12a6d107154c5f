/* SPDX-License-Identifier: MIT */
#include <shoal/credentials.h>

#include "core/options.h"
#include <shoal/errors.h>

int shoal_options_set_auth(shoal_options_t *options, const char *user,
                           const char *password)
{
    if (!options)
        return SHOAL_EINVAL;
    return shoal__options_set_secrets(&options->user, &options->password, user,
                                      password);
}

int shoal_options_set_credentials_provider(shoal_options_t *options,
                                           shoal_credentials_fn fn, void *data)
{
    if (!options)
        return SHOAL_EINVAL;
    options->credentials.provider = fn;
    options->credentials.data = data;
    return 0;
}

int shoal_options_set_credentials_timeout_us(shoal_options_t *options,
                                             uint64_t timeout_us)
{
    if (!options || timeout_us < 1000)
        return SHOAL_EINVAL;
    options->credentials.timeout_us = timeout_us;
    return 0;
}

int shoal_options_set_rotation(shoal_options_t *options, shoal_rotation_t rotation)
{
    if (!options ||
        (rotation != SHOAL_ROTATE_SUCCESSOR && rotation != SHOAL_ROTATE_IN_PLACE))
        return SHOAL_EINVAL;
    options->credentials.rotation = rotation;
    return 0;
}
