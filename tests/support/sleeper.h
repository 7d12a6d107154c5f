/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SLEEPER_H
#define SHOAL_TESTS_SLEEPER_H

/* A thread that only takes naps of 1 ms: the clock of a promise about time.
 *
 * A busy machine keeps every thread waiting for a processor.  So the time that the library
 * may take is counted in naps, which are as long as the machine makes them; and of each nap
 * only the part counts that every thread had which wanted a processor.  /proc/loadavg tells
 * how many do.  On a quiet machine a nap counts as a millisecond. */

#include <stdbool.h>
#include <stdint.h>

/* Start the thread; sleeper_stop() ends it.  One at a time. */
void sleeper_start(void);
void sleeper_stop(void);

/* The longest that a nap took beyond its millisecond since the start. */
uint64_t sleeper_late_us_max(void);
/* How much of an interval counts.  Both ends are from waiting_now_us(), and it began
 * after sleeper_start(). */
uint64_t sleeper_us(uint64_t from_us, uint64_t to_us);

/* True if something that was due at due_us and happened at then_us was late by late_us
 * at most, in time that counts. */
bool sleeper_is_prompt(uint64_t due_us, uint64_t then_us, uint64_t late_us);

#endif
