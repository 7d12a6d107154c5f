/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "net/clock.h"
#include "net/gate.h"
#include <poll.h>

typedef struct rig {
    shoal__notifier_t notifier;
    shoal__driver_seat_t seat;
    shoal__gate_t gate;
} rig_t;

static int setup(void **state)
{
    static rig_t rig;

    *state = &rig;
    return shoal__notifier_init(&rig.notifier) < 0 ||
           shoal__driver_seat_init(&rig.seat, &rig.notifier) < 0 ||
           shoal__gate_init(&rig.gate, &rig.seat) < 0;
}

static int teardown(void **state)
{
    rig_t *rig = *state;

    shoal__gate_release(&rig->gate);
    shoal__driver_seat_release(&rig->seat);
    shoal__notifier_release(&rig->notifier);
    return 0;
}

static void test_it_closes_and_wakes_the_loop(void **state)
{
    rig_t *rig = *state;

    assert_false(shoal__gate_is_closed(&rig->gate));
    rig->seat.is_asleep = true;
    shoal__driver_seat_lock(&rig->seat);
    shoal__gate_close_locked(&rig->gate, 70);
    assert_int_equal(rig->gate.drain_us, 70);
    assert_true(rig->gate.is_close_wanted && rig->seat.is_signal_due);
    shoal__driver_seat_unlock(&rig->seat);
    assert_true(shoal__gate_is_closed(&rig->gate));
}

static void test_a_wait_that_is_over_does_not_sleep(void **state)
{
    rig_t *rig = *state;

    shoal__driver_seat_lock(&rig->seat);
    assert_false(shoal__gate_wait_locked(&rig->gate, shoal__clock_us()));
    assert_int_equal(rig->gate.waiting, 0);
    shoal__driver_seat_unlock(&rig->seat);
}

static bool is_readable(const shoal__notifier_t *notifier)
{
    struct pollfd polled = {.fd = notifier->read_fd, .events = POLLIN};

    return poll(&polled, 1, 0) == 1;
}

/* Tells the gate once the poke was sent; it never tells if nobody sends it. */
static void tell_of_the_poke(void *data)
{
    rig_t *rig = data;
    struct pollfd polled = {.fd = rig->notifier.read_fd, .events = POLLIN};

    while (poll(&polled, 1, -1) != 1)
        ;
    shoal__driver_seat_lock(&rig->seat);
    rig->gate.is_ready = true;
    shoal__gate_tell_locked(&rig->gate);
    shoal__driver_seat_unlock(&rig->seat);
}

/* The wait unlocks the seat by itself: a poke before it must not wait for it to end. */
static void test_a_wait_sends_what_is_due(void **state)
{
    rig_t *rig = *state;
    uv_thread_t thread;

    assert_int_equal(uv_thread_create(&thread, tell_of_the_poke, rig), 0);
    shoal__driver_seat_lock(&rig->seat);
    rig->seat.is_asleep = true;
    shoal__driver_seat_poke_locked(&rig->seat);
    assert_false(is_readable(&rig->notifier));
    while (!rig->gate.is_ready)
        assert_true(shoal__gate_wait_locked(&rig->gate, shoal__clock_us() + 60000000));
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
    shoal__driver_seat_unlock(&rig->seat);
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
    assert_int_equal(uv_thread_join(&thread), 0);
}

static void tell(void *data)
{
    rig_t *rig = data;
    bool is_told = false;

    while (!is_told) {
        shoal__driver_seat_lock(&rig->seat);
        is_told = rig->gate.waiting > 0;
        rig->gate.is_ready = is_told;
        shoal__gate_tell_locked(&rig->gate);
        shoal__driver_seat_unlock(&rig->seat);
    }
}

static void test_a_change_wakes_the_threads_that_wait(void **state)
{
    rig_t *rig = *state;
    uv_thread_t thread;

    assert_int_equal(uv_thread_create(&thread, tell, rig), 0);
    shoal__driver_seat_lock(&rig->seat);
    while (!rig->gate.is_ready)
        assert_true(shoal__gate_wait_locked(&rig->gate, SHOAL__NEVER_US));
    shoal__driver_seat_unlock(&rig->seat);
    assert_int_equal(uv_thread_join(&thread), 0);
}

#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_it_closes_and_wakes_the_loop),
        RIG_TEST(test_a_wait_that_is_over_does_not_sleep),
        RIG_TEST(test_a_wait_sends_what_is_due),
        RIG_TEST(test_a_change_wakes_the_threads_that_wait),
    };
    return cmocka_run_group_tests_name("net/gate", tests, NULL, NULL);
}
