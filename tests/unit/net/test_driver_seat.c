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
    assert_true(rig->seat.is_parked);
}

/* No thread polls the descriptor: the background thread is called instead. */
static void test_a_poke_calls_the_background_thread(void **state)
{
    rig_t *rig = *state;

    park(rig);
    poke(rig);
    assert_int_equal(rig->seat.token.driver, SHOAL__DRIVER_BACKGROUND);
    assert_false(rig->seat.is_parked);
    assert_false(is_signalled(rig));
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
}

/* ---- the open sleep ---- */

static bool open_sleep(rig_t *rig)
{
    shoal__driver_seat_lock(&rig->seat);
    bool is_open = shoal__driver_seat_open_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
    return is_open;
}

/* Poke the driver, and relieve it if that may be. */
static bool relieve(rig_t *rig)
{
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_poke_locked(&rig->seat);
    bool has_loop = shoal__driver_seat_relieve_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
    return has_loop;
}

static void give_back(rig_t *rig, bool sleeps_on)
{
    shoal__driver_seat_lock(&rig->seat);
    rig->seat.is_asleep = sleeps_on;
    shoal__driver_seat_give_back_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
}

static void test_a_driver_that_was_poked_does_not_sleep_openly(void **state)
{
    assert_false(open_sleep(*state));
    assert_false(relieve(*state));
}

static void test_a_thread_relieves_the_driver_instead_of_waking_it(void **state)
{
    rig_t *rig = *state;

    rig->seat.is_asleep = true;
    assert_true(open_sleep(rig));
    assert_true(relieve(rig));
    assert_false(is_signalled(rig));
    assert_false(relieve(rig)); /* one at a time */
    give_back(rig, true);
    assert_false(is_signalled(rig));
    assert_true(relieve(rig));
    give_back(rig, false); /* something is left to be done */
    assert_true(is_signalled(rig));
    assert_false(relieve(rig)); /* it is woken already */
}

static void test_a_closed_sleep_cannot_be_relieved(void **state)
{
    rig_t *rig = *state;

    rig->seat.is_asleep = true;
    assert_true(open_sleep(rig));
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_come_back_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
    assert_false(relieve(rig));
    assert_true(is_signalled(rig));
}

/* Only the thread that has just poked the driver can relieve it. */
static void test_who_did_not_poke_does_not_relieve(void **state)
{
    rig_t *rig = *state;

    rig->seat.is_asleep = true;
    assert_true(open_sleep(rig));
    shoal__driver_seat_lock(&rig->seat);
    assert_false(shoal__driver_seat_relieve_locked(&rig->seat));
    shoal__driver_seat_unlock(&rig->seat);
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
        RIG_TEST(test_a_driver_that_was_poked_does_not_sleep_openly),
        RIG_TEST(test_a_thread_relieves_the_driver_instead_of_waking_it),
        RIG_TEST(test_a_closed_sleep_cannot_be_relieved),
        RIG_TEST(test_who_did_not_poke_does_not_relieve),
        RIG_TEST(test_another_driver_is_a_hand_over),
        RIG_TEST(test_a_nap_that_is_over_does_not_sleep),
    };
    return cmocka_run_group_tests_name("net/driver_seat", tests, NULL, NULL);
}
