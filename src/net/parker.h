/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_PARKER_H
#define SHOAL_NET_PARKER_H

/* A thread parks until another one unparks it, once.  On Linux a futex: nothing to set
 * up or to tear down, and no system call for a thread that does not sleep yet.  Else a
 * semaphore of libuv. */

#include <stdatomic.h>
#include <stdint.h>
#include <uv.h>

#if defined(__linux__) && !defined(SHOAL_PARKER_PORTABLE)
#define SHOAL_PARKER_FUTEX 1
#else
#define SHOAL_PARKER_FUTEX 0
#endif

typedef struct shoal__parker {
#if SHOAL_PARKER_FUTEX
    _Atomic uint32_t state; /* awake, asleep or unparked */
#else
    uv_sem_t semaphore;
#endif
} shoal__parker_t;

/* 0 or SHOAL_ESYSTEM. */
int shoal__parker_init(shoal__parker_t *parker);
void shoal__parker_release(shoal__parker_t *parker);
void shoal__parker_park(shoal__parker_t *parker);
/* The parker may be gone when this returns. */
void shoal__parker_unpark(shoal__parker_t *parker);

/* Wait until `fd` is readable, until_us at most.  0, SHOAL_ETIMEOUT or SHOAL_EINTR. */
int shoal__parker_wait_readable(int fd, uint64_t until_us);

#endif
