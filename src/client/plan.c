/* SPDX-License-Identifier: MIT */
#include "client/plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/time_us.h"
#include "resp/encoder.h"
#include <shoal/errors.h>

#define CALL_FLAGS_ALL                                                                 \
    (SHOAL_CALL_IDEMPOTENT | SHOAL_CALL_ONCE | SHOAL_CALL_URGENT |                     \
     SHOAL_CALL_WAIT_FOR_ROOM | SHOAL_CALL_MAY_BLOCK | SHOAL_CALL_CONTIGUOUS |         \
     SHOAL_CALL_SINK_HERE)

static bool is_whole(const shoal_sink_t *sink)
{
    return sink->on_leaf && sink->on_begin && sink->on_end && sink->on_reset;
}

static bool is_whole_chunks(const shoal_chunk_sink_t *sink)
{
    return sink->on_begin && sink->on_chunk && sink->on_end && sink->on_reset;
}

static bool refuse(const shoal_call_t *call, const char *why)
{
    shoal__error_say(call->error, SHOAL_EINVAL, "%s", why);
    return false;
}

bool shoal__call_read(const shoal_call_t *call, shoal_call_t *ret_call)
{
    *ret_call = (shoal_call_t)SHOAL_CALL_INIT;
    if (!call)
        return true;
    if (!shoal__sized_is_set(call->size, SHOAL__CALL_BYTES_MIN, sizeof *call) ||
        !shoal__error_begin(call->error))
        return false;
    if (call->reserved || (call->flags & ~(uint32_t)CALL_FLAGS_ALL))
        return refuse(call, "a flag is not known, or reserved is not 0");
    if (call->sink && !is_whole(call->sink))
        return refuse(call, "the sink lacks a function");
    if (!shoal__sized_read(call, ret_call, sizeof *ret_call))
        return refuse(call, "a field is used that this version does not know");
    if (ret_call->chunks && !is_whole_chunks(ret_call->chunks))
        return refuse(call, "the chunk sink lacks a function");
    return true;
}

/* The sizes of the commands.  0 or why not. */
static int measure(const shoal__submission_t *submission,
                   const shoal_options_t *options, size_t *ret_bytes)
{
    size_t sum_bytes = 0;

    for (size_t i = 0; i < submission->count; i++) {
        size_t bytes = shoal__encoder_bytes(&submission->commands[i]);
        if (bytes == 0)
            return SHOAL_EINVAL;
        if (bytes > UINT32_MAX || bytes > options->bytes_max - sum_bytes)
            return SHOAL_ETOOBIG;
        sum_bytes += bytes;
    }
    *ret_bytes = sum_bytes;
    return submission->count > options->queued_max ? SHOAL_ETOOBIG : 0;
}

/* May each command travel on a connection that others share?  0 or SHOAL_EREFUSED. */
static int admit(shoal__plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;
    uint32_t flags = submission->call.flags;

    if ((flags & SHOAL_CALL_CONTIGUOUS) &&
        shoal__refusal_check_group(submission->commands, submission->count, flags,
                                   &plan->is_unit))
        return SHOAL_EREFUSED;
    for (size_t i = 0; !plan->is_unit && i < submission->count; i++) {
        plan->admission = shoal__refusal_check(&submission->commands[i], flags);
        if (plan->admission.refused)
            return SHOAL_EREFUSED;
    }
    return 0;
}

static uint16_t request_flags(uint32_t call_flags, bool is_unit)
{
    uint16_t flags = 0;

    if (call_flags & SHOAL_CALL_IDEMPOTENT)
        flags |= SHOAL__REQUEST_IDEMPOTENT;
    if (call_flags & SHOAL_CALL_ONCE)
        flags |= SHOAL__REQUEST_ONCE;
    if (call_flags & SHOAL_CALL_URGENT)
        flags |= SHOAL__REQUEST_URGENT;
    if (is_unit)
        flags |= SHOAL__REQUEST_UNIT;
    return flags;
}

/* The last step, because it allocates.  0 or SHOAL_ENOMEM. */
static int make_extra(const shoal__submission_t *submission, shoal__extra_t **ret_extra)
{
    const shoal_call_t *call = &submission->call;

    if (!call->sink && !call->chunks)
        return 0;
    *ret_extra = shoal__malloc(sizeof **ret_extra);
    if (!*ret_extra)
        return SHOAL_ENOMEM;
    **ret_extra = (shoal__extra_t){.sink = call->sink,
                                   .chunks = call->chunks,
                                   .sink_data = call->sink_data,
                                   .owners = submission->count};
    return 0;
}

int shoal__plan_make(const shoal__submission_t *submission,
                     const shoal_options_t *options, shoal__plan_t *ret_plan)
{
    const shoal_call_t *call = &submission->call;
    shoal__plan_t plan = {.submission = submission};
    int rc;

    if (submission->count == 0 || submission->count > SHOAL__PLAN_COMMANDS_MAX)
        return SHOAL_EINVAL;
    rc = measure(submission, options, &plan.bytes);
    if (rc == 0)
        rc = admit(&plan);
    if (rc == 0)
        rc = make_extra(submission, &plan.extra);
    if (rc < 0)
        return rc;
    plan.flags = request_flags(call->flags, plan.is_unit);
    plan.timeout_us = call->timeout_us ? call->timeout_us : options->timeout_us;
    *ret_plan = plan;
    return 0;
}

void shoal__plan_request(const shoal__plan_t *plan, size_t i, uint64_t now_us,
                         shoal__request_t *ret_request)
{
    const shoal__submission_t *submission = plan->submission;
    bool is_only = submission->count == 1;
    shoal__admission_t admission = plan->admission;

    if (plan->is_unit)
        admission.shape =
            shoal__refusal_unit_shape(submission->commands, submission->count, i);
    else if (!is_only)
        admission =
            shoal__refusal_check(&submission->commands[i], submission->call.flags);
    *ret_request = (shoal__request_t){
        .on_result = submission->on_result,
        .data = submission->data,
        .tag = submission->first_tag + i,
        .submitted_us = now_us,
        .deadline_us = shoal__time_after(now_us, plan->timeout_us),
        .extra = plan->extra,
        .bytes = (uint32_t)(is_only ? plan->bytes
                                    : shoal__encoder_bytes(&submission->commands[i])),
        .flags = plan->flags,
        .command_class = admission.command_class,
        .shape = admission.shape & (SHOAL__SHAPE_LIMIT - 1u),
    };
    if (plan->is_unit && i == 0)
        ret_request->flags |= SHOAL__REQUEST_UNIT_FIRST;
    if (plan->is_unit && i + 1 == submission->count)
        ret_request->flags |= SHOAL__REQUEST_UNIT_LAST;
}
