/* SPDX-License-Identifier: MIT */
#include <shoal/completions.h>

#include "base/error.h"
#include "base/time_us.h"
#include "client/client.h"
#include "client/completion_queue.h"
#include "client/submit.h"
#include <shoal/errors.h>

#define OUTSTANDING_MAX 16777216

int shoal_completions_new(size_t outstanding_max, shoal_completions_t **ret_completions)
{
    if (ret_completions)
        *ret_completions = NULL;
    if (!ret_completions || outstanding_max > OUTSTANDING_MAX)
        return SHOAL_EINVAL;
    return shoal__completions_new(outstanding_max, ret_completions);
}

/* Is there a queue that this process may use? */
static bool are_usable(const shoal_completions_t *completions)
{
    return completions && !shoal__completions_are_foreign(completions);
}

void shoal_completions_free(shoal_completions_t *completions)
{
    if (are_usable(completions))
        shoal__completions_free(completions);
}

int shoal_completions_fd(const shoal_completions_t *completions)
{
    return are_usable(completions) ? shoal__completions_fd(completions) : -1;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal_completions_t *completions = data;

    if (shoal__completions_keep(completions, result))
        shoal__waiters_touch(&client->waiters, completions);
    shoal__completions_drop(completions, 1);
}

int shoal_completions_submit(shoal_completions_t *completions, shoal_client_t *client,
                             const shoal_command_t *commands, size_t count,
                             const shoal_call_t *call, uint64_t first_tag,
                             uint64_t *ret_ticket)
{
    shoal__submission_t submission = {.commands = commands,
                                      .count = count,
                                      .on_result = on_result,
                                      .data = completions,
                                      .first_tag = first_tag};
    int rc;

    if (ret_ticket)
        *ret_ticket = 0;
    if (!shoal__call_read(call, &submission.call))
        return SHOAL_EINVAL;
    if (!completions || !commands)
        return shoal__error_plain(submission.call.error, SHOAL_EINVAL);
    rc = shoal__client_check(client);
    if (rc == 0 && shoal__completions_are_foreign(completions))
        rc = SHOAL_EFORK;
    if (rc == 0)
        rc = shoal__completions_admit(completions, count);
    if (rc == SHOAL_EFULL)
        shoal__error_say(submission.call.error, rc,
                         "the completion queue has no room for %zu more results "
                         "(outstanding_max of shoal_completions_new())",
                         count);
    if (rc < 0)
        return shoal__error_plain(submission.call.error, rc);
    rc = shoal__client_submit(client, &submission, ret_ticket);
    if (rc < 0)
        shoal__completions_refund(completions, count);
    return rc;
}

size_t shoal_completions_take(shoal_completions_t *completions,
                              shoal_completion_t *batch, size_t count_max)
{
    if (!are_usable(completions) || !batch)
        return 0;
    return shoal__completions_take(completions, batch, count_max);
}

int shoal_completions_wait(shoal_completions_t *completions, uint64_t timeout_us)
{
    if (!completions)
        return SHOAL_EINVAL;
    if (shoal__completions_are_foreign(completions))
        return SHOAL_EFORK;
    return shoal__completions_wait(completions,
                                   shoal__time_after(shoal__clock_us(), timeout_us));
}
