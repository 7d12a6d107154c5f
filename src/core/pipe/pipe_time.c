/* SPDX-License-Identifier: MIT */

/* What a pipe does because time passes: deadlines, held commands, PING, giving up a server that
 * is silent. */

#include "base/time_us.h"
#include "core/pipe/pipe_succession.h"
#include <shoal/errors.h>
#include <string.h>

#define OFFLINE_DELAY_US 1000
#define REST_AFTER_US 1000000

static const char ping[] = "*1\r\n$4\r\nPING\r\n";

static void push_ping(shoal__pipe_t *pipe)
{
    const size_t bytes = sizeof ping - 1;
    char *at = shoal__pipe_reserve(pipe, bytes, 1);
    shoal__request_t request = {.bytes = (uint32_t)bytes,
                                .flags =
                                    SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_URGENT,
                                .command_class = SHOAL__CLASS_RO,
                                .submitted_us = SHOAL__REQUEST_TIME(pipe->now_us),
                                .deadline_us = SHOAL__NEVER_US};
    if (!at)
        return; /* the next tick tries again */
    memcpy(at, ping, bytes);
    shoal__pipe_push(pipe, &request);
    shoal__stage_times_taken(&pipe->times, 1, pipe->now_us);
}

/* Does the pipe wait for the server: for a reply, or to take the rest of a command? */
static bool is_waiting(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_READY &&
           shoal__pipe_due(pipe) != shoal__pipe_begun(pipe);
}

/* The command that blocks on the server; NULL: none does. */
static const shoal__request_t *blocking(const shoal__pipe_t *pipe)
{
    /* The server has answered the requests of held replies: it works on the next. */
    uint64_t at = shoal__pipe_due(pipe) + pipe->held.replies;
    const shoal__request_t *next = shoal__request_ring_at(&pipe->ring, at);

    return at != pipe->ring.sent && next->command_class == SHOAL__CLASS_BLOCK ? next
                                                                              : NULL;
}

/* When the server has been silent for too long.  While a command blocks on the server,
 * the server may be silent up to the deadline of that command. */
static uint64_t silence_ends_us(const shoal__pipe_t *pipe)
{
    const shoal__request_t *next = blocking(pipe);
    uint64_t end_us = shoal__maintenance_stall_ends_us(
        pipe->maintenance, pipe->waiting_since_us, pipe->config->stall_us);

    return next ? shoal__time_max(next->deadline_us, end_us) : end_us;
}

/* The same of a server that is no primary any more. */
static uint64_t deposed_silence_ends_us(const shoal__pipe_t *pipe)
{
    uint64_t rtt_us = pipe->flush.learned.tempo.rtt_us;

    return blocking(pipe) ? SHOAL__NEVER_US
                          : shoal__time_after(pipe->waiting_since_us,
                                              shoal__renewal_silence_us(rtt_us));
}

uint64_t shoal__pipe_renewal_end_us(const shoal__pipe_t *pipe)
{
    return shoal__renewal_end_us(&pipe->renewal, deposed_silence_ends_us(pipe));
}

uint64_t shoal__pipe_renewal_wake_us(const shoal__pipe_t *pipe)
{
    return shoal__renewal_wake_us(&pipe->renewal, deposed_silence_ends_us(pipe));
}

static bool has_commands(const shoal__pipe_t *pipe)
{
    return pipe->ring.head != pipe->ring.tail || shoal__pipe_held(pipe) > 0;
}

static bool ping_is_due(const shoal__pipe_t *pipe)
{
    return pipe->config->ping_idle_us && pipe->phase == SHOAL__PIPE_READY &&
           !has_commands(pipe) &&
           shoal__time_since(pipe->heard_us, pipe->now_us) >=
               pipe->config->ping_idle_us;
}

/* When the pipe gives memory back; NEVER while it has something to do. */
static uint64_t rest_us(const shoal__pipe_t *pipe)
{
    if (!pipe->is_warm || pipe->phase != SHOAL__PIPE_READY || has_commands(pipe))
        return SHOAL__NEVER_US;
    return shoal__time_after(pipe->heard_us, REST_AFTER_US);
}

void shoal__pipe_rest(shoal__pipe_t *pipe)
{
    pipe->is_warm = false;
    shoal__pipe_free_pen(pipe);
    shoal__request_ring_rest(&pipe->ring);
    shoal__stage_times_rest(&pipe->times);
    shoal__decoder_rest(pipe->decoder);
    shoal__buffer_shrink(&pipe->log, 0);
    shoal__buffer_shrink(&pipe->held.bytes, 0);
    shoal__buffer_shrink(&pipe->kept.words, 0);
    shoal__buffer_shrink(&pipe->greeting.outgoing, 0);
}

void shoal__pipe_note_fresh(shoal__pipe_t *pipe, uint64_t now_us)
{
    if (pipe->fresh == 0)
        return;
    shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED, 0, pipe->fresh);
    shoal__stage_times_taken(&pipe->times, pipe->fresh, now_us);
    pipe->fresh = 0;
}

int shoal__pipe_tick(shoal__pipe_t *pipe, uint64_t now_us)
{
    pipe->now_us = now_us;
    shoal__pipe_note_fresh(pipe, now_us);
    shoal__pipe_expire(pipe);
    shoal__pipe_hold_turn(pipe);
    if (ping_is_due(pipe))
        push_ping(pipe);
    pipe->looked_at = pipe->ring.tail;
    if (now_us >= rest_us(pipe))
        shoal__pipe_rest(pipe);
    if (pipe->is_torn) {
        shoal__pipe_refuse(pipe, SHOAL_ENOMEM,
                           "no memory for the rest of a command that was given up");
        return pipe->fault;
    }
    if (!shoal__pipe_fence_tick(pipe))
        return pipe->fault;

    if (is_waiting(pipe) && now_us >= silence_ends_us(pipe)) {
        shoal__pipe_refuse(pipe, SHOAL_ECONN, "the server stopped answering");
        pipe->is_silent = true;
        return pipe->fault;
    }
    return 0;
}

uint64_t shoal__pipe_next_wake_us(const shoal__pipe_t *pipe)
{
    uint64_t wake_us = shoal__pipe_hold_wake_us(pipe);

    /* The bound may be that of a command which is gone: without commands it means
     * nothing. */
    if (pipe->ring.head != pipe->ring.tail)
        wake_us = shoal__time_min(wake_us, shoal__deadlines_next_us(&pipe->deadlines));

    /* Commands that came while offline and may not wait fail in the next tick.  That
     * comes a little later, so that callers who try again at once, from their
     * callbacks, do not spin. */
    if (pipe->phase == SHOAL__PIPE_DOWN && pipe->is_offline &&
        !pipe->config->queue_offline && pipe->ring.head != pipe->ring.tail)
        return pipe->now_us + OFFLINE_DELAY_US;
    if (pipe->is_torn)
        return pipe->now_us;
    if (pipe->phase != SHOAL__PIPE_READY)
        return wake_us;
    if (is_waiting(pipe))
        wake_us = shoal__time_min(wake_us, silence_ends_us(pipe));
    else if (pipe->config->ping_idle_us && !has_commands(pipe))
        wake_us = shoal__time_min(wake_us, pipe->heard_us + pipe->config->ping_idle_us);
    wake_us = shoal__time_min(wake_us, rest_us(pipe));
    wake_us = shoal__time_min(wake_us, shoal__pipe_fence_wake_us(pipe));
    return shoal__time_min(wake_us, shoal__pipe_renewal_wake_us(pipe));
}
