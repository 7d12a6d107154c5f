/* SPDX-License-Identifier: MIT */

/* What a command costs that goes to a cluster, beyond what it costs else: the slot of its key,
 * and the look at the map.  In CPU time of the thread, the best of some rounds: other programs
 * can only add to it. */

#include "core/cluster/slot_map.h"
#include "load/clock.h"
#include <stdio.h>
#include <stdlib.h>

#define KEYS 1024
#define KEY_BYTES 20
#define ROUNDS 20

static char keys[KEYS][KEY_BYTES + 1];
static uint16_t slots[KEYS];
static shoal__slot_map_t map;
static unsigned sum; /* so that nothing is left out */

static void slot_of_keys(void)
{
    for (unsigned i = 0; i < KEYS; i++)
        sum += shoal__key_slot((shoal__bytes_t){keys[i], KEY_BYTES});
}

static void owner_of_slots(void)
{
    for (unsigned i = 0; i < KEYS; i++)
        sum += shoal__slot_map_word(&map, slots[i]);
}

static double best_ns(void (*work)(void), unsigned repeats)
{
    double best = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t from_ns = clock_thread_cpu_ns();
        for (unsigned i = 0; i < repeats; i++)
            work();
        double ns = (double)(clock_thread_cpu_ns() - from_ns) / repeats / KEYS;
        if (round == 0 || ns < best)
            best = ns;
    }
    return best;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000;

    if (repeats < 1) {
        fprintf(stderr, "usage: shoal-bench-slots [REPEATS]\n");
        return 2;
    }
    shoal__slot_map_init(&map);
    for (unsigned i = 0; i < SHOAL__SLOTS; i++)
        shoal__slot_map_set(&map, i, i % 3);
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "key:%016u", i * 2654435761u);
        slots[i] = (uint16_t)shoal__key_slot((shoal__bytes_t){keys[i], KEY_BYTES});
    }
    printf("slot of a key of %d bytes: %.2f ns\n", KEY_BYTES,
           best_ns(slot_of_keys, (unsigned)repeats));
    printf("owner of a slot: %.2f ns\n", best_ns(owner_of_slots, (unsigned)repeats));
    return sum == 0;
}
