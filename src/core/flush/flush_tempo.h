/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_TEMPO_H
#define SHOAL_CORE_FLUSH_TEMPO_H

/*
 * Measures three times: the gap between commands, the round trip, and how late a
 * wake-up comes.  The values are smoothed, so that one delay on a busy machine changes
 * them little.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct shoal__flush_tempo {
    uint64_t gap_ns;  /* between arrivals; SHOAL__NEVER_US: not known */
    uint64_t rtt_us;  /* from the write of a batch to its first reply; 0: not known */
    uint64_t late_us; /* of wake-ups that a hold asked for */

    uint64_t window_since_us; /* arrivals are counted from here */
    uint64_t window_arrivals;
    uint64_t arrived_us; /* the last arrival */
    unsigned doubts;     /* since the last wake-up */
    uint64_t sample_us;  /* when the batch was written whose reply is timed; 0: none */
} shoal__flush_tempo_t;

void shoal__flush_tempo_init(shoal__flush_tempo_t *tempo);

/* The callers may be others from now on: what is known of arrivals is forgotten. */
void shoal__flush_tempo_forget(shoal__flush_tempo_t *tempo);

/* A command was submitted at arrived_us. */
static inline void shoal__flush_tempo_arrived(shoal__flush_tempo_t *tempo,
                                              uint64_t arrived_us)
{
    tempo->window_arrivals++;
    tempo->arrived_us = arrived_us;
}

/* Close the window of arrivals if it has seen enough. */
void shoal__flush_tempo_look(shoal__flush_tempo_t *tempo, uint64_t now_us);

/* A batch left while nothing was in flight; the first reply after that. */
void shoal__flush_tempo_written(shoal__flush_tempo_t *tempo, uint64_t now_us);
void shoal__flush_tempo_answered(shoal__flush_tempo_t *tempo, uint64_t now_us);

/* A wake-up was not asked for, because it would come too late.  After many such doubts
 * late_us shrinks, so that a wake-up is tried again. */
void shoal__flush_tempo_doubt(shoal__flush_tempo_t *tempo);

/* A wake-up that was asked for at wake_us came at now_us. */
void shoal__flush_tempo_woke(shoal__flush_tempo_t *tempo, uint64_t wake_us,
                             uint64_t now_us);

#endif
