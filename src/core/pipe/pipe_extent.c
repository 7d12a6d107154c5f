/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_extent.h"

void shoal__extent_find(const shoal__request_ring_t *ring, uint64_t at,
                        shoal__extent_t *ret_extent)
{
    shoal__extent_t extent = {.first = at, .last = at, .is_whole = true};

    if (shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_UNIT) {
        shoal__request_ring_unit(ring, at, &extent.first, &extent.last);
        extent.is_whole = shoal__request_ring_at(ring, extent.first)->flags &
                          SHOAL__REQUEST_UNIT_FIRST;
        for (uint64_t i = extent.first; i != extent.last + 1 && extent.is_whole; i++)
            extent.is_whole =
                !(shoal__request_ring_at(ring, i)->flags & SHOAL__REQUEST_ZOMBIE);
    }
    *ret_extent = extent;
}

void shoal__extent_follow(const shoal__request_ring_t *ring, uint64_t at,
                          shoal__extent_t *extent)
{
    if (at - extent->first > extent->last - extent->first)
        shoal__extent_find(ring, at, extent);
}

bool shoal__pipe_has_left(const shoal__pipe_t *pipe, const shoal__extent_t *extent)
{
    return !extent->is_whole || shoal__pipe_is_written(pipe, extent->first) ||
           (extent->first == pipe->ring.sent && pipe->part_bytes > 0);
}

shoal__progress_t shoal__pipe_progress(const shoal__pipe_t *pipe, uint64_t at,
                                       const shoal__extent_t *extent)
{
    const shoal__request_ring_t *ring = &pipe->ring;

    if (at - ring->head < pipe->settled)
        return SHOAL__PROGRESS_QUEUED;
    if (shoal__pipe_is_written(pipe, extent->last)) {
        bool is_replying =
            at == shoal__pipe_due(pipe) && shoal__decoder_is_mid_reply(pipe->decoder);
        return is_replying ? SHOAL__PROGRESS_REPLYING : SHOAL__PROGRESS_WRITTEN;
    }
    if (shoal__pipe_has_left(pipe, extent) ||
        extent->first - ring->sent < shoal__pipe_begun(pipe) - ring->sent)
        return SHOAL__PROGRESS_PARTLY;
    return SHOAL__PROGRESS_QUEUED;
}

/* For the next connection, unless that is there; or for another server. */
static bool may_wait(const shoal__pipe_t *pipe, const shoal__request_t *request,
                     shoal__ending_t ending)
{
    return (pipe->config->queue_offline || ending == SHOAL__ENDING_RENEWED ||
            request->is_at_replica) &&
           !pipe->is_broken;
}

/* A part of MULTI ... EXEC; no command that ASKING alone goes before. */
static bool is_in_unit(const shoal__pipe_t *pipe, const shoal__request_t *request,
                       const shoal__extent_t *extent)
{
    return (request->flags & SHOAL__REQUEST_UNIT) &&
           !((shoal__request_ring_at(&pipe->ring, extent->first)->flags &
              SHOAL__REQUEST_INTERNAL) &&
             extent->last == extent->first + 1);
}

shoal__settlement_t shoal__pipe_settle(const shoal__pipe_t *pipe, uint64_t at,
                                       const shoal__extent_t *extent,
                                       shoal__ending_t ending, bool may_retry,
                                       bool is_guilty)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
    const shoal__settle_input_t input = {
        .ending = ending,
        .progress = shoal__pipe_progress(pipe, at, extent),
        .command_class = request->command_class,
        .is_idempotent = (request->flags & SHOAL__REQUEST_IDEMPOTENT) != 0,
        .is_once = (request->flags & SHOAL__REQUEST_ONCE) != 0,
        .is_unit = is_in_unit(pipe, request, extent),
        .was_written = (request->flags & SHOAL__REQUEST_MAYBE) != 0,
        .may_retry = may_retry && extent->is_whole &&
                     request->attempts + 1u < pipe->config->attempts_max,
        .queue_offline = may_wait(pipe, request, ending) && extent->is_whole,
        .is_guilty = is_guilty,
    };
    return shoal__settle(&input);
}
