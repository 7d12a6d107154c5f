/* SPDX-License-Identifier: MIT */
/* What a cluster refuses, and what becomes of it while it is not known whether there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resp/command_slot.h"
#include "unit/client/plan_rig.h"
#include <shoal/errors.h>

#define SPLIT SHOAL_CALL_MAY_SPLIT

enum { FOO = 12182, SPREAD = SHOAL__SLOT_SPREAD, NONE = SHOAL__SLOT_NONE };

/* clang-format off */
static const struct row {
    const char *commands;
    uint32_t flags;
    uint32_t route;
    int refusal;   /* of a cluster; 0: none */
    unsigned slot; /* of all commands, for a client that does not know */
} rows[] = {
    {"GET foo",                        0,        SHOAL_ROUTE_AUTO,      0,                FOO},
    {"PING",                           0,        SHOAL_ROUTE_AUTO,      0,                NONE},
    {"FLUSHALL",                       0,        SHOAL_ROUTE_AUTO,      0,                SPREAD},
    {"GET foo",                        0,        SHOAL_ROUTE_PRIMARIES, 0,                SPREAD},
    {"GET foo ; SET foo 1",            TOGETHER, SHOAL_ROUTE_AUTO,      0,                FOO},
    {"MGET foo bar",                   0,        SHOAL_ROUTE_AUTO,      SHOAL_ECROSSSLOT, SPREAD},
    {"MGET foo bar",                   SPLIT,    SHOAL_ROUTE_AUTO,      0,                SPREAD},
    {"MSETNX foo 1 bar 1",             SPLIT,    SHOAL_ROUTE_AUTO,      SHOAL_ECROSSSLOT, SPREAD},
    {"GET foo ; GET bar",              TOGETHER, SHOAL_ROUTE_AUTO,      SHOAL_ECROSSSLOT, SPREAD},
    {"MULTI ; GET foo ; GET bar ; EXEC", TOGETHER, SHOAL_ROUTE_AUTO,    SHOAL_ECROSSSLOT, SPREAD},
    {"SCAN 0",                         0,        SHOAL_ROUTE_AUTO,      SHOAL_EREFUSED,   SPREAD},
    {"SCAN 0",                         0,        SHOAL_ROUTE_ANY,       0,                NONE},
    {"GET foo ; FLUSHALL",             TOGETHER, SHOAL_ROUTE_AUTO,      SHOAL_EREFUSED,   SPREAD},
    {"BLPOP foo 0",                    0,        SHOAL_ROUTE_AUTO,      0,                FOO},
};
/* clang-format on */

static int make(const struct row *row, shoal_topology_t topology, shoal__plan_t *plan)
{
    static line_t line;
    const shoal_options_t options = {.bytes_max = UINT64_MAX,
                                     .queued_max = SIZE_MAX,
                                     .timeout_us = 50,
                                     .connections = 1,
                                     .topology = topology};
    static shoal__submission_t submission;

    parse(&line, row->commands);
    submission = (shoal__submission_t){
        .commands = line.commands, .count = line.count, .call = SHOAL_CALL_INIT};
    submission.call.flags = row->flags;
    submission.call.route = row->route;
    *plan = (shoal__plan_t){0};
    return shoal__plan_make(&submission, &options, NULL, plan);
}

static void test_a_cluster_refuses(void **state)
{
    shoal__plan_t plan;
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(make(&rows[i], SHOAL_TOPOLOGY_CLUSTER, &plan),
                         rows[i].refusal);
        assert_int_equal(plan.refusal, 0);
        shoal__extra_free(plan.extra);
    }
}

static void test_one_server_refuses_nothing(void **state)
{
    shoal__plan_t plan;
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(make(&rows[i], SHOAL_TOPOLOGY_STANDALONE, &plan), 0);
        assert_false(plan.has_slots);
        assert_null(plan.extra);
    }
}

/* The requests know. */
static void test_who_does_not_know_refuses_later(void **state)
{
    shoal__plan_t plan;
    (void)state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(make(&rows[i], SHOAL_TOPOLOGY_AUTO, &plan), 0);
        assert_true(plan.has_slots && plan.has_one_slot);
        for (size_t n = 0; n < plan.submission->count; n++)
            assert_int_equal(shoal__plan_slot(&plan, n), rows[i].slot);
        assert_int_equal(plan.refusal, rows[i].refusal);
        assert_int_equal(plan.extra ? plan.extra->refusal : 0, rows[i].refusal);
        assert_int_equal(plan.is_spread, rows[i].slot == SPREAD);
        shoal__extra_free(plan.extra);
    }
}

/* The node itself refuses what blocks. */
static void test_what_blocks_goes_to_any_node(void **state)
{
    const struct row row = {"BLPOP foo bar 0", 0, SHOAL_ROUTE_AUTO, 0, NONE};
    shoal__plan_t plan;
    (void)state;

    assert_int_equal(make(&row, SHOAL_TOPOLOGY_AUTO, &plan), 0);
    assert_int_equal(plan.leases, 1);
    assert_int_equal(shoal__plan_slot(&plan, 0), SHOAL__SLOT_NONE);
    assert_null(plan.extra);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cluster_refuses),
        cmocka_unit_test(test_one_server_refuses_nothing),
        cmocka_unit_test(test_who_does_not_know_refuses_later),
        cmocka_unit_test(test_what_blocks_goes_to_any_node),
    };

    return cmocka_run_group_tests_name("client/plan.auto", tests, NULL, NULL);
}
