/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_MOMENT_H
#define SHOAL_PYTHON_MOMENT_H

/* The monotonic clock, and conditions that wait until a time of it. */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* 0 or SHOAL_ESYSTEM. */
int shoalpy_condition_init(pthread_cond_t *condition);

uint64_t shoalpy_now_ns(void);
/* The time wait_us from now. */
struct timespec shoalpy_moment(uint64_t wait_us);

#endif
