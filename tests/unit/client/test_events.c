/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "client/events.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define HELD 5
#define TOLD_MAX 16

typedef struct told {
    shoal_event_t event;
    char detail[300], server[300];
    bool is_gate_ready; /* the gate when the callback ran */
} told_t;

typedef struct rig {
    shoal__notifier_t notifier;
    shoal__driver_seat_t seat;
    shoal__gate_t gate;
    shoal_options_t options;
    shoal__events_t events;
    told_t told[TOLD_MAX];
    size_t count;
} rig_t;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    rig_t *rig = data;
    told_t *told = &rig->told[rig->count];

    assert_null(client);
    assert_true(rig->count++ < TOLD_MAX);
    told->event = *event;
    told->is_gate_ready = rig->gate.is_ready;
    snprintf(told->detail, sizeof told->detail, "%s", event->detail);
    snprintf(told->server, sizeof told->server, "%s", event->server);
}

static int setup(void **state)
{
    static rig_t rig;

    *state = &rig;
    memset(&rig, 0, sizeof rig);
    rig.options = (shoal_options_t){.on_event = on_event, .event_data = &rig};
    if (shoal__notifier_init(&rig.notifier) < 0 ||
        shoal__driver_seat_init(&rig.seat, &rig.notifier) < 0 ||
        shoal__gate_init(&rig.gate, &rig.seat) < 0)
        return -1;
    shoal__events_init(&rig.events, NULL, &rig.options, &rig.gate);
    return 0;
}

static int teardown(void **state)
{
    rig_t *rig = *state;

    shoal__test_fail_alloc_never();
    shoal__events_release(&rig->events);
    shoal__gate_release(&rig->gate);
    shoal__driver_seat_release(&rig->seat);
    shoal__notifier_release(&rig->notifier);
    return 0;
}

/* Hold an event with this number.  Its texts are overwritten when this returns. */
static void hold(rig_t *rig, unsigned number)
{
    char detail[40], server[40];
    const shoal_event_t event = {.kind = SHOAL_EVENT_LOST,
                                 .status = SHOAL_ECONN,
                                 .detail = detail,
                                 .epoch = 100 + number,
                                 .connection = number,
                                 .server = server};

    snprintf(detail, sizeof detail, "detail %u", number);
    snprintf(server, sizeof server, "server %u", number);
    shoal__events_hold(&rig->events, &event);
    memset(detail, 'x', sizeof detail - 1);
    memset(server, 'x', sizeof server - 1);
}

static void check_told(const rig_t *rig, size_t index, unsigned number)
{
    const told_t *told = &rig->told[index];
    char text[40];

    assert_int_equal(told->event.kind, SHOAL_EVENT_LOST);
    assert_int_equal(told->event.status, SHOAL_ECONN);
    assert_int_equal(told->event.connection, number);
    assert_int_equal(told->event.epoch, 100 + number);
    snprintf(text, sizeof text, "detail %u", number);
    assert_string_equal(told->detail, text);
    snprintf(text, sizeof text, "server %u", number);
    assert_string_equal(told->server, text);
}

static void test_held_events_are_told_in_order(void **state)
{
    rig_t *rig = *state;

    for (unsigned number = 1; number <= HELD; number++) {
        hold(rig, number);
        assert_true(rig->events.is_due);
    }
    assert_int_equal(rig->count, 0);
    shoal__events_tell_held(&rig->events, false);
    assert_false(rig->events.is_due);
    assert_int_equal(rig->count, HELD);
    for (unsigned number = 1; number <= HELD; number++)
        check_told(rig, number - 1, number);
    shoal__events_tell_held(&rig->events, false);
    assert_int_equal(rig->count, HELD); /* once */
}

static void test_events_are_held_again(void **state)
{
    rig_t *rig = *state;

    for (unsigned number = 1; number <= 3 * HELD; number += HELD) {
        for (unsigned i = 0; i < HELD; i++)
            hold(rig, number + i);
        shoal__events_tell_held(&rig->events, false);
    }
    assert_int_equal(rig->count, 3 * HELD);
    for (unsigned number = 1; number <= 3 * HELD; number++)
        check_told(rig, number - 1, number);
}

/* An event for which there is no memory reaches no callback; the driver must hand over
 * all the same. */
static void test_events_without_memory(void **state)
{
    rig_t *rig = *state;

    shoal__test_fail_alloc_after(0);
    for (unsigned number = 1; number <= HELD; number++)
        hold(rig, number);
    assert_true(rig->events.is_due);
    assert_int_equal(rig->events.held_count, 0);
    shoal__events_tell_held(&rig->events, false);
    assert_false(rig->events.is_due);
    assert_int_equal(rig->count, 0);
    shoal__test_fail_alloc_never();
    hold(rig, 7);
    shoal__events_tell_held(&rig->events, false);
    assert_int_equal(rig->count, 1);
    check_told(rig, 0, 7);
}

/* Events that were held before memory ran out are still told. */
static void test_memory_that_runs_out_later(void **state)
{
    rig_t *rig = *state;
    size_t kept;

    hold(rig, 1);
    hold(rig, 2);
    shoal__test_fail_alloc_after(0);
    for (unsigned number = 3; number <= HELD; number++)
        hold(rig, number);
    shoal__test_fail_alloc_never();
    kept = rig->events.held_count;
    assert_in_range(kept, 2, HELD - 1);
    shoal__events_tell_held(&rig->events, false);
    assert_int_equal(rig->count, kept);
    for (unsigned number = 1; number <= kept; number++)
        check_told(rig, number - 1, number);
}

static void test_a_long_text_is_cut(void **state)
{
    rig_t *rig = *state;
    char text[600];
    const shoal_event_t event = {
        .kind = SHOAL_EVENT_RETRYING, .detail = text, .server = text};

    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    shoal__events_hold(&rig->events, &event);
    shoal__events_tell_held(&rig->events, false);
    assert_int_equal(strlen(rig->told[0].detail), sizeof rig->events.held->detail - 1);
    assert_int_equal(strlen(rig->told[0].server), sizeof rig->events.held->server - 1);
}

static void tell(rig_t *rig, shoal_event_kind_t kind, int status, bool is_ready)
{
    const shoal_event_t event = {
        .kind = kind, .status = status, .detail = "", .server = ""};

    shoal__events_tell(&rig->events, &event, is_ready);
}

/* The gate follows what the client can do, not what happened to one of its
 * connections.  The callback runs before the gate changes. */
static void test_readiness_is_the_clients(void **state)
{
    rig_t *rig = *state;

    tell(rig, SHOAL_EVENT_READY, 0, false);
    assert_false(rig->gate.is_ready);
    tell(rig, SHOAL_EVENT_LOST, SHOAL_ECONN, false);
    assert_int_equal(rig->gate.last_status, SHOAL_ECONN);
    tell(rig, SHOAL_EVENT_READY, 0, true);
    assert_false(rig->told[2].is_gate_ready);
    assert_true(rig->gate.is_ready);
    assert_int_equal(rig->gate.last_status, 0);
    tell(rig, SHOAL_EVENT_LOST, SHOAL_ECONN, true); /* another connection can send */
    assert_true(rig->gate.is_ready);
    assert_int_equal(rig->gate.last_status, 0);
    tell(rig, SHOAL_EVENT_RETRYING, 0, false);
    assert_true(rig->told[4].is_gate_ready);
    assert_false(rig->gate.is_ready);
    assert_int_equal(rig->gate.last_status, 0); /* only a loss sets a status */
    hold(rig, 1);
    shoal__events_tell_held(&rig->events, true); /* the client can send again by now */
    assert_true(rig->gate.is_ready);
}

#define RIG_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_held_events_are_told_in_order),
        RIG_TEST(test_events_are_held_again),
        RIG_TEST(test_events_without_memory),
        RIG_TEST(test_memory_that_runs_out_later),
        RIG_TEST(test_a_long_text_is_cut),
        RIG_TEST(test_readiness_is_the_clients),
    };
    return cmocka_run_group_tests_name("client/events", tests, NULL, NULL);
}
