/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_MOMENT_H
#define SHOAL_PYTHON_MOMENT_H

/* Conditions that wait until a time of the monotonic clock. */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* 0 or SHOAL_ESYSTEM. */
int shoalpy_condition_init(pthread_cond_t *condition);

/* The time wait_us from now. */
struct timespec shoalpy_moment(uint64_t wait_us);

#endif
