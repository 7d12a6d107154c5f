/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_DICE_H
#define SHOAL_TESTS_SIM_DICE_H

/* The one source of chance in a simulated world: the same seed, the same world. */

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_dice {
    uint64_t state;
} sim_dice_t;

static inline uint64_t sim_dice_next(sim_dice_t *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The chance of one step alone: leaving out other steps does not change it. */
static inline sim_dice_t sim_dice_of_step(uint64_t seed, uint64_t step)
{
    sim_dice_t dice = {seed * UINT64_C(0xD1342543DE82EF95) +
                       step * UINT64_C(0xDA942042E4DD58B5) + 1};

    dice.state = sim_dice_next(&dice);
    return dice;
}

/* 0 .. bound - 1; bound 0 gives 0. */
static inline uint32_t sim_dice_below(sim_dice_t *dice, uint32_t bound)
{
    return (uint32_t)(((sim_dice_next(dice) >> 32) * bound) >> 32);
}

/* A time around this median: 15 % less to 15 % more. */
static inline uint64_t sim_dice_about(sim_dice_t *dice, uint64_t ns)
{
    return ns - ns * 15 / 100 + sim_dice_below(dice, (uint32_t)(ns * 30 / 100));
}

/* True in `rate` of 1024 cases. */
static inline bool sim_dice_hits(sim_dice_t *dice, uint32_t rate)
{
    return rate > 0 && (sim_dice_next(dice) >> 54) < rate;
}

/* 1 .. max with every order of magnitude alike. */
static inline uint64_t sim_dice_scale(sim_dice_t *dice, uint64_t max)
{
    unsigned bits = 1;

    while (bits < 63 && max >> bits)
        bits++;
    uint64_t value =
        (sim_dice_next(dice) >> 1) >> (63 - 1 - sim_dice_below(dice, bits));
    return value == 0 ? 1 : value > max ? max : value;
}

#endif
