/* SPDX-License-Identifier: MIT */
#include "net/loop.h"

#include "base/time_us.h"
#include "net/clock.h"
#include <unistd.h>

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* it only keeps the poll short */
}

static void on_wakeup(uv_poll_t *handle, int status, int events)
{
    shoal__loop_t *loop = (shoal__loop_t *)handle->data;

    (void)status;
    (void)events;
    loop->is_past_turn = false;
    shoal__notifier_clear(&loop->notifier);
}

/* Another turn must follow without blocking. */
void shoal__loop_again(shoal__loop_t *loop)
{
    if (!loop->is_again && !loop->is_closing) {
        loop->is_again = true;
        uv_idle_start(&loop->idle, on_idle);
    }
}

static void turn(shoal__loop_t *loop)
{
    uint64_t now_us = shoal__clock_us(), wake_us;

    if (loop->is_again) {
        loop->is_again = false;
        uv_idle_stop(&loop->idle);
    }
    loop->is_poked = false;
    wake_us = loop->hooks.on_turn(loop->owner, now_us);
    if (loop->is_closing)
        return;
    wake_us = shoal__time_min(wake_us, loop->until_us);
    if (wake_us <= now_us)
        shoal__loop_again(loop);
    else
        shoal__waker_arm(&loop->waker, wake_us, now_us);
    loop->is_past_turn = true;
}

static void on_prepare(uv_prepare_t *prepare)
{
    turn(prepare->data);
}

static void on_handle_closed(uv_handle_t *handle)
{
    shoal__loop_t *loop = (shoal__loop_t *)handle->data;

    if (--loop->open_handles > 0)
        return;
    shoal__waker_release(&loop->waker);
    loop->hooks.on_closed(loop->owner);
}

/* The waker is part of the loop already: it has to be closed by the loop. */
static int fail_late(shoal__loop_t *loop, int rc)
{
    loop->is_closing = true;
    loop->open_handles = 1;
    shoal__waker_handle(&loop->waker)->data = loop;
    uv_close(shoal__waker_handle(&loop->waker), on_handle_closed);
    if (loop->is_own) {
        uv_run(loop->uv, UV_RUN_DEFAULT);
        uv_loop_close(loop->uv);
        shoal__notifier_release(&loop->notifier);
    }
    return rc;
}

/* libuv makes a pipe of its own for the first loop of a process, and ends the process
 * if that fails for want of descriptors.  So try before whether there are enough. */
static int init_own(uv_loop_t *own)
{
    int pipes[2][2];
    int rc = uv_pipe(pipes[0], 0, 0);

    if (rc < 0)
        return rc;
    rc = uv_pipe(pipes[1], 0, 0);
    if (rc == 0) {
        close(pipes[1][0]);
        close(pipes[1][1]);
    }
    close(pipes[0][0]);
    close(pipes[0][1]);
    return rc < 0 ? rc : uv_loop_init(own);
}

int shoal__loop_init(shoal__loop_t *loop, uv_loop_t *uv,
                     const shoal__loop_hooks_t *hooks, void *owner)
{
    int rc;

    *loop = (shoal__loop_t){.uv = uv, .hooks = *hooks, .owner = owner};
    loop->until_us = SHOAL__NEVER_US;
    loop->is_own = uv == NULL;
    loop->notifier.read_fd = loop->notifier.write_fd = -1;
    if (loop->is_own) {
        rc = init_own(&loop->own);
        if (rc < 0)
            return rc;
        loop->uv = &loop->own;
    }
    rc = shoal__notifier_init(&loop->notifier);
    if (rc < 0)
        goto fail;
    rc = shoal__waker_init(&loop->waker, loop->uv);
    if (rc < 0)
        goto fail;
    rc = uv_poll_init(loop->uv, &loop->wakeups, loop->notifier.read_fd);
    if (rc < 0)
        return fail_late(loop, rc);
    uv_prepare_init(loop->uv, &loop->prepare);
    uv_idle_init(loop->uv, &loop->idle);
    loop->prepare.data = loop->idle.data = loop->wakeups.data = loop;
    loop->open_handles = 4;
    uv_prepare_start(&loop->prepare, on_prepare);
    uv_poll_start(&loop->wakeups, UV_READABLE, on_wakeup);
    shoal__loop_again(loop);
    return 0;

fail:
    shoal__notifier_release(&loop->notifier);
    if (loop->is_own)
        uv_loop_close(&loop->own);
    return rc;
}

void shoal__loop_close(shoal__loop_t *loop)
{
    uv_handle_t *waker = shoal__waker_handle(&loop->waker);

    loop->is_closing = true;
    waker->data = loop;
    uv_close((uv_handle_t *)&loop->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&loop->idle, on_handle_closed);
    uv_close((uv_handle_t *)&loop->wakeups, on_handle_closed);
    uv_close(waker, on_handle_closed);
}

void shoal__loop_step(shoal__loop_t *loop, uint64_t timeout_us)
{
    if (timeout_us == 0) {
        uv_run(loop->uv, UV_RUN_NOWAIT);
    } else {
        shoal__loop_iterate(loop, shoal__time_after(shoal__clock_us(), timeout_us));
    }
    /* What was read may have left something to do, and the caller may now wait on the
     * descriptor alone. */
    if (!loop->is_closing)
        turn(loop);
    if (loop->is_closing) /* closed handles do not make the descriptor readable */
        uv_run(loop->uv, UV_RUN_NOWAIT);
}

void shoal__loop_run(shoal__loop_t *loop)
{
    uv_run(loop->uv, UV_RUN_DEFAULT);
}

void shoal__loop_stop(shoal__loop_t *loop)
{
    uv_stop(loop->uv);
}

void shoal__loop_iterate(shoal__loop_t *loop, uint64_t until_us)
{
    loop->until_us = until_us;
    uv_run(loop->uv, UV_RUN_ONCE);
    loop->until_us = SHOAL__NEVER_US;
}

void shoal__loop_release(shoal__loop_t *loop)
{
    shoal__notifier_release(&loop->notifier);
    if (loop->is_own)
        uv_loop_close(&loop->own);
}

void shoal__loop_forget(shoal__loop_t *loop)
{
    shoal__waker_release(&loop->waker);
    shoal__notifier_release(&loop->notifier);
    /* libuv has no way to drop a loop that another process runs: its few hundred
     * bytes and its poll descriptor are left. */
}
