/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_PARKER_H
#define SHOAL_NET_PARKER_H

/* A thread parks until another one unparks it, once. */

#include <uv.h>

typedef struct shoal__parker {
    uv_sem_t semaphore;
} shoal__parker_t;

/* 0 or SHOAL_ESYSTEM. */
int shoal__parker_init(shoal__parker_t *parker);
void shoal__parker_release(shoal__parker_t *parker);
void shoal__parker_park(shoal__parker_t *parker);
void shoal__parker_unpark(shoal__parker_t *parker);

/* Wait until `fd` is readable, until_us at most.  0, SHOAL_ETIMEOUT or SHOAL_EINTR. */
int shoal__parker_wait_readable(int fd, uint64_t until_us);

#endif
