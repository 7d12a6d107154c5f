/* SPDX-License-Identifier: MIT */
#include <shoal/uv.h>

#include "api/open.h"
#include "base/error.h"

int shoal_pubsub_open_uv(uv_loop_t *loop, const shoal_options_t *options,
                         shoal_pubsub_t **ret_pubsub, shoal_error_t *ret_error)
{
    if (loop)
        return shoal__open_pubsub(SHOAL__DRIVE_CALLER, loop, options, ret_pubsub,
                                  ret_error);
    if (ret_pubsub)
        *ret_pubsub = NULL;
    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    return shoal__error_say(ret_error, SHOAL_EINVAL, "loop is NULL");
}

int shoal_client_open_uv(uv_loop_t *loop, const shoal_options_t *options,
                         shoal_client_t **ret_client, shoal_error_t *ret_error)
{
    const shoal__client_plan_t plan = {.drive = SHOAL__DRIVE_CALLER, .uv = loop};

    if (loop)
        return shoal__open(&plan, options, ret_client, ret_error);
    if (ret_client)
        *ret_client = NULL;
    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    return shoal__error_say(ret_error, SHOAL_EINVAL, "loop is NULL");
}
