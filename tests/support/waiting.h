/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_WAITING_H
#define SHOAL_TESTS_WAITING_H

/* Waiting for a condition, with a bound so generous that only a bug reaches it: a test
 * passes as soon as the condition holds, however slow the machine is. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define WAITING_US_MAX 30000000u

static inline uint64_t waiting_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static inline void waiting_sleep_us(uint64_t pause_us)
{
    struct timespec pause = {(time_t)(pause_us / 1000000u),
                             (long)(pause_us % 1000000u) * 1000};
    nanosleep(&pause, NULL);
}

#define WAITING_LOOK_US_MIN 200u
#define WAITING_LOOK_US_MAX 2000u

/* How long to sleep before the next look: an eighth of what was waited already.  A look costs
 * the processor as much as a short command does, and many tests wait at a time. */
static inline uint64_t waiting_look_us(uint64_t since_us)
{
    uint64_t eighth_us = (waiting_now_us() - since_us) / 8;

    if (eighth_us < WAITING_LOOK_US_MIN)
        return WAITING_LOOK_US_MIN;
    return eighth_us < WAITING_LOOK_US_MAX ? eighth_us : WAITING_LOOK_US_MAX;
}

/* Pause before the next look.  Fails the test if it has waited for more than
 * WAITING_US_MAX. */
static inline void waiting_pause(uint64_t since_us, const char *condition,
                                 const char *file, int line)
{
    if (waiting_now_us() - since_us > WAITING_US_MAX) {
        print_error("never came true: %s\n", condition);
        _fail(file, line);
    }
    waiting_sleep_us(waiting_look_us(since_us));
}

/* Wait until the condition holds.  Only the test's own thread may use it, because it
 * may end the test. */
#define WAIT_FOR(condition)                                                            \
    do {                                                                               \
        uint64_t since_us_ = waiting_now_us();                                         \
        while (!(condition))                                                           \
            waiting_pause(since_us_, #condition, __FILE__, __LINE__);                  \
    } while (0)

#endif
