/* SPDX-License-Identifier: MIT */
#include <shoal/uv.h>

#include "client/life.h"
#include "route/standalone.h"
#include <shoal/errors.h>

int shoal_client_open_uv(uv_loop_t *loop, const shoal_options_t *options,
                         shoal_client_t **ret_client)
{
    const shoal__client_plan_t plan = {
        .drive = SHOAL__DRIVE_CALLER, .uv = loop, .new_route = shoal__standalone_new};

    if (!loop || !ret_client)
        return SHOAL_EINVAL;
    return shoal__client_open(&plan, options, ret_client);
}
