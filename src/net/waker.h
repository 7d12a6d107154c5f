/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_WAKER_H
#define SHOAL_NET_WAKER_H

/*
 * Wakes the loop at a time given in microseconds: by timerfd on Linux, else by
 * uv_timer, which counts in milliseconds (SHOAL_WAKER chooses at build time).
 *
 * A waker keeps one armed time.  If the owner asks for a later time, the waker keeps
 * the earlier one: a wake-up too early costs less than arming again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef struct shoal__waker {
    union {
        uv_poll_t poll;
        uv_timer_t timer;
    } handle;
    int fd;
    uint64_t armed_us; /* SHOAL__NEVER_US: not armed */
} shoal__waker_t;

/* 0 or an errno, negated. */
int shoal__waker_init(shoal__waker_t *waker, uv_loop_t *loop);

/* Wake at wake_us at the latest; SHOAL__NEVER_US: no need to. */
void shoal__waker_arm(shoal__waker_t *waker, uint64_t wake_us, uint64_t now_us);

/* Can one wait on the loop's descriptor alone, without asking how long? */
bool shoal__waker_is_descriptor(void);

uv_handle_t *shoal__waker_handle(shoal__waker_t *waker);
/* After its handle was closed, or in the child of a fork. */
void shoal__waker_release(shoal__waker_t *waker);

#endif
