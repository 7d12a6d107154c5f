/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_UNIT_CORE_PIPE_HOLD_RIG_H
#define SHOAL_TESTS_UNIT_CORE_PIPE_HOLD_RIG_H

/* Commands of the pipe rig that the server refuses for now. */

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

#endif
