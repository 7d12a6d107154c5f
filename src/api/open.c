/* SPDX-License-Identifier: MIT */
#include "api/open.h"

#include "base/error.h"
#include "core/options.h"

int shoal__open(const shoal__client_plan_t *plan, const shoal_options_t *options,
                shoal_client_t **ret_client, shoal_error_t *ret_error)
{
    int rc;

    if (ret_client)
        *ret_client = NULL;
    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    if (!ret_client)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "ret_client is NULL");
    if (options && options->sentinels.name && options->sentinels.count == 0)
        return shoal__error_say(ret_error, SHOAL_EINVAL,
                                "the options name a primary and no sentinel that knows "
                                "it: shoal_options_add_sentinel()");
    if (options && options->sentinels.name && options->sentinels.is_tls &&
        !options->tls.is_on)
        return shoal__error_say(ret_error, SHOAL_EINVAL,
                                "the sentinels speak TLS only beside a primary that "
                                "does: shoal_options_set_tls()");
    rc = shoal__client_open(plan, options, ret_client);
    return shoal__error_system(ret_error, rc, "no thread or descriptor for the client");
}
