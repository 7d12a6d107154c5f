/* SPDX-License-Identifier: MIT */
#include "moment.h"

#include <shoal/errors.h>

#define SECOND_NS 1000000000L
#define SECOND_US 1000000u

int shoalpy_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int rc;

    if (pthread_condattr_init(&attributes) != 0)
        return SHOAL_ESYSTEM;
    rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return rc == 0 ? 0 : SHOAL_ESYSTEM;
}

uint64_t shoalpy_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

struct timespec shoalpy_moment(uint64_t wait_us)
{
    struct timespec moment;

    clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_sec += (time_t)(wait_us / SECOND_US);
    moment.tv_nsec += (long)(wait_us % SECOND_US) * 1000;
    if (moment.tv_nsec >= SECOND_NS) {
        moment.tv_sec++;
        moment.tv_nsec -= SECOND_NS;
    }
    return moment;
}
