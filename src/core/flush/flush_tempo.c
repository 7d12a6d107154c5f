/* SPDX-License-Identifier: MIT */
#include "core/flush/flush_tempo.h"

#include "base/time_us.h"

/* A gap is the mean of so many arrivals. */
#define WINDOW_ARRIVALS 16

/* So many wake-ups that were not asked for count as one that was not late. */
#define DOUBTS_ENOUGH 64

void shoal__flush_tempo_init(shoal__flush_tempo_t *tempo)
{
    *tempo = (shoal__flush_tempo_t){.gap_ns = SHOAL__NEVER_US};
}

void shoal__flush_tempo_forget(shoal__flush_tempo_t *tempo)
{
    tempo->gap_ns = SHOAL__NEVER_US;
    tempo->window_arrivals = 0;
    tempo->window_since_us = tempo->arrived_us;
}

/* `value` moves a 1/share of the way to `sample`. */
static uint64_t smooth(uint64_t value, uint64_t sample, uint64_t share)
{
    return sample > value ? value + (sample - value) / share
                          : value - (value - sample) / share;
}

void shoal__flush_tempo_look(shoal__flush_tempo_t *tempo, uint64_t now_us)
{
    if (tempo->window_arrivals < WINDOW_ARRIVALS)
        return;

    uint64_t mean_ns = shoal__time_since(tempo->window_since_us, now_us) * 1000 /
                       tempo->window_arrivals;
    tempo->gap_ns =
        tempo->gap_ns == SHOAL__NEVER_US ? mean_ns : smooth(tempo->gap_ns, mean_ns, 4);
    tempo->window_since_us = now_us;
    tempo->window_arrivals = 0;
}

void shoal__flush_tempo_written(shoal__flush_tempo_t *tempo, uint64_t now_us)
{
    tempo->sample_us = now_us;
}

void shoal__flush_tempo_answered(shoal__flush_tempo_t *tempo, uint64_t now_us)
{
    if (tempo->sample_us == 0)
        return;

    uint64_t rtt_us = shoal__time_since(tempo->sample_us, now_us);
    tempo->rtt_us = tempo->rtt_us ? smooth(tempo->rtt_us, rtt_us, 8) : rtt_us;
    tempo->sample_us = 0;
}

void shoal__flush_tempo_woke(shoal__flush_tempo_t *tempo, uint64_t wake_us,
                             uint64_t now_us)
{
    /* A step towards the median: one long stall of the machine counts no more than any
     * other late wake-up. */
    uint64_t step_us = 1 + tempo->late_us / 8;

    tempo->doubts = 0;
    if (shoal__time_since(wake_us, now_us) > tempo->late_us)
        tempo->late_us += step_us;
    else
        tempo->late_us -= shoal__time_min(step_us, tempo->late_us);
}

void shoal__flush_tempo_doubt(shoal__flush_tempo_t *tempo)
{
    if (++tempo->doubts < DOUBTS_ENOUGH)
        return;
    tempo->doubts = 0;
    tempo->late_us -= tempo->late_us / 8;
}
