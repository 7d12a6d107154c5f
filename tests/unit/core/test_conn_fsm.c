/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/conn_fsm.h"

/* Every legal step; the table must hold these and no other. */
/* clang-format off */
#define ROW(state, event, next, action)                                                  \
    {SHOAL__CONN_##state, SHOAL__CONN_ON_##event, SHOAL__CONN_##next, SHOAL__CONN_DO_##action}

static const struct legal_step {
    shoal__conn_state_t state;
    shoal__conn_event_t event;
    shoal__conn_state_t next;
    shoal__conn_action_t action;
} legal[] = {
    ROW(IDLE,     OPEN,      DIALING,  DIAL),
    ROW(IDLE,     CLOSE,     CLOSED,   SHUT),
    ROW(DIALING,  DIALED,    GREETING, GREET),
    ROW(DIALING,  LOST,      BACKOFF,  RETRY),
    ROW(DIALING,  CLOSE,     CLOSED,   SHUT),
    ROW(GREETING, GREETED,   READY,    RESUME),
    ROW(GREETING, LOST,      BACKOFF,  RETRY),
    ROW(GREETING, CLOSE,     CLOSED,   SHUT),
    ROW(READY,    LOST,      BACKOFF,  RETRY),
    ROW(READY,    RENEWED,   GREETING, SUCCEED),
    ROW(READY,    CLOSE,     CLOSED,   SHUT),
    ROW(BACKOFF,  RETRY_DUE, DIALING,  DIAL),
    ROW(BACKOFF,  CLOSE,     CLOSED,   SHUT),
    ROW(CLOSED,   OPEN,      DIALING,  DIAL),
};
/* clang-format on */

static const struct legal_step *find(shoal__conn_state_t state,
                                     shoal__conn_event_t event)
{
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
        if (legal[i].state == state && legal[i].event == event)
            return &legal[i];
    return NULL;
}

static void test_every_pair_of_state_and_event(void **state)
{
    (void)state;
    for (int s = 0; s < SHOAL__CONN_STATE_COUNT; s++) {
        for (int e = 0; e < SHOAL__CONN_EVENT_COUNT; e++) {
            const struct legal_step *want =
                find((shoal__conn_state_t)s, (shoal__conn_event_t)e);
            shoal__conn_step_t step =
                shoal__conn_fsm_step((shoal__conn_state_t)s, (shoal__conn_event_t)e);
            if (step.action != (want ? want->action : SHOAL__CONN_ILLEGAL))
                fail_msg("state %d, event %d: action %u", s, e, step.action);
            if (want && step.next != want->next)
                fail_msg("state %d, event %d: next %u", s, e, step.next);
        }
    }
}

static void test_close_ends_every_state_at_once(void **state)
{
    (void)state;
    for (int s = 0; s < SHOAL__CONN_CLOSED; s++) {
        shoal__conn_step_t step =
            shoal__conn_fsm_step((shoal__conn_state_t)s, SHOAL__CONN_ON_CLOSE);
        assert_int_equal(step.next, SHOAL__CONN_CLOSED);
        assert_int_equal(step.action, SHOAL__CONN_DO_SHUT);
    }
}

/* No command is sent before the greeting is over, on any path.  (I12) */
static void test_ready_is_entered_from_the_greeting_only(void **state)
{
    (void)state;
    for (int s = 0; s < SHOAL__CONN_STATE_COUNT; s++)
        for (int e = 0; e < SHOAL__CONN_EVENT_COUNT; e++) {
            shoal__conn_step_t step =
                shoal__conn_fsm_step((shoal__conn_state_t)s, (shoal__conn_event_t)e);
            if (step.action != SHOAL__CONN_ILLEGAL && step.next == SHOAL__CONN_READY) {
                assert_int_equal(s, SHOAL__CONN_GREETING);
                assert_int_equal(e, SHOAL__CONN_ON_GREETED);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_state_and_event),
        cmocka_unit_test(test_close_ends_every_state_at_once),
        cmocka_unit_test(test_ready_is_entered_from_the_greeting_only),
    };
    return cmocka_run_group_tests_name("core/conn_fsm", tests, NULL, NULL);
}
