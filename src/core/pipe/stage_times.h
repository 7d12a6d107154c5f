/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_STAGE_TIMES_H
#define SHOAL_CORE_STAGE_TIMES_H

/*
 * Latency histograms of the four stages of a command's life, for next to nothing per
 * command: commands pass every stage in order, so each stage is a short queue of
 * (count, since when) groups, and a whole group is counted at once.
 *
 * When a queue of groups is full its last two are merged under the older stamp: times
 * are then over-estimated, never lost.  The queues are made for the first command, and
 * given back at rest; without memory for them, times are not measured.
 */

#include "base/counter.h"
#include <shoal/stats.h>
#include <stdint.h>

#define SHOAL__STAGE_GROUPS 64 /* power of two */

typedef struct shoal__stage_queue {
    struct {
        uint64_t commands;
        uint64_t since_us;
    } groups[SHOAL__STAGE_GROUPS];
    unsigned head, count;
} shoal__stage_queue_t;

typedef struct shoal__stage_queues {
    shoal__stage_queue_t batching; /* taken over, not written */
    shoal__stage_queue_t wire;     /* written, not answered */
} shoal__stage_queues_t;

/* One histogram for each stage, of all pipes that share it. */
typedef struct shoal__latencies {
    shoal__counter_t of[SHOAL_STAGES][SHOAL_STATS_LATENCY_BUCKETS];
} shoal__latencies_t;

typedef struct shoal__stage_times {
    shoal__latencies_t *latencies; /* borrowed */
    shoal__stage_queues_t
        *queues;           /* NULL: nothing is under way, or there was no memory */
    uint64_t run_since_us; /* submission of the last answered commands ... */
    uint64_t run_commands; /* ... which are so many, and are counted in one step */
} shoal__stage_times_t;

void shoal__stage_times_init(shoal__stage_times_t *times,
                             shoal__latencies_t *latencies);
/* Give memory back.  Nothing is under way; the next command takes memory again. */
void shoal__stage_times_rest(shoal__stage_times_t *times);

/* Bucket of a latency; see shoal_stats_bucket_us(). */
unsigned shoal__stage_bucket(uint64_t latency_us);

/* Count `commands` latencies of one value in a stage. */
void shoal__stage_times_count(shoal__stage_times_t *times, shoal_stage_t stage,
                              uint64_t latency_us, uint64_t commands);

void shoal__stage_times_taken(shoal__stage_times_t *times, uint64_t commands,
                              uint64_t now_us);
void shoal__stage_times_written(shoal__stage_times_t *times, uint64_t commands,
                                uint64_t now_us);
void shoal__stage_times_answered(shoal__stage_times_t *times, uint64_t commands,
                                 uint64_t now_us);

/* One command was answered that was submitted at since_us.  It is counted with its
 * neighbours, by shoal__stage_times_answered() at the latest. */
void shoal__stage_times_total_run(shoal__stage_times_t *times, uint64_t since_us,
                                  uint64_t now_us);
static inline void shoal__stage_times_total(shoal__stage_times_t *times,
                                            uint64_t since_us, uint64_t now_us)
{
    if (since_us == times->run_since_us)
        times->run_commands++;
    else
        shoal__stage_times_total_run(times, since_us, now_us);
}

/* About how long ago was the command written that has `before` unanswered ones before
 * it?  0: not known. */
uint64_t shoal__stage_times_unanswered_us(const shoal__stage_times_t *times,
                                          uint64_t before, uint64_t now_us);

/* Commands left the queues some other way: `batching` and `wire` of them remain. */
void shoal__stage_times_resync(shoal__stage_times_t *times, uint64_t batching,
                               uint64_t wire, uint64_t now_us);

#endif
