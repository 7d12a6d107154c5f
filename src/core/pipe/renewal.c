/* SPDX-License-Identifier: MIT */
#include "core/pipe/renewal.h"

#define DRAIN_US 1000000
#define SILENT_US_MIN 100000
#define SILENT_RTTS 4
#define SPACING_US_MIN 1000000
#define SPACING_US_MAX 30000000
#define ELSEWHERE_US 100000

void shoal__renewal_init(shoal__renewal_t *renewal)
{
    *renewal = (shoal__renewal_t){.state = SHOAL__RENEWAL_NONE};
}

/* When the next one may begin. */
static uint64_t next_us(const shoal__renewal_t *renewal)
{
    return renewal->begun_us + renewal->spacing_us;
}

static void note_asked(shoal__renewal_t *renewal, uint64_t now_us)
{
    if (shoal__time_since(renewal->asked_us, now_us) >= SPACING_US_MAX)
        renewal->spacing_us = 0;
    renewal->asked_us = now_us;
}

static void start(shoal__renewal_t *renewal, const char *reason, uint64_t start_us)
{
    renewal->state = SHOAL__RENEWAL_WANTED;
    renewal->start_us = start_us;
    renewal->reason = reason;
    renewal->is_pressing = renewal->is_in_place = false;
}

void shoal__renewal_ask(shoal__renewal_t *renewal, const char *reason, bool is_pressing,
                        uint64_t now_us)
{
    note_asked(renewal, now_us);
    if (renewal->state == SHOAL__RENEWAL_NONE && now_us >= next_us(renewal)) {
        start(renewal, reason, now_us);
        renewal->is_deposed = false;
    }
    if (renewal->state != SHOAL__RENEWAL_NONE)
        renewal->is_pressing |= is_pressing;
}

void shoal__renewal_want(shoal__renewal_t *renewal, const char *reason, uint64_t now_us)
{
    note_asked(renewal, now_us);
    start(renewal, reason, shoal__time_max(now_us, next_us(renewal)));
    renewal->is_deposed = false;
}

void shoal__renewal_want_in_place(shoal__renewal_t *renewal, const char *reason,
                                  uint64_t now_us)
{
    shoal__renewal_want(renewal, reason, now_us);
    renewal->is_in_place = true;
}

void shoal__renewal_anew(shoal__renewal_t *renewal)
{
    renewal->spacing_us = shoal__time_min(renewal->spacing_us, SPACING_US_MIN);
}

bool shoal__renewal_begins(shoal__renewal_t *renewal, uint64_t now_us)
{
    if (renewal->state != SHOAL__RENEWAL_WANTED || now_us < renewal->start_us)
        return false;
    renewal->state = SHOAL__RENEWAL_PREPARING;
    renewal->begun_us = now_us;
    renewal->spacing_us =
        renewal->spacing_us == 0
            ? SPACING_US_MIN
            : shoal__time_min(2 * renewal->spacing_us, SPACING_US_MAX);
    return true;
}

void shoal__renewal_drain(shoal__renewal_t *renewal, uint64_t now_us)
{
    renewal->state = SHOAL__RENEWAL_DRAINING;
    renewal->end_us = renewal->is_in_place ? SHOAL__NEVER_US : now_us + DRAIN_US;
}

uint64_t shoal__renewal_silence_us(uint64_t rtt_us)
{
    return shoal__time_max(SILENT_US_MIN, SILENT_RTTS * rtt_us);
}

uint64_t shoal__renewal_end_us(const shoal__renewal_t *renewal,
                               uint64_t silence_ends_us)
{
    if (renewal->state != SHOAL__RENEWAL_DRAINING)
        return SHOAL__NEVER_US;
    return renewal->is_deposed ? shoal__time_min(renewal->end_us, silence_ends_us)
                               : renewal->end_us;
}

void shoal__renewal_failed(shoal__renewal_t *renewal, uint64_t now_us)
{
    bool is_in_place = renewal->is_in_place;

    start(renewal, renewal->reason, shoal__time_max(now_us, next_us(renewal)));
    renewal->is_in_place = is_in_place;
}

void shoal__renewal_elsewhere(shoal__renewal_t *renewal, uint64_t now_us)
{
    renewal->spacing_us /= 2; /* this one does not count */
    start(renewal, renewal->reason, now_us + ELSEWHERE_US);
}
