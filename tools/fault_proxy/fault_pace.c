/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_pace.h"

#define SLOW_PIECES_PER_S 1000u
#define SLOW_BACKLOG_US 50000u
#define SLOW_BACKLOG_BYTES_MIN 1024u

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

size_t fault_pace_piece_bytes(const fault_carriage_t *carriage)
{
    size_t bytes = SIZE_MAX;

    if (carriage->bytes_per_s > 0)
        bytes = (size_t)max(carriage->bytes_per_s / SLOW_PIECES_PER_S, 1);
    if (carriage->jitter_us > 0 && carriage->chunk_bytes > 0 &&
        carriage->chunk_bytes < bytes)
        bytes = carriage->chunk_bytes;
    return bytes;
}

size_t fault_pace_window(const fault_carriage_t *carriage, size_t bytes_max)
{
    if (carriage->bytes_per_s == 0)
        return bytes_max;
    uint64_t busy_us = carriage->delay_us + carriage->jitter_us + SLOW_BACKLOG_US;
    double bytes = (double)carriage->bytes_per_s * (double)busy_us / 1e6;
    if (bytes < SLOW_BACKLOG_BYTES_MIN)
        bytes = SLOW_BACKLOG_BYTES_MIN;
    return bytes < (double)bytes_max ? (size_t)bytes : bytes_max;
}

uint64_t fault_pace_due_ns(fault_pace_t *pace, const fault_carriage_t *carriage,
                           size_t bytes, uint64_t now_ns)
{
    uint64_t due_ns = now_ns;

    if (carriage->bytes_per_s > 0) {
        pace->free_ns = max(pace->free_ns, now_ns) +
                        (uint64_t)bytes * 1000000000u / carriage->bytes_per_s;
        due_ns = pace->free_ns;
    }
    due_ns += carriage->delay_us * 1000;
    if (carriage->jitter_us > 0)
        due_ns += shoal__random_next(&pace->dice) % (carriage->jitter_us * 1000 + 1);
    pace->last_ns = max(pace->last_ns, due_ns);
    return pace->last_ns;
}
