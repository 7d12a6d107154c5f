/* SPDX-License-Identifier: MIT */

/* Blocked callers, in every schedule: no caller sleeps on when its result is there,
 * none goes on without it, and a caller may be gone as soon as it is unparked.  The
 * loop frees the record of a caller that leaves, perhaps just when it would wake it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "base/alloc.h"
#include "base/time_us.h"
#include "interleave/shim.h"
#include "net/parker.h"
#include <string.h>

#define CALLERS_MAX 3

typedef struct parker_case {
    const char *name;
    unsigned callers;
    uint64_t numbers[CALLERS_MAX];
    bool in_one_batch; /* else each result wakes on its own */
    bool is_backwards; /* results come in the other order */
    unsigned leaving;  /* so many callers do not wait; the first ones */
    unsigned returns;  /* so often callers come back without a result, and wait again */
    unsigned spurious, preemptions;
} parker_case_t;

typedef struct caller {
    shoal__parker_t parker;
    unsigned number; /* of the caller */
} caller_t;

static const parker_case_t *now;
static shoal__parking_t *parking;
static caller_t *callers[CALLERS_MAX];
static bool has_result[CALLERS_MAX];
static unsigned returned, left;

static void call(void *data)
{
    caller_t *caller = data;
    unsigned number = caller->number;

    if (number < now->leaving && shoal__parker_leave(&caller->parker)) {
        left++;
        return;
    }
    for (unsigned i = 0; i <= now->returns; i++) {
        bool is_last = i == now->returns;
        if (shoal__parker_park(&caller->parker, parking, now->numbers[number],
                               is_last ? SHOAL__NEVER_US : 1))
            break;
        explore_check(!is_last);
    }
    explore_check(has_result[number]);
    shoal__parker_release(&caller->parker);
    shoal__free(caller);
    returned++;
}

static void deliver(void *data)
{
    shoal__parking_due_t due = {0};

    (void)data;
    for (unsigned i = 0; i < now->callers; i++) {
        unsigned number = now->is_backwards ? now->callers - 1 - i : i;
        has_result[number] = true;
        if (!shoal__parker_unpark(&callers[number]->parker, &due)) {
            shoal__parker_release(&callers[number]->parker);
            shoal__free(callers[number]);
        }
        if (!now->in_one_batch) {
            shoal__parking_wake(parking, &due);
            due = (shoal__parking_due_t){0};
        }
    }
    shoal__parking_wake(parking, &due);
}

static void begin(const void *data)
{
    static const char *const names[] = {"caller 1", "caller 2", "caller 3"};

    now = data;
    shim_begin();
    returned = left = 0;
    memset(has_result, 0, sizeof has_result);
    parking = shoal__calloc(1, sizeof *parking);
    for (unsigned i = 0; i < now->callers; i++) {
        callers[i] = shoal__malloc(sizeof *callers[i]);
        callers[i]->number = i;
        explore_check(shoal__parker_init(&callers[i]->parker) == 0);
    }
    for (unsigned i = 0; i < now->callers; i++)
        explore_start(names[i], call, callers[i]);
    explore_start("loop", deliver, NULL);
}

static void end(void)
{
    explore_check(returned + left == now->callers);
    shoal__free(parking);
    shim_end();
}

/* Numbers 0 to 3 share a bit, 4 is its neighbour in the row, 128 is in another row. */
static const parker_case_t cases[] = {
    {.name = "one caller", .callers = 1, .spurious = 2},
    {.name = "two share a bit", .callers = 2, .numbers = {0, 1}, .spurious = 1},
    {.name = "two share a bit, woken at once",
     .callers = 2,
     .numbers = {0, 1},
     .in_one_batch = true,
     .spurious = 1},
    {.name = "two share a row", .callers = 2, .numbers = {0, 4}, .spurious = 1},
    {.name = "two share a row, woken at once",
     .callers = 2,
     .numbers = {0, 4},
     .in_one_batch = true,
     .spurious = 1},
    {.name = "two rows, woken at once",
     .callers = 2,
     .numbers = {0, 128},
     .in_one_batch = true,
     .spurious = 1},
    {.name = "the last bit of a row, backwards",
     .callers = 2,
     .numbers = {127, 0},
     .is_backwards = true},
    {.name = "three, two of them with one bit, backwards",
     .callers = 3,
     .numbers = {0, 1, 4},
     .is_backwards = true,
     .spurious = 1,
     .preemptions = 2},
    {.name = "one leaves", .callers = 1, .leaving = 1},
    {.name = "two share a bit, one leaves",
     .callers = 2,
     .numbers = {0, 1},
     .leaving = 1,
     .spurious = 1},
    {.name = "one comes back and waits again", .callers = 1, .returns = 2},
    {.name = "two share a bit, come back and wait again",
     .callers = 2,
     .numbers = {0, 1},
     .returns = 1,
     .preemptions = 2},
    {.name = "two leave, woken at once",
     .callers = 2,
     .numbers = {0, 1},
     .in_one_batch = true,
     .leaving = 2},
    {.name = "three with one bit, woken at once",
     .callers = 3,
     .numbers = {0, 1, 2},
     .in_one_batch = true,
     .spurious = 1,
     .preemptions = 2},
};

static void test_everybody_returns_with_a_result(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const explore_scenario_t scenario = {.name = cases[i].name,
                                             .begin = begin,
                                             .end = end,
                                             .data = &cases[i],
                                             .is_bounded = cases[i].preemptions > 0,
                                             .preemptions_max = cases[i].preemptions,
                                             .spurious = cases[i].spurious};
        shim_expect(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_returns_with_a_result),
    };
    return cmocka_run_group_tests_name("interleave/parker", tests, NULL, NULL);
}
