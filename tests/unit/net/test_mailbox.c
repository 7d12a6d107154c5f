/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/mailbox.h"

#define NEVER SHOAL__NEVER_US
#define URGENT SHOAL__REQUEST_URGENT
#define PLAIN SHOAL__CLASS_WRITE
#define BLOCKING SHOAL__CLASS_BLOCK
#define NONE 0 /* of the pushes */

typedef struct rig {
    shoal__notifier_t notifier;
    shoal__driver_seat_t seat;
    shoal__mailbox_t mailbox;
} rig_t;

static int setup(void **state)
{
    static rig_t rig;

    *state = &rig;
    if (shoal__notifier_init(&rig.notifier) < 0 ||
        shoal__driver_seat_init(&rig.seat, &rig.notifier) < 0)
        return -1;
    shoal__mailbox_init(&rig.mailbox, &rig.seat);
    return 0;
}

static int teardown(void **state)
{
    rig_t *rig = *state;

    shoal__mailbox_release(&rig->mailbox);
    shoal__driver_seat_release(&rig->seat);
    shoal__notifier_release(&rig->notifier);
    return 0;
}

static bool is_signalled(rig_t *rig)
{
    struct pollfd slot = {.fd = rig->notifier.read_fd, .events = POLLIN};

    return poll(&slot, 1, 0) > 0;
}

static void push(rig_t *rig, const shoal__request_t *request)
{
    shoal__driver_seat_lock(&rig->seat);
    assert_non_null(shoal__mailbox_side_reserve(&rig->mailbox.side, request->bytes, 1));
    shoal__mailbox_push_locked(&rig->mailbox, request, false);
    shoal__driver_seat_unlock(&rig->seat);
}

static void fall_asleep(rig_t *rig, uint64_t wake_us, uint64_t wake_after)
{
    shoal__mailbox_side_t taken = {0};

    shoal__notifier_clear(&rig->notifier);
    shoal__driver_seat_lock(&rig->seat);
    shoal__mailbox_swap_locked(&rig->mailbox, &taken);
    assert_true(shoal__mailbox_is_empty_locked(&rig->mailbox));
    shoal__mailbox_sleep_locked(&rig->mailbox, wake_us, wake_after);
    shoal__driver_seat_unlock(&rig->seat);
    shoal__mailbox_side_release(&taken);
}

/* The loop sleeps until wake_us, and wants to hear of the wake_after-th push. */
/* clang-format off */
static const struct push_case {
    const char *name;
    uint64_t wake_us, wake_after;
    uint16_t flags;
    uint8_t command_class;
    uint64_t deadline_us;
    unsigned signalled_by; /* the n-th of 5 pushes; NONE: not by them */
} push_cases[] = {
    /*                                     wake after flags   class     deadline by */
    {"an idle loop hears of the first",   NEVER,  1,      0, PLAIN,     5000,    1},
    {"a loop with a timer does, too",      1000,  1,      0, PLAIN,     5000,    1},
    {"a hold ends with the third",         1000,  3,      0, PLAIN,     5000,    3},
    {"a hold ends by itself",              1000,  6,      0, PLAIN,     5000, NONE},
    {"urgent ends a hold",                 1000,  6, URGENT, PLAIN,     5000,    1},
    {"what blocks ends a hold",            1000,  6,      0, BLOCKING,  5000,    1},
    {"an earlier deadline ends it",        1000,  6,      0, PLAIN,      999,    1},
    {"a deadline at its end does not",     1000,  6,      0, PLAIN,     1000, NONE},
    {"no deadline does not",               1000,  6,      0, PLAIN,    NEVER, NONE},
    {"a loop that never wakes holds none",     NEVER,  6,      0, PLAIN,    NEVER,    1},
};
/* clang-format on */

static void check_pushes(rig_t *rig, const struct push_case *c)
{
    const shoal__request_t request = {.flags = c->flags,
                                      .command_class =
                                          (shoal__command_class_t)c->command_class,
                                      .deadline_us = c->deadline_us,
                                      .bytes = 10};
    uint64_t wakeups = shoal__counter_get(&rig->seat.wakeups);

    fall_asleep(rig, c->wake_us, c->wake_after);
    for (unsigned i = 1; i <= 5; i++) {
        push(rig, &request);
        if (is_signalled(rig) != (c->signalled_by != NONE && i >= c->signalled_by))
            fail_msg("%s: push %u", c->name, i);
    }
    /* Once, however many follow. */
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups),
                     wakeups + (c->signalled_by != NONE));
}

static void test_which_push_wakes_the_loop(void **state)
{
    for (size_t i = 0; i < sizeof push_cases / sizeof *push_cases; i++)
        check_pushes(*state, &push_cases[i]);
}

static void test_a_loop_that_runs_is_not_woken(void **state)
{
    rig_t *rig = *state;
    const shoal__request_t request = {.flags = URGENT, .bytes = 10};

    push(rig, &request);
    assert_false(is_signalled(rig));
}

static void test_cancels_end_a_hold(void **state)
{
    rig_t *rig = *state;

    fall_asleep(rig, 1000, 100);
    shoal__driver_seat_lock(&rig->seat);
    assert_int_equal(shoal__mailbox_cancel_locked(&rig->mailbox, 1), 0);
    shoal__driver_seat_unlock(&rig->seat);
    assert_true(is_signalled(rig));
}

static void test_a_poke_ends_a_hold(void **state)
{
    rig_t *rig = *state;

    fall_asleep(rig, 1000, 100);
    shoal__driver_seat_lock(&rig->seat);
    shoal__driver_seat_poke_locked(&rig->seat);
    shoal__driver_seat_unlock(&rig->seat);
    assert_true(is_signalled(rig));
}

static void park(rig_t *rig)
{
    shoal__driver_seat_lock(&rig->seat);
    for (int i = 0; i < SHOAL__DRIVER_LONE_CALLS; i++)
        shoal__driver_seat_step_locked(&rig->seat, SHOAL__DRIVER_ON_LONE, true);
    assert_int_equal(
        shoal__driver_seat_step_locked(&rig->seat, SHOAL__DRIVER_ON_TURNED, true),
        SHOAL__DRIVER_PARK);
    shoal__driver_seat_unlock(&rig->seat);
    assert_int_equal(rig->seat.driver, SHOAL__DRIVER_PARKED);
}

/* Nobody polls: the background thread is called, and the descriptor left alone. */
static void test_a_push_calls_the_background_thread(void **state)
{
    rig_t *rig = *state;
    const shoal__request_t request = {.deadline_us = NEVER, .bytes = 10};

    fall_asleep(rig, 1000, 100);
    park(rig);
    push(rig, &request);
    assert_int_equal(rig->seat.token.driver, SHOAL__DRIVER_BACKGROUND);
    assert_int_equal(rig->seat.driver, SHOAL__DRIVER_BACKGROUND);
    assert_false(is_signalled(rig));
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
    push(rig, &request);
    assert_int_equal(shoal__counter_get(&rig->seat.wakeups), 1);
}

/* ---- taking back ---- */

static void nobody(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)result;
    (void)data;
}

static bool take_back(rig_t *rig, uint64_t ticket, bool is_overdue)
{
    shoal__driver_seat_lock(&rig->seat);
    shoal__extra_t *extra = NULL;
    bool is_back =
        shoal__mailbox_take_back_locked(&rig->mailbox, ticket, is_overdue, &extra);
    shoal__driver_seat_unlock(&rig->seat);
    return is_back;
}

/* What is taken back stays where it is, cancelled: the loop drops it. */
static void test_only_what_is_there_is_taken_back(void **state)
{
    rig_t *rig = *state;
    shoal__mailbox_side_t taken = {0};
    shoal__request_t request = {
        .on_result = nobody, .data = rig, .bytes = 1, .deadline_us = NEVER};

    assert_false(take_back(rig, 1, true));
    for (request.ticket = 7; request.ticket <= 9; request.ticket++)
        push(rig, &request);
    assert_false(take_back(rig, 6, true));
    assert_false(take_back(rig, 10, true));
    assert_true(take_back(rig, 8, true));
    assert_true(take_back(rig, 9, false));
    shoal__driver_seat_lock(&rig->seat);
    shoal__mailbox_swap_locked(&rig->mailbox, &taken);
    shoal__driver_seat_unlock(&rig->seat);
    assert_int_equal(taken.count, 3);
    assert_int_equal(taken.cancels_count, 2);
    assert_int_equal(taken.cancels[0], 8);
    assert_int_equal(taken.cancels[1], 9);
    for (size_t i = 0; i < taken.count; i++) {
        assert_true((taken.requests[i].on_result == NULL) == (i > 0));
        assert_true((taken.requests[i].data == NULL) == (i > 0));
        assert_int_equal(taken.requests[i].flags, i == 1 ? SHOAL__REQUEST_OVERDUE : 0);
    }
    assert_false(take_back(rig, 7, true)); /* the loop has it */
    shoal__mailbox_side_release(&taken);
}

static void on_release(void *data)
{
    *(unsigned *)data += 1;
}

/* Its caller gets the extra, with all that it lent; the request still names its lease. */
static void test_a_leased_command_is_taken_back(void **state)
{
    static char lease;
    rig_t *rig = *state;
    shoal__mailbox_side_t taken = {0};
    shoal__extra_t *extra = shoal__extra_new(1, 1), *back;
    unsigned released = 0;
    shoal__request_t request = {
        .extra = extra, .ticket = 1, .bytes = 1, .deadline_us = NEVER};

    assert_non_null(extra);
    *extra->values = (shoal__values_t){shoal__extra_references(extra, 1), 1, 50000};
    extra->lease = (shoal_lease_t *)(void *)&lease;
    extra->on_release = on_release;
    extra->release_data = &released;
    push(rig, &request);
    assert_int_equal(shoal__counter_get(&rig->mailbox.bytes_now), 50001);

    shoal__driver_seat_lock(&rig->seat);
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__mailbox_take_back_locked(&rig->mailbox, 1, false, &back));
    shoal__test_fail_alloc_after(1);
    assert_false(shoal__mailbox_take_back_locked(&rig->mailbox, 1, false, &back));
    shoal__test_fail_alloc_never();
    assert_int_equal(shoal__counter_get(&rig->mailbox.bytes_now), 50001);
    assert_true(shoal__mailbox_take_back_locked(&rig->mailbox, 1, false, &back));
    shoal__mailbox_swap_locked(&rig->mailbox, &taken);
    shoal__driver_seat_unlock(&rig->seat);
    assert_ptr_equal(back, extra);
    shoal__extra_drop(back);
    assert_int_equal(released, 1);
    assert_ptr_equal(SHOAL__REQUEST_LEASE(&taken.requests[0]), &lease);
    assert_int_equal(shoal__mailbox_side_bytes(&taken), 1);
    shoal__extra_drop(taken.requests[0].extra);
    shoal__mailbox_side_release(&taken);
}

#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_which_push_wakes_the_loop),
        RIG_TEST(test_a_loop_that_runs_is_not_woken),
        RIG_TEST(test_cancels_end_a_hold),
        RIG_TEST(test_a_poke_ends_a_hold),
        RIG_TEST(test_a_push_calls_the_background_thread),
        RIG_TEST(test_only_what_is_there_is_taken_back),
        RIG_TEST(test_a_leased_command_is_taken_back),
    };
    return cmocka_run_group_tests_name("net/mailbox", tests, NULL, NULL);
}
