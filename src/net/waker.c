/* SPDX-License-Identifier: MIT */
#include "net/waker.h"

#include "base/time_us.h"
#include <errno.h>
#include <unistd.h>

#if SHOAL_WAKER_TIMERFD
#include <sys/timerfd.h>

static void on_due(uv_poll_t *handle, int status, int events)
{
    shoal__waker_t *waker = (shoal__waker_t *)handle->data;
    uint64_t times;

    (void)status;
    (void)events;
    waker->armed_us = SHOAL__NEVER_US;
    if (read(waker->fd, &times, sizeof times) < 0)
        return; /* spurious; the turn that follows finds nothing due */
}

int shoal__waker_init(shoal__waker_t *waker, uv_loop_t *loop)
{
    waker->armed_us = SHOAL__NEVER_US;
    waker->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (waker->fd < 0)
        return -errno;
    int rc = uv_poll_init(loop, &waker->handle.poll, waker->fd);
    if (rc < 0) {
        shoal__waker_release(waker);
        return rc;
    }
    waker->handle.poll.data = waker;
    uv_poll_start(&waker->handle.poll, UV_READABLE, on_due);
    return 0;
}

void shoal__waker_arm(shoal__waker_t *waker, uint64_t wake_us, uint64_t now_us)
{
    struct itimerspec when = {0};

    if (wake_us >= waker->armed_us)
        return;
    (void)now_us;
    if (wake_us == 0)
        wake_us = 1; /* zero would disarm */
    when.it_value.tv_sec = (time_t)(wake_us / 1000000);
    when.it_value.tv_nsec = (long)(wake_us % 1000000) * 1000;
    if (timerfd_settime(waker->fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
        waker->armed_us = wake_us;
}

bool shoal__waker_is_descriptor(void)
{
    return true;
}

uv_handle_t *shoal__waker_handle(shoal__waker_t *waker)
{
    return (uv_handle_t *)&waker->handle.poll;
}

#else

static void on_due(uv_timer_t *handle)
{
    shoal__waker_t *waker = (shoal__waker_t *)handle->data;

    waker->armed_us = SHOAL__NEVER_US;
}

int shoal__waker_init(shoal__waker_t *waker, uv_loop_t *loop)
{
    waker->armed_us = SHOAL__NEVER_US;
    waker->fd = -1;
    uv_timer_init(loop, &waker->handle.timer);
    waker->handle.timer.data = waker;
    return 0;
}

void shoal__waker_arm(shoal__waker_t *waker, uint64_t wake_us, uint64_t now_us)
{
    uint64_t delay_us;

    if (wake_us >= waker->armed_us)
        return;
    /* Round up: a timer that fires early would spin until the time has come. */
    delay_us = shoal__time_since(now_us, wake_us);
    uv_update_time(waker->handle.timer.loop);
    if (uv_timer_start(&waker->handle.timer, on_due, (delay_us + 999) / 1000, 0) == 0)
        waker->armed_us = wake_us;
}

bool shoal__waker_is_descriptor(void)
{
    return false;
}

uv_handle_t *shoal__waker_handle(shoal__waker_t *waker)
{
    return (uv_handle_t *)&waker->handle.timer;
}

#endif

void shoal__waker_release(shoal__waker_t *waker)
{
    if (waker->fd >= 0)
        close(waker->fd);
    waker->fd = -1;
}
