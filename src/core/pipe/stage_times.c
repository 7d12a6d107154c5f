/* SPDX-License-Identifier: MIT */
#include "core/pipe/stage_times.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <stdbool.h>

#define GROUP(queue, index)                                                            \
    ((queue)->groups[((queue)->head + (index)) & (SHOAL__STAGE_GROUPS - 1)])

void shoal__stage_times_init(shoal__stage_times_t *times, shoal__latencies_t *latencies)
{
    *times = (shoal__stage_times_t){.latencies = latencies};
}

void shoal__stage_times_rest(shoal__stage_times_t *times)
{
    shoal__free(times->queues);
    times->queues = NULL;
}

static bool has_queues(shoal__stage_times_t *times)
{
    if (!times->queues)
        times->queues = shoal__calloc(1, sizeof *times->queues);
    return times->queues != NULL;
}

unsigned shoal__stage_bucket(uint64_t latency_us)
{
    if (latency_us < 8)
        return (unsigned)latency_us;

    unsigned exponent = 3;
    while (exponent < 63 && latency_us >> (exponent + 1))
        exponent += 1;

    /* The two bits below the highest one number the four buckets of its power. */
    unsigned quarter = (unsigned)(latency_us >> (exponent - 2)) & 3;
    unsigned bucket = 8 + (exponent - 3) * 4 + quarter;
    return bucket < SHOAL_STATS_LATENCY_BUCKETS ? bucket
                                                : SHOAL_STATS_LATENCY_BUCKETS - 1;
}

void shoal__stage_times_count(shoal__stage_times_t *times, shoal_stage_t stage,
                              uint64_t latency_us, uint64_t commands)
{
    shoal__counter_add(&times->latencies->of[stage][shoal__stage_bucket(latency_us)],
                       commands);
}

static void end_run(shoal__stage_times_t *times, uint64_t now_us)
{
    if (times->run_commands)
        shoal__stage_times_count(times, SHOAL_STAGE_TOTAL,
                                 shoal__time_since(times->run_since_us, now_us),
                                 times->run_commands);
    times->run_commands = 0;
}

void shoal__stage_times_total_run(shoal__stage_times_t *times, uint64_t since_us,
                                  uint64_t now_us)
{
    end_run(times, now_us);
    times->run_since_us = since_us;
    times->run_commands = 1;
}

static void push(shoal__stage_queue_t *queue, uint64_t commands, uint64_t now_us)
{
    if (commands == 0)
        return;
    if (queue->count > 0 && GROUP(queue, queue->count - 1).since_us == now_us) {
        GROUP(queue, queue->count - 1).commands += commands;
        return;
    }
    if (queue->count == SHOAL__STAGE_GROUPS) {
        queue->count -= 1;
        GROUP(queue, queue->count - 1).commands += GROUP(queue, queue->count).commands;
    }
    GROUP(queue, queue->count).commands = commands;
    GROUP(queue, queue->count).since_us = now_us;
    queue->count += 1;
}

/* Take up to `commands` from the oldest group.  Returns how many, 0 if there are none,
 * and when they began. */
static uint64_t pop(shoal__stage_queue_t *queue, uint64_t commands, uint64_t *ret_since)
{
    if (queue->count == 0)
        return 0;

    *ret_since = GROUP(queue, 0).since_us;
    if (commands < GROUP(queue, 0).commands) {
        GROUP(queue, 0).commands -= commands;
        return commands;
    }
    commands = GROUP(queue, 0).commands;
    queue->head = (queue->head + 1) & (SHOAL__STAGE_GROUPS - 1);
    queue->count -= 1;
    return commands;
}

static void pass(shoal__stage_times_t *times, shoal__stage_queue_t *queue,
                 shoal_stage_t stage, uint64_t commands, uint64_t now_us)
{
    while (commands > 0) {
        uint64_t since_us = now_us;
        uint64_t taken = pop(queue, commands, &since_us);
        if (taken == 0)
            return;
        shoal__stage_times_count(times, stage, shoal__time_since(since_us, now_us),
                                 taken);
        commands -= taken;
    }
}

void shoal__stage_times_taken(shoal__stage_times_t *times, uint64_t commands,
                              uint64_t now_us)
{
    if (has_queues(times))
        push(&times->queues->batching, commands, now_us);
}

void shoal__stage_times_written(shoal__stage_times_t *times, uint64_t commands,
                                uint64_t now_us)
{
    if (!times->queues)
        return;
    pass(times, &times->queues->batching, SHOAL_STAGE_BATCHED, commands, now_us);
    push(&times->queues->wire, commands, now_us);
}

void shoal__stage_times_answered(shoal__stage_times_t *times, uint64_t commands,
                                 uint64_t now_us)
{
    end_run(times, now_us);
    if (times->queues)
        pass(times, &times->queues->wire, SHOAL_STAGE_WIRE, commands, now_us);
}

uint64_t shoal__stage_times_unanswered_us(const shoal__stage_times_t *times,
                                          uint64_t before, uint64_t now_us)
{
    const shoal__stage_queue_t *wire = times->queues ? &times->queues->wire : NULL;
    uint64_t since_us = now_us;

    for (unsigned i = 0; wire && i < wire->count; i++) {
        since_us = GROUP(wire, i).since_us;
        if (before < GROUP(wire, i).commands)
            break;
        before -= GROUP(wire, i).commands;
    }
    return shoal__time_since(since_us, now_us);
}

static uint64_t total(const shoal__stage_queue_t *queue)
{
    uint64_t commands = 0;

    for (unsigned i = 0; i < queue->count; i++)
        commands += GROUP(queue, i).commands;
    return commands;
}

/* It is not known which commands left: the oldest are taken, because deadlines mostly
 * pass in order.  Commands that came count from now on. */
static void resync(shoal__stage_queue_t *queue, uint64_t commands, uint64_t now_us)
{
    uint64_t counted = total(queue);

    while (counted > commands) {
        uint64_t since_us;
        counted -= pop(queue, counted - commands, &since_us);
    }
    push(queue, commands - counted, now_us);
}

void shoal__stage_times_resync(shoal__stage_times_t *times, uint64_t batching,
                               uint64_t wire, uint64_t now_us)
{
    if (!times->queues)
        return;
    resync(&times->queues->batching, batching, now_us);
    resync(&times->queues->wire, wire, now_us);
}
