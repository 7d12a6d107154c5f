/* SPDX-License-Identifier: MIT */
#include <shoal/pending.h>

#include "base/error.h"
#include "base/time_us.h"
#include "client/call.h"
#include "client/client.h"
#include "client/submit.h"
#include <shoal/errors.h>

/* Looks at the clock only if the wait ends. */
static uint64_t end_of(uint64_t wait_us)
{
    return wait_us == SHOAL_TIMEOUT_NEVER
               ? SHOAL__NEVER_US
               : shoal__time_after(shoal__clock_us(), wait_us);
}

int shoal_client_call_begin(shoal_client_t *client, const shoal_command_t *command,
                            const shoal_call_t *call, uint64_t wait_us,
                            shoal_pending_t **ret_pending, shoal_result_t **ret_result)
{
    shoal_call_t extras;
    int rc;

    if (ret_pending)
        *ret_pending = NULL;
    if (ret_result)
        *ret_result = NULL;
    if (!shoal__call_read(call, &extras))
        return SHOAL_EINVAL;
    if (!command || !ret_pending || !ret_result)
        return shoal__error_plain(extras.error, SHOAL_EINVAL);
    rc = shoal__client_check(client);
    if (rc < 0)
        return shoal__error_plain(extras.error, rc);
    if (shoal__client_is_loop_thread(client))
        return shoal__error_plain(extras.error, SHOAL_ELOOP);
    return shoal__call_begin(client, command, &extras, end_of(wait_us), ret_pending,
                             ret_result);
}

/* May the calling thread wait for it?  0 or an error. */
static int check(const shoal_pending_t *pending, shoal_result_t **ret_result)
{
    if (ret_result)
        *ret_result = NULL;
    if (!pending || !ret_result)
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(shoal__call_client(pending)))
        return SHOAL_EFORK;
    return shoal__client_is_loop_thread(shoal__call_client(pending)) ? SHOAL_ELOOP : 0;
}

int shoal_pending_wait(shoal_pending_t *pending, uint64_t wait_us,
                       shoal_result_t **ret_result)
{
    int rc = check(pending, ret_result);

    if (rc < 0)
        return rc;
    return shoal__call_wait(pending, end_of(wait_us), ret_result);
}

int shoal_pending_give_up(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    int rc = check(pending, ret_result);

    if (rc < 0)
        return rc;
    return shoal__call_give_up(pending, ret_result);
}
