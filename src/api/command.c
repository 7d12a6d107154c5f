/* SPDX-License-Identifier: MIT */
#include <shoal/command.h>

#include "base/error.h"
#include "client/call.h"
#include "client/client.h"
#include "client/submit.h"
#include <shoal/errors.h>
#include <shoal/pending.h>

int shoal_client_submit(shoal_client_t *client, size_t argc, const char *const *argv,
                        const size_t *argvlen, shoal_result_cb on_result, void *data,
                        uint64_t *ret_ticket)
{
    if (ret_ticket)
        *ret_ticket = 0;
    if (!client)
        return SHOAL_EINVAL;
    return shoal__client_submit_one(client, argc, argv, argvlen, on_result, data,
                                    ret_ticket);
}

int shoal_client_submit_many(shoal_client_t *client, const shoal_command_t *commands,
                             size_t count, const shoal_call_t *call,
                             shoal_result_cb on_result, void *data,
                             uint64_t *ret_ticket)
{
    shoal__submission_t submission = {
        .commands = commands, .count = count, .on_result = on_result, .data = data};

    if (ret_ticket)
        *ret_ticket = 0;
    if (!shoal__call_read(call, &submission.call))
        return SHOAL_EINVAL;
    if (!commands)
        return shoal__error_plain(submission.call.error, SHOAL_EINVAL);
    return shoal__client_submit(client, &submission, ret_ticket);
}

int shoal_client_call_with(shoal_client_t *client, const shoal_command_t *command,
                           const shoal_call_t *call, shoal_result_t **ret_result)
{
    shoal_pending_t *pending;

    return shoal_client_call_begin(client, command, call, SHOAL_TIMEOUT_NEVER, &pending,
                                   ret_result);
}

int shoal_client_call(shoal_client_t *client, size_t argc, const char *const *argv,
                      const size_t *argvlen, shoal_result_t **ret_result)
{
    const shoal_command_t command = {argc, argv, argvlen};

    return shoal_client_call_with(client, &command, NULL, ret_result);
}

int shoal_client_cancel(shoal_client_t *client, uint64_t ticket)
{
    int rc = shoal__client_check(client);

    return rc < 0 ? rc : shoal__client_cancel(client, ticket);
}
