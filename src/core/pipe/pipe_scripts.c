/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_scripts.h"

#include "base/time_us.h"
#include "core/pipe/pipe_move.h"
#include "core/pipe/pipe_unit.h"

/* Requests that are pushed at a time. */
#define ROUND 32

static shoal__request_t request_of(const shoal__script_t *script, uint64_t now_us)
{
    return (shoal__request_t){.bytes = (uint32_t)script->bytes,
                              .flags = SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_URGENT,
                              .submitted_us = SHOAL__REQUEST_TIME(now_us),
                              .deadline_us = SHOAL__NEVER_US};
}

/* From `first` on.  False: no memory. */
static bool load_round(shoal__pipe_t *pipe, shoal__script_t *const *first, size_t count)
{
    shoal__request_t requests[ROUND] = {{0}}; /* gcc cannot see that all are written */
    char *at;

    for (size_t i = 0; i < count; i++)
        requests[i] = request_of(first[i], pipe->now_us);
    at = shoal__pipe_push_own_first(pipe, requests, count);
    for (size_t i = 0; at && i < count; at += first[i++]->bytes)
        memcpy(at, first[i]->load, first[i]->bytes);
    return at != NULL;
}

void shoal__pipe_load_scripts(shoal__pipe_t *pipe)
{
    const shoal__scripts_t *scripts = pipe->shared->scripts;
    size_t at = 0, count;

    if (!scripts || pipe->scripts_loaded == scripts->newest ||
        !pipe->config->loads_scripts)
        return;
    while (at < scripts->count && scripts->items[at]->number <= pipe->scripts_loaded)
        at++;
    for (; at < scripts->count; at += count) {
        count = scripts->count - at < ROUND ? scripts->count - at : ROUND;
        if (!load_round(pipe, scripts->items + at, count))
            return;
        pipe->scripts_loaded = scripts->items[at + count - 1]->number;
    }
    pipe->scripts_loaded = scripts->newest;
}

/* A script can write such a text itself: the server's own is whole. */
static bool says_so(shoal__bytes_t error)
{
    return shoal__bytes_start(error, "NOSCRIPT No matching script");
}

static bool may_go_again(const shoal__pipe_t *pipe, const shoal__request_t *request)
{
    return !request->is_grouped &&
           !(request->flags & (SHOAL__REQUEST_ONCE | SHOAL__REQUEST_UNIT)) &&
           request->attempts + 1u < pipe->config->attempts_max;
}

shoal__pipe_verdict_t shoal__pipe_script_missing(shoal__pipe_t *pipe,
                                                 const shoal__request_t *request,
                                                 shoal__bytes_t error)
{
    const shoal__scripts_t *scripts = pipe->shared->scripts;
    const shoal__bytes_t command = {shoal__buffer_data(&pipe->log), request->bytes};
    const shoal__bytes_t nothing = {NULL, 0};
    shoal__refused_t refused;

    if (!scripts || !pipe->config->loads_scripts || !says_so(error) ||
        !shoal__scripts_called(scripts, command))
        return SHOAL__PIPE_SURFACE;
    pipe->scripts_loaded = 0;
    /* Before the log's bytes have a place that counts. */
    if (!may_go_again(pipe, request) || !shoal__pipe_reserve(pipe, request->bytes, 1))
        return SHOAL__PIPE_SURFACE;
    refused = shoal__pipe_refused(pipe);
    refused.attempts = 1;
    if (shoal__pipe_adopt_refused(pipe, &refused, nothing, pipe->now_us) < 0)
        return SHOAL__PIPE_SURFACE;
    shoal__counter_add(&pipe->stats.retries, 1);
    return SHOAL__PIPE_TAKEN;
}
