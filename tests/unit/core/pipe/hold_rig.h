/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_UNIT_CORE_PIPE_HOLD_RIG_H
#define SHOAL_TESTS_UNIT_CORE_PIPE_HOLD_RIG_H

/* Commands of the pipe rig that the server refuses for now. */

#include "core/pipe/pipe_succession.h"
#include "unit/core/pipe/pipe_rig.h"

#define LOADING "-LOADING x\r\n"
#define READONLY "-READONLY x\r\n"

/* Submit, write and answer each letter. */
static inline void refuse(const char *letters, shoal__command_class_t command_class,
                          const char *error)
{
    for (const char *at = letters; *at; at++)
        rig_submit(*at, 0, command_class);
    assert_string_equal(rig_write_all(), letters);
    for (const char *at = letters; *at; at++)
        assert_int_equal(rig_feed(error), 0);
}

/* Until the hold's pause is over. */
static inline void pass_pause(void)
{
    assert_int_equal(
        rig_tick(rig.now_us < rig.pipe.hold.due_us ? rig.pipe.hold.due_us : rig.now_us),
        0);
}

/* A greeter that is READY: it is the caller's. */
static inline shoal__pipe_t *greet_successor(void)
{
    const char *pong = "+PONG\r\n";
    shoal__pipe_t *greeter = shoal__pipe_new_greeter(&rig.pipe);
    uint64_t wake_us;

    assert_non_null(greeter);
    assert_int_equal(shoal__pipe_begin(greeter, SHOAL__GREETING_BARE, rig.now_us), 0);
    shoal__bytes_t out = shoal__pipe_output(greeter, rig.now_us, &wake_us);
    shoal__pipe_written(greeter, out.bytes, rig.now_us);
    assert_int_equal(shoal__pipe_feed(greeter, pong, strlen(pong), rig.now_us), 0);
    assert_int_equal(greeter->phase, SHOAL__PIPE_READY);
    return greeter;
}

/* If a successor is wanted now, there is one at once. */
static inline void renew_if_wanted(void)
{
    shoal__pipe_t *greeter;

    if (!shoal__renewal_begins(&rig.pipe.renewal, rig.now_us))
        return;
    greeter = greet_successor();
    shoal__pipe_drain(&rig.pipe, rig.now_us);
    assert_true(shoal__pipe_makes_way(&rig.pipe, rig.now_us));
    assert_int_equal(shoal__pipe_succeed(&rig.pipe, greeter, rig.now_us), 0);
    shoal__pipe_free_greeter(&rig.pipe, greeter);
}

#endif
