/* SPDX-License-Identifier: MIT */

/* What a pipe does because time passes: retries, PING, giving up a silent server. */

#include "base/alloc.h"
#include "base/mutant.h"
#include "base/time_us.h"
#include "core/pipe.h"

#include <shoal/errors.h>
#include <string.h>

#define OFFLINE_DELAY_US 1000

static const char ping[] = "*1\r\n$4\r\nPING\r\n";

static void push_ping(shoal__pipe_t *pipe)
{
    const size_t bytes = sizeof ping - 1;
    char *at = shoal__pipe_reserve(pipe, bytes, 1);
    shoal__request_t request = {.bytes = (uint32_t)bytes,
                                .flags =
                                    SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_URGENT,
                                .command_class = SHOAL__CLASS_RO,
                                .submitted_us = pipe->now_us,
                                .deadline_us = SHOAL__NEVER_US};
    if (!at)
        return; /* the next tick tries again */
    memcpy(at, ping, bytes);
    shoal__pipe_push(pipe, &request);
    shoal__stage_times_taken(&pipe->times, 1, pipe->now_us);
}

/* Does the server owe us something: a reply, or room for the rest of a command? */
static bool is_waiting(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_READY &&
           (pipe->ring.head != pipe->ring.sent || pipe->part_bytes > 0);
}

/* When the server has been silent for too long.  A command that blocks on the server may
 * be silent up to its deadline. */
static uint64_t silence_ends_us(const shoal__pipe_t *pipe)
{
    /* Replies that are held were given: the server is at what is behind them. */
    uint64_t at = pipe->ring.head + pipe->held.replies;
    const shoal__request_t *next = shoal__request_ring_at(&pipe->ring, at);
    uint64_t end_us = shoal__time_after(pipe->waiting_since_us, pipe->config->stall_us);

    if (at != pipe->ring.sent && next->command_class == SHOAL__CLASS_BLOCK &&
        next->deadline_us > end_us)
        return next->deadline_us;
    return end_us;
}

static bool ping_is_due(const shoal__pipe_t *pipe)
{
    return pipe->config->ping_idle_us && pipe->phase == SHOAL__PIPE_READY &&
           pipe->ring.head == pipe->ring.tail &&
           pipe->now_us - pipe->heard_us >= pipe->config->ping_idle_us;
}

static bool may_take_retries(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_READY && pipe->retire_us == SHOAL__NEVER_US;
}

static void take_retries(shoal__pipe_t *pipe)
{
    shoal__retry_t *retry;

    while (may_take_retries(pipe) &&
           (retry = shoal__retries_take_due(&pipe->retries, pipe->now_us)) != NULL) {
        char *at = shoal__pipe_reserve(pipe, retry->request.bytes, 1);
        if (!at) {
            shoal_fate_t fate = retry->request.flags & SHOAL__REQUEST_MAYBE
                                    ? SHOAL_FATE_UNKNOWN
                                    : SHOAL_FATE_NOT_EXECUTED;
            shoal__pipe_deliver(pipe, &retry->request, SHOAL_ENOMEM, fate, NULL,
                                retry->request.attempts,
                                "no memory to send the command again");
            shoal__sink_ref_drop(retry->request.sink);
        } else {
            memcpy(at, retry->bytes, retry->request.bytes);
            shoal__pipe_push(pipe, &retry->request);
            shoal__stage_times_taken(&pipe->times, 1, pipe->now_us);
        }
        shoal__free(retry);
    }
}

int shoal__pipe_tick(shoal__pipe_t *pipe, uint64_t now_us)
{
    uint64_t inflight;

    pipe->now_us = now_us;
    if (!SHOAL__MUTANT(OFFLINE_DEADLINE_IGNORED) || pipe->phase == SHOAL__PIPE_READY)
        shoal__pipe_expire(pipe);
    take_retries(pipe);
    if (ping_is_due(pipe))
        push_ping(pipe);
    if (!shoal__pipe_fence_tick(pipe))
        return pipe->fault;

    inflight = shoal__request_ring_inflight(&pipe->ring);
    if (is_waiting(pipe) && now_us >= silence_ends_us(pipe) &&
        !SHOAL__MUTANT(STALL_NEVER_CHECKED)) {
        shoal__pipe_refuse(pipe, SHOAL_ECONN, "the server stopped answering");
        return pipe->fault;
    }
    if (pipe->retire_us != SHOAL__NEVER_US &&
        ((inflight == 0 && pipe->authorised_bytes == 0) || now_us >= pipe->retire_us)) {
        shoal__pipe_refuse(pipe, SHOAL_ECONN,
                           "renewed, because the server's role changed");
        return pipe->fault;
    }
    return 0;
}

uint64_t shoal__pipe_next_wake_us(const shoal__pipe_t *pipe)
{
    uint64_t wake_us = shoal__deadlines_next_us(&pipe->deadlines);

    if (pipe->retries.count)
        wake_us = shoal__time_min(
            wake_us, shoal__retries_next_us(&pipe->retries, may_take_retries(pipe)));
    /* Commands that came while offline and are not to wait fail in the next tick.  Those
     * that come from the callbacks of others wait a little: callers who try again at
     * once must not spin. */
    if (pipe->phase == SHOAL__PIPE_DOWN && pipe->is_offline &&
        !pipe->config->queue_offline && pipe->ring.head != pipe->ring.tail)
        return pipe->now_us + OFFLINE_DELAY_US;
    if (pipe->phase != SHOAL__PIPE_READY)
        return wake_us;
    if (is_waiting(pipe))
        wake_us = shoal__time_min(wake_us, silence_ends_us(pipe));
    else if (pipe->config->ping_idle_us && pipe->ring.head == pipe->ring.tail)
        wake_us = shoal__time_min(wake_us, pipe->heard_us + pipe->config->ping_idle_us);
    wake_us = shoal__time_min(wake_us, shoal__pipe_fence_wake_us(pipe));
    return shoal__time_min(wake_us, pipe->retire_us);
}
