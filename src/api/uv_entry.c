/* SPDX-License-Identifier: MIT */
#include <shoal/uv.h>

#include "api/client.h"
#include <shoal/errors.h>

int shoal_client_open_uv(uv_loop_t *loop, const shoal_options_t *options,
                         shoal_client_t **ret_client)
{
    if (!loop || !ret_client)
        return SHOAL_EINVAL;
    return shoal__client_open(SHOAL__DRIVE_CALLER, loop, options, ret_client);
}
