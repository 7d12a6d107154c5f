/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "net/loop.h"
#include <unistd.h>

/* A loop that does one thing in each of its turns, and then asks whether it may sleep
 * openly. */
typedef struct play {
    shoal__loop_t loop;
    uv_poll_t handle;
    int pipe[2];
    unsigned turns, events;
    bool may_sleep[5], is_closed;
} play_t;

static void on_event(uv_poll_t *handle, int status, int events)
{
    play_t *play = (play_t *)handle->data;
    char byte;

    (void)status;
    (void)events;
    assert_int_equal(read(play->pipe[0], &byte, 1), 1);
    play->events++;
}

static uint64_t on_turn(void *owner, uint64_t now_us)
{
    play_t *play = owner;

    switch (play->turns) {
    case 1: /* libuv tells the kernel of it in the poll */
        uv_poll_start(&play->handle, UV_READABLE, on_event);
        assert_int_equal(write(play->pipe[1], "x", 1), 1);
        break;
    case 3: /* libuv calls back after the poll */
        uv_close((uv_handle_t *)&play->handle, NULL);
        break;
    case 4:
        shoal__loop_close(&play->loop);
        break;
    }
    return play->turns == 0 ? now_us : SHOAL__NEVER_US;
}

static void on_poll(void *owner)
{
    play_t *play = owner;

    play->may_sleep[play->turns] = shoal__loop_may_sleep(&play->loop);
    if (play->turns == 2)
        shoal__loop_again(&play->loop);
    play->turns++;
}

static void on_closed(void *owner)
{
    play_t *play = owner;

    play->is_closed = true;
}

static void test_it_sleeps_openly_only_if_libuv_has_nothing_to_do(void **state)
{
    (void)state;
    const shoal__loop_hooks_t hooks = {
        .on_turn = on_turn, .on_poll = on_poll, .on_closed = on_closed};
    static play_t play;

    assert_int_equal(pipe(play.pipe), 0);
    assert_int_equal(shoal__loop_init(&play.loop, NULL, &hooks, &play), 0);
    assert_int_equal(uv_poll_init(play.loop.uv, &play.handle, play.pipe[0]), 0);
    play.handle.data = &play;
    shoal__loop_run(&play.loop);
    shoal__loop_release(&play.loop);
    close(play.pipe[0]);
    close(play.pipe[1]);

    assert_true(play.is_closed);
    assert_int_equal(play.events, 1);
    assert_false(play.may_sleep[0]); /* the next turn is due */
    assert_false(play.may_sleep[1]); /* a handle was started */
    assert_int_equal(play.may_sleep[2], shoal__waker_is_descriptor());
    assert_false(play.may_sleep[3]); /* a handle is being closed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_sleeps_openly_only_if_libuv_has_nothing_to_do),
    };
    return cmocka_run_group_tests_name("net/loop", tests, NULL, NULL);
}
