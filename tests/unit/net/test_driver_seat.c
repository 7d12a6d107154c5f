/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>

#include "net/clock.h"
#include "net/driver_seat.h"

typedef struct rig {
    shoal__notifier_t notifier;
    shoal__driver_seat_t seat;
} rig_t;

static int setup(void **state)
{
    static rig_t rig;

    *state = &rig;
    return shoal__notifier_init(&rig.notifier) < 0 ||
           shoal__driver_seat_init(&rig.seat, &rig.notifier) < 0;
}

static int teardown(void **state)
{
    rig_t *rig = *state;

    shoal__driver_seat_release(&rig->seat);
    shoal__notifier_release(&rig->notifier);
    return 0;
}

static bool is_signalled(rig_t *rig)
{
    struct pollfd slot = {.fd = rig->notifier.read_fd, .events = POLLIN};

    return poll(&slot, 1, 0) > 0;
}

static void poke(rig_t *rig)
{
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_poke_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
}

static void test_a_driver_that_runs_is_not_woken(void **state)
{
    poke(*state);
    assert_false(is_signalled(*state));
}

static void test_a_driver_that_sleeps_is_woken_once(void **state)
{
    rig_t *rig = *state;

    rig->seat.is_asleep = true;
    poke(rig);
    assert_true(is_signalled(rig));
    shoal__notifier_clear(&rig->notifier);
    poke(rig); /* it was woken, and has not said that it sleeps again */
    assert_false(is_signalled(rig));
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
}

/* The signal leaves with the unlock: under the lock the driver would only wait for it. */
static void test_the_signal_waits_for_the_unlock(void **state)
{
    rig_t *rig = *state;

    rig->seat.is_asleep = true;
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_poke_locked(&rig->seat);
    assert_false(is_signalled(rig));
    shoal__driver_seat_unlock(&rig->seat);
    assert_true(is_signalled(rig));
}

static void park(rig_t *rig)
{
    shoal__driver_seat_lock(&rig->seat);
    rig->seat.is_asleep = true;
    for (int i = 0; i < SHOAL__DRIVER_LONE_CALLS; i++)
        shoal__driver_seat_step_locked(&rig->seat, SHOAL__DRIVER_ON_LONE, true);
    assert_int_equal(
        shoal__driver_seat_step_locked(&rig->seat, SHOAL__DRIVER_ON_TURNED, true),
        SHOAL__DRIVER_PARK);
    shoal__driver_seat_unlock(&rig->seat);
    assert_int_equal(rig->seat.driver, SHOAL__DRIVER_PARKED);
}

/* No thread polls the descriptor: the background thread is called instead. */
static void test_a_poke_calls_the_background_thread(void **state)
{
    rig_t *rig = *state;

    park(rig);
    poke(rig);
    assert_int_equal(rig->seat.token.driver, SHOAL__DRIVER_BACKGROUND);
    assert_int_equal(rig->seat.driver, SHOAL__DRIVER_BACKGROUND);
    assert_false(is_signalled(rig));
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
}

/* ---- callers that are awake ---- */

static shoal__driver_verdict_t step(rig_t *rig, shoal__driver_event_t event,
                                    bool is_quiet)
{
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_verdict_t verdict =
        shoal__driver_seat_step_locked(&rig->seat, event, is_quiet);
    shoal__driver_seat_unlock(&rig->seat);
    return verdict;
}

static void test_a_round_ends_when_the_background_thread_drives(void **state)
{
    rig_t *rig = *state;

    park(rig);
    rig->seat.awake = 3;
    assert_int_equal(step(rig, SHOAL__DRIVER_ON_CALL, true), SHOAL__DRIVER_DRIVE);
    assert_int_equal(step(rig, SHOAL__DRIVER_ON_LEFT, true), SHOAL__DRIVER_PARK);
    assert_int_equal(rig->seat.awake, 3);
    assert_int_equal(rig->seat.round, 0);
    assert_int_equal(step(rig, SHOAL__DRIVER_ON_CALL, true), SHOAL__DRIVER_DRIVE);
    assert_int_equal(step(rig, SHOAL__DRIVER_ON_LEFT, false), SHOAL__DRIVER_HAND_OVER);
    assert_int_equal(rig->seat.awake, 0);
    assert_int_equal(rig->seat.round, 1);
    assert_int_equal(step(rig, SHOAL__DRIVER_ON_TURNED, false), SHOAL__DRIVER_KEEP);
    assert_int_equal(rig->seat.round, 1); /* nobody was awake since */
}

static void test_a_look_makes_the_background_thread_drive(void **state)
{
    rig_t *rig = *state;

    park(rig);
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_look_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
    assert_int_equal(rig->seat.driver, SHOAL__DRIVER_BACKGROUND);
    assert_true(shoal__driver_token_may_park(&rig->seat.token)); /* soon again */
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
    assert_false(is_signalled(rig));
}

static void test_another_driver_is_a_hand_over(void **state)
{
    rig_t *rig = *state;

    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_taken_locked(&rig->seat);
    shoal__driver_seat_taken_locked(&rig->seat);
    assert_int_equal(shoal__counter_get(&rig->seat.handovers), 0);
    rig->seat.last_thread++; /* as if another thread had driven since */
    shoal__driver_seat_taken_locked(&rig->seat);
    assert_int_equal(shoal__counter_get(&rig->seat.handovers), 1);
    shoal__driver_seat_unlock(&rig->seat);
}

static void test_a_nap_that_is_over_does_not_sleep(void **state)
{
    rig_t *rig = *state;
    uint64_t until_us = shoal__clock_us();

    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_nap_locked(&rig->seat, until_us);
    assert_int_equal(rig->seat.nap_until_us, until_us);
    shoal__driver_seat_unlock(&rig->seat);
}

#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_a_driver_that_runs_is_not_woken),
        RIG_TEST(test_a_driver_that_sleeps_is_woken_once),
        RIG_TEST(test_the_signal_waits_for_the_unlock),
        RIG_TEST(test_a_poke_calls_the_background_thread),
        RIG_TEST(test_a_round_ends_when_the_background_thread_drives),
        RIG_TEST(test_a_look_makes_the_background_thread_drive),
        RIG_TEST(test_another_driver_is_a_hand_over),
        RIG_TEST(test_a_nap_that_is_over_does_not_sleep),
    };
    return cmocka_run_group_tests_name("net/driver_seat", tests, NULL, NULL);
}
