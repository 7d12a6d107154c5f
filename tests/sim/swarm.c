/* SPDX-License-Identifier: MIT */
#include "sim/swarm.h"

static char sesame[] = "sesame";

#include <stddef.h>
#include <string.h>

/* Half of the seeds do without, the others have little of it or more. */
static uint32_t maybe(sim_dice_t *dice, uint32_t max)
{
    switch (sim_dice_below(dice, 4)) {
    case 0:
        return (uint32_t)sim_dice_scale(dice, max);
    case 1:
        return 1 + sim_dice_below(dice, max);
    }
    return 0;
}

static uint32_t one_of(sim_dice_t *dice, const uint32_t *values, uint32_t count)
{
    return values[sim_dice_below(dice, count)];
}
#define ONE_OF(dice, ...)                                                              \
    one_of(dice, (const uint32_t[]){__VA_ARGS__},                                      \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void roll_config(shoal__pipe_config_t *config, sim_dice_t *dice)
{
    *config = (shoal__pipe_config_t){
        .flush = {.mode = (shoal_flush_mode_t)ONE_OF(
                      dice, SHOAL_FLUSH_OFF, SHOAL_FLUSH_FIXED, SHOAL_FLUSH_AUTO),
                  .pause_us = ONE_OF(dice, 0, 50, 200, 2000),
                  .bytes_max = ONE_OF(dice, 64, 4096, 65536),
                  .commands_max = ONE_OF(dice, 1, 16, 1024)},
        .reply = {.bytes_max = 1 << 29, .elements_max = 1 << 24, .depth_max = 1024},
        .greeting = {.protocol = (int)ONE_OF(dice, 2, 3, 3),
                     .database = (int)ONE_OF(dice, 0, 0, 7),
                     .client_name = sim_dice_hits(dice, 256) ? "sim" : NULL,
                     .integrity = (shoal_integrity_t)ONE_OF(
                         dice, SHOAL_INTEGRITY_SHAPES, SHOAL_INTEGRITY_DETECT,
                         SHOAL_INTEGRITY_STRICT),
                     .is_settling = sim_dice_hits(dice, 768)},
        .inflight_max = ONE_OF(dice, 1, 2, 3, 8, 64, 16384, 16384, 16384),
        .attempts_max = ONE_OF(dice, 1, 2, 3, 3),
        .queue_offline = sim_dice_hits(dice, 768),
    };
}

/* Times, in proportion to the one that decides how fast this world is. */
static void roll_times(sim_swarm_t *swarm, shoal__pipe_config_t *config,
                       sim_dice_t *dice)
{
    uint32_t stall_us = ONE_OF(dice, 2000, 10000, 100000, 1000000);

    config->stall_us = stall_us;
    config->ping_idle_us = ONE_OF(dice, 0, stall_us / 3, stall_us * 3);
    swarm->clock_us_max = stall_us / ONE_OF(dice, 2, 8, 40);
    swarm->deadline_us_max = stall_us / ONE_OF(dice, 1, 4, 20);
    swarm->dial_us_max = stall_us / ONE_OF(dice, 1, 10, 100);
    swarm->handshake_us = stall_us * ONE_OF(dice, 3, 20);
    swarm->trouble_us_max = stall_us * ONE_OF(dice, 1, 3, 8);
}

/* Too much of these and nothing else is seen. */
static bool ends_links(unsigned fault)
{
    return fault == SIM_FAULT_GARBAGE || fault == SIM_FAULT_UNASKED ||
           fault == SIM_FAULT_DESYNC || fault == SIM_FAULT_SUSPEND;
}

static void roll_faults(sim_swarm_t *swarm, const shoal__pipe_config_t *config,
                        sim_dice_t *dice)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        swarm->faults[i] = maybe(dice, ends_links(i) ? 20 : 100);
    swarm->faults[SIM_FAULT_TROUBLE] *= 4; /* it is of many kinds */
    swarm->faults[SIM_FAULT_POISON] *= 4;  /* most is given up before it does harm */
    if (config->greeting.integrity != SHOAL_INTEGRITY_SHAPES)
        swarm->faults[SIM_FAULT_DESYNC] = 10 + 4 * swarm->faults[SIM_FAULT_DESYNC];
    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        sum += swarm->faults[i];
    if (sum == 0)
        swarm->events[SIM_EVENT_FAULT] = 0;
    swarm->error_rate = maybe(dice, 100);
    swarm->push_rate = maybe(dice, 512);
    swarm->attribute_rate = maybe(dice, 100);
    swarm->resubmit_rate = maybe(dice, 700);
    swarm->recancel_rate = maybe(dice, 200);
    swarm->dial_fail_rate = maybe(dice, 400);
    swarm->auth_fail_rate = maybe(dice, 200);
    swarm->no_hello_rate = maybe(dice, 1024);
    swarm->bare_rate = maybe(dice, 200);
    swarm->partial_rate = maybe(dice, 1024);
    swarm->late_us_max = maybe(dice, 10000);
    swarm->lull_rate = maybe(dice, 64);
}

/* A server that breaks connections before it has answered much. */
static void roll_flapping(sim_swarm_t *swarm, shoal__pipe_config_t *config,
                          sim_dice_t *dice)
{
    memset(swarm->faults, 0, sizeof swarm->faults);
    swarm->faults[SIM_FAULT_RESET] = 1;
    swarm->events[SIM_EVENT_FAULT] = ONE_OF(dice, 8, 16, 24);
    swarm->in_window_max = swarm->out_window_max = 65536;
    swarm->partial_rate = swarm->lull_rate = 0;
    swarm->outstanding_max = 100;
    swarm->write_rate = swarm->deadline_rate = 0;
    swarm->dial_fail_rate = swarm->auth_fail_rate = 0;
    config->inflight_max = 2;
    config->attempts_max = 3;
    config->queue_offline = true;
}

void sim_swarm_roll(sim_swarm_t *swarm, shoal__pipe_config_t *config, sim_dice_t *dice)
{
    *swarm = (sim_swarm_t){
        .events = {[SIM_EVENT_SUBMIT] = 20 + sim_dice_below(dice, 100),
                   [SIM_EVENT_CANCEL] = maybe(dice, 30),
                   [SIM_EVENT_TURN] = sim_dice_below(dice, 60),
                   [SIM_EVENT_READ] = 20 + sim_dice_below(dice, 80),
                   [SIM_EVENT_SERVER] = 20 + sim_dice_below(dice, 80),
                   [SIM_EVENT_CLOCK] = 10 + sim_dice_below(dice, 60),
                   [SIM_EVENT_GHOST] = 1 + sim_dice_below(dice, 3),
                   [SIM_EVENT_FAULT] = ONE_OF(dice, 0, 1, 2, 4, 10)},
        .steps = 1000 + (uint32_t)sim_dice_scale(dice, 30000),
        .outstanding_max = ONE_OF(dice, 1, 4, 20, 100, 500),
        .burst_max = (uint32_t)sim_dice_scale(dice, 32),
        .unit_rate = maybe(dice, 600),
        .sink_rate = maybe(dice, 700),
        .once_rate = maybe(dice, 200),
        .idempotent_rate = maybe(dice, 300),
        .urgent_rate = maybe(dice, 300),
        .big_rate = maybe(dice, 30),
        .lent_rate = maybe(dice, 700),
        .write_rate = sim_dice_below(dice, 1025),
        .deadline_rate = maybe(dice, 1024),
        .threads = ONE_OF(dice, 0, 0, 1, 2, SIM_THREADS_MAX - 1),
        .in_window_max = ONE_OF(dice, 1, 8, 300, 4096, 65536),
        .out_window_max = ONE_OF(dice, 1, 8, 300, 4096, 65536),
        .unread_bytes_max = ONE_OF(dice, 100, 4096, 262144, 262144),
        .ends_with_abandon = sim_dice_hits(dice, 256),
        .password = sim_dice_hits(dice, 256) ? sesame : NULL,
    };
    roll_config(config, dice);
    roll_times(swarm, config, dice);
    roll_faults(swarm, config, dice);
    if (sim_dice_hits(dice, 128))
        roll_flapping(swarm, config, dice);
}

/* clang-format off */
#define KNOB(name) {#name, offsetof(sim_swarm_t, name##_rate)}
static const struct knob {
    const char *name;
    size_t offset;
} knobs[] = {
    KNOB(unit), KNOB(sink), KNOB(once), KNOB(idempotent), KNOB(urgent), KNOB(big), KNOB(lent),
    KNOB(write), KNOB(error), KNOB(push), KNOB(attribute), KNOB(resubmit),
    KNOB(recancel), KNOB(dial_fail), KNOB(auth_fail), KNOB(no_hello), KNOB(bare),
    KNOB(partial), KNOB(deadline), KNOB(lull)};
/* clang-format on */
#define KNOBS (sizeof knobs / sizeof *knobs)

const char *sim_swarm_knob(unsigned number)
{
    return number < KNOBS ? knobs[number].name : NULL;
}

void sim_swarm_turn_off(sim_swarm_t *swarm, uint32_t off)
{
    static const uint32_t nothing;

    for (unsigned i = 0; i < KNOBS; i++)
        if (off >> i & 1)
            memcpy((char *)swarm + knobs[i].offset, &nothing, sizeof nothing);
}

void sim_swarm_calm(sim_swarm_t *swarm)
{
    swarm->events[SIM_EVENT_SUBMIT] = 0;
    swarm->events[SIM_EVENT_CANCEL] = 0;
    swarm->events[SIM_EVENT_TURN] = 0;
    swarm->events[SIM_EVENT_FAULT] = 0;
    swarm->error_rate = 0;
    swarm->resubmit_rate = 0;
    swarm->recancel_rate = 0;
    swarm->dial_fail_rate = 0;
    swarm->auth_fail_rate = 0;
    swarm->late_us_max = 0;
    swarm->lull_rate = 0;
    swarm->in_window_max = 65536;
    swarm->out_window_max = 65536;
    swarm->unread_bytes_max = 262144;
    swarm->are_windows_wide = true;
}
