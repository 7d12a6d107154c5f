/* SPDX-License-Identifier: MIT */
#include <shoal/lease.h>

#include "base/error.h"
#include "client/client.h"
#include "client/lease.h"
#include "client/plan.h"
#include "client/submit.h"
#include "core/lease.h"
#include "resp/key_slot.h"

int shoal_lease_open(shoal_client_t *client, shoal_lease_t **ret_lease)
{
    int rc = shoal__client_check(client);

    if (!ret_lease)
        return SHOAL_EINVAL;
    *ret_lease = NULL;
    return rc < 0 ? rc : shoal__lease_open(client, ret_lease);
}

int shoal_lease_open_for(shoal_client_t *client, const char *key, size_t key_bytes,
                         shoal_lease_t **ret_lease)
{
    int rc;

    if (!ret_lease)
        return SHOAL_EINVAL;
    *ret_lease = NULL;
    if (!key)
        return SHOAL_EINVAL;
    rc = shoal_lease_open(client, ret_lease);
    if (rc == 0)
        (*ret_lease)->slot = shoal__key_slot((shoal__bytes_t){key, key_bytes});
    return rc;
}

void shoal_lease_close(shoal_lease_t *lease)
{
    if (lease && !shoal__client_is_foreign(lease->client))
        shoal__lease_close(lease);
}

/* The extras, as this version knows them, for this lease. */
static int read_call(shoal_lease_t *lease, const shoal_call_t *call,
                     shoal_call_t *ret_call)
{
    if (!shoal__call_read(call, ret_call))
        return SHOAL_EINVAL;
    ret_call->lease = lease;
    return lease ? 0 : shoal__error_plain(ret_call->error, SHOAL_EINVAL);
}

int shoal_lease_submit(shoal_lease_t *lease, const shoal_command_t *commands,
                       size_t count, const shoal_call_t *call,
                       shoal_result_cb on_result, void *data, uint64_t *ret_ticket)
{
    shoal_call_t whole;
    int rc = read_call(lease, call, &whole);

    if (ret_ticket)
        *ret_ticket = 0;
    return rc < 0 ? rc
                  : shoal_client_submit_many(lease->client, commands, count, &whole,
                                             on_result, data, ret_ticket);
}

int shoal_lease_monitor(shoal_lease_t *lease, const shoal_call_t *call,
                        shoal_result_cb on_line, void *data)
{
    static const char *const argv[] = {"MONITOR"};
    const shoal_command_t command = {1, argv, NULL};
    shoal__submission_t submission = {.commands = &command,
                                      .count = 1,
                                      .on_result = on_line,
                                      .data = data,
                                      .is_monitor = true};
    int rc = read_call(lease, call, &submission.call);

    if (rc < 0)
        return rc;
    if (!on_line)
        return shoal__error_plain(submission.call.error, SHOAL_EINVAL);
    if (submission.call.sink || submission.call.chunks) {
        shoal__error_say(submission.call.error, SHOAL_EINVAL,
                         "the lines of MONITOR go to no sink");
        return SHOAL_EINVAL;
    }
    return shoal__client_submit(lease->client, &submission, NULL);
}

int shoal_lease_call(shoal_lease_t *lease, const shoal_command_t *command,
                     const shoal_call_t *call, shoal_result_t **ret_result)
{
    shoal_call_t whole;
    int rc = read_call(lease, call, &whole);

    if (ret_result)
        *ret_result = NULL;
    return rc < 0 ? rc
                  : shoal_client_call_with(lease->client, command, &whole, ret_result);
}
