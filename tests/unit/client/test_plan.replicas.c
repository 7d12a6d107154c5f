/* SPDX-License-Identifier: MIT */
/* Which requests replicas may execute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/client/plan_rig.h"

static const shoal_sink_t sink;

/* clang-format off */
static const struct row {
    const char *commands;
    uint32_t flags;
    shoal_read_from_t read_from;
    unsigned replicas; /* that the program names */
    bool has_sink, has_lane;
    const char *marks; /* R: a replica may execute it */
} rows[] = {
    {"GET k",                 0,                   SHOAL_READ_PRIMARY,           0, false, false, "."},
    {"GET k",                 SHOAL_CALL_REPLICA,  SHOAL_READ_PRIMARY,           0, false, false, "."},
    {"GET k",                 0,                   SHOAL_READ_PRIMARY,           1, false, false, "."},
    {"GET k",                 SHOAL_CALL_REPLICA,  SHOAL_READ_PRIMARY,           1, false, false, "R"},
    {"GET k",                 0,                   SHOAL_READ_REPLICA_PREFERRED, 0, false, false, "R"},
    {"GET k",                 0,                   SHOAL_READ_REPLICA,           0, false, false, "R"},
    {"GET k",                 SHOAL_CALL_PRIMARY,  SHOAL_READ_REPLICA,           0, false, false, "."},
    {"GET k", SHOAL_CALL_PRIMARY | SHOAL_CALL_REPLICA, SHOAL_READ_REPLICA,       0, false, false, "."},
    {"GET k",                 SHOAL_CALL_ONCE,     SHOAL_READ_REPLICA,           0, false, false, "."},
    {"GET k",                 SHOAL_CALL_BULK,     SHOAL_READ_REPLICA,           0, false, true,  "."},
    {"GET k",                 SHOAL_CALL_BULK,     SHOAL_READ_REPLICA,           0, false, false, "R"},
    {"GET k",                 0,                   SHOAL_READ_REPLICA,           0, true,  false, "R"},
    {"SET k v",               0,                   SHOAL_READ_REPLICA,           0, false, false, "."},
    {"PING",                  0,                   SHOAL_READ_REPLICA,           0, false, false, "."},
    {"EVAL s 0",              0,                   SHOAL_READ_REPLICA,           0, false, false, "."},
    {"EVAL_RO s 0",           0,                   SHOAL_READ_REPLICA,           0, false, false, "R"},
    {"XREAD STREAMS s 0",     0,                   SHOAL_READ_REPLICA,           0, false, false, "R"},
    {"XREAD BLOCK 0 STREAMS s 0", 0,               SHOAL_READ_REPLICA,           0, false, false, "."},
    {"BLPOP k 0",             0,                   SHOAL_READ_REPLICA,           0, false, false, "."},
    {"SCAN 0",                0,                   SHOAL_READ_REPLICA,           0, false, false, "."},
    {"GET k ; SET k v ; get k", 0,                 SHOAL_READ_REPLICA,           0, false, false, "R.R"},
    {"GET k ; GET l",         0,                   SHOAL_READ_REPLICA,           0, true,  false, ".."},
    {"GET k ; GET l", SHOAL_CALL_SINK_SHARED,      SHOAL_READ_REPLICA,           0, true,  false, "RR"},
    {"GET k ; GET l",         TOGETHER,            SHOAL_READ_REPLICA,           0, false, false, ".."},
    {"MULTI ; GET k ; EXEC",  TOGETHER,            SHOAL_READ_REPLICA,           0, false, false, "..."},
};
/* clang-format on */

static void check(const struct row *row)
{
    const shoal_options_t options = {.bytes_max = UINT64_MAX,
                                     .queued_max = SIZE_MAX,
                                     .timeout_us = 50,
                                     .connections = 1,
                                     .has_bulk_lane = row->has_lane,
                                     .read_from = row->read_from,
                                     .replicas_count = row->replicas};
    shoal__plan_t plan;
    line_t line;

    parse(&line, row->commands);
    const shoal__submission_t submission = {.commands = line.commands,
                                            .count = line.count,
                                            .call.flags = row->flags,
                                            .call.sink = row->has_sink ? &sink : NULL};
    assert_int_equal(shoal__plan_make(&submission, &options, NULL, &plan), 0);
    for (size_t i = 0; i < line.count; i++) {
        shoal__request_t request;
        shoal__plan_request(&plan, i, NOW_US, &request);
        assert_int_equal((request.flags & SHOAL__REQUEST_FOR_REPLICA) != 0,
                         row->marks[i] == 'R');
        shoal__extra_drop(request.extra);
    }
}

static void test_which_requests_are_for_replicas(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check(&rows[i]);
}

/* Those of a lease rely on each other. */
static void test_a_lease_stays(void **state)
{
    const shoal_options_t options = {.bytes_max = UINT64_MAX,
                                     .queued_max = SIZE_MAX,
                                     .read_from = SHOAL_READ_REPLICA};
    shoal__request_t request;
    shoal__plan_t plan;
    line_t line;
    (void)state;

    parse(&line, "GET k");
    const shoal__submission_t submission = {
        .commands = line.commands, .count = 1, .call.lease = (shoal_lease_t *)&line};
    assert_int_equal(shoal__plan_make(&submission, &options, NULL, &plan), 0);
    shoal__plan_request(&plan, 0, NOW_US, &request);
    assert_true(request.flags & SHOAL__REQUEST_LEASED);
    assert_false(request.flags & SHOAL__REQUEST_FOR_REPLICA);
    shoal__extra_drop(request.extra);
}

/* A cluster says which replicas there are.  What is for a certain node stays. */
static void test_in_a_cluster(void **state)
{
    static const struct {
        uint32_t flags;
        uint32_t route;
        shoal_read_from_t read_from;
        bool is_for_replica;
    } cases[] = {
        {0, SHOAL_ROUTE_AUTO, SHOAL_READ_PRIMARY, false},
        {SHOAL_CALL_REPLICA, SHOAL_ROUTE_AUTO, SHOAL_READ_PRIMARY, true},
        {0, SHOAL_ROUTE_AUTO, SHOAL_READ_REPLICA_PREFERRED, true},
        {SHOAL_CALL_PRIMARY, SHOAL_ROUTE_AUTO, SHOAL_READ_REPLICA_PREFERRED, false},
        {0, SHOAL_ROUTE_SLOT, SHOAL_READ_REPLICA_PREFERRED, false},
        {SHOAL_CALL_REPLICA, SHOAL_ROUTE_SLOT, SHOAL_READ_PRIMARY, false},
    };
    line_t line;
    (void)state;

    parse(&line, "GET k");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const shoal_options_t options = {.bytes_max = UINT64_MAX,
                                         .queued_max = SIZE_MAX,
                                         .connections = 1,
                                         .topology = SHOAL_TOPOLOGY_CLUSTER,
                                         .read_from = cases[i].read_from};
        const shoal__submission_t submission = {.commands = line.commands,
                                                .count = 1,
                                                .call.flags = cases[i].flags,
                                                .call.route = cases[i].route};
        shoal__request_t request;
        shoal__plan_t plan;
        assert_int_equal(shoal__plan_make(&submission, &options, NULL, &plan), 0);
        shoal__plan_request(&plan, 0, NOW_US, &request);
        assert_int_equal((request.flags & SHOAL__REQUEST_FOR_REPLICA) != 0,
                         cases[i].is_for_replica);
        shoal__extra_drop(request.extra);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_requests_are_for_replicas),
        cmocka_unit_test(test_a_lease_stays),
        cmocka_unit_test(test_in_a_cluster),
    };
    return cmocka_run_group_tests_name("client/plan.replicas", tests, NULL, NULL);
}
