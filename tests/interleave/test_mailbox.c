/* SPDX-License-Identifier: MIT */

/* The mailbox and the announced sleep, in every schedule: what was pushed is seen without
 * another push (I11), each thread's in its order. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "base/alloc.h"
#include "base/time_us.h"
#include "interleave/shim.h"
#include "net/gate.h"
#include "net/mailbox.h"
#include <string.h>

#define PRODUCERS_MAX 3
#define HOLD_US 1000 /* a loop that holds wakes by itself after this */

typedef struct mailbox_case {
    const char *name;
    unsigned producers, pushes;
    unsigned wake_after;
    bool has_no_time;     /* it never wakes by itself, whatever wake_after says */
    uint16_t flags;       /* of the requests */
    uint64_t deadline_us; /* of the requests, after the start */
    bool cancels;         /* the last producer cancels instead of pushing */
    bool closes;          /* the last producer closes instead of pushing */
    bool is_prompt;       /* the loop must not sleep its hold out */
    bool is_raw;          /* without pruning */
    unsigned preemptions; /* 0: no bound */
    unsigned ticks, spurious;
} mailbox_case_t;

static const mailbox_case_t *now;
static shoal__notifier_t *notifier;
static struct parts {
    shoal__driver_seat_t seat;
    shoal__gate_t gate;
    shoal__mailbox_t mailbox;
} * parts;
static shoal__mailbox_side_t taken;
static unsigned seen[PRODUCERS_MAX], seen_count, cancels_seen, sleeps;
static bool is_close_seen;

static bool has_last_word(unsigned producer)
{
    return producer + 1 == now->producers && (now->cancels || now->closes);
}

static unsigned expected(void)
{
    return (now->producers - (now->cancels || now->closes)) * now->pushes;
}

/* ---- the threads ---- */

static void push(unsigned producer, unsigned number)
{
    const shoal__request_t request = {
        .tag = producer,
        .ticket = number,
        .flags = now->flags,
        .command_class = SHOAL__CLASS_WRITE,
        .deadline_us =
            now->deadline_us ? EXPLORE_START_US + now->deadline_us : SHOAL__NEVER_US,
        .bytes = 1};

    shoal__driver_seat_lock(&parts->seat);
    *shoal__mailbox_side_reserve(&parts->mailbox.side, 1, 1) = (char)('a' + producer);
    shoal__mailbox_push_locked(&parts->mailbox, &request, false);
    shoal__driver_seat_unlock(&parts->seat);
}

static void produce(void *data)
{
    unsigned producer = (unsigned)(uintptr_t)data;

    if (!has_last_word(producer)) {
        for (unsigned i = 1; i <= now->pushes; i++)
            push(producer, i);
        return;
    }
    shoal__driver_seat_lock(&parts->seat);
    if (now->cancels)
        explore_check(shoal__mailbox_cancel_locked(&parts->mailbox, 1) == 0);
    if (now->closes)
        shoal__gate_close_locked(&parts->gate, 0);
    shoal__driver_seat_unlock(&parts->seat);
}

static void note_taken(void)
{
    for (size_t i = 0; i < taken.count; i++) {
        const shoal__request_t *request = &taken.requests[i];
        explore_check(request->ticket == ++seen[request->tag]);
        explore_check(shoal__buffer_data(&taken.bytes)[i] ==
                      (char)('a' + (int)request->tag));
    }
    explore_check(shoal__buffer_bytes(&taken.bytes) == taken.count);
    seen_count += (unsigned)taken.count;
    cancels_seen += (unsigned)taken.cancels_count;
    taken.count = taken.cancels_count = 0;
    shoal__buffer_clear(&taken.bytes);
}

static bool has_seen_all(void)
{
    return seen_count == expected() && cancels_seen == now->cancels &&
           is_close_seen == now->closes;
}

/* It woke by itself: was it right that nobody woke it? */
static void check_timeout(unsigned announced)
{
    /* With ticks a signal may be on its way. */
    if (now->ticks)
        return;
    explore_check(!now->is_prompt);
    explore_check(parts->mailbox.side.count < announced);
    explore_check(parts->mailbox.side.cancels_count == 0);
    explore_check(parts->gate.is_close_wanted == is_close_seen);
}

static void sleep_if_empty(void)
{
    struct pollfd slot = {.fd = notifier->read_fd, .events = POLLIN};
    bool has_time = now->wake_after > 1 && !now->has_no_time;
    uint64_t wake_us = has_time ? explore_now_us() + HOLD_US : SHOAL__NEVER_US;
    bool may_sleep;
    int rc;

    shoal__driver_seat_lock(&parts->seat);
    may_sleep = shoal__mailbox_is_empty_locked(&parts->mailbox) &&
                parts->gate.is_close_wanted == is_close_seen;
    if (may_sleep)
        shoal__mailbox_sleep_locked(&parts->mailbox, wake_us, now->wake_after);
    else
        parts->seat.is_asleep = false;
    shoal__driver_seat_unlock(&parts->seat);
    if (!may_sleep)
        return;
    sleeps++;
    do
        rc = shim_poll(&slot, 1, has_time ? HOLD_US / 1000 : -1);
    while (rc < 0);
    if (rc > 0)
        shoal__notifier_clear(notifier);
    else
        check_timeout(now->wake_after);
}

static void run_loop(void *data)
{
    (void)data;
    for (;;) {
        shoal__driver_seat_lock(&parts->seat);
        is_close_seen = parts->gate.is_close_wanted;
        shoal__mailbox_swap_locked(&parts->mailbox, &taken);
        shoal__driver_seat_unlock(&parts->seat);
        note_taken();
        if (has_seen_all())
            return;
        sleep_if_empty();
    }
}

/* ---- the scenario ---- */

static void begin(const void *data)
{
    static const char *const names[] = {"producer 1", "producer 2", "producer 3"};

    now = data;
    shim_begin();
    memset(seen, 0, sizeof seen);
    seen_count = cancels_seen = sleeps = 0;
    is_close_seen = false;
    taken = (shoal__mailbox_side_t){0};
    notifier = shoal__malloc(sizeof *notifier);
    parts = shoal__calloc(1, sizeof *parts);
    explore_check(shoal__notifier_init(notifier) == 0);
    explore_check(shoal__driver_seat_init(&parts->seat, notifier) == 0);
    explore_check(shoal__gate_init(&parts->gate, &parts->seat) == 0);
    shoal__mailbox_init(&parts->mailbox, &parts->seat);
    explore_start("loop", run_loop, NULL);
    for (unsigned i = 0; i < now->producers; i++)
        explore_start(names[i], produce, (void *)(uintptr_t)i);
}

static void end(void)
{
    explore_check(has_seen_all());
    explore_check(shoal__counter_get(&parts->seat.wakeups) <= sleeps);
    shoal__notifier_release(notifier);
    shoal__mailbox_release(&parts->mailbox);
    shoal__gate_release(&parts->gate);
    shoal__driver_seat_release(&parts->seat);
    shoal__mailbox_side_release(&taken);
    shoal__free(parts);
    shoal__free(notifier);
    shim_end();
}

static void run(const mailbox_case_t *c)
{
    explore_scenario_t scenario = {.name = c->name,
                                   .begin = begin,
                                   .end = end,
                                   .data = c,
                                   .is_raw = c->is_raw,
                                   .is_bounded = c->preemptions > 0,
                                   .preemptions_max = c->preemptions,
                                   .may_rest = true,
                                   .ticks = c->ticks,
                                   .tick_us = HOLD_US,
                                   .spurious = c->spurious};

    shim_expect(&scenario);
}

#define URGENT SHOAL__REQUEST_URGENT

static void test_what_was_pushed_is_seen(void **state)
{
    static const mailbox_case_t cases[] = {
        {.name = "1 x 1", .producers = 1, .pushes = 1, .wake_after = 1},
        {.name = "1 x 3", .producers = 1, .pushes = 3, .wake_after = 1},
        {.name = "1 x 3, polls interrupted",
         .producers = 1,
         .pushes = 3,
         .wake_after = 1,
         .spurious = 2},
        {.name = "2 x 1", .producers = 2, .pushes = 1, .wake_after = 1},
        {.name = "2 x 2", .producers = 2, .pushes = 2, .wake_after = 1},
        {.name = "2 x 3",
         .producers = 2,
         .pushes = 3,
         .wake_after = 1,
         .preemptions = 4},
        {.name = "3 x 1", .producers = 3, .pushes = 1, .wake_after = 1},
        {.name = "1 x 3, nothing left out",
         .producers = 1,
         .pushes = 3,
         .wake_after = 1,
         .is_raw = true},
        {.name = "3 x 2",
         .producers = 3,
         .pushes = 2,
         .wake_after = 1,
         .preemptions = 3},
        {.name = "3 x 3",
         .producers = 3,
         .pushes = 3,
         .wake_after = 1,
         .preemptions = 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i]);
}

static void test_holds(void **state)
{
    static const mailbox_case_t cases[] = {
        {.name = "a hold for 2, 1 x 3", .producers = 1, .pushes = 3, .wake_after = 2},
        {.name = "a hold for 2, 2 x 1", .producers = 2, .pushes = 1, .wake_after = 2},
        {.name = "a hold for 2, 1 x 3, time passes at any moment",
         .producers = 1,
         .pushes = 3,
         .wake_after = 2,
         .ticks = 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i]);
}

static void test_what_does_not_wait(void **state)
{
    static const mailbox_case_t cases[] = {
        {.name = "who never wakes holds nothing",
         .producers = 1,
         .pushes = 2,
         .wake_after = 9,
         .has_no_time = true,
         .is_prompt = true},
        {.name = "urgent in a hold",
         .producers = 1,
         .pushes = 3,
         .wake_after = 9,
         .flags = URGENT,
         .is_prompt = true},
        {.name = "a deadline in a hold",
         .producers = 1,
         .pushes = 2,
         .wake_after = 9,
         .deadline_us = HOLD_US - 1,
         .is_prompt = true},
        {.name = "a cancel in a hold",
         .producers = 1,
         .wake_after = 9,
         .cancels = true,
         .is_prompt = true},
        {.name = "a close in a hold",
         .producers = 1,
         .wake_after = 9,
         .closes = true,
         .is_prompt = true},
        {.name = "a cancel beside pushes",
         .producers = 2,
         .pushes = 1,
         .wake_after = 9,
         .cancels = true},
        {.name = "a close beside pushes",
         .producers = 2,
         .pushes = 1,
         .wake_after = 1,
         .closes = true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_pushed_is_seen),
        cmocka_unit_test(test_holds),
        cmocka_unit_test(test_what_does_not_wait),
    };
    return cmocka_run_group_tests_name("interleave/mailbox", tests, NULL, NULL);
}
