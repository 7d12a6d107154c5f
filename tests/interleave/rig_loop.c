/* SPDX-License-Identifier: MIT */

/* libuv's loop, as far as net/loop.c uses it, the loop's waker, and what else a client
 * stands on. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "base/time_us.h"
#include "interleave/rig_parts.h"
#include "net/entropy.h"
#include "net/fork_guard.h"
#include "net/quiet_thread.h"
#include "net/waker.h"
#include <shoal/errors.h>
#include <shoal/options.h>
#include <string.h>

#define CLOSING_MAX 8

static struct {
    unsigned driver; /* thread in uv_run; or EXPLORE_THREADS_MAX */
    uv_prepare_t *prepare;
    uv_prepare_cb on_prepare;
    uv_poll_t *wakeups;
    uv_poll_cb on_wakeup;
    int fd;
    bool is_idle_active, is_stopped;
    bool must_not_wait; /* the run under way */
    shoal__waker_t *waker;
    uv_handle_t *closing[CLOSING_MAX];
    uv_close_cb on_close[CLOSING_MAX];
    unsigned closing_count, open_handles;
} loop;

void rig_loop_begin(void)
{
    memset(&loop, 0, sizeof loop);
    loop.driver = EXPLORE_THREADS_MAX;
}

/* ---- one iteration ---- */

static bool must_not_block(void)
{
    return loop.must_not_wait || loop.is_idle_active || loop.is_stopped ||
           loop.closing_count > 0;
}

static bool has_wakeup(void)
{
    return loop.wakeups && shim_is_readable(loop.fd);
}

static unsigned ways_to_poll(const explore_step_t *step)
{
    if (must_not_block() || has_wakeup() || rig_socket_is_readable())
        return 1U << EXPLORE_DONE;
    return step->until_us && step->until_us <= explore_peek_us()
               ? 1U << EXPLORE_TIMED_OUT
               : 0;
}

static unsigned wait_for_events(void)
{
    uint64_t armed_us = loop.waker ? loop.waker->armed_us : SHOAL__NEVER_US;

    return explore_point(&(explore_step_t){
        .what = "poll",
        .objects = {loop.wakeups ? shim_descriptor(loop.fd) : NULL, rig_socket()},
        .ways = ways_to_poll,
        .until_us = armed_us == SHOAL__NEVER_US ? 0 : armed_us});
}

static void poll_once(void)
{
    bool is_woken, is_readable;
    unsigned way;

    if (!loop.must_not_wait && explore_self() != RIG_BACKGROUND)
        rig_check_poll();
    way = wait_for_events();
    if (way == EXPLORE_TIMED_OUT)
        loop.waker->armed_us = SHOAL__NEVER_US;
    /* As epoll does: what is ready now, and not what its callbacks make ready. */
    is_woken = has_wakeup();
    is_readable = rig_socket_is_readable();
    if (is_woken)
        loop.on_wakeup(loop.wakeups, 0, UV_READABLE);
    if (is_readable)
        rig_socket_read();
}

static void finish_closing(void)
{
    while (loop.closing_count > 0) {
        loop.closing_count--;
        loop.open_handles--;
        loop.on_close[loop.closing_count](loop.closing[loop.closing_count]);
    }
}

int uv_run(uv_loop_t *uv, uv_run_mode mode)
{
    (void)uv;
    if (loop.driver != EXPLORE_THREADS_MAX)
        explore_fail("two threads run the loop");
    loop.driver = explore_self();
    loop.must_not_wait = mode == UV_RUN_NOWAIT;
    while (loop.open_handles > 0 && !loop.is_stopped) {
        if (loop.prepare)
            loop.on_prepare(loop.prepare);
        poll_once();
        finish_closing();
        if (mode != UV_RUN_DEFAULT)
            break;
    }
    loop.is_stopped = false;
    loop.driver = EXPLORE_THREADS_MAX;
    return 0;
}

void uv_stop(uv_loop_t *uv)
{
    (void)uv;
    loop.is_stopped = true;
}

int uv_loop_init(uv_loop_t *uv)
{
    (void)uv;
    return 0;
}

int uv_pipe(uv_file fds[2], int read_flags, int write_flags)
{
    (void)read_flags;
    (void)write_flags;
    return shim_pipe(fds);
}

int uv_loop_close(uv_loop_t *uv)
{
    (void)uv;
    explore_check(loop.open_handles == 0);
    return 0;
}

int uv_backend_fd(const uv_loop_t *uv)
{
    (void)uv;
    return -1;
}

int uv_backend_timeout(const uv_loop_t *uv)
{
    (void)uv;
    return must_not_block() ? 0 : -1;
}

/* ---- handles ---- */

int uv_prepare_init(uv_loop_t *uv, uv_prepare_t *prepare)
{
    (void)uv;
    (void)prepare;
    loop.open_handles++;
    return 0;
}

int uv_prepare_start(uv_prepare_t *prepare, uv_prepare_cb on_prepare)
{
    loop.prepare = prepare;
    loop.on_prepare = on_prepare;
    return 0;
}

int uv_idle_init(uv_loop_t *uv, uv_idle_t *idle)
{
    (void)uv;
    (void)idle;
    loop.open_handles++;
    return 0;
}

int uv_idle_start(uv_idle_t *idle, uv_idle_cb on_idle)
{
    (void)idle;
    (void)on_idle;
    loop.is_idle_active = true;
    return 0;
}

int uv_idle_stop(uv_idle_t *idle)
{
    (void)idle;
    loop.is_idle_active = false;
    return 0;
}

int uv_poll_init(uv_loop_t *uv, uv_poll_t *handle, int fd)
{
    (void)uv;
    (void)handle;
    loop.fd = fd;
    loop.open_handles++;
    return 0;
}

int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb on_wakeup)
{
    (void)events;
    loop.wakeups = handle;
    loop.on_wakeup = on_wakeup;
    return 0;
}

void uv_close(uv_handle_t *handle, uv_close_cb on_close)
{
    if (handle == (uv_handle_t *)loop.prepare)
        loop.prepare = NULL;
    if (handle == (uv_handle_t *)loop.wakeups)
        loop.wakeups = NULL;
    explore_check(loop.closing_count < CLOSING_MAX);
    loop.closing[loop.closing_count] = handle;
    loop.on_close[loop.closing_count++] = on_close;
}

/* ---- the waker ---- */

int shoal__waker_init(shoal__waker_t *waker, uv_loop_t *uv)
{
    (void)uv;
    waker->armed_us = SHOAL__NEVER_US;
    loop.waker = waker;
    loop.open_handles++;
    return 0;
}

void shoal__waker_arm(shoal__waker_t *waker, uint64_t wake_us, uint64_t now_us)
{
    (void)now_us;
    if (wake_us < waker->armed_us)
        waker->armed_us = wake_us;
}

uv_handle_t *shoal__waker_handle(shoal__waker_t *waker)
{
    return (uv_handle_t *)&waker->handle;
}

void shoal__waker_release(shoal__waker_t *waker)
{
    (void)waker;
    loop.waker = NULL;
}

/* ---- the rest of what a client stands on ---- */

uint64_t shoal__entropy(void)
{
    return 1;
}

int shoal__fork_guard_start(void)
{
    return 0;
}

_Atomic uint64_t shoal__fork_count;

int shoal__quiet_thread_start(pthread_t *ret_thread, void (*run)(void *data),
                              void *data)
{
    *ret_thread = (pthread_t)explore_start("background", run, data) + 1;
    return 0;
}

int shoal_options_from_url(const char *url, shoal_options_t **ret_options,
                           shoal_error_t *ret_error)
{
    (void)url;
    (void)ret_options;
    (void)ret_error;
    return SHOAL_EURL;
}
