/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_DUE_TIMES_H
#define SHOAL_CORE_DUE_TIMES_H

/*
 * Finds the owner that is due next.  Each of many owners has one time at which it wants
 * to be called.  Finding the earliest time costs one look; changing a time costs the
 * logarithm of the number of owners.
 *
 * The structure is a binary heap of pointers.  It makes room when an owner joins, so
 * that setting a time never fails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An owner's time; zero at first. */
typedef struct shoal__due {
    uint64_t at_us;
    size_t place; /* in the heap, from 1; 0: it wants no call */
} shoal__due_t;

typedef struct shoal__due_times {
    shoal__due_t **heap; /* heap[1] is the earliest */
    size_t count;        /* in the heap */
    size_t room;         /* owners that joined */
} shoal__due_times_t;

void shoal__due_times_init(shoal__due_times_t *times);
void shoal__due_times_release(shoal__due_times_t *times);

/* One more owner, or one less, whose time is not set.  0 or SHOAL_ENOMEM. */
int shoal__due_times_join(shoal__due_times_t *times);
void shoal__due_times_leave(shoal__due_times_t *times);

/* Call this owner at at_us; SHOAL__NEVER_US: not at all. */
void shoal__due_times_set(shoal__due_times_t *times, shoal__due_t *due, uint64_t at_us);

/* The earliest time; SHOAL__NEVER_US: no owner wants a call. */
uint64_t shoal__due_times_next_us(const shoal__due_times_t *times);

/* Take out an owner whose time has come; NULL: none is due. */
shoal__due_t *shoal__due_times_take(shoal__due_times_t *times, uint64_t now_us);

#endif
