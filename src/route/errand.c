/* SPDX-License-Identifier: MIT */
#include "route/errand.h"

#include "base/time_us.h"
#include "core/pipe/pipe_move.h"
#include "resp/encoder.h"

bool shoal__errand_send(shoal__conn_t *conn, const shoal_command_t *command,
                        const shoal__errand_t *errand, uint64_t now_us)
{
    return shoal__errand_send_over(conn, &conn->pipe, command, errand, now_us);
}

bool shoal__errand_send_over(shoal__conn_t *conn, shoal__pipe_t *pipe,
                             const shoal_command_t *command,
                             const shoal__errand_t *errand, uint64_t now_us)
{
    shoal__request_t request = {.on_result = errand->on_answer,
                                .data = errand->data,
                                .tag = errand->tag,
                                .bytes = (uint32_t)shoal__encoder_bytes(command),
                                .flags =
                                    SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_URGENT,
                                .shape = errand->shape & (SHOAL__SHAPE_LIMIT - 1u),
                                .submitted_us = SHOAL__REQUEST_TIME(now_us),
                                .deadline_us = SHOAL__NEVER_US};
    char *at = shoal__pipe_push_own(pipe, &request);

    if (!at)
        return false;
    shoal__encoder_write(command, at);
    shoal__conn_touch(conn);
    return true;
}

void shoal__errand_on_own(void *owner, const shoal__request_t *request,
                          const shoal_result_t *result)
{
    (void)owner;
    if (request->on_result)
        request->on_result(NULL, result, request->data);
}
