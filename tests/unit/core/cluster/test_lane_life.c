/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/cluster/lane_life.h"

#define MINUTE SHOAL__LANE_IDLE_US
/* A lane that works, and one that was lost. */
#define READY .is_open = true, .is_ready = true, .is_owner = true
#define LOST .is_open = true, .has_failed = true

static const struct row {
    const char *what;
    shoal__lane_state_t state;
    shoal__lane_deed_t deed;
} rows[] = {
    {"nobody wants it", {.may_open = true, .is_owner = true}, SHOAL__LANE_REST},
    {"wanted",
     {.is_wanted = true, .may_open = true, .is_owner = true},
     SHOAL__LANE_OPEN},
    {"wanted, and the node is not there",
     {.is_wanted = true, .is_owner = true},
     SHOAL__LANE_REST},
    {"wanted, and the slots are gone",
     {.is_wanted = true, .may_open = true},
     SHOAL__LANE_REST},
    {"wanted, and so is its place",
     {.is_wanted = true, .may_open = true, .is_owner = true, .is_short = true},
     SHOAL__LANE_REST},
    {"on its way", {.is_open = true, .is_owner = true}, SHOAL__LANE_REST},
    {"on its way, wanted again",
     {.is_open = true, .is_wanted = true, .may_open = true, .is_owner = true},
     SHOAL__LANE_REST},
    {"on its way, empty for long",
     {.is_open = true, .is_owner = true, .is_empty = true, .idle_us = MINUTE},
     SHOAL__LANE_REST},
    {"it cannot be had", {LOST, .is_owner = true}, SHOAL__LANE_GIVE_UP},
    {"... and the node may end the one that was lost",
     {LOST, .is_owner = true, .may_be_proved = true},
     SHOAL__LANE_REST},
    {"... and the slots are gone", {LOST, .may_be_proved = true}, SHOAL__LANE_GIVE_UP},
    {"in use", {READY}, SHOAL__LANE_REST},
    {"in use, for long", {READY, .idle_us = MINUTE}, SHOAL__LANE_REST},
    {"in use, and its place is wanted", {READY, .is_short = true}, SHOAL__LANE_REST},
    {"in use, and the slots are gone",
     {.is_open = true, .is_ready = true},
     SHOAL__LANE_REST},
    {"in use, at another process", {READY, .is_elsewhere = true}, SHOAL__LANE_RENEW},
    {"idle", {READY, .is_empty = true, .idle_us = MINUTE - 1}, SHOAL__LANE_REST},
    {"idle for long", {READY, .is_empty = true, .idle_us = MINUTE}, SHOAL__LANE_CLOSE},
    {"idle, and its place is wanted",
     {READY, .is_empty = true, .is_short = true},
     SHOAL__LANE_CLOSE},
    {"idle, and the slots are gone",
     {.is_open = true, .is_ready = true, .is_empty = true},
     SHOAL__LANE_CLOSE},
    {"idle, at another process",
     {READY, .is_empty = true, .is_elsewhere = true},
     SHOAL__LANE_CLOSE},
};

static void test_what_is_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (shoal__lane_deed(&rows[i].state) != rows[i].deed)
            fail_msg("%s: %d", rows[i].what, (int)shoal__lane_deed(&rows[i].state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_done)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
