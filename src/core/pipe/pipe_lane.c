/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_lane.h"

#include "base/time_us.h"

static bool is_command(const shoal__request_t *request)
{
    return (request->flags & (SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL |
                              SHOAL__REQUEST_FENCE)) == 0;
}

uint64_t shoal__pipe_oldest_us(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t oldest_us = SHOAL__NEVER_US;

    if (shoal__pipe_held(pipe) > 0)
        return 0;
    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);
        if (is_command(request))
            oldest_us = shoal__time_min(oldest_us, request->submitted_us);
    }
    return oldest_us;
}

uint64_t shoal__pipe_youngest_us(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t youngest_us = 0;

    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);
        if (is_command(request))
            youngest_us = shoal__time_max(youngest_us, request->submitted_us);
    }
    return youngest_us;
}

void shoal__pipe_learn(shoal__pipe_t *pipe)
{
    const shoal__request_t *head = shoal__request_ring_at(&pipe->ring, pipe->ring.head);
    const shoal__bytes_t bytes = {shoal__buffer_data(&pipe->log), head->bytes};

    if (!pipe->config->learns || pipe->phase != SHOAL__PIPE_READY ||
        pipe->ring.head == pipe->ring.sent ||
        (head->flags & (SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_FENCE)))
        return;
    shoal__heavy_was_large(&pipe->shared->heavy, shoal__heavy_command(bytes),
                           pipe->now_us);
    pipe->shared->wants_bulk = true;
}
