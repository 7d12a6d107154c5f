/* SPDX-License-Identifier: MIT */
#include "core/due_times.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <assert.h>
#include <shoal/errors.h>

void shoal__due_times_init(shoal__due_times_t *times)
{
    *times = (shoal__due_times_t){0};
}

void shoal__due_times_release(shoal__due_times_t *times)
{
    shoal__free(times->heap);
    shoal__due_times_init(times);
}

/* The array has a power of two of slots, of which the first is not used. */
static bool is_full(size_t room)
{
    return ((room + 1) & room) == 0;
}

int shoal__due_times_join(shoal__due_times_t *times)
{
    if (is_full(times->room)) {
        size_t slots = (times->room + 1) * 2;
        shoal__due_t **heap = shoal__realloc(times->heap, slots * sizeof *heap);
        if (!heap)
            return SHOAL_ENOMEM;
        times->heap = heap;
    }
    times->room++;
    return 0;
}

void shoal__due_times_leave(shoal__due_times_t *times)
{
    assert(times->count < times->room);
    times->room--;
}

static void put(shoal__due_times_t *times, size_t place, shoal__due_t *due)
{
    times->heap[place] = due;
    due->place = place;
}

/* Move a free place up until `due` belongs there. */
static size_t rise(shoal__due_times_t *times, size_t place, const shoal__due_t *due)
{
    for (; place > 1 && times->heap[place / 2]->at_us > due->at_us; place /= 2)
        put(times, place, times->heap[place / 2]);
    return place;
}

/* The same, downwards. */
static size_t sink(shoal__due_times_t *times, size_t place, const shoal__due_t *due)
{
    for (;;) {
        size_t child = place * 2;
        if (child > times->count)
            return place;
        if (child < times->count &&
            times->heap[child + 1]->at_us < times->heap[child]->at_us)
            child++;
        if (times->heap[child]->at_us >= due->at_us)
            return place;
        put(times, place, times->heap[child]);
        place = child;
    }
}

static void settle(shoal__due_times_t *times, size_t place, shoal__due_t *due)
{
    put(times, sink(times, rise(times, place, due), due), due);
}

static void take_out(shoal__due_times_t *times, shoal__due_t *due)
{
    size_t place = due->place;
    shoal__due_t *last = times->heap[times->count--];

    due->place = 0;
    if (last != due)
        settle(times, place, last);
}

void shoal__due_times_set(shoal__due_times_t *times, shoal__due_t *due, uint64_t at_us)
{
    if (at_us == SHOAL__NEVER_US) {
        if (due->place)
            take_out(times, due);
        return;
    }
    if (due->place && due->at_us == at_us)
        return;
    due->at_us = at_us;
    assert(due->place || times->count < times->room);
    settle(times, due->place ? due->place : ++times->count, due);
}

uint64_t shoal__due_times_next_us(const shoal__due_times_t *times)
{
    return times->count ? times->heap[1]->at_us : SHOAL__NEVER_US;
}

shoal__due_t *shoal__due_times_take(shoal__due_times_t *times, uint64_t now_us)
{
    shoal__due_t *due = times->count ? times->heap[1] : NULL;

    if (!due || due->at_us > now_us)
        return NULL;
    take_out(times, due);
    return due;
}
