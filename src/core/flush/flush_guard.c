/* SPDX-License-Identifier: MIT */
#include "core/flush/flush_guard.h"

#include "base/time_us.h"

#define INTERVAL_US_MIN 2000
#define INTERVAL_US_MAX 640000
#define DRY_ENOUGH 16

/* With random arrivals more than half of the probes dry up; in a closed loop all do. */
#define FLOWED_WEIGHT 2
#define FLOWED_ENOUGH 4

/* An epoch has at least so many commands, so much time and so many cycles. */
#define EPOCH_COMMANDS 512
#define EPOCH_US 4000
#define EPOCH_CYCLES 4

/* Holds may cost so much throughput, in percent: random arrivals make epochs differ by
 * about 3. */
#define LOSS_MAX 6

/* The next trial of OPEN comes after so long; twice as long after each that confirms
 * it. */
#define TRUST_US_MIN 1000000
#define TRUST_US_MAX 8000000

/* The pace of commands has changed if the time of one, in percent of the trial's, is
 * above this, or below its inverse, in so many epochs in a row. */
#define PACE_CHANGE 140
#define STRANGE_ENOUGH 2

/* Off, on, on, off, on, off, off, on: linear and quadratic drifts cancel. */
static const bool epoch_holds[SHOAL__GUARD_EPOCHS] = {false, true,  true,  false,
                                                      true,  false, false, true};

void shoal__flush_guard_init(shoal__flush_guard_t *guard, uint64_t now_us)
{
    *guard = (shoal__flush_guard_t){.state = SHOAL__GUARD_CLOSED,
                                    .probe_us = now_us,
                                    .interval_us = INTERVAL_US_MIN};
}

void shoal__flush_guard_forget(shoal__flush_guard_t *guard, uint64_t now_us)
{
    uint64_t probes = guard->probes, trials = guard->trials;

    shoal__flush_guard_init(guard, now_us);
    guard->probes = probes;
    guard->trials = trials;
}

static void begin_trial(shoal__flush_guard_t *guard, uint64_t now_us)
{
    guard->state = SHOAL__GUARD_TRIAL;
    guard->trials++;
    guard->epoch = 0;
    guard->epoch_since_us = now_us;
    guard->epoch_completed = 0;
}

/* No holds; the next probe comes later than the former did. */
static void close_for_now(shoal__flush_guard_t *guard, uint64_t now_us)
{
    guard->state = SHOAL__GUARD_CLOSED;
    guard->probe_us = now_us + guard->interval_us;
    guard->interval_us = shoal__time_min(guard->interval_us * 2, INTERVAL_US_MAX);
}

bool shoal__flush_guard_may_hold(const shoal__flush_guard_t *guard, uint64_t now_us)
{
    switch (guard->state) {
    case SHOAL__GUARD_CLOSED:
        return now_us >= guard->probe_us;
    case SHOAL__GUARD_TRIAL:
        return epoch_holds[guard->epoch];
    case SHOAL__GUARD_OPEN:
        break;
    }
    return true;
}

static void probed(shoal__flush_guard_t *guard, shoal__hold_outcome_t outcome,
                   uint64_t now_us)
{
    guard->probes++;
    if (outcome == SHOAL__HOLD_DRIED_UP) {
        guard->flowed -= guard->flowed > 0;
        close_for_now(guard, now_us);
        return;
    }
    guard->probe_us = now_us + INTERVAL_US_MIN;
    guard->flowed += outcome == SHOAL__HOLD_FLOODED ? FLOWED_ENOUGH : FLOWED_WEIGHT;
    if (guard->flowed >= FLOWED_ENOUGH)
        begin_trial(guard, now_us);
}

void shoal__flush_guard_held(shoal__flush_guard_t *guard, shoal__hold_outcome_t outcome,
                             uint64_t now_us)
{
    switch (guard->state) {
    case SHOAL__GUARD_CLOSED:
        probed(guard, outcome, now_us);
        break;
    case SHOAL__GUARD_OPEN:
        if (outcome == SHOAL__HOLD_DRIED_UP)
            guard->dried_up++;
        else if (guard->dried_up > 0)
            guard->dried_up--;
        if (guard->dried_up >= DRY_ENOUGH && now_us >= guard->dried_us) {
            /* If this trial shows no loss again, dry holds do not count for so long. */
            guard->dried_us = now_us + TRUST_US_MIN;
            begin_trial(guard, now_us);
        }
        break;
    case SHOAL__GUARD_TRIAL:
        break;
    }
}

/* The sum of the middle two of the four epochs with or without holds. */
static uint64_t middle_ns(const shoal__flush_guard_t *guard, bool holds)
{
    uint64_t sum_ns = 0, least_ns = UINT64_MAX, most_ns = 0;

    for (unsigned i = 0; i < SHOAL__GUARD_EPOCHS; i++) {
        uint64_t ns = guard->epoch_ns[i];
        if (epoch_holds[i] != holds)
            continue;
        sum_ns += ns;
        least_ns = shoal__time_min(least_ns, ns);
        if (ns > most_ns)
            most_ns = ns;
    }
    return sum_ns - least_ns - most_ns;
}

static void judge(shoal__flush_guard_t *guard, uint64_t now_us)
{
    uint64_t with_ns = middle_ns(guard, true), without_ns = middle_ns(guard, false);

    if (with_ns * (100 - LOSS_MAX) > without_ns * 100) {
        guard->flowed = 0;
        guard->trust_us = 0;
        close_for_now(guard, now_us);
        return;
    }
    guard->state = SHOAL__GUARD_OPEN;
    guard->interval_us = INTERVAL_US_MIN;
    guard->dried_up = 0;
    guard->judged_ns = with_ns / 2; /* middle_ns() gave the sum of two */
    guard->strange = 0;
    guard->trust_us = guard->trust_us == 0
                          ? TRUST_US_MIN
                          : shoal__time_min(guard->trust_us * 2, TRUST_US_MAX);
    guard->trust_end_us = now_us + guard->trust_us;
}

/* The time of one command in the epoch that is over; the next one begins. */
static uint64_t end_epoch(shoal__flush_guard_t *guard, uint64_t now_us)
{
    uint64_t ns = shoal__time_since(guard->epoch_since_us, now_us) * 1000 /
                  guard->epoch_completed;

    guard->epoch_since_us = now_us;
    guard->epoch_completed = 0;
    return ns;
}

/* OPEN: do commands still come at the pace of the trial?  One epoch may be an accident
 * of the machine. */
static void check_pace(shoal__flush_guard_t *guard, uint64_t ns, uint64_t now_us)
{
    bool is_strange = ns * 100 > guard->judged_ns * PACE_CHANGE ||
                      ns * PACE_CHANGE < guard->judged_ns * 100;

    guard->strange = is_strange ? guard->strange + 1 : 0;
    if (guard->strange >= STRANGE_ENOUGH)
        guard->trust_us = 0;
    if (guard->strange >= STRANGE_ENOUGH || now_us >= guard->trust_end_us)
        begin_trial(guard, now_us);
}

void shoal__flush_guard_completed(shoal__flush_guard_t *guard, uint64_t commands,
                                  uint64_t cycle_us, uint64_t now_us)
{
    uint64_t since_us = shoal__time_since(guard->epoch_since_us, now_us);
    uint64_t ns;

    guard->epoch_completed += commands;
    if (guard->state == SHOAL__GUARD_CLOSED ||
        guard->epoch_completed < EPOCH_COMMANDS || since_us < EPOCH_US ||
        since_us < EPOCH_CYCLES * cycle_us)
        return;
    ns = end_epoch(guard, now_us);
    if (guard->state == SHOAL__GUARD_OPEN) {
        check_pace(guard, ns, now_us);
    } else {
        guard->epoch_ns[guard->epoch] = ns;
        if (++guard->epoch == SHOAL__GUARD_EPOCHS)
            judge(guard, now_us);
    }
}
